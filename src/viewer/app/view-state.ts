/** The parts of the page's state that views read and change. */

import type { SentTargetName } from "../model/sent-request.js";

/** The panel beside the conversation: the context of an entry, or the request that it makes. */
export interface ContextPanel {
  readonly entryId: string;
  readonly tab: "seen" | "sent";
  readonly target?: SentTargetName;
}

/** An entry that contains the words of a search. */
export interface Hit {
  readonly session: string;
  readonly entryId: string;
}

/** A search in all sessions of the page. */
export interface FindState {
  readonly words: string;
  /** Undefined while the search runs. */
  readonly hits: readonly Hit[] | undefined;
  /** Index of the hit in focus; -1 before the first. */
  readonly at: number;
}

/** A reply that is no entry of the session. */
export interface PartialReply {
  readonly text: string;
  /** It broke off, and stays until the conversation changes. */
  readonly isBroken: boolean;
}

/** The parts of the state that views read and change by `ViewerState.set`. */
export interface ViewState {
  /** The key of the session that is shown. */
  readonly session: string;
  readonly leafId: string | null;
  /** The row in focus. */
  readonly focusId: string | undefined;
  readonly panel: ContextPanel | undefined;
  readonly find: FindState | undefined;
  readonly help: boolean;
  /** On narrow windows the outline is a drawer. */
  readonly outlineOpen: boolean;
  readonly outlineDetail: "short" | "long";
  readonly printing: boolean;
  /** The image that is shown large. */
  readonly image: { readonly src: string; readonly name: string } | undefined;
  readonly live: "off" | "connected" | "lost";
  /** The reply that is being written, after the last row. */
  readonly reply: PartialReply | undefined;
  /** Whether the conversation has entries before those that are here. */
  readonly hasEarlier: boolean;
}
