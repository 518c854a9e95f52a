import fc from "fast-check";
import { expect, test } from "vitest";
import { bodyBytesOf } from "../../../../src/projections/claude-agent/node/content.js";

const text = fc.oneof(
  fc.string({ unit: "binary" }).map((value) => value.toWellFormed()),
  // Around the places where long text is taken apart.
  fc.nat(3).map((before) => `${"a".repeat(65_533 + before)}😀\u0001"\\é`),
);

test("counts a block as JSON does", () => {
  fc.assert(
    fc.property(text, text, (data, title) => {
      const blocks = [
        { type: "text", text: data } as const,
        { type: "document", source: { type: "text", media_type: "text/plain", data }, title } as const,
        {
          type: "image",
          source: { type: "base64", media_type: "image/png", data: btoa(title.slice(0, 0)) },
        } as const,
      ];
      for (const block of blocks) expect(bodyBytesOf(block)).toBe(Buffer.byteLength(JSON.stringify(block)));
    }),
  );
});

test("counts base64 as it is", () => {
  const source = { type: "base64", media_type: "application/pdf", data: "AAAA" } as const;
  const block = { type: "document", source, title: "ä.pdf" } as const;
  expect(bodyBytesOf(block)).toBe(Buffer.byteLength(JSON.stringify(block)));
});
