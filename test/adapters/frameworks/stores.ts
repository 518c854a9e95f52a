import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { type BlobStore, memoryBlobStore, memorySessionStore, type SessionStore } from "sessile";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { postgresSessionStore } from "sessile/postgres";
import { afterAll } from "vitest";

/** The stores of an adapter, and a partition that has no sessions. */
export interface Stores {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  readonly partition: string;
}

/** The kinds of stores that every adapter is tested on, each with a function that opens empty ones. */
export function storesOf(): readonly (readonly [name: string, open: () => Promise<Stores>])[] {
  const dirs: string[] = [];
  // Starting a database takes longer than most tests.
  let database: Promise<PGlite> | undefined;
  let partitions = 0;
  afterAll(async () => {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
    await (await database)?.close();
  });
  const partition = "test";
  return [
    ["memory", async () => ({ sessions: memorySessionStore(), blobs: memoryBlobStore(), partition })],
    [
      "files",
      async () => {
        const dir = mkdtempSync(join(tmpdir(), "sessile-adapters-"));
        dirs.push(dir);
        const sessions = fileSessionStore({ dir: join(dir, "sessions") });
        return { sessions, blobs: fileBlobStore({ dir: join(dir, "blobs") }), partition };
      },
    ],
    [
      "PGlite",
      async () => {
        const isFirst = database === undefined;
        database ??= PGlite.create();
        const sessions = postgresSessionStore({ db: await database });
        if (isFirst) await sessions.migrate();
        return { sessions, blobs: memoryBlobStore(), partition: `test-${partitions++}` };
      },
    ],
  ];
}
