import { createHash } from "node:crypto";
import fc from "fast-check";
import { type BlobStore, blockResource, memoryBlobStore, memorySessionStore } from "sessile";
import { resourcesIn } from "sessile/attachments";
import {
  assistantDone,
  type CheckedUserMessage,
  checkFrame,
  outgoingImages,
  readFrame,
  receiveMessage,
  tetherLimits,
  tetherSessionId,
  type UserMessagePayload,
  userMessageFrame,
} from "sessile/tether";
import { describe, expect, it, test } from "vitest";
import { madeImage } from "../arbitraries/media.js";
import { text } from "../arbitraries/values.js";
import { base64, countingIds, gif, png } from "../attachments/samples.js";
import { pngOf, to } from "../support/tether.js";

/** A message as it comes over the wire. */
function received(payload: UserMessagePayload): CheckedUserMessage {
  return readFrame(JSON.stringify(userMessageFrame(to, payload))) as CheckedUserMessage;
}

const wire = (bytes: Uint8Array) => ({ media_type: "image/png", data: base64(bytes) }) as const;

describe("receiveMessage", () => {
  // @covers R36
  test("text alone stays a string", async () => {
    const message = await receiveMessage(received({ text: "Hello" }), { blobs: memoryBlobStore() });
    expect(message).toEqual({ role: "user", content: "Hello", timestamp: expect.any(Number) });
  });

  test("nothing said is an empty string, as it always was", async () => {
    const { content } = await receiveMessage(received({ text: "" }), { blobs: memoryBlobStore() });
    expect(content).toBe("");
  });

  test("no images are the same as an empty list of them", async () => {
    const checked = checkFrame({
      ...received({ text: "Hello" }).frame,
      payload: { text: "Hello", images: [] },
    });
    const message = await receiveMessage(checked as CheckedUserMessage, { blobs: memoryBlobStore() });
    expect(message.content).toBe("Hello");
  });

  // @covers R32
  test("puts resources behind the text, in order, and their bytes into the store", async () => {
    const blobs = memoryBlobStore();
    const images = [wire(png(4, 5)), { media_type: "image/gif", data: base64(gif) } as const];
    const options = { blobs, newId: countingIds() };
    const { content } = await receiveMessage(received({ text: "Two", images }), options);
    expect(content).toEqual([
      { type: "text", text: "Two" },
      expect.objectContaining({
        resource: expect.objectContaining({
          resourceId: "res_0000000000000001",
          kind: "image",
          mediaType: "image/png",
          width: 4,
          height: 5,
          source: "upload",
        }),
      }),
      expect.objectContaining({ resource: expect.objectContaining({ mediaType: "image/gif" }) }),
    ]);
    expect(JSON.stringify(content)).not.toContain(base64(png(4, 5)));
    const refs = resourcesIn([{ role: "user", content, timestamp: 0 }]);
    const stored = await Promise.all(
      refs.map((one) => (one.kind === "link" ? undefined : blobs.get(one.blob))),
    );
    expect(stored).toEqual([png(4, 5), gif]);
  });

  // @covers R35
  test("an image alone has no empty text before it", async () => {
    const checked = received({ text: "", images: [wire(png())] });
    const { content } = await receiveMessage(checked, { blobs: memoryBlobStore() });
    expect(content).toHaveLength(1);
    expect(typeof content === "string" ? undefined : blockResource(content[0] as never)?.kind).toBe("image");
  });

  // @covers R56
  test("the user's name becomes the message's, and nothing else of the user does", async () => {
    const blobs = memoryBlobStore();
    const named = await receiveMessage(received({ text: "Hi", user: { id: "123", name: "Alice" } }), {
      blobs,
    });
    expect(named).toEqual({ role: "user", content: "Hi", name: "Alice", timestamp: expect.any(Number) });
    const nameless = await receiveMessage(received({ text: "Hi", user: { id: "123" } }), { blobs });
    expect("name" in nameless).toBe(false);
  });

  test("uses the bytes that the check decoded, and looks at no base64 again", async () => {
    const blobs = memoryBlobStore();
    const checked = received({ text: "", images: [wire(png())] });
    Object.assign(checked.frame.payload, { images: [wire(gif)] });
    const message = await receiveMessage(checked, { blobs });
    expect(resourcesIn([message])).toMatchObject([{ mediaType: "image/png" }]);
    expect(() => Object.assign(checked, { images: [] })).toThrow(TypeError);
    expect(() => (checked.images as unknown[]).push(1)).toThrow(TypeError);
  });

  // @covers R46
  test("checks what only has the type of a checked message, to the byte", async () => {
    const blobs = memoryBlobStore();
    const forged = (bytes: Uint8Array) => {
      const { frame } = checkFrame({ ...received({ text: "Hi" }).frame, payload: { text: "Hi" } });
      const image = { mediaType: "image/png", bytes, width: 2, height: 3 } as const;
      const payload = { text: "Hi", images: [{ media_type: "image/png", data: base64(bytes) }] };
      return { kind: "userMessage", frame: { ...frame, payload }, images: [image] } as CheckedUserMessage;
    };
    const whole = pngOf(tetherLimits.maxImageBytes);
    const message = await receiveMessage(forged(whole), { blobs });
    expect(resourcesIn([message])).toMatchObject([{ size: tetherLimits.maxImageBytes }]);
    const over = receiveMessage(forged(pngOf(tetherLimits.maxImageBytes + 1)), { blobs });
    await expect(over).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "images[0] too large: 10485761 bytes (max 10485760)",
    });
    const unlisted = { ...forged(whole), frame: received({ text: "Hi" }).frame };
    expect(resourcesIn([await receiveMessage(unlisted, { blobs })])).toEqual([]);
    await expect(receiveMessage({ kind: "userMessage" } as never, { blobs })).rejects.toMatchObject({
      code: "INVALID_MESSAGE",
    });
    const done = checkFrame(assistantDone(to, "Done."));
    await expect(receiveMessage({ ...done } as never, { blobs })).rejects.toMatchObject({
      code: "INVALID_MESSAGE",
      details: { path: "type" },
    });
  });

  test("rejects with what the store says, and asks it for nothing when it was stopped before", async () => {
    const checked = received({ text: "", images: [wire(png())] });
    const full: Pick<BlobStore, "put"> = { put: () => Promise.reject(new Error("full")) };
    await expect(receiveMessage(checked, { blobs: full })).rejects.toThrow("full");
    const signal = AbortSignal.abort(new Error("stop"));
    await expect(receiveMessage(checked, { blobs: full, signal })).rejects.toThrow("stop");
  });

  test("is durable when it resolves: every blob is there before the message is", async () => {
    const blobs = memoryBlobStore();
    let stored = 0;
    const slow: Pick<BlobStore, "put"> = {
      async put(source, options) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        const stat = await blobs.put(source, options);
        stored++;
        return stat;
      },
    };
    await receiveMessage(received({ text: "", images: [wire(png(1, 1)), wire(png(2, 2))] }), { blobs: slow });
    expect(stored).toBe(2);
  });
});

