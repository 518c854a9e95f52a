import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type Diagnostic, encodeEntry, memorySessionStore, parseSession, type SessionEntry } from "sessile";
import { diagnoseSession, fileSessionStore, openSessionFile } from "sessile/node";
import { describe, expect, test } from "vitest";
import { crc32, decodeUtf8 } from "../../../src/core/bytes.js";
import { DiagnosticList } from "../../../src/log/internal.js";
import { LogReader, treeRows } from "../../../src/session/internal.js";
import { damage, damaged } from "../../arbitraries/bytes.js";
import { entryTree, plainHeader, sessionOf } from "../../arbitraries/entries.js";
import { collectGarbage } from "../../support/collect-garbage.js";
import { processorMs } from "../../support/processor-time.js";
import { temporaryDirectory } from "../node/temporary-directory.js";

describe("reading a log", () => {
  const encoder = new TextEncoder();
  const headerLine = JSON.stringify(plainHeader);
  const plainMessage: SessionEntry = {
    type: "message",
    id: "00000001",
    parentId: "00000000",
    timestamp: "2026-01-01T00:00:00.000Z",
    message: { role: "user", content: "a", timestamp: 0 },
  };
  const custom = (id: string, parentId: string | null): SessionEntry => ({
    type: "custom",
    id,
    parentId,
    timestamp: "t",
    customType: "c",
  });

  /** Reads lines as they lie in a file, each followed by a line feed. */
  function read(lines: readonly (string | Uint8Array)[], full = false): LogReader {
    const reader = new LogReader({ maxDepth: 256, full });
    let at = 0;
    for (const line of lines) {
      const bytes = typeof line === "string" ? encoder.encode(line) : line;
      reader.line(bytes, at);
      at += bytes.length + 1;
    }
    reader.finish();
    return reader;
  }

  const shapeOf = (reader: LogReader) => ({
    nodes: Array.from(reader.tree.walk()),
    labels: Array.from(reader.tree.labels()),
    leafId: reader.leafId,
    info: reader.info,
    header: reader.header,
  });
  const codesOf = (reader: LogReader) => reader.diagnostics.map(({ code, line }) => [code, line]);

  describe("LogReader", () => {
    test("sees in the heads alone the session that it sees in whole lines", () => {
      const file = fc.record({
        entries: entryTree(),
        changes: fc.array(fc.option(damage), { maxLength: 8 }),
      });
      fc.assert(
        fc.property(file, ({ entries, changes }) => {
          const lines = sessionOf(entries).lines.map((line, at) => {
            const change = at === 0 ? null : changes[at];
            return change ? damaged(encoder.encode(line), change).filter((byte) => byte !== 10) : line;
          });
          const [heads, whole] = [read(lines), read(lines, true)];
          // By its head alone a damaged entry may be the leaf: whoever opens a log looks at that one's body.
          const lost = heads.leafRow > whole.leafRow;
          expect({ ...shapeOf(heads), ...(lost ? { leafId: whole.leafId } : {}) }).toEqual(shapeOf(whole));
        }),
        { numRuns: 100 },
      );
    });

    test("parses the usual lines of a small log to the session that their prefixes give", () => {
      const file = fc.record({
        entries: entryTree(),
        changes: fc.array(fc.option(damage), { maxLength: 8 }),
        /** As pi writes what it migrates. */
        isIdLast: fc.boolean(),
      });
      let usual = 0;
      fc.assert(
        fc.property(file, ({ entries, changes, isIdLast }) => {
          const lines = sessionOf(entries).lines.map((line, at) => {
            const change = at === 0 ? null : changes[at];
            if (change) return damaged(encoder.encode(line), change).filter((byte) => byte !== 10);
            if (at === 0 || !isIdLast) return line;
            const { id, parentId, crc: _, ...rest } = JSON.parse(line);
            return JSON.stringify({ ...rest, id, parentId });
          });
          const bytes = Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from("\n")]));
          const bodies = new Map<number, unknown>();
          const reader = new LogReader({
            maxDepth: 256,
            full: false,
            onEntry: (row, entry) => void bodies.set(row, entry),
          });
          const text = (start: number, end: number) => decodeUtf8(bytes.subarray(start, end));
          const kept = { bytes, at: 0, end: bytes.length, includes: () => true, isCurrent: () => true, text };
          const how = { maxDepth: 256, mayBeUnsafe: true, crc32 };
          reader.readAll(kept, 1 << 26, { ...how, text: (_, start, end) => text(start, end) });
          reader.finish();
          const [heads, whole] = [read(lines), parseSession(bytes)];
          expect(shapeOf(reader)).toEqual(shapeOf(heads));
          expect(reader.diagnostics).toEqual(heads.diagnostics);
          const rows = treeRows(reader.tree);
          for (const [row, entry] of bodies) expect(entry).toEqual(whole.entry(rows.id(row)));
          usual += bodies.size;
        }),
        { numRuns: 300 },
      );
      expect(usual).toBeGreaterThan(100);
    });

    test("knows where each line lies", () => {
      fc.assert(
        fc.property(entryTree(), (entries) => {
          const { lines, text } = sessionOf(entries);
          const bytes = encoder.encode(text);
          const rows = treeRows(read(lines).tree);
          entries.forEach((entry, index) => {
            const { at, length } = rows.line(rows.row(entry.id)) ?? { at: -1, length: 0 };
            expect(new TextDecoder().decode(bytes.subarray(at, at + length))).toBe(lines[index + 1]);
          });
        }),
      );
    });

    test("hands over bodies as it reads them: in whole, or those of the structure", () => {
      const entries: readonly SessionEntry[] = [
        custom("a", null),
        { type: "label", id: "b", parentId: "a", timestamp: "t", targetId: "a", label: "x" },
      ];
      for (const full of [true, false]) {
        const bodies: unknown[] = [];
        const reader = new LogReader({
          maxDepth: 256,
          full,
          onEntry: (row, entry) => void bodies.push([row, entry]),
        });
        for (const line of sessionOf(entries).lines) reader.line(encoder.encode(line), 0);
        expect(bodies).toEqual(
          full
            ? [
                [0, entries[0]],
                [1, entries[1]],
              ]
            : [[1, entries[1]]],
        );
        reader.readInFull();
        reader.line(encoder.encode(encodeEntry(custom("c", "b"))), 1);
        expect(bodies.at(-1)).toEqual([2, custom("c", "b")]);
      }
    });

    test("keeps the place of an entry whose body is damaged, and the history before it", () => {
      const broken = encodeEntry(custom("b", "a")).replace('"customType":', '"customType";');
      const reader = read(
        [headerLine, encodeEntry(custom("a", null)), broken, encodeEntry(custom("c", "b"))],
        true,
      );
      expect(reader.tree.path("c").map(({ id }) => id)).toEqual(["a", "b", "c"]);
      expect(reader.diagnostics).toMatchObject([{ code: "INVALID_JSON", line: 3, entryId: "b" }]);
    });

    test("counts lines, blank and long ones too", () => {
      const reader = new LogReader({ maxDepth: 256, full: true });
      reader.line(encoder.encode(headerLine), 0);
      reader.line(encoder.encode(""), 100);
      reader.tooLong(101, 1 << 30);
      reader.line(encoder.encode("{"), 200);
      expect(reader.diagnostics).toMatchObject([
        { code: "LINE_TOO_LONG", line: 3, offset: 101 },
        { code: "INVALID_JSON", line: 4, offset: 200 },
      ]);
      expect(reader.lines).toBe(4);
    });

    test("tells each problem as it finds it", () => {
      const told: Diagnostic[] = [];
      const reader = new LogReader({
        maxDepth: 256,
        full: true,
        onDiagnostic: (one) => void told.push(one),
      });
      reader.line(encoder.encode("42"), 0);
      reader.line(encoder.encode(headerLine), 3);
      reader.line(encoder.encode(encodeEntry(custom("a", "gone"))), 200);
      reader.finish();
      expect(told).toEqual(reader.diagnostics);
      expect(told.map(({ code }) => code)).toEqual(["NOT_AN_OBJECT", "BEFORE_HEADER", "ORPHAN"]);
    });

    test("says of orphans and cycles which line they are, in file order", () => {
      const lines = [custom("a", "gone"), custom("b", "c"), custom("c", "b"), custom("d", "away")];
      const reader = read([headerLine, ...lines.map((entry) => encodeEntry(entry))]);
      expect(codesOf(reader)).toEqual([
        ["ORPHAN", 2],
        ["CYCLE", 3],
        ["ORPHAN", 5],
      ]);
      const offsets = reader.diagnostics.map(({ offset }) => offset);
      const rows = treeRows(reader.tree);
      expect(offsets).toEqual(["a", "b", "d"].map((id) => rows.line(rows.row(id))?.at));
    });

    test("accepts what comes in another order than parents first", () => {
      const lines = [custom("c", "b"), custom("b", "a"), custom("a", null)];
      const reader = read([headerLine, ...lines.map((entry) => encodeEntry(entry))]);
      expect(reader.diagnostics).toEqual([]);
      expect(reader.tree.path("c").map(({ id }) => id)).toEqual(["a", "b", "c"]);
      expect(reader.leafId).toBe("a");
    });

    describe("the tail", () => {
      const withTail = (tail: string, atRest?: boolean) => {
        const reader = new LogReader({ maxDepth: 256, full: true });
        reader.line(encoder.encode(headerLine), 0);
        const whole = reader.tail(encoder.encode(tail), 200, atRest);
        return { whole, size: reader.tree.size, codes: codesOf(reader), lines: reader.lines };
      };
      const line = encodeEntry(custom("a", null));

      test("is a line if it is whole", () => {
        expect(withTail(line)).toEqual({ whole: true, size: 1, codes: [], lines: 2 });
      });

      test("is torn if it is not", () => {
        expect(withTail(line.slice(0, -1))).toEqual({
          whole: false,
          size: 0,
          codes: [["TORN_TAIL", 2]],
          lines: 2,
        });
        expect(withTail("\0\0\0\0")).toMatchObject({ whole: false, codes: [["TORN_TAIL", 2]] });
      });

      test("is on its way while another writes", () => {
        expect(withTail(line.slice(0, -1), false)).toEqual({ whole: false, size: 0, codes: [], lines: 1 });
      });

      test("is nothing if it is blank", () => {
        expect(withTail(" \r")).toEqual({ whole: false, size: 0, codes: [], lines: 1 });
      });

      test("is not counted twice when it comes again with its line feed", () => {
        const reader = new LogReader({ maxDepth: 256, full: true });
        reader.line(encoder.encode(headerLine), 0);
        reader.tail(encoder.encode(line), 200);
        reader.line(encoder.encode(line), 200);
        reader.line(encoder.encode(line), 300);
        expect(codesOf(reader)).toEqual([["DUPLICATE_ID", 4]]);
      });
    });

    describe("the leaf", () => {
      const leaf = (targetId: string | null): SessionEntry => ({
        type: "leaf",
        id: "l",
        parentId: targetId,
        timestamp: "t",
        targetId,
      });
      const leafOf = (...entries: readonly SessionEntry[]) =>
        read([headerLine, ...entries.map((entry) => encodeEntry(entry))]).leafId;

      test("is the last entry", () => {
        expect(leafOf()).toBeNull();
        expect(leafOf(custom("a", null), custom("b", null))).toBe("b");
      });

      test("is the target of a leaf entry that stands last", () => {
        expect(leafOf(custom("a", null), custom("b", "a"), leaf("a"))).toBe("a");
        expect(leafOf(custom("a", null), leaf(null))).toBeNull();
        expect(leafOf(custom("a", null), leaf("a"), custom("c", "l"))).toBe("c");
      });

      test("is the leaf entry where its target is gone", () => {
        expect(leafOf(custom("a", null), leaf("gone"))).toBe("l");
      });
    });

    test("goes by the number of a line in version 1, whatever id it has", () => {
      const { version: _, ...first } = plainHeader;
      const line = encodeEntry({ ...plainMessage, id: "deadbeef" });
      const lines = [JSON.stringify(first), line, line];
      for (const full of [false, true])
        expect(shapeOf(read(lines, full)).nodes.map(({ node: { id, parentId } }) => [id, parentId])).toEqual([
          ["00000001", null],
          ["00000002", "00000001"],
        ]);
    });

    test("holds on to none of the bytes of a log that it has read", async () => {
      const readOne = () => {
        const bytes = encoder.encode(`${headerLine}\n${encodeEntry(plainMessage)}`);
        const reader = new LogReader({ maxDepth: 256, full: false });
        const at = headerLine.length + 1;
        reader.line(bytes, 0, 0, at - 1);
        reader.line(bytes, at, at, bytes.length);
        reader.readInFull();
        return { reader, bytes: new WeakRef(bytes) };
      };
      const { reader, bytes } = readOne();
      for (let i = 0; i < 20 && bytes.deref() !== undefined; i++) await collectGarbage();
      expect([reader.tree.size, bytes.deref()]).toEqual([1, undefined]);
    });

    test("takes an entry of this program as if it had read it", () => {
      fc.assert(
        fc.property(entryTree(), (entries) => {
          const known = entries.filter((entry) => entry.type !== "unknown");
          const reader = read([headerLine]);
          for (const entry of known) reader.applyLocalEntry(entry, undefined);
          const parsed = parseSession(sessionOf(known).text);
          expect(Array.from(reader.tree.walk())).toEqual(Array.from(parsed.tree.walk()));
          expect(reader.leafId).toBe(parsed.leafId);
          expect(reader.info).toEqual(parsed.info);
        }),
      );
    });
  });
});

