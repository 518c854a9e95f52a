/**
 * The entries that the compactions of a path keep. Agents repeat them after each summary, so that
 * compactions that keep everything would make a file grow with the square of their number.
 */

import type { SessionEntry } from "../../session/index.js";

export type CompactionEntry = SessionEntry & { readonly type: "compaction" };

/** Entries that are repeated for all compactions together, for each entry of the path. */
const copiesPerEntry = 2;
/** Short paths are written whole. */
const minCopies = 1024;

/** The entries that each compaction of a path keeps. */
export class KeptEntries {
  readonly #path: readonly SessionEntry[];
  /** The indexes of entries on the path. */
  readonly #indexes: ReadonlyMap<string, number>;
  /** The compactions whose kept entries are written: the last ones, as many as the bound allows. */
  readonly #written = new Set<number>();
  /** Earlier compactions that are written without them. No context shows it any more. */
  readonly left: readonly SessionEntry[];

  constructor(path: readonly SessionEntry[]) {
    this.#path = path;
    this.#indexes = new Map(path.map(({ id }, at) => [id, at]));
    const left: SessionEntry[] = [];
    let budget = Math.max(minCopies, copiesPerEntry * path.length);
    for (let at = path.length - 1; at >= 0; at--) {
      const entry = path[at] as SessionEntry;
      if (entry.type !== "compaction") continue;
      const count = at - this.#keptStart(entry, at) + (entry.retain?.length ?? 0);
      if (this.#written.size > 0 && count > budget) left.push(entry);
      else this.#written.add(at);
      budget -= count;
    }
    this.left = left.reverse();
  }

  /** The entries that a compaction keeps: those it retains, then those of its range. */
  of(at: number): readonly SessionEntry[] {
    if (!this.#written.has(at)) return [];
    const entry = this.#path[at] as CompactionEntry;
    const retained = new Set<SessionEntry>();
    for (const id of entry.retain ?? []) {
      const index = this.#indexes.get(id);
      if (index !== undefined && index < at) retained.add(this.#path[index] as SessionEntry);
    }
    const range = this.#path.slice(this.#keptStart(entry, at), at);
    return [...retained, ...range.filter((each) => !retained.has(each))];
  }

  /** Where the range of a compaction begins; its own place if it has none. */
  #keptStart({ firstKeptEntryId }: CompactionEntry, at: number): number {
    return Math.min(at, this.#indexes.get(firstKeptEntryId) ?? at);
  }
}
