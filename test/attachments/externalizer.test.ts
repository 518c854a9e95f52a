import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { externalizeImages, imageExternalizer, resourcesIn } from "sessile/attachments";
import { memoryBlobStore } from "sessile/blobs";
import type { ImageBlock } from "sessile/content";
import type { EntryDraft, SessionEntry } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";
import { expect, expectTypeOf, test } from "vitest";
import { base64, countingIds, png } from "./samples.js";

const image = (bytes: Uint8Array): ImageBlock => ({
  type: "image",
  data: base64(bytes),
  mimeType: "image/png",
});
const large = (seed: number) => {
  const bytes = new Uint8Array(5000).fill(seed);
  bytes.set(png(64, 48));
  return bytes;
};
const text = { type: "text", text: "see" } as const;

async function inDirectory<T>(act: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "sessile-externalizer-"));
  try {
    return await act(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

test("a copy of a session has its images in the store, every other line as it was, and a report", async () => {
  await inDirectory(async (dir) => {
    const sessions = fileSessionStore({ dir, durability: "os", inline: "allow" });
    const session = await sessions.create({ cwd: "/work" });
    const user = { role: "user", content: [text, image(large(1))], timestamp: 1 } as const;
    const [asked] = await session.append([{ type: "message", message: user }]);
    const drafts: EntryDraft[] = [
      { type: "custom_message", customType: "shot", content: [image(large(2)), text], display: true },
      {
        type: "context_edit",
        targetId: (asked as SessionEntry).id,
        replacement: { content: [image(large(1)), { type: "made-up", data: [1] }] },
      },
      { type: "custom", customType: "state", data: { large: [1, 2, 3] } },
      { type: "message", message: { role: "user", content: "no image", timestamp: 2 } },
    ];
    await session.append(drafts);
    await session.close();
    const before = readFileSync(session.location as string, "utf8");

    const blobs = memoryBlobStore();
    const { rewrite, report } = imageExternalizer({ blobs, newId: countingIds() });
    const slim = await sessions.fork(session.id, { rewrite });
    const after = readFileSync(slim.location as string, "utf8");
    expect(after).not.toContain(base64(large(1)).slice(0, 40));
    expect(after.length).toBeLessThan(before.length / 4);
    const lines = after.split("\n");
    expect(lines[4]).toBe(before.split("\n")[4]);
    expect(lines[5]).toBe(before.split("\n")[5]);
    expect(slim.diagnostics).toEqual([]);
    expect(
      slim.tree
        .path(slim.leafId)
        .map(({ id }) => id)
        .slice(0, 5),
    ).toEqual(session.tree.path(session.leafId).map(({ id }) => id));
    expect(report).toMatchObject({ entries: 5, images: 3, kept: [] });
    expect(report.bytesBefore - report.bytesAfter).toBeGreaterThan(18_000);
    // Two of the three are the same bytes.
    const refs: string[] = [];
    for await (const { ref } of blobs.list()) refs.push(ref);
    expect(refs).toHaveLength(2);
    const [edited, custom] = (await slim.context()).items;
    const resources = resourcesIn((await slim.context()).items.map(({ message }) => message));
    expect([edited?.edited, custom?.origin]).toEqual([true, "custom"]);
    expect(resources.map(({ kind }) => kind)).toEqual(["image", "image"]);
    await slim.close();
  });
});

test("what cannot be moved stays where it is, and is told of", async () => {
  const { rewrite, report } = imageExternalizer({ blobs: memoryBlobStore() });
  const bad = { type: "image", data: "no base64!", mimeType: "image/png" } as const;
  const entry = {
    type: "message",
    id: "00000001",
    message: { role: "user", content: [text, bad], timestamp: 1 },
  } as const;
  expect(await rewrite(entry)).toBe(entry);
  expect(report).toMatchObject({
    images: 0,
    kept: [{ entryId: "00000001", block: 1, code: "INVALID_MESSAGE" }],
  });
  expect(report.bytesAfter).toBe(report.bytesBefore);
});

test("entries without images come back as they are", async () => {
  const { rewrite } = imageExternalizer({ blobs: memoryBlobStore() });
  const others: readonly { readonly type: string; readonly id: string }[] = [
    { type: "label", id: "1" },
    { type: "custom_message", id: "2", content: "text" } as never,
    { type: "context_edit", id: "3", replacement: null } as never,
    { type: "context_edit", id: "4", replacement: { content: [{ type: "toolCall", id: "c" }] } } as never,
    { type: "message", id: "5", message: { role: "user", content: "text", timestamp: 1 } } as never,
  ];
  for (const entry of others) expect(await rewrite(entry)).toBe(entry);
});

test("fits what a fork takes", () => {
  type Options = NonNullable<Parameters<ReturnType<typeof fileSessionStore>["fork"]>[1]>;
  expectTypeOf(imageExternalizer({ blobs: memoryBlobStore() })).toExtend<Pick<Options, "rewrite">>();
  expectTypeOf(externalizeImages).toBeFunction();
});
