import { isRecord } from "../../internal/shape.js";
import { unreachable } from "../../internal/unreachable.js";
import type { RenderTools } from "../target.js";
import type { CallPart, SaidPart, TextPart } from "../turns.js";
import { hostedCopy, isHostedItem } from "./hosted.js";
import { argumentsText } from "./json.js";
import { itemIdOf } from "./options.js";
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

  /** The items of one message of the model. */
  items(parts: readonly SaidPart[]): readonly OpenaiResponsesItem[] {
    const refused = new Map<SaidPart, string>();
    for (const { part, reason } of refusedParts(parts, this.#stored)) refused.set(part, reason);
    // The ids of a message's items need its reasoning, where it had some.
    const identified = parts.some((part) => !refused.has(part) && isIdentifying(part));
    const sent: { readonly part: SaidPart; readonly item: OpenaiResponsesItem }[] = [];
    for (const part of parts) {
      const reason =
        refused.get(part) ??
        (part.type === "opaque" && !identified ? "its reasoning is not there" : undefined);
      if (reason !== undefined) {
        this.#lose(part, reason);
        continue;
      }
      const item = this.#item(part, identified);
      if (item !== undefined) sent.push({ part, item: this.#tools.mark(item, part) });
    }
    // What the request has already is not there again, and so does not follow the reasoning before it.
    return sent.flatMap(({ part, item }, at) => {
      const next = sent[at + 1]?.part;
      if (part.type !== "reasoning" || (next !== undefined && next.type !== "reasoning")) return [item];
      this.#lose(part, "reasoning whose item the request has already");
      return [];
    });
  }

  #lose(part: SaidPart, reason: string): void {
    const { type } = part;
    if (type === "reasoning" || type === "opaque")
      this.#tools.lose(part, { code: type, by: "target", reason });
  }

  #item(part: SaidPart, identified: boolean): OpenaiResponsesItem | undefined {
    switch (part.type) {
      case "text":
        return this.#text(part, identified);
      case "call":
        return this.#call(part, identified);
      case "reasoning": {
        const item = reasoningItem(part.signature, this.#stored);
        return typeof item === "string" || !this.#take(item.id) ? undefined : item;
      }
      case "opaque": {
        if (!isHostedItem(part.data)) return undefined;
        const { id } = part.data;
        return typeof id === "string" && !this.#take(id) ? undefined : hostedCopy(part.data);
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
    if (!(identified && isItemId(id, "msg") && this.#take(id))) {
      return { role: "assistant", content: text, ...phase };
    }
    return { type: "message", id, role: "assistant", status, ...phase, content: partsOf(text, mark) };
  }

  #call(part: CallPart, identified: boolean): OpenaiFunctionCall | OpenaiCustomCall {
    const { id: call_id, name, storedId, own } = part;
    const mark = readCallMark(part.signature);
    const { custom, arguments: raw, status, caller, namespace = part.namespace } = mark;
    const item = own && identified ? itemIdOf(storedId) : undefined;
    const more = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(caller === undefined ? {} : { caller }),
    };
    const input = isRecord(part.arguments) ? part.arguments.input : undefined;
    if (custom !== undefined && typeof input === "string") {
      this.#custom.add(call_id);
      const id = identified && isItemId(custom, "ctc") && this.#take(custom) ? { id: custom } : {};
      return { type: "custom_tool_call", ...id, call_id, name, input, ...more };
    }
    const id = isItemId(item, "fc") && this.#take(item) ? { id: item, status } : {};
    const text = argumentsText(part.arguments, raw);
    return { type: "function_call", ...id, call_id, name, arguments: text, ...more };
  }

  /** Whether an item's id was free until now. */
  #take(id: string): boolean {
    if (this.#used.has(id)) return false;
    this.#used.add(id);
    return true;
  }
}

/** Whether a part says that the ids of its message's items can go: its reasoning does, or a mark that it had none. */
function isIdentifying(part: SaidPart): boolean {
  if (part.type === "reasoning") return true;
  if (part.type === "text") return part.signature !== undefined && readTextMark(part.signature).alone;
  return part.type === "call" && readCallMark(part.signature).alone;
}
