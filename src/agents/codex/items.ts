/**
 * Codex's items: their parts as blocks, those of the model as one message, and the outcomes of calls from
 * events.
 */

import type { AssistantMessage, ImageBlock, TextBlock, Usage } from "../../content/index.js";
import { plainContent } from "../../content/internal.js";
import { base64Bytes } from "../../core/base64.js";
import { isRecord } from "../../core/shape.js";
import { readOpenaiResponsesReply } from "../../providers/openai/index.js";
import {
  type ForeignObject,
  parseJson,
  readCount,
  readNumber,
  readObject,
  readText,
  toArray,
  unknownBlocks,
} from "../shared/values.js";
import { openings } from "./agent.js";

/** A block of a user message or a result. */
export type ContentBlock = TextBlock | ImageBlock;

/** A part of a message, and the harness text that it is, if any. */
interface Part {
  readonly block: ContentBlock;
  /** The `customType` of the message that it becomes. */
  readonly harness: string | undefined;
}

/** A message of the user, or of the harness in the user's place. */
interface UserPiece {
  /** The `customType` of a harness text; undefined for the user's own text. */
  readonly harness: string | undefined;
  readonly content: string | readonly ContentBlock[];
}

/**
 * The pieces of a message of the role `user`: runs of the user's text and of the harness's texts. The
 * `<image>` texts around an image fold into it.
 */
export function userPieces(item: ForeignObject): readonly UserPiece[] {
  const kinds = toArray(readObject(item.internal_chat_message_metadata_passthrough)?.content_item_kinds);
  const parts = contentParts(item.content, kinds);
  const pieces: { readonly harness: string | undefined; readonly blocks: ContentBlock[] }[] = [];
  for (const { block, harness } of parts) {
    const last = pieces.at(-1);
    if (last !== undefined && last.harness === harness) last.blocks.push(block);
    else pieces.push({ harness, blocks: [block] });
  }
  if (pieces.length === 0) return [{ harness: undefined, content: "" }];
  return pieces.map(({ harness, blocks }) => ({ harness, content: plainContent(blocks) }));
}

/** The blocks of a tool's output: text, parts, or the object of early versions. */
export function outputBlocks(output: unknown): readonly ContentBlock[] {
  const given = readObject(output);
  const value = given === undefined ? output : (given.content_items ?? given.content ?? output);
  const object = readObject(value);
  return object === undefined ? contentBlocks(value) : unknownBlocks(object);
}

/** Parts as blocks, without a look at who wrote them. */
export function contentBlocks(content: unknown): readonly ContentBlock[] {
  return contentParts(content, []).map(({ block }) => block);
}

/** The objects of an array; other members are left out. */
export function objectsIn(value: unknown): readonly ForeignObject[] {
  return toArray(value).flatMap((each) => {
    const object = readObject(each);
    return object === undefined ? [] : [object];
  });
}

/** The text of a message's parts. */
export function contentTexts(content: unknown): string {
  if (typeof content === "string") return content.toWellFormed();
  return toArray(content)
    .map((part) => readText(readObject(part)?.text) ?? "")
    .join("");
}

function contentParts(content: unknown, kinds: readonly unknown[]): readonly Part[] {
  if (typeof content === "string") {
    const text = content.toWellFormed();
    return text === "" ? [] : [{ block: textBlock(text), harness: harnessType(text, kinds[0]) }];
  }
  const given = toArray(content);
  return given.flatMap((each, at): readonly Part[] => {
    const part = readObject(each);
    if (part === undefined) return [];
    const text = readText(part.text);
    if (text !== undefined) {
      const isTag = isImageTag(text, "<image", given[at + 1]) || isImageTag(text, "</image>", given[at - 1]);
      return isTag || text === "" ? [] : [{ block: textBlock(text), harness: harnessType(text, kinds[at]) }];
    }
    return partBlocks(part).map((block) => ({ block, harness: undefined }));
  });
}

/** Codex names an image in texts around it since 0.98. */
function isImageTag(text: string, tag: string, neighbour: unknown): boolean {
  return text.startsWith(tag) && text.length < 4096 && readObject(neighbour)?.type === "input_image";
}

function textBlock(text: string): TextBlock {
  return { type: "text", text };
}

const dataUrl = /^data:([a-z0-9.+-]{1,127}\/[a-z0-9.+-]{1,127});base64,/i;

/** An image in base64 is an image; an address stays text; any other part is its JSON and its media. */
function partBlocks(part: ForeignObject): readonly ContentBlock[] {
  const { image_url: image, type } = part;
  const url = readText(image) ?? readText(readObject(image)?.url) ?? "";
  const [head, mimeType] = dataUrl.exec(url) ?? [];
  if (head !== undefined && mimeType !== undefined) {
    const data = url.slice(head.length);
    if (data !== "" && base64Bytes(data) !== undefined) return [{ type: "image", data, mimeType }];
    return [textBlock(`[${mimeType} that is not base64]`)];
  }
  if (url === "") return unknownBlocks(part);
  return [textBlock(`[${readText(type) ?? "part"} ${url.slice(0, 2048)}]`)];
}

