import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import * as encoding from "../../src/core/base64.js";
import { documentText, mediaPart } from "../../src/providers/media-part.js";
import { bytesOf } from "../attachments/samples.js";

const origin = { entryId: "e", item: 0, block: 0 };
const part = (bytes: Uint8Array, more: object = {}) =>
  mediaPart({ kind: "image", mediaType: "image/png", bytes, origin, ...more });

describe("mediaPart", () => {
  test("has its bytes as base64 and as a data URL", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        const made = part(bytes);
        const base64 = Buffer.from(bytes).toString("base64");
        expect([made.base64, made.dataUrl, made.text]).toEqual([
          base64,
          `data:image/png;base64,${base64}`,
          "",
        ]);
      }),
    );
  });

  test("encodes when it is asked, and once", () => {
    const encode = vi.spyOn(encoding, "encodeBase64");
    const made = part(Uint8Array.of(1));
    expect(encode).not.toHaveBeenCalled();
    expect([made.dataUrl, made.base64, made.dataUrl, made.base64]).toHaveLength(4);
    expect(encode).toHaveBeenCalledTimes(1);
    encode.mockRestore();
  });

  test("takes base64 that is known already, and keeps it to itself", () => {
    const made = part(Uint8Array.of(1), { base64: "known" });
    expect(made.dataUrl).toBe("data:image/png;base64,known");
    expect(Object.keys(made).toSorted()).toEqual(
      ["base64", "bytes", "dataUrl", "kind", "mediaType", "origin", "text", "type"].toSorted(),
    );
  });

  test("has the text of a document, cleaned", () => {
    const text = { kind: "document", mediaType: "text/plain" };
    expect(part(bytesOf("a\0b"), { ...text, refusesNul: true }).text).toBe("a\ufffdb");
    expect(part(bytesOf("a\0b"), text).text).toBe("a\0b");
    expect(part(bytesOf("{}"), { kind: "document", mediaType: "application/json" }).text).toBe("{}");
  });

  test("has a Buffer as plain bytes, without a copy", () => {
    const buffer = Buffer.from([9, 1, 2, 3, 9]).subarray(1, 4);
    const { bytes, base64 } = part(buffer);
    expect(bytes).toStrictEqual(Uint8Array.of(1, 2, 3));
    expect(bytes.buffer).toBe(buffer.buffer);
    expect(base64).toBe("AQID");
  });
});

describe("documentText", () => {
  test("keeps what a file begins with, and is empty for what is no text", () => {
    expect(documentText(bytesOf("\ufeffa"), false)).toBe("\ufeffa");
    expect(documentText(Uint8Array.of(0xff), false)).toBe("");
  });
});
