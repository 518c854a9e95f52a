import fc from "fast-check";
import {
  type AssistantDoneFrame,
  assistantDelta,
  assistantDone,
  type CheckedFrame,
  checkFrame,
  readFrame,
  type SequencedFrame,
  type TetherFrame,
  type TetherImage,
  tetherImage,
  tetherLimits,
  type UserMessageFrame,
  userMessageFrame,
} from "sessile/tether";
import { describe, expect, expectTypeOf, it } from "vitest";
import { madeImage } from "../arbitraries/media.js";
import { tetherImages, tetherSession } from "../arbitraries/tether-frames.js";
import { text } from "../arbitraries/values.js";
import { bytesOf, gif, gifFrame, jpeg, png, sof, vp8, webp } from "../support/media-files.js";
import { encodeBase64 } from "../support/plain-values.js";
import { pngOf, refusal, smallImage } from "../support/tether.js";

const session = { channel: "mcp", id: "default" };
const size = { width: 2, height: 3 };
const user = fc.record({ id: text, name: text }, { requiredKeys: [] });
const options = fc.record(
  {
    msgId: text.filter((id) => id !== ""),
    ts: fc.date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
  },
  { requiredKeys: [] },
);

/** Frames by each builder. */
const built = fc
  .record({ session: tetherSession, text, images: tetherImages, user: fc.option(user), options })
  .map(({ session: between, text: said, images, user: who, options: more }) => [
    userMessageFrame(between, { text: said, images, ...(who === null ? {} : { user: who }) }, more),
    assistantDelta(between, said, more),
    assistantDone(between, said, images, more),
  ]);

