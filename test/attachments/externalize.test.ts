import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  assistantMessage,
  type EntryDraft,
  type ImageBlock,
  type Message,
  memoryBlobStore,
  type Resource,
  type SessionEntry,
  toolResult,
  type UserMessage,
  userMessage,
} from "sessile";
import { type ExternalizerReport, imageExternalizer, resourcesIn } from "sessile/attachments";
import { fileSessionStore } from "sessile/node";
import { describe, expect, expectTypeOf, test } from "vitest";
import { message as anyMessage } from "../arbitraries/messages.js";
import { base64, countingIds, png } from "./samples.js";

const inline = (bytes: Uint8Array, mimeType = "image/png"): ImageBlock => ({
  type: "image",
  data: base64(bytes),
  mimeType,
});
const withImages = (...images: readonly ImageBlock[]): UserMessage => ({
  role: "user",
  content: [{ type: "text", text: "see" }, ...images],
  timestamp: 1,
});
const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

type Externalized<M> = Pick<ExternalizerReport, "bytesBefore" | "bytesAfter"> & {
  readonly message: M;
  readonly resources: readonly Resource[];
  readonly kept: readonly Omit<ExternalizerReport["kept"][number], "entryId">[];
};

/** Moves the images out of one message, as out of the entry that has it. */
async function externalize<M extends Message>(
  message: M,
  options: Parameters<typeof imageExternalizer>[0],
): Promise<Externalized<M>> {
  const { rewrite, report } = imageExternalizer(options);
  const entry = { type: "message", id: "00000001", message } as const;
  const after = await rewrite(entry);
  expect(after === entry).toBe(after.message === message);
  const around = jsonBytes({ ...entry, message: 0 }) - 1;
  const { bytesBefore, bytesAfter, kept } = report;
  const known = new Set(resourcesOf(message).map(({ resourceId }) => resourceId));
  return {
    message: after.message,
    resources: resourcesOf(after.message).filter(({ resourceId }) => !known.has(resourceId)),
    bytesBefore: bytesBefore - around,
    bytesAfter: bytesAfter - around,
    kept: kept.map(({ block, code }) => ({ block, code })),
  };
}

function resourcesOf(message: Message): readonly Resource[] {
  if (!("content" in message) || !Array.isArray(message.content)) return [];
  return resourcesIn([{ ...message, content: message.content.filter((block) => block !== null) }]);
}

