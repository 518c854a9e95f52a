import type {
  AssistantMessage,
  Context,
  ContextMessage,
  ImageBlock,
  TextBlock,
  ToolResultMessage,
} from "../content/index.js";
import { unreachable } from "../internal/unreachable.js";
import { assistantDraft } from "./assistant.js";
import { cleanText, isBlank } from "./clean.js";
import type { AttachmentDraft, AttachmentPlace, MessageDraft, ShownDraft } from "./draft.js";
import type { LossList } from "./loss.js";
import { systemParts } from "./system.js";
import type { Maker, TargetRules } from "./target.js";
import type { Origin, TextPart } from "./turns.js";
import { bashText, branchSummaryText, namePrefix, summaryText } from "./words.js";

/** A context as messages of a request, in order, with the system's part aside. */
export interface Selection {
  readonly system: readonly TextPart[];
  readonly messages: readonly MessageDraft[];
  /** Every place of an attachment, in order. */
  readonly attachments: readonly AttachmentDraft[];
}

/** What selecting needs to know of the target. */
export interface SelectOptions {
  readonly maker: Maker;
  readonly rules: TargetRules;
  readonly losses: LossList;
}

/**
 * Makes each item of a context a message as a request has it: summaries, commands and custom messages become the user's text,
 * text is cleaned, and of what the model said only that stays which this target's model can take back. Attachments become
 * places that are decided on later.
 */
export function selectMessages(items: Context["items"], options: SelectOptions): Selection {
  const attachments: AttachmentDraft[] = [];
  const reader = new BlockReader(options, attachments);
  const messages: MessageDraft[] = [];
  items.forEach(({ entryId, message }, item) => {
    const draft = messageDraft(message, { entryId, item }, reader, options);
    if (draft !== undefined) messages.push(draft);
  });
  return { system: systemParts(items, reader), messages, attachments };
}

function messageDraft(
  message: ContextMessage,
  origin: Origin,
  reader: BlockReader,
  options: SelectOptions,
): MessageDraft | undefined {
  const { item } = origin;
  const user = (parts: readonly ShownDraft[]): MessageDraft | undefined =>
    parts.length === 0 ? undefined : { role: "user", item, parts };
  switch (message.role) {
    case "user":
      return user(named(reader.shown(message.content, origin, "user"), message.name, origin));
    case "custom":
      return user(reader.shown(message.content, origin, "user"));
    case "assistant":
      return assistant(message, origin, reader, options);
    case "toolResult":
      return result(message, origin, reader);
    case "bashExecution":
      return message.excludeFromContext === true ? undefined : user(reader.text(bashText(message), origin));
    case "compactionSummary":
      return user(reader.text(summaryText(message), origin));
    case "branchSummary":
      return user(reader.text(branchSummaryText(message), origin));
    case "system":
      return undefined;
    default:
      return unreachable(message);
  }
}

function named(
  parts: readonly ShownDraft[],
  name: string | undefined,
  origin: Origin,
): readonly ShownDraft[] {
  const prefix = name === undefined || parts.length === 0 ? "" : namePrefix(name);
  if (prefix === "") return parts;
  const [first, ...rest] = parts;
  if (first?.type === "text") return [{ ...first, text: prefix + first.text }, ...rest];
  return [{ type: "text", text: prefix.trimEnd(), origin }, ...parts];
}

function assistant(
  message: AssistantMessage,
  origin: Origin,
  reader: BlockReader,
  options: SelectOptions,
): MessageDraft | undefined {
  const parts = assistantDraft(message, origin, reader, options);
  return parts.length === 0 ? undefined : { role: "assistant", item: origin.item, parts };
}

function result(message: ToolResultMessage, origin: Origin, reader: BlockReader): MessageDraft {
  const parts = reader.shown(message.content, origin, "toolResult");
  return { role: "toolResult", item: origin.item, origin, isError: message.isError, parts };
}

/** Reads blocks of text and attachments, and notes where the attachments are. */
export class BlockReader {
  readonly #losses: LossList;
  readonly #refusesNul: boolean;
  readonly #attachments: AttachmentDraft[];

  constructor({ losses, rules }: SelectOptions, attachments: AttachmentDraft[]) {
    this.#losses = losses;
    this.#refusesNul = rules.refusesNul ?? false;
    this.#attachments = attachments;
  }

  /** Blocks that are shown, or a text that stands for one block. */
  shown(
    content: string | readonly (TextBlock | ImageBlock)[],
    origin: Origin,
    place: AttachmentPlace,
  ): readonly ShownDraft[] {
    if (typeof content === "string") return this.text(content, origin);
    const parts: ShownDraft[] = [];
    content.forEach((block, index) => {
      const at = { ...origin, block: index };
      if (block.type === "image" || block.resource !== undefined) parts.push(this.attachment(at, place));
      else parts.push(...this.text(block.text, at));
    });
    return parts;
  }

  /** A place that is decided on later. */
  attachment(origin: Origin, place: AttachmentPlace): AttachmentDraft {
    const draft: AttachmentDraft = { type: "attachment", place, origin, text: "" };
    this.#attachments.push(draft);
    return draft;
  }

  /** A text part, or none where there is nothing to read. */
  text(text: string, origin: Origin): readonly TextPart[] {
    return isBlank(text) ? [] : [{ type: "text", text: this.clean(text, origin), origin }];
  }

  /** Text that any target takes, with a loss where it had to be changed. */
  clean(text: string, origin: Origin): string {
    const clean = cleanText(text, this.#refusesNul);
    if (clean !== text) this.malformed(origin);
    return clean;
  }

  /** Notes that something of a block was no text that the target takes. */
  malformed(origin: Origin): void {
    const reason = this.#refusesNul
      ? "lone surrogates and NUL characters are replaced"
      : "lone surrogates are replaced";
    this.#losses.add(origin, { code: "malformed", by: "target", reason });
  }
}
