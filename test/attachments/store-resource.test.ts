import { describe, expect, test } from "vitest";
import { identify, newResourceId, resourceIdFrom } from "../../src/attachments/ingest.js";
import { bytesOf, failureOf, gif, lfsPointer, pdf, png } from "./samples.js";

const svg = bytesOf('<svg xmlns="http://www.w3.org/2000/svg"/>');
const html = bytesOf("<!doctype html><title>404</title>");
const brokenPng = png().slice(0, 20);

describe("identify", () => {
  test("goes by the bytes, whatever is claimed", () => {
    const image = { kind: "image", mediaType: "image/png", width: 7, height: 5, animated: false };
    for (const claims of [
      {},
      { name: "a.png" },
      { name: "a.txt", mediaType: "image/jpeg" },
      { mediaType: "text/html" },
    ]) {
      expect(identify(png(7, 5), claims, "refuse")).toEqual(image);
    }
    expect(identify(gif, { name: "a.png" }, "refuse").mediaType).toBe("image/gif");
  });

  test.each([
    ["a PDF", pdf, "application/pdf"],
    ["text", bytesOf("hello"), "text/plain"],
    ["SVG that says so", svg, "text/plain"],
    ["no known bytes", Uint8Array.of(0, 1, 2, 0xff), "application/octet-stream"],
  ])("keeps %s as a file", (_, bytes, mediaType) => {
    expect(identify(bytes, { name: "x.svg", mediaType: "image/svg+xml" }, "refuse")).toEqual({
      kind: "file",
      mediaType,
    });
  });

  test.each([
    ["SVG named .png", svg, { name: "logo.png" }, "image/png", "text/plain"],
    ["an HTML error page named .png", html, { name: "shot.PNG" }, "image/png", "text/plain"],
    ["a Git LFS pointer named .png", lfsPointer, { name: "a.png" }, "image/png", "text/plain"],
    ["a PDF declared as a JPEG", pdf, { mediaType: "image/jpeg" }, "image/jpeg", "application/pdf"],
    ["nothing at all named .gif", new Uint8Array(), { name: "a.gif" }, "image/gif", "text/plain"],
    [
      "unknown bytes named .webp",
      Uint8Array.of(0, 1),
      { name: "a.webp" },
      "image/webp",
      "application/octet-stream",
    ],
  ])("refuses %s, or keeps it as a file", async (_, bytes, claims, declared, actual) => {
    expect(await failureOf(() => identify(bytes, claims, "refuse"))).toEqual({
      code: "MEDIA_TYPE_MISMATCH",
      details: { declared, actual },
    });
    expect(identify(bytes, claims, "file")).toEqual({ kind: "file", mediaType: actual });
  });

  test("says of no bytes at all that they are empty", () => {
    expect(() => identify(new Uint8Array(), { name: "a.png" }, "refuse")).toThrow(
      "declared as image/png, but is empty",
    );
  });

  test("refuses bytes that begin as an image and are none, or keeps them as what they are: unknown", async () => {
    expect(await failureOf(() => identify(brokenPng, {}, "refuse"))).toEqual({
      code: "MEDIA_INVALID",
      details: { mediaType: "image/png", reason: "truncated" },
    });
    expect(identify(brokenPng, {}, "file")).toEqual({ kind: "file", mediaType: "application/octet-stream" });
  });
});

describe("newResourceId", () => {
  test("gives res_ and 16 hexadecimal digits, another each time", () => {
    const ids = Array.from({ length: 1000 }, newResourceId);
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^res_[0-9a-f]{16}$/);
  });
});

describe("resourceIdFrom", () => {
  test("takes ids of a caller's own that have the form", () => {
    expect(resourceIdFrom(() => "res_00000000000000ab")).toBe("res_00000000000000ab");
    expect(resourceIdFrom(undefined)).toMatch(/^res_/);
    for (const id of ["", "res_1", "res_00000000000000AB", "x res_0123456789abcdef", 5]) {
      expect(() => resourceIdFrom(() => id as string)).toThrow(TypeError);
    }
  });
});
