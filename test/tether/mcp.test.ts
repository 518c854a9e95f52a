import { CallToolResultSchema, ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import {
  assistantDone,
  checkFrame,
  type FrameReading,
  FrameRing,
  readTetherSend,
  type SequencedFrame,
  type TetherFrame,
  tetherImage,
  tetherLimits,
  tetherReadResult,
  tetherSendTool,
} from "sessile/tether";
import { describe, expect, test } from "vitest";
import { madeImage } from "../arbitraries/media.js";
import { jsonValue, text } from "../arbitraries/values.js";
import { base64, bytesOf, failureOf, gif, png } from "../attachments/samples.js";
import { pngOf, to } from "../support/tether.js";

const shot = tetherImage(png(4, 5));
const send = (args: object) => readTetherSend({ instance: "agent", text: "What is this?", ...args });

describe("tether_send", () => {
  // @covers R50
  test("is described as the requirements have it", () => {
    const { properties, required } = tetherSendTool.inputSchema;
    expect(required).toEqual(["instance", "text"]);
    expect(Object.keys(properties)).toEqual(["instance", "text", "images", "session_id"]);
    expect(properties).toEqual({
      instance: { type: "string", description: "Instance handle or ID" },
      text: { type: "string", description: "Message text to send to the agent" },
      images: {
        type: "array",
        description: "Images to include with the message. Each image is base64-encoded.",
        items: {
          type: "object",
          properties: {
            media_type: {
              type: "string",
              description: "MIME type (image/png, image/jpeg, image/gif, image/webp)",
            },
            data: { type: "string", description: "Base64-encoded image data" },
          },
          required: ["media_type", "data"],
        },
      },
      session_id: { type: "string", description: "Session ID. Defaults to 'default'." },
    });
    expect(ListToolsResultSchema.parse({ tools: [tetherSendTool] })).toEqual({ tools: [tetherSendTool] });
  });

  test("becomes a frame with an id of its own, whose images are decoded", () => {
    const { instance, message } = send({ images: [shot], session_id: "s1" });
    expect(instance).toBe("agent");
    expect(message.frame).toEqual({
      v: 1,
      type: "user.message",
      ts: expect.stringMatching(/^\d{4}-.*Z$/),
      session: { channel: "mcp", id: "s1" },
      msg_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      payload: { text: "What is this?", images: [shot] },
    });
    expect(message.images).toEqual([{ mediaType: "image/png", bytes: png(4, 5), width: 4, height: 5 }]);
    expect(send({}).message.frame.msg_id).not.toBe(message.frame.msg_id);
  });

  test("without images is what it always was, and goes to the session default", () => {
    for (const images of [undefined, []]) {
      const { message } = send({ images });
      expect(message.frame.payload).toEqual({ text: "What is this?" });
      expect(message.frame.session).toEqual(to);
    }
    expect(readTetherSend({ instance: "agent", text: "" }, "web").message.frame.session.channel).toBe("web");
  });

  // @covers R49
  test("passes over arguments and fields that it does not know, and over a reserved ref", () => {
    const image = { ...shot, ref: "sha256:abc", size: 3, url: "http://127.0.0.1/" };
    const { message } = send({ images: [image], user: { name: "root" }, extra: 1 });
    expect(message.frame.payload).toEqual({ text: "What is this?", images: [shot] });
  });

  test("is a frame that any reader takes, for any arguments that it takes", () => {
    fc.assert(
      fc.property(
        text,
        fc.array(madeImage, { maxLength: 4 }),
        fc.string({ minLength: 1 }),
        (words, made, id) => {
          const images = made.map(({ bytes, media }) => ({
            media_type: media.mediaType,
            data: base64(bytes),
          }));
          const { message } = send({ text: words, images, session_id: id });
          const checked = checkFrame(message.frame);
          expect(checked).toMatchObject({ kind: "userMessage", frame: message.frame });
          const bytes = (from: typeof checked) => from.images.map((one) => Buffer.from(one.bytes));
          expect(bytes(message).every((one, at) => bytes(checked)[at]?.equals(one))).toBe(true);
          expect(message.images).toHaveLength(made.length);
        },
      ),
    );
  });

  test.each([
    ["nothing", undefined, "arguments"],
    ["a list", [], "arguments"],
    ["no instance", { text: "x" }, "instance"],
    ["an empty instance", { instance: "", text: "x" }, "instance"],
    ["no text", { instance: "a" }, "text"],
    ["text that is none", { instance: "a", text: 1 }, "text"],
    ["an empty session", { instance: "a", text: "x", session_id: "" }, "session_id"],
    ["a session that is none", { instance: "a", text: "x", session_id: null }, "session_id"],
    ["images that are no list", { instance: "a", text: "x", images: {} }, "images"],
    ["an image that is none", { instance: "a", text: "x", images: [shot, 1] }, "images[1]"],
    [
      "an image without data",
      { instance: "a", text: "x", images: [{ media_type: "image/png" }] },
      "images[0].data",
    ],
    [
      "data that is no base64",
      { instance: "a", text: "x", images: [{ ...shot, data: "%" }] },
      "images[0].data",
    ],
    [
      "a data URL",
      { instance: "a", text: "x", images: [{ ...shot, data: `data:image/png;base64,${shot.data}` }] },
      "images[0].data",
    ],
  ])("refuses %s, and names the place", async (_what, args, path) => {
    expect(await failureOf(() => readTetherSend(args))).toMatchObject({
      code: "INVALID_MESSAGE",
      details: { path },
    });
  });

  test.each([
    ["five images", { images: Array(5).fill(shot) }, "too many images: 5 (max 4)"],
    [
      "15 MiB",
      { images: [{ ...shot, data: "A".repeat(20 * 2 ** 20) }] },
      "images[0] too large: 15728640 bytes (max 10485760)",
    ],
    [
      "an SVG",
      { images: [{ media_type: "image/svg+xml", data: "" }] },
      /^images\[0\] of unsupported type: "image\/svg\+xml"/,
    ],
    [
      "a GIF that is a PNG",
      { images: [{ ...shot, media_type: "image/gif" }] },
      /^images\[0\]: declared as image\/gif, but is image\/png/,
    ],
    ["a PNG that is cut off", { images: [tetherCut()] }, /^images\[0\]: invalid image\/png/],
  ])("refuses %s with what is allowed and what came", (_what, args, words) => {
    expect(() => send(args)).toThrow(words);
  });
});

test("tether_send refuses what would be too long on the wire, and nothing that is not", {
  timeout: 180_000,
}, () => {
  const { maxWireBytes } = tetherLimits;
  const bytesOfFrame = (words: string) => {
    const { message } = send({ text: words, images: [shot] });
    return Buffer.byteLength(JSON.stringify(message.frame));
  };
  const rest = bytesOfFrame("");
  // Two bytes each as JSON.
  const most = Math.floor((maxWireBytes - rest) / 2);
  expect(bytesOfFrame("\n".repeat(most))).toBeLessThanOrEqual(maxWireBytes);
  expect(() => bytesOfFrame("\n".repeat(most + 1))).toThrow(
    `frame too large: ${rest + 2 * (most + 1)} bytes (max 29360128)`,
  );
  expect(() => send({ session_id: "s".repeat(maxWireBytes) })).toThrow(/^frame too large: /);
  // Longer than a string can be once all of it is escaped.
  expect(() => send({ text: "\u0001".repeat(2 ** 27) })).toThrow(/^frame too large: /);
});

test("tether_send has no channel that is none", () => {
  expect(() => readTetherSend({ instance: "a", text: "x" }, "")).toThrow(
    new TypeError("channel: expected a non-empty string, got an empty string"),
  );
});

/** The first bytes of a PNG. */
function tetherCut() {
  return { media_type: "image/png", data: base64(png().slice(0, 12)) };
}

const reading = (...frames: readonly TetherFrame[]): FrameReading => {
  const ring = new FrameRing();
  for (const frame of frames) ring.append(frame);
  return ring.read();
};
const done = (payload: unknown, type = "assistant.done"): TetherFrame => ({
  v: 1,
  type,
  ts: "2026-01-01T00:00:00.000Z",
  session: to,
  payload,
});

/** What a host reads: the text's JSON, and the images behind it. */
function read(of: FrameReading) {
  const result = tetherReadResult(of);
  // What a client of the protocol takes.
  expect(CallToolResultSchema.parse(result)).toEqual(result);
  const [{ text: json }, ...images] = result.content;
  return { told: JSON.parse(json), images };
}

describe("tether_read", () => {
  // @covers R54
  test("of text alone is the reading as JSON", () => {
    const frame = assistantDone(to, "Hello.");
    const { told, images } = read(reading(frame));
    expect(told).toEqual({ frames: [{ ...frame, seq: 1 }], next_seq: 1, missed: 0 });
    expect(images).toEqual([]);
    expect(read({ frames: [], nextSeq: 7, missed: 3 }).told).toEqual({ frames: [], next_seq: 7, missed: 3 });
  });

  // @covers R52 R53 R55
  test("counts the images of several frames, each alone, in their order", () => {
    const [a, b, c] = [tetherImage(png(1, 1)), tetherImage(gif), tetherImage(png(3, 3))];
    const { told, images } = read(
      reading(assistantDone(to, "one", [a, b]), assistantDone(to, "none"), assistantDone(to, "two", [c])),
    );
    expect(told.frames.map(({ payload }: { payload: object }) => payload)).toEqual([
      { text: "one", images: [{ _mcp_index: 0 }, { _mcp_index: 1 }] },
      { text: "none" },
      { text: "two", images: [{ _mcp_index: 2 }] },
    ]);
    expect(images).toEqual([
      { type: "image", data: a.data, mimeType: "image/png" },
      { type: "image", data: b.data, mimeType: "image/gif" },
      { type: "image", data: c.data, mimeType: "image/png" },
    ]);
  });

  test("numbers only images that are some, and says of the others what is wrong", () => {
    const images = [
      { ...shot, data: "%" },
      shot,
      { media_type: "image/png", ref: "sha256:abc", size: 3 },
      { media_type: "image/svg+xml", data: base64(bytesOf("<svg/>")) },
      { ...shot, media_type: "image/gif" },
      tetherCut(),
      { _mcp_index: 0 },
      null,
      { ...shot, data: base64(pngOf(10 * 2 ** 20 + 1)) },
      shot,
    ];
    const { told, images: shown } = read(reading(done({ text: "", images })));
    expect(told.frames[0].payload.images).toEqual([
      { _mcp_missing: "INVALID_MESSAGE" },
      { _mcp_index: 0 },
      { _mcp_missing: "INVALID_MESSAGE" },
      { _mcp_missing: "LIMIT_EXCEEDED" },
      { _mcp_missing: "MEDIA_TYPE_MISMATCH" },
      { _mcp_missing: "MEDIA_INVALID" },
      { _mcp_missing: "INVALID_MESSAGE" },
      { _mcp_missing: "INVALID_MESSAGE" },
      { _mcp_missing: "LIMIT_EXCEEDED" },
      { _mcp_index: 1 },
    ]);
    expect(shown).toHaveLength(2);
  });

  test("looks at the images of any frame, and leaves what is no list of them as it is", () => {
    const user = done({ text: "see", images: [shot] }, "user.message");
    const odd = [{ images: "none" }, { images: { 0: shot } }, "images", null, [shot]].map((payload) =>
      done(payload),
    );
    const { told, images } = read(reading(user, ...odd));
    expect(told.frames[0].payload.images).toEqual([{ _mcp_index: 0 }]);
    expect(told.frames.slice(1).map(({ payload }: TetherFrame) => payload)).toEqual(
      odd.map(({ payload }) => payload),
    );
    expect(images).toHaveLength(1);
  });

  // @covers R54
  test("pads base64 for MCP", () => {
    const padded = tetherImage(png(2, 2));
    expect(padded.data.endsWith("=")).toBe(true);
    const bare = { ...padded, data: padded.data.replace(/=+$/, "") };
    expect(read(reading(done({ text: "", images: [bare] }))).images).toMatchObject([{ data: padded.data }]);
  });

  test("never throws for a payload that JSON cannot have, and loses that alone", () => {
    const circular: Record<string, unknown> = { text: "", images: [shot] };
    circular.self = circular;
    const frames: SequencedFrame[] = [circular, { big: 1n }, { text: "fine", images: [shot] }].map(
      (payload, at) => ({
        ...done(payload),
        seq: at + 1,
      }),
    );
    const { told, images } = read({ frames, nextSeq: 3, missed: 0 });
    expect(told.frames.map(({ payload }: TetherFrame) => payload)).toEqual([
      { _mcp_missing: "INVALID_MESSAGE" },
      { _mcp_missing: "INVALID_MESSAGE" },
      { text: "fine", images: [{ _mcp_index: 0 }] },
    ]);
    expect(images).toHaveLength(1);
  });

  test("never throws for what is around a payload, and its text is JSON all the same", () => {
    const thrown = () => {
      throw new Error("no JSON");
    };
    const frames = [
      { session: { ...to, more: 1n } },
      { ts: 1n },
      { v: 1n },
      { msg_id: { toJSON: thrown } },
      { toJSON: () => undefined },
      { toJSON: thrown },
    ].map((more, at) => ({ ...done({ text: "fine" }), ...more, seq: at + 1 }) as unknown as SequencedFrame);
    const { told, images } = read({ frames, nextSeq: 6, missed: 0 });
    expect(told.frames.map(({ seq, session }: SequencedFrame) => [seq, session])).toEqual(
      frames.map(({ seq }) => [seq, to]),
    );
    expect(images).toEqual([]);
  });

  // @covers R51 R52
  test("the text with the images put back is what was in the ring, for any frames", () => {
    const image = madeImage.map(({ bytes, media }) => ({ media_type: media.mediaType, data: base64(bytes) }));
    const anyImage = fc.oneof({ weight: 3, arbitrary: image }, jsonValue);
    const payload = fc.oneof(
      fc.record({ text, images: fc.array(anyImage, { maxLength: 6 }) }),
      fc.record({ text }),
      jsonValue,
    );
    fc.assert(
      fc.property(fc.array(payload, { maxLength: 5 }), (payloads) => {
        const original = reading(...payloads.map((one) => done(one)));
        const { told, images } = read(original);
        let shown = 0;
        const put = (stub: { _mcp_index?: number; _mcp_missing?: string }, was: unknown) => {
          if (stub._mcp_index === undefined) {
            expect(stub).toEqual({ _mcp_missing: expect.any(String) });
            return was;
          }
          // The numbers have no gap.
          expect(stub).toEqual({ _mcp_index: shown++ });
          const { data, mimeType } = images[stub._mcp_index] as { data: string; mimeType: string };
          return { media_type: mimeType, data };
        };
        const back = told.frames.map((frame: SequencedFrame, at: number) => {
          const was = original.frames[at]?.payload as { images?: unknown } | null;
          if (typeof was !== "object" || was === null || !Array.isArray(was.images)) return frame;
          const given = was.images;
          const { payload: stubbed } = frame as unknown as { payload: { images: object[] } };
          return {
            ...frame,
            payload: { ...stubbed, images: stubbed.images.map((stub, i) => put(stub, given[i])) },
          };
        });
        expect(back).toEqual(JSON.parse(JSON.stringify(original.frames)));
        expect(shown).toBe(images.length);
      }),
    );
  });
});
