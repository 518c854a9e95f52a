/** Renders assistant messages as items of Responses. */

import type { AssistantMessage } from "../../content/index.js";
import { unreachable } from "../../core/arguments.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { assistantParts } from "../assistant-turn.js";
import { BlockReader, cleanJson } from "../block-reader.js";
import { type Loss, LossList } from "../losses.js";
import type {
  AssistantPart,
  CallPart,
  OpaquePart,
  Part,
  ReasoningPart,
  ResultPart,
  TextPart,
} from "../request.js";
import type { ModelRef, RenderTools } from "../target.js";
import {
  answeredItems,
  clientItem,
  isCodexShell,
  isHostedItem,
  isUnnamed,
  type OpenaiHostedItem,
  wantsAnswer,
} from "./hosted-items.js";
import { itemIdOfStoredId } from "./options.js";
import type { OpenaiClientCall, OpenaiReasoningItem, OpenaiResponsesItem } from "./responses-types.js";
import {
  argumentsText,
  isStatus,
  itemFields,
  readCallMetadata,
  readTextMetadata,
  textParts,
} from "./round-trip-metadata.js";

/**
 * Renders an assistant message as items of the input. An item's id is sent once, and only beside the
 * reasoning that preceded it.
 */
export class AssistantItems {
  readonly #tools: RenderTools;
  readonly #rules: ItemRules;
  readonly #used = new Set<string>();
  /** Calls other than those of functions, by their id: their results are of another type. */
  readonly #kinds = new Map<string, "custom" | "search" | OpenaiClientCall>();
  readonly #results: ReadonlyMap<string, ResultPart>;

  /** @param results those of the request, by the ids of their calls */
  constructor(tools: RenderTools, rules: ItemRules, results: ReadonlyMap<string, ResultPart>) {
    this.#tools = tools;
    this.#rules = rules;
    this.#results = results;
  }

  /** Which kind of call has this id; the item itself of one that is answered in the item's own way. */
  kindByCallId(callId: string): "function" | "custom" | "search" | OpenaiClientCall {
    return this.#kinds.get(callId) ?? "function";
  }

