/** Reads from a tool call which files it touches, by paths normalised to one spelling. */

import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";

/**
 * Reads the operations of a call. Not called for failed calls; `result` is undefined if the call has none
 * yet.
 */
export type FileToolReader = (
  call: ToolCall,
  result: ToolResultMessage | undefined,
) => readonly FileOperation[];

/** One operation of a call on one file. */
export interface FileOperation {
  /** `write` means `create` if the ledger knows that the file is gone, else `modify`. */
  readonly operation: "read" | "write" | "create" | "modify" | "delete" | "move";
  /** As in the call. */
  readonly path: string;
  /** The new path of a moved file, as in the call. A `move` without it is ignored. */
  readonly to?: string | undefined;
  /** SHA-256 of the content that was read or written, 64 hex digits. */
  readonly contentSha256?: string | undefined;
}

/** A tool that applies one operation to the paths in its arguments. */
export interface FileToolRow {
  /** `write` means `create` if the result's `details.created` is true. */
  readonly operation: FileOperation["operation"];
  /** Names of arguments, of which the first present one counts: a path, or an array of paths. */
  readonly path: string | readonly string[];
  /** Names of arguments with the target of a `move`. For several paths it is their new directory. */
  readonly to?: string | readonly string[] | undefined;
}

/**
 * Tools that touch files, by name. A result's `details` may have the `contentSha256` of the file that was
 * read or written, and `created: true` for a new file. The tools of these agents are known:
 *
 * - pi 0.73.1 and 1.5.2: `read`, `write`, `edit`, with `path`. Its `codemode` calls them from a script; see
 *   {@link fileLedger}.
 * - Claude Code: `Read`, `Write`, `Edit`, `MultiEdit`, `NotebookEdit`. Droid: `Create` and `ApplyPatch` too.
 * - opencode: `read`, `write`, `edit`, `multiedit`; `patch` and `apply_patch`, with `patchText`.
 * - codex: `apply_patch`, with the patch as `input`, `patch` or `text`, or as the whole of the arguments;
 *   `shell`, `shell_command`, `local_shell`, `exec_command`, `exec` and `container.exec`, for patches in their
 *   command, below its `workdir` and the directory that it changes to; `view_image`. Other agents' shells are
 *   searched for such patches too.
 * - Gemini CLI, Qwen Code: `read_file`, `write_file`, `replace`, `edit`, `read_many_files` but for its patterns.
 *   Antigravity: `view_file`, `write_to_file`, `replace_file_content`, `multi_replace_file_content`.
 * - Cline, Roo: `read_file`, `write_to_file`, `replace_in_file`, `apply_diff`, `insert_content`,
 *   `search_and_replace`; `read_files`, `editor`, `run_commands`; the tool that `use_mcp_tool` calls.
 * - goose: `text_editor`, `read`, `write`, `edit`, `read_image`, also behind `developer__`.
 * - Copilot: `view`, `create`, `edit`; `create_file`, `replace_string_in_file`, `insert_edit_into_file`,
 *   `multi_replace_string_in_file`, `edit_notebook_file`. Cursor: `StrReplace`, `Delete`, `search_replace`,
 *   `edit_notebook`. Kimi: `ReadFile`, `WriteFile`, `StrReplaceFile`, `ReadMediaFile`. Zed: `move_path`,
 *   `delete_path`.
 * - Anthropic's text editor: `str_replace_based_edit_tool`, `str_replace_editor`; OpenHands' `file_editor`.
 * - The reference MCP server of files: `read_file`, `read_text_file`, `read_media_file`,
 *   `read_multiple_files`, `write_file`, `edit_file`, `move_file`.
 * - Common names in other harnesses: `delete_file`, `delete`, `remove_file`, `rename_file`, `rename`, `move`.
 *
 * A name with a namespace that is not in the table counts without it: `functions.read`, and behind a server
 * (`mcp__files__read_file`, `files_read_file`, `files/read_file`) names that speak of files, unless an argument
 * names a repository or a bucket.
 *
 * @see https://platform.claude.com/docs/en/agent-sdk/typescript,
 *   https://github.com/sst/opencode/blob/dev/packages/opencode/src/tool/apply_patch.ts,
 *   https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/text-editor-tool and
 *   https://github.com/modelcontextprotocol/servers/blob/main/src/filesystem/README.md (read 2026-11-22),
 *   https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/tools/definitions/base-declarations.ts,
 *   https://github.com/cline/cline/blob/main/sdk/packages/core/src/extensions/tools/schemas.ts and
 *   https://github.com/block/goose/blob/main/crates/goose/src/agents/platform_extensions/developer/mod.rs
 *   (read 2026-11-28)
 */
