import fc from "fast-check";
import { encodeEntry, parseSession, type SessionEntry, type UnknownEntry, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { encodeHeader, encodeValidLine, removeChecksum, spliceJson } from "../../src/log/internal.js";
import { header, plainHeader, sessionEntry } from "../arbitraries/entries.js";
import { jsonValue } from "../arbitraries/values.js";

describe("encoding an entry", () => {
  const place = { id: "a", parentId: null, timestamp: "2025-11-20T23:33:50.805Z" };
  const custom = (data: unknown) => ({ type: "custom", ...place, customType: "c", data }) as const;

  /** Where an encode says that the entry is wrong; undefined where it does not. */
  function wrongPlace(entry: unknown, options?: Parameters<typeof encodeEntry>[1]): string | undefined {
    try {
      encodeEntry(entry as SessionEntry, options);
      return undefined;
    } catch (error) {
      if (!SessileError.is(error, "INVALID_ENTRY")) throw error;
      expect(error.message).toContain(`expected ${error.details.expected}`);
      return error.details.path;
    }
  }

  class Getter {
    get hidden() {
      return 1;
    }
  }

  describe("encodeEntry", () => {
    test("begins with type, id, parentId and timestamp, and ends with the checksum", () => {
      fc.assert(
        fc.property(sessionEntry, (entry) => {
          const line = encodeEntry(entry);
          const keys = Object.keys(JSON.parse(line));
          expect(keys.slice(0, 4)).toEqual(["type", "id", "parentId", "timestamp"]);
          expect(keys.at(-1)).toBe("crc");
          expect(encodeEntry(entry, { checksum: false })).toBe(removeChecksum(line));
          expect(line).not.toContain("\n");
          expect(line.isWellFormed()).toBe(true);
        }),
      );
    });

    test("puts the keys in order, whatever order the entry has them in", () => {
      const entry = { targetId: "b", timestamp: "t", parentId: "p", id: "i", type: "label" } as const;
      expect(encodeEntry(entry, { checksum: false })).toBe(
        '{"type":"label","id":"i","parentId":"p","timestamp":"t","targetId":"b"}',
      );
    });

    test("writes a message as JSON.stringify does, whatever its id, parent and time are like", () => {
      const id = fc.constantFrom("0123abcd", "cafecafe", "0123ABCD", 'q"uote56', "1234567\n", "ünïcode8");
      const parentId = fc.option(id);
      const timestamp = fc.constantFrom(
        "2025-11-20T23:33:50.805Z",
        "2025-02-30T23:33:50.805Z",
        "",
        'a "time"',
      );
      const content = fc.string({ unit: "grapheme" });
      fc.assert(
        fc.property(
          id,
          parentId,
          timestamp,
          content,
          fc.boolean(),
          (id, parentId, timestamp, content, more) => {
            const message = { role: "user", content, timestamp: 0 } as const;
            const entry = {
              type: "message",
              id,
              parentId,
              timestamp,
              message,
              ...(more ? { extra: 1 } : {}),
            };
            expect(encodeEntry(entry as SessionEntry, { checksum: false })).toBe(JSON.stringify(entry));
          },
        ),
        { numRuns: 1000 },
      );
    });

    test("gives JSON back as it was", () => {
      fc.assert(
        fc.property(sessionEntry, (entry) => {
          expect(JSON.parse(encodeEntry(entry, { checksum: false }))).toEqual(entry);
        }),
      );
    });

    test("does not write a stored checksum again", () => {
      const entry = { ...custom(1), crc: "00000000" } as SessionEntry;
      expect(encodeEntry(entry)).toBe(encodeEntry(custom(1)));
      expect(encodeEntry(entry, { checksum: false })).not.toContain("crc");
    });

    test("gives an unknown entry its stored line", () => {
      const raw = '{"type":"later", "id":"a", "n":12345678901234567890}';
      const entry: UnknownEntry = { type: "unknown", entryType: "later", ...place, raw };
      expect(encodeEntry(entry)).toBe(raw);
    });

    test("leaves out members that are undefined", () => {
      expect(encodeEntry(custom({ a: undefined, b: 1 }), { checksum: false })).toMatch(/"data":\{"b":1\}\}$/);
    });

    test("leaves the entry alone", () => {
      const entry = Object.freeze(custom(Object.freeze({ a: 1 })));
      encodeEntry(entry);
      expect(entry).toEqual(custom({ a: 1 }));
    });

    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const deep = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);

    test.each<[string, unknown, string]>([
      ["no object", null, ""],
      ["no type", { ...place }, "type"],
      ["an unknown type", { type: "later", ...place }, "type"],
      ["a type of every object", { type: "constructor", ...place }, "type"],
      ["an empty id", { ...custom(1), id: "" }, "id"],
      ["a number for an id", { ...custom(1), id: 1 }, "id"],
      ["no parent", { ...custom(1), parentId: undefined }, "parentId"],
      ["no time", { ...custom(1), timestamp: undefined }, "timestamp"],
      ["a field of the wrong type", { ...custom(1), customType: 5 }, "customType"],
      ["NaN", custom(Number.NaN), "data"],
      ["Infinity within", custom({ a: [1, { b: -Infinity }] }), "data.a[1].b"],
      ["a function", custom({ run: () => 1 }), "data.run"],
      ["a symbol", custom([Symbol("s")]), "data[0]"],
      ["a bigint", custom(1n), "data"],
      ["undefined in a list", custom([1, undefined]), "data[1]"],
      ["a Date", custom(new Date(0)), "data"],
      ["a Map", custom(new Map()), "data"],
      ["bytes", custom(new Uint8Array(1)), "data"],
      ["an object that writes itself", custom({ toJSON: () => 1 }), "data"],
      ["an array that writes itself", custom(Object.assign([1], { toJSON: () => 5 })), "data"],
      ["an object of a class, whose getters JSON leaves out", custom(new Getter()), "data"],
      ["an object with another before it", custom(Object.create({ inherited: 1 })), "data"],
      ["an own __proto__", custom(JSON.parse('{"__proto__":1}')), "data.__proto__"],
      ["a cycle", custom(cyclic), `data${".self".repeat(255)}`],
      ["a depth of 257", custom(deep(256)), `data${"[0]".repeat(255)}`],
      ["a message of no role", { type: "message", ...place, message: { role: "wizard" } }, "message.role"],
      [
        "a block of the wrong shape",
        { type: "message", ...place, message: { role: "user", content: [{ type: "text" }], timestamp: 1 } },
        "message.content[0].text",
      ],
      ["an edit without a replacement", { type: "context_edit", ...place, targetId: "b" }, "replacement"],
    ])("refuses %s", (_, entry, path) => {
      expect(wrongPlace(entry)).toBe(path);
    });

    test("writes a message that is not to be listed, as text and as bytes", () => {
      const hidden = Object.defineProperty({ type: "message", ...place, id: "00000001" }, "message", {
        value: userMessage("a"),
      }) as SessionEntry;
      const line = encodeEntry(hidden);
      expect(line).toContain('"message":{"role":"user"');
      expect(Buffer.from(encodeValidLine(hidden, true)).toString()).toBe(`${line}\n`);
      expect(Buffer.from(encodeValidLine(hidden, false)).toString()).toBe(
        `${encodeEntry(hidden, { checksum: false })}\n`,
      );
    });

    test("minds nothing that somebody added to every object, which JSON leaves out", () => {
      const added = { value: () => 1, enumerable: true, configurable: true, writable: true };
      const entry = custom({ a: 1 });
      const line = encodeEntry(entry);
      Object.defineProperty(Object.prototype, "addedToAll", added);
      let again: string;
      try {
        again = encodeEntry(entry);
      } finally {
        Reflect.deleteProperty(Object.prototype, "addedToAll");
      }
      expect(again).toBe(line);
    });

    test("takes a depth of 256, which is what a reader takes", () => {
      const line = encodeEntry(custom(deep(255)));
      expect(parseSession(`${encodeHeader(plainHeader)}\n${line}\n`).entries).toEqual([custom(deep(255))]);
      expect(wrongPlace(custom(deep(8)), { maxDepth: 9 })).toBeUndefined();
      expect(wrongPlace(custom(deep(9)), { maxDepth: 9 })).toBe(`data${"[0]".repeat(8)}`);
    });

    test.each([7, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
      "refuses a depth of %d as an option",
      (maxDepth) => {
        expect(() => encodeEntry(custom(cyclic), { maxDepth })).toThrow(
          /^maxDepth: expected an integer >= 8, got /,
        );
      },
    );

    test("takes a plain object of another realm", () => {
      expect(wrongPlace(custom(Object.create(null)))).toBeUndefined();
    });
  });

  describe("encodeHeader", () => {
    // @covers R108
    test("gives the header back as it was, its known keys first and in order", () => {
      fc.assert(
        fc.property(header, (header) => {
          const line = encodeHeader(header);
          expect(JSON.parse(line)).toEqual(header);
          expect(line.startsWith('{"type":"session","version":3,"id":')).toBe(true);
          expect(parseSession(`${line}\n`)).toMatchObject({ header, diagnostics: [] });
        }),
      );
      const later = { later: 1, ...plainHeader };
      expect(Object.keys(JSON.parse(encodeHeader(later))).slice(0, 5)).toEqual([
        "type",
        "version",
        "id",
        "timestamp",
        "cwd",
      ]);
    });

    test("refuses what JSON cannot hold", () => {
      expect(() => encodeHeader({ ...plainHeader, version: Number.NaN })).toThrow(SessileError);
    });
  });
});

