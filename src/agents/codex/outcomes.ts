/** Outcomes of tool calls from events: exit codes, errors, changed files. Also the usage of replies. */

import type { Usage } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import {
  type ForeignObject,
  parseJson,
  readCount,
  readNumber,
  readObject,
  readText,
  toArray,
} from "../shared/values.js";

/** The facts about a call beside its output. */
export interface Outcome {
  readonly isError: boolean | undefined;
  /** For the `details` of the result. */
  readonly details: ForeignObject;
  /** Threads of subagents that the call started. */
  readonly threads: readonly string[];
}

/** Members of events that tell more than the output. Outputs are not repeated. */
const kept = [
  "command",
  "cwd",
  "exit_code",
  "status",
  "duration",
  "changes",
  "success",
  "error",
  "path",
  "invocation",
];

/** The outcome that an event tells, with the id of its call. */
export function eventOutcome(
  event: ForeignObject,
): { readonly callId: string; readonly outcome: Outcome } | undefined {
  const isItem = event.type === "item_completed";
  const item = isItem ? readObject(event.item) : event;
  const type = readText(item?.type) ?? "";
  if (item === undefined || !(isItem ? itemTypes : eventTypes).has(type)) return undefined;
  const callId = readText(item.call_id) ?? readText(item.id);
  if (callId === undefined) return undefined;
  const details = Object.fromEntries(
    kept.flatMap((name) => (isGiven(item[name]) ? [[name, item[name]]] : [])),
  );
  const threads = [...toArray(item.receiver_thread_ids), item.new_thread_id].filter(
    (id) => typeof id === "string",
  );
  return { callId, outcome: { isError: failed(item), details, threads } };
}

const eventTypes: ReadonlySet<string> = new Set([
  "exec_command_end",
  "mcp_tool_call_end",
  "patch_apply_end",
  "collab_agent_spawn_end",
]);

const itemTypes: ReadonlySet<string> = new Set([
  "CommandExecution",
  "McpToolCall",
  "FileChange",
  "DynamicToolCall",
  "CollabAgentToolCall",
  "ImageView",
]);

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function failed({ exit_code, success, error, result, status }: ForeignObject): boolean | undefined {
  const code = readNumber(exit_code);
  if (code !== undefined) return code !== 0;
  if (typeof success === "boolean") return !success;
  const given = readObject(result);
  if (isGiven(error) || (given !== undefined && isGiven(given.Err))) return true;
  const ok = readObject(given?.Ok) ?? given;
  if (typeof ok?.is_error === "boolean") return ok.is_error;
  if (typeof ok?.isError === "boolean") return ok.isError;
  return status === "failed" || status === "declined" ? true : undefined;
}

/** Outputs of commands begin with these lines: JSON before 0.98, then text. */
const exitCode =
  /^(?:Chunk ID: [^\n]{0,1000}\n)?(?:Exit code: (-?\d{1,15})\n|Wall time: [^\n]{0,1000}\nProcess exited with code (-?\d{1,15})\n)/;

/** Whether an output tells by itself that the call failed. */
export function outputFailed(output: unknown): boolean {
  const given = readObject(output);
  if (given !== undefined) return given.success === false;
  const text = readText(output);
  if (text === undefined) return false;
  const [, before, after] = exitCode.exec(text) ?? [];
  const code = before ?? after;
  if (code !== undefined) return code !== "0";
  const value = text.startsWith('{"output":') ? parseJson(text) : undefined;
  const metadata = isRecord(value) ? readObject(value.metadata) : undefined;
  return (readNumber(metadata?.exit_code) ?? 0) !== 0;
}

/** The thread that a `spawn_agent` call reports. */
export function spawnedThread(output: unknown): string | undefined {
  const text = readText(output);
  const value =
    text !== undefined && text.length < 65_536 && text.includes('"agent_id"') ? parseJson(text) : undefined;
  return readText(readObject(value)?.agent_id);
}

/** The usage of one reply. Codex counts cached and written tokens as part of the input. */
export function readUsage(value: unknown): Usage | undefined {
  const tokens = readObject(value);
  if (tokens === undefined || readNumber(tokens.input_tokens) === undefined) return undefined;
  const cacheRead = readCount(tokens.cached_input_tokens);
  const cacheWrite = readCount(tokens.cache_write_input_tokens);
  const input = readCount(tokens.input_tokens);
  const output = readCount(tokens.output_tokens);
  return {
    input: Math.max(0, input - cacheRead - cacheWrite),
    output,
    cacheRead,
    cacheWrite,
    totalTokens: readNumber(tokens.total_tokens) ?? input + output,
  };
}
