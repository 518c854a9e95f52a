/** Items of the model as one assistant message. */

import type { AssistantMessage } from "../../content/index.js";
import { readOpenaiResponsesReply } from "../../providers/openai/index.js";
import { type ForeignObject, readText } from "../shared/values.js";
import { contentTexts, objectsIn } from "./content.js";

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
