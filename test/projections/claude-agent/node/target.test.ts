import { type LimitProfile, limitProfiles } from "sessile/limits";
import { describe, expect, test } from "vitest";
import { contentOf, type FileContent } from "../../../../src/projections/claude-agent/node/content.js";
import { targetCheck } from "../../../../src/projections/claude-agent/node/target.js";
import { png } from "../../../support/media-files.js";

function file(bytes: Uint8Array, claimed = "image/png"): FileContent {
  const content = contentOf({ bytes, claimed }, "a");
  if ("code" in content) expect.fail(content.reason);
  return content;
}

const image = (side: number, bytes = 0) =>
  file(png({ width: side, height: side }, [], [new Uint8Array(bytes)]));
const text = (value: string) => file(new TextEncoder().encode(value), "text/plain");

describe("targetCheck", () => {
  test("is Anthropic's own API where none is named, and nobody's for null", () => {
    const wide = image(8001);
    expect(targetCheck(undefined, undefined)(wide)?.code).toBe("TARGET_LIMIT");
    expect(targetCheck(undefined, { profile: limitProfiles.anthropic })(wide)?.code).toBe("TARGET_LIMIT");
    expect(targetCheck(undefined, null)(wide)).toBeUndefined();
  });

  test("refuses the image with which others would be too large, and takes smaller files after it", () => {
    const check = targetCheck(undefined, undefined);
    for (let count = 0; count < 20; count++) expect(check(image(3000))).toBeUndefined();
    expect(check(image(10))?.reason).toContain("imageSide 2000");
    expect(check(text("a"))).toBeUndefined();
  });

  test("refuses the 101st image, or the 601st where the context is large", () => {
    for (const [contextWindow, most] of [
      [200_000, 100],
      [1_000_000, 600],
    ] as const) {
      const check = targetCheck(undefined, { profile: limitProfiles.anthropic, contextWindow });
      for (let count = 0; count < most; count++) expect(check(image(10))).toBeUndefined();
      expect(check(image(10))?.reason).toContain(`imageCount ${most}`);
    }
  });

  test("knows the transports of a profile", () => {
    const { anthropic } = limitProfiles;
    const five = image(10, 4_000_000);
    expect(targetCheck(undefined, { profile: anthropic, transport: "api" })(five)).toBeUndefined();
    expect(targetCheck(undefined, { profile: anthropic, transport: "bedrock" })(five)?.reason).toContain(
      "imageBytes 5000000",
    );
    expect(() => targetCheck(undefined, { profile: anthropic, transport: "pigeon" })).toThrow(RangeError);
  });

  test("counts the body as it is sent: what JSON escapes, and the text before the files", () => {
    const controls = text("\u0001".repeat(6_000_000));
    expect(targetCheck(undefined, undefined)(controls)?.reason).toContain("bodyBytes 32000000");
    expect(targetCheck(undefined, undefined)(text("a".repeat(6_000_000)))).toBeUndefined();
    const some = text("\u0001".repeat(3_000_000));
    const check = targetCheck(undefined, undefined);
    expect(check(some)).toBeUndefined();
    expect(check(some)?.reason).toContain("bodyBytes");
    const long = { type: "text", text: "\n".repeat(15_000_000) } as const;
    expect(targetCheck(long, undefined)(text("a".repeat(3_000_000)))?.reason).toContain("bodyBytes");
    expect(targetCheck(long, undefined)(text("a".repeat(1_000_000)))).toBeUndefined();
  });

  test("counts the text as text", () => {
    const row = { scope: "request", evidence: "inferred", asOf: "2026-11-21", source: "none" } as const;
    const profile: LimitProfile = {
      name: "own",
      transports: ["any"],
      rows: [{ rule: "textCharacters", value: 3, unit: "characters", ...row }],
    };
    const check = (value: string) => targetCheck({ type: "text", text: value }, { profile })(image(10));
    expect(check("abc")).toBeUndefined();
    expect(check("abcd")?.reason).toContain("textCharacters 3");
  });

  test("holds files against any profile: types, and the sum of a message", () => {
    const row = { scope: "message", evidence: "inferred", asOf: "2026-11-21", source: "none" } as const;
    const profile: LimitProfile = {
      name: "own",
      transports: ["any"],
      rows: [
        { rule: "fileTypes", value: ["text/plain"], unit: "mediaType", ...row, scope: "item" },
        { rule: "fileBytes", value: 5, unit: "decodedBytes", ...row },
      ],
    };
    const check = targetCheck(undefined, { profile });
    expect(check(image(10))?.reason).toContain("own: fileTypes text/plain (mediaType), got image/png");
    expect(check(text("four"))).toBeUndefined();
    expect(check(text("ab"))?.reason).toContain("own: fileBytes 5");
    expect(check(text("a"))).toBeUndefined();
  });
});