describe("the builders", () => {
  it("make frames that pass, as they are and as JSON", () => {
    fc.assert(
      fc.property(built, (frames) => {
        const kinds: readonly CheckedFrame["kind"][] = ["userMessage", "assistantDelta", "assistantDone"];
        for (const [index, frame] of frames.entries()) {
          const json = JSON.stringify(frame);
          expect(checkFrame(frame)).toMatchObject({ kind: kinds[index], frame });
          expect(readFrame(json).frame).toEqual(JSON.parse(json));
          expect(JSON.parse(json)).toEqual(frame);
        }
      }),
    );
  });

  // @covers R33
  it("carry images there and back byte for byte, with padding and without", () => {
    fc.assert(
      fc.property(fc.array(madeImage, { maxLength: 4 }), fc.boolean(), (made, padded) => {
        const images = made.map(({ bytes }) => tetherImage(bytes));
        for (const frame of [
          userMessageFrame(session, { text: "", images }),
          assistantDone(session, "", images),
        ]) {
          const json = JSON.stringify(frame);
          const read = readFrame(padded ? json : json.replace(/=+"/g, '"')).images;
          expect(read.map(({ bytes }) => encodeBase64(bytes))).toEqual(
            made.map(({ bytes }) => encodeBase64(bytes)),
          );
          expect(read.map(({ mediaType }) => mediaType)).toEqual(made.map(({ media }) => media.mediaType));
        }
      }),
    );
  });

  // @covers R40 R49
  it("send nothing of an image but its type and its data", () => {
    const image = { ...smallImage, ref: "sha256:00", size: 1, url: "https://example.com/a.png" };
    const sent = { text: "", images: [smallImage] };
    expect(userMessageFrame(session, { text: "", images: [image] }).payload).toEqual(sent);
    expect(assistantDone(session, "", [image]).payload).toEqual(sent);
  });

  it("send nothing of a session, a user or a payload but what the wire has", () => {
    const more = { later: 1 };
    const frame = userMessageFrame(
      { ...session, ...more },
      { text: "", user: { id: "1", name: "Alice", ...more }, ...more },
    );
    expect(frame.session).toEqual(session);
    expect(frame.payload).toEqual({ text: "", user: { id: "1", name: "Alice" } });
  });

  // @covers R36
  it("make frames without images that are what they always were", () => {
    for (const images of [undefined, []]) {
      expect(JSON.stringify(assistantDone(session, "Done.", images).payload)).toBe('{"text":"Done."}');
      const payload = { text: "Hello", user: { id: "123", name: "Alice" }, ...(images && { images }) };
      expect(JSON.stringify(userMessageFrame(session, payload).payload)).toBe(
        '{"text":"Hello","user":{"id":"123","name":"Alice"}}',
      );
    }
    expect(JSON.stringify(assistantDelta(session, "Do").payload)).toBe('{"text":"Do"}');
  });

  it("name the time and the message that they are told, else now and a new one", () => {
    const ts = new Date("2026-01-31T12:00:00.250Z");
    expect(assistantDelta(session, "a", { msgId: "m-1", ts })).toEqual({
      v: 1,
      type: "assistant.delta",
      ts: "2026-01-31T12:00:00.250Z",
      session,
      msg_id: "m-1",
      payload: { text: "a" },
    });
    const before = Date.now();
    const [one, two] = [assistantDelta(session, "a"), assistantDelta(session, "a")];
    expect(Date.parse(one.ts)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(one.ts)).toBeLessThanOrEqual(Date.now());
    expect(one.msg_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(one.msg_id).not.toBe(two.msg_id);
    expect(one).not.toHaveProperty("seq");
  });

  const large = { media_type: "image/png", data: "!".repeat(20_000_000) } as const;
  // @covers R44
  it.each<readonly [string, readonly TetherImage[], string]>([
    ["a 15 MB image", [large], "images[0] too large: 15000000 bytes (max 10485760)"],
    ["five images", Array.from({ length: 5 }, () => smallImage), "too many images: 5 (max 4)"],
    [
      "SVG",
      [{ ...smallImage, media_type: "image/svg+xml" as never }],
      'images[0] of unsupported type: "image/svg+xml" (only image/png, image/jpeg, image/gif, image/webp)',
    ],
  ])("refuse %s before it is sent", (_, images, message) => {
    const refused = { code: "LIMIT_EXCEEDED", message };
    expect(refusal(() => userMessageFrame(session, { text: "", images }))).toMatchObject(refused);
    expect(refusal(() => assistantDone(session, "", images))).toMatchObject(refused);
  });

  it("refuse an image that is none, and what is no message", () => {
    const mislabelled: TetherImage = { ...smallImage, media_type: "image/gif" };
    expect(refusal(() => assistantDone(session, "", [mislabelled])).code).toBe("MEDIA_TYPE_MISMATCH");
    for (const [payload, path] of [
      [{ images: [smallImage] }, "payload.text"],
      [{ text: "", images: smallImage }, "payload.images"],
      [{ text: "", images: [null] }, "payload.images[0]"],
      [{ text: "", images: [{ media_type: "image/png", ref: "sha256:00" }] }, "payload.images[0].data"],
      [{ text: "", user: "Alice" }, "payload.user"],
    ] as const) {
      expect(refusal(() => userMessageFrame(session, payload as never))).toMatchObject({
        code: "INVALID_MESSAGE",
        details: { path },
      });
    }
    expect(refusal(() => assistantDelta(session, undefined as never)).details).toMatchObject({
      path: "payload.text",
    });
  });

  // @covers R48
  it("refuse what would be too long on the wire, and nothing that is not", () => {
    const { maxWireBytes } = tetherLimits;
    const ts = new Date(0);
    const make = (said: string) => assistantDone(session, said, [smallImage], { msgId: "m", ts });
    const rest = Buffer.byteLength(JSON.stringify(make("")));
    // What JSON escapes and what UTF-8 makes longer: 14 bytes.
    const piece = 'é"\u0000😀';
    const most = Math.floor((maxWireBytes - rest) / 14);
    expect(readFrame(JSON.stringify(make(piece.repeat(most)))).kind).toBe("assistantDone");
    expect(refusal(() => make(piece.repeat(most + 1)))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: `frame too large: ${rest + (most + 1) * 14} bytes (max 29360128)`,
    });
    // Longer than a string can be once all of it is escaped.
    expect(refusal(() => make("\u0001".repeat(2 ** 27)))).toMatchObject({ code: "LIMIT_EXCEEDED" });
  });

  it.each([
    [undefined, "session: expected an object with channel and id, got undefined"],
    ["mcp", 'session: expected an object with channel and id, got "mcp"'],
    [{ id: "a" }, "session.channel: expected a non-empty string, got undefined"],
    [{ channel: "mcp", id: "" }, "session.id: expected a non-empty string, got an empty string"],
    [{ channel: "mcp", id: 7 }, "session.id: expected a non-empty string, got 7"],
  ])("want a session, and %j is none", (wrong, message) => {
    expect(() => assistantDone(wrong as never, "")).toThrow(new TypeError(message));
  });

  it("want a name for the message, and a time that the wire can have", () => {
    expect(() => assistantDelta(session, "", { msgId: "" })).toThrow(
      new TypeError("msgId: expected a non-empty string, got an empty string"),
    );
    for (const ts of [new Date(Number.NaN), new Date("-000001-01-01"), new Date("+010000-01-01"), 7]) {
      expect(() => assistantDelta(session, "", { ts: ts as Date })).toThrow(RangeError);
    }
  });
});

describe("tetherImage", () => {
  it("has the type of the bytes, and their base64 with padding", () => {
    for (const [bytes, media_type] of [
      [png(size), "image/png"],
      [jpeg(sof(size)), "image/jpeg"],
      [gif(size, [gifFrame(1)]), "image/gif"],
      [bytesOf(webp(vp8(size))), "image/webp"],
    ] as const) {
      expect(tetherImage(bytes)).toEqual({ media_type, data: Buffer.from(bytes).toString("base64") });
    }
  });

  it("takes 10 MiB, and not one byte more", () => {
    expect(tetherImage(pngOf(10 * 2 ** 20)).data).toHaveLength(13_981_016);
    expect(refusal(() => tetherImage(pngOf(10 * 2 ** 20 + 1)))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "image too large: 10485761 bytes (max 10485760)",
      details: { violations: [{ rule: "imageBytes", limit: 10_485_760, actual: 10_485_761, items: [0] }] },
    });
  });

  it.each([
    ["SVG", "<svg/>", "text/plain"],
    ["a PDF", "%PDF-1.7", "application/pdf"],
    ["nothing", "", "text/plain"],
    ["noise", [0, 1, 255], "application/octet-stream"],
  ])("takes no %s", (_, bytes, actual) => {
    expect(refusal(() => tetherImage(bytesOf(bytes)))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: `image of unsupported type: "${actual}" (only image/png, image/jpeg, image/gif, image/webp)`,
      details: { violations: [{ rule: "imageTypes", actual, items: [0] }] },
    });
  });

  it("takes no truncated image, and nothing but bytes", () => {
    expect(refusal(() => tetherImage(png(size).slice(0, 20)))).toMatchObject({
      code: "MEDIA_INVALID",
      message: expect.stringMatching(/^invalid image\/png: /),
    });
    expect(() => tetherImage(smallImage.data as never)).toThrow(TypeError);
  });
});

