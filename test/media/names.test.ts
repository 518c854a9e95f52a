import fc from "fast-check";
import { agreesWith, type Media, mediaTypeExtension, mediaTypeOfName } from "sessile/media";
import { describe, expect, it, test } from "vitest";
import { madeImage } from "../arbitraries/media.js";

const sniffed = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"];
const textTypes = [
  "text/markdown",
  "text/csv",
  "text/html",
  "text/css",
  "text/javascript",
  "application/json",
  "application/toml",
  "application/xml",
  "application/yaml",
  "image/svg+xml",
];
const known = fc.constantFrom(...sniffed, ...textTypes);
const text: Media = { kind: "text", mediaType: "text/plain" };

describe("mediaTypeExtension", () => {
  test.each([
    ["image/png", "png"],
    ["image/jpeg", "jpg"],
    ["image/jpg", "jpg"],
    ["image/gif", "gif"],
    ["image/webp", "webp"],
    ["application/pdf", "pdf"],
    ["text/plain", "txt"],
    ["text/plain; charset=utf-8", "txt"],
    [" IMAGE/PNG ", "png"],
    ["application/octet-stream", undefined],
    ["image/png/../../x", undefined],
    ["__proto__", undefined],
    ["", undefined],
  ])("gives for %j %j", (mediaType, extension) => {
    expect(mediaTypeExtension(mediaType)).toBe(extension);
  });

  // @covers R62
  it("gives an extension that claims the type again", () => {
    fc.assert(
      fc.property(known, fc.string(), (mediaType, stem) => {
        const extension = mediaTypeExtension(mediaType);
        expect(extension).toMatch(/^[a-z]{2,4}$/);
        expect(mediaTypeOfName(`${stem}a.${extension}`)).toBe(mediaType);
      }),
    );
  });

  it("gives undefined or an extension for any text, and nothing that leads elsewhere", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), known), (mediaType) => {
        expect(mediaTypeExtension(mediaType) ?? "none").toMatch(/^[a-z]+$/);
      }),
    );
  });
});

describe("mediaTypeOfName", () => {
  test.each([
    ["shot.png", "image/png"],
    ["SHOT.JPEG", "image/jpeg"],
    ["photo.jpg", "image/jpeg"],
    ["archive.tar.gif", "image/gif"],
    ["/work/a.b/picture.webp", "image/webp"],
    ["C:\\work\\paper.PDF", "application/pdf"],
    ["notes.md", "text/markdown"],
    ["table.csv", "text/csv"],
    ["main.rs", "text/plain"],
    ["/work.png/notes", undefined],
    ["work.png\\notes", undefined],
    [".png", undefined],
    ["/home/me/.png", undefined],
    ["C:\\home\\.png", undefined],
    ["png", undefined],
    ["shot.png.", undefined],
    ["shot.png ", undefined],
    ["shot.bin", undefined],
    ["shot.constructor", undefined],
    ["", undefined],
  ])("reads %j as %j", (name, mediaType) => {
    expect(mediaTypeOfName(name)).toBe(mediaType);
  });

  // The list that a composer takes when files are pasted or dropped.
  const pasted = "txt md json toml yaml yml rs go py js ts jsx tsx html css log csv".split(" ");

  test.each(pasted)("knows .%s, and it is text", (extension) => {
    expect(agreesWith(text, mediaTypeOfName(`a.${extension}`) ?? "none")).toBe(true);
  });
});

describe("agreesWith", () => {
  it("takes for an image its own type alone", () => {
    fc.assert(
      fc.property(madeImage, known, ({ media }, claimed) => {
        expect(agreesWith(media, claimed)).toBe(claimed === media.mediaType);
      }),
      { numRuns: 200 },
    );
  });

  it("takes for text any type of text, and no other", () => {
    fc.assert(
      fc.property(known, (claimed) => {
        expect(agreesWith(text, claimed)).toBe(textTypes.includes(claimed) || claimed === "text/plain");
      }),
    );
    expect(agreesWith(text, "text/x-whatever")).toBe(true);
    expect(agreesWith(text, "application/octet-stream")).toBe(false);
  });

  it("does not mind how a type is written", () => {
    const photo: Media = { kind: "image", mediaType: "image/jpeg", width: 1, height: 1, animated: false };
    expect(agreesWith(photo, " Image/JPG; q=1")).toBe(true);
    expect(agreesWith({ kind: "pdf", mediaType: "application/pdf" }, "Application/PDF")).toBe(true);
  });
});
