import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDataUrl } from "../../src/attachments/data-url.js";
import { base64 } from "./samples.js";

describe("parseDataUrl", () => {
  test("gives the bytes of every data URL", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 100 }),
        fc.constantFrom("image/png", "", "text/plain;a=b"),
        (bytes, type) => {
          const url = parseDataUrl(`data:${type};base64,${base64(bytes)}`);
          expect(url).toMatchObject({ mediaType: type, size: bytes.length });
          expect(url?.decode()).toEqual(bytes);
        },
      ),
    );
  });

  test.each([
    ["DATA:image/png;BASE64,Zg==", "image/png"],
    [" data: IMAGE/PNG ;base64,Zg==", "IMAGE/PNG"],
    ["data:image/svg+xml;charset=utf-8;base64,Zg==", "image/svg+xml;charset=utf-8"],
  ])("is lenient around the type: %j", (url, mediaType) => {
    expect(parseDataUrl(url)?.mediaType).toBe(mediaType);
  });

  test.each([
    "",
    "data:",
    "data:image/png;base64",
    "data:image/png,Zg==",
    "data:image/pngbase64,Zg==",
    "data:image/png;base64,Zg",
    "https://example.com/a,b",
    `data:${" ".repeat(2000)};base64,Zg==`,
  ])("reads nothing from %j", (url) => {
    expect(parseDataUrl(url)).toBeUndefined();
  });

  test.each(["Zg==\n", "Z%67==", "Zh==", "Zm9-", " Zm9v   "])(
    "has no bytes for the payload %j",
    (payload) => {
      expect(parseDataUrl(`data:image/png;base64,${payload}`)?.decode()).toBeUndefined();
    },
  );
});
