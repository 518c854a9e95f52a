import fc from "fast-check";
import { encodeEntry } from "sessile/session";
import { describe, expect, test } from "vitest";
import {
  type EntryHead,
  entryIdOf,
  parseEntryPrefix,
  parseTimestamp,
  printTimestamp,
} from "../../../src/session/format/entry-prefix.js";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { sessionEntry } from "../../arbitraries/entries.js";
import { hexId, timestamp } from "../../arbitraries/values.js";

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const slice = (line: string) => parseEntryPrefix(encoder.encode(line));

/** What a head says, in the words of the line. */
function told(head: EntryHead): unknown {
  const { time, id, parentId, ...rest } = head;
  const parent = parentId === null ? null : entryIdOf(parentId);
  return { ...rest, id: entryIdOf(id), parentId: parent, timestamp: printTimestamp(time) };
}

interface Line {
  readonly type: unknown;
  readonly id: unknown;
  readonly parentId: unknown;
  readonly timestamp: unknown;
  readonly message?: { readonly role?: unknown };
}

/** What a head of the line has to say. */
function wanted(line: Line): unknown {
  const { type, id, parentId, timestamp } = line;
  return { type, id, parentId, timestamp, ...(type === "message" ? { role: line.message?.role } : {}) };
}

const isPlain = (text: unknown) =>
  text === null || (typeof text === "string" && text.length <= 4096 && /^(?:(?!["\\])[ -~])*$/.test(text));

describe("sliceHead", () => {
  test("says of an entry's line what JSON.parse says, if it says anything", () => {
    fc.assert(
      fc.property(sessionEntry, fc.boolean(), (entry, checksum) => {
        const line = encodeEntry(entry, { checksum });
        const head = slice(line);
        const parsed: Line = JSON.parse(line);
        const canonical = [parsed.type, parsed.id, parsed.parentId, parsed.timestamp].every(isPlain);
        expect(head === undefined).toBe(!canonical);
        if (head !== undefined) expect(told(head)).toEqual(wanted(parsed));
      }),
      { numRuns: 500 },
    );
  });

  test("agrees with JSON.parse or says nothing, whatever becomes of the bytes", () => {
    let both = 0;
    fc.assert(
      fc.property(sessionEntry, hexId, damage, (entry, id, changes) => {
        const bytes = damaged(encoder.encode(encodeEntry({ ...entry, id, parentId: null })), changes);
        const head = parseEntryPrefix(bytes);
        if (head === undefined) return;
        let parsed: Line;
        try {
          parsed = JSON.parse(strict.decode(bytes));
        } catch {
          return;
        }
        both++;
        expect(told(head)).toEqual(wanted(parsed));
      }),
      { numRuns: 2000 },
    );
    expect(both).toBeGreaterThan(20);
  });

  test("gives ids and times of any length whole, or leaves them to the parser", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.constantFrom("id", "timestamp"), (length, key) => {
        const entry = { type: "custom", id: "a", parentId: null, timestamp: "t", customType: "c" };
        const line = JSON.stringify({ ...entry, [key]: "x".repeat(length) });
        const head = slice(line);
        if (head !== undefined) expect(told(head)).toEqual(wanted(JSON.parse(line)));
        if (length <= 4096) expect(head).toBeDefined();
      }),
    );
  });

  test.each([
    ["the header", '{"type":"session","id":"a","parentId":null,"timestamp":"t"}'],
    ["another order", '{"id":"a","type":"label","parentId":null,"timestamp":"t"}'],
    ["space", '{"type": "label","id":"a","parentId":null,"timestamp":"t"}'],
    ["an escape", '{"type":"label","id":"\\u0061","parentId":null,"timestamp":"t"}'],
    ["an empty id", '{"type":"label","id":"","parentId":null,"timestamp":"t"}'],
    ["a number for the parent", '{"type":"label","id":"a","parentId":5,"timestamp":"t"}'],
    [
      "a message without its role",
      '{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{}}',
    ],
    ["a torn line", '{"type":"label","id":"a","parentId":null,"timestamp":"t","targetId":"b'],
    ["padding", '{"type":"label","id":"a","parentId":null,"timestamp":"t"}\0\0'],
    ["nothing", ""],
    ["an end alone", "}"],
  ])("leaves %s to the parser", (_, line) => {
    expect(slice(line)).toBeUndefined();
  });

  test.each(["\r", " ", "\r\r"])("takes a line that ends with %j", (end) => {
    expect(slice(`{"type":"label","id":"a","parentId":"b","timestamp":"t"}${end}`)).toEqual({
      type: "label",
      id: "a",
      parentId: "b",
      time: "t",
    });
  });
});

describe("timeOf and timestampOf", () => {
  const lookalike = fc
    .record({ at: fc.nat({ max: 23 }), page: fc.integer({ min: 1, max: 255 }), time: timestamp })
    .map(({ at, page, time }) =>
      Array.from(time, (character, index) =>
        index === at ? String.fromCharCode((character.charCodeAt(0) & 0xff) + page * 256) : character,
      ).join(""),
    );

  test("are inverse for any text", () => {
    fc.assert(
      fc.property(fc.oneof(timestamp, lookalike), (time) => {
        expect(printTimestamp(parseTimestamp(time))).toBe(time);
      }),
      { numRuns: 500 },
    );
  });

  test("know every date that toISOString writes with four digits of the year", () => {
    const date = fc.integer({
      min: Date.parse("0000-01-01T00:00:00.000Z"),
      max: Date.parse("9999-12-31T23:59:59.999Z"),
    });
    fc.assert(
      fc.property(date, (time) => {
        expect(parseTimestamp(new Date(time).toISOString())).toBe(time);
      }),
      { numRuns: 2000 },
    );
  });

  test("take the same texts for a date as Date does", () => {
    const digits = (max: number, length: number) =>
      fc.nat({ max }).map((value) => String(value).padStart(length, "0"));
    const text = fc
      .tuple(
        digits(9999, 4),
        digits(14, 2),
        digits(33, 2),
        digits(25, 2),
        digits(61, 2),
        digits(61, 2),
        digits(999, 3),
      )
      .map(([y, mo, d, h, mi, s, ms]) => `${y}-${mo}-${d}T${h}:${mi}:${s}.${ms}Z`);
    fc.assert(
      fc.property(text, (text) => {
        const date = new Date(text);
        const canonical = !Number.isNaN(date.getTime()) && date.toISOString() === text;
        expect(parseTimestamp(text)).toBe(canonical ? date.getTime() : text);
      }),
      { numRuns: 2000 },
    );
  });

  test.each(["2000-02-29", "1900-02-29", "2024-02-29", "2023-02-29", "0000-02-29", "2023-04-31"])(
    "know whether %s was a day",
    (day) => {
      const text = `${day}T12:00:00.000Z`;
      const isDay = new Date(text).toISOString() === text;
      expect(typeof parseTimestamp(text)).toBe(isDay ? "number" : "string");
    },
  );
});
