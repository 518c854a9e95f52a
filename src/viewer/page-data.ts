/** The data that a viewer's file holds, as the builder writes it and the page reads it. */

import type { ModelPrice } from "../providers/cost/index.js";
import type { Diagnostic, SessionEntry, SessionHeader, UnknownEntry } from "../session/index.js";

/** The sessions of a page, without their entries, which are in blocks of their own. */
export interface PageData {
  /** The session of the page, then those of its subagents. */
  readonly sessions: readonly PageSession[];
  /** The agent that wrote the session, such as `claude-code`. */
  readonly agent?: string;
  /** Custom prices, which precede the library's own. */
  readonly prices?: readonly ModelPrice[];
  /** Images that are not in the page. */
  readonly leftOut: readonly LeftOutImage[];
  /** The address of an event stream that continues the session. */
  readonly live?: string;
  /** The address of the list of all sessions. */
  readonly list?: string;
}

/** One session of a page. */
export interface PageSession {
  /** Unique in the page: the id of the header, if there is one. */
  readonly key: string;
  readonly header?: SessionHeader;
  readonly leafId: string | null;
  readonly diagnostics: PageDiagnostics;
  /** The page has only the newest entries of the path. The event stream brings all of them. */
  readonly isPart?: boolean;
}

/** Problems of the stored session. */
export interface PageDiagnostics {
  /** All of them, also those that are not listed. */
  readonly total: number;
  readonly listed: readonly Diagnostic[];
}

/** An image that a page lacks. */
export interface LeftOutImage {
  /** The blob of a resource, or the place of an inline image; see {@link inlineImageKey}. */
  readonly key: string;
  /** The key of the first session that has it. */
  readonly session: string;
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

/** Changes of the sessions that a page shows already: the data of an event `change`. */
export interface PageUpdate {
  readonly sessions: readonly SessionUpdate[];
  readonly images: readonly PageImage[];
  readonly leftOut: readonly LeftOutImage[];
}

/** A session that changed, or began. */
export interface SessionUpdate extends PageSession {
  /** The number of entries that stay. All others are replaced. */
  readonly from: number;
  /**
   * The place of the first one of `entries`. A large change comes in several updates, the last entries first:
   * this one is followed by one with the entries before it, until `at` is `from`.
   */
  readonly at: number;
  readonly entries: readonly PageEntry[];
  /** The number of all entries: the first update of a change ends there. */
  readonly total: number;
}

/** An entry in a page. Inline images have no data here, but the key of a {@link PageImage}. */
export type PageEntry = SessionEntry | UnknownEntry;

/** The key of an inline image: its session, its entry, and its number among the entry's inline images. */
export function inlineImageKey(session: string, entryId: string, number: number): string {
  return `${session}/${entryId}/${number}`;
}

// The list of all sessions, which the page of `serve` asks for.

/** A session in the list. */
export interface ListedSession {
  /** Its page is at `s/KEY/`. */
  readonly key: string;
  readonly agent: string;
  readonly id: string;
  readonly title?: string;
  readonly cwd?: string;
  /** ISO 8601. */
  readonly created?: string;
  readonly modified: string;
  /** Bytes. */
  readonly size: number;
  /** The session that started it. */
  readonly parent?: string;
  /** The command that continues it in its agent. */
  readonly resume?: string;
}

/** The sessions that came, changed or went after a version of the list. */
export interface ListUpdate {
  readonly version: number;
  /** Older sessions are still looked for. */
  readonly isWhole: boolean;
  /** Milliseconds since 1970, by the clock of the files. */
  readonly now: number;
  readonly sessions: readonly ListedSession[];
  /** The keys of those that are there no more. */
  readonly gone: readonly string[];
}

/** A search over all sessions ends after so many entries. */
export const maxHits = 100;

/** An entry that has the words of a search, or what is wrong with these. */
export type FoundText =
  | { readonly problem: string }
  | {
      /** Of the listed session. */
      readonly key: string;
      /** The session of a subagent that has the entry. */
      readonly session?: string;
      readonly entryId: string;
      readonly role: string;
      /** ISO 8601. */
      readonly at: string;
      readonly snippet: string;
    };

/** Costs by day and model, of the sessions that were read so far. */
export interface CostsOfSessions {
  readonly done: number;
  readonly total: number;
  readonly groups: readonly {
    /** `2026-11-29` */
    readonly day: string;
    readonly model: string;
    readonly calls: number;
    readonly tokens: number;
    /** US dollars. */
    readonly cost: number;
    readonly unpriced: number;
  }[];
}

/** Ids and classes of the elements that hold data. */
export const dataElements = {
  session: "session-data",
  entries: "entry-data",
  image: "image-data",
} as const;
