/** The losses of a projection, by code, entry and block. */

import type { Origin } from "./request.js";

/**
 * The code of a loss: content of the context that the request lacks or changes.
 *
 * Attachments: `missing` and `corrupt` bytes, `invalid` (bytes of no known image type), `unsupported` (the
 * target does not accept them there), `overLimit`, `resized`, `retyped` (the declared type was wrong),
 * `asText` (a document's text replaces it), `moved` (from a tool result to after the results). Attachments
 * that a policy holds back are in the reports only.
 *
 * Calls: `interrupted` (a placeholder replaces a missing result), `orphanResult`, `duplicateCall`,
 * `duplicateResult`, `callId`, `toolName`, `arguments` (rewritten for the target).
 *
 * Text: `reasoning` (dropped), `opaque` (dropped: another provider's block, or its members such as citations), `malformed` (lone surrogates or
 * refused control characters replaced), `trailingSpace` (trimmed), `notRepeated` (the target keeps its own
 * history), `refused` (the model declined the turn), `unplaced` (a view of a resource outside the request).
 */
export type LossCode =
  | "missing"
  | "corrupt"
  | "invalid"
  | "unsupported"
  | "overLimit"
  | "resized"
  | "retyped"
  | "asText"
  | "moved"
  | "interrupted"
  | "orphanResult"
  | "duplicateCall"
  | "duplicateResult"
  | "callId"
  | "toolName"
  | "arguments"
  | "reasoning"
  | "opaque"
  | "malformed"
  | "trailingSpace"
  | "notRepeated"
  | "refused"
  | "unplaced";

/** One change or omission. JSON-safe. */
export interface Loss {
  readonly code: LossCode;
  /**
   * The cause. `policy`: an option of the target, set or default. `target`: the target does not accept it.
   * `limit`: a limit of the target. `history`: the context is damaged or incomplete.
   */
  readonly by: "policy" | "target" | "limit" | "history";
  readonly entryId: string;
  /** Index among the blocks of the message; absent for the whole message. */
  readonly block?: number;
  readonly resourceId?: string;
  /** The reason, in words for people; may change. */
  readonly reason: string;
  /** The replacement text, if any. */
  readonly instead?: string;
}

/** A loss, and the item for its order. */
export interface FoundLoss {
  readonly item: number;
  readonly loss: Loss;
}

/** Collects losses, and returns them in the order of the context. */
export class LossList {
  #found: FoundLoss[];
  /** By place, because each of many places may withdraw losses. */
  readonly #byPlace = new Map<string, FoundLoss[]>();
  readonly #withdrawn = new Set<FoundLoss>();

  /** @param found losses that stay */
  constructor(found: readonly FoundLoss[] = []) {
    this.#found = [...found];
  }

  /** The losses of the items before one. */
  before(end: number): readonly FoundLoss[] {
    return this.#found.filter((found) => found.item < end && !this.#withdrawn.has(found));
  }

  add(origin: Origin, loss: Omit<Loss, "entryId" | "block">): void {
    const { entryId, item, block } = origin;
    const { code, by, ...rest } = loss;
    const found = {
      item,
      loss: { code, by, entryId, ...(block === undefined ? {} : { block }), ...rest },
    };
    this.#found.push(found);
    const key = placeKey(origin);
    const same = this.#byPlace.get(key);
    if (same === undefined) this.#byPlace.set(key, [found]);
    else same.push(found);
  }

  /** Removes the losses of some items. */
  forget(isForgotten: (item: number) => boolean): void {
    this.#found = this.#found.filter(({ item }) => !isForgotten(item));
  }

  /** Removes losses of a place that no longer apply. */
  takeBack(origin: Origin, codes: readonly LossCode[]): void {
    for (const found of this.#byPlace.get(placeKey(origin)) ?? []) {
      if (codes.includes(found.loss.code)) this.#withdrawn.add(found);
    }
  }

  /** Sorts by item, then by block, then by time of detection. */
  inOrder(): readonly Loss[] {
    return this.#found
      .filter((found) => !this.#withdrawn.has(found))
      .sort((a, b) => a.item - b.item || (a.loss.block ?? 0) - (b.loss.block ?? 0))
      .map(({ loss }) => loss);
  }
}

function placeKey({ item, block }: Origin): string {
  return `${item} ${block}`;
}