describe("imageExternalizer of one message", () => {
  // @covers R67
  test("puts resources in the place of images, and says what that saves", async () => {
    const blobs = memoryBlobStore();
    const bytes = Uint8Array.from(png(640, 480));
    const padded = new Uint8Array(10_000);
    padded.set(bytes);
    const message = withImages(inline(padded), inline(bytes, "image/jpeg"));
    const moved = await externalize(message, { blobs, newId: countingIds() });
    expectTypeOf(moved.message).toEqualTypeOf<UserMessage>();
    expect(moved.kept).toEqual([]);
    expect(moved.bytesBefore).toBe(jsonBytes(message));
    expect(moved.bytesAfter).toBe(jsonBytes(moved.message));
    expect(moved.bytesAfter).toBeLessThan(moved.bytesBefore / 10);
    expect(JSON.stringify(moved.message)).not.toContain(base64(bytes).slice(0, 30));
    expect(resourcesIn([moved.message])).toEqual(moved.resources);
    expect(moved.resources).toMatchObject([
      { resourceId: "res_0000000000000001", kind: "image", source: "import", width: 640 },
      { kind: "image", mediaType: "image/png", declared: { mediaType: "image/jpeg" } },
    ]);
    const [first] = moved.resources;
    if (first?.kind !== "image") throw new TypeError("it is no image");
    expect(await blobs.get(first.blob)).toEqual(padded);
  });

  test("stores bytes that are not an image as a file", async () => {
    const blobs = memoryBlobStore();
    const odd = Uint8Array.of(0, 1, 2, 3);
    const { resources } = await externalize(withImages(inline(odd), inline(png().slice(0, 12))), {
      blobs,
    });
    expect(resources).toMatchObject([
      { kind: "file", mediaType: "application/octet-stream", declared: { mediaType: "image/png" } },
      { kind: "file", mediaType: "application/octet-stream" },
    ]);
  });

  test("moves an image that other fields were logged with", async () => {
    for (const more of [{ link: "https://e.com/a" }, { bytes: 70 }, { uri: "https://e.com/a" }]) {
      const message = withImages({ ...inline(png()), ...more });
      const { resources } = await externalize(message, { blobs: memoryBlobStore() });
      expect(resources).toMatchObject([{ kind: "image" }]);
      expect(resources[0]).not.toHaveProperty("uri");
    }
  });

  test("keeps and reports images that it cannot decode or store", async () => {
    const broken: ImageBlock = { type: "image", data: "not base64", mimeType: "image/png" };
    const message = withImages(broken, inline(png()), inline(new Uint8Array(500)));
    const moved = await externalize(message, { blobs: memoryBlobStore(), maxBytes: 400 });
    expect(moved.kept).toEqual([
      { block: 1, code: "INVALID_MESSAGE" },
      { block: 3, code: "BLOB_TOO_LARGE" },
    ]);
    expect(moved.message.content[1]).toBe(broken);
    expect(moved.resources).toHaveLength(1);
  });

  test("returns the same message if it has no inline image", async () => {
    for (const message of [userMessage("hi"), withImages(), toolResult({ id: "c", name: "t" }, "r")]) {
      const moved = await externalize(message, { blobs: memoryBlobStore() });
      expect(moved.message).toBe(message);
      expect(moved.bytesAfter).toBe(moved.bytesBefore);
    }
  });

  test.each([undefined, null, 5, [null], [null, { type: "text", text: "a" }]])(
    "leaves invalid content unchanged: %j",
    async (content) => {
      const message = { ...withImages(), content } as never as UserMessage;
      const moved = await externalize(message, { blobs: memoryBlobStore() });
      expect(moved.message).toBe(message);
      expect(moved.kept).toEqual([]);
    },
  );

  test("moves an image of an assistant message, and the media in a provider's block", async () => {
    const data = { inlineData: { mimeType: "image/png", data: base64(png()) }, thoughtSignature: "c2ln" };
    const message = {
      ...assistantMessage({ provider: "p", model: "m" }, "a"),
      content: [inline(png()), { type: "opaque" as const, data }],
    };
    const moved = await externalize(message, { blobs: memoryBlobStore() });
    const [image, own] = (moved.message as typeof message).content;
    expect(image).toMatchObject({ type: "text", resource: { kind: "image" } });
    const [resource] = moved.resources.slice(1);
    expect(own).toEqual({
      type: "opaque",
      data: { ...data, inlineData: { mimeType: "image/png", data: { $resource: resource?.resourceId } } },
      resources: [resource],
    });
    expect(await externalize(moved.message, { blobs: memoryBlobStore() })).toMatchObject({
      message: moved.message,
      kept: [],
    });
  });

  test("keeps and reports an image in a system message", async () => {
    const message = { role: "system", content: [inline(png())], timestamp: 1 } as never;
    const moved = await externalize(message, { blobs: memoryBlobStore() });
    expect(moved.message).toBe(message);
    expect(moved.kept).toEqual([{ block: 0, code: "INVALID_MESSAGE" }]);
  });

  test("moves an image beside an invalid block", async () => {
    const message = { ...withImages(), content: [null, inline(png())] } as never as UserMessage;
    const moved = await externalize(message, { blobs: memoryBlobStore() });
    expect(moved.resources).toHaveLength(1);
    expect(moved.message.content[0]).toBe(null);
  });

  test("rejects with errors of the store", async () => {
    const blobs = { put: () => Promise.reject(new Error("full")) };
    await expect(externalize(withImages(inline(png())), { blobs })).rejects.toThrow("full");
  });

  test("changes only the images of any message, and is idempotent", async () => {
    await fc.assert(
      fc.asyncProperty(anyMessage, async (message) => {
        const blobs = memoryBlobStore();
        const once = await externalize(message, { blobs });
        const blocks = (of: object): readonly { readonly type: string }[] => {
          const content: unknown = "content" in of ? of.content : [];
          return Array.isArray(content) ? content : [];
        };
        for (const [at, block] of blocks(message).entries()) {
          if (block.type !== "image") expect(blocks(once.message)[at]).toEqual(block);
        }
        expect({ ...once.message, content: 0 }).toEqual({ ...message, content: 0 });
        const again = await externalize(once.message, { blobs });
        expect(again.message).toBe(once.message);
        expect(again.kept).toEqual(once.kept);
      }),
    );
  });
});

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
      { type: "part_update", targetId: (asked as SessionEntry).id, index: 1, part: image(large(2)) },
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
    expect(lines[5]).toBe(before.split("\n")[5]);
    expect(lines[6]).toBe(before.split("\n")[6]);
    expect(slim.diagnostics).toEqual([]);
    expect(
      (await slim.tree())
        .path(slim.leafId)
        .map(({ id }) => id)
        .slice(0, 6),
    ).toEqual((await session.tree()).path(session.leafId).map(({ id }) => id));
    expect(report).toMatchObject({ entries: 6, images: 4, kept: [] });
    expect(report.bytesBefore - report.bytesAfter).toBeGreaterThan(18_000);
    // Two times two of them are the same bytes.
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

test("an image that cannot be moved stays, and is reported", async () => {
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
});
