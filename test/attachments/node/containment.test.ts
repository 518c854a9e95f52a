import nodePath from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  followedLink,
  isInRoots,
  isInside,
  type Root,
  seemsInRoots,
} from "../../../src/attachments/node/containment.js";

const { posix, win32 } = nodePath;

describe("isInside", () => {
  test.each([
    ["/srv/allowed", "/srv/allowed/a", true],
    ["/srv/allowed", "/srv/allowed/..x", true],
    ["/srv/allowed", "/srv/allowed/...", true],
    ["/srv/allowed", "/srv/allowed", true],
    ["/", "/a", true],
    ["/srv/allowed", "/srv/allowed_evil/a", false],
    ["/srv/allowed", "/srv", false],
    ["/srv/allowed", "/srv/allowed/../x", false],
    ["/srv/allowed", "/etc/passwd", false],
  ])("%s holds %s: %s", (root, path, inside) => {
    expect(isInside(root, path, posix)).toBe(inside);
  });

  test.each([
    ["C:\\srv", "c:\\SRV\\a", true],
    ["C:\\srv", "D:\\srv\\a", false],
    ["C:\\srv", "C:\\srv_evil", false],
    ["C:\\srv", "C:\\srv\\..x", true],
  ])("on Windows %s holds %s: %s", (root, path, inside) => {
    expect(isInside(root, path, win32)).toBe(inside);
  });

  test("is what going down from the root gives, and nothing else", () => {
    const name = fc.constantFrom("a", "b", "..", "..a", "a_b");
    const path = fc.array(name, { maxLength: 5 }).map((parts) => posix.normalize(`/${parts.join("/")}`));
    fc.assert(
      fc.property(path, path, (root, target) => {
        const clean = (text: string) => (text.endsWith("/") ? text : `${text}/`);
        expect(isInside(root, target, posix)).toBe(clean(target).startsWith(clean(root)));
      }),
    );
  });
});

const root: Root = { given: "/link", real: "/srv/allowed" };

describe("isInRoots", () => {
  test("goes by where a root really is, and takes all without roots", () => {
    expect(isInRoots([root], "/srv/allowed/a")).toBe(true);
    expect(isInRoots([root], "/link/a")).toBe(false);
    expect(isInRoots([{ given: "/gone", real: undefined }], "/gone/a")).toBe(false);
    expect(isInRoots([], "/a")).toBe(false);
    expect(isInRoots(undefined, "/a")).toBe(true);
  });
});

describe("seemsInRoots", () => {
  test("goes by either name of a root", () => {
    expect(seemsInRoots([root], "/link/a")).toBe(true);
    expect(seemsInRoots([root], "/srv/allowed/a")).toBe(true);
    expect(seemsInRoots([root], "/srv/a")).toBe(false);
  });
});

describe("followedLink", () => {
  test("does not count the links of a root itself", () => {
    expect(followedLink([root], "/link/a", "/srv/allowed/a")).toBe(false);
    expect(followedLink([root], "/srv/allowed/a", "/srv/allowed/a")).toBe(false);
    expect(followedLink([root], "/link/a", "/srv/allowed/b/a")).toBe(true);
    expect(followedLink(undefined, "/link/a", "/srv/allowed/a")).toBe(true);
    expect(followedLink(undefined, "/a/../b", "/b")).toBe(false);
  });
});
