import { byId } from "./element.js";
import { showConversation } from "./viewer.js";

/** @import { Api, Entry, PathPage } from "./api.js" */
/** @import { Images } from "./images.js" */

/**
 * The path to the leaf, page by page from its end, and the reply that is being written. The viewer of the
 * library shows both.
 */
export class Conversation {
  #view;
  #api;
  #onError;
  #empty = byId("empty", HTMLDivElement);
  /** @type {readonly Entry[]} */
  #path = [];
  /** @type {string | undefined} the cursor of the page before */
  #before;
  #isLoading = false;
  /** @type {string | undefined} */
  #reply;
  /** Whether each entry follows the one before it. If not, another page has written between them. */
  isWhole = true;

  /**
   * @param {Api} api
   * @param {Images} images
   * @param {(error: unknown) => void} onError
   */
  constructor(api, images, onError) {
    this.#api = api;
    this.#onError = onError;
    this.#view = showConversation(byId("entries", HTMLDivElement), {
      attachmentUrl: (blob) => images.address(blob),
      onEarlier: () => void this.#loadEarlier(),
    });
  }

  /**
   * Takes the newest page of the path. Earlier pages that are here stay, if they are of the same path.
   *
   * @param {PathPage} page
   */
  restore({ entries, before }) {
    const first = entries[0]?.id;
    const at = this.#path.findIndex(({ id }) => id === first);
    if (at <= 0) this.#before = before;
    this.#path = [...this.#path.slice(0, Math.max(0, at)), ...entries];
    this.isWhole = true;
  }

  /**
   * Ends the path at another entry.
   *
   * @param {string | null} entryId
   * @returns {boolean} false if the entry is not here
   */
  moveTo(entryId) {
    const at = entryId === null ? -1 : this.#path.findIndex(({ id }) => id === entryId);
    if (at < 0 && entryId !== null) return false;
    this.#path = this.#path.slice(0, at + 1);
    if (at < 0) this.#before = undefined;
    return true;
  }

  /** @param {Entry} entry the next one of the path */
  add(entry) {
    if ((this.#path.at(-1)?.id ?? null) !== entry.parentId) {
      this.isWhole = false;
      this.#path = [];
      this.#before = undefined;
    }
    this.#path = [...this.#path, entry];
  }

  /** Shows the path; only what differs is drawn. */
  show() {
    this.#view.show(this.#path, { hasEarlier: this.#before !== undefined });
    this.#empty.hidden = this.#path.length > 0 || this.#reply !== undefined;
  }

  /** Shows that a reply is being written, before its first piece. */
  beginReply() {
    this.write("");
  }

  /** @param {string} text the next piece of the reply */
  write(text) {
    this.#reply = (this.#reply ?? "") + text;
    this.#view.reply(this.#reply);
    this.#empty.hidden = true;
  }

  /** Removes the partial reply: it has arrived as an entry, or never will. */
  endReply() {
    this.#reply = undefined;
    this.#view.reply(undefined);
  }

  /** The reply broke off: its text stays until the conversation changes. */
  breakOff() {
    this.#reply = undefined;
    this.#view.breakOff();
  }

  scrollToEnd() {
    this.#view.toEnd();
  }

  async #loadEarlier() {
    const before = this.#before;
    if (before === undefined || this.#isLoading) return;
    this.#isLoading = true;
    try {
      const page = await this.#api.recent(before);
      // The path may be another one by now.
      if (this.#before !== before) return;
      this.#before = page.before;
      this.#path = [...page.entries, ...this.#path];
      this.show();
    } catch (error) {
      this.#onError(error);
    } finally {
      this.#isLoading = false;
    }
  }
}
