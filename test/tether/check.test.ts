import fc from "fast-check";
import { checkLimits, limitProfiles } from "sessile/limits";
import { checkFrame, type FrameImage, readFrame, tetherLimits } from "sessile/tether";
import { describe, expect, it, vi } from "vitest";
import { madeImage } from "../arbitraries/media.js";
import { mutationOf } from "../arbitraries/mutations.js";
import { tetherFrame, tetherImages } from "../arbitraries/tether-frames.js";
import { jsonValue } from "../arbitraries/values.js";
import { bytesOf, gif, gifFrame, jpeg, png, pngSignature, sof, vp8, webp } from "../support/media-files.js";
import { encodeBase64 } from "../support/plain-values.js";
import { rounds } from "../support/rounds.js";
import { messageOf, pngOf, refusal, said, smallImage, withImages } from "../support/tether.js";

/** Bytes as text: comparing them one by one takes long. */
const short = ({ bytes, ...rest }: FrameImage) => ({ ...rest, bytes: encodeBase64(bytes) });

describe("checkFrame", () => {
  // @covers R32
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
      { numRuns: rounds(250, 1000) },
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

  // @covers R35
  it("needs text, which is empty where images stand alone", () => {
    expect(checkFrame(messageOf({ text: "", images: [smallImage] })).images).toHaveLength(1);
    expect(refusal(() => checkFrame(messageOf({ images: [smallImage] }))).details).toMatchObject({
      path: "payload.text",
    });
  });

  // @covers R86
  it("looks at no payload of another type", () => {
    for (const type of ["control.cancel", "user.typing", "__proto__", "constructor"]) {
      const frame = { ...messageOf({ text: 1, images: [1, 2, 3, 4, 5] }), type };
      expect(checkFrame(frame)).toEqual({ kind: "other", frame, images: [] });
    }
  });

  // @covers R34
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
    const shared = withImages();
    // A copy: other tests use the same session.
    const made = { ...shared, session: { ...shared.session }, payload: { text: "", images, user } };
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

  // @covers R45 security:frames
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
      { numRuns: rounds(250, 1000) },
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

  // @covers R48
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

const MiB = 2 ** 20;
const size = { width: 2, height: 3 };
/** As long as the base64 of so many bytes is, and no base64 at all. */
const noBase64 = (bytes: number) => ({
  media_type: "image/png",
  data: "!".repeat(Math.ceil((bytes * 4) / 3)),
});

/** The refusal of an act in which whatever decodes base64 throws. */
function refusalUndecoded(act: () => unknown) {
  const never = () => {
    throw new Error("it was decoded");
  };
  const engine = Uint8Array as { fromBase64?: unknown };
  const { fromBase64 } = engine;
  vi.stubGlobal("Buffer", { from: never });
  engine.fromBase64 = never;
  try {
    return refusal(act);
  } finally {
    vi.unstubAllGlobals();
    if (fromBase64 === undefined) Reflect.deleteProperty(engine, "fromBase64");
    else engine.fromBase64 = fromBase64;
  }
}

describe("ref and size, which are reserved", () => {
  const reserved = { ref: "sha256:00", size: 1 };

  // @covers R49
  it("are passed over beside data", () => {
    const { images } = checkFrame(withImages({ ...smallImage, ...reserved }));
    expect(images).toEqual(checkFrame(withImages(smallImage)).images);
  });

  it("are no image without data", () => {
    expect(refusal(() => checkFrame(withImages({ media_type: "image/png", ...reserved })))).toMatchObject({
      code: "INVALID_MESSAGE",
      details: { path: "payload.images[0].data" },
    });
  });
});

describe("limits", () => {
  // @covers R41
  it("a 15 MB image is refused before it is decoded", () => {
    const sent = refusalUndecoded(() => checkFrame(withImages(smallImage, noBase64(15e6))));
    expect(sent).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "images[1] too large: 15000000 bytes (max 10485760)",
      details: {
        profile: "tether",
        violations: [
          { rule: "imageBytes", unit: "decodedBytes", limit: 10 * MiB, actual: 15_000_000, items: [1] },
        ],
      },
    });
  });

  // @covers R42
  it("four images of 8 MB are refused before they are decoded", () => {
    const image = noBase64(8e6);
    expect(refusalUndecoded(() => checkFrame(withImages(image, image, image, image)))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "images too large together: 32000000 bytes (max 20971520)",
      details: {
        violations: [
          {
            rule: "imageBytes",
            unit: "decodedBytes",
            limit: 20 * MiB,
            actual: 32_000_000,
            items: [0, 1, 2, 3],
          },
        ],
      },
    });
  });

  // @covers R43
  it("five images are refused before they are decoded", () => {
    const image = noBase64(3);
    expect(refusalUndecoded(() => checkFrame(withImages(image, image, image, image, image)))).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: "too many images: 5 (max 4)",
      details: {
        violations: [{ rule: "imageCount", unit: "count", limit: 4, actual: 5, items: [0, 1, 2, 3, 4] }],
      },
    });
  });

  // @covers R39
  it("a type that is not supported is refused before it is decoded", () => {
    for (const type of [
      "image/svg+xml",
      "image/bmp",
      "text/html",
      "application/pdf",
      "image/jpg",
      "image/PNG",
      "",
    ]) {
      const { code, message, details } = refusalUndecoded(() =>
        checkFrame(withImages(smallImage, { ...noBase64(3), media_type: type })),
      );
      expect(code).toBe("LIMIT_EXCEEDED");
      expect(message).toMatch(/^images\[1\] of unsupported type: .* \(only image\/png, image\/jpeg, /);
      expect(details).toMatchObject({
        violations: [{ rule: "imageTypes", limit: tetherLimits.imageTypes, actual: type, items: [1] }],
      });
    }
  });

  // @covers R45
  it("all that images break is told at once", () => {
    const types = { ...noBase64(11 * MiB), media_type: "image/tiff" };
    expect(refusal(() => checkFrame(withImages(types, noBase64(11 * MiB)))).message.split("; ")).toHaveLength(
      4,
    );
  });

  it("a type that is a megabyte long does not make the error one", () => {
    const long = { ...smallImage, media_type: "image/".padEnd(MiB, "x") };
    expect(JSON.stringify(refusal(() => checkFrame(withImages(long)))).length).toBeLessThan(1000);
  });

  it("a hundred thousand images do not make the error as long", () => {
    const sent = withImages(...Array.from({ length: 1e5 }, () => smallImage));
    const error = refusal(() => checkFrame(sent));
    expect(error.message).toBe("too many images: 100000 (max 4)");
    expect(JSON.stringify(error).length).toBeLessThan(1000);
  });

  // @covers R47
  it("are those that checkLimits tells of the same images", () => {
    const bytes = fc.oneof(
      fc.integer({ min: 1, max: 12 * MiB }),
      fc.constantFrom(10 * MiB, 10 * MiB + 1, 5 * MiB, 5 * MiB + 1),
    );
    const type = fc.constantFrom(...tetherLimits.imageTypes, "image/bmp");
    fc.assert(
      fc.property(fc.array(fc.tuple(type, bytes), { minLength: 1, maxLength: 4 }), (images) => {
        const items = images.map(([mediaType, size]) => ({ mediaType, size }));
        // How long the body is, readFrame sees.
        const expected = checkLimits(items, limitProfiles.tether)
          .filter(({ rule }) => rule !== "bodyBytes")
          .map(({ rule, unit, limit, actual, items: at }) => ({
            rule,
            unit,
            limit,
            actual,
            items: at.map(({ index }) => index),
          }));
        const sent = withImages(...images.map(([media_type, size]) => ({ ...noBase64(size), media_type })));
        const { code, details } = refusal(() => checkFrame(sent));
        if (expected.length === 0) expect(code).toBe("INVALID_MESSAGE");
        else {
          const { violations } = details as unknown as { readonly violations: readonly object[] };
          expect(violations).toHaveLength(expected.length);
          expect(violations).toEqual(expect.arrayContaining(expected));
        }
      }),
      { numRuns: rounds(10, 40) },
    );
  });

  it.each([true, false])("take exactly 10 MiB, and not one byte more, padded: %s", (padded) => {
    const image = (bytes: number) => {
      const { data } = said("image/png", pngOf(bytes));
      return { media_type: "image/png", data: padded ? data : data.replace(/=+$/, "") };
    };
    expect(checkFrame(withImages(image(10 * MiB), image(10 * MiB))).images).toHaveLength(2);
    expect(refusal(() => checkFrame(withImages(image(10 * MiB + 1)))).message).toBe(
      "images[0] too large: 10485761 bytes (max 10485760)",
    );
    const three = [image(10 * MiB), image(10 * MiB - 100), image(101)];
    expect(refusal(() => checkFrame(withImages(...three))).message).toBe(
      "images too large together: 20971521 bytes (max 20971520)",
    );
  });
});

