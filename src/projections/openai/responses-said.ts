import { isRecord } from "../../internal/shape.js";
import type { RenderTools } from "../target.js";
import type { AssistantTurn, CallPart, SaidPart, TextPart } from "../turns.js";
import { isHostedItem } from "./hosted.js";
import { argumentsText } from "./json.js";
import { isItemId, reasoningItem, refusedParts } from "./reasoning.js";
import { partsOf, readCallMark, readTextMark } from "./responses-marks.js";
import type { OpenaiCustomCall, OpenaiFunctionCall, OpenaiResponsesItem } from "./responses-value.js";

/** Writes what the model said as items of the input. Ids of items go once, and only beside the reasoning that led to them. */
export class SaidWriter {
  readonly #tools: RenderTools;
  readonly #stored: boolean;
  readonly #used = new Set<string>();
  /** Calls of custom tools, by their id: their results are of another type. */
  readonly #custom = new Set<string>();

  constructor(tools: RenderTools, stored: boolean) {
    this.#tools = tools;
    this.#stored = stored;
  }

  /** Whether a call of this id was one of a custom tool. */
  isCustom(callId: string): boolean {
    return this.#custom.has(callId);
  }

  /** A turn can be several messages, each with reasoning of its own. */
  items({ parts }: AssistantTurn): readonly OpenaiResponsesItem[] {
    const messages: SaidPart[][] = [];
    for (const part of parts) {
      const last = messages.at(-1);
      if (last?.[0]?.origin.item === part.origin.item) last.push(part);
      else messages.push([part]);
    }
    return messages.flatMap((message) => this.#message(message));
  }

  #message(parts: readonly SaidPart[]): readonly OpenaiResponsesItem[] {
    const refused = new Set<SaidPart>(refusedParts(parts, this.#stored).map(({ part }) => part));
    const items: OpenaiResponsesItem[] = [];
    let reasoned = false;
    for (const part of parts) {
      if (refused.has(part)) continue;
      const item = this.#item(part, reasoned);
      if (item === undefined) continue;
      if (part.type === "reasoning") reasoned = true;
      items.push(this.#tools.mark(item, part));
    }
    // An item that the request has already is not there again, and reasoning before it has nothing that follows.
    return items.filter((item, at) => !isReasoning(item) || !isReasoning(items[at + 1]));
  }

  #item(part: SaidPart, reasoned: boolean): OpenaiResponsesItem | undefined {
    switch (part.type) {
      case "text":
        return this.#text(part, reasoned);
      case "call":
        return this.#call(part, reasoned);
      case "reasoning": {
        const item = reasoningItem(part.signature, this.#stored);
        return typeof item === "string" || !this.#take(item.id) ? undefined : item;
      }
      case "opaque": {
        if (!isHostedItem(part.data)) return undefined;
        const { id } = part.data;
        return typeof id === "string" && !this.#take(id) ? undefined : structuredClone(part.data);
      }
    }
  }

  #text({ text, signature }: TextPart, reasoned: boolean): OpenaiResponsesItem {
    if (signature === undefined) return { role: "assistant", content: text };
    const mark = readTextMark(signature);
    const { id, status } = mark;
    const phase = mark.phase === undefined ? {} : { phase: mark.phase };
    if (!((reasoned || mark.alone) && isItemId(id, "msg") && this.#take(id))) {
      return { role: "assistant", content: text, ...phase };
    }
    return { type: "message", id, role: "assistant", status, ...phase, content: partsOf(text, mark) };
  }

  #call(part: CallPart, reasoned: boolean): OpenaiFunctionCall | OpenaiCustomCall {
    const { id: call_id, name, storedId, own } = part;
    const mark = readCallMark(part.signature);
    const { caller, namespace } = mark;
    const item = storedId.slice(storedId.indexOf("|") + 1);
    const hasId = own && storedId.includes("|") && (reasoned || mark.alone);
    const more = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(caller === undefined ? {} : { caller }),
    };
    const input = isRecord(part.arguments) ? part.arguments.input : undefined;
    if (mark.custom && typeof input === "string") {
      this.#custom.add(call_id);
      const id = hasId && isItemId(item, "ctc") && this.#take(item) ? { id: item } : {};
      return { type: "custom_tool_call", ...id, call_id, name, input, ...more };
    }
    const text = argumentsText(part.arguments, mark.arguments);
    const id = hasId && isItemId(item, "fc") && this.#take(item) ? { id: item, status: mark.status } : {};
    return { type: "function_call", ...id, call_id, name, arguments: text, ...more };
  }

  /** Whether an item's id was free until now. */
  #take(id: string): boolean {
    if (this.#used.has(id)) return false;
    this.#used.add(id);
    return true;
  }
}

function isReasoning(item: OpenaiResponsesItem | undefined): boolean {
  return item === undefined || ("type" in item && (item.type === "reasoning" || item.type === "item_reference"));
}
