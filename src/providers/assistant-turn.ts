/** Converts assistant messages: reasoning, signatures and opaque blocks for their own model only. */

import type { AssistantMessage, OpaqueBlock, TextBlock, ThinkingBlock, ToolCall } from "../content/index.js";
import { blockResources, isProviderSummary, opaqueWords, referencesIn } from "../content/internal.js";
import { describe, unreachable } from "../core/arguments.js";
import { parseJson } from "../core/json.js";
import { isRecord } from "../core/shape.js";
import { type BlockReader, cleanJson, isBlank, withoutSpaceAtEnd } from "./block-reader.js";
import type { LossList } from "./losses.js";
import { holdsMedia, isSignature } from "./reply-shape.js";
import type {
  CallPart,
  OpaquePart,
  Origin,
  PendingAssistantPart,
  ReasoningPart,
  TextPart,
} from "./request.js";
import { isOwn, type ModelRef, type TargetRules, type ToolNameRule } from "./target.js";

/** Options of {@link selectMessages}. */
export interface SelectOptions {
  readonly model: ModelRef;
  readonly rules: TargetRules;
  readonly losses: LossList;
}

/** The members of a reply beside its content, if the target's own model made it and they have no media. */
export function replyFields(
  message: AssistantMessage,
  options: SelectOptions,
): AssistantMessage["providerFields"] {
  const { providerFields } = message;
  const isSent =
    isRecord(providerFields) &&
    messageReplyOrigin(message, options) === "own" &&
    !holdsMedia({ providerFields });
  return isSent ? providerFields : undefined;
}

/**
 * Converts the blocks of an assistant message that the target accepts back. Calls keep their stored ids for
 * now. Drops a call with the id of an earlier call of the same message.
 */
export function assistantParts(
  message: AssistantMessage,
  origin: Origin,
  reader: BlockReader,
  options: SelectOptions,
): readonly PendingAssistantPart[] {
  const said = new AssistantReader(messageReplyOrigin(message, options), reader, options);
  const parts = message.content.flatMap((block, index) => said.parts(block, { ...origin, block: index }));
  dropTrailingReasoning(parts, options);
  trimLastText(parts, options);
  return parts;
}

/**
 * Whether the target accepts the signatures and opaque blocks of a message: `own` if it does. A reply that
 * was cut off keeps only its text, because its signatures cover a whole that the provider never finished.
 */
type ReplyOrigin = "own" | "cut" | "unsupported" | "foreign";

function messageReplyOrigin(message: AssistantMessage, { model, rules }: SelectOptions): ReplyOrigin {
  if (!isOwn(message, model)) return "foreign";
  if (rules.takesReasoning === false) return "unsupported";
  return message.stopReason === "aborted" || message.stopReason === "error" ? "cut" : "own";
}

const dropReasons: Readonly<Record<Exclude<ReplyOrigin, "own">, string>> = {
  cut: "of a turn that was cut off",
  unsupported: "which the target does not take back",
  foreign: "of another model or account",
};

/** Converts the blocks of one message. */
class AssistantReader {
  readonly #replyOrigin: ReplyOrigin;
  readonly #reader: BlockReader;
  readonly #options: SelectOptions;
  readonly #callIds = new Set<string>();

  constructor(replyOrigin: ReplyOrigin, reader: BlockReader, options: SelectOptions) {
    this.#replyOrigin = replyOrigin;
    this.#reader = reader;
    this.#options = options;
  }

  parts(block: AssistantMessage["content"][number], origin: Origin): readonly PendingAssistantPart[] {
    if (block.type === "opaque") return this.#opaque(block, origin);
    const part = this.#part(block, origin);
    return part === undefined ? [] : [part];
  }

