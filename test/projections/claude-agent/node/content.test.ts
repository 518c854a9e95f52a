import { mediaTypeOfName } from "sessile/media";
import { describe, expect, test } from "vitest";
import { contentOf } from "../../../../src/projections/claude-agent/node/content.js";
import { jpeg, png, sof } from "../../../support/media-files.js";

const small = { width: 20, height: 10 };

describe("contentOf", () => {
  test.each([
    ["an error page", "a.png", "<!doctype html>", "CONTENT_MISMATCH"],
    ["a Git LFS pointer", "a.jpg", "version https://git-lfs.github.com/spec/v1\n", "CONTENT_MISMATCH"],
    ["a JPEG", "a.png", jpeg(sof(small)), "CONTENT_MISMATCH"],
    ["a PNG", "a.pdf", png(small), "CONTENT_MISMATCH"],
    ["a PNG", "a.txt", png(small), "CONTENT_MISMATCH"],
    ["a PDF", "a.md", "%PDF-1.7", "CONTENT_MISMATCH"],
    ["bytes of no kind", "a.webp", Uint8Array.of(0, 1, 2), "CONTENT_MISMATCH"],
    ["bytes of no kind", "a.pdf", Uint8Array.of(0, 1, 2), "CONTENT_MISMATCH"],
    ["Latin-1", "a.csv", Uint8Array.of(0x67, 0x72, 0xfc, 0xdf, 0x65), "NOT_TEXT"],
    ["UTF-16", "a.txt", Uint8Array.of(0xff, 0xfe, 0x61, 0), "NOT_TEXT"],
    ["a NUL", "a.md", "a\0b", "NOT_TEXT"],
    ["a PNG that is cut off", "a.png", png(small).slice(0, 20), "IMAGE_INVALID"],
    ["a PNG that is cut off", "a.gif", png(small).slice(0, 20), "CONTENT_MISMATCH"],
    ["nothing", "a.txt", "", "EMPTY"],
    ["nothing", "a.png", "", "EMPTY"],
    ["white space", "a.md", "\ufeff \r\n\t", "EMPTY"],
  ])("does not take %s for %s", (_, name, contents, code) => {
    const bytes = typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
    const content = contentOf({ bytes, claimed: mediaTypeOfName(name) ?? "" }, "title");
    expect("code" in content && content.code).toBe(code);
  });

  test("gives the block, the size, and what limits ask of an image", () => {
    const bytes = png(small);
    const data = Buffer.from(bytes).toString("base64");
    expect(contentOf({ bytes, claimed: "image/png" }, "title")).toEqual({
      block: { type: "image", source: { type: "base64", media_type: "image/png", data } },
      image: { kind: "image", mediaType: "image/png", ...small, animated: false },
      size: bytes.length,
    });
  });

  test("reads no further than a view of bytes", () => {
    const view = Uint8Array.from("xx%PDF-1.7xx", (each) => each.charCodeAt(0)).subarray(2, 10);
    expect(contentOf({ bytes: view, claimed: "application/pdf" }, "title")).toMatchObject({
      block: { source: { data: btoa("%PDF-1.7") } },
      size: 8,
    });
  });
});
