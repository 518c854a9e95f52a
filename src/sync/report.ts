/** The reports of a copy and of a sync. */

import type { BlobRef } from "../content/index.js";
import type { SessileError } from "../core/errors/index.js";
import type { Erasure } from "../session/index.js";
import type { StateConflict } from "./closing.js";

/** A session that was left as it is, and why. */
export interface SkippedSession {
  readonly partition: string;
  /** Absent if the session could not be listed. */
  readonly id?: string;
  readonly location?: string;
  readonly error: SessileError;
}

/** The result of {@link copySessions}. */
export interface CopyReport {
  /** Sessions that were examined, without the skipped ones. */
  readonly sessions: number;
  /** Those of them that got lines. */
  readonly changed: number;
  /** Entries that were written. */
  readonly entries: number;
  /** Bytes of the lines that were written. */
  readonly bytes: number;
  readonly blobs: {
    /** Blobs that were written. */
    readonly count: number;
    readonly bytes: number;
    /** Blobs that entries name and the source does not have intact. */
    readonly lost: readonly BlobRef[];
  };
  /** Bytes after the last line feed of a source, in which no entry is whole; not copied. */
  readonly tornBytes: number;
  readonly skipped: readonly SkippedSession[];
}

/** An entry of a session. */
export interface DifferingEntry {
  readonly partition: string;
  /** The session. */
  readonly id: string;
  readonly entryId: string;
}

/** An entry whose text one store has, and that the other one erased; see {@link ErasureOptions.erasures}. */
export interface PendingErasure extends DifferingEntry {
  /** The store that has the text: `a` is the first one. */
  readonly store: "a" | "b";
  /** The record of the erasure. */
  readonly erased: Erasure;
}

/** A state that was changed in both stores by writers who did not know of each other. */
export interface SyncConflict extends StateConflict {
  readonly partition: string;
  /** The session. */
  readonly id: string;
}

/** The result of {@link syncSessions}. */
export interface SyncReport extends CopyReport {
  /** Entries whose lines differ, such as an edited one. Each store keeps its own. */
  readonly differing: readonly DifferingEntry[];
  /** Entries that were erased in one store, since the other has tombstones in their place. */
  readonly erased: readonly DifferingEntry[];
  /** Entries that `erasures: "apply"` would erase, with those that derive from them. Their sessions were skipped. */
  readonly pendingErasures: readonly PendingErasure[];
  /** States of which one change counts, and another one of equal right does not. All entries are kept. */
  readonly conflicts: readonly SyncConflict[];
  /** Ids of two different entries. Neither they nor entries below them were moved. */
  readonly collisions: readonly DifferingEntry[];
  /** Damaged lines of sessions that are in both stores; not moved. */
  readonly damaged: number;
}

/** The member of a skipped session with a location. */
export function readLocation(location: string | undefined): { readonly location?: string } {
  return location === undefined ? {} : { location };
}

/** A report under construction. */
export class Tally {
  sessions = 0;
  changed = 0;
  entries = 0;
  bytes = 0;
  blobCount = 0;
  blobBytes = 0;
  tornBytes = 0;
  damaged = 0;
  readonly lost = new Set<BlobRef>();
  readonly skipped: SkippedSession[] = [];
  readonly differing: DifferingEntry[] = [];
  readonly erased: DifferingEntry[] = [];
  readonly collisions: DifferingEntry[] = [];
  readonly conflicts: SyncConflict[] = [];
  readonly pendingErasures: PendingErasure[] = [];

  copyReport(): CopyReport {
    const { sessions, changed, entries, bytes, tornBytes, skipped } = this;
    const blobs = { count: this.blobCount, bytes: this.blobBytes, lost: [...this.lost] };
    return { sessions, changed, entries, bytes, blobs, tornBytes, skipped };
  }

  syncReport(): SyncReport {
    const { differing, erased, pendingErasures, conflicts, collisions, damaged } = this;
    return { ...this.copyReport(), differing, erased, pendingErasures, conflicts, collisions, damaged };
  }
}
