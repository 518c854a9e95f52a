import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BlobStore, memoryBlobStore } from "sessile/blobs";
import { fileBlobStore } from "sessile/blobs/node";
import { memorySessionStore, type SessionStore } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";
import { afterAll } from "vitest";

/** The stores of an adapter. */
export interface Stores {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
}

/** The kinds of stores that every adapter is tested on, each with a function that opens empty ones. */
export function storesOf(): readonly (readonly [name: string, open: () => Promise<Stores>])[] {
  const dirs: string[] = [];
  afterAll(() => {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  });
  return [
    ["memory", async () => ({ sessions: memorySessionStore(), blobs: memoryBlobStore() })],
    [
      "files",
      async () => {
        const dir = mkdtempSync(join(tmpdir(), "sessile-adapters-"));
        dirs.push(dir);
        const sessions = fileSessionStore({ dir: join(dir, "sessions") });
        return { sessions, blobs: fileBlobStore({ dir: join(dir, "blobs") }) };
      },
    ],
  ];
}
