/** From intake to request: what an attachment is, is known at intake and counts in each request. */

import { contextFrom, isResource, memoryBlobStore, type ProjectOptions, project, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { ingest, replayAlways } from "sessile/attachments";
import { bedrockConverse } from "sessile/bedrock";
import { estimateResourceTokens } from "sessile/estimate";
import { geminiContents, geminiInteractions } from "sessile/gemini";
import { checkLimits, limitProfiles } from "sessile/limits";
import { openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import {
  bmp,
  bytesOf,
  gif,
  gifFrame,
  heif,
  jpeg,
  png,
  sof,
  tiffImage,
  vp8,
  webp,
} from "../support/media-files.js";
import { pdfOf, stream } from "../support/pdf-files.js";

const size = { width: 40, height: 30 };
const targets = {
  anthropic: anthropicMessages({ model: "claude-opus-4-5" }),
  openai: openaiResponses({ model: "gpt-5.5" }),
  gemini: geminiContents({ model: "gemini-3-pro-preview" }),
  interactions: geminiInteractions({ model: "gemini-3-pro-preview" }),
  bedrock: bedrockConverse({ model: "anthropic.claude-opus-4-5-20251101-v1:0" }),
};
type TargetName = keyof typeof targets;
const names = Object.keys(targets) as TargetName[];

/** Takes bytes in, and gives what each target is sent of them. */
async function sent(
  bytes: Uint8Array,
  name: string,
  options: Partial<ProjectOptions> & { readonly mismatch?: "file" } = {},
): Promise<Partial<Record<TargetName, string>>> {
  const blobs = memoryBlobStore();
  const { mismatch = "refuse", ...rest } = options;
  const resource = await ingest({ bytes, name }, { blobs, mismatch });
  const context = contextFrom([userMessage("look", resource)]);
  const found: Partial<Record<TargetName, string>> = {};
  for (const target of names) {
    const { attachments } = await project<unknown>(context, targets[target], {
      blobs,
      replay: replayAlways,
      ...rest,
    });
    found[target] = `${attachments[0]?.sent}: ${attachments[0]?.reason}`;
  }
  return found;
}

const toAll = (outcome: string) => Object.fromEntries(names.map((name) => [name, outcome]));

describe("a cut image", () => {
  const images = [
    ["a.png", png(size)],
    ["a.jpg", jpeg(sof(size))],
    ["a.gif", gif(size, [gifFrame(300)])],
    ["a.webp", webp(vp8(size))],
    ["a.heic", heif(["heic"], size)],
    ["a.bmp", bmp(size)],
    ["a.tif", tiffImage(size, [100])],
  ] as const;

  test.each(images)("is refused at intake: %s", async (name, bytes) => {
    const cut = bytes.subarray(0, Math.floor(bytes.length * 0.9));
    const taken = ingest({ bytes: cut, name }, { blobs: memoryBlobStore() });
    await expect(taken).rejects.toMatchObject({ code: "MEDIA_INVALID", details: { reason: "truncated" } });
    await expect(ingest({ bytes, name }, { blobs: memoryBlobStore() })).resolves.toMatchObject({
      kind: "image",
    });
  });

  test("is described if it is stored as a file", async () => {
    const cut = png(size).subarray(0, 50);
    expect(await sent(cut, "a.png", { mismatch: "file" })).toEqual(toAll("descriptor: unknownType"));
  });

  test("is described if it is inline", async () => {
    const data = Buffer.from(png(size)).toString("base64").slice(0, 60);
    const message = {
      role: "user" as const,
      timestamp: 1,
      content: [{ type: "image" as const, mimeType: "image/png", data }],
    };
    for (const name of names) {
      const { attachments } = await project<unknown>(contextFrom([message]), targets[name]);
      expect(attachments[0]).toMatchObject({ sent: "descriptor", reason: "invalid" });
    }
  });
});

describe("an image of a type that few providers take", () => {
  test("keeps its type and size", async () => {
    const blobs = memoryBlobStore();
    expect(await ingest({ bytes: heif(["heic"], size), name: "a.HEIC" }, { blobs })).toMatchObject({
      kind: "image",
      mediaType: "image/heic",
      ...size,
    });
  });

  test("goes to who takes it", async () => {
    const taken = "bytes: currentTurn";
    const outcomes = { ...toAll("descriptor: unsupported"), gemini: taken, interactions: taken };
    expect(await sent(heif(["heic"], size), "IMG_0001.HEIC")).toEqual(outcomes);
    expect(await sent(heif(["mif1", "heic"], size), "a.heif")).toEqual(outcomes);
  });

  test.each([
    ["a.heic", heif(["heic"], size), "image/heic", ["anthropic", "openai", "bedrock"]],
    ["a.avif", heif(["avif"], size), "image/avif", names],
    ["a.bmp", bmp(size), "image/bmp", names],
    ["a.tiff", tiffImage(size, [100]), "image/tiff", names],
    ["no name", tiffImage(size, [100]), "image/tiff", names],
  ] as const)("can be converted by the caller: %s", async (name, bytes, mediaType, asking) => {
    const asked: string[] = [];
    const resize = (image: { readonly mediaType: string; readonly width?: number }) => {
      asked.push(`${image.mediaType} ${image.width}`);
      return png({ width: 8, height: 8 });
    };
    const outcomes = await sent(bytes, name, { resize });
    for (const outcome of Object.values(outcomes)) expect(outcome).toMatch(/^bytes: /);
    expect(asked).toEqual(asking.map(() => `${mediaType} ${size.width}`));
  });

  test("is refused if its bytes are of another kind, and kept if they are unknown", async () => {
    const blobs = memoryBlobStore();
    const html = bytesOf("<html>not found</html>");
    await expect(ingest({ bytes: html, name: "a.heic" }, { blobs })).rejects.toMatchObject({
      code: "MEDIA_TYPE_MISMATCH",
      details: { declared: "image/heic", actual: "text/plain" },
    });
    const unknown = bytesOf("II+", [0, 8, 0, 0, 0, 0, 0, 0, 0]);
    expect(await ingest({ bytes: unknown, name: "large.tiff" }, { blobs })).toMatchObject({
      kind: "file",
      mediaType: "application/octet-stream",
    });
  });
});

describe("a PDF", () => {
  const locked = "/Encrypt<</Filter/Standard/V 2/R 3/Length 128/O(x)/U(x)/P -4>>/ID[<00><00>]";

  test("has its pages and its encryption in the resource, for limits and estimates", async () => {
    const blobs = memoryBlobStore();
    const resource = await ingest({ bytes: pdfOf(60), name: "a.pdf" }, { blobs });
    expect(resource).toMatchObject({ kind: "file", mediaType: "application/pdf", pages: 60 });
    expect(isResource(resource)).toBe(true);
    expect(estimateResourceTokens(resource, { pdf: "gemini" })).toBe(60 * 258);
    const encrypted = await ingest({ bytes: pdfOf(1, { trailer: locked }), name: "a.pdf" }, { blobs });
    expect(encrypted).toMatchObject({ pages: 1, encrypted: true });
    const rules = checkLimits([encrypted], limitProfiles.anthropic).map(({ rule }) => rule);
    expect(rules).toEqual(["encryption"]);
    await expect(
      ingest({ bytes: pdfOf(700) }, { blobs, limits: limitProfiles.anthropic }),
    ).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  });

  test.each([
    [60, ""],
    [3, stream("", "\u0001".repeat(2_000_000))],
  ])("of %i pages costs what its pages cost, not its bytes", async (pages, extra) => {
    const blobs = memoryBlobStore();
    const resource = await ingest({ bytes: pdfOf(pages, { extra }) }, { blobs });
    const { usage } = await project(contextFrom([userMessage("look", resource)]), targets.anthropic, {
      blobs,
    });
    expect(usage.documents).toBe(pages * (3000 + 1568));
  });

  test("that needs a password goes to nobody", async () => {
    expect(await sent(pdfOf(2, { trailer: locked }), "a.pdf")).toEqual(toAll("descriptor: invalid"));
  });

  test("of too many pages goes to who takes so many", async () => {
    expect(await sent(pdfOf(700), "a.pdf")).toMatchObject({
      anthropic: "descriptor: overLimit",
      gemini: "bytes: currentTurn",
    });
  });

  test("that is encrypted and opens without a password goes to who does not refuse it", async () => {
    const open =
      "/Encrypt<</Filter/Standard/V 2/R 3/Length 128/P -4/O<77b8fb098022d3ab34237ea5643c08710ea5123fc5f88bf993a68cca5f12b40f>/U<b877678d12cd09ae5480e3754cad75ba0122456a91bae5134273a6db134c87c4>>>/ID[<31415926535897932384626433832795>]";
    const outcomes = await sent(pdfOf(2, { trailer: open }), "a.pdf");
    expect(outcomes).toMatchObject({
      anthropic: "descriptor: overLimit",
      openai: "bytes: currentTurn",
      gemini: "bytes: currentTurn",
    });
  });
});

test("text in UTF-16 reaches a model as UTF-8", async () => {
  const words = "name;größe\n1;2\n";
  const little = Buffer.from(`\ufeff${words}`, "utf16le");
  const outcomes = Object.values(await sent(Uint8Array.from(little), "t.csv"));
  for (const outcome of outcomes) expect(outcome).toMatch(/^(?:bytes|text): /);
  const blobs = memoryBlobStore();
  for (const bytes of [little, Buffer.from(little).swap16()]) {
    const resource = await ingest({ bytes: Uint8Array.from(bytes), name: "t.csv" }, { blobs });
    for (const name of names) {
      const { value } = await project<unknown>(contextFrom([userMessage("look", resource)]), targets[name], {
        blobs,
      });
      const shown = JSON.stringify(value, (_, part) =>
        part instanceof Uint8Array ? Buffer.from(part).toString() : part,
      );
      const base64 = Buffer.from(words).toString("base64");
      expect(shown.includes("größe") || shown.includes(base64)).toBe(true);
    }
  }
});

describe("text in another encoding", () => {
  const words = "größe;€\n";
  const bytes = Uint8Array.of(0x67, 0x72, 0xf6, 0xdf, 0x65, 0x3b, 0x80, 0x0a);
  const stored = async (source: { bytes: Uint8Array; name?: string; mediaType?: string }, label: string) => {
    const blobs = memoryBlobStore();
    const resource = await ingest(source, { blobs, textEncoding: label });
    return { ...resource, bytes: await blobs.get(resource.blob) };
  };

  test.each([
    ["Windows-1252 by its name", "windows-1252", { bytes, name: "t.csv" }],
    ["Windows-1252 by its type", "Windows-1252", { bytes, mediaType: "text/csv; charset=ansi" }],
    [
      "UTF-16 without a mark",
      "utf-16le",
      { bytes: new Uint8Array(Buffer.from(words, "utf16le")), name: "a.txt" },
    ],
    ["UTF-8, which counts first", "windows-1252", { bytes: bytesOf(words), name: "a.txt" }],
  ])("is stored as UTF-8: %s", async (_, label, source) => {
    const utf8 = bytesOf(words);
    expect(await stored(source, label)).toMatchObject({
      kind: "file",
      mediaType: "text/plain",
      size: utf8.length,
      bytes: utf8,
    });
  });

  test.each([
    ["it is not said to be text", "windows-1252", { bytes, name: "t.bin" }],
    ["it has NUL", "windows-1252", { bytes: bytesOf(bytes, [0]), name: "t.csv" }],
    ["the encoding has no such bytes", "utf-8", { bytes, name: "t.csv" }],
    ["the option names none", undefined, { bytes, name: "t.csv" }],
  ])("stays as it is if %s", async (_, label, source) => {
    const resource = await stored(source, label as string);
    expect(resource).toMatchObject({ mediaType: "application/octet-stream", bytes: source.bytes });
  });

  test("counts against the bound as it is stored, and its label is checked", async () => {
    const blobs = memoryBlobStore();
    const source = { bytes, name: "t.csv" };
    await expect(
      ingest(source, { blobs, textEncoding: "windows-1252", maxBytes: bytes.length }),
    ).rejects.toMatchObject({ code: "BLOB_TOO_LARGE" });
    await expect(ingest(source, { blobs, textEncoding: "klingon" })).rejects.toThrow(
      'textEncoding: expected a label of TextDecoder, got "klingon"',
    );
  });
});