/** The `customType` of initial context, which a harness repeats after a compaction. */
export const initialContextType = "sessile.initial_context";

/** The working directory that the environment in a text names. */
export function textDirectory(text: string): string | undefined {
  const [, tag, line] =
    /<cwd>([^<\n]{1,4096})<\/cwd>|^Current working directory: (.{1,4096})$/m.exec(text) ?? [];
  return tag ?? line;
}

/** Harness texts that belong to their place in the conversation. */
const placed =
  /^<(turn_aborted|subagent_notification|user_shell_command|skill|hook_prompt|goal_context)[\s>]/;

function harnessType(text: string, kind: unknown): string | undefined {
  const known = readText(kind);
  if (known?.startsWith("user.") === true) return undefined;
  const [, name] = placed.exec(text.trimStart()) ?? [];
  if (name !== undefined) return `codex.${name}`;
  return openings.test(text.trimStart()) || (known !== undefined && known !== "unknown")
    ? initialContextType
    : undefined;
}

// Items of the model as one assistant message.

/** Items that the model makes. */
export const modelItems: ReadonlySet<string> = new Set([
  "reasoning",
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "web_search_call",
  "tool_search_call",
  "image_generation_call",
  "compaction",
  "compaction_summary",
  "context_compaction",
  "additional_tools",
]);

/** Items that answer a call. */
export const outputItems: ReadonlySet<string> = new Set([
  "function_call_output",
  "custom_tool_call_output",
  "local_shell_call_output",
  "tool_search_output",
  "mcp_tool_call_output",
]);

/** An item without the members that Codex adds for itself. */
export function plainItem(item: ForeignObject): ForeignObject {
  const { internal_chat_message_metadata_passthrough: _passed, metadata: _metadata, ...plain } = item;
  return plain;
}

/** A call in a reply: its id as the session has it, and the tool. */
export interface ReadCall {
  readonly storedId: string;
  readonly name: string;
}

/** The message of items, and its calls by the ids that outputs name. */
export function readReply(
  items: readonly ForeignObject[],
  maker: { readonly provider: string; readonly model: string },
  timestamp: number,
  annotation?: ForeignObject,
): { readonly message: AssistantMessage; readonly calls: ReadonlyMap<string, ReadCall> } {
  const output = items.flatMap((item) => readItems(plainItem(item)));
  const message = readOpenaiResponsesReply(
    { model: maker.model, created_at: timestamp / 1000, error: null, incomplete_details: null, output },
    maker,
  );
  const calls = new Map<string, ReadCall>();
  const named = new Map(
    message.content.flatMap((block) => (block.type === "toolCall" ? [[block.id, block]] : [])),
  );
  for (const item of output) {
    const callId = readText(item.call_id);
    if (callId === undefined) continue;
    const call = named.get(callId) ?? named.get(`${callId}|${readText(item.id) ?? ""}`);
    if (call !== undefined) calls.set(callId, { storedId: call.id, name: call.name });
  }
  return { message: { ...madeBy(message, annotation), timestamp }, calls };
}

/** A reply that this library wrote names its provider if that has another protocol. */
function madeBy(message: AssistantMessage, annotation: ForeignObject | undefined): AssistantMessage {
  const provider = readText(annotation?.provider);
  const model = readText(annotation?.model);
  if (provider === undefined || model === undefined) return message;
  const { api: _api, ...rest } = message;
  const api = readText(annotation?.api);
  return { ...rest, provider, model, ...(api === undefined ? {} : { api }) };
}

type OutputItem = ForeignObject & { readonly type: string };

/** Messages of converters and early versions have parts of other types, and calls as parts. */
function readItems(item: ForeignObject): readonly OutputItem[] {
  const type = readText(item.type) ?? "message";
  if (type === "compaction_summary") return [{ ...item, type: "compaction" }];
  if (type !== "message") return [{ ...item, type }];
  const { content } = item;
  if (typeof content === "string") {
    return [{ ...item, type, content: [{ type: "output_text", text: contentTexts(content) }] }];
  }
  const parts = objectsIn(content);
  if (parts.every((part) => part.type === "output_text" || part.type === "refusal"))
    return [{ ...item, type }];
  const texts = parts.flatMap((part) =>
    typeof part.text === "string" ? [{ ...part, type: "output_text" }] : [],
  );
  return [{ ...item, type, content: texts }, ...parts.flatMap(callOfPart)];
}

function callOfPart({ type, id, name, input }: ForeignObject): readonly OutputItem[] {
  if (type !== "tool_use" || typeof id !== "string" || typeof name !== "string") return [];
  return [{ type: "function_call", call_id: id, name, arguments: JSON.stringify(input ?? {}) }];
}

// Outcomes of tool calls from events: exit codes, errors, changed files. Also the usage of replies.

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
