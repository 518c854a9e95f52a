import type { ImageBlock, TextBlock } from "../content/index.js";
import { cleanText, isBlank } from "./clean.js";
import type { AttachmentDraft, AttachmentPlace, ShownDraft } from "./draft.js";
import type { LossList } from "./loss.js";
import type { TargetRules } from "./target.js";
import type { Origin, TextPart } from "./turns.js";

/** Reads blocks of text and attachments as a request has them. */
export class BlockReader {
  readonly #losses: LossList;
  readonly #refusesNul: boolean;

  constructor({ losses, rules }: { readonly losses: LossList; readonly rules: TargetRules }) {
    this.#losses = losses;
    this.#refusesNul = rules.refusesNul ?? false;
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
      const shown =
        block.type === "image" || block.resource !== undefined
          ? [this.attachment(at, place)]
          : this.text(block.text, at);
      for (const part of shown) parts.push(part);
    });
    return parts;
  }

  /** A place that is decided on later. */
  attachment(origin: Origin, place: AttachmentPlace): AttachmentDraft {
    return { type: "attachment", place, origin, text: "" };
  }

  /** A text part, or none where there is nothing to read. */
  text(text: string, origin: Origin): readonly TextPart[] {
    return isBlank(text) ? [] : [{ type: "text", text: this.clean(text, origin), origin }];
  }

  /** Text that any target takes, with a loss where it had to be changed. */
  clean(text: string, origin: Origin): string {
    const clean = cleanText(text, this.#refusesNul);
    if (clean === text) return text;
    const reason = this.#refusesNul
      ? "lone surrogates and NUL characters are replaced"
      : "lone surrogates are replaced";
    this.#losses.add(origin, { code: "malformed", by: "target", reason });
    return clean;
  }
}