describe("images in and out", () => {
  test("come back byte for byte, over the wire, the store and a session, for any images and text", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(madeImage, { maxLength: 4 }), text, async (made, words) => {
        const blobs = memoryBlobStore();
        const images = made.map(({ bytes, media }) => ({ media_type: media.mediaType, data: base64(bytes) }));
        await using session = await memorySessionStore().create({ cwd: "/" });
        await session.appendMessage(await receiveMessage(received({ text: words, images }), { blobs }));
        const sent = await outgoingImages(resourcesIn(await session.context()), { blobs });
        expect(sent.omitted).toEqual([]);
        const frame = JSON.parse(JSON.stringify(assistantDone(to, "", sent.images)));
        const distinct = images.filter(({ data }, at) => images.findIndex((one) => one.data === data) === at);
        expect(frame.payload.images ?? []).toEqual(distinct);
      }),
    );
  });
});

const name = text.filter((one) => one !== "");
const conversation = fc.record({ channel: name, id: name });

describe("tetherSessionId", () => {
  it("is the same for the same conversation, and another for every other", () => {
    const names = fc.tuple(conversation, fc.option(name, { nil: undefined }));
    fc.assert(
      fc.property(names, names, ([session, instance], [other, otherInstance]) => {
        const same = JSON.stringify([session, instance]) === JSON.stringify([other, otherInstance]);
        expect(tetherSessionId({ ...session }, instance)).toBe(tetherSessionId(session, instance));
        expect(tetherSessionId(session, instance) === tetherSessionId(other, otherInstance)).toBe(same);
      }),
    );
  });

  it("never meets for names that are parted elsewhere", () => {
    const ids = [
      tetherSessionId({ channel: "a_b", id: "c" }),
      tetherSessionId({ channel: "a", id: "b_c" }),
      tetherSessionId({ channel: "a", id: "b" }, "c"),
      tetherSessionId({ channel: "b", id: "c" }, "a"),
      tetherSessionId({ channel: "b", id: "c" }),
      tetherSessionId({ channel: 'a","b', id: "c" }),
      tetherSessionId({ channel: "a", id: 'b","c' }),
      tetherSessionId({ channel: "b", id: "c" }, "null"),
      tetherSessionId({ channel: "\ud83d", id: "a" }),
      tetherSessionId({ channel: "\ud83e", id: "a" }),
      tetherSessionId({ channel: "\ufffd", id: "a" }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("is the digest that others can compute", () => {
    const digest = createHash("sha256").update('["agent-1","telegram","42"]').digest("hex").slice(0, 32);
    expect(tetherSessionId({ channel: "telegram", id: "42" }, "agent-1")).toBe(`tether-${digest}`);
    const without = createHash("sha256").update('[null,"telegram","42"]').digest("hex").slice(0, 32);
    expect(tetherSessionId({ channel: "telegram", id: "42" })).toBe(`tether-${without}`);
  });

  it.each(["../../etc/passwd", "/", "..", "C:\\x", "nul", "a\u0000b", "x".repeat(200), "ümläut", "\ud83d"])(
    "is a name for a session, though the conversation is %j",
    async (id) => {
      const made = tetherSessionId({ channel: id, id }, id);
      expect(made).toMatch(/^tether-[0-9a-f]{32}$/);
      const session = await memorySessionStore().create({ id: made, cwd: "/" });
      expect(session.id).toBe(made);
    },
  );

  it.each([
    [undefined, undefined, /^session: /],
    [{ channel: "", id: "a" }, undefined, /^session\.channel: /],
    [{ channel: "a" }, undefined, /^session\.id: /],
    [{ channel: "a", id: "b" }, "", /^instance: expected a non-empty string/],
    [{ channel: "a", id: "b" }, null, /^instance: /],
  ])("wants names: %j and %j", (session, instance, message) => {
    expect(() => tetherSessionId(session as never, instance as never)).toThrow(TypeError);
    expect(() => tetherSessionId(session as never, instance as never)).toThrow(message);
  });
});