const telegram = { channel: "telegram", id: "42" };

describe("frames", () => {
  // @covers R32
  it("are plain data that a program can write by hand", () => {
    const frame: UserMessageFrame = {
      v: 1,
      type: "user.message",
      ts: "2026-01-31T12:00:00Z",
      session: telegram,
      payload: {
        text: "Analyze this chart",
        images: [smallImage],
        user: { id: "123", name: "Alice" },
      },
    };
    expect(checkFrame(frame)).toMatchObject({ kind: "userMessage", frame });
  });

  it("of a known type are frames, and so are those of a ring", () => {
    expectTypeOf<UserMessageFrame>().toExtend<TetherFrame>();
    expectTypeOf<AssistantDoneFrame>().toExtend<TetherFrame>();
    expectTypeOf<SequencedFrame>().toExtend<TetherFrame>();
    expectTypeOf<AssistantDoneFrame & { seq: number }>().toExtend<SequencedFrame>();
    expectTypeOf<TetherFrame>().not.toExtend<SequencedFrame>();
  });

  // @covers R37 R40
  it("have images of the four types, by value and never by reference", () => {
    expectTypeOf<TetherImage["media_type"]>().toEqualTypeOf<
      "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    >();
    expectTypeOf<keyof TetherImage>().toEqualTypeOf<"media_type" | "data">();
  });

  it("are told apart by their kind once they are checked", () => {
    expectTypeOf<
      Extract<CheckedFrame, { kind: "assistantDone" }>["frame"]
    >().toEqualTypeOf<AssistantDoneFrame>();
    expectTypeOf<Extract<CheckedFrame, { kind: "other" }>["frame"]["payload"]>().toEqualTypeOf<unknown>();
    expectTypeOf<Extract<CheckedFrame, { kind: "assistantDelta" }>["images"]>().toEqualTypeOf<readonly []>();
  });
});
