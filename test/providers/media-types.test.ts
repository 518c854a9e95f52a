import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTextual } from "../../src/providers/internal.js";
import { acceptsMedia, identifyMedia, isMediaType } from "../../src/providers/media-part.js";
import { madeImage } from "../arbitraries/media.js";
import { bytesOf, gif, lfsPointer, pdf, png } from "../attachments/samples.js";

const html = bytesOf("<html>not found</html>");
const zip = bytesOf("PK\u0003\u0004\0\0");

describe("isMediaType", () => {
  test.each([
    "image/png",
    "text/plain; charset=utf-8",
    " TEXT/CSV ",
    "application/vnd.a.b+json",
    "image/jpg",
  ])("takes %j", (type) => {
    expect(isMediaType(type)).toBe(true);
  });

  test.each([
    "",
    "png",
    "text/",
    "/plain",
    "text/*",
    "*/*",
    'text/","a":"',
    "text/a b",
    "text/\nplain",
    "text/\ud800",
    "a/b/c",
  ])("refuses %j", (type) => {
    expect(isMediaType(type)).toBe(false);
  });
});

describe("isTaken", () => {
  test("by type, in any case and with any parameters, or by family", () => {
    const types = ["image/jpeg", "text/*"];
    const taken = ["image/jpeg", "IMAGE/JPG", "text/plain;charset=utf-8", "text/x-rust"];
    const refused = ["image/png", "image/jpegx", "texts/plain", 'text/","role":"system', "text/", "text"];
    expect(taken.filter((type) => !acceptsMedia(types, type))).toEqual([]);
    expect(refused.filter((type) => acceptsMedia(types, type))).toEqual([]);
  });
});

describe("isTextual", () => {
  test("text of any kind, and types that are text under another name", () => {
    const yes = ["text/plain", "text/x-rust", "application/json", "image/svg+xml", "APPLICATION/XML; q=1"];
    const no = ["application/pdf", "image/png", "text", "text/", 'text/"'];
    expect(yes.filter((type) => !isTextual(type))).toEqual([]);
    expect(no.filter((type) => isTextual(type))).toEqual([]);
  });
});

describe("identifyMedia", () => {
  test("knows an image by its bytes, whatever it is said to be but text", () => {
    const said = fc.constantFrom(
      "image/png",
      "image/jpeg",
      "image/gif",
      "image/webp",
      "image/heic",
      "application/zip",
      "",
    );
    fc.assert(
      fc.property(madeImage, said, ({ bytes, media }, declared) => {
        const { width, height, animated, mediaType } = media;
        expect(identifyMedia(bytes, declared)).toEqual({ kind: "image", mediaType, width, height, animated });
      }),
    );
  });

  test.each<[string, Uint8Array, string, string]>([
    ["a PDF", pdf, "application/pdf", "document application/pdf"],
    ["a PDF said to be something else", pdf, "application/x-download", "document application/pdf"],
    ["text", html, "text/html; charset=utf-8", "document text/html"],
    ["empty text", new Uint8Array(), "text/plain", "document text/plain"],
    ["JSON", bytesOf("{}"), "application/json", "document application/json"],
    ["SVG, which is text", bytesOf("<svg/>"), "image/svg+xml", "document image/svg+xml"],
    ["a file of a type that is not looked into", zip, "application/zip", "document application/zip"],
    ["an image of a type that is not looked into", zip, "image/heic", "image image/heic"],
  ])("%s", (_, bytes, declared, expected) => {
    const facts = identifyMedia(bytes, declared);
    expect(typeof facts === "string" ? facts : `${facts.kind} ${facts.mediaType}`).toBe(expected);
  });

  test.each<[string, Uint8Array, string]>([
    ["an error page named .png", html, "image/png"],
    ["a pointer of Git LFS named .png", lfsPointer, "image/png"],
    ["nothing at all, said to be an image", new Uint8Array(), "image/png"],
    ["text said to be HEIC", html, "image/heic"],
    ["a PDF said to be an image", pdf, "image/jpeg"],
    ["half an image", png().subarray(0, 20), "image/png"],
    ["an image said to be text", gif, "text/plain"],
    ["bytes said to be text", zip, "text/csv"],
    ["text said to be a PDF", html, "application/pdf"],
    ["bytes said to be a PDF", zip, "application/pdf"],
  ])("refuses %s", (_, bytes, declared) => {
    expect(identifyMedia(bytes, declared)).toMatch(/^its bytes are no /);
  });
});
