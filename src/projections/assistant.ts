import type { AssistantMessage, ThinkingBlock, ToolCall } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import { unreachable } from "../internal/unreachable.js";
import { cleanJson, isBlank, withoutSpaceAtEnd } from "./clean.js";
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
  const parts: SaidDraft[] = [];
  const callIds = new Set<string>();
  message.content.forEach((block, index) => {
    const at: Origin = { ...origin, block: index };
    switch (block.type) {
      case "text":
        if (block.resource !== undefined) parts.push(reader.attachment(at, "textOnly"));
        else if (!isBlank(block.text)) {
          const signed = own && block.textSignature !== undefined ? { signature: block.textSignature } : {};
          parts.push({ type: "text", text: reader.clean(block.text, at), ...signed, origin: at });
        }
        return;
      case "thinking": {
        const part = reasoning(block, at, own, message, options);
        if (part !== undefined) parts.push(part);
        return;
      }
      case "toolCall":
        if (callIds.has(block.id)) {
          const reason = `a call with the id ${describe(block.id)} stands before it in the same message`;
          options.losses.add(at, { code: "duplicateCall", by: "history", reason });
        } else {
          parts.push(call(block, at, own, callIds.size === 0, reader, options));
          callIds.add(block.id);
        }
        return;
      case "opaque":
        if (own) parts.push({ type: "opaque", data: block.data, origin: at });
        else {
          const reason = "a block that only the provider understands that made it";
          options.losses.add(at, { code: "opaque", by: "target", reason });
        }
        return;
      default:
        unreachable(block);
    }
  });
  dropTrailingReasoning(parts, options);
  trimEnd(parts, options);
  return parts;
}

function reasoning(
  { thinking, thinkingSignature, redacted }: ThinkingBlock,
  origin: Origin,
  own: boolean,
  { stopReason }: AssistantMessage,
  { losses }: SelectOptions,
): ReasoningPart | undefined {
  const cut = stopReason === "aborted" || stopReason === "error";
  const malformed = !thinking.isWellFormed() || thinkingSignature?.isWellFormed() === false;
  if (own && !cut && !malformed && thinkingSignature !== undefined && thinkingSignature !== "") {
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
      : malformed
        ? "with half of a character, which no request can have"
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
  const text = withoutSpaceAtEnd(last.text);
  if (text === last.text) return;
  parts[parts.length - 1] = { ...last, text } satisfies TextPart;
  losses.add(last.origin, {
    code: "trailingSpace",
    by: "target",
    reason: "the target takes no white space at the end",
  });
}
