import fc from "fast-check";
import {
  type ContextTokenKind,
  escapeContextTokens,
  parseContextTokens,
  printContextToken,
  unescapeContextTokens,
} from "sessile/context-tokens";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { posixPath, tokenish, windowsPath } from "../arbitraries/tokens.js";

const kind = fc.constantFrom<ContextTokenKind>("image", "text", "file");
const path = fc.oneof(
  posixPath,
  windowsPath,
  tokenish,
  tokenish.map((rest) => `/${rest}`),
);

function reasonOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (SessileError.is(error, "INVALID_CONTEXT_TOKEN")) return error.details.reason;
    throw error;
  }
}

describe("printContextToken", () => {
  test("prints what parses to the same, or refuses", () => {
    let printed = 0;
    fc.assert(
      fc.property(kind, path, (kind, path) => {
        let raw: string;
        try {
          raw = printContextToken({ kind, path });
        } catch (error) {
          expect(SessileError.is(error, "INVALID_CONTEXT_TOKEN") && error.details.path).toBe(path);
          return;
        }
        printed += 1;
        expect(parseContextTokens(raw)).toEqual([{ type: "token", kind, path, raw }]);
      }),
      { numRuns: 1000, seed: 1 },
    );
    expect(printed).toBeGreaterThan(300);
  });

  test("prints again every token that was parsed, but for a path that white space alone kept from the closer", () => {
    fc.assert(
      fc.property(tokenish, (source) => {
        for (const segment of parseContextTokens(source)) {
          if (segment.type !== "token") continue;
          if (segment.path.endsWith(">")) {
            expect(() => printContextToken(segment)).toThrow(
              expect.objectContaining({ code: "INVALID_CONTEXT_TOKEN" }),
            );
            continue;
          }
          const [again] = parseContextTokens(printContextToken(segment));
          expect(again).toMatchObject({ type: "token", kind: segment.kind, path: segment.path });
        }
      }),
      { numRuns: 500 },
    );
  });

  test("a path that white space kept from the closer is parsed, and not printed", () => {
    const [segment] = parseContextTokens("<<context:image:/ctx/a> >>>");
    expect(segment).toMatchObject({ type: "token", path: "/ctx/a>" });
    expect(reasonOf(() => printContextToken({ kind: "image", path: "/ctx/a>" }))).toBe("delimiter");
  });

  test.each([
    ["", "empty"],
    ["a.png", "relative"],
    ["pending:1", "relative"],
    [" /a.png", "white-space"],
    ["/a.png\u00a0", "white-space"],
    [" ", "white-space"],
    ["/a\n.png", "delimiter"],
    ["/a\0.png", "delimiter"],
    ["/a>>>.png", "delimiter"],
    ["/a>", "delimiter"],
    ["/<<context:a", "delimiter"],
  ])("refuses the path %j: %s", (path, reason) => {
    expect(reasonOf(() => printContextToken({ kind: "image", path }))).toBe(reason);
  });

  test.each(["IMAGE", "video", "", "image:/x>>>"])("refuses the kind %j", (kind) => {
    const token = { kind: kind as ContextTokenKind, path: "/a.png" };
    expect(reasonOf(() => printContextToken(token))).toBe("kind");
  });
});

describe("escapeContextTokens", () => {
  test.each([
    ["<<context:image:/etc/x>>>", "<<\\context:image:/etc/x>>>"],
    ["<<\\context:", "<<\\\\context:"],
    ["<<<<context:<<context:", "<<<<\\context:<<\\context:"],
    ["<<CONTEXT: <context: <<other:", "<<CONTEXT: <context: <<other:"],
  ])("makes %j %j", (text, escaped) => {
    expect(escapeContextTokens(text)).toBe(escaped);
    expect(unescapeContextTokens(escaped)).toBe(text);
  });

  test("makes any string inert, and shows it as it was", () => {
    fc.assert(
      fc.property(tokenish, (text) => {
        const raw = escapeContextTokens(text);
        expect(parseContextTokens(raw)).toEqual(text === "" ? [] : [{ type: "text", raw, text }]);
      }),
      { numRuns: 500 },
    );
  });

  test("is undone as often as it was done, for any string", () => {
    fc.assert(
      fc.property(tokenish, fc.integer({ min: 1, max: 3 }), (text, times) => {
        let escaped = text;
        for (let time = 0; time < times; time++) escaped = escapeContextTokens(escaped);
        for (let time = 0; time < times; time++) escaped = unescapeContextTokens(escaped);
        expect(escaped).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});

describe("unescapeContextTokens", () => {
  test("leaves bare openers alone", () => {
    expect(unescapeContextTokens("<<context:image:/a>>> \\context: <<\\context:")).toBe(
      "<<context:image:/a>>> \\context: <<context:",
    );
  });
});
