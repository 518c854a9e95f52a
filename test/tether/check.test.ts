import fc from "fast-check";
import { checkFrame, type FrameImage, readFrame, tetherLimits } from "sessile/tether";
import { describe, expect, it } from "vitest";
import { encodeBase64 } from "../../src/internal/encode-base64.js";
import { madeImage } from "../arbitraries/media.js";
import { mutationOf } from "../arbitraries/mutations.js";
import { tetherFrame, tetherImages } from "../arbitraries/tether-frames.js";
import { jsonValue } from "../arbitraries/values.js";
import { messageOf, refusal, said, smallImage, withImages } from "../support/tether.js";

/** Bytes as text: comparing them one by one takes long. */
const short = ({ bytes, ...rest }: FrameImage) => ({ ...rest, bytes: encodeBase64(bytes) });

describe("checkFrame", () => {
  it("accepts every frame that holds to the protocol, and keeps what it does not know", () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(tetherFrame, (frame) => {
        const checked = checkFrame(frame);
        kinds.add(checked.kind);
        expect(checked.frame).toEqual(frame);
      }),
    );
    expect([...kinds].sort()).toEqual(["assistantDelta", "assistantDone", "other", "userMessage"]);
  });

  it("decodes images to the bytes they were, and tells their size", () => {
    fc.assert(
      fc.property(fc.array(madeImage, { maxLength: 4 }), fc.boolean(), (made, padded) => {
        const images = made.map(({ bytes, media }) => said(media.mediaType, bytes));
        const sent = padded ? images : images.map((one) => ({ ...one, data: one.data.replace(/=+$/, "") }));
        expect(checkFrame(withImages(...sent)).images.map(short)).toEqual(
          made.map(({ bytes, media: { mediaType, width, height } }) =>
            short({ mediaType, bytes, width, height }),
          ),
        );
      }),
    );
  });

  it("throws a SessileError or nothing, whatever JSON it is given", () => {
    fc.assert(
      fc.property(fc.oneof(jsonValue, mutationOf(tetherFrame)), (value) => {
        try {
          checkFrame(value);
        } catch (error) {
          expect(error).toHaveProperty("name", "SessileError");
          expect(JSON.parse(JSON.stringify(error))).toHaveProperty("details");
        }
      }),
      { numRuns: 1000 },
    );
  });

  const good = withImages(smallImage);
  it.each([
    [undefined, ""],
    [null, ""],
    [[good], ""],
    ["{}", ""],
    [{ ...good, v: 2 }, "v"],
    [{ ...good, v: "1" }, "v"],
    [{ ...good, v: undefined }, "v"],
    [{ ...good, type: "" }, "type"],
    [{ ...good, ts: 0 }, "ts"],
    [{ ...good, ts: "" }, "ts"],
    [{ ...good, ts: "yesterday" }, "ts"],
    [{ ...good, session: "mcp" }, "session"],
    [{ ...good, session: undefined }, "session"],
    [{ ...good, session: { channel: "", id: "a" } }, "session.channel"],
    [{ ...good, session: { channel: "mcp" } }, "session.id"],
    [{ ...good, msg_id: "" }, "msg_id"],
    [{ ...good, msg_id: 7 }, "msg_id"],
    [{ ...good, seq: 0 }, "seq"],
    [{ ...good, seq: 1.5 }, "seq"],
    [{ ...good, payload: undefined }, "payload"],
    [messageOf("text"), "payload"],
    [messageOf({}), "payload.text"],
    [messageOf({ text: "", images: null }), "payload.images"],
    [messageOf({ text: "", images: {} }), "payload.images"],
    [messageOf({ text: "", images: { length: 1, 0: smallImage } }), "payload.images"],
    [messageOf({ text: "", user: "Alice" }), "payload.user"],
    [messageOf({ text: "", user: { id: 123 } }), "payload.user.id"],
    [withImages(smallImage, null), "payload.images[1]"],
    [withImages({ data: smallImage.data }), "payload.images[0].media_type"],
    [withImages({ media_type: "image/png" }), "payload.images[0].data"],
    [withImages({ media_type: "image/png", data: [smallImage.data] }), "payload.images[0].data"],
    [{ ...good, type: "assistant.done", payload: { images: [] } }, "payload.text"],
    [{ ...good, type: "assistant.delta", payload: { text: null } }, "payload.text"],
  ])("refuses %j at its place", (value, path) => {
    const { code, details, message } = refusal(() => checkFrame(value));
    expect([code, details]).toEqual(["INVALID_MESSAGE", { path, expected: expect.any(String) }]);
    expect(message).toMatch(/^\S+: expected /);
  });

  it("needs text, which is empty where images stand alone", () => {
    expect(checkFrame(messageOf({ text: "", images: [smallImage] })).images).toHaveLength(1);
    expect(refusal(() => checkFrame(messageOf({ images: [smallImage] }))).details).toMatchObject({
      path: "payload.text",
    });
  });

  it("looks at no payload of another type", () => {
    for (const type of ["control.cancel", "user.typing", "__proto__", "constructor"]) {
      const frame = { ...messageOf({ text: 1, images: [1, 2, 3, 4, 5] }), type };
      expect(checkFrame(frame)).toEqual({ kind: "other", frame, images: [] });
    }
  });

  it("passes over images of a delta, which has none", () => {
    const frame = { ...withImages({ media_type: "image/svg+xml" }), type: "assistant.delta" };
    expect(checkFrame(frame)).toEqual({ kind: "assistantDelta", frame, images: [] });
  });
});