export type FileToolTable = Readonly<Record<string, FileToolRow | FileToolReader>>;

/** One operation on one file, with normalised paths. */
export interface OperationStep {
  readonly operation: FileOperation["operation"];
  readonly key: PathKey;
  readonly to?: PathKey | undefined;
  readonly contentSha256?: string | undefined;
  /** Whether a result shows that it happened. */
  readonly confirmed: boolean;
}

const sha256 = /^[0-9a-f]{64}$/i;

/** A SHA-256 in lower case; undefined for any other value. */
export function readSha256(value: unknown): string | undefined {
  return typeof value === "string" && sha256.test(value) ? value.toLowerCase() : undefined;
}

/**
 * The operations of a call; unconfirmed without a result. A failed call has only those of its nested calls.
 */
export function stepsOfCall(
  call: ToolCall,
  result: ToolResultMessage | undefined,
  tools: FileToolTable,
  paths: Paths,
): readonly OperationStep[] {
  const own = result?.isError === true ? [] : ownSteps(call, result, result !== undefined, tools, paths);
  return result?.nestedCalls === undefined ? own : [...nestedSteps(result, tools, paths), ...own];
}

/**
 * The operations of the calls that a tool made itself while it ran. `nestedCalls` may have any JSON shape.
 */
export function nestedSteps(
  { nestedCalls }: ToolResultMessage,
  tools: FileToolTable,
  paths: Paths,
): readonly OperationStep[] {
  if (!isRecord(nestedCalls) || !Array.isArray(nestedCalls.calls)) return [];
  return nestedCalls.calls.flatMap((nested: unknown) => {
    if (!isRecord(nested) || typeof nested.name !== "string" || nested.status === "error") return [];
    const id = typeof nested.id === "string" ? nested.id : "";
    const call: ToolCall = { type: "toolCall", id, name: nested.name, arguments: nested.arguments };
    return ownSteps(call, undefined, nested.status === "ok", tools, paths);
  });
}

function ownSteps(
  made: ToolCall,
  result: ToolResultMessage | undefined,
  confirmed: boolean,
  tools: FileToolTable,
  paths: Paths,
): readonly OperationStep[] {
  const call = unwrapped(made);
  const tool = readTool(tools, call);
  if (tool === undefined) return [];
  const operations = typeof tool === "function" ? tool(call, result) : operationsOfRow(tool, call, result);
  const recorded = operations.length === 1 ? readSha256(detail(result, "contentSha256")) : undefined;
  const steps: OperationStep[] = [];
  for (const { operation, path, to, contentSha256 } of operations) {
    const key = paths.keyByPath(path);
    const target = to === undefined || operation !== "move" ? undefined : paths.keyByPath(to);
    if (key === undefined || (operation === "move" && target === undefined)) continue;
    const content = readSha256(contentSha256) ?? recorded;
    steps.push({ operation, key, to: target, contentSha256: content, confirmed });
  }
  return steps;
}

/** Namespaces of an agent's own tools: those that interfaces of models put before every name, and goose's. */
const ownNamespaces = ["functions.", "default_api:", "default_api.", "developer__"];

/** No name of a file tool is longer. */
const maxNameLength = 64;

/** Arguments that place a path elsewhere: in a repository of a host, or in a store. */
const remote = ["owner", "repo", "repository", "project_id", "bucket"];

