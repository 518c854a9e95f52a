import type { AssistantMessage, ThinkingBlock, ToolCall } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import { unreachable } from "../internal/unreachable.js";
import { cleanJson, isBlank } from "./clean.js";
import type { SaidDraft } from "./draft.js";
import { isOwn } from "./maker.js";
import type { BlockReader, SelectOptions } from "./select.js";
import type { CallPart, Origin, ReasoningPart, TextPart } from "./turns.js";

/**
 * What a model said, as far as this target can take it back. Calls keep their stored ids for now; a call that has the id of an
 * earlier one of the same message is dropped.
 */
export function assistantDraft(
  message: AssistantMessage,
  origin: Origin,
  reader: BlockReader,
  options: SelectOptions,
): readonly SaidDraft[] {
  const own = isOwn(message, options.maker) && options.rules.takesReasoning !== false;
  const cut = message.stopReason === "aborted" || message.stopReason === "error";
  // What is left of a reply that was cut off is words: its marks are of a whole that the provider never finished.
  const whole = own && !cut;
  const parts: SaidDraft[] = [];
  const callIds = new Set<string>();
  message.content.forEach((block, index) => {
    const at: Origin = { ...origin, block: index };
    switch (block.type) {
      case "text":
        if (block.resource !== undefined) parts.push(reader.attachment(at, "textOnly"));
        else if (!isBlank(block.text)) {
          const signed = whole && block.textSignature !== undefined ? { signature: block.textSignature } : {};
          parts.push({ type: "text", text: reader.clean(block.text, at), ...signed, origin: at });
        }
        return;
      case "thinking": {
        const part = reasoning(block, at, own, cut, options);
        if (part !== undefined) parts.push(part);
        return;
      }
      case "toolCall":
        if (callIds.has(block.id)) {
          const reason = `a call with the id ${describe(block.id)} stands before it in the same message`;
          options.losses.add(at, { code: "duplicateCall", by: "history", reason });
        } else {
          parts.push(call(block, at, whole, callIds.size === 0, reader, options));
          callIds.add(block.id);
        }
        return;
      case "opaque":
        if (whole) parts.push({ type: "opaque", data: block.data, origin: at });
        else {
          const reason = own
            ? "a provider's own block, of a turn that was cut off"
            : "a block that only the provider understands that made it";
          options.losses.add(at, { code: "opaque", by: "target", reason });
        }
        return;
      default:
        unreachable(block);
    }
  });
  const kept = withoutRefused(parts, options);
  dropTrailingReasoning(kept, options);
  trimEnd(kept, options);
  return kept;
}

function withoutRefused(parts: SaidDraft[], { rules, losses }: SelectOptions): SaidDraft[] {
  if (rules.refuses === undefined) return parts;
  const refused = new Set<SaidDraft>();
  for (const { part, reason } of rules.refuses(parts.filter((part) => part.type !== "attachment"))) {
    losses.add(part.origin, { code: part.type, by: "target", reason });
    refused.add(part);
  }
  return refused.size === 0 ? parts : parts.filter((part) => !refused.has(part));
}

function reasoning(
  { thinking, thinkingSignature, redacted }: ThinkingBlock,
  origin: Origin,
  own: boolean,
  cut: boolean,
  { losses }: SelectOptions,
): ReasoningPart | undefined {
  if (own && !cut && thinkingSignature !== undefined && thinkingSignature !== "") {
    // Not cleaned: the signature is over what was there.
    return {
      type: "reasoning",
      text: thinking,
      signature: thinkingSignature,
      redacted: redacted === true,
      origin,
    };
  }
  if (isBlank(thinking) && (thinkingSignature ?? "") === "") return undefined;
  const reason = !own
    ? "of another model or account"
    : cut
      ? "of a turn that was cut off"
      : "without a signature";
  losses.add(origin, { code: "reasoning", by: own ? "history" : "target", reason: `reasoning ${reason}` });
  return undefined;
}

/** A character that tool names have everywhere. */
const nameCharacters = /[^A-Za-z0-9_-]/g;
const defaultNameLength = 64;

function call(
  block: ToolCall,
  origin: Origin,
  own: boolean,
  first: boolean,
  reader: BlockReader,
  { rules, losses }: SelectOptions,
): CallPart {
  const name = toolName(block.name, rules.toolName?.maxLength ?? defaultNameLength);
  if (name !== block.name) {
    const reason = "the target takes letters, digits, _ and - in names of tools, and not too many";
    losses.add(origin, { code: "toolName", by: "target", reason, instead: name });
  }
  const clean = cleanJson(block.arguments, rules.refusesNul ?? false);
  if (clean !== block.arguments && block.arguments !== undefined) reader.malformed(origin);
  const wrapped = rules.objectArguments !== false && !isRecord(clean);
  if (wrapped && clean !== null) {
    const reason = "the target takes an object; the value is its member `value`";
    losses.add(origin, { code: "arguments", by: "target", reason });
  }
  const signed = own && block.thoughtSignature !== undefined ? { signature: block.thoughtSignature } : {};
  return {
    type: "call",
    id: block.id,
    storedId: block.id,
    name,
    arguments: wrapped ? (clean === null ? {} : { value: clean }) : clean,
    ...signed,
    own,
    first,
    origin,
  };
}

/** A name that any target takes, the same for the same name. */
export function toolName(name: string, maxLength: number): string {
  const safe = name.replace(nameCharacters, "_").slice(0, maxLength);
  return safe === "" ? "unnamed_tool" : safe;
}

/** Reasoning that nothing follows is refused where reasoning is taken: the reply broke off behind it. */
function dropTrailingReasoning(parts: SaidDraft[], { losses }: SelectOptions): void {
  for (let last = parts.at(-1); last?.type === "reasoning"; last = parts.at(-1)) {
    parts.pop();
    losses.add(last.origin, { code: "reasoning", by: "target", reason: "reasoning that nothing follows" });
  }
}

/** Each message, not only the last of a request: else a longer history would change the bytes of this one. */
function trimEnd(parts: SaidDraft[], { rules, losses }: SelectOptions): void {
  const last = parts.at(-1);
  if (rules.trimsAssistant !== true || last?.type !== "text") return;
  const text = last.text.trimEnd();
  if (text === last.text) return;
  parts[parts.length - 1] = { ...last, text } satisfies TextPart;
  losses.add(last.origin, {
    code: "trailingSpace",
    by: "target",
    reason: "the target takes no white space at the end",
  });
}