describe("a frame made to deceive", () => {
  it("has no fields by a __proto__ key of its JSON", () => {
    const smuggled = JSON.stringify(messageOf({ text: "" })).replace('"v"', '"__proto__":{"seq":7},"v"');
    expect(smuggled).toContain("__proto__");
    expect(readFrame(smuggled).frame.seq).toBeUndefined();
    expect(
      refusal(() => readFrame(`{"__proto__":${JSON.stringify(messageOf({ text: "" }))}}`)).details,
    ).toEqual({
      path: "v",
      expected: "the number 1",
    });
  });

  it("has no fields that it inherits", () => {
    expect(refusal(() => checkFrame(Object.create(messageOf({ text: "" })))).code).toBe("INVALID_MESSAGE");
    expect(refusal(() => checkFrame(messageOf({ text: "", images: [Object.create(smallImage)] }))).code).toBe(
      "INVALID_MESSAGE",
    );
  });

  it("cannot say one thing when it is checked and another when it is used", () => {
    let reads = 0;
    const image = {
      media_type: "image/png",
      get data() {
        return reads++ === 0 ? smallImage.data : 7;
      },
    };
    const { frame, images } = checkFrame(withImages(image));
    expect(images).toHaveLength(1);
    expect(reads).toBe(1);
    expect(frame.payload).toEqual({ text: "", images: [smallImage] });
  });

  it("cannot be changed afterwards by whoever made it", () => {
    const user = { id: "1", name: "Alice" };
    const images = [{ ...smallImage }];
    const made = { ...withImages(), payload: { text: "", images, user } };
    const { frame } = checkFrame(made);
    const before = structuredClone(frame);
    user.name = "Mallory";
    Object.assign(made.session, { id: "other" });
    Object.assign(images[0] as object, { data: "" });
    Object.assign(made.payload, { text: "other" });
    expect(frame).toEqual(before);
  });
});