/**
 * The tool that a call means: the row of its very name, or of the name without a namespace. Behind the name
 * of a server only names that speak of files count: `mcp__mail__delete` deletes no file. Servers are separated
 * by `__`, `_`, `-`, `/`, `:` or a dot.
 */
function readTool(
  tools: FileToolTable,
  { name, arguments: args }: ToolCall,
): FileToolTable[string] | undefined {
  const own = (key: string) => (Object.hasOwn(tools, key) ? tools[key] : undefined);
  const exact = own(name);
  if (exact !== undefined) return exact;
  const found = ownNamespaces.find((each) => name.startsWith(each));
  const plain = found === undefined ? name : name.slice(found.length);
  const tool = own(plain);
  if (tool !== undefined && plain !== name) return tool;
  if (isRecord(args) && remote.some((each) => Object.hasOwn(args, each))) return undefined;
  const start = Math.max(0, plain.length - maxNameLength);
  for (const { index } of plain.slice(start).matchAll(/[-_./:]/g)) {
    const bare = plain.slice(start + index + 1);
    const server = speaksOfFiles.test(bare) ? own(bare) : undefined;
    if (server !== undefined) return server;
  }
  return undefined;
}

const speaksOfFiles = /file|text_editor|str_replace/;

/** A call of a server's tool that is an argument of another tool, as Cline, Roo and Antigravity make them. */
function unwrapped(call: ToolCall): ToolCall {
  if (call.name !== "use_mcp_tool" && call.name !== "call_mcp_tool") return call;
  const [tool] = readTexts(call.arguments, ["tool_name", "toolName", "ToolName"]);
  if (tool === undefined || !isRecord(call.arguments)) return call;
  const given = call.arguments.arguments ?? call.arguments.Arguments;
  return {
    ...call,
    name: `/${tool}`,
    arguments: typeof given === "string" ? parseJson(given) : given,
  };
}

function operationsOfRow(
  row: FileToolRow,
  { arguments: args }: ToolCall,
  result: ToolResultMessage | undefined,
): readonly FileOperation[] {
  const sources = readTexts(args, row.path);
  const created = row.operation === "write" && detail(result, "created") === true;
  const operation = created ? "create" : row.operation;
  if (operation !== "move") return sources.map((path) => ({ operation, path }));
  const [to] = row.to === undefined ? [] : readTexts(args, row.to);
  if (to === undefined) return [];
  return sources.map((path) => ({
    operation,
    path,
    to: sources.length === 1 ? to : `${to}/${lastName(path)}`,
  }));
}

/** The texts of the first of these arguments that has any. Arguments that are a text or a list count alone. */
export function readTexts(args: unknown, names: string | readonly string[]): readonly string[] {
  if (Array.isArray(args)) return textsIn(args);
  if (!isRecord(args)) return [];
  for (const name of typeof names === "string" ? [names] : names) {
    const texts = Object.hasOwn(args, name) ? textsIn(args[name]) : [];
    if (texts.length > 0) return texts;
  }
  return [];
}

/** A text, the texts of a list, or the paths in its objects. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return isRecord(value) ? pathIn(value) : [];
  return value.flatMap((each: unknown) =>
    typeof each === "string" ? [each] : isRecord(each) ? pathIn(each) : [],
  );
}

function pathIn(item: Readonly<Record<string, unknown>>): readonly string[] {
  const path = item.path ?? item.file_path ?? item.filePath;
  return typeof path === "string" ? [path] : [];
}

function detail(result: ToolResultMessage | undefined, name: string): unknown {
  const details = result?.details;
  return isRecord(details) && Object.hasOwn(details, name) ? details[name] : undefined;
}

function lastName(path: string): string {
  return path.split(/[\\/]/).findLast((name) => name !== "") ?? path;
}

const addFile = "*** Add File: ";
const deleteFile = "*** Delete File: ";
const updateFile = "*** Update File: ";
const moveTo = "*** Move to: ";

/**
 * The operations of a patch in codex's format, read from its headers; a text that is not a patch has none.
 * Like codex's parser, it ignores spaces around a header, except within an update, where a context line
 * starts with a space.
 *
 * @see https://github.com/openai/codex/blob/main/codex-rs/apply-patch/src/parser.rs (read 2026-11-22)
 */
