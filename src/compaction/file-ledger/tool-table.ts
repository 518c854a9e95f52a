/** The table of tools that read and write files. */
import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import { operationsOfPatch, textsOf } from "./operations.js";

/** The names of a path: pi has `path`, Claude Code and Gemini CLI `file_path`, opencode and VS Code `filePath`. */
const path = [
  "path",
  "file_path",
  "filePath",
  "absolute_path", // Gemini CLI, of `read_file` until 0.9
  "absolutePath", // Cline, for some models
  "AbsolutePath", // Antigravity
  "TargetFile", // Antigravity
  "target_file", // Cursor
  "notebook_path", // Claude Code
  "target_notebook", // Cursor
];
const source = ["source", "from", "old_path", "oldPath", "source_path", ...path];
const target = ["destination", "to", "new_path", "newPath", "destination_path"];
/** The names of several paths, in which an item is a path or has one. */
const paths = ["paths", "files", "file_paths", "filePaths", ...path];

const read: FileToolRow = { operation: "read", path };
const write: FileToolRow = { operation: "write", path };
const create: FileToolRow = { operation: "create", path };
const modify: FileToolRow = { operation: "modify", path };
const move: FileToolRow = { operation: "move", path: source, to: target };
const remove: FileToolRow = { operation: "delete", path: paths };
const readAll: FileToolRow = { operation: "read", path: paths };

/** The operations of OpenAI's own `apply_patch`, by their type. */
const patchTypes = new Map<unknown, FileOperation["operation"]>([
  ["create_file", "create"],
  ["update_file", "modify"],
  ["delete_file", "delete"],
]);

const patched: FileToolReader = ({ arguments: args }) => {
  if (isRecord(args) && isRecord(args.operation)) {
    const operation = patchTypes.get(args.operation.type);
    const [file] = textsOf(args.operation, "path");
    return operation === undefined || file === undefined ? [] : [{ operation, path: file }];
  }
  const [patch] = typeof args === "string" ? [args] : textsOf(args, ["input", "patch", "patchText", "text"]);
  return patch === undefined ? [] : operationsOfPatch(patch);
};

