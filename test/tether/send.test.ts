import fc from "fast-check";
import { ingest } from "sessile/attachments";
import { type BlobStore, memoryBlobStore } from "sessile/blobs";
import type { StoredResource } from "sessile/content";
import { assistantDone, type OutgoingImage, outgoingImages, readFrame, tetherLimits } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { base64, bytesOf, everyBlob, gif, pdf, png } from "../attachments/samples.js";
import { pngOf, to } from "./samples.js";

const mebibyte = 2 ** 20;

/** The bytes in a store, as resources. */
function stored(blobs: BlobStore, ...all: readonly Uint8Array[]): Promise<StoredResource[]> {
  return Promise.all(all.map((bytes) => ingest({ bytes }, { blobs })));
}

const inline = (bytes: Uint8Array, mimeType = "image/png") =>
  ({ type: "image", data: base64(bytes), mimeType }) as const;

/** A store that must not be asked. */
const noBlobs: Pick<BlobStore, "get"> = { get: (ref) => Promise.reject(new Error(`${ref} was read`)) };

describe("outgoingImages", () => {
  test("gives bytes as base64, with the type that they are", async () => {
    const blobs = memoryBlobStore();
    const [first, second] = await stored(blobs, png(4, 5), gif);
    const { images, left } = await outgoingImages([first as StoredResource, second as StoredResource], {
      blobs,
    });
    expect(left).toEqual([]);
    expect(images).toEqual([
      { media_type: "image/png", data: base64(png(4, 5)) },
      { media_type: "image/gif", data: base64(gif) },
    ]);
  });

  test("believes the bytes, not the descriptor", async () => {
    const blobs = memoryBlobStore();
    const [image] = await stored(blobs, gif);
    const lying = { ...(image as StoredResource), mediaType: "image/png" };
    expect((await outgoingImages([lying], { blobs })).images).toMatchObject([{ media_type: "image/gif" }]);
    const { images } = await outgoingImages([inline(gif, "image/webp")], { blobs });
    expect(images).toMatchObject([{ media_type: "image/gif" }]);
  });

  test("takes an image inline in a message", async () => {
    const { images } = await outgoingImages([inline(png(7, 7))], { blobs: noBlobs });
    expect(images).toEqual([{ media_type: "image/png", data: base64(png(7, 7)) }]);
    const padded = inline(png(2, 2));
    expect(padded.data.endsWith("=")).toBe(true);
    const bare = { ...padded, data: padded.data.replace(/=+$/, "") };
    expect((await outgoingImages([bare], { blobs: noBlobs })).images).toMatchObject([{ data: padded.data }]);
  });

  test("sends bytes that are named twice once, and tells of none of them twice", async () => {
    const blobs = memoryBlobStore();
    const [image] = (await stored(blobs, png())) as [StoredResource];
    const again = { ...image, resourceId: "res_00000000000000aa" };
    const gone = { ...image, blob: `sha256:${"a".repeat(64)}` } as const;
    const link = {
      resourceId: "res_00000000000000bb",
      kind: "link",
      uri: "https://a.b",
      source: "link",
    } as const;
    const given: OutgoingImage[] = [image, image, again, gone, gone, link, link, inline(gif), inline(gif)];
    const { images, left } = await outgoingImages(given, { blobs });
    expect(images).toHaveLength(2);
    expect(left).toEqual([
      { image: gone, reason: "missing" },
      { image: link, reason: "link" },
    ]);
  });

  test("tells what is missing, corrupt, a link or no image, and sends the rest", async () => {
    const blobs = memoryBlobStore();
    const [image, file, text] = (await stored(blobs, png(), pdf, bytesOf("words"))) as StoredResource[];
    const posing = { ...(text as StoredResource), kind: "image", mediaType: "image/png" } as const;
    const broken = { ...(image as StoredResource), blob: `sha256:${"b".repeat(64)}` } as const;
    const damaged = everyBlob([], [broken.blob]).blobs;
    const reader: Pick<BlobStore, "get"> = {
      get: (ref) => (ref === broken.blob ? damaged : blobs).get(ref),
    };
    const { images, left } = await outgoingImages(
      [
        file as StoredResource,
        posing,
        broken,
        { type: "image", data: "%%%", mimeType: "image/png" },
        image as StoredResource,
      ],
      { blobs: reader },
    );
    expect(images).toHaveLength(1);
    expect(left.map(({ reason }) => reason)).toEqual(["mediaType", "mediaType", "corrupt", "corrupt"]);
  });

  test("does not read a link, a file, or what is too large by its descriptor", async () => {
    const base = { resourceId: "res_1", source: "tool", mediaType: "image/png" } as const;
    const ref = (digit: string) =>
      ({ blob: `sha256:${digit.repeat(64)}`, contentSha256: digit.repeat(64) }) as const;
    const given: OutgoingImage[] = [
      { resourceId: "res_2", kind: "link", uri: "https://a.b", source: "link" },
      { ...base, ...ref("1"), kind: "file", size: 1 },
      { ...base, ...ref("2"), kind: "image", size: tetherLimits.maxImageBytes + 1 },
    ];
    const { left } = await outgoingImages(given, { blobs: noBlobs });
    expect(left.map(({ reason }) => reason)).toEqual(["link", "mediaType", "imageBytes"]);
  });

  test("holds bytes against the limit too, where the descriptor is wrong", async () => {
    const blobs = memoryBlobStore();
    const [large] = (await stored(blobs, pngOf(tetherLimits.maxImageBytes + 1))) as [StoredResource];
    const { left } = await outgoingImages([{ ...large, size: 5 }], { blobs });
    expect(left).toMatchObject([{ reason: "imageBytes" }]);
  });

  test.each([
    ["an image of exactly 10 MiB", [10 * mebibyte], [true]],
    ["one of a byte more", [10 * mebibyte + 1], ["imageBytes"]],
    ["exactly 20 MiB together", [10 * mebibyte, 10 * mebibyte], [true, true]],
    [
      "a byte more together, and a small one behind it",
      [10 * mebibyte, 10 * mebibyte - 99, 101, 99],
      [true, true, "frameBytes", true],
    ],
    ["a fifth", [100, 101, 102, 103, 104], [true, true, true, true, "imageCount"]],
    [
      "a fifth behind one that was left out",
      [10 * mebibyte + 1, 101, 102, 103, 104],
      ["imageBytes", true, true, true, true],
    ],
  ] as const)("of %s takes what fits", async (_what, sizes, expected) => {
    const given = sizes.map((size, at) => inline(pngOf(size, at)));
    const { images, left } = await outgoingImages(given, { blobs: noBlobs });
    const taken = new Set(images.map(({ data }) => data));
    const reasons = new Map(left.map(({ image, reason }) => [image, reason]));
    expect(given.map((one) => reasons.get(one) ?? taken.has(one.data))).toEqual(expected);
    // What it gives, a frame takes.
    expect(readFrame(JSON.stringify(assistantDone(to, "", images))).images).toHaveLength(images.length);
  });

  test("gives or tells of each distinct image, for any mixture, and always what a frame takes", async () => {
    const blobs = memoryBlobStore();
    const good = (await stored(blobs, png(1, 1), png(2, 2), png(3, 3), gif, png(4, 4))) as StoredResource[];
    const bad: OutgoingImage[] = [
      { ...(good[0] as StoredResource), blob: `sha256:${"c".repeat(64)}` },
      { type: "image", data: "no base64", mimeType: "image/png" },
      { type: "image", data: base64(bytesOf("<svg/>")), mimeType: "image/png" },
    ];
    const pool = [...good, ...bad, inline(png(1, 1)), inline(png(9, 9))];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...pool), { maxLength: 12 }), async (given) => {
        const { images, left } = await outgoingImages(given, { blobs });
        const distinct = [...new Set(given)];
        const fit = distinct.filter((one) => !bad.includes(one)).slice(0, tetherLimits.maxImages);
        const last = fit.length < tetherLimits.maxImages ? undefined : fit.at(-1);
        expect(images).toHaveLength(fit.length);
        expect(left.map(({ image }) => image)).toEqual(distinct.filter((one) => !fit.includes(one)));
        for (const { image, reason } of left) {
          const full = last !== undefined && distinct.indexOf(image) > distinct.indexOf(last);
          expect(reason === "imageCount").toBe(full);
        }
        expect(assistantDone(to, "", images).payload.images ?? []).toEqual(images);
      }),
    );
  });

  test("throws what else the store throws, and the signal's reason", async () => {
    const [image] = (await stored(memoryBlobStore(), png())) as [StoredResource];
    await expect(outgoingImages([image], { blobs: noBlobs })).rejects.toThrow(`${image.blob} was read`);
    const signal = AbortSignal.abort(new Error("stop"));
    await expect(outgoingImages([image], { blobs: noBlobs, signal })).rejects.toThrow("stop");
  });

  test("refuses what is no list, by name", async () => {
    await expect(outgoingImages(null as never, { blobs: noBlobs })).rejects.toThrow(
      new TypeError("images: expected an array, got null"),
    );
  });
});
