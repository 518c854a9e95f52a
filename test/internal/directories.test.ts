import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalPath, directoryTest } from "../../src/core/ids.js";

describe("one directory", () => {
  test.each([
    ["/srv/app", "/srv/app/"],
    ["/srv/app", "//srv///app//"],
    ["/srv/app", "/srv/./app/."],
    ["/srv/app", "/srv/x/../app"],
    ["/srv/app", "/../srv/app"],
    ["/", "/.."],
    ["/srv/\u00d6st", "/srv/O\u0308st"],
    ["C:\\Work\\App", "c:\\Work\\App\\"],
    ["C:\\Work\\App", "C:/Work/App"],
    ["C:\\", "c:/"],
    ["\\\\?\\C:\\Work", "c:\\Work"],
    ["\\\\host\\share\\a", "\\\\host\\share\\a\\"],
    ["work/a", "./work/a/"],
  ])("is %j and %j", (one, other) => {
    expect(canonicalPath(other)).toBe(canonicalPath(one));
    expect(directoryTest([one])(other)).toBe(true);
  });

  test.each([
    ["/srv/app", "/srv/App"],
    ["/srv/app", "srv/app"],
    ["/srv/a/b", "/srv/a-b"],
    ["/w/x\\y", "/w/x/y"],
    ["C:\\Work", "D:\\Work"],
    ["C:\\Work", "/c/Work"],
    ["C:\\Work", "\\\\c\\Work"],
    ["/srv/app", "/srv/app "],
    ["../a", "a"],
    ["/srv", "/srv/app"],
    ["", "/"],
  ])("is not %j and %j", (one, other) => {
    expect(canonicalPath(other)).not.toBe(canonicalPath(one));
    expect(directoryTest([one, "/else"])(other)).toBe(false);
  });

  test("has one spelling, which stays", () => {
    const part = fc.constantFrom("a", "B", ".", "..", "", "\u00d6", "O\u0308", "x\\y");
    const root = fc.constantFrom("/", "", "C:\\", "c:/", "\\\\", "//");
    fc.assert(
      fc.property(root, fc.array(part), (start, parts) => {
        const path = canonicalPath(start + parts.join("/"));
        expect(canonicalPath(path)).toBe(path);
        expect(path).not.toMatch(/(^|\/)\.(\/|$)|[^/:]\/$/);
      }),
    );
  });
});
