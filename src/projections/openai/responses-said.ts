import { isRecord } from "../../internal/shape.js";
import { unreachable } from "../../internal/unreachable.js";
import type { AssistantPart, CallPart, ResultPart, TextPart } from "../request.js";
import type { RenderTools } from "../target.js";
import { clientItem, type OpenaiClientCall } from "./client-calls.js";
import { hostedCopy, isHostedItem } from "./hosted.js";
import { argumentsText } from "./json.js";
import { itemIdOf } from "./options.js";
import { type ItemRules, isItemId, reasoningItem, refusedParts } from "./reasoning.js";
import { partsOf, readCallMark, readTextMark } from "./responses-marks.js";
import type { OpenaiResponsesItem } from "./responses-value.js";

/**
 * Renders an assistant message as items of the input. An item's id is sent once, and only beside the
 * reasoning that preceded it.
 */
export class SaidWriter {
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
  kindOf(callId: string): "function" | "custom" | "search" | OpenaiClientCall {
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
      const reason =
        refused.get(part) ??
        (part.type === "opaque" && !identified ? "its reasoning is not there" : undefined);
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
      if (part.type !== "reasoning" || (next !== undefined && next.type !== "reasoning")) return [item];
      this.#lose(part, "reasoning whose item the request has already");
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
        const { id } = part.data;
        return !this.#take(id ?? undefined) ? undefined : hostedCopy(part.data);
      }
      default:
        return unreachable(part);
    }
  }

  #text({ text, signature }: TextPart, identified: boolean): OpenaiResponsesItem {
    if (signature === undefined) return { role: "assistant", content: text };
    const mark = readTextMark(signature);
    const { id, status } = mark;
    const phase = mark.phase === undefined ? {} : { phase: mark.phase };
    if (!(identified && isItemId(id, "msg", this.#rules) && this.#take(id))) {
      if (mark.parts === undefined) return { role: "assistant", content: text, ...phase };
      // Citations and refusals stay without an id too, which the official client's type demands.
      const message = { type: "message", role: "assistant", status, ...phase, content: partsOf(text, mark) };
      return message as OpenaiResponsesItem;
    }
    return { type: "message", id, role: "assistant", status, ...phase, content: partsOf(text, mark) };
  }

  #call(part: CallPart, identified: boolean): OpenaiResponsesItem {
    const { id: call_id, name, storedId, own } = part;
    const mark = readCallMark(part.signature);
    const { custom, search, arguments: raw, status, caller, namespace = part.namespace } = mark;
    const item = own && identified ? itemIdOf(storedId) : undefined;
    const more = {
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
      return { type: "tool_search_call", ...id, call_id, execution: "client", arguments: sought, status };
    }
    const client = clientItem(
      part,
      mark,
      this.#results.get(call_id),
      (id) => identified && isItemId(id, "", this.#rules) && this.#take(id),
    );
    if (client !== undefined) {
      this.#kinds.set(call_id, client);
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
  if (part.type === "text") return part.signature !== undefined && readTextMark(part.signature).alone;
  return part.type === "call" && readCallMark(part.signature).alone;
}
