/** Reads from a tool call which files it touches. */
import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type { PathKey, Paths } from "./paths.js";
import type { FileOperation, FileToolRow, FileToolTable } from "./tool-table.js";

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
export function sha256Of(value: unknown): string | undefined {
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
  const tool = toolOf(tools, call);
  if (tool === undefined) return [];
  const operations = typeof tool === "function" ? tool(call, result) : operationsOfRow(tool, call, result);
  const recorded = operations.length === 1 ? sha256Of(detail(result, "contentSha256")) : undefined;
  const steps: OperationStep[] = [];
  for (const { operation, path, to, contentSha256 } of operations) {
    const key = paths.keyOf(path);
    const target = to === undefined || operation !== "move" ? undefined : paths.keyOf(to);
    if (key === undefined || (operation === "move" && target === undefined)) continue;
    const content = sha256Of(contentSha256) ?? recorded;
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
function toolOf(
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
  const [tool] = textsOf(call.arguments, ["tool_name", "toolName", "ToolName"]);
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
  const sources = textsOf(args, row.path);
  const created = row.operation === "write" && detail(result, "created") === true;
  const operation = created ? "create" : row.operation;
  if (operation !== "move") return sources.map((path) => ({ operation, path }));
  const [to] = row.to === undefined ? [] : textsOf(args, row.to);
  if (to === undefined) return [];
  return sources.map((path) => ({
    operation,
    path,
    to: sources.length === 1 ? to : `${to}/${lastName(path)}`,
  }));
}

/** The texts of the first of these arguments that has any. Arguments that are a text or a list count alone. */
export function textsOf(args: unknown, names: string | readonly string[]): readonly string[] {
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
