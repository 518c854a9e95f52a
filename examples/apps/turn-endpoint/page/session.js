/** @import { EntrySummary, SessionSummary } from "./api.js" */

/** The session, as the server sent it: its entries as a tree, and the leaf. */
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
   * Adds an entry of a turn behind the leaf, and moves the leaf to it.
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
   * The children of an entry; of null the roots.
   *
   * @param {string | null} id
   * @returns {readonly string[]}
   */
  children(id) {
    return this.#children.get(id) ?? [];
  }

  /** @returns {readonly EntrySummary[]} from the root to the leaf */
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
