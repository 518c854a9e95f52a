import type { MediaPart, ReferencePart } from "sessile";
import { describe, expect, test } from "vitest";
import { claudeShownBlock } from "../../src/providers/internal.js";

const origin = { entryId: "e", item: 0 };
const resource = {
  resourceId: "res_0123456789abcdef",
  kind: "file",
  source: "upload",
  mediaType: "application/pdf",
  size: 1,
  blob: "sha256:",
  contentSha256: "",
} as const;

function media(fields: Partial<MediaPart>): MediaPart {
  return {
    type: "media",
    kind: "document",
    mediaType: "application/pdf",
    bytes: new Uint8Array(),
    base64: "QQ==",
    dataUrl: "",
    text: "",
    origin,
    ...fields,
  };
}

function reference(fields: Partial<ReferencePart>): ReferencePart {
  const file = { kind: "file", id: "file_1" } as const;
  return { type: "reference", kind: "document", mediaType: "", reference: file, resource, origin, ...fields };
}

describe("claudeShownBlock", () => {
  test.each([
    [{ type: "text", text: "a", origin } as const, { type: "text", text: "a" }],
    [
      media({ kind: "image", mediaType: "image/webp" }),
      { type: "image", source: { type: "base64", media_type: "image/webp", data: "QQ==" } },
    ],
    [
      media({ name: "a.pdf" }),
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "QQ==" },
        title: "a.pdf",
      },
    ],
    [
      media({ mediaType: "text/markdown", text: "# a", name: " " }),
      { type: "document", source: { type: "text", media_type: "text/plain", data: "# a" } },
    ],
    [reference({ name: "a" }), { type: "document", source: { type: "file", file_id: "file_1" }, title: "a" }],
    [
      reference({ kind: "image", reference: { kind: "url", url: "https://example.com/a" } }),
      { type: "image", source: { type: "url", url: "https://example.com/a" } },
    ],
    [media({ kind: "image", mediaType: "image/bmp" }), { type: "text", text: "[image/bmp]" }],
  ])("%#", (part, block) => {
    expect(claudeShownBlock(part)).toEqual(block);
  });
});
