import fc from "fast-check";
import { type ParsedSession, parseSession } from "sessile/session";
import { describe, expect, test } from "vitest";
import {
  headerVersion,
  idToOrdinal,
  migrateEntry,
  migrateLine,
  ordinalToId,
} from "../../../src/session/format/migrate.js";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { message } from "../../arbitraries/messages.js";
import { jsonValue } from "../../arbitraries/values.js";

const header1 = '{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}';
const custom = (customType: string) => JSON.stringify({ type: "custom", timestamp: "t", customType });
const compaction = (firstKeptEntryIndex: unknown) =>
  JSON.stringify({ type: "compaction", timestamp: "t", summary: "s", tokensBefore: 1, firstKeptEntryIndex });
const session1 = (...lines: readonly string[]) => parseSession([header1, ...lines, ""].join("\n"));
const codesOf = (session: ParsedSession) => session.diagnostics.map(({ code }) => code);
const parents = (session: ParsedSession) => session.entries.map(({ id, parentId }) => [id, parentId]);

describe("version 1", () => {
  test("has its entries chained in file order, with ids that stay the same", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
        const lines = messages.map((message) => JSON.stringify({ type: "message", timestamp: "t", message }));
        const session = session1(...lines);
        expect(session.entries).toEqual(
          messages.map((message, at) => ({
            type: "message",
            id: ordinalToId(at + 1),
            parentId: at === 0 ? null : ordinalToId(at),
            timestamp: "t",
            message,
          })),
        );
        expect(session.diagnostics).toEqual([]);
        expect(session1(...lines).entries).toEqual(session.entries);
      }),
    );
  });

  test("counts the header in the index of a compaction", () => {
    const session = session1(custom("a"), custom("b"), compaction(2));
    expect(session.entries[2]).toMatchObject({ firstKeptEntryId: session.entries[1]?.id });
    expect(session.entries[2]).not.toHaveProperty("firstKeptEntryIndex");
    expect(session.diagnostics).toEqual([]);
  });

  test.each([0, 3, 4, -1, 1.5, "1", null, undefined, { toString: 1 }, []])(
    "keeps nothing for an index that names no earlier entry: %j",
    (index) => {
      const session = session1(custom("a"), custom("b"), compaction(index));
      expect(session.entries[2]).toMatchObject({ id: "00000003", firstKeptEntryId: "00000003" });
      expect(session.diagnostics).toMatchObject([
        { code: "INVALID_INDEX", line: 4, offset: 179, entryId: "00000003" },
      ]);
    },
  );

  test("keeps the id of a compaction that has one already", () => {
    const line = compaction(1).replace("{", '{"firstKeptEntryId":"x",');
    expect(session1(custom("a"), line).entries[1]).toMatchObject({ firstKeptEntryId: "x" });
  });

  test("chains over a line that is no entry", () => {
    for (const stray of ["42", "null", "[]", '{"no":"type"}', header1]) {
      const session = session1(custom("a"), stray, custom("b"));
      expect(parents(session)).toEqual([
        ["00000001", null],
        ["00000003", "00000001"],
      ]);
      expect(codesOf(session)).toHaveLength(1);
    }
  });

  test("chains over a line that is no JSON, which its index did not count", () => {
    const session = session1(custom("a"), "{torn", custom("b"), compaction(2));
    expect(parents(session)).toEqual([
      ["00000001", null],
      ["00000002", "00000001"],
      ["00000003", "00000002"],
    ]);
    expect(codesOf(session)).toEqual(["INVALID_JSON"]);
  });

  test("starts with a root also where something stands before the header", () => {
    const session = parseSession(`42\n${header1}\n${custom("a")}\n${custom("b")}\n`);
    expect(session.entries[0]?.parentId).toBeNull();
    expect(session.entries[1]?.parentId).toBe(session.entries[0]?.id);
    expect(codesOf(session)).toEqual(["NOT_AN_OBJECT", "BEFORE_HEADER"]);
  });

  test("renames hook messages, which version 2 has too", () => {
    const message = { role: "hookMessage", customType: "c", content: "x", display: true, timestamp: 1 };
    const line = { type: "message", id: "a", parentId: null, timestamp: "t", message };
    const header2 = header1.replace('"id"', '"version":2,"id"');
    for (const header of [header1, header2]) {
      const session = parseSession(`${header}\n${JSON.stringify(line)}\n`);
      expect(session.entries[0]).toMatchObject({ message: { role: "custom", content: "x" } });
      expect(session.tree.walk().next().value.node.role).toBe("custom");
    }
  });
});

describe("migrated", () => {
  const ignore = () => undefined;

  test("follows the line with the number before, where it is not told another", () => {
    const parentAt = (ordinal: number, previousId?: string | null) =>
      migrateEntry({ type: "custom" }, 1, ordinal, ignore, previousId).parentId;
    expect([parentAt(1), parentAt(2), parentAt(16)]).toEqual([null, "00000001", "0000000f"]);
    expect([parentAt(2, null), parentAt(5, "00000003")]).toEqual([null, "00000003"]);
  });

  test("gives an entry of version 2 or later back as it is", () => {
    const entry = { type: "custom", id: "x" };
    expect(migrateEntry(entry, 2, 5, ignore)).toBe(entry);
    expect(migrateEntry(entry, 3, 5, ignore)).toBe(entry);
  });

  test("never throws", () => {
    const line = fc.record({
      type: fc.constantFrom("compaction", "message"),
      firstKeptEntryIndex: jsonValue,
    });
    fc.assert(
      fc.property(line, fc.nat(), (line, ordinal) => {
        expect(migrateEntry(line, 1, ordinal, ignore)).toMatchObject({ id: ordinalToId(ordinal) });
      }),
    );
  });
});

describe("migratedLine", () => {
  // @covers R134
  test("writes what a reader of version 1 has", () => {
    const line = compaction(1);
    const entry = session1(custom("a"), line).entries[1];
    expect(JSON.parse(migrateLine(new TextEncoder().encode(line), 1, 2, 256) ?? "")).toEqual(entry);
  });

  test("has nothing to say of a header and of what is no object", () => {
    for (const line of [header1, "42", "{torn", "[]"]) {
      expect(migrateLine(new TextEncoder().encode(line), 1, 1, 256)).toBeUndefined();
    }
  });

  test("never throws", () => {
    fc.assert(
      fc.property(message, damage, (message, changes) => {
        const line = JSON.stringify({ type: "message", timestamp: "t", message });
        const out = migrateLine(damaged(new TextEncoder().encode(line), changes), 1, 7, 256);
        if (out !== undefined)
          expect(JSON.parse(out)).toMatchObject({ id: "00000007", parentId: "00000006" });
      }),
    );
  });
});

describe("idOfOrdinal", () => {
  test("is eight digits, and ordinalOfId its inverse", () => {
    fc.assert(
      fc.property(fc.nat(), (ordinal) => {
        expect(ordinalToId(ordinal)).toMatch(/^[0-9a-f]{8}$/);
        expect(idToOrdinal(ordinalToId(ordinal))).toBe(ordinal);
      }),
    );
    expect(["", "1", "0000000G", "00000001x", "__proto__"].map(idToOrdinal)).toEqual([0, 0, 0, 0, 0]);
  });
});

describe("versionOf", () => {
  test("is 1 where there is none", () => {
    expect([{}, { version: 2 }, { version: "3" }, null, 5].map(headerVersion)).toEqual([1, 2, 1, 1, 1]);
  });
});
