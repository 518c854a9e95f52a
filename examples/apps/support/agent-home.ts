import { join } from "node:path";
import type { BlobStore } from "sessile/blobs";
import { fileBlobStore } from "sessile/blobs/node";
import type { SessionStore } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";

/** Where an agent keeps what it has. */
export interface AgentHome {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  /** The directory in which its tools work. */
  readonly workspace: string;
}

/**
 * Below a directory: `sessions/` with a file for each conversation, `sessions/blobs/<sha256>.<extension>` with the bytes that they
 * name, and `workspace/`. Whoever opens the same directory again finds what was there.
 */
export function agentHome(dir: string): AgentHome {
  const sessions = join(dir, "sessions");
  const blobs = fileBlobStore({ dir: sessions, layout: "flat" });
  return {
    sessions: fileSessionStore({ dir: sessions, blobs }),
    blobs,
    workspace: join(dir, "workspace"),
  };
}