describe("readFrame", () => {
  const frame = withImages(smallImage);
  const json = JSON.stringify(frame);

  it("reads text and bytes as checkFrame reads the value", () => {
    fc.assert(
      fc.property(tetherFrame, (value) => {
        const text = JSON.stringify(value);
        const { images, ...expected } = checkFrame(JSON.parse(text));
        for (const body of [text, new TextEncoder().encode(text)]) {
          const read = readFrame(body);
          expect(read).toMatchObject(expected);
          expect(read.images.map(short)).toEqual(images.map(short));
        }
      }),
    );
  });

  it("throws a SessileError or nothing, whatever bytes it is given", () => {
    const cut = fc.tuple(tetherFrame, fc.nat(), fc.nat({ max: 255 })).map(([value, at, byte]) => {
      const bytes = new TextEncoder().encode(JSON.stringify(value));
      bytes[at % bytes.length] = byte;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), cut), (bytes) => {
        for (const body of [bytes, Buffer.from(bytes).toString("latin1")]) {
          try {
            readFrame(body);
          } catch (error) {
            expect(error).toHaveProperty("name", "SessileError");
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ["no JSON", "{", "JSON"],
    ["nothing", "", "JSON"],
    ["a byte order mark", `\ufeff${json}`, "JSON"],
    ["no UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "UTF-8"],
    ["a depth of a million", "[".repeat(1e6) + "]".repeat(1e6), "JSON that is at most 256 deep"],
  ])("refuses %s", (_, body, expected) => {
    expect(refusal(() => readFrame(body))).toMatchObject({
      code: "INVALID_MESSAGE",
      message: `frame: expected ${expected}`,
      details: { path: "", expected },
    });
  });

  it("takes 28 MiB, and not one byte more, which it says before it parses", () => {
    const { maxWireBytes } = tetherLimits;
    const padded = (bytes: number) => json + " ".repeat(bytes - json.length);
    expect(readFrame(padded(maxWireBytes)).kind).toBe("userMessage");
    const tooLong = {
      code: "LIMIT_EXCEEDED",
      message: "frame too large: 29360129 bytes (max 29360128)",
      details: {
        profile: "tether",
        violations: [
          { rule: "bodyBytes", unit: "bodyBytes", limit: maxWireBytes, actual: maxWireBytes + 1, items: [] },
        ],
      },
    };
    expect(refusal(() => readFrame(padded(maxWireBytes + 1)))).toMatchObject(tooLong);
    expect(refusal(() => readFrame("[".repeat(maxWireBytes + 1)))).toMatchObject(tooLong);
    expect(refusal(() => readFrame(new Uint8Array(maxWireBytes + 1)))).toMatchObject(tooLong);
  });

  it.each([
    ["é", 2],
    ["日", 3],
    ["😀", 4],
    ["\ud83d", 3],
    ["a😀", 5],
  ])("counts text as UTF-8: %j is %i bytes", (piece, bytes) => {
    const count = Math.ceil((tetherLimits.maxWireBytes + 1) / bytes);
    expect(refusal(() => readFrame(piece.repeat(count))).message).toBe(
      `frame too large: ${count * bytes} bytes (max 29360128)`,
    );
    expect(refusal(() => readFrame(piece.repeat(count - 1))).message).toBe("frame: expected JSON");
  });

  it.each([undefined, null, {}, [], 5, new ArrayBuffer(2)])(
    "takes %j for a value that is no frame",
    (value) => {
      expect(refusal(() => readFrame(value))).toEqual(refusal(() => checkFrame(value)));
    },
  );

  it("reads a value as checkFrame does, and tells how long it would be on the wire", () => {
    expect(readFrame(frame)).toEqual(checkFrame(frame));
    const text = (length: number) => messageOf({ text: "x".repeat(length) });
    const room = tetherLimits.maxWireBytes - JSON.stringify(text(0)).length;
    for (const read of [readFrame, checkFrame]) {
      expect(read(text(room)).kind).toBe("userMessage");
      expect(refusal(() => read(text(room + 1)))).toMatchObject({
        code: "LIMIT_EXCEEDED",
        message: "frame too large: 29360129 bytes (max 29360128)",
      });
    }
  });

  it("gives images that fit the wire whole", () => {
    fc.assert(
      fc.property(tetherImages, (images) => {
        expect(readFrame(JSON.stringify(messageOf({ text: "", images }))).images).toHaveLength(images.length);
      }),
    );
  });
});
