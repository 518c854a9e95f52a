import type { ToolCall, ToolResultMessage } from "../../content/index.js";
import { isRecord } from "../../internal/shape.js";
import type { OperationStep } from "./ledger-builder.js";
import type { Paths } from "./paths.js";
import type { FileOperation, FileToolRow, FileToolTable } from "./tool-table.js";

const sha256 = /^[0-9a-f]{64}$/i;

/** A SHA-256 in small letters; undefined for anything that is none. */
export function sha256Of(value: unknown): string | undefined {
  return typeof value === "string" && sha256.test(value) ? value.toLowerCase() : undefined;
}

/** What a call did, or without a result may have done. A call that failed did nothing, but for the calls that it made. */
export function stepsOfCall(
  call: ToolCall,
  result: ToolResultMessage | undefined,
  tools: FileToolTable,
  paths: Paths,
): readonly OperationStep[] {
  const own = result?.isError === true ? [] : ownSteps(call, result, result !== undefined, tools, paths);
  // Nearly every result has none: then no list is made.
  return result?.nestedCalls === undefined ? own : [...nestedSteps(result, tools, paths), ...own];
}

/** What the calls did that the result's tool made to other tools while it ran. `nestedCalls` may have any JSON shape. */
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
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (tool === undefined) return [];
  const operations = typeof tool === "function" ? tool(call, result) : operationsOfRow(tool, call, result);
  const recorded = operations.length === 1 ? sha256Of(detail(result, "contentSha256")) : undefined;
  const steps: OperationStep[] = [];
  for (const { operation, path, to, contentSha256 } of operations) {
    const place = paths.place(path);
    const target = to === undefined || operation !== "move" ? undefined : paths.place(to);
    if (place === undefined || (operation === "move" && target === undefined)) continue;
    const content = sha256Of(contentSha256) ?? recorded;
    const done: OperationStep = { operation, place, confirmed };
    steps.push(
      target === undefined && content === undefined
        ? done
        : {
            ...done,
            ...(target !== undefined && { to: target }),
            ...(content !== undefined && { contentSha256: content }),
          },
    );
  }
  return steps;
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

/** The texts of the first of these arguments that holds any. */
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
 * The files that a patch in codex's format touches, by its headers alone; what is no patch touches none. As codex's own
 * parser does, it takes space around a header, but not within an update, where a line of context begins with a space.
 *
 * @see https://github.com/openai/codex/blob/main/codex-rs/apply-patch/src/parser.rs (read 2026-11-22)
 */
export function operationsOfPatch(patch: string): readonly FileOperation[] {
  const operations: FileOperation[] = [];
  /** The path of the update that the line before began. */
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
