import type { NeutralRequest, Target, UserPart } from "sessile";
import { estimateImageTokens, estimateResourceTokens, estimateTextTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { mediaPart } from "../../src/providers/media-part.js";
import { requestUsage } from "../../src/providers/usage.js";
import { bytesOf, image, png } from "../attachments/samples.js";
import { plainTarget } from "./samples.js";

const origin = { entryId: "e", item: 0 };
const text = (words: string) => ({ type: "text", text: words, origin }) as const;
const tokens = estimateTextTokens;

function usage(request: Partial<NeutralRequest>, more: Partial<Target<NeutralRequest>> = {}) {
  return requestUsage({ system: [], turns: [], ...request }, plainTarget(more));
}
const shown = (...parts: readonly UserPart[]) => ({
  turns: [{ role: "user", results: [], parts }] as const,
});
const picture = (size: object) =>
  mediaPart({ kind: "image", mediaType: "image/png", bytes: png(), origin, ...size });
const document = (bytes: Uint8Array, mediaType: string) =>
  mediaPart({ kind: "document", mediaType, bytes, origin });
const pages = (count: number) =>
  estimateResourceTokens({ mediaType: "application/pdf", size: count * 50_000 });

describe("usageOf", () => {
  test("counts text wherever it stands", () => {
    const result = {
      type: "result",
      callId: "c",
      storedCallId: "c",
      name: "t",
      isError: false,
      origin,
    } as const;
    const call = {
      type: "call",
      id: "c",
      storedId: "c",
      name: "read_file",
      own: true,
      first: true,
      origin,
    } as const;
    const counted = usage({
      system: [text("be brief and kind")],
      turns: [
        {
          role: "user",
          results: [{ ...result, parts: [text("the result of it")] }],
          parts: [text("and now what")],
        },
        {
          role: "assistant",
          parts: [
            text("let me think of it"),
            { type: "reasoning", text: "hm, what now", signature: "s", redacted: false, origin },
            { ...call, arguments: { path: "a/b/c.ts" } },
            { type: "opaque", data: { some: "thing" }, origin },
          ],
        },
      ],
    });
    const all = [
      "be brief and kind",
      "the result of it",
      "and now what",
      "let me think of it",
      "hm, what now",
      "read_file",
      '{"path":"a/b/c.ts"}',
      '{"some":"thing"}',
    ];
    const expected = all.reduce((sum, one) => sum + tokens(one), 0);
    expect(counted).toEqual({
      text: expected,
      images: 0,
      documents: 0,
      tools: 0,
      // A request, its instructions and two turns, and a call.
      framing: 3 + 3 * 4 + 12,
      total: expected + 27,
      bytes: 0,
      imageCount: 0,
    });
  });

  test("counts images as the target's family does, those of tools' results and those that it has already too", () => {
    const size = { width: 1000, height: 1000 };
    const reference = { kind: "file", id: "f" } as const;
    const had = {
      type: "reference",
      kind: "image",
      mediaType: "image/png",
      reference,
      resource: image(1, size),
      origin,
    } as const;
    const result = {
      type: "result",
      callId: "c",
      storedCallId: "c",
      name: "t",
      isError: false,
      origin,
    } as const;
    const turns = [{ role: "user", results: [{ ...result, parts: [picture(size)] }], parts: [had] }] as const;
    const counted = usage({ turns });
    expect(counted).toMatchObject({
      images: 2 * 1296,
      imageCount: 2,
      bytes: png().length,
      text: 0,
      total: 2592 + 7,
    });
    const tiles = usage({ turns }, { estimate: { image: "openai4o" } });
    expect(tiles.images).toBe(2 * estimateImageTokens(size, "openai4o"));
  });

  test("counts an image of unknown or impossible size as the largest one", () => {
    const largest = 1568;
    const sizes = [
      {},
      { width: 0, height: 5 },
      { width: 10 },
      { width: Number.NaN, height: 1 },
      { width: 1.5, height: 1 },
    ];
    for (const size of sizes) expect(usage(shown(picture(size))).images).toBe(largest);
    expect(usage(shown(picture({ width: 2 ** 31 - 1, height: 1 }))).images).toBeGreaterThan(0);
  });

  test("counts documents by their text, or by pages that their size lets one guess", () => {
    const csv = "a,b,c\n".repeat(100);
    expect(usage(shown(document(bytesOf(csv), "text/csv")))).toMatchObject({
      documents: tokens(csv),
      text: 0,
    });
    expect(usage(shown(document(new Uint8Array(0), "application/pdf"))).documents).toBe(pages(1));
    expect(usage(shown(document(new Uint8Array(120_000), "application/pdf"))).documents).toBe(pages(3));
    const reference = { kind: "file", id: "f" } as const;
    const had = (mediaType: string, size: number) =>
      ({
        type: "reference",
        kind: "document",
        mediaType,
        reference,
        resource: image(1, { mediaType, size }),
        origin,
      }) as const;
    expect(usage(shown(had("application/pdf", 50_001))).documents).toBe(pages(2));
    expect(usage(shown(had("text/plain", 300)))).toMatchObject({ documents: 100, bytes: 0 });
  });
});
