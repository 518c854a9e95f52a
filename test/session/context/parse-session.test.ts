import fc from "fast-check";
import { buildSessionContext, encodeEntry, parseSession, type SessionEntry } from "sessile";
import { describe, expect, test } from "vitest";
import { plainHeader, sessionOf } from "../../arbitraries/entries.js";
import { text } from "../../arbitraries/values.js";
import { fixture } from "../../support/fixtures.js";

const custom = (id: string, parentId: string | null, data?: unknown): SessionEntry => ({
  type: "custom",
  id,
  parentId,
  timestamp: "t",
  customType: "c",
  ...(data === undefined ? {} : { data }),
});

describe("parseSession", () => {
  test("gives entries by id, and nothing for other ids", () => {
    const entries = [custom("__proto__", null), custom("toString", "__proto__")];
    const session = parseSession(sessionOf(entries).text);
    expect(session.entry("__proto__")).toBe(session.entries[0]);
    expect(session.entry("toString")).toEqual(entries[1]);
    expect(session.entry("constructor")).toBeUndefined();
    expect(session.header).toEqual(plainHeader);
  });

  test("has no body for an entry that was damaged", () => {
    const text = sessionOf([custom("a", null), custom("b", "a")]).text.replace(
      '"customType":"c"',
      '"customType"',
    );
    const session = parseSession(text);
    expect(session.entry("a")).toBeUndefined();
    expect(session.entries).toEqual([custom("b", "a")]);
    expect(session.tree.size).toBe(2);
  });

  test("takes the latest session_info for the whole of it", () => {
    const info = (id: string, fields: object) =>
      ({ type: "session_info", id, parentId: null, timestamp: "t", ...fields }) as SessionEntry;
    const { text } = sessionOf([info("a", { name: "x", title: "y" }), info("b", { name: "z" })]);
    expect(parseSession(text).info).toEqual({ name: "z" });
  });

  test("reads text, bytes, lists of either, and streams of either", async () => {
    const { text } = sessionOf([custom("a", null, "é😀")]);
    const bytes = new TextEncoder().encode(text);
    const expected = parseSession(text).entries;
    expect(expected).toEqual([custom("a", null, "é😀")]);
    expect(parseSession(bytes).entries).toEqual(expected);
    expect(parseSession([text.slice(0, 9), text.slice(9)]).entries).toEqual(expected);
    expect(parseSession(new Set([bytes])).entries).toEqual(expected);
    async function* stream() {
      yield text.slice(0, 200);
      yield new TextEncoder().encode(text.slice(200));
    }
    expect((await parseSession(stream())).entries).toEqual(expected);
  });

  test("reads chunks whose bytes are used again for the next one", () => {
    const { text } = sessionOf([custom("a", null, "é😀")]);
    const bytes = Buffer.from(text);
    function* chunks() {
      const chunk = Buffer.alloc(50);
      for (let at = 0; at < bytes.length; at += chunk.length)
        yield chunk.subarray(0, bytes.copy(chunk, 0, at, at + chunk.length));
    }
    expect(parseSession(chunks()).entries).toEqual([custom("a", null, "é😀")]);
  });

  test("reports a lone surrogate in text, and does not replace it", () => {
    const { text } = sessionOf([custom("a", null, "x")]);
    for (const lone of ["\ud83d", "\ude00", "\ude00\ud83d"]) {
      const session = parseSession(text.replace('"x"', `"${lone}"`));
      expect(session.diagnostics).toMatchObject([{ code: "INVALID_UTF8", line: 2, entryId: "a" }]);
      expect(session.entries).toEqual([]);
    }
    expect(parseSession(`${text}\ud83d`).diagnostics).toMatchObject([{ code: "TORN_TAIL", line: 3 }]);
  });

  test("reports each line of text with a lone surrogate, and keeps the others", () => {
    const line = fc.tuple(
      fc.boolean(),
      text.filter((text) => text.isWellFormed()),
    );
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 6 }),
        fc.constantFrom("\ud83d", "\ude00\ud83d"),
        (lines, lone) => {
          const entries = lines.map(([, data], at) => custom(`e${at}`, null, data));
          const written = sessionOf(entries).lines.map((line, at) =>
            lines[at - 1]?.[0] ? line.replace('"custom"', `"${lone}"`) : line,
          );
          const session = parseSession(`${written.join("\n")}\n`);
          const isDamaged = (at: number) => lines[at]?.[0] === true;
          expect(session.entries).toEqual(entries.filter((_, at) => !isDamaged(at)));
          expect(session.diagnostics.map(({ code, line }) => [code, line])).toEqual(
            [...entries.keys()].filter(isDamaged).map((at) => ["INVALID_UTF8", at + 2]),
          );
        },
      ),
    );
  });

  test("does not join the halves of a character over bytes that stand between them", () => {
    const { text } = sessionOf([custom("a", null, "😀")], { checksum: false });
    const at = text.indexOf("😀") + 1;
    const halves = [text.slice(0, at), text.slice(at)] as const;
    expect(parseSession(halves).entries).toEqual([custom("a", null, "😀")]);
    const session = parseSession([halves[0], new TextEncoder().encode("-"), halves[1]]);
    expect(session.diagnostics).toMatchObject([{ code: "INVALID_UTF8", line: 2 }]);
  });

  test("counts offsets in bytes", () => {
    const { text } = sessionOf([custom("a", null, "é😀")]);
    const offset = new TextEncoder().encode(text).length;
    expect(parseSession(`${text}42\n`).diagnostics).toMatchObject([{ offset, line: 3 }]);
  });

  test("bounds lines and depth as it is told", () => {
    const { text } = sessionOf([custom("a", null, "x".repeat(2000)), custom("b", null, [[[[[[[[]]]]]]]])]);
    expect(parseSession(text).diagnostics).toEqual([]);
    expect(parseSession(text, { maxLineBytes: 1024, maxDepth: 8 }).diagnostics).toMatchObject([
      { code: "LINE_TOO_LONG", line: 2 },
      { code: "TOO_DEEP", line: 3, entryId: "b" },
    ]);
  });

  test.each([
    [{ maxLineBytes: 1023 }, "maxLineBytes: expected an integer >= 1024, got 1023"],
    [{ maxDepth: 7 }, "maxDepth: expected an integer >= 8, got 7"],
    [{ maxDepth: Number.NaN }, "maxDepth: expected an integer >= 8, got NaN"],
  ])("refuses the limits %j", (limits, message) => {
    expect(() => parseSession("", limits)).toThrow(new RangeError(message));
  });

  test.each([undefined, null, 5, {}])("refuses %j as a source, by name", (source) => {
    expect(() => parseSession(source as never)).toThrow(
      /^source: expected text, bytes or an iterable of them, got /,
    );
  });

  test("refuses a chunk that is neither text nor bytes, by name", async () => {
    const message = "source: expected chunks of text or bytes, got 5";
    expect(() => parseSession([5 as never])).toThrow(new TypeError(message));
    async function* stream() {
      yield 5 as never;
    }
    await expect(parseSession(stream())).rejects.toThrow(new TypeError(message));
  });

  test("rejects where the stream does", async () => {
    async function* stream() {
      yield sessionOf([]).text;
      throw new Error("gone");
    }
    await expect(parseSession(stream())).rejects.toThrow("gone");
  });

  test("of two entries with one id gives the first", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 6 }), (ids) => {
        const lines = ids.map((id, at) => `${encodeEntry(custom(id, null, at))}\n`);
        const session = parseSession(`${JSON.stringify(plainHeader)}\n${lines.join("")}`);
        const firsts = ids.flatMap((id, at) => (ids.indexOf(id) === at ? [custom(id, null, at)] : []));
        const repeated = ids.flatMap((id, at) => (ids.indexOf(id) === at ? [] : [[at + 2, id]]));
        expect(session.entries).toEqual(firsts);
        expect(session.diagnostics.map(({ line, entryId }) => [line, entryId])).toEqual(repeated);
        expect(session.diagnostics.every(({ code }) => code === "DUPLICATE_ID")).toBe(true);
      }),
    );
  });
});

const real = fixture("pi/large-session.v1.jsonl");

describe(`a real session of version 1${real.absent === undefined ? "" : ` (${real.absent})`}`, () => {
  test.skipIf(real.absent !== undefined)("loads whole, with the context that pi builds", () => {
    const session = parseSession(real.read());
    const context = buildSessionContext(session);
    expect(session.diagnostics).toEqual([]);
    expect(session.entries).toHaveLength(1018);
    expect(session.leafId).toBe(session.entries.at(-1)?.id);
    expect(context.items).toHaveLength(914);
    expect(context.model).toEqual({ provider: "anthropic", modelId: "claude-sonnet-4-5" });
    expect(context.thinkingLevel).toBe("off");
  });
});
