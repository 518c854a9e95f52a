import nodePath from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  followedLink,
  isFileUrl,
  isInRoots,
  isInside,
  isLexicallyInRoots,
  isSystemPath,
  pathOfFileUrl,
  pathRefusal,
  type Root,
} from "../../../src/storage/files/attachments/read-local-file.js";

describe("pathRefusal on POSIX", () => {
  test.each([
    ["", "malformed"],
    ["/a\0b", "malformed"],
    ["/a\ud83d", "malformed"],
    [`/${"a".repeat(4095)}`, "malformed"],
    [`/${"ä".repeat(2048)}`, "malformed"],
    ["notes.txt", "relative"],
    ["./a", "relative"],
    ["~/a", "relative"],
    ["C:\\a", "relative"],
    ["https://example.com/a.png", "url"],
    ["data://x", "url"],
    ["/proc/self/environ", "system"],
    ["//proc/1/fd/0", "system"],
    ["/home/../proc/self/root/etc/passwd", "system"],
    ["/dev/zero", "system"],
    ["/dev/fd/0", "system"],
    ["/sys/kernel", "system"],
    ["/proc", "system"],
  ])("refuses %j: %s", (path, reason) => {
    expect(pathRefusal(path, "posix")).toMatchObject({ reason });
  });

  test.each([
    "/a",
    "/a/..x",
    "/procession/a",
    "/devices",
    "/home/proc/a",
    "/a b./c.",
    "/a:b",
    "/NUL",
    `/${"a".repeat(4094)}`,
  ])("takes %s", (path) => {
    expect(pathRefusal(path, "posix")).toBeUndefined();
  });
});

describe("isSystemPath", () => {
  test("agrees with the platform on what `.` and `..` mean", () => {
    const part = fc.constantFrom("..", ".", "", "proc", "sys", "dev", "a", "..a");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const path = `/${parts.join("/")}`;
        const [, first = ""] = nodePath.posix.normalize(path).split("/");
        expect(isSystemPath(path)).toBe(["proc", "sys", "dev"].includes(first));
      }),
    );
  });
});

describe("pathRefusal on Windows", () => {
  test.each([
    ["\\\\server\\share\\a.png", "windowsName"],
    ["//server/share/a.png", "windowsName"],
    ["\\\\?\\C:\\a", "windowsName"],
    ["\\\\.\\PhysicalDrive0", "windowsName"],
    ["//./pipe/x", "windowsName"],
    ["\\??\\C:\\a", "windowsName"],
    ["C:a", "relative"],
    ["C:", "relative"],
    ["\\a", "relative"],
    ["/a", "relative"],
    ["a\\b", "relative"],
    ["C:\\a.txt:stream", "windowsName"],
    ["C:\\a.txt::$DATA", "windowsName"],
    ["C:\\NUL", "windowsName"],
    ["C:\\nul.png", "windowsName"],
    ["C:\\nul.tar.gz", "windowsName"],
    ["C:\\x\\Com1.txt", "windowsName"],
    ["C:\\COM\u00b9", "windowsName"],
    ["C:\\lpt0", "windowsName"],
    ["C:\\aux\\a.png", "windowsName"],
    ["C:\\con .txt", "windowsName"],
    ["C:\\CONIN$", "windowsName"],
    ["C:\\a.", "windowsName"],
    ["C:\\a \\b", "windowsName"],
    ["C:\\...\\b", "windowsName"],
    ["C:\\a?", "windowsName"],
    ["C:\\a\u0007", "windowsName"],
    [`C:\\${"a".repeat(32_768)}`, "malformed"],
    ["C:\\a\0", "malformed"],
    ["https://example.com", "url"],
  ])("refuses %j: %s", (path, reason) => {
    expect(pathRefusal(path, "windows")).toMatchObject({ reason });
  });

  test.each([
    "C:\\a.png",
    "c:/users/me/a.png",
    "C:\\a\\..\\b",
    "C:\\console.txt",
    "C:\\com10",
    "C:\\.env",
    "C:\\",
  ])("takes %s", (path) => {
    expect(pathRefusal(path, "windows")).toBeUndefined();
  });
});

