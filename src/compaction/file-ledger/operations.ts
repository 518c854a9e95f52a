/** Reads from a tool call which files it touches. */
import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { isRecord } from "../../internal/shape.js";
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
  call: ToolCall,
  result: ToolResultMessage | undefined,
  confirmed: boolean,
  tools: FileToolTable,
  paths: Paths,
): readonly OperationStep[] {
  const tool = toolNamed(tools, call.name);
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

/** Namespaces that interfaces of models put before every tool. */
const interfaces = ["functions.", "default_api:", "default_api."];

/**
 * The tool that a name means: the row of that very name, or of the name without a namespace. Behind the name
 * of a server only names that speak of files count: `mcp__mail__delete` deletes no file.
 */
function toolNamed(tools: FileToolTable, name: string): FileToolTable[string] | undefined {
  const own = (key: string) => (Object.hasOwn(tools, key) ? tools[key] : undefined);
  const exact = own(name);
  if (exact !== undefined) return exact;
  const found = interfaces.find((each) => name.startsWith(each));
  const plain = found === undefined ? name : name.slice(found.length);
  const underscores = plain.lastIndexOf("__");
  const bare = plain.slice(Math.max(underscores < 0 ? 0 : underscores + 2, plain.lastIndexOf("/") + 1));
  if (bare === plain) return own(plain);
  return /file|text_editor|str_replace/.test(bare) ? own(bare) : undefined;
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

/** The texts of the first of these arguments that has any. */
export function textsOf(args: unknown, names: string | readonly string[]): readonly string[] {
  if (!isRecord(args)) return [];
  for (const name of typeof names === "string" ? [names] : names) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (typeof value === "string") return [value];
    if (!Array.isArray(value)) continue;
    const texts = value.filter((each) => typeof each === "string");
    if (texts.length > 0) return texts;
  }
  return [];
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
