/** Steps of a session as Codex's items: messages, and replies with the results of their calls. */

import type { AssistantMessage, ToolCall } from "../../content/index.js";
import { blockTexts } from "../../content/internal.js";
import { replyItems } from "../../providers/internal.js";
import { type ForeignObject, parseJson, readObject, readText } from "../shared/values.js";
import { describedReply, filledReply, type WriteBlock, writeBlocks } from "../shared/write-blocks.js";
import type { WriteResult, WriteStep } from "../shared/write-steps.js";
import type { WriteSource } from "../types.js";
import { modelItems } from "./replies.js";

/** An item of Codex. */
export type CodexItem = ForeignObject & { readonly type: string };

/** A step that Codex has items for. */
export type ItemStep = WriteStep & { readonly kind: "user" | "reply" };

/** The protocol whose reasoning and items Codex sends back. */
const responsesApi = "openai-responses";

/** Whether a reply came over the protocol that Codex speaks. */
export function isResponses({ api }: Pick<AssistantMessage, "api">): boolean {
  return api === responsesApi;
}

/**
 * Writes the items of steps. A compaction repeats the steps that it keeps: they have the same items again, and no
 * finding a second time.
 */
export class ItemWriter {
  readonly #source: WriteSource;
  /** Ids of items in calls, by the entry and index of the block. */
  readonly #itemIds: ReadonlyMap<string, string>;
  /** The entries that were written. */
  readonly #written = new Set<string>();
  /** The entry and place of the item that has an id. */
  readonly #owners = new Map<string, string>();

  constructor(source: WriteSource, itemIds: ReadonlyMap<string, string>) {
    this.#source = source;
    this.#itemIds = itemIds;
  }

  /** The source of an entry's content. */
  #once(entryId: string): WriteSource {
    if (this.#written.has(entryId)) return { ...this.#source, find: () => {} };
    this.#written.add(entryId);
    return this.#source;
  }

  /** The items of a message of the user. */
  async user(step: ItemStep & { readonly kind: "user" }): Promise<readonly CodexItem[]> {
    const { entryId, content } = step;
    const blocks = await writeBlocks(this.#once(entryId), entryId, content, isSentImage);
    return [{ type: "message", role: "user", content: blocks.map(inputPart) }];
  }

  /** The items of a reply, without its results. */
  async reply({ entryId, message }: ItemStep & { readonly kind: "reply" }): Promise<readonly CodexItem[]> {
    const source = this.#once(entryId);
    const identified = message.content.map((block, at) => {
      if (block.type !== "toolCall") return block;
      const itemId = this.#itemIds.get(`${entryId} ${at}`);
      return plainCall(itemId === undefined ? block : { ...block, id: `${block.id}|${itemId}` });
    });
    const none = { provider: "none", model: "none" };
    const own = { ...message, content: identified };
    const { items: made, losses } = replyItems(
      isResponses(message) ? await filledReply(source, entryId, own) : describedReply(own),
      entryId,
      isResponses(message) ? message : none,
    );
    for (const { code, reason } of losses) {
      if (code === "reasoning" || code === "opaque") source.find({ code, entryId, text: reason });
    }
    return made.flatMap((item, at) =>
      this.#item(item as unknown as ForeignObject, `${entryId} ${at}`, source, entryId),
    );
  }

  /** The item of a result, in the form that its call asks for. */
  async result(result: WriteResult, replyItems: readonly CodexItem[]): Promise<CodexItem> {
    const { entryId, callId, content } = result;
    const source = this.#once(`${entryId} ${callId}`);
    const blocks = await writeBlocks(source, entryId, content, isSentImage);
    const call = replyItems.find(({ call_id }) => call_id === callId);
    return resultItem(callId, readText(call?.type) ?? "function_call", blocks);
  }

  /** @param place the entry and index of the item */
  #item(item: ForeignObject, place: string, source: WriteSource, entryId: string): readonly CodexItem[] {
    const type = readText(item.type) ?? "message";
    if (type === "message") {
      const { role: _role, content: given, ...rest } = item;
      const parts = typeof given === "string" ? [{ text: given }] : (given as readonly ForeignObject[]);
      const content = parts.map(({ text, refusal }) => ({ type: "output_text", text: text ?? refusal }));
      return [{ ...this.#unique(rest, place), type, role: "assistant", content }];
    }
    if (modelItems.has(type)) return [{ ...this.#unique(item, place), type }];
    source.find({ code: "opaque", entryId, text: `Codex has no item ${type}` });
    return [];
  }

  /** An item without its id if another one has it, which the API refuses. */
  #unique(item: ForeignObject, place: string): ForeignObject {
    const { id, ...unnamed } = item;
    if (typeof id !== "string") return item;
    const owner = this.#owners.get(id) ?? place;
    this.#owners.set(id, owner);
    return owner === place ? item : unnamed;
  }
}

/** A call that the API would take as one of a tool of its own, which Codex has not, as a function's. */
function plainCall(call: ToolCall): ToolCall {
  const item = readObject(readObject(parseJson(call.thoughtSignature))?.item);
  if (item === undefined || item.type === "local_shell_call") return call;
  const { thoughtSignature: _signature, ...plain } = call;
  return plain;
}

function resultItem(callId: string, callType: string, blocks: readonly WriteBlock[]): CodexItem {
  const texts = blockTexts(blocks);
  const isText = texts.length === blocks.length;
  const text = texts.join("\n");
  if (callType === "tool_search_call") {
    const tools = parseJson(text);
    if (Array.isArray(tools)) {
      return { type: "tool_search_output", call_id: callId, status: "completed", execution: "client", tools };
    }
  }
  const output = isText && blocks.length <= 1 ? text : blocks.map(inputPart);
  // Early versions hold text alone there.
  if (callType === "custom_tool_call")
    return { type: "custom_tool_call_output", call_id: callId, output: isText ? text : output };
  return { type: "function_call_output", call_id: callId, output };
}

/** A block as a part of a message or an output. */
function inputPart(block: WriteBlock): ForeignObject {
  return block.type === "text"
    ? { type: "input_text", text: block.text }
    : { type: "input_image", image_url: `data:${block.mediaType};base64,${block.base64}` };
}

/** Image types of the Responses API. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function isSentImage(mediaType: string): boolean {
  return imageTypes.has(mediaType);
}
