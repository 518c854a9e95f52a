/** A place for an agent's data: its sessions, its blobs, and the way in for attachments. */

import type { IngestOptions, IngestSource } from "../../attachments/index.js";
import type { BlobStore } from "../../blobs/index.js";
import type { Resource } from "../../content/index.js";
import type { SessionStore } from "./store.js";

/** Options of `attach`: those of `ingest`, with the blobs of the place. */
export type AttachOptions = Omit<IngestOptions, "blobs">;

/**
 * Sessions, blobs and attachments of one place: a folder, a database. Every door of a storage gives one, so that
 * a move is another door. Sessions store inline images in `blobs`.
 */
export interface AgentStorage<Source = IngestSource> {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  /** Stores an attachment, and returns the resource for a message; see `ingest`. */
  attach(source: Source, options?: AttachOptions): Promise<Resource>;
}
