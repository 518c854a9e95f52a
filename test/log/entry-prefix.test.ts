import fc from "fast-check";
import { encodeEntry } from "sessile";
import { describe, expect, test } from "vitest";
import { hexDigit } from "../../src/log/entry-prefix.js";
import {
  type EntryHead,
  EntryPrefix,
  parseEntryPrefix,
  parseTimestamp,
  printTimestamp,
  toEntryId,
  toEntryKey,
} from "../../src/log/internal.js";
import { damage, damaged } from "../arbitraries/bytes.js";
import { sessionEntry } from "../arbitraries/entries.js";
import { hexId, timestamp } from "../arbitraries/values.js";

describe("the prefix of an entry", () => {
  const encoder = new TextEncoder();
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const slice = (line: string) => parseEntryPrefix(encoder.encode(line));

  /** What a head says, in the words of the line. */
  function told(head: EntryHead): unknown {
    const { time, id, parentId, ...rest } = head;
    const parent = parentId === null ? null : toEntryId(parentId);
    return { ...rest, id: toEntryId(id), parentId: parent, timestamp: printTimestamp(time) };
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

  describe("parseEntryPrefix", () => {
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
        fc.property(
          fc.integer({ min: 1, max: 10_000 }),
          fc.constantFrom("id", "timestamp"),
          (length, key) => {
            const entry = { type: "custom", id: "a", parentId: null, timestamp: "t", customType: "c" };
            const line = JSON.stringify({ ...entry, [key]: "x".repeat(length) });
            const head = slice(line);
            if (head !== undefined) expect(told(head)).toEqual(wanted(JSON.parse(line)));
            if (length <= 4096) expect(head).toBeDefined();
          },
        ),
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

  describe("parseTimestamp and printTimestamp", () => {
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
});

describe("prefixes of a run of lines", () => {
  const encoder = new TextEncoder();
  const userMessage = { role: "user", content: "a", timestamp: 0 } as const;
  const toolResult = {
    role: "toolResult",
    toolCallId: "t",
    toolName: "n",
    content: [],
    isError: false,
    timestamp: 0,
  } as const;
  const assistant = { role: "assistant", content: [], provider: "p", model: "m", timestamp: 0 } as const;
  const message = fc.constantFrom(userMessage, toolResult, assistant);
  /** Close to each other, so that what a line has in common with the one before it is met. */
  const time = fc.oneof(
    fc.integer({ min: 1_700_000_000_000, max: 1_700_000_200_000 }),
    fc.constantFrom(0, 951_782_400_000, 951_868_799_999, 253_402_300_799_999),
  );
  const id = fc.oneof(hexId, fc.constantFrom("00000000", "ffffffff", "deadbeef", "a", "0123456789abcdef"));
  const plain = fc.record({ id, parentId: fc.option(id), time, message });
  const line = (id: string, parentId: string | null, time: number | string, message = userMessage) =>
    encodeEntry({ type: "message", id, parentId, timestamp: new Date(time).toISOString(), message });

  /** What a reader that read other lines before says, compared with a new one's; whether it says anything. */
  function agree(reader: EntryPrefix, bytes: Uint8Array, start = 0, end = bytes.length): boolean {
    const expected = parseEntryPrefix(bytes.slice(start, end));
    const isRead = reader.read(bytes, start, end);
    expect(isRead).toBe(expected !== undefined);
    if (!isRead) return false;
    const { type, id, parentId, time, role } = reader;
    expect({ type, id, parentId, time, ...(role === undefined ? {} : { role }) }).toEqual(expected);
    return true;
  }

  test("are those of each line alone", () => {
    fc.assert(
      fc.property(fc.array(plain, { minLength: 1, maxLength: 20 }), fc.boolean(), (all, isChain) => {
        const lines = all.map(({ id, parentId, time, message }, at) => {
          const parent = isChain && at > 0 ? (all[at - 1]?.id ?? null) : parentId;
          return line(id, parent, time, message as typeof userMessage);
        });
        const bytes = encoder.encode(lines.join("\n"));
        const reader = new EntryPrefix();
        let start = 0;
        for (const each of lines) {
          const end = start + encoder.encode(each).length;
          expect(agree(reader, bytes, start, end)).toBe(true);
          start = end + 1;
        }
      }),
    );
  });

  test("are those of each line alone, also where lines are damaged", () => {
    const reader = new EntryPrefix();
    let read = 0;
    let refused = 0;
    const short = plain.map(({ id, time }) => line(id, "0badcafe", time));
    const text = fc.oneof(
      sessionEntry.map((entry) => encodeEntry(entry)),
      short,
    );
    const place = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constant(1));
    const change = fc.tuple(place, fc.oneof(fc.nat(255), fc.constantFrom(...encoder.encode('"}\\0a '))));
    fc.assert(
      fc.property(text, fc.array(change, { maxLength: 2 }), (text, changes) => {
        const bytes = encoder.encode(text);
        for (const [part, byte] of changes) bytes[Math.round(part * (bytes.length - 1))] = byte;
        if (agree(reader, bytes)) read++;
        else refused++;
      }),
      { numRuns: 1000 },
    );
    expect(Math.min(read, refused)).toBeGreaterThan(100);
  });

  test("take each byte for what it is, whatever was read before", () => {
    const first = encoder.encode(line("0123abcd", "00000000", "2026-01-01T00:00:59.999Z"));
    const second = encoder.encode(line("0123abce", "0123abcd", "2026-01-01T00:00:00.000Z"));
    for (let at = 0; at < 130; at++) {
      for (const byte of [0x00, 0x20, 0x22, 0x2f, 0x30, 0x39, 0x3a, 0x5c, 0x61, 0x66, 0x67, 0x7d, 0xff]) {
        const reader = new EntryPrefix();
        expect(agree(reader, first)).toBe(true);
        const changed = second.slice();
        changed[at] = byte;
        if (!agree(reader, changed)) continue;
        try {
          JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(changed));
        } catch {
          continue;
        }
        const { id, parentId, timestamp } = JSON.parse(new TextDecoder().decode(changed));
        expect(told(reader)).toEqual({ id, parentId, timestamp });
      }
    }
    // A parent of NULs is not the id that was not read yet.
    const nul = second.slice();
    nul.fill(0, second.indexOf(0x30, 40), second.indexOf(0x30, 40) + 8);
    expect(agree(new EntryPrefix(), nul)).toBe(false);
  });

  function told({ id, parentId, time }: EntryPrefix): unknown {
    const parent = parentId === null ? null : toEntryId(parentId);
    return { id: toEntryId(id), parentId: parent, timestamp: printTimestamp(time) };
  }

  test("end with their bytes, wherever a line is cut", () => {
    for (const message of [userMessage, assistant, toolResult]) {
      const text = line("00000001", "00000000", 0, message as typeof userMessage);
      for (let length = 0; length <= text.length; length++) {
        const bytes = encoder.encode(length === 0 ? "" : `${text.slice(0, length - 1)}}`);
        expect(() => new EntryPrefix().read(bytes)).not.toThrow();
        expect(() => new EntryPrefix().read(bytes, 0, bytes.length, true)).not.toThrow();
      }
    }
  });
});

describe("keys of ids", () => {
  const nearlyHex = fc
    .array(fc.constantFrom(..."0123456789abcdefABCDEFg/:`é"), { minLength: 7, maxLength: 9 })
    .map((characters) => characters.join(""));

  test("entryIdOf inverts entryKeyOf for any id, and only eight lower-case hexadecimal digits are a number", () => {
    fc.assert(
      fc.property(fc.oneof(hexId, nearlyHex, fc.string()), (id) => {
        const key = toEntryKey(id);
        expect(toEntryId(key)).toBe(id);
        expect(typeof key === "number").toBe(/^[0-9a-f]{8}$/.test(id));
      }),
    );
  });

  test("every 32-bit number is the key of one id", () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), (key) => {
        expect(toEntryKey(toEntryId(key))).toBe(key);
      }),
    );
  });

  test("hexDigit knows the sixteen digits and no other character", () => {
    for (let code = 0; code < 256; code++) {
      const digit = "0123456789abcdef".indexOf(String.fromCharCode(code));
      expect(hexDigit(code)).toBe(digit);
    }
  });
});
