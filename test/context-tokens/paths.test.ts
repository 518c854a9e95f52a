import { posix, win32 } from "node:path";
import fc from "fast-check";
import { parseContextTokens } from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { posixPath, windowsPath } from "../arbitraries/tokens.js";

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
    const raw = token(path);
    expect(parseContextTokens(raw, { contextDirectory: directory })).toEqual([
      inside
        ? { type: "token", kind: "image", path, raw }
        : { type: "broken", kind: "image", reason: "outside", path, raw },
    ]);
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
      { numRuns: 500 },
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
