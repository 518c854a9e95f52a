import fc from "fast-check";
import { checkLimits, limitProfiles } from "sessile/limits";
import { checkFrame, tetherLimits } from "sessile/tether";
import { describe, expect, it, vi } from "vitest";
import { encodeBase64 } from "../../src/internal/encode-base64.js";
import { bytesOf, gif, gifFrame, jpeg, png, pngSignature, sof, vp8, webp } from "../support/media-files.js";
import { pngOf, refusal, said, smallImage, withImages } from "../support/tether.js";

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

  it("are those that checkLimits tells of the same images", { timeout: 60_000 }, () => {
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
      { numRuns: 40 },
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

  it("is as good without its padding as with it", () => {
    for (let extra = 0; extra < 3; extra++) {
      const image = said("image/png", bytesOf(png(size), new Uint8Array(extra)));
      const stripped = { ...image, data: image.data.replace(/=+$/, "") };
      expect(checkFrame(withImages(stripped)).images).toEqual(checkFrame(withImages(image)).images);
    }
  });

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
      message: `payload.images[1]: said to be image/png, and is ${actual}`,
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
      message: expect.stringMatching(/^payload\.images\[0\]: begins as /),
      details: { mediaType, reason: expect.any(String) },
    });
  });
});
