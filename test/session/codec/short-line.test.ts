import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, encodeUtf8 } from "../../../src/internal/bytes.js";
import { decodeLine } from "../../../src/session/format/decode.js";

function parsed(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  if (text === undefined) return "INVALID_UTF8";
  try {
    return [JSON.parse(text)];
  } catch {
    return "INVALID_JSON";
  }
}

/** Compares the decoding of a line that is no entry with `JSON.parse`. */
function agrees(bytes: Uint8Array): void {
  const decoded = decodeLine(bytes, { version: 3, ordinal: 1, maxDepth: 256 });
  const expected = parsed(bytes);
  if (typeof expected === "string") {
    expect(decoded).toMatchObject({ kind: "bad", parsed: false, diagnostics: [{ code: expected }] });
    return;
  }
  const [value] = expected as [unknown];
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const code = isObject ? "INVALID_ENTRY" : "NOT_AN_OBJECT";
  const diagnostics = expect.arrayContaining([expect.objectContaining({ code })]);
  expect(decoded).toMatchObject({ kind: "bad", parsed: true, diagnostics });
}

const piece = fc.constantFrom(
  ...'{}[]",:\\/ \t\rbfnrtu0123456789-+.eEx',
  "true",
  "false",
  "null",
  '"a"',
  '"\\u00e9"',
  '"a":',
  "1e5",
  "-0",
  "01",
  "1.",
  "é",
  "字",
  "🧷",
  "\u0001",
);

test("a short line is JSON exactly if JSON.parse accepts it", () => {
  const text = fc.array(piece, { maxLength: 10 }).map((pieces) => pieces.join(""));
  const cut = fc.tuple(fc.json({ maxDepth: 2 }), fc.nat(64)).map(([json, end]) => json.slice(0, end));
  fc.assert(
    fc.property(fc.oneof(text, fc.json({ maxDepth: 2 }), cut), (line) => {
      const bytes = encodeUtf8(line.toWellFormed());
      fc.pre(bytes.length <= 64 && line.trim() !== "");
      agrees(bytes);
    }),
    { numRuns: 3000 },
  );
});

test("and is UTF-8 exactly if the decoder accepts it", () => {
  const byte = fc.oneof(
    fc.nat(255),
    fc.constantFrom(0xc0, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0x80, 0xbf, 0x9f, 0xa0, 0x8f, 0x90),
  );
  fc.assert(
    fc.property(fc.array(byte, { minLength: 1, maxLength: 6 }), (inner) => {
      agrees(
        Uint8Array.from([
          0x22,
          ...inner.filter((each) => each >= 0x20 && each !== 0x22 && each !== 0x5c),
          0x22,
        ]),
      );
    }),
    { numRuns: 3000 },
  );
});

test("short lines that RFC 8259 does not allow are INVALID_JSON", () => {
  for (const line of [
    "{",
    "{}x",
    "[1,]",
    '{"a"}',
    '{"a":1,}',
    "-",
    "1.e5",
    "1e+",
    "00",
    "nul",
    '"\\x"',
    '"\\u00g0"',
    '"\t"',
  ])
    expect([line, decodeLine(encodeUtf8(line), { version: 3, ordinal: 1, maxDepth: 256 })]).toMatchObject([
      line,
      { kind: "bad", parsed: false, diagnostics: [{ code: "INVALID_JSON" }] },
    ]);
});