  #part(
    block: Exclude<AssistantMessage["content"][number], OpaqueBlock>,
    origin: Origin,
  ): PendingAssistantPart | undefined {
    switch (block.type) {
      case "text":
        return this.#text(block, origin);
      case "image":
        return this.#reader.attachment(origin, "textOnly");
      case "thinking":
        return this.#reasoning(block, origin);
      case "toolCall":
        return this.#call(block, origin);
      default:
        return unreachable(block);
    }
  }

  #text(block: TextBlock, origin: Origin): PendingAssistantPart | undefined {
    const { text, resource } = block;
    if (resource !== undefined) return this.#reader.attachment(origin, "textOnly");
    const signed = this.#signed(block.textSignature, origin);
    if (isBlank(text)) {
      if (signed.signature !== undefined)
        this.#drop(origin, "reasoning", "target", "the mark of a blank text");
      return undefined;
    }
    const fields = this.#fields(block, origin);
    if (this.#replyOrigin !== "own" && hasContent(block.providerFields)) {
      const reason = `members of a provider's block, such as citations, ${dropReasons[this.#replyOrigin]}`;
      this.#drop(origin, "opaque", this.#blamed(), reason);
    }
    return { type: "text", text: this.#reader.clean(text, origin), ...signed, ...fields, origin };
  }

  #reasoning(block: ThinkingBlock, origin: Origin): ReasoningPart | undefined {
    const { thinking: text, thinkingSignature, redacted = false } = block;
    const signature = isSignature(thinkingSignature) ? thinkingSignature : "";
    if (isBlank(text) && signature === "") return undefined;
    if (this.#replyOrigin !== "own") {
      this.#drop(origin, "reasoning", this.#blamed(), `reasoning ${dropReasons[this.#replyOrigin]}`);
    } else if (signature === "") {
      this.#drop(origin, "reasoning", "history", "reasoning without a signature");
    } else if (!this.#isIntact([text, signature])) {
      // The signature covers the original text, so that it cannot be repaired.
      this.#drop(origin, "reasoning", "history", "reasoning with text that is not well-formed");
    } else return { type: "reasoning", text, signature, redacted, ...this.#fields(block, origin), origin };
    return undefined;
  }

  /** A block of the target's own model, or its words and descriptors of its media. */
  #opaque(block: OpaqueBlock, origin: Origin): readonly PendingAssistantPart[] {
    const resources = blockResources(block);
    const attachments = (place: "own" | "textOnly", required = false) =>
      resources.map(({ resourceId }) => {
        const shared = resources.length > 1;
        return this.#reader.attachment(origin, place, { resourceId, required, shared });
      });
    const own = this.#ownBlock(block, origin);
    if (own === undefined) return [...this.#words(block, origin), ...attachments("textOnly")];
    const { data } = own;
    // In a block that never had resources such members are the provider's own.
    const wanted = block.resources === undefined ? noIds : referencesIn(data);
    if (wanted.size === 0) return [own, ...attachments("textOnly")];
    const known = new Set(resources.map(({ resourceId }) => resourceId));
    const isWhole = [...wanted].every((id) => known.has(id));
    const way = isWhole ? (this.#options.rules.opaqueMedia?.(data) ?? "always") : "never";
    if (way !== "never")
      return [{ type: "opaqueMedia", data, attachments: attachments("own", way === "always"), origin }];
    const reason = isWhole
      ? "the target takes no such medium of its own model back"
      : "a provider's own block whose medium was removed";
    this.#drop(origin, "opaque", isWhole ? "target" : "history", reason);
    return [...this.#words(block, origin), ...attachments("textOnly")];
  }

  /**
   * The words of a block that is not sent. Its loss is reported: they are only a part of it. A provider's summary
   * has none for others, which get what it covers or the summary of a compaction.
   */
  #words({ data }: OpaqueBlock, origin: Origin): readonly TextPart[] {
    return isProviderSummary(data) ? [] : this.#reader.text(opaqueWords(data), origin);
  }

  #ownBlock({ data }: OpaqueBlock, origin: Origin): OpaquePart | undefined {
    if (this.#replyOrigin !== "own") {
      this.#drop(
        origin,
        "opaque",
        this.#blamed(),
        `a provider's own block ${dropReasons[this.#replyOrigin]}`,
      );
    } else if (!this.#isIntact(data)) {
      this.#drop(origin, "opaque", "history", "a provider's own block that is no well-formed JSON");
    } else return { type: "opaque", data, origin };
    return undefined;
  }

  #call(block: ToolCall, origin: Origin): CallPart | undefined {
    const { id } = block;
    const { rules, losses } = this.#options;
    if (this.#callIds.has(id)) {
      const reason = `a call with the id ${describe(id)} stands before it in the same message`;
      losses.add(origin, { code: "duplicateCall", by: "history", reason });
      return undefined;
    }
    const name = toolName(block.name, rules.toolName);
    if (name !== block.name) {
      const reason = "the target takes other characters in names of tools, or not as many";
      losses.add(origin, { code: "toolName", by: "target", reason, instead: name });
    }
    const args = this.#arguments(block, origin);
    const signed = this.#signed(block.thoughtSignature, origin);
    const first = this.#callIds.size === 0;
    this.#callIds.add(id);
    const own = this.#replyOrigin === "own";
    const { namespace } = block;
    const kept = own && namespace !== undefined && this.#isIntact(namespace);
    if (own && namespace !== undefined && !kept) {
      const reason = "the name of the tool's group is not well-formed";
      losses.add(origin, { code: "malformed", by: "history", reason });
    }
    const group = kept ? { namespace } : {};
    const rest = { ...signed, ...this.#fields(block, origin), ...group };
    return { type: "call", id, storedId: id, name, arguments: args, ...rest, own, first, origin };
  }

  #fields(
    { providerFields: fields }: Pick<TextBlock, "providerFields">,
    origin: Origin,
  ): Pick<TextPart, "providerFields"> {
    if (this.#replyOrigin !== "own" || !isRecord(fields)) return {};
    if (holdsMedia({ providerFields: fields })) {
      // They are no resources, so that no boundary and no policy was asked.
      this.#drop(origin, "opaque", "target", "members of a provider's block that have media");
    } else if (!this.#isIntact(fields)) {
      this.#drop(origin, "opaque", "history", "members of a provider's block that are no well-formed JSON");
    } else return { providerFields: fields };
    return {};
  }

  #arguments({ arguments: args }: ToolCall, origin: Origin): unknown {
    const { rules, losses } = this.#options;
    const clean = cleanJson(args, rules.refusesNul ?? false);
    if (clean !== args && args !== undefined) {
      const reason = "lone surrogates, characters that are refused and what is no JSON value are replaced";
      losses.add(origin, { code: "malformed", by: "target", reason });
    }
    if (rules.objectArguments === false || isRecord(clean)) return clean;
    if (clean === null) return {};
    const reason = "the target takes an object; the value is its member `value`";
    losses.add(origin, { code: "arguments", by: "target", reason });
    return { value: clean };
  }

  #signed(signature: string | undefined, origin: Origin): { readonly signature?: string } {
    if (this.#replyOrigin !== "own" || !isSignature(signature)) return {};
    const metadata = readMetadata(signature);
    if (metadata !== undefined && holdsMedia({ providerFields: metadata }))
      this.#drop(origin, "opaque", "target", "metadata of a provider's block that have media");
    else if (this.#isIntact(signature)) return { signature };
    else this.#drop(origin, "reasoning", "history", "a signature that is not well-formed");
    return {};
  }

  /** Whether a value needs no cleaning: a change would break its signature or identity. */
  #isIntact(value: unknown): boolean {
    return cleanJson(value, this.#options.rules.refusesNul ?? false) === value;
  }

  #blamed(): "history" | "target" {
    return this.#replyOrigin === "cut" ? "history" : "target";
  }

  #drop(origin: Origin, code: "reasoning" | "opaque", by: "history" | "target", reason: string): void {
    this.#options.losses.add(origin, { code, by, reason });
  }
}

