import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { imageDimensionsFromData } from "image-dimensions";
import { agreesWith, type Media, mediaTypeOfName, sniff } from "sessile/media";
import { describe, expect, it, test } from "vitest";
import { fourCC, u16be, u16le, u24le, u32be, u32le } from "../../src/content/media/types.js";
import { damage, damaged } from "../arbitraries/bytes.js";
import { madeImage } from "../arbitraries/media.js";
import { fixture } from "../support/fixtures.js";
import { bytesOf, gif, gifFrame, jpeg, type Part, png, pngSignature, sof } from "../support/media-files.js";

const text = { kind: "text", mediaType: "text/plain" };
const pdf = { kind: "pdf", mediaType: "application/pdf" };
const reasons = ["truncated", "zero-size", "too-large", "too-many-parts", "malformed"];

/** Whether a result keeps what its type promises. */
function expectSound(media: Media | undefined): void {
  if (media?.kind === "invalid") expect(reasons).toContain(media.reason);
  if (media?.kind !== "image") return;
  for (const side of [media.width ?? 1, media.height ?? 1]) {
    expect(Number.isInteger(side) && side >= 1 && side <= 0x7fffffff).toBe(true);
  }
  if (media.frames !== undefined) expect(media.animated && media.frames >= 1).toBe(true);
  if (media.orientation !== undefined) expect([1, 2, 3, 4, 5, 6, 7, 8]).toContain(media.orientation);
}

const starts: readonly Part[] = [
  pngSignature,
  bytesOf(pngSignature, [0, 0, 0, 13], "IHDR"),
  [0xff, 0xd8, 0xff],
  "GIF89a",
  "GIF87a",
  bytesOf("RIFF", [0, 0, 0, 0], "WEBPVP8X", [10, 0, 0, 0]),
  bytesOf("RIFF", [0, 0, 0, 0], "WEBPVP8 ", [10, 0, 0, 0]),
  bytesOf("RIFF", [0, 0, 0, 0], "WEBPVP8L", [5, 0, 0, 0]),
  "%PDF-",
];

describe("sniff", () => {
  // @covers R39
  it("tells what an image of any format was made as, and image-dimensions agrees on its size", () => {
    fc.assert(
      fc.property(madeImage, ({ bytes, media }) => {
        expect(sniff(bytes)).toEqual(media);
        const { width, height, type } = imageDimensionsFromData(bytes) ?? {};
        expect({ width, height, mediaType: `image/${type}` }).toEqual({
          width: media.width,
          height: media.height,
          mediaType: media.mediaType,
        });
      }),
      { numRuns: 1000 },
    );
  });

  // @covers security:media
  it("does not throw on any bytes", () => {
    fc.assert(
      fc.property(
        fc.option(fc.constantFrom(...starts), { nil: [] }),
        fc.uint8Array({ maxLength: 200 }),
        (start, rest) => expectSound(sniff(bytesOf(start, rest))),
      ),
      { numRuns: 1000 },
    );
  });

  it("does not throw on a damaged image", () => {
    fc.assert(
      fc.property(madeImage, damage, ({ bytes }, changes) => expectSound(sniff(damaged(bytes, changes)))),
      { numRuns: 1000 },
    );
  });

  it("says of the beginning of an image that it is cut off", () => {
    fc.assert(
      fc.property(madeImage, fc.nat(), ({ bytes, media }, end) => {
        const { mediaType } = media;
        const found = sniff(bytes.subarray(0, 12 + (end % (bytes.length - 12))));
        // The end of a frame can be the end of a GIF.
        if (found?.kind === "image") expect(mediaType).toBe("image/gif");
        else expect(found).toEqual({ kind: "invalid", mediaType, reason: "truncated" });
      }),
      { numRuns: 500 },
    );
  });

  it("reads a view as it reads a copy, and changes nothing", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          madeImage.map(({ bytes }) => bytes),
          fc.uint8Array(),
          fc.string().map((s) => bytesOf(s)),
        ),
        fc.uint8Array({ minLength: 1, maxLength: 20 }),
        (bytes, noise) => {
          const all = bytesOf(noise, bytes, noise);
          const before = all.slice();
          expect(sniff(all.subarray(noise.length, noise.length + bytes.length))).toEqual(sniff(bytes));
          expect(Buffer.compare(all, before)).toBe(0);
        },
      ),
    );
  });

  test.each<[string, Part, object | undefined]>([
    ["nothing", "", text],
    ["a PDF", "%PDF-1.7\n%\xe2\xe3", pdf],
    ["a PDF after a blank", " %PDF-1.7", text],
    ["the beginning of a PDF's first line", "%PDF", text],
    ["what begins as a PDF and goes on otherwise", "%PDF_1.7", text],
    ["UTF-16 with its mark", [0xff, 0xfe, 0x61, 0], text],
    ["UTF-16 with NUL", [0xff, 0xfe, 0x61, 0, 0, 0], undefined],
    ["zeros", new Uint8Array(64), undefined],
    ["an archive", [0x50, 0x4b, 3, 4, 0, 0], undefined],
    ["a PNG that lost a carriage return on its way", [0x89, 0x50, 0x4e, 0x47, 0x0a, 0x1a, 0x0a], undefined],
    ["half a PNG signature", pngSignature.subarray(0, 7), undefined],
    ["half a GIF signature", "GIF8", text],
    ["a RIFF of sound", bytesOf("RIFF", [36, 0, 0, 0], "WAVEfmt "), undefined],
  ])("reads %s", (_, part, expected) => {
    expect(sniff(bytesOf(part))).toEqual(expected);
  });

  test.each([
    ["a string", "a string"],
    ["an ArrayBuffer", new ArrayBuffer(8)],
    ["an array", [1, 2]],
    ["an Int8Array", new Int8Array(3)],
    ["an object that is called one", { [Symbol.toStringTag]: "Uint8Array" }],
    ["an object with its methods", Object.create(Uint8Array.prototype)],
    ["undefined", undefined],
    ["null", null],
  ])("refuses what is no Uint8Array: %s", (_, value) => {
    expect(() => sniff(value as never)).toThrow(TypeError);
    expect(() => sniff(value as never)).toThrow(/^bytes: expected a Uint8Array, got /);
  });

  it("takes bytes of another realm", () => {
    const foreign = runInNewContext("Uint8Array.of(0x61)") as Uint8Array;
    expect(foreign).not.toBeInstanceOf(Uint8Array);
    expect(sniff(foreign)).toEqual(text);
  });

  it("takes a Buffer", () => {
    expect(sniff(Buffer.from(png({ width: 3, height: 2 })))).toMatchObject({ width: 3, height: 2 });
  });
});

