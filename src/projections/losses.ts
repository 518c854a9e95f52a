import type { Origin } from "./request.js";

/**
 * What became of a thing that is not in the request as it is in the context.
 *
 * Attachments: `missing` and `corrupt` (its bytes are), `invalid` (they are no picture of any known type),
 * `unsupported` (the target takes no such thing there), `overLimit`, `resized`, `retyped` (its type was not
 * what it said), `asText` (a document's text stands for it), `moved` (from a tool's result to behind it).
 * Those that a policy holds back are in the reports alone.
 *
 * Calls: `interrupted` (a made-up result stands for one that never came), `orphanResult`, `duplicateCall`,
 * `duplicateResult`, `callId`, `toolName`, `arguments` (rewritten as the target takes them).
 *
 * Text: `reasoning` (dropped), `opaque` (dropped: another provider's block), `malformed` (lone surrogates or
 * refused control characters replaced), `trailingSpace` (trimmed), `notRepeated` (the target keeps its own
 * history), `unplaced` (a view of what the request does not hold).
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
  | "unplaced";

/** One thing that was changed or left out. JSON-safe. */
export interface Loss {
  readonly code: LossCode;
  /**
   * Who is the cause. `policy`: an option of the target, set or default. `target`: it takes no such thing.
   * `limit`: a limit of the target. `history`: the context itself is damaged or incomplete.
   */
  readonly by: "policy" | "target" | "limit" | "history";
  readonly entryId: string;
  /** Index among the blocks of the message; absent where the whole message is meant. */
  readonly block?: number;
  readonly resourceId?: string;
  /** Why, in words for people; may change. */
  readonly reason: string;
  /** The text that stands there instead, where one does. */
  readonly instead?: string;
}

/** A loss, and the item that it is put in order by. */
interface FoundLoss {
  readonly item: number;
  readonly loss: Loss;
}

/** Losses as they are found, put in the order of the context at the end. */
export class LossList {
  #found: FoundLoss[] = [];
  /** Those of each place, since each of very many places may take some back. */
  readonly #byPlace = new Map<string, FoundLoss[]>();
  readonly #withdrawn = new Set<FoundLoss>();

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

  /** Takes back what was found of some items. */
  forget(isForgotten: (item: number) => boolean): void {
    this.#found = this.#found.filter(({ item }) => !isForgotten(item));
  }

  /** Takes back what was found of a place and holds no longer. */
  takeBack(origin: Origin, codes: readonly LossCode[]): void {
    for (const found of this.#byPlace.get(placeKey(origin)) ?? []) {
      if (codes.includes(found.loss.code)) this.#withdrawn.add(found);
    }
  }

  /** By item, and by block within it; what is found of the same place stays in the order of its finding. */
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
