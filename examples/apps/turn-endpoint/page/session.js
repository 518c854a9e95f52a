/** @import { EntrySummary, SessionSummary } from "./api.js" */

/** What the server told of the session: its entries as a tree, and where the next message goes. */
export class Session {
  /** @type {Map<string, EntrySummary>} */
  #entries = new Map();
  /** @type {Map<string | null, string[]>} */
  #children = new Map();
  /** @type {string | null} */
  leafId = null;
  name = "";

  /** @param {SessionSummary} summary */
  restore(summary) {
    this.#entries.clear();
    this.#children.clear();
    for (const entry of summary.entries) this.#put(entry);
    this.leafId = summary.leafId;
    this.name = summary.name ?? "";
  }

  /**
   * What a turn wrote: it follows the tip, and is the tip from then on.
   *
   * @param {EntrySummary} entry
   */
  add(entry) {
    this.#put(entry);
    this.leafId = entry.id;
  }

  /** @param {EntrySummary} entry */
  #put(entry) {
    const known = this.#entries.has(entry.id);
    this.#entries.set(entry.id, entry);
    if (known) return;
    const siblings = this.#children.get(entry.parentId);
    if (siblings === undefined) this.#children.set(entry.parentId, [entry.id]);
    else siblings.push(entry.id);
  }

  get size() {
    return this.#entries.size;
  }

  /** @param {string} id */
  entry(id) {
    return this.#entries.get(id);
  }

  /**
   * Of an entry, or of nothing: the first of each conversation.
   *
   * @param {string | null} id
   * @returns {readonly string[]}
   */
  children(id) {
    return this.#children.get(id) ?? [];
  }

  /** Whether the path to the tip is known from its root on. */
  isWhole() {
    return (this.path()[0]?.parentId ?? null) === null;
  }

  /** @returns {readonly EntrySummary[]} from the root to the tip */
  path() {
    const path = [];
    for (let id = this.leafId; id !== null; ) {
      const entry = this.#entries.get(id);
      if (entry === undefined) break;
      path.push(entry);
      id = entry.parentId;
    }
    return path.reverse();
  }
}