describe("splicing JSON", () => {
  const spaced = (value: unknown): string => JSON.stringify(value, null, " \t\r\n "[0]);

  test("is the text itself where nothing changed, and JSON of what it has where all did", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, fc.boolean(), (value, other, spacing) => {
        const text = spacing ? ` ${spaced(value)}\r` : JSON.stringify(value);
        const before: unknown = JSON.parse(text);
        expect(spliceJson(text, before, before)).toBe(text.trim());
        expect(JSON.parse(spliceJson(text, before, other))).toEqual(JSON.parse(JSON.stringify(other)));
      }),
    );
  });

  const path = fc.array(fc.nat({ max: 5 }), { maxLength: 4 });

  /** A copy with another value in one place; all else is the same by identity. */
  function changed(value: unknown, [step, ...rest]: readonly number[], to: unknown): unknown {
    if (step === undefined || typeof value !== "object" || value === null) return to;
    if (Array.isArray(value))
      return value.map((item, i) => (i === step % value.length ? changed(item, rest, to) : item));
    const keys = Object.keys(value);
    const key = keys[step % (keys.length + 1)] ?? "added";
    return { ...value, [key]: changed((value as Record<string, unknown>)[key], rest, to) };
  }

  test("says what the changed value says, whatever was changed", () => {
    fc.assert(
      fc.property(jsonValue, path, jsonValue, (value, where, to) => {
        const text = spaced(value);
        const before: unknown = JSON.parse(text);
        const after = changed(before, where, to);
        expect(JSON.parse(spliceJson(text, before, after))).toEqual(JSON.parse(JSON.stringify(after)));
      }),
    );
  });

  test("keeps digits, duplicates of identity and what the reader put something in the place of", () => {
    const text =
      '{"n":12345678901234567890,"one":1.0,"content":[{"type":"image","data":"QQ=="},{"type":"audio","n":1e2},"\\u0041\\\\"],"crc":"x"}';
    const image = { type: "image", data: "QQ==" };
    const standIn = { type: "text", text: "[audio]" };
    const before = { n: 12345678901234567000, one: 1, content: [image, standIn, "A\\"] };
    const slim = { type: "text", text: "image" };
    expect(spliceJson(text, before, { ...before, content: [slim, standIn, "A\\"] })).toBe(
      '{"n":12345678901234567890,"one":1.0,"content":[{"type":"text","text":"image"},{"type":"audio","n":1e2},"\\u0041\\\\"]}',
    );
    expect(spliceJson(text, before, { ...before, content: [standIn] })).toContain(
      '[{"type":"audio","n":1e2}]',
    );
    expect(spliceJson(text, before, { ...before, n: undefined })).not.toContain('"n":123');
  });
});