export function operationsOfPatch(patch: string): readonly FileOperation[] {
  const operations: FileOperation[] = [];
  /** The path if the previous line started an update. */
  let begun: string | undefined;
  let updating = false;
  for (const raw of patch.split("\n")) {
    const line = updating ? raw.trimEnd() : raw.trim();
    const updated = begun;
    begun = undefined;
    if (updated !== undefined && line.startsWith(moveTo)) {
      const to = line.slice(moveTo.length);
      operations.splice(-1, 1, { operation: "move", path: updated, to }, { operation: "modify", path: to });
    } else if (line.startsWith(addFile)) {
      operations.push({ operation: "create", path: line.slice(addFile.length) });
      updating = false;
    } else if (line.startsWith(deleteFile)) {
      operations.push({ operation: "delete", path: line.slice(deleteFile.length) });
      updating = false;
    } else if (line.startsWith(updateFile)) {
      begun = line.slice(updateFile.length);
      operations.push({ operation: "modify", path: begun });
      updating = true;
    }
  }
  return operations;
}

// Paths as text, normalised to one spelling. No file system is asked: symbolic links are not resolved, and
// names are compared exactly, on Windows too.
//
// @see https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file and
//   https://www.rfc-editor.org/rfc/rfc8089 for `file:` URLs (read 2026-11-22)

/**
 * The limit of Linux (`PATH_MAX`, https://man7.org/linux/man-pages/man0/limits.h.0p.html, read 2026-11-22).
 */
const maxPathCharacters = 4096;

/** A normalised path, and a key that shows which paths lie below which. */
export interface PathKey {
  /** Relative to the working directory if inside it, else absolute; with `/`. */
  readonly path: string;
  /**
   * Root and names joined by NUL, which no path contains: a path below this one starts with this `full` and a
   * NUL.
   */
  readonly full: string;
}

/** Normalises the paths of one working directory. */
export interface Paths {
  /**
   * The key of a path; undefined if it is invalid: empty, with a NUL, or longer than 4096 characters. Never
   * throws.
   */
  keyByPath(path: string): PathKey | undefined;
  /** The key with this `full`; undefined if its path would be too long. */
  keyOfFull(full: string): PathKey | undefined;
}

interface Parsed {
  /** `/`, `C:`, `//server/share`; empty for a relative path. */
  readonly root: string;
  readonly names: readonly string[];
}

const drivePath = /^[A-Za-z]:[\\/]/;
const driveStart = /^[A-Za-z]:/;
const share = /^\/\/([^/]{1,255})\/{1,255}([^/]{1,255})/;

/** The paths relative to a working directory; without an absolute one, relative paths stay relative. */
export function pathsFrom(cwd?: string): Paths {
  const base = cwd === undefined ? undefined : parseDirectory(cwd);
  // The start of `full` of a path inside the working directory.
  const inside = base === undefined ? "\0" : `${fullPath(base)}\0`;
  /** A session repeats the same paths. */
  const cache = new Map<string, PathKey | undefined>();

  function keyOfFull(full: string): PathKey | undefined {
    const path = printed(full);
    return path.length > maxPathCharacters ? undefined : { path, full };
  }

  function printed(full: string): string {
    if (`${full}\0` === inside) return ".";
    if (full.startsWith(inside)) {
      const path = full.slice(inside.length).replaceAll("\0", "/");
      // A name that looks like a drive would be parsed as absolute.
      const drive = base === undefined ? drivePath : driveStart;
      return base?.root !== "/" && drive.test(path) ? `./${path}` : path;
    }
    const [root = "", ...names] = full.split("\0");
    return root === "/" ? `/${names.join("/")}` : `${root}/${names.join("/")}`;
  }

  function parsedKey(path: string): PathKey | undefined {
    const plain = withoutScheme(path, base);
    if (plain === "" || plain.includes("\0")) return undefined;
    const parsed = parse(plain, base);
    if (parsed.root !== "" || base === undefined) {
      return keyOfFull(fullPath({ root: parsed.root, names: resolved(parsed.names, parsed.root === "") }));
    }
    return keyOfFull(fullPath({ root: base.root, names: resolved([...base.names, ...parsed.names], false) }));
  }

  return {
    keyOfFull,
    keyByPath(path) {
      if (path === "" || path.length > maxPathCharacters) return undefined;
      let key = cache.get(path);
      if (key === undefined && !cache.has(path)) {
        key = parsedKey(path);
        cache.set(path, key);
      }
      return key;
    },
  };
}

