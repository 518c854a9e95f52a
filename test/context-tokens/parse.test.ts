import { posix, win32 } from "node:path";
import fc from "fast-check";
import { parseContextTokens, unescapeContextTokens } from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { posixPath, tokenish, windowsPath } from "../arbitraries/tokens.js";
import { naiveParse } from "./naive-parse.js";

/** Segments as short lines: a text as itself, a token as `kind path`, a broken one as `!reason path`. */
function brief(source: string, contextDirectory?: string): readonly string[] {
  return parseContextTokens(source, contextDirectory === undefined ? {} : { contextDirectory }).map(
    (segment) => {
      if (segment.type === "text") return segment.text;
      return `${segment.type === "token" ? segment.kind : `!${segment.reason}`} ${segment.path}`.trim();
    },
  );
}

describe("parseContextTokens", () => {
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
      { numRuns: 1000 },
    );
  });

  test("follows the grammar, for any string", () => {
    fc.assert(
      fc.property(tokenish, (source) => {
        expect(parseContextTokens(source)).toEqual(naiveParse(source));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("parseContextTokens with a context directory", () => {
  const token = (path: string): string => `<<context:image:${path}>>>`;

  test.each<[string, string, boolean]>([
    ["/ctx", "/ctx/blobs/a.png", true],
    ["/ctx/", "/ctx//blobs/./a.png", true],
    ["/ctx/../ctx", "/x/../ctx/a.png", true],
    ["/", "/etc/x", true],
    ["/ctx", "/etc/x", false],
    ["/ctx", "/ctx/../etc/x", false],
    ["/ctx", "/ctx_evil/a.png", false],
    ["/ctx", "/ctx/../ctx_evil/a.png", false],
    ["/ctx", "/ctx/..a", true],
    ["/ctx", "/ctx", false],
    ["/ctx", "/ctx/blobs/..", false],
    ["/ctx", "/CTX/a.png", false],
    ["/ctx", "//ctx/a/b.png", false],
    ["/ctx", "C:\\ctx\\a.png", false],
    ["C:\\ctx", "c:/ctx/a.png", true],
    ["C:\\ctx", "C:\\ctx\\..\\Windows\\a", false],
    ["C:\\ctx", "D:\\ctx\\a.png", false],
    ["C:\\ctx", "C:\\ctx_evil\\a.png", false],
    ["C:\\ctx", "C:\\ctx\\.. \\a.png", false],
    ["C:\\ctx", "C:\\ctx\\a.png:stream", false],
    ["C:\\ctx", "\\\\?\\C:\\ctx\\a.png", false],
    ["C:\\ctx", "/ctx/a.png", false],
    ["\\\\srv\\share\\ctx", "\\\\SRV\\Share\\ctx\\a.png", true],
    ["\\\\srv\\share\\ctx", "//srv/share/ctx/a.png", true],
    ["\\\\srv\\share\\ctx", "\\\\srv\\share\\..\\ctx2\\a.png", false],
    ["\\\\srv\\share\\ctx", "\\\\srv\\other\\ctx\\a.png", false],
    ["\\\\srv\\share\\ctx", "\\\\evil\\share\\ctx\\a.png", false],
  ])("with %s, %s inside: %s", (directory, path, inside) => {
    expect(brief(token(path), directory)).toEqual([inside ? `image ${path}` : `!outside ${path}`]);
  });

  const below = ({ relative, isAbsolute }: typeof posix, directory: string, path: string): boolean => {
    const way = relative(directory, path);
    return way !== "" && !isAbsolute(way) && way !== ".." && !/^\.\.[\\/]/.test(way);
  };

  test("never gives a token outside a POSIX directory, and every one inside", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("/ctx", "/ctx/blobs/", "/", "/ctx/../ctx2"),
        posixPath,
        (directory, path) => {
          const [segment] = parseContextTokens(token(path), { contextDirectory: directory });
          // Two slashes at the start are left to the system by POSIX: they are not trusted.
          const trusted = !/^\/\/[^/]+\/+[^/]/.test(path);
          expect(segment?.type).toBe(trusted && below(posix, directory, path) ? "token" : "broken");
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("never gives a token outside a directory of Windows", () => {
    let tokens = 0;
    fc.assert(
      fc.property(
        fc.constantFrom("C:\\ctx", "c:/ctx/blobs", "C:\\", "\\\\srv\\share\\ctx", "//srv/share"),
        windowsPath,
        (directory, path) => {
          const [segment] = parseContextTokens(token(path), { contextDirectory: directory });
          if (segment?.type !== "token") return;
          tokens += 1;
          expect(below(win32, directory, path)).toBe(true);
        },
      ),
      { numRuns: 2000, seed: 1 },
    );
    expect(tokens).toBeGreaterThan(50);
  });

  test.each(["ctx", "", "C:ctx", "\\\\?\\C:\\ctx"])("refuses the directory %j", (contextDirectory) => {
    expect(() => parseContextTokens("", { contextDirectory })).toThrow(
      new TypeError(
        `contextDirectory: expected an absolute path, got ${contextDirectory === "" ? "an empty string" : JSON.stringify(contextDirectory)}`,
      ),
    );
  });
});
