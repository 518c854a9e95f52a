import { fileURLToPath, pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFileUrl, pathOfFileUrl } from "../../../src/attachments/node/file-url.js";

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
