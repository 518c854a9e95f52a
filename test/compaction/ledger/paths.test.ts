import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pathsFrom } from "../../../src/compaction/file-ledger/paths.js";

const directories = [
  undefined,
  "/",
  "/w",
  "/w/x y/",
  "C:\\repo",
  "d:/a/b",
  "\\\\Server\\share\\dir",
  "w",
  "",
];
const piece = fc.constantFrom(
  "/",
  "\\",
  ".",
  "..",
  "a",
  "b c",
  "ä",
  "%41",
  "%",
  "%00",
  "file://",
  "C:",
  "c:",
  "~",
  "?",
  "#",
  "//",
  "\\\\",
  "localhost",
  "UNC",
  "\n",
  "\ud800",
);
const path = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
  fc.string({ unit: "binary" }),
);
const key = (cwd: string | undefined, each: string) => pathsFrom(cwd).keyOf(each)?.path;

describe("a path", () => {
  test("keeps its spelling once it has it, below any directory", () => {
    fc.assert(
      fc.property(fc.constantFrom(...directories), path, (cwd, each) => {
        const once = key(cwd, each);
        if (once !== undefined) expect(key(cwd, once)).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });

  test("has neither empty names nor dots, but where it leads above a start that is not known", () => {
    fc.assert(
      fc.property(path, (each) => {
        const found = key("/w", each);
        if (found === undefined || found === "." || found === "/") return;
        const names = (found.startsWith("/") ? found.slice(1) : found).split("/");
        for (const name of names) expect(["", ".", ".."]).not.toContain(name);
      }),
    );
  });

  const name = fc.constantFrom("a", "b.ts", "ä", "x y", "..a", "%41");
  test("is one in all spellings", () => {
    const noise = fc.constantFrom("", "./", "/", "up/../", ".//");
    fc.assert(
      fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), fc.array(noise), (names, noises) => {
        const noisy = names.map((each, at) => (noises[at] ?? "").replace(/^\//, "./") + each).join("/");
        const plain = names.join("/");
        const url = `file:///w/x/${names.map(encodeURIComponent).join("/")}`;
        for (const each of [
          plain,
          noisy,
          `./${noisy}/`,
          `/w/x/${noisy}`,
          `../x/${noisy}`,
          url,
          `//w//x/${plain}`,
        ]) {
          expect(key("/w/x", each)).toBe(plain);
        }
        const backslashes = noisy.replaceAll("/", "\\");
        for (const each of [
          plain,
          noisy,
          backslashes,
          `C:\\w\\${backslashes}`,
          `c:/w/${noisy}`,
          `\\w\\${backslashes}`,
          `\\\\?\\C:\\w\\${plain}`,
        ]) {
          expect(key("c:\\w", each)).toBe(plain);
        }
      }),
    );
  });

  test.each([
    ["/w", "/w", "."],
    ["/w", "/", "/"],
    ["/w", "../a", "/a"],
    ["/w", "/wx/a", "/wx/a"],
    ["/w", "a\\b", "a\\b"],
    ["/w", "C:\\a", "C:\\a"],
    ["/w", "file://host/a", "file:/host/a"],
    ["/w", "file:///C:/a", "/C:/a"],
    ["/w", "file:///a%20b?c#d", "/a b"],
    ["/w", "FILE://localhost/w/100%", "100%"],
    ["/", "/a", "a"],
    ["/", "../../a", "a"],
    [undefined, "./a/../b", "b"],
    [undefined, "../a/../../b", "../../b"],
    [undefined, "/a/../../b/", "/b"],
    [undefined, "c:\\a\\.\\b", "C:/a/b"],
    [undefined, "./c:/a", "./c:/a"],
    ["C:\\repo", "c:\\Repo\\a", "C:/Repo/a"],
    ["C:\\repo", "D:a", "D:/a"],
    ["C:\\repo", "c:a", "a"],
    ["C:\\repo", ".\\d:x", "./d:x"],
    ["C:\\repo", "file:///C:/repo/a%20b", "a b"],
    ["C:\\repo", "file://Host/Share/a", "//host/share/a"],
    ["C:\\repo", "\\\\?\\UNC\\Host\\Share\\a", "//host/share/a"],
    ["\\\\Host\\Share\\d", "\\\\host\\share\\d\\a", "a"],
    ["file:///w", "/w/a", "a"],
    ["w", "/w/a", "/w/a"],
  ])("in %j, %j is %j", (cwd, each, expected) => {
    expect(key(cwd, each)).toBe(expected);
  });

  test.each(["", "\0", "a\0", "file:///a%00", "a".repeat(4097)])("%j is none", (each) => {
    expect(key("/w", each)).toBeUndefined();
  });

  test("is none where the directory makes it too long", () => {
    expect(key(`/${"w".repeat(4000)}`, `../${"a".repeat(4000)}`)).toHaveLength(4001);
    expect(key(`/${"w".repeat(4000)}/x`, `../${"a".repeat(4000)}`)).toBeUndefined();
  });
});
