import fc from "fast-check";
import { encodeEntry } from "sessile";
import { describe, expect, test } from "vitest";
import {
  appendChecksum,
  findChecksum,
  LineSplitter,
  parseLine,
  removeChecksum,
} from "../../src/log/internal.js";
import { cuts, damage, damaged, piecesOf } from "../arbitraries/bytes.js";
import { sessionEntry } from "../arbitraries/entries.js";
import { jsonValue } from "../arbitraries/values.js";

describe("the JSON of a line", () => {
  const encoder = new TextEncoder();
  const parse = (line: string, maxDepth = 256) => parseLine(encoder.encode(line), maxDepth);
  const codes = (line: string, maxDepth?: number) => {
    const parsed = parse(line, maxDepth);
    return parsed.ok ? parsed.diagnostics.map((note) => note.code) : [parsed.code];
  };
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

  describe("parseLine", () => {
    test("of a line that ends with a checksum is what JSON.parse says, with or without the checksum", () => {
      const beginning = fc.oneof(
        fc.constantFrom(
          "{",
          "{ ",
          '{"a"',
          '{"a":',
          '{"a":1,',
          '{"a":"b',
          '{"a":"b\\',
          '{"a":{"b":1',
          "[1",
          '{"crc":1',
        ),
        jsonValue.map((value) => JSON.stringify({ value }).slice(0, -1)),
        fc.constant('{"type":"session","id":"s"'),
      );
      fc.assert(
        fc.property(fc.array(beginning, { minLength: 1, maxLength: 2 }), fc.boolean(), (parts, cr) => {
          const line = `${parts.join(",")},"crc":"0123abcd"}${cr ? "\r" : ""}`;
          let whole: unknown;
          try {
            whole = JSON.parse(line);
          } catch {
            expect(parse(line)).toMatchObject({ ok: false, code: "INVALID_JSON" });
            return;
          }
          const parsed = parse(line) as { readonly value: Record<string, unknown> };
          const { crc: _crc, ...expected } = whole as Record<string, unknown>;
          const { crc: _left, ...value } = parsed.value;
          expect(value).toEqual(expected);
          if (expected.type === "session") expect(parsed.value).toEqual(whole);
        }),
      );
    });

    test("gives what JSON.parse gives", () => {
      fc.assert(
        fc.property(jsonValue, (value) => {
          const text = JSON.stringify(value);
          expect(parse(text)).toEqual({ ok: true, value, text, diagnostics: [] });
        }),
      );
    });

    test("never throws, and takes what JSON.parse takes", () => {
      fc.assert(
        fc.property(sessionEntry, damage, (entry, changes) => {
          const bytes = damaged(encoder.encode(encodeEntry(entry)), changes);
          let valid = true;
          try {
            JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
          } catch {
            valid = false;
          }
          expect(parseLine(bytes, 256).ok).toBe(valid);
        }),
        { numRuns: 300 },
      );
    });

    test.each([
      ["no JSON", "{", "INVALID_JSON"],
      ["nothing", "", "INVALID_JSON"],
      ["two values", "{}{}", "INVALID_JSON"],
      ["NUL", "\0\0\0", "INVALID_JSON"],
    ])("says of %s what is wrong", (_, line, code) => {
      expect(codes(line)).toEqual([code]);
    });

    test.each([
      ["FF", [0x22, 0xff, 0x22]],
      ["a surrogate", [0x22, 0xed, 0xa0, 0xbd, 0x22]],
    ])("refuses %s in place of replacing it", (_, bytes) => {
      expect(parseLine(Uint8Array.from(bytes), 256)).toMatchObject({ ok: false, code: "INVALID_UTF8" });
    });

    test("counts the depth, and not the brackets in strings", () => {
      const depth = fc.integer({ min: 1, max: 40 });
      fc.assert(
        fc.property(depth, depth, fc.nat({ max: 60 }), (depth, maxDepth, others) => {
          const text = JSON.stringify({ s: `[{"\\${"[".repeat(others)}`, list: Array(others).fill([]) });
          const line = `[${text.slice(0, -1)},"n":${nested(depth)}}]`;
          const isDeep = Math.max(depth + 2, others > 0 ? 4 : 3) > maxDepth;
          expect(codes(line, maxDepth)).toEqual(isDeep ? ["TOO_DEEP"] : []);
        }),
        { numRuns: 300 },
      );
    });

    test("refuses a depth that would break readers after it", () => {
      expect(codes(nested(256))).toEqual([]);
      expect(codes(nested(257))).toEqual(["TOO_DEEP"]);
      expect(codes(nested(1_000_000))).toEqual(["TOO_DEEP"]);
      expect(codes(`${'{"a":'.repeat(257)}1${"}".repeat(257)}`)).toEqual(["TOO_DEEP"]);
    });

    // @covers security:session-lines
    test("leaves out every unsafe key, however it is written", () => {
      const letter = (character: string, how: number) => {
        const code = character.charCodeAt(0).toString(16).padStart(4, "0");
        return [character, `\\u${code}`, `\\u${code.toUpperCase()}`][how % 3];
      };
      const where = fc.constantFrom(
        (key: string) => `{"${key}":{"x":1}}`,
        (key: string) => `{"a":[{"b":{"c":1,"${key}":[]}}]}`,
        (key: string) => `[{"${key}":null,"d":{"${key}":{"${key}":1}}}]`,
      );
      fc.assert(
        fc.property(where, fc.array(fc.nat({ max: 2 }), { minLength: 9, maxLength: 9 }), (line, how) => {
          const key = Array.from("__proto__", (character, at) => letter(character, how[at] as number)).join(
            "",
          );
          const parsed = parse(line(key));
          if (!parsed.ok) throw new Error(parsed.code);
          expect(parsed.diagnostics.map((note) => note.code)).toEqual(["UNSAFE_KEY"]);
          expect(JSON.stringify(parsed.value)).not.toContain("__proto__");
        }),
        { numRuns: 300 },
      );
      expect(({} as { x?: unknown }).x).toBeUndefined();
    });

    test("keeps the words __proto__ where they are no key", () => {
      const line = JSON.stringify({ text: "__proto__", id: ["__proto__"], "\u005f_proto": 1 });
      expect(parse(line)).toEqual({ ok: true, value: JSON.parse(line), text: line, diagnostics: [] });
    });
  });

  describe("checksums", () => {
    const lines = jsonValue.map((value) => JSON.stringify({ type: "custom", value }));

    test("are put on and taken off", () => {
      fc.assert(
        fc.property(lines, (line) => {
          const signed = appendChecksum(line);
          expect(signed).toMatch(/,"crc":"[0-9a-f]{8}"\}$/);
          expect(removeChecksum(signed)).toBe(line);
          expect(removeChecksum(line)).toBe(line);
          expect(codes(signed)).toEqual([]);
          expect(codes(`${signed}\r`)).toEqual([]);
          const { crc: _, ...value } = JSON.parse(signed);
          expect(value).toEqual(JSON.parse(line));
        }),
      );
    });

    test("tell of every changed byte before them", () => {
      const change = fc.tuple(
        lines,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: 255 }),
      );
      fc.assert(
        fc.property(change, ([line, part, difference]) => {
          const bytes = encoder.encode(appendChecksum(line));
          const at = Math.floor(part * findChecksum(bytes));
          bytes[at] = (bytes[at] as number) ^ difference;
          const parsed = parseLine(bytes, 256);
          expect(parsed.ok ? parsed.diagnostics.map((note) => note.code) : []).toEqual(
            parsed.ok ? ["MODIFIED"] : [],
          );
        }),
        { numRuns: 300 },
      );
    });

    test.each([
      '{"crc":"00000000"}',
      '{"a":1,"crc":"0000000"}',
      '{"a":1,"crc":"0000000G"}',
      '{"a":1,"crc":"0000000A"}',
      '{"a":1,"crc": "00000000"}',
      '{"a":1,"crc":"00000000"} ',
      '{"crc":"00000000","a":1}',
      '"crc":"00000000"}',
      "",
    ])("are not seen in %j", (line) => {
      expect(findChecksum(encoder.encode(line))).toBe(-1);
    });

    test("are seen at their place", () => {
      expect(findChecksum(encoder.encode('{"é":1,"crc":"00000000"}\r'))).toBe(7);
      expect(codes('{"a":1,"crc":"00000000"}')).toEqual(["MODIFIED"]);
    });
  });
});