describe("data", () => {
  const { data } = smallImage;
  /** Digits in fours, behind which there may be more: they are an image, and what follows is nothing to it. */
  const whole = encodeBase64(bytesOf(png(size), new Uint8Array((3 - (png(size).length % 3)) % 3)));

  it("is whole where what is behind it is", () => {
    for (const end of ["", "AA==", "AA", "AAA=", "AAA", "AAAA"]) {
      expect(checkFrame(withImages({ ...smallImage, data: whole + end })).images).toHaveLength(1);
    }
  });

  // @covers R38
  it("is as good without its padding as with it", () => {
    for (let extra = 0; extra < 3; extra++) {
      const image = said("image/png", bytesOf(png(size), new Uint8Array(extra)));
      const stripped = { ...image, data: image.data.replace(/=+$/, "") };
      expect(checkFrame(withImages(stripped)).images).toEqual(checkFrame(withImages(image)).images);
    }
  });

  // @covers R38
  it.each([
    ["a data URL", `data:image/png;base64,${data}`],
    ["a line break", `${data.slice(0, 20)}\n${data.slice(20)}`],
    ["a line break at the end", `${data}\n`],
    ["a space", ` ${data}`],
    ["the URL alphabet", `${data.slice(0, 4)}-_-_${data.slice(4)}`],
    ["padding in the middle", `AA==${data}`],
    ["too much padding", `${data}====`],
    ["padding that is not all of it", `${whole}AA=`],
    ["one character too many", `${whole}A`],
    ["bits that would be lost", `${whole}AB==`],
    ["bits of the last byte that would be lost", `${whole}AAB=`],
    ["bits that would be lost, without padding", `${whole}AB`],
    ["a character beyond ASCII", `${data.slice(0, -4)}ŁAAA`],
    ["half a surrogate pair", `${data.slice(0, -4)}\ud83dAAA`],
  ])("with %s is no base64", (_, wrong) => {
    expect(refusal(() => checkFrame(withImages({ ...smallImage, data: wrong })))).toMatchObject({
      code: "INVALID_MESSAGE",
      details: { path: "payload.images[0].data" },
    });
  });

  // @covers R39
  it.each([
    ["a JPEG", jpeg(sof(size)), "image/jpeg"],
    ["a GIF", gif(size, [gifFrame(1)]), "image/gif"],
    ["a WebP", webp(vp8(size)), "image/webp"],
    ["SVG", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "text/plain"],
    ["HTML", "<!doctype html><title>Not found</title>", "text/plain"],
    ["a PDF", "%PDF-1.7", "application/pdf"],
    ["nothing", "", "text/plain"],
    ["noise", Uint8Array.of(0, 1, 2, 255), "application/octet-stream"],
  ])("of %s is no PNG", (_, bytes, actual) => {
    expect(refusal(() => checkFrame(withImages(smallImage, said("image/png", bytes))))).toMatchObject({
      code: "MEDIA_TYPE_MISMATCH",
      message: `payload.images[1]: declared as image/png, but is ${actual}`,
      details: { declared: "image/png", actual },
    });
  });

  it.each([
    ["image/png", png(size).slice(0, 20)],
    ["image/png", pngSignature],
    ["image/jpeg", jpeg(sof(size)).slice(0, 6)],
    ["image/gif", gif(size, []).slice(0, 8)],
    ["image/webp", webp(vp8(size)).slice(0, 18)],
  ])("of a truncated %s is no image", (mediaType, bytes) => {
    expect(refusal(() => checkFrame(withImages(said(mediaType, bytes))))).toMatchObject({
      code: "MEDIA_INVALID",
      message: expect.stringMatching(/^payload\.images\[0\]: invalid image\//),
      details: { mediaType, reason: expect.any(String) },
    });
  });
});