describe("pathOfFileUrl", () => {
  test.each([
    ["file:///tmp/notes.txt", "/tmp/notes.txt"],
    ["FILE:///tmp/notes.txt", "/tmp/notes.txt"],
    ["file:/tmp/notes.txt", "/tmp/notes.txt"],
    ["file://localhost/tmp/a", "/tmp/a"],
    ["file://LocalHost/tmp/a", "/tmp/a"],
    ["file:///tmp/a%20b%23c%3F", "/tmp/a b#c?"],
    ["file:///tmp/gr%C3%B6%C3%9Fe", "/tmp/größe"],
    ["file:///a%5Cb", "/a\\b"],
  ])("%s is %s", (url, path) => {
    expect(pathOfFileUrl(url, "posix")).toBe(path);
  });

  test.each([
    "file://evil.host/x",
    "file://127.0.0.1/x",
    "file://user@localhost/x",
    "file:///ws/report#final.pdf",
    "file:///ws/report?v=2",
    "file:///ws/report#",
    "file://",
    "file:notes.txt",
    "file:",
    "file:///a%00b",
    "file:///a%2Fb",
    "file:///a%2fb",
    "file:///a%zz",
    "file:///a%ff",
    "file:///a\\b",
    "file:///a\tb",
    "file:///a\nb",
  ])("refuses %j", (url) => {
    expect(pathOfFileUrl(url, "posix")).toMatchObject({ reason: "url" });
  });

  test.each([
    ["file:///C:/a/b.png", "C:\\a\\b.png"],
    ["file:///c:/a%20b", "c:\\a b"],
    ["file:///a/b", "/a/b"],
  ])("on Windows %s is %s", (url, path) => {
    expect(pathOfFileUrl(url, "windows")).toBe(path);
  });

  test("on Windows an escaped backslash is refused", () => {
    expect(pathOfFileUrl("file:///C:/a%5C..%5Cb", "windows")).toMatchObject({ reason: "url" });
  });

  test("takes back what the platform makes of any path", () => {
    const part = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
        const url = pathToFileURL(`/${parts.join("/")}`).href;
        fc.pre(!url.includes("%00"));
        expect(pathOfFileUrl(url, "posix")).toBe(fileURLToPath(url));
      }),
    );
  });

  test("says the same as the platform's parser, or refuses", () => {
    const piece = fc.constantFrom(
      "file:",
      "/",
      "//",
      "localhost",
      "a",
      "%41",
      "%2f",
      "%00",
      "?",
      "#",
      "..",
      " ",
      "é",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const path = pathOfFileUrl(`file:///${pieces.join("")}`, "posix");
        // Dot segments are left to the file system, which follows links before it goes up.
        if (typeof path !== "string" || /(^|\/)\.\.?(\/|$)/.test(path.trimEnd())) return;
        expect(path.trimEnd()).toBe(fileURLToPath(`file:///${pieces.join("")}`).trimEnd());
      }),
    );
  });
});

describe("isFileUrl", () => {
  test.each(["file:///a", "FILE:/a", "file:x"])("takes %s", (text) => expect(isFileUrl(text)).toBe(true));
  test.each(["/file:", "C:\\a", "https://a", "files:/a", ""])("leaves %j", (text) =>
    expect(isFileUrl(text)).toBe(false),
  );
});

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

describe("isLexicallyInRoots", () => {
  test("goes by either name of a root", () => {
    expect(isLexicallyInRoots([root], "/link/a")).toBe(true);
    expect(isLexicallyInRoots([root], "/srv/allowed/a")).toBe(true);
    expect(isLexicallyInRoots([root], "/srv/a")).toBe(false);
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
