import fc from "fast-check";
import { encodeEntry, type SessionEntry } from "sessile/session";
import { describe, expect, test } from "vitest";
import { userMessage } from "../../../src/content/index.js";
import { concatBytes } from "../../../src/internal/bytes.js";
import { decodeBody } from "../../../src/session/codec/decode.js";
import { StoredMessages, storedEntry } from "../../../src/session/codec/stored.js";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { sessionEntry } from "../../arbitraries/entries.js";
import { hexId } from "../../arbitraries/values.js";

const maxDepth = 256;
const context = { version: 3, ordinal: 0, maxDepth };
const encoder = new TextEncoder();
const read = (line: string) => storedEntry(encoder.encode(line), line, maxDepth);

test("reads what this version writes", () => {
  fc.assert(
    fc.property(sessionEntry, fc.boolean(), (entry, checksum) => {
      const line = encodeEntry(entry, { checksum });
      fc.pre(!/__proto__|\\u00/.test(line));
      expect(read(line)).toEqual(entry);
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

describe("messages in the form that nearly all have", () => {
  const inForm = fc
    .tuple(sessionEntry, hexId, hexId, fc.integer({ min: 0, max: 4e12 }))
    .map(([entry, id, parentId, time]): SessionEntry => {
      const timestamp = new Date(time).toISOString();
      const message = entry.type === "message" ? entry.message : userMessage("a");
      return { type: "message", id, parentId, timestamp, message };
    });
  const lineOf = (entry: SessionEntry, checksum: boolean) => encoder.encode(encodeEntry(entry, { checksum }));
  const textOf = (bytes: Uint8Array) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  /** Lines one after the other in one array, as a read gives them. */
  const together = (lines: readonly Uint8Array[]): readonly Uint8Array[] => {
    const bytes = concatBytes(lines);
    let at = 0;
    return lines.map(({ length }) => {
      at += length;
      return bytes.subarray(at - length, at);
    });
  };

  test("are read as they were written, in a chain and out of it", () => {
    let read = 0;
    fc.assert(
      fc.property(
        fc.array(inForm, { minLength: 1 }),
        fc.boolean(),
        fc.boolean(),
        (all, checksum, isChain) => {
          const entries = all.map((entry, at) =>
            isChain && at > 0 ? { ...entry, parentId: all[at - 1]?.id ?? null } : entry,
          );
          const messages = new StoredMessages(maxDepth);
          const lines = together(entries.map((entry) => lineOf(entry, checksum)));
          for (const [at, bytes] of lines.entries()) {
            const stored = messages.read(bytes, textOf(bytes));
            if (stored === undefined) continue;
            read++;
            expect(stored).toEqual(entries[at]);
            expect(JSON.stringify(stored)).toBe(encodeEntry(stored, { checksum: false }));
          }
        },
      ),
    );
    expect(read).toBeGreaterThan(100);
  });

  test("are, damaged, what the whole reading says they are, or nothing", () => {
    let read = 0;
    const sealed = fc.boolean();
    fc.assert(
      fc.property(fc.array(fc.tuple(inForm, sealed, damage), { minLength: 1 }), (all) => {
        const messages = new StoredMessages(maxDepth);
        const lines = all.map(([entry, checksum, changes]) => {
          return encoder.encode(textOf(damaged(lineOf(entry, checksum), changes)));
        });
        for (const bytes of together(lines)) {
          const stored = messages.read(bytes, textOf(bytes));
          if (stored === undefined) continue;
          read++;
          const whole = decodeBody(bytes, context);
          expect(whole).toMatchObject({ kind: "entry", notes: [] });
          expect(whole).toHaveProperty("entry", stored);
        }
      }),
      { numRuns: 500 },
    );
    expect(read).toBeGreaterThan(20);
  });

  const head =
    '{"type":"message","id":"00000001","parentId":"00000000","timestamp":"2026-11-22T08:00:00.000Z"';
  const hello = '"message":{"role":"user","content":"hi","timestamp":1}';
  const readOne = (line: string) => new StoredMessages(maxDepth).read(encoder.encode(line), line);

  test.each([
    ["with a field that comes later", `${head},${hello},"x":1}`],
    ["with a second message", `${head},${hello},"message":{"role":"user","content":"no","timestamp":1}}`],
    ["with a wrong checksum", `${head},${hello},"crc":"00000000"}`],
    ["with an escape that may hide a key", `${head},${hello.replace("hi", "\\u005f_proto__")}}`],
    ["nested too deep", `${head},${hello.slice(0, -1)},"x":${"[".repeat(255)}${"]".repeat(255)}}}`],
    ["that does not fit", `${head},"message":{"role":"user","content":1,"timestamp":1}}`],
    ["without a parent", `${head.replace('"00000000"', "null")},${hello}}`],
    ["that is cut", `${head},${hello}`],
  ])("leaves one %s to others", (_, line) => {
    expect(readOne(`${head},${hello}}`)).toBeDefined();
    expect(readOne(line)).toBeUndefined();
  });
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
