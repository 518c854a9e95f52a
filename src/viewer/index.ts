/** The conversation of a session in an element of a page: the viewer's rows beside a page's own parts. */

import type { SessionEntry, UnknownEntry } from "../session/index.js";
import { EmbeddedConversation } from "./app/embedded.js";

/** Options of {@link showConversation}. */
interface ConversationOptions {
  /**
   * The URL of an attachment's bytes, such as a `blob:` URL. Images are shown from it, and other files saved.
   * Called again when an attachment comes back into view. If it rejects, the attachment is only named.
   */
  attachmentUrl(blob: string): Promise<string>;
  /** Called when the reader wants entries before the first one. Called again until they are shown. */
  onEarlier?(): void;
}

/** A conversation in a page. */
interface ConversationView {
  /**
   * Shows the entries of a path, oldest first. Equal entries at the start stay as they are. The reader's
   * place stays too, also if entries are put before the first one; at the end it follows new entries.
   *
   * @param options `hasEarlier`: whether the path has entries before these. Default: false
   */
  show(path: readonly (SessionEntry | UnknownEntry)[], options?: { readonly hasEarlier?: boolean }): void;
  /** Shows the text so far of a reply that is being written, after the path; undefined removes it. */
  reply(text: string | undefined): void;
  /** The reply broke off: its text stays, with a note, until another path is shown. */
  breakOff(): void;
  /** Scrolls to the end, and follows it. */
  toEnd(): void;
  /** Removes all elements. */
  close(): void;
}

/**
 * Shows a conversation in an element, which gets a shadow root. All text is shown as text and no HTML is
 * parsed, so that a hostile message cannot run or load anything. For browsers only.
 *
 * @example
 * ```ts
 * // The newest page of `session.recent()`, as the page's own server gives it.
 * const { entries, truncated } = await (await fetch("/recent")).json();
 * const attachmentUrl = async (blob: string) => `/blobs/${blob}`;
 * const view = showConversation(document.body, { attachmentUrl });
 * view.show(entries, { hasEarlier: truncated });
 * ```
 */
export function showConversation(place: Element, options: ConversationOptions): ConversationView {
  const { attachmentUrl, onEarlier } = options;
  const conversation = new EmbeddedConversation(place, {
    // Also if it throws at once.
    blobAddress: async (blob) => attachmentUrl(blob),
    onEarlier: () => onEarlier?.(),
  });
  return {
    show: (path, { hasEarlier = false } = {}) => conversation.show(path, hasEarlier),
    reply: (text) => conversation.reply(text),
    breakOff: () => conversation.breakOff(),
    toEnd: () => conversation.toEnd(),
    close: () => conversation.close(),
  };
}
