import nodePath from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSystemPath, pathRefusal } from "../../../src/attachments/node/path-rules.js";

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
