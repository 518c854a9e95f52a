import fc from "fast-check";
import { externalizeImages, resourcesIn } from "sessile/attachments";
import { memoryBlobStore } from "sessile/blobs";
import {
  assistantMessage,
  type ImageBlock,
  toolResult,
  type UserMessage,
  userMessage,
} from "sessile/content";
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

describe("externalizeImages", () => {
  test("puts resources in the place of images, and says what that saves", async () => {
    const blobs = memoryBlobStore();
    const bytes = Uint8Array.from(png(640, 480));
    const padded = new Uint8Array(10_000);
    padded.set(bytes);
    const message = withImages(inline(padded), inline(bytes, "image/jpeg"));
    const moved = await externalizeImages(message, { blobs, newId: countingIds() });
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

  test("keeps the bytes of what is no image as a file", async () => {
    const blobs = memoryBlobStore();
    const odd = Uint8Array.of(0, 1, 2, 3);
    const { resources } = await externalizeImages(withImages(inline(odd), inline(png().slice(0, 12))), {
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
      const { resources } = await externalizeImages(message, { blobs: memoryBlobStore() });
      expect(resources).toMatchObject([{ kind: "image" }]);
      expect(resources[0]).not.toHaveProperty("uri");
    }
  });

  test("leaves what it cannot decode or keep where it is, and says so", async () => {
    const broken: ImageBlock = { type: "image", data: "not base64", mimeType: "image/png" };
    const message = withImages(broken, inline(png()), inline(new Uint8Array(500)));
    const moved = await externalizeImages(message, { blobs: memoryBlobStore(), maxBytes: 400 });
    expect(moved.kept).toEqual([
      { block: 1, code: "INVALID_MESSAGE" },
      { block: 3, code: "BLOB_TOO_LARGE" },
    ]);
    expect(moved.message.content[1]).toBe(broken);
    expect(moved.resources).toHaveLength(1);
  });

  test("gives back the very message where there is nothing to move", async () => {
    for (const message of [userMessage("hi"), withImages(), toolResult({ id: "c", name: "t" }, "r")]) {
      const moved = await externalizeImages(message, { blobs: memoryBlobStore() });
      expect(moved.message).toBe(message);
      expect(moved.bytesAfter).toBe(moved.bytesBefore);
    }
  });

  test.each([undefined, null, 5, [null], [null, { type: "text", text: "a" }]])(
    "leaves content that is none as it is: %j",
    async (content) => {
      const message = { ...withImages(), content } as never as UserMessage;
      const moved = await externalizeImages(message, { blobs: memoryBlobStore() });
      expect(moved.message).toBe(message);
      expect(moved.kept).toEqual([]);
    },
  );

  test("leaves an image of an assistant, whose messages have none, and says so", async () => {
    const message = {
      ...assistantMessage({ provider: "p", model: "m" }, "a"),
      content: [inline(png())],
    } as never;
    const moved = await externalizeImages(message, { blobs: memoryBlobStore() });
    expect(moved.message).toBe(message);
    expect(moved.kept).toEqual([{ block: 0, code: "INVALID_MESSAGE" }]);
  });

  test("moves the image beside a block that is none", async () => {
    const message = { ...withImages(), content: [null, inline(png())] } as never as UserMessage;
    const moved = await externalizeImages(message, { blobs: memoryBlobStore() });
    expect(moved.resources).toHaveLength(1);
    expect(moved.message.content[0]).toBe(null);
  });

  test("throws what the store throws", async () => {
    const blobs = { put: () => Promise.reject(new Error("full")) };
    await expect(externalizeImages(withImages(inline(png())), { blobs })).rejects.toThrow("full");
  });

  test("of any message changes the images alone, and does nothing the second time", async () => {
    await fc.assert(
      fc.asyncProperty(anyMessage, async (message) => {
        const blobs = memoryBlobStore();
        const once = await externalizeImages(message, { blobs });
        const blocks = (of: object): readonly { readonly type: string }[] => {
          const content: unknown = "content" in of ? of.content : [];
          return Array.isArray(content) ? content : [];
        };
        for (const [at, block] of blocks(message).entries()) {
          if (block.type !== "image") expect(blocks(once.message)[at]).toEqual(block);
        }
        expect({ ...once.message, content: 0 }).toEqual({ ...message, content: 0 });
        const again = await externalizeImages(once.message, { blobs });
        expect(again.message).toBe(once.message);
        expect(again.kept).toEqual(once.kept);
      }),
    );
  });
});