  /** The items of one message of the model. */
  items(parts: readonly AssistantPart[]): readonly OpenaiResponsesItem[] {
    const refused = new Map<AssistantPart, string>();
    for (const { part, reason } of refusedParts(parts, this.#rules)) refused.set(part, reason);
    // The API accepts the ids of a message's items only together with its reasoning.
    const identified =
      parts.some((part) => !refused.has(part) && isIdentifying(part)) ||
      // The reader keeps all reasoning: a reply of hosted items alone had no reasoning.
      parts.every((part) => part.type === "opaque");
    const sent: { readonly part: AssistantPart; readonly item: OpenaiResponsesItem }[] = [];
    for (const part of parts) {
      const isBound = part.type === "opaque" && !isUnnamed(part.data);
      const reason = refused.get(part) ?? (isBound && !identified ? "its reasoning is absent" : undefined);
      if (reason !== undefined) {
        this.#lose(part, reason);
        continue;
      }
      const item = this.#item(part, identified);
      if (item !== undefined) sent.push({ part, item: this.#tools.trace(item, part) });
    }
    // An item that the request already has is not repeated, so it does not follow the reasoning before it.
    return sent.flatMap(({ part, item }, at) => {
      const next = sent[at + 1]?.part;
      if (part.type !== "reasoning" || leadsTo(part, next)) return [item];
      this.#lose(part, "reasoning whose item is already in the request");
      return [];
    });
  }

  #lose(part: AssistantPart, reason: string): void {
    const { type } = part;
    if (type === "reasoning" || type === "opaque")
      this.#tools.reportLoss(part, { code: type, by: "target", reason });
  }

  #item(part: AssistantPart, identified: boolean): OpenaiResponsesItem | undefined {
    switch (part.type) {
      case "text":
        return this.#text(part, identified);
      case "call":
        return this.#call(part, identified);
      case "reasoning": {
        const item = reasoningItem(part.signature, this.#rules);
        return typeof item === "string" || !this.#take(item.id) ? undefined : item;
      }
      case "opaque": {
        if (!isHostedItem(part.data, this.#rules.isOpenai)) return undefined;
        const { id, type } = part.data as OpenaiHostedItem & { readonly id?: string | null };
        // The output of a shell call has the id of the call.
        const own = typeof id === "string" && type.endsWith("_output") ? `${type} ${id}` : (id ?? undefined);
        return this.#take(own) ? structuredClone(part.data) : undefined;
      }
      default:
        return unreachable(part);
    }
  }

  #text({ text, signature, providerFields }: TextPart, identified: boolean): OpenaiResponsesItem {
    if (signature === undefined) return { role: "assistant", content: text };
    const metadata = readTextMetadata(signature);
    const { id, status } = metadata;
    const phase = metadata.phase === undefined ? {} : { phase: metadata.phase };
    const isNamed = identified && isItemId(id, "msg", this.#rules) && this.#take(id);
    if (!isNamed && metadata.parts === undefined && providerFields === undefined)
      return { role: "assistant", content: text, ...phase };
    // Citations and refusals stay without an id too, which the official client's type demands.
    const message = {
      ...itemFields(providerFields),
      type: "message",
      ...(isNamed ? { id } : {}),
      role: "assistant",
      status,
      ...phase,
      content: textParts(text, metadata, providerFields),
    };
    return message as OpenaiResponsesItem;
  }

  #call(part: CallPart, identified: boolean): OpenaiResponsesItem {
    const { id: call_id, name, storedId, own } = part;
    const metadata = readCallMetadata(part.signature);
    const { custom, search, arguments: raw, status, caller, namespace = part.namespace } = metadata;
    const item = own && identified ? itemIdOfStoredId(storedId) : undefined;
    const more = {
      ...itemFields(part.providerFields),
      ...(namespace === undefined ? {} : { namespace }),
      ...(caller === undefined ? {} : { caller }),
    };
    const input = isRecord(part.arguments) ? part.arguments.input : undefined;
    if (custom !== undefined && typeof input === "string") {
      this.#kinds.set(call_id, "custom");
      const id =
        identified && isItemId(custom, "ctc", this.#rules) && this.#take(custom) ? { id: custom } : {};
      return { type: "custom_tool_call", ...id, call_id, name, input, ...more };
    }
    if (search !== undefined) {
      this.#kinds.set(call_id, "search");
      const id =
        identified && isItemId(search, "tsc", this.#rules) && this.#take(search) ? { id: search } : {};
      const sought = part.arguments;
      const item = { ...id, call_id, execution: "client" as const, arguments: sought, status };
      return { ...itemFields(part.providerFields), type: "tool_search_call", ...item };
    }
    const client = clientItem(
      part,
      metadata,
      this.#results.get(call_id),
      (id) => identified && isItemId(id, "", this.#rules) && this.#take(id),
    );
    if (client !== undefined) {
      if (!isCodexShell(client)) this.#kinds.set(call_id, client);
      return client;
    }
    const isOwn = item !== "undefined" && isItemId(item, "fc", this.#rules);
    const id = isOwn && this.#take(item) ? { id: item, status } : {};
    const text = argumentsText(part.arguments, raw);
    return { type: "function_call", ...id, call_id, name, arguments: text, ...more };
  }

  /** Whether an item has no id, or one that is not yet in use. */
  #take(id: string | undefined): boolean {
    if (id === undefined) return true;
    if (this.#used.has(id)) return false;
    this.#used.add(id);
    return true;
  }
}

/**
 * Whether a part allows the ids of its message's items: it is reasoning, or its metadata records that there
 * was no reasoning.
 */
function isIdentifying(part: AssistantPart): boolean {
  if (part.type === "reasoning") return true;
  if (part.type === "text") return part.signature !== undefined && readTextMetadata(part.signature).alone;
  return part.type === "call" && readCallMetadata(part.signature).alone;
}

/** The item that a reasoning part is sent back as. */
type SentReasoning = OpenaiReasoningItem | { readonly type: "item_reference"; readonly id: string };

/**
 * Ids of items: https://github.com/Wei-Shaw/sub2api/issues/954 and
 * https://github.com/can1357/oh-my-pi/issues/284 (stored copies, 2026-11-21).
 */
const itemId = /^[A-Za-z0-9_-]{1,64}$/;

/** The rules that decide which items are sent back. */
interface ItemRules {
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
function isItemId(id: unknown, prefix: string, { isOpenai }: ItemRules): id is string {
  if (typeof id !== "string" || id === "") return false;
  return !isOpenai || (itemId.test(id) && id.startsWith(prefix));
}

/**
 * Reads the item of a signature, in the form that pi and this library store, without an id if it had none. If
 * the item is not encrypted and responses are stored, returns a reference to it. Otherwise returns why it
 * cannot be sent back.
 */
function reasoningItem(signature: string, rules: ItemRules): SentReasoning | string {
  const data = parseJson(signature);
  if (!isRecord(data) || data.type !== "reasoning") return "reasoning without its item";
  const { id, encrypted_content, summary, content } = data;
  const isNamed = isItemId(id, "rs", rules);
  if (!isNamed && typeof id === "string" && id !== "") {
    return "reasoning whose item has an id that the API refuses";
  }
  if (typeof encrypted_content !== "string" || encrypted_content === "") {
    // Servers of open models do not encrypt reasoning, and accept its text back.
    const isOpen = !rules.isOpenai && Array.isArray(content) && content.length > 0;
    if (isNamed && rules.stored && !isOpen) return { type: "item_reference", id };
    if (!isOpen) return "unencrypted reasoning of a response that is not stored";
  }
  // The API refuses null members: https://github.com/BerriAI/litellm/issues/13420 (stored copy, 2026-11-21).
  const item = Object.fromEntries(
    Object.entries(data).filter(([key, value]) => value !== null && (key !== "id" || isNamed)),
  );
  if (!Array.isArray(summary) || !isReasoningItem(item)) return "reasoning whose item is incomplete";
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

/** Whether these are texts, or parts of a type that this library does not know. */
function areTexts(list: unknown, type: string): boolean {
  const isPart = (one: unknown) =>
    isRecord(one) && (one.type === type ? typeof one.text === "string" : typeof one.type === "string");
  return Array.isArray(list) && list.every(isPart);
}

/** A part that cannot be sent back, and why. */
interface RefusedPart {
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
function refusedParts(parts: readonly AssistantPart[], rules: ItemRules): readonly RefusedPart[] {
  const own = parts.filter((part) => part.type === "reasoning" || part.type === "opaque");
  const answered = answeredItems(own, (part) => (part.type === "opaque" ? part.data : undefined));
  const problems = own.map((part) =>
    part.type === "opaque" && wantsAnswer(part.data) && !answered.has(part)
      ? "an item that cannot be sent back on its own"
      : partProblem(part, rules),
  );
  const isReplaced = parts.some((part) => part.type === "text" && part.replaces !== undefined);
  const [first] = [
    ...problems.filter((problem) => problem !== undefined),
    ...(isReplaced ? ["a medium that is described"] : []),
  ];
  if (first !== undefined) {
    return own.map((part, at) => ({ part, reason: problems[at] ?? `part of a reply with ${first}` }));
  }
  return parts.flatMap((part, at) => {
    const next = parts[at + 1];
    if (part.type !== "reasoning" || leadsTo(part, next)) return [];
    return [{ part, reason: "reasoning without an item after it" }];
  });
}

/**
 * Whether reasoning has the item after it that the API requires. It requires none but more reasoning of an
 * item without an id, as Codex sends them.
 */
function leadsTo(part: ReasoningPart, next: AssistantPart | undefined): boolean {
  return next !== undefined && (next.type !== "reasoning" || isUnnamed(parseJson(part.signature)));
}

function partProblem(part: ReasoningPart | OpaquePart, rules: ItemRules): string | undefined {
  if (part.type === "reasoning") {
    const item = reasoningItem(part.signature, rules);
    return typeof item === "string" ? item : undefined;
  }
  if (!isHostedItem(part.data, rules.isOpenai)) return "an item that cannot be sent back on its own";
  return cleanJson(part.data, false) === part.data ? undefined : "an item with text that is not well-formed";
}

// One stored reply as items of Responses, for files that keep items. A request is made of a whole context by
// `project`.

/** The items of a reply, and the losses. */
interface ReplyItems {
  readonly items: readonly OpenaiResponsesItem[];
  readonly losses: readonly Loss[];
}

/**
 * The items of a reply for a model: reasoning and ids if the model made it. Ids of calls are those of the
 * message, and have to be valid. Attachments of the reply are left out, and blocks without their media.
 */
export function replyItems(message: AssistantMessage, entryId: string, model: ModelRef): ReplyItems {
  const losses = new LossList();
  const options = { model, rules: {}, losses };
  const origin = { entryId, item: 0 };
  const parts = assistantParts(message, origin, new BlockReader(options), options).flatMap(
    (part): readonly AssistantPart[] => {
      if (part.type === "attachment") return [];
      if (part.type === "opaqueMedia") {
        losses.add(part.origin, { code: "opaque", by: "history", reason: "a medium without its bytes" });
        return [];
      }
      return part.type === "call" ? [{ ...part, id: part.storedId.split("|", 1)[0] as string }] : [part];
    },
  );
  const tools: RenderTools = {
    trace: (block) => block,
    endsCache: () => false,
    reportLoss: (part: Part, loss) => losses.add(part.origin, loss),
  };
  const items = new AssistantItems(tools, itemRules(model.provider, false), new Map());
  return { items: items.items(parts), losses: losses.inOrder() };
}
