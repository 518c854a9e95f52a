import { bytesOf, type Part, png } from "../../media-files.js";
import { asking, call, first, hi, type Row, result, said, turns, user } from "./broken.js";
import { pngBlock } from "./valid.js";

const image = (data: string, mediaType = "image/png") => ({
  type: "image",
  source: { type: "base64", media_type: mediaType, data },
});
const pdf = (data: string) => ({
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data },
});
const base64 = (...parts: readonly Part[]) => btoa(String.fromCharCode(...bytesOf(...parts)));

/** Images, documents and sizes. */
export const rejectedMedia: readonly Row[] = [
  ["body-size", "33 MB", "", asking("a".repeat(33_000_000))],
  ["media-is-not-empty", "no image", `${first}.image.source.base64`, asking([image("")])],
  ["media-is-not-empty", "no PDF", `${first}.pdf.source.base64`, asking([pdf("")])],
  [
    "base64",
    "a data URL",
    `${first}.image.source.base64.data`,
    asking([image("data:image/png;base64,AAAA")]),
  ],
  [
    "base64",
    "the alphabet of URLs",
    `${first}.image.source.base64.data`,
    asking([image(`${base64(png({ width: 1, height: 1 }))}_-8=`)]),
  ],
  ["image-can-be-read", "text", `${first}.image.source.base64.data`, asking([image(base64("hello"))])],
  [
    "image-can-be-read",
    "a header cut short",
    `${first}.image.source.base64.data`,
    asking([image(base64(png({ width: 1, height: 1 }).subarray(0, 20)))]),
  ],
  [
    "image-can-be-read",
    "text in a tool's result",
    "messages.2.content.0.tool_result.content.0.image.source.base64.data",
    turns(hi, said(call("a")), user(result("a", { content: [image(base64("hello"))] }))),
  ],
  [
    "image-is-what-it-says",
    "a PNG called JPEG",
    `${first}.image.source.base64`,
    asking([image(base64(png({ width: 1, height: 1 })), "image/jpeg")]),
  ],
  ["image-bytes", "more than 10 MB", `${first}.image.source.base64`, asking([image(large())])],
  [
    "image-sides",
    "more than 8000 pixels",
    `${first}.image.source.base64.data`,
    asking([pngBlock({ width: 8001, height: 1 })]),
  ],
  [
    "image-sides",
    "the 21st image makes the first too wide",
    `${first}.image.source.base64.data`,
    asking([pngBlock({ width: 2001, height: 1 }), ...Array.from({ length: 20 }, () => pngBlock())]),
  ],
  [
    "image-count",
    "101 for a small window",
    "messages",
    asking(Array.from({ length: 101 }, () => pngBlock())),
  ],
  [
    "image-count",
    "601",
    "messages",
    asking(
      Array.from({ length: 601 }, () => pngBlock()),
      { model: "claude-opus-5" },
    ),
  ],
  ["pdf-can-be-read", "text", `${first}.pdf.source.base64.data`, asking([pdf(base64("hello"))])],
  [
    "pdf-is-not-encrypted",
    "a password",
    `${first}.pdf.source.base64.data`,
    asking([pdf(base64("%PDF-1.7 trailer << /Encrypt 5 0 R >>"))]),
  ],
  [
    "citations-all-or-none",
    "one of two",
    "messages",
    asking([{ ...pdf(base64("%PDF-1.7")), citations: { enabled: true } }, pdf(base64("%PDF-1.7"))]),
  ],
];

/** Base64 of more than 10 MB, of a PNG with a long tail. */
function large(): string {
  return Buffer.from(bytesOf(png({ width: 1, height: 1 }), new Uint8Array(7_500_000))).toString("base64");
}
