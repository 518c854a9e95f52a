import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  memoryBlobStore,
  memorySessionStore,
  parseSession,
  type SessionEntry,
  sessionBlobRoots,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { afterEach, describe, expect, it } from "vitest";
import { conversation } from "../arbitraries/conversations.js";
import { isFull } from "../support/rounds.js";

const header = { type: "session", id: "s1", timestamp: "2025-01-02T03:04:05.678Z", cwd: "/w" } as const;
const timestamp = header.timestamp;

function said(id: string, parentId: string | null, content: unknown = id): SessionEntry {
  const message = { role: "user", content, timestamp: 0 };
  return { type: "message", id, parentId, timestamp, message } as SessionEntry;
}

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const withImage = said("a", null, [{ type: "image", data: png, mimeType: "image/png" }]);

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "sessile-"));
  folders.push(dir);
  return dir;
}

describe("adopt", () => {
  it("stores inline images in blobs, before the log names them", async () => {
    const blobs = memoryBlobStore();
    const store = fileSessionStore({ dir: folder(), blobs });
    const session = await store.adopt({ header, entries: [withImage], leafId: "a" });
    const bytes = readFileSync(session.location as string);
    const { refs, complete } = await sessionBlobRoots("s1", bytes);
    expect([[...refs].length, complete]).toEqual([1, true]);
    for (const ref of refs) expect(await blobs.stat(ref)).toBeDefined();
    expect(bytes.includes(png)).toBe(false);
    await session.close();
  });

  it("keeps the parent of the header, and refuses what is no entry, with its place", async () => {
    const parentSession = "/sessions/parent.jsonl";
    const adopted = { header: { ...header, parentSession }, entries: [said("a", null)], leafId: "a" };
    expect((await memorySessionStore().adopt(adopted)).header).toMatchObject({ parentSession });
    for (const wrong of [null, 5, { ...said("b", null), id: 5 }, { ...said("b", null), id: "" }]) {
      const store = memorySessionStore();
      const entries = [said("a", null), wrong as SessionEntry];
      await expect(store.adopt({ header, entries, leafId: "a" })).rejects.toMatchObject({
        code: "INVALID_ENTRY",
        details: { path: expect.stringMatching(/^entries\[1\]/) },
      });
      await expect(store.open("s1")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    }
  });

  it("refuses inline images above the limit of an append, unless they are allowed", async () => {
    const large = said("a", null, [{ type: "image", data: png.repeat(20), mimeType: "image/png" }]);
    const adopted = { header, entries: [large], leafId: "a" };
    const refused = await memorySessionStore()
      .adopt(adopted)
      .catch((error: unknown) => error);
    expect(SessileError.is(refused, "INLINE_BYTES") && refused.details.path).toBe(
      "entries[0] (a).message.content[0]",
    );
    const session = await memorySessionStore().adopt(adopted, { inline: "allow" });
    expect(await session.entry("a")).toEqual(large);
  });

  it("is one operation, whose entries come with it", async () => {
    const operations: string[] = [];
    const store = memorySessionStore({ onOperation: ({ name }) => operations.push(name) });
    const session = await store.adopt({ header, entries: [said("a", null)], leafId: "a" });
    await store.adopt(
      { header, entries: [said("a", null), said("b", "a")], leafId: "b" },
      { existing: "append" },
    );
    expect(operations).toEqual(["adopt", "adopt"]);
    await session.refresh();
    expect(operations).toEqual(["adopt", "adopt", "refresh"]);
  });

  it("announces a name that it adds to a session", async () => {
    const store = memorySessionStore();
    const seen: unknown[] = [];
    store.on("updated", ({ info }) => seen.push(info.name));
    await store.adopt({ header, entries: [said("a", null)], leafId: "a" });
    const named: SessionEntry = { type: "session_info", id: "b", parentId: "a", timestamp, name: "x" };
    await store.adopt({ header, entries: [said("a", null), named], leafId: "b" }, { existing: "append" });
    expect(seen).toContain("x");
  });

  it("reads back whatever entries it is given, and their leaf", async () => {
    await fc.assert(
      fc.asyncProperty(conversation(20), async ({ entries, leafId }) => {
        const known = new Set<string | null>([null]);
        fc.pre(entries.every(({ id, parentId }) => known.has(parentId) && known.add(id)));
        const store = memorySessionStore({ inline: "allow" });
        const session = await store.adopt({ header, entries, leafId });
        expect(session.leafId).toBe(leafId);
        for (const entry of entries) expect(await session.entry(entry.id)).toEqual(entry);
        const again = await store.adopt({ header, entries, leafId }, { existing: "append" });
        expect((await again.tree()).size).toBe((await session.tree()).size);
      }),
      { numRuns: 60 },
    );
  });

  it.runIf(isFull)("adopts 100,000 entries", async () => {
    const ids = Array.from({ length: 100_000 }, (_, number) => `e${number}`);
    const entries = ids.map((id, at) => ({
      ...said(id, at === 0 ? null : (ids[at - 1] as string)),
      message: userMessage(id),
    })) as SessionEntry[];
    const store = fileSessionStore({ dir: folder(), durability: "os" });
    const session = await store.adopt({ header, entries, leafId: "e99999" });
    expect([(await session.tree()).size, session.leafId]).toEqual([100_000, "e99999"]);
    expect(parseSession(readFileSync(session.location as string)).entries).toHaveLength(100_000);
    await session.close();
  });
});