/** Several paths, some of which may be patterns: those of Gemini CLI's `read_many_files`. */
const readMany: FileToolReader = ({ arguments: args }) =>
  textsOf(args, ["include", ...paths])
    .filter((each) => !/[*?{]/.test(each))
    .map((file) => ({ operation: "read", path: file }));

/** A shell that is asked for `apply_patch`, as codex's models do: the patches in its commands. */
const patchedByShell: FileToolReader = ({ arguments: args }) => {
  // OpenAI's own shells have it in an action.
  const given = isRecord(args) && isRecord(args.action) ? args.action : args;
  const commands = typeof given === "string" ? [given] : commandTexts(given);
  const directory = isRecord(args) ? textsOf(args, ["workdir", "cwd"])[0] : undefined;
  return commands.flatMap((command) => patchesIn(command, directory));
};

/** The shell commands of a call: a text, a list of words, or a list of commands. */
function commandTexts(args: unknown): readonly string[] {
  if (!isRecord(args)) return [];
  const { commands } = args;
  if (!Array.isArray(commands)) return [textsOf(args, ["command", "cmd", "commands", "input"]).join("\n")];
  return commands.map((each: unknown) =>
    isRecord(each)
      ? [...textsOf(each, "command"), ...textsOf(each, "args")].join("\n")
      : typeof each === "string"
        ? each
        : "",
  );
}

/** A change of directory right before the patch. The bounds are those of a path. */
const changed =
  /(?:^|[\s;&'"])cd\s{1,9}(?:"([^"\n]{1,4096})"|'([^'\n]{1,4096})'|([^\s'"&;|]{1,4096}))\s{0,9}(?:&&|;)\s{0,9}$/;

function patchesIn(command: string, directory: string | undefined): readonly FileOperation[] {
  const [before = "", ...patches] = command.split("*** Begin Patch");
  const call = before.lastIndexOf("apply_patch");
  if (call < 0) return [];
  const [, ...found] = changed.exec(before.slice(Math.max(0, call - 8192), call)) ?? [];
  const into = found.find((each) => each !== undefined);
  const below = (file: string): string =>
    [into, directory].reduce<string>(
      (name, parent) => (parent === undefined || isRooted(name) ? name : `${parent}/${name}`),
      file,
    );
  return patches
    .flatMap((patch) => operationsOfPatch(patch.split("*** End Patch", 1).join("")))
    .map(({ to, ...operation }) => ({
      ...operation,
      path: below(operation.path),
      ...(to === undefined ? {} : { to: below(to) }),
    }));
}

/** Whether a path does not start from the working directory. */
function isRooted(name: string): boolean {
  return /^(?:[/\\]|[a-z]:|file:)/i.test(name);
}

const commands = new Map<string | undefined, FileOperation["operation"]>([
  ["view", "read"],
  ["create", "create"],
  ["write", "write"],
  ["str_replace", "modify"],
  ["insert", "modify"],
  ["undo_edit", "modify"],
]);

/** Anthropic's text editor: one tool whose `command` is the operation. goose's has `write`. */
const edited: FileToolReader = ({ arguments: args }: ToolCall) => {
  const operation = commands.get(textsOf(args, "command")[0]);
  const [file] = textsOf(args, "path");
  return operation === undefined || file === undefined ? [] : [{ operation, path: file }];
};

/** `edit_file` of the reference MCP server, which has a dry run. */
const editedUnlessDry: FileToolReader = ({ arguments: args }) =>
  isRecord(args) && args.dryRun === true
    ? []
    : textsOf(args, path).map((file) => ({ operation: "modify", path: file }));

/** Edits of several files in one call, each with its path. */
const replaced: FileToolReader = ({ arguments: args }) =>
  textsOf(args, "replacements").map((file) => ({ operation: "modify", path: file }));

/** The tools of known agents by name, as {@link FileToolTable} lists them. */
export const fileTools: FileToolTable = {
  read,
  write,
  edit: modify,
  multiedit: modify,
  patch: patched,
  apply_patch: patched,
  applypatch: patched,
  ApplyPatch: patched,
  Read: read,
  Write: write,
  Create: create,
  Edit: modify,
  MultiEdit: modify,
  StrReplace: modify,
  Delete: remove,
  NotebookEdit: modify,
  EditNotebook: modify,
  ReadFile: read,
  ReadMediaFile: read,
  WriteFile: write,
  StrReplaceFile: modify,
  str_replace_based_edit_tool: edited,
  str_replace_editor: edited,
  text_editor: edited,
  file_editor: edited,
  shell: patchedByShell,
  shell_command: patchedByShell,
  local_shell: patchedByShell,
  local_shell_call: patchedByShell,
  exec_command: patchedByShell,
  exec: patchedByShell,
  "container.exec": patchedByShell,
  execute_command: patchedByShell,
  run_commands: patchedByShell,
  run_shell_command: patchedByShell,
  run_in_terminal: patchedByShell,
  run_terminal_cmd: patchedByShell,
  bash: patchedByShell,
  Bash: patchedByShell,
  Shell: patchedByShell,
  Execute: patchedByShell,
  view: read,
  view_file: read,
  view_image: read,
  read_image: read,
  image_processor: read,
  create,
  editor: write,
  replace: modify,
  read_files: readAll,
  read_many_files: readMany,
  write_to_file: write,
  append_to_file: modify,
  replace_in_file: modify,
  replace_file_content: modify,
  multi_replace_file_content: modify,
  replace_string_in_file: modify,
  multi_replace_string_in_file: replaced,
  insert_edit_into_file: modify,
  edit_notebook_file: modify,
  edit_notebook: modify,
  apply_diff: modify,
  insert_content: modify,
  search_and_replace: modify,
  search_replace: modify,
  create_file: create,
  read_file: { operation: "read", path: paths },
  read_text_file: read,
  read_media_file: read,
  read_multiple_files: readAll,
  write_file: write,
  edit_file: editedUnlessDry,
  move_file: move,
  move_path: move,
  move,
  rename_file: move,
  rename: move,
  delete_file: remove,
  delete_path: remove,
  delete: remove,
  remove_file: remove,
};

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
 * Reads the operations of a call. Not called for failed calls; `result` is undefined if the call has none
 * yet.
 */
export type FileToolReader = (
  call: ToolCall,
  result: ToolResultMessage | undefined,
) => readonly FileOperation[];

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
