import fc from "fast-check";
import {
  assistantMessage,
  type BlobStore,
  type ContextMessage,
  contextFrom,
  memoryBlobStore,
  type StoredResource,
  type ToolResultMessage,
  toolResult,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import {
  assistantDone,
  finishTurn,
  type OutgoingImage,
  outgoingImages,
  readFrame,
  tetherLimits,
} from "sessile/tether";
import { describe, expect, test } from "vitest";
import { producedImages } from "../../src/tether/send.js";
import { base64, bytesOf, everyBlob, gif, image, pdf, png } from "../attachments/samples.js";
import { pngOf, to } from "../support/tether.js";

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
    const { images, omitted } = await outgoingImages([first as StoredResource, second as StoredResource], {
      blobs,
    });
    expect(omitted).toEqual([]);
    expect(images).toEqual([
      { media_type: "image/png", data: base64(png(4, 5)) },
      { media_type: "image/gif", data: base64(gif) },
    ]);
  });

  // @covers R69
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
    const { images, omitted } = await outgoingImages(given, { blobs });
    expect(images).toHaveLength(2);
    expect(omitted).toEqual([
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
    const { images, omitted } = await outgoingImages(
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
    expect(omitted.map(({ reason }) => reason)).toEqual(["mediaType", "mediaType", "corrupt", "corrupt"]);
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
    const { omitted } = await outgoingImages(given, { blobs: noBlobs });
    expect(omitted.map(({ reason }) => reason)).toEqual(["link", "mediaType", "imageBytes"]);
  });

  test("holds bytes against the limit too, where the descriptor is wrong", async () => {
    const blobs = memoryBlobStore();
    const [large] = (await stored(blobs, pngOf(tetherLimits.maxImageBytes + 1))) as [StoredResource];
    const { omitted } = await outgoingImages([{ ...large, size: 5 }], { blobs });
    expect(omitted).toMatchObject([{ reason: "imageBytes" }]);
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
    const { images, omitted } = await outgoingImages(given, { blobs: noBlobs });
    const taken = new Set(images.map(({ data }) => data));
    const reasons = new Map(omitted.map(({ image, reason }) => [image, reason]));
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
        const { images, omitted } = await outgoingImages(given, { blobs });
        const distinct = [...new Set(given)];
        const fit = distinct.filter((one) => !bad.includes(one)).slice(0, tetherLimits.maxImages);
        const last = fit.length < tetherLimits.maxImages ? undefined : fit.at(-1);
        expect(images).toHaveLength(fit.length);
        expect(omitted.map(({ image }) => image)).toEqual(distinct.filter((one) => !fit.includes(one)));
        for (const { image, reason } of omitted) {
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

const model = { provider: "p", model: "m" };
const blobs = memoryBlobStore();
const call = (id: string) => ({ type: "toolCall", id, name: "plot", arguments: {} }) as const;
const asked = (id: string) => assistantMessage(model, call(id));
const gave = (id: string, ...parts: Parameters<typeof toolResult>[1][]) => toolResult(call(id), ...parts);
const finish = (...messages: readonly ContextMessage[]) => finishTurn(to, contextFrom(messages), { blobs });

const chart = await ingest({ bytes: png(4, 5) }, { blobs, source: "tool" });
const older = await ingest({ bytes: gif }, { blobs, source: "tool" });
const inlineImage = { type: "image", data: base64(png(6, 7)), mimeType: "image/png" } as const;
const withInline: ToolResultMessage = {
  ...gave("c9", "see"),
  content: [{ type: "text", text: "see" }, inlineImage],
};

describe("producedImages", () => {
  test("are those of the current turn's results, oldest first, inline ones too", () => {
    const context = contextFrom([
      userMessage("before"),
      asked("c1"),
      gave("c1", older),
      assistantMessage(model, "There."),
      userMessage("now", image(7)),
      asked("c2"),
      gave("c2", "Drawn.", chart),
      asked("c9"),
      withInline,
      assistantMessage(model, "Here."),
    ]);
    expect(producedImages(context)).toEqual([chart, inlineImage]);
  });

  test("are what the model itself drew, too, and never what the user showed", () => {
    const drew = { type: "text", text: "[image]", resource: chart } as const;
    const context = contextFrom([userMessage(image(7)), assistantMessage(model, "So:", drew)]);
    expect(producedImages(context)).toEqual([chart]);
  });

  test("are not what a view of the turn shows again, unless a tool made it before in the turn", () => {
    const old = [userMessage("look", image(7)), assistantMessage(model, "Seen.")];
    const messages = [...old, userMessage("again"), asked("c1"), gave("c1", chart)];
    const context = contextFrom([
      ...messages,
      asked("c2"),
      gave("c2", image(7)),
      asked("c3"),
      gave("c3", chart),
    ]);
    const { resourceId } = image(7);
    const viewOf = (id: string, item: number) => ({ entryId: `v${item}`, resourceId: id, item });
    expect(producedImages(context)).toEqual([chart, image(7), chart]);
    const views = [viewOf(resourceId, 6), viewOf(chart.resourceId, 8)];
    expect(producedImages({ ...context, views })).toEqual([chart]);
    // Of an earlier turn, as a program may ask for it.
    expect(producedImages({ ...context, views: [viewOf(resourceId, 1)] })).toEqual([chart, image(7), chart]);
  });

  test("are no files and no links", async () => {
    const file = await ingest({ bytes: pdf }, { blobs });
    const link = ingest({ link: "https://example.com/a.png" });
    expect(producedImages(contextFrom([userMessage("go"), asked("c1"), gave("c1", file, link)]))).toEqual([]);
  });

  test("are none without messages", () => {
    expect(producedImages(contextFrom([]))).toEqual([]);
  });
});

describe("finishTurn", () => {
  // @covers R71
  test("of text alone is what it always was", async () => {
    const { frame, omitted } = await finish(userMessage("hi"), assistantMessage(model, "Hello."));
    expect(omitted).toEqual([]);
    expect(frame).toMatchObject({ v: 1, type: "assistant.done", session: to });
    expect(frame.payload).toEqual({ text: "Hello." });
  });

  // @covers R33 R69 R71
  test("sends what tools made in this turn along with the answer", async () => {
    const { frame } = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", "Drawn.", chart),
      asked("c9"),
      withInline,
      assistantMessage(model, "Here."),
    );
    expect(frame.payload).toEqual({
      text: "Here.",
      images: [
        { media_type: "image/png", data: base64(png(4, 5)) },
        { media_type: "image/png", data: inlineImage.data },
      ],
    });
    expect(readFrame(JSON.stringify(frame)).kind).toBe("assistantDone");
  });

  // @covers R70
  test("sends what it is told to in place of that, as an agent attaches one by itself", async () => {
    const context = contextFrom([
      userMessage("draw"),
      asked("c1"),
      gave("c1", chart),
      assistantMessage(model, "Here."),
    ]);
    const { frame } = await finishTurn(to, context, { blobs, images: [older], msgId: "m1" });
    expect(frame).toMatchObject({ msg_id: "m1", payload: { images: [{ media_type: "image/gif" }] } });
    expect((await finishTurn(to, context, { blobs, images: [] })).frame.payload).toEqual({ text: "Here." });
  });

  test("tells of an image that is gone, and keeps the answer", async () => {
    const gone = image(1);
    const { frame, omitted } = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", gone),
      assistantMessage(model, "Here."),
    );
    expect(frame.payload).toEqual({ text: "Here." });
    expect(omitted).toEqual([{ image: gone, reason: "missing" }]);
  });

  test.each([
    [
      "a turn without an answer",
      [userMessage("a"), assistantMessage(model, "Earlier."), userMessage("b")],
      "",
    ],
    [
      "a turn that ended with a result",
      [userMessage("a"), assistantMessage(model, "I look.", call("c1")), gave("c1", "x")],
      "I look.",
    ],
    ["no messages", [], ""],
    ["text in pieces", [userMessage("a"), assistantMessage(model, "One ", "piece.")], "One piece."],
    [
      "text around something else",
      [
        userMessage("a"),
        assistantMessage(model, "Before.", { type: "thinking", thinking: "hm" }, "", "After."),
      ],
      "Before.\n\nAfter.",
    ],
    [
      "an answer that an error ended",
      [
        userMessage("a"),
        assistantMessage({ ...model, stopReason: "error", errorMessage: "Overloaded." }, "It is"),
      ],
      "It is\n\nOverloaded.",
    ],
    [
      "an answer that never began",
      [userMessage("a"), assistantMessage({ ...model, stopReason: "aborted", errorMessage: "Stopped." })],
      "Stopped.",
    ],
    [
      "a whole answer with an error of before",
      [userMessage("a"), assistantMessage({ ...model, errorMessage: "Once." }, "Fine.")],
      "Fine.",
    ],
  ] as const)("of %s has its text", async (_what, messages, text) => {
    expect((await finish(...messages)).frame.payload).toEqual({ text });
  });

  test("leaves images out that would be too long for the wire beside the text", {
    timeout: 180_000,
  }, async () => {
    const large: StoredResource[] = await Promise.all(
      [1, 2].map((grey) => ingest({ bytes: pngOf(10 * 2 ** 20, grey) }, { blobs, source: "tool" })),
    );
    const text = "\u0001".repeat(400_000);
    const { frame, omitted } = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", ...large),
      assistantMessage(model, text),
    );
    expect(omitted).toEqual([{ image: large[1], reason: "frameBytes" }]);
    expect(JSON.stringify(frame).length).toBeLessThan(tetherLimits.maxWireBytes);
    const short = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", ...large),
      assistantMessage(model, "Both."),
    );
    expect(short.omitted).toEqual([]);
    expect(JSON.stringify(short.frame).length).toBeLessThan(tetherLimits.maxWireBytes);
  });

  test("counts what a conversation is called: an answer is not lost for an image beside a long name", {
    timeout: 180_000,
  }, async () => {
    const large = await ingest({ bytes: pngOf(10 * 2 ** 20, 3) }, { blobs, source: "tool" });
    const context = contextFrom([userMessage("draw"), assistantMessage(model, "Here.")]);
    const id = "i".repeat(15 * 2 ** 20);
    const { frame, omitted } = await finishTurn({ channel: "mcp", id }, context, { blobs, images: [large] });
    expect(omitted).toEqual([{ image: large, reason: "frameBytes" }]);
    expect(frame.payload).toEqual({ text: "Here." });
  });

  test("is never too long for the wire beside its images, to the byte", async () => {
    const options = { blobs, images: [chart], msgId: "m" };
    const bytesOf = (frame: object) => Buffer.byteLength(JSON.stringify(frame));
    const withText = (length: number) =>
      finishTurn(
        to,
        contextFrom([userMessage("draw"), assistantMessage(model, "x".repeat(length))]),
        options,
      );
    const { frame } = await withText(1);
    const most = tetherLimits.maxWireBytes - bytesOf(frame) + 1;
    const over = await withText(most + 1);
    expect(over.omitted).toEqual([{ image: chart, reason: "frameBytes" }]);
    expect(bytesOf((await withText(most - 512)).frame)).toBe(tetherLimits.maxWireBytes - 512);
  });

  test("refuses a text that is too long for the wire by itself, before it reads an image", {
    timeout: 180_000,
  }, async () => {
    const read: string[] = [];
    const get: typeof blobs.get = (ref) => {
      read.push(ref);
      return blobs.get(ref);
    };
    const context = contextFrom([userMessage("draw"), assistantMessage(model, "\u0001".repeat(2 ** 27))]);
    await expect(finishTurn(to, context, { blobs: { get }, images: [chart] })).rejects.toThrow(
      /^frame too large: /,
    );
    expect(read).toEqual([]);
  });
});
