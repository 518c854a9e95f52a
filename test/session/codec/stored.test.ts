import fc from "fast-check";
import { encodeEntry } from "sessile/session";
import { expect, test } from "vitest";
import { decodeBody } from "../../../src/session/codec/decode.js";
import { storedEntry } from "../../../src/session/codec/stored.js";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { sessionEntry } from "../../arbitraries/entries.js";

const maxDepth = 256;
const context = { version: 3, ordinal: 0, maxDepth };
const encoder = new TextEncoder();
const read = (line: string) => storedEntry(encoder.encode(line), line, maxDepth);

test("reads what this version writes", () => {
  fc.assert(
    fc.property(sessionEntry, fc.boolean(), fc.constantFrom("", " ", "\r"), (entry, checksum, end) => {
      const line = encodeEntry(entry, { checksum });
      fc.pre(!/__proto__|\\u00/.test(line));
      expect(read(line + end)).toEqual(entry);
    }),
  );
});

test("says of any line what the whole reading says, or nothing", () => {
  let read = 0;
  fc.assert(
    fc.property(sessionEntry, damage, (entry, changes) => {
      const bytes = damaged(encoder.encode(encodeEntry(entry, { checksum: false })), changes);
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      const stored = storedEntry(encoder.encode(text), text, maxDepth);
      if (stored === undefined) return;
      read++;
      const whole = decodeBody(encoder.encode(text), context);
      expect(whole).toMatchObject({ kind: "entry", entry: stored, notes: [] });
      expect(whole).toHaveProperty("entry", stored);
    }),
    { numRuns: 1000 },
  );
  expect(read).toBeGreaterThan(4);
});

const message = '"message":{"role":"user","content":"hi","timestamp":1}';
const start = '{"type":"message","id":"a","parentId":null,"timestamp":"t"';

test.each([
  ["a header", '{"type":"session","version":3,"id":"a","timestamp":"t","cwd":"/"}'],
  ["a type that is not known", '{"type":"other","id":"a","parentId":null,"timestamp":"t"}'],
  ["a line without a parent", `{"type":"message","id":"a","timestamp":"t",${message}}`],
  ["an empty id", `{"type":"message","id":"","parentId":null,"timestamp":"t",${message}}`],
  ["fields that do not fit", `${start},"message":{"role":"user"}}`],
  ["a block that is not known", `${start},"message":{"role":"user","content":[{"type":"x"}],"timestamp":1}}`],
  ["a __proto__ key", `${start},"__proto__":{},${message}}`],
  ["an escaped __proto__ key", `${start},"\\u005f_proto__":{},${message}}`],
  ["a wrong checksum", `${start},${message},"crc":"00000000"}`],
  ["too deep a nesting", `${start},"x":${"[".repeat(257)}${"]".repeat(257)},${message}}`],
  ["no JSON", `${start},${message}`],
  ["no object", "[1]"],
])("leaves %s to the whole reading", (_, line) => {
  expect(read(line)).toBeUndefined();
});