const noIds: ReadonlySet<string> = new Set();

/** The JSON in a signature that is metadata of a client or of this library, after a prefix such as `members:`. */
function readMetadata(signature: string): Readonly<Record<string, unknown>> | undefined {
  const start = signature.indexOf("{");
  if (start === -1 || start > longestPrefix) return undefined;
  const metadata = parseJson(signature.slice(start).split("\n", 1)[0] as string);
  return isRecord(metadata) ? metadata : undefined;
}

const longestPrefix = 8;

/** Whether a member has a value that says something. */
function hasContent(fields: Readonly<Record<string, unknown>> | undefined): boolean {
  return Object.values(fields ?? {}).some((value) => {
    if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
    return value !== undefined && value !== null && value !== "";
  });
}

/** Characters that every provider accepts in tool names. */
const nameCharacter = /[A-Za-z0-9_-]/;
const defaultNameLength = 64;

/** Converts a name to one that the target accepts. The same name always gives the same result. */
export function toolName(
  name: string,
  { maxLength = defaultNameLength, character = nameCharacter, first = character }: ToolNameRule = {},
): string {
  const safe = Array.from(name, (c) => (character.test(c) ? c : "_".repeat(c.length))).join("");
  const begun = safe === "" ? "unnamed_tool" : first.test(safe.charAt(0)) ? safe : `_${safe}`;
  return begun.slice(0, maxLength);
}

/** Drops reasoning at the end of a message, which providers refuse: the reply ended after it. */
function dropTrailingReasoning(parts: PendingAssistantPart[], { losses }: SelectOptions): void {
  for (let last = parts.at(-1); last?.type === "reasoning"; last = parts.at(-1)) {
    parts.pop();
    losses.add(last.origin, {
      code: "reasoning",
      by: "target",
      reason: "reasoning at the end of the message",
    });
  }
}

/**
 * Trims each message, not only the last of a request: otherwise a longer history would change the bytes of
 * this one. Also before attachments, because they may leave no text.
 */
function trimLastText(parts: PendingAssistantPart[], { rules, losses }: SelectOptions): void {
  const at = parts.findLastIndex(({ type }) => type !== "attachment" && type !== "opaqueMedia");
  const last = parts[at];
  if (rules.trimsAssistant !== true || last?.type !== "text") return;
  const text = withoutSpaceAtEnd(last.text);
  if (text === last.text) return;
  parts[at] = { ...last, text } satisfies TextPart;
  const reason = "the target refuses white space at the end";
  losses.add(last.origin, { code: "trailingSpace", by: "target", reason });
}
