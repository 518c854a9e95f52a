import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limitItem, sentBytes } from "../../src/providers/enforce-limits.js";
import { mediaPart } from "../../src/providers/media-part.js";
import { image } from "../attachments/samples.js";
import { work } from "./samples.js";

const origin = { entryId: "m3", item: 3, block: 0 };
const document = (bytes: Uint8Array, mediaType: string) =>
  mediaPart({ kind: "document", mediaType, bytes, origin });

describe("limitItem", () => {
  test("tells what is sent, not what the resource says of itself", () => {
    const one = work(image(1, { size: 999, width: 9000 }), 3);
    one.draft.media = mediaPart({
      kind: "image",
      mediaType: "image/gif",
      bytes: new Uint8Array(5),
      origin,
      width: 10,
      height: 20,
      animated: true,
    });
    expect(limitItem(one, undefined)).toEqual({
      kind: "image",
      mediaType: "image/gif",
      size: 5,
      message: 3,
      width: 10,
      height: 20,
      animated: true,
    });
  });

  test("tells of what the provider has already its size in pixels, and no bytes", () => {
    const resource = image(1);
    const one = work(resource, 3);
    const reference = { kind: "file", id: "f" } as const;
    one.draft.media = {
      type: "reference",
      kind: "image",
      mediaType: "image/png",
      reference,
      resource,
      origin,
    };
    expect(limitItem(one, undefined)).toEqual({
      kind: "image",
      mediaType: "image/png",
      size: 0,
      message: 3,
      width: 640,
      height: 480,
    });
    expect(sentBytes(one.draft.media)).toBe(0);
  });
});

describe("sentBytes", () => {
  test("is the length of base64 for what is no text", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
        expect(sentBytes(document(bytes, "application/pdf"))).toBe(
          Buffer.from(bytes).toString("base64").length,
        );
      }),
    );
  });

  test("is no less than what a text takes, as base64 or as JSON", () => {
    const type = fc.constantFrom("text/plain", "application/json", "image/svg+xml");
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", '"', "\n", "\u0001", "é", "😀") }),
        type,
        (text, mediaType) => {
          const size = sentBytes(document(new TextEncoder().encode(text), mediaType));
          expect(size).toBeGreaterThanOrEqual(Buffer.from(JSON.stringify(text)).length);
          expect(size).toBeGreaterThanOrEqual(Buffer.from(text).toString("base64").length);
        },
      ),
    );
  });
});