function fullPath({ root, names }: Parsed): string {
  return [root, ...names].join("\0");
}

function parseDirectory(cwd: string): Parsed | undefined {
  const plain = withoutScheme(cwd, undefined);
  if (plain.includes("\0")) return undefined;
  const windows: Parsed = { root: "C:", names: [] };
  const isShare = plain.startsWith("\\\\") && share.test(plain.replaceAll("\\", "/"));
  const { root, names } = parse(plain, isShare ? windows : undefined);
  return root === "" ? undefined : { root, names: resolved(names, false) };
}

/** The path of a local `file:` URL, percent-decoded; any other text unchanged. */
function withoutScheme(path: string, base: Parsed | undefined): string {
  if (!/^file:\/\//i.test(path)) return path;
  const [address = ""] = path.slice("file://".length).split(/[?#]/, 1);
  const slash = address.indexOf("/");
  const host = slash < 0 ? address : address.slice(0, slash);
  const encoded = address.slice(host.length);
  const local = host === "" || host.toLowerCase() === "localhost";
  const posix = base?.root === "/";
  if (!local && (base === undefined || posix)) return path;
  let decoded = encoded;
  try {
    decoded = decodeURIComponent(encoded);
  } catch {
    // A stray percent sign: the path is not encoded.
  }
  if (!local) return `//${host}${decoded}`;
  return !posix && /^\/[A-Za-z]:[\\/]/.test(decoded) ? decoded.slice(1) : decoded;
}

/**
 * Parses a path by the rules of the working directory's system; without one, only a path with a drive is a
 * Windows path.
 */
function parse(path: string, base: Parsed | undefined): Parsed {
  if (base === undefined ? drivePath.test(path) : base.root !== "/") return parseWindows(path, base);
  return { root: path.startsWith("/") ? "/" : "", names: path.split("/") };
}

/** A path without `//?/`, the prefix of an ordinary path, which may be repeated. */
function withoutPrefix(path: string): string {
  let plain = path;
  while (plain.startsWith("//?/")) {
    let at = "//?/".length;
    while (plain[at] === "/") at++;
    const rest = plain.slice(at, at + 4);
    if (/^[A-Za-z]:/.test(rest)) plain = plain.slice(at);
    else if (/^UNC(?:\/|$)/i.test(rest)) plain = `//${plain.slice(at + 4)}`;
    else break;
  }
  return plain;
}

function parseWindows(path: string, base: Parsed | undefined): Parsed {
  const plain = withoutPrefix(path.replaceAll("\\", "/"));
  if (driveStart.test(plain)) {
    const root = plain.slice(0, 2).toUpperCase();
    // `C:name` is relative to the current directory of that drive, which is known for one drive at most.
    return { root: plain[2] !== "/" && base?.root === root ? "" : root, names: plain.slice(2).split("/") };
  }
  const match = share.exec(plain);
  if (match !== null) {
    const [all, server, name] = match;
    return { root: `//${server}/${name}`.toLowerCase(), names: plain.slice(all.length).split("/") };
  }
  return { root: plain.startsWith("/") ? (base?.root ?? "") : "", names: plain.split("/") };
}

/** The names without empty ones, `.` and `..`; a leading `..` of a relative path stays. */
function resolved(names: readonly string[], relative: boolean): readonly string[] {
  const out: string[] = [];
  for (const name of names) {
    if (name === "" || name === ".") continue;
    if (name !== "..") out.push(name);
    else if (out.length > 0 && out.at(-1) !== "..") out.pop();
    else if (relative) out.push(name);
  }
  return out;
}
