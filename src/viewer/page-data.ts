/** The data that a viewer's file holds, as the builder writes it and the page reads it. */

import type { ModelPrice } from "../cost/index.js";
import type { Diagnostic, SessionEntry, SessionHeader, UnknownEntry } from "../session/index.js";

/** The session of a page, without its entries, which are in blocks of their own. */
export interface PageData {
  readonly header?: SessionHeader;
  /** The agent that wrote the session, such as `claude-code`. */
  readonly agent?: string;
  readonly leafId: string | null;
  /** The number of entries in the page. */
  readonly count: number;
  readonly diagnostics: PageDiagnostics;
  /** Custom prices, which precede the library's own. */
  readonly prices?: readonly ModelPrice[];
  /** Images that are not in the page. */
  readonly leftOut: readonly LeftOutImage[];
  /** The address of an event stream that continues the session. */
  readonly live?: string;
}

/** Problems of the stored session. */
export interface PageDiagnostics {
  /** All of them, also those that are not listed. */
  readonly total: number;
  readonly listed: readonly Diagnostic[];
}

/** An image that a page lacks. */
export interface LeftOutImage {
  /** The blob of a resource, or the entry and number of an inline image; see {@link inlineImageKey}. */
  readonly key: string;
  readonly entryId: string;
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  readonly name?: string;
  /** `budget`: larger than the budget allowed. `missing`, `corrupt`: the blob store does not have it. */
  readonly reason: "budget" | "missing" | "corrupt";
}

/** One image of a page. */
export interface PageImage {
  readonly key: string;
  readonly mediaType: string;
  readonly base64: string;
}

/** New entries of a session that a page shows already: the data of an event `append`. */
export interface PageUpdate {
  readonly entries: readonly PageEntry[];
  readonly leafId: string | null;
  readonly images: readonly PageImage[];
  readonly leftOut: readonly LeftOutImage[];
}

/** An entry in a page. Inline images have no data here, but the key of a {@link PageImage}. */
export type PageEntry = SessionEntry | UnknownEntry;

/** The key of an inline image: its entry, and its number among the entry's inline images. */
export function inlineImageKey(entryId: string, number: number): string {
  return `${entryId}/${number}`;
}

/** Ids and classes of the elements that hold data. */
export const dataElements = {
  session: "session-data",
  entries: "entry-data",
  image: "image-data",
} as const;