describe("the list of diagnostics", () => {
  const problem = (line: number): Diagnostic => ({
    code: "INVALID_JSON",
    line,
    offset: 2 * line,
    message: "no",
  });
  const linesOf = (diagnostics: readonly { readonly line?: number }[]) => diagnostics.map(({ line }) => line);
  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

  describe("a list of problems", () => {
    test.each([0, 1, 999, 1000, 1001, 1999, 2000, 2001, 2500, 3000, 12_345])(
      "keeps the ends of %i",
      (count) => {
        const list = new DiagnosticList();
        for (const line of numbers(0, count)) list.add(problem(line));
        const kept =
          count <= 2000 ? numbers(0, count) : [...numbers(0, 1000), ...numbers(count - 1000, count)];
        expect(linesOf(list.all)).toEqual(kept);
        expect(list.all.total).toBe(count);
        expect(list.all.counts).toEqual(count === 0 ? {} : { INVALID_JSON: count });
      },
    );

    test("gives the same array until there is more, and does not change one that it gave", () => {
      const list = new DiagnosticList();
      list.add(problem(1));
      const before = list.all;
      expect(list.all).toBe(before);
      list.add(problem(2));
      expect([before.length, before.total, list.all.length, list.all.total]).toEqual([1, 1, 2, 2]);
      expect(before).toEqual([problem(1)]);
    });
  });

  // @covers security:session-lines
  test("the problems of a file are counted exactly by every reader, and only their ends are listed", async () => {
    const bad = ["x", "{}", "7", '{"type":"session"}', ""];
    const rounds = 1000;
    const text = `${sessionOf([]).lines[0]}\n${bad
      .map((line) => `${line}\n`)
      .join("")
      .repeat(rounds)}`;
    const counts = { INVALID_JSON: rounds, INVALID_ENTRY: 2 * rounds, NOT_AN_OBJECT: rounds };
    const path = join(temporaryDirectory(), "x.jsonl");
    writeFileSync(path, text);
    const session = await openSessionFile(path);
    for (const found of [parseSession(text).diagnostics, session.diagnostics, await session.diagnose()]) {
      expect([found.length, found.total, found.counts]).toEqual([2000, 4 * rounds, counts]);
      expect([found[0]?.line, found[999]?.line, found.at(-1)?.line]).toEqual([2, 1250, 1 + 5 * rounds - 1]);
    }
    await session.close();
    const { findings, omitted, counts: all } = await diagnoseSession(path);
    expect([findings.length, omitted, all]).toEqual([2000, 4 * rounds - 2000, counts]);
    expect(findings.at(-1)?.line).toBe(5 * rounds);
    const few = await diagnoseSession(path, { maxFindings: 3 });
    expect([linesOf(few.findings), few.omitted]).toEqual([[2, 3, 5 * rounds], 4 * rounds - 3]);
  });

  test("a session that has none lists none", async () => {
    const session = await memorySessionStore().create({ cwd: "/p" });
    expect([session.diagnostics, session.diagnostics.total, (await session.diagnose()).counts]).toEqual([
      [],
      0,
      {},
    ]);
  });

  test("a list of sessions looks at a bounded beginning of each file", async () => {
    const dir = temporaryDirectory();
    for (const [name, line] of Object.entries({ a: "x", b: "", c: "{}", d: '{"type":"session"}' })) {
      writeFileSync(join(dir, `${name}.jsonl`), `${line}\n`.repeat(400_000));
    }
    const started = processorMs();
    const store = fileSessionStore({ dir });
    for await (const row of store.list()) expect.unreachable(row.id);
    // Read in whole they take several seconds.
    expect(processorMs() - started).toBeLessThan(2000);
  });
});
