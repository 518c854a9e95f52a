import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeUtf8, encodeUtf8 } from "../../../src/internal/bytes.js";
import { shortLine } from "../../../src/session/format/short-line.js";

function parsed(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  if (text === undefined) return "INVALID_UTF8";
  try {
    return [JSON.parse(text)];
  } catch {
    return "INVALID_JSON";
  }
}

/** That a short line is told from an entry exactly where `JSON.parse` would tell. */
function agrees(bytes: Uint8Array): void {
  const short = shortLine(bytes);
  const expected = parsed(bytes);
  if (typeof expected === "string") {
    expect([expected, short?.diagnostics[0]?.code, short?.parsed]).toEqual([expected, expected, false]);
    return;
  }
  const [value] = expected as [unknown];
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (short === undefined) expect(bytes.length).toBeGreaterThanOrEqual(11);
  else
    expect([short.diagnostics[0]?.code, short.parsed]).toEqual([
      isObject ? "INVALID_ENTRY" : "NOT_AN_OBJECT",
      true,
    ]);
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

test("a short line is no entry exactly where JSON.parse says so", () => {
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

test("and where its bytes are not UTF-8", () => {
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

test("what is not short JSON as the standard has it is told so", () => {
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
    expect([line, shortLine(encodeUtf8(line))?.diagnostics[0]?.code]).toEqual([line, "INVALID_JSON"]);
  expect(shortLine(encodeUtf8(`{"type":""}`))).toBeUndefined();
});
