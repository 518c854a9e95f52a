import { isRecord } from "../../internal/shape.js";
import { cleanJson } from "../block-reader.js";
import type { AssistantPart, OpaquePart, ReasoningPart } from "../request.js";
import { answeredItems, isHostedItem, wantsAnswer } from "./hosted.js";
import { parsed } from "./json.js";
import { isStatus } from "./responses-marks.js";
import type { OpenaiReasoningItem } from "./responses-value.js";

/** The item that a reasoning part is sent back as. */
export type SentReasoning = OpenaiReasoningItem | { readonly type: "item_reference"; readonly id: string };

/**
 * Ids of items: https://github.com/Wei-Shaw/sub2api/issues/954 and
 * https://github.com/can1357/oh-my-pi/issues/284 (stored copies, 2026-11-21).
 */
const itemId = /^[A-Za-z0-9_-]{1,64}$/;

/** The rules that decide which items are sent back. */
export interface ItemRules {
  /** The API keeps this conversation's responses. */
  readonly stored: boolean;
  /** OpenAI itself or Azure, which check ids; other servers of the protocol accept the ids that they gave. */
  readonly isOpenai: boolean;
}

/**
 * The rules of a provider, by its name in messages.
 *
 * @see https://github.com/anomalyco/opencode/pull/45094 and https://github.com/openai/codex/issues/38855
 *   (stored copies, 2026-11-22)
 */
export function itemRules(provider: string, stored: boolean): ItemRules {
  return { stored, isOpenai: /^(?:openai|azure)/i.test(provider) };
}

/** Whether an id is one that the API takes back for an item of this kind. */
export function isItemId(id: unknown, prefix: string, { isOpenai }: ItemRules): id is string {
  if (typeof id !== "string" || id === "") return false;
  return !isOpenai || (itemId.test(id) && id.startsWith(prefix));
}

/**
 * Reads the item of a signature, in the form that pi and this library store, without an id if it had none. If
 * the item is not encrypted and responses are stored, returns a reference to it. Otherwise returns why it
 * cannot be sent back.
 */
export function reasoningItem(signature: string, rules: ItemRules): SentReasoning | string {
  const data = parsed(signature);
  if (!isRecord(data) || data.type !== "reasoning") return "reasoning without its item";
  const { id, encrypted_content, summary, content } = data;
  const isNamed = isItemId(id, "rs", rules);
  if (!isNamed && typeof id === "string" && id !== "") {
    return "reasoning whose item has an id that the API does not take";
  }
  if (typeof encrypted_content !== "string" || encrypted_content === "") {
    // Servers of open models encrypt nothing and take the text back.
    const isOpen = !rules.isOpenai && Array.isArray(content) && content.length > 0;
    if (isNamed && rules.stored && !isOpen) return { type: "item_reference", id };
    if (!isOpen) return "reasoning that is not encrypted, of a response that is not stored";
  }
  // The API refuses null members: https://github.com/BerriAI/litellm/issues/13420 (stored copy, 2026-11-21).
  const item = Object.fromEntries(
    Object.entries(data).filter(([key, value]) => value !== null && (key !== "id" || isNamed)),
  );
  if (!Array.isArray(summary) || !isReasoningItem(item)) return "reasoning whose item is not whole";
  return cleanJson(item, false) === item ? item : "reasoning with text that is not well-formed";
}

function isReasoningItem(item: unknown): item is OpenaiReasoningItem {
  if (!isRecord(item)) return false;
  const { summary, content, encrypted_content, status } = item;
  return (
    (encrypted_content === undefined || typeof encrypted_content === "string") &&
    areTexts(summary, "summary_text") &&
    (content === undefined || areTexts(content, "reasoning_text")) &&
    (status === undefined || isStatus(status))
  );
}

function areTexts(list: unknown, type: string): boolean {
  return (
    Array.isArray(list) &&
    list.every((one) => isRecord(one) && one.type === type && typeof one.text === "string")
  );
}

/** A part that does not go back, and why. */
export interface RefusedPart {
  readonly part: ReasoningPart | OpaquePart;
  /** The reason, for the loss report. */
  readonly reason: string;
}

/**
 * The parts of a message that cannot be sent back. Reasoning and the items that follow it depend on each
 * other. If one item cannot be sent, all are left out, and text and calls are sent without ids. Of two
 * reasoning items in a row the first has no item that follows it.
 *
 * @see https://github.com/UKGovernmentBEIS/inspect_ai/pull/1990 and
 *   https://github.com/mastra-ai/mastra/issues/8738 (stored copies, 2026-11-21)
 */
export function refusedParts(said: readonly AssistantPart[], rules: ItemRules): readonly RefusedPart[] {
  const own = said.filter((part) => part.type === "reasoning" || part.type === "opaque");
  const answered = answeredItems(own, (part) => (part.type === "opaque" ? part.data : undefined));
  const problems = own.map((part) =>
    part.type === "opaque" && wantsAnswer(part.data) && !answered.has(part)
      ? "an item that cannot go back by itself"
      : problemOf(part, rules),
  );
  const [first] = problems.filter((problem) => problem !== undefined);
  if (first !== undefined) {
    return own.map((part, at) => ({ part, reason: problems[at] ?? `part of a reply with ${first}` }));
  }
  return said.flatMap((part, at) => {
    const next = said[at + 1];
    if (part.type !== "reasoning" || (next !== undefined && next.type !== "reasoning")) return [];
    return [{ part, reason: "reasoning without an item of its own after it" }];
  });
}

function problemOf(part: ReasoningPart | OpaquePart, rules: ItemRules): string | undefined {
  if (part.type === "reasoning") {
    const item = reasoningItem(part.signature, rules);
    return typeof item === "string" ? item : undefined;
  }
  if (!isHostedItem(part.data, rules.isOpenai)) return "an item that cannot go back by itself";
  return cleanJson(part.data, false) === part.data ? undefined : "an item with text that is not well-formed";
}