describe("splitting into lines", () => {
  type Found =
    | { readonly kind: "line" | "rest"; readonly at: number; readonly bytes: readonly number[] }
    | { readonly kind: "long"; readonly at: number; readonly length: number };

  /** What a splitter finds in these chunks, each of which is overwritten once it was pushed. */
  function split(chunks: readonly Uint8Array[], max: number, start: number): readonly Found[] {
    const found: Found[] = [];
    const splitter = new LineSplitter(
      {
        line: (bytes, at, start, end) =>
          void found.push({ kind: "line", at, bytes: Array.from(bytes.subarray(start, end)) }),
        tooLong: (at, length) => void found.push({ kind: "long", at, length }),
      },
      max,
      start,
    );
    for (const chunk of chunks) {
      const reused = chunk.slice();
      splitter.push(reused);
      reused.fill(0x58);
    }
    const rest = splitter.finish();
    if (rest !== undefined) found.push({ kind: "rest", at: rest.at, bytes: Array.from(rest.bytes) });
    return found;
  }

  /** The same, one byte at a time over the whole. */
  function naiveSplit(bytes: Uint8Array, max: number, start: number): readonly Found[] {
    const found: Found[] = [];
    let line: number[] = [];
    const end = (kind: "line" | "rest", after: number) => {
      const at = start + after - line.length;
      if (line.length > max) found.push({ kind: "long", at, length: line.length });
      else if (kind === "line" || line.length > 0) found.push({ kind, at, bytes: line });
      line = [];
    };
    for (const [at, byte] of bytes.entries()) {
      if (byte === 10) end("line", at);
      else line.push(byte);
    }
    end("rest", bytes.length);
    return found;
  }

  const byte = fc.oneof(
    { weight: 1, arbitrary: fc.constant(10) },
    { weight: 1, arbitrary: fc.constantFrom(13, 0xe2, 0x80, 0xa8, 0, 0xff) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 255 }) },
  );
  const bytes = fc.array(byte, { maxLength: 60 }).map((values) => Uint8Array.from(values));

  describe("LineSplitter", () => {
    test("finds what a look at each byte finds, whatever the chunks", () => {
      fc.assert(
        fc.property(bytes, cuts, fc.nat({ max: 12 }), fc.nat({ max: 1000 }), (bytes, parts, max, start) => {
          expect(split(piecesOf(bytes, parts), max, start)).toEqual(naiveSplit(bytes, max, start));
        }),
        { numRuns: 500 },
      );
    });

    test("takes a line of exactly the limit, and no longer one", () => {
      const line = new Uint8Array(8).fill(0x61);
      const text = Uint8Array.of(...line, 10, ...line, 0x61, 10, ...line);
      for (const parts of [[], [0.3, 0.6]]) {
        expect(split(piecesOf(text, parts), 8, 0).map(({ kind, at }) => [kind, at])).toEqual([
          ["line", 0],
          ["long", 9],
          ["rest", 19],
        ]);
      }
    });

    test("holds no more than the limit of a line that does not end", () => {
      const chunk = new Uint8Array(1 << 20);
      const found: number[] = [];
      const splitter = new LineSplitter(
        { line: () => undefined, tooLong: (_, length) => void found.push(length) },
        1 << 21,
      );
      const before = process.memoryUsage().arrayBuffers;
      for (let i = 0; i < 256; i++) splitter.push(chunk);
      const growth = process.memoryUsage().arrayBuffers - before;
      splitter.push(Uint8Array.of(10));
      expect(found).toEqual([256 << 20]);
      expect(growth).toBeLessThan(64 << 20);
    });
  });
});
