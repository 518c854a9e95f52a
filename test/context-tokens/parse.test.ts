import fc from "fast-check";
import { extractImagePaths, parseContextTokens, unescapeContextTokens } from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { tokenish } from "../arbitraries/tokens.js";
import { naiveParse } from "./naive-parse.js";

/** Segments as short lines: a text as itself, a token as `kind path`, a broken one as `!reason path`. */
function brief(source: string): readonly string[] {
  return parseContextTokens(source).map((segment) => {
    if (segment.type === "text") return segment.text;
    return `${segment.type === "token" ? segment.kind : `!${segment.reason}`} ${segment.path}`.trim();
  });
}

describe("parseContextTokens", () => {
  test.each([5, undefined, null])("refuses a source that is no string: %s", (source) => {
    expect(() => parseContextTokens(source as never)).toThrow(
      new TypeError(`source: expected a string, got ${source}`),
    );
  });

  // @covers R175 › takes the reserved kind
  // @covers R176 R187 › keeps tokens and text in order
  // @covers R195 › takes an unknown kind for text
  test.each<[string, string, readonly string[]]>([
    [
      "keeps tokens and text in order",
      "hello\n<<context:image:/a.png>>>\nworld\n<<context:text:/b.txt>>>\n<<context:image:/c.jpg>>>",
      ["hello\n", "image /a.png", "\nworld\n", "text /b.txt", "\n", "image /c.jpg"],
    ],
    ["takes the reserved kind", "<<context:file:/a.zip>>>", ["file /a.zip"]],
    ["trims, and takes a kind in any case", "<<context:  ImAgE  :  /a.png  >>>", ["image /a.png"]],
    [
      "finds a token behind an unknown kind",
      "<<context:unknown:<<context:image:/a.png>>>",
      ["<<context:unknown:", "image /a.png"],
    ],
    [
      "finds a token behind an opener",
      "<<context: hi <<context:image:/a.png>>>",
      ["<<context: hi ", "image /a.png"],
    ],
    [
      "finds a token behind one that is not closed",
      "<<context:text:/b <<context:image:/a.png>>>",
      ["<<context:text:/b ", "image /a.png"],
    ],
    ["takes an upper-case opener for text", "<<CONTEXT:image:/a.png>>>", ["<<CONTEXT:image:/a.png>>>"]],
    ["takes a > in a path", "<<context:image:/a>.png>>>", ["image /a>.png"]],
    ["takes the shortest path", "<<context:image:/a>>>>b>>>", ["image /a", ">b>>>"]],
    ["takes the last < before an opener for text", "<<<context:image:/a>>>", ["<", "image /a"]],
    ["takes an unknown kind for text", "<<context:video:/a.mp4>>>", ["<<context:video:/a.mp4>>>"]],
    ["takes a kind without a path for text", "<<context:image>>>:/a>>>", ["<<context:image>>>:/a>>>"]],
    ["takes what is not closed for text", "<<context:image:/a.png>>", ["<<context:image:/a.png>>"]],
    [
      "takes a line feed before the end for text",
      "<<context:image:/a\n.png>>> <<context:text:/b>>>",
      ["<<context:image:/a\n.png>>> ", "text /b"],
    ],
    ["takes a line feed in the kind for text", "<<context:\nimage:/a>>>", ["<<context:\nimage:/a>>>"]],
    ["takes a NUL before the end for text", "<<context:image:/a\0b>>>", ["<<context:image:/a\0b>>>"]],
    ["takes neighbours apart", "<<context:image:/a>>><<context:image:/b>>>", ["image /a", "image /b"]],
    ["breaks without a path", "a<<context:image:>>>b", ["a", "!empty", "b"]],
    ["breaks with white space for a path", "<<context:image: \t >>>", ["!empty"]],
    ["breaks a relative path", "<<context:image:a/b.png>>>", ["!relative a/b.png"]],
    ["breaks a path that begins at home", "<<context:text:~/b.txt>>>", ["!relative ~/b.txt"]],
    ["breaks a path of the current drive", "<<context:text:\\b.txt>>>", ["!relative \\b.txt"]],
    ["breaks a path below a drive's directory", "<<context:text:C:b.txt>>>", ["!relative C:b.txt"]],
    ["breaks a URL", "<<context:image:file:///a.png>>>", ["!relative file:///a.png"]],
    ["takes a drive", "<<context:text:C:\\b.txt>>><<context:text:d:/b>>>", ["text C:\\b.txt", "text d:/b"]],
    ["takes UNC", "<<context:text:\\\\srv\\share\\b.txt>>>", ["text \\\\srv\\share\\b.txt"]],
    [
      "shows what was escaped",
      "a <<\\context:image:/a>>> <<\\\\context:",
      ["a <<context:image:/a>>> <<\\context:"],
    ],
    ["says that an import is pending", "<<context:image:pending:1>>>", ["!pending pending:1"]],
    ["says that an import has failed", "<<context:text:failed:a.md: gone>>>", ["!failed failed:a.md: gone"]],
    ["gives nothing for nothing", "", []],
  ])("%s", (_, source, expected) => {
    expect(brief(source)).toEqual(expected);
  });

  // @covers R177 R194
  test("loses nothing: the raws, joined, are the source, for any string", () => {
    fc.assert(
      fc.property(tokenish, (source) => {
        const segments = parseContextTokens(source);
        expect(segments.map(({ raw }) => raw).join("")).toBe(source);
        segments.forEach((segment, at) => {
          expect(segment.raw).not.toBe("");
          if (segment.type !== "text") return;
          expect(segment.text).toBe(unescapeContextTokens(segment.raw));
          expect(segments[at + 1]?.type).not.toBe("text");
        });
      }),
      { numRuns: 500 },
    );
  });

  // @covers R174 R194
  test("follows the grammar, for any string", () => {
    fc.assert(
      fc.property(tokenish, (source) => {
        expect(parseContextTokens(source)).toEqual(naiveParse(source));
      }),
      { numRuns: 500 },
    );
  });

  // @covers R194 security:context-tokens
  test.each([
    ["openers", "<<context:"],
    ["openers with a kind", "<<context:image:/"],
    ["closers", ">>>"],
    ["backslashes", "\\"],
    ["openers that are escaped", "\\<<context:text:/a"],
    ["halves of pairs", "\uD800<<context:\uDC00"],
    ["NULs and line feeds", "<<context:image:\0\n"],
  ])("takes a megabyte of %s, with a closer at the end or without, and loses nothing", (_, part) => {
    for (const end of ["", ">>>"]) {
      const source = part.repeat(Math.ceil(1_000_000 / part.length)) + end;
      const raws = parseContextTokens(source).map(({ raw }) => raw);
      expect(raws.join("") === source).toBe(true);
    }
  });
});

describe("extractImagePaths", () => {
  // @covers R176 R192
  test("gives images in the order of their tokens, duplicates too", () => {
    const source =
      "hello\n<<context:image:/c.png>>>\nworld\n<<context:text:/b.txt>>>\n<<context:image:/a.jpg>>><<context:image:/c.png>>>";
    expect(extractImagePaths(source)).toEqual(["/c.png", "/a.jpg", "/c.png"]);
  });

  test("leaves out what is broken or outside", () => {
    const source = "<<context:image:/etc/x>>><<context:image:a.png>>><<context:image:/ctx/a.png>>>";
    expect(extractImagePaths(source, { contextDirectory: "/ctx" })).toEqual(["/ctx/a.png"]);
  });

  test("agrees with the segments, for any string", () => {
    fc.assert(
      fc.property(tokenish, (source) => {
        const paths: string[] = [];
        for (const segment of parseContextTokens(source, { contextDirectory: "/ctx" })) {
          if (segment.type === "token" && segment.kind === "image") paths.push(segment.path);
        }
        expect(extractImagePaths(source, { contextDirectory: "/ctx" })).toEqual(paths);
      }),
    );
  });
});