describe("what is called an image and is none", () => {
  test.each<[string, string, Part]>([
    ["an SVG", "logo.png", `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`],
    ["an error page", "shot.png", "<!DOCTYPE html><title>404 Not Found</title>"],
    [
      "a pointer of Git LFS",
      "big.png",
      `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 1234567\n`,
    ],
  ])("is text: %s", (_, name, part) => {
    const media = sniff(bytesOf(part)) as Media;
    expect(media).toEqual(text);
    expect(agreesWith(media, mediaTypeOfName(name) as string)).toBe(false);
  });

  it("is the other image: a JPEG called .png", () => {
    const media = sniff(jpeg(sof({ width: 640, height: 480 }))) as Media;
    expect(media).toMatchObject({ mediaType: "image/jpeg", width: 640, height: 480 });
    expect(agreesWith(media, mediaTypeOfName("photo.png") as string)).toBe(false);
  });

  it("is no sound GIF where it is JavaScript too", () => {
    // The start of a comment where the size is, and its end behind the pixels.
    const polyglot = bytesOf("GIF89a/*", [0, 0x2a], new Uint8Array(20), "*/=1;alert(1)");
    expect(sniff(polyglot)).toEqual({ kind: "invalid", mediaType: "image/gif", reason: "malformed" });
  });

  it("is an image where a PDF follows the pixels", () => {
    const both = bytesOf(gif({ width: 1, height: 1 }, [gifFrame(2)]), "%PDF-1.7");
    expect(sniff(both)).toMatchObject({ kind: "image", mediaType: "image/gif", animated: false });
  });
});

describe("real files", () => {
  const image = (mediaType: string, width: number, height: number, extras = {}) => ({
    kind: "image",
    mediaType,
    width,
    height,
    animated: false,
    ...extras,
  });
  const files = [
    ["animated.gif", image("image/gif", 2166, 546, { animated: true, frames: 240 })],
    ["paper.pdf", { ...pdf, pages: 1 }],
    ["parrot.jpg", image("image/jpeg", 800, 618)],
    ["red-circle.png", image("image/png", 200, 200)],
    ["screenshot.png", image("image/png", 1024, 768)],
  ] as const;

  for (const [name, expected] of files) {
    const real = fixture(`media/${name}`);
    const note = real.absent === undefined ? "" : ` (${real.absent})`;

    test.skipIf(real.absent !== undefined)(`${name} is what its name says${note}`, () => {
      const bytes = real.read();
      const media = sniff(bytes);
      expect(media).toEqual(expected);
      expect(media?.mediaType).toBe(mediaTypeOfName(name));
      const { width, height } = imageDimensionsFromData(bytes) ?? {};
      if (media?.kind === "image")
        expect({ width, height }).toEqual({ width: media.width, height: media.height });
    });

    test.skipIf(real.absent !== undefined)(`${name} does no harm when it is damaged${note}`, () => {
      const bytes = real.read().subarray(0, 50_000);
      fc.assert(
        fc.property(damage, (changes) => expectSound(sniff(damaged(bytes, changes)))),
        { numRuns: 50 },
      );
    });
  }
});

describe("integers in bytes", () => {
  it("are those of a DataView, at any place", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 4, maxLength: 12 }), fc.nat(), (bytes, place) => {
        const at = place % (bytes.length - 3);
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        expect(u16be(bytes, at)).toBe(view.getUint16(at));
        expect(u16le(bytes, at)).toBe(view.getUint16(at, true));
        expect(u24le(bytes, at)).toBe(view.getUint32(at, true) % (1 << 24));
        expect(u32be(bytes, at)).toBe(view.getUint32(at));
        expect(u32le(bytes, at)).toBe(view.getUint32(at, true));
      }),
    );
  });

  it("have zeros past the end", () => {
    expect(u32be(Uint8Array.of(0xff, 0xff), 0)).toBe(0xffff0000);
    expect(u32le(Uint8Array.of(0xff), 5)).toBe(0);
  });
});

describe("fourCC", () => {
  it("is what u32be reads where the name stands", () => {
    const name = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((c) => String.fromCharCode(c)),
      minLength: 4,
      maxLength: 4,
    });
    fc.assert(
      fc.property(name, (text) => {
        expect(fourCC(text)).toBe(u32be(new TextEncoder().encode(text), 0));
      }),
    );
  });
});
