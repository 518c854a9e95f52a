import fc from "fast-check";
import { buildSessionContext, parseSession, type SessionEntry, SessionTree } from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { type EntryHead, type EntryKey, toEntryId } from "../../../src/log/internal.js";
import { noRow, treeRows } from "../../../src/session/internal.js";
import { EntryTable } from "../../../src/session/tree/session-tree.js";
import { type AnyEntry, entryTree, sessionOf } from "../../arbitraries/entries.js";
import { isFull, rounds } from "../../support/rounds.js";
import { naiveChildren, naivePath, naiveTree, naiveWalk } from "./naive-tree.js";

describe("the tree", () => {
  const entry = (id: string, parentId: string | null): AnyEntry => ({
    type: "custom",
    id,
    parentId,
    timestamp: "t",
    customType: "c",
  });
  const idsOf = (nodes: Iterable<{ readonly id: string }>) => Array.from(nodes, ({ id }) => id);

  /** Any parents at all: earlier, later, itself, missing, and ids that come twice. */
  const tangle: fc.Arbitrary<readonly AnyEntry[]> = fc
    .array(
      fc.record({
        id: fc.integer({ min: 0, max: 11 }),
        parent: fc.option(fc.integer({ min: 0, max: 13 })),
      }),
      { maxLength: 12 },
    )
    .map((picks) =>
      picks.map(({ id, parent }) => entry(nameOf(id), parent === null ? null : nameOf(parent))),
    );

  function nameOf(index: number): string {
    return ["__proto__", "constructor", "toString"][index] ?? `e${index}`;
  }

  describe("SessionTree", () => {
    // @covers R119
    test("is the tree that looking through all entries gives, whatever their parents", () => {
      fc.assert(
        fc.property(fc.oneof(tangle, entryTree()), (entries) => {
          const tree = new SessionTree(entries);
          const naive = naiveTree(entries);
          expect(tree.size).toBe(naive.entries.length);
          expect(idsOf(tree.children(null))).toEqual(naiveChildren(naive, null));
          for (const { id, timestamp } of naive.entries) {
            const parentId = naive.parentOf.get(id) ?? null;
            expect(tree.has(id)).toBe(true);
            expect(tree.node(id)).toMatchObject({ id, parentId, timestamp });
            expect(idsOf(tree.children(id))).toEqual(naiveChildren(naive, id));
            expect(idsOf(tree.siblings(id))).toEqual(naiveChildren(naive, parentId));
            expect(idsOf(tree.path(id))).toEqual(naivePath(naive.parentOf, id));
          }
          expect(Array.from(tree.walk(), ({ node, depth }) => [node.id, depth])).toEqual(naiveWalk(naive));
        }),
        { numRuns: rounds(125, 500) },
      );
    });

    // @covers R124
    test("ends on any parents, with every entry reached exactly once", () => {
      const parents = fc.array(fc.option(fc.nat({ max: 40 })), { maxLength: 40 });
      fc.assert(
        fc.property(parents, (parents) => {
          const entries = parents.map((parent, at) => entry(`e${at}`, parent === null ? null : `e${parent}`));
          const walked = Array.from(new SessionTree(entries).walk(), ({ node }) => node.id);
          expect(walked.toSorted()).toEqual(idsOf(entries).toSorted());
        }),
        { numRuns: rounds(125, 500) },
      );
    });

    test.each([1, 2, 3, 10, 1000])("opens a cycle of %d", (length) => {
      const entries = Array.from({ length }, (_, at) => entry(`e${at}`, `e${(at + length - 1) % length}`));
      const tree = new SessionTree(entries);
      expect(idsOf(tree.children(null))).toEqual(["e0"]);
      expect(Array.from(tree.walk())).toHaveLength(length);
      expect(tree.path(`e${length - 1}`)).toHaveLength(length);
      const { diagnostics } = parseSession(sessionOf(entries).text);
      expect(diagnostics).toMatchObject([{ code: "CYCLE", line: 2, entryId: "e0" }]);
    });

    test("is the same from entries and from their lines", () => {
      fc.assert(
        fc.property(entryTree(), (entries) => {
          const built = new SessionTree(entries);
          const { tree: parsed } = parseSession(sessionOf(entries).text);
          expect(Array.from(built.walk())).toEqual(Array.from(parsed.walk()));
          expect(Array.from(built.labels())).toEqual(Array.from(parsed.labels()));
        }),
      );
    });

    test("says of each entry its type, time and role as stored", () => {
      fc.assert(
        fc.property(entryTree(), (entries) => {
          const tree = new SessionTree(entries);
          for (const entry of entries) {
            const type = entry.type === "unknown" ? entry.entryType : entry.type;
            const role = entry.type === "message" ? { role: entry.message.role } : {};
            const { id, parentId, timestamp } = entry;
            expect(tree.node(id)).toStrictEqual({ id, parentId, type, timestamp, ...role });
          }
        }),
      );
    });

    test("does not take a type with a slash for a message", () => {
      for (const type of ["message/user", "message/", "\0message/user", "\0"]) {
        const raw = JSON.stringify({ type, id: "a", parentId: null, timestamp: "t" });
        const unknown = {
          type: "unknown",
          entryType: type,
          id: "a",
          parentId: null,
          timestamp: "t",
          raw,
        } as const;
        expect(new SessionTree([unknown]).node("a")).toStrictEqual({
          id: "a",
          parentId: null,
          type,
          timestamp: "t",
        });
      }
    });

    test("has nothing for an unknown id", () => {
      const tree = new SessionTree([entry("a", null)]);
      expect(tree.node("b")).toBeUndefined();
      expect(tree.has("constructor")).toBe(false);
      expect(tree.children("b")).toEqual([]);
      expect(tree.siblings("b")).toEqual([]);
      expect(tree.path(null)).toEqual([]);
    });

    test("throws for the path of an unknown id", () => {
      const tree = new SessionTree([entry("a", null)]);
      let thrown: unknown;
      try {
        tree.path("__proto__");
      } catch (error) {
        thrown = error;
      }
      expect(SessileError.is(thrown, "ENTRY_NOT_FOUND") && thrown.details).toEqual({ entryId: "__proto__" });
    });

    test("can be walked by two at once", () => {
      const tree = new SessionTree([entry("a", null), entry("b", "a"), entry("c", "a")]);
      const pairs = Array.from(tree.walk(), (outer) =>
        Array.from(tree.walk(), (inner) => outer.node.id + inner.node.id),
      );
      expect(pairs.flat()).toHaveLength(9);
    });

    describe("labels", () => {
      const label = (id: string, targetId: string, label?: string): AnyEntry => ({
        type: "label",
        id,
        parentId: null,
        timestamp: `at ${id}`,
        targetId,
        ...(label === undefined ? {} : { label }),
      });

      // @covers R119
      test("are the latest of each entry, in the order in which the entries were labelled", () => {
        const target = fc.constantFrom("a", "b", "__proto__");
        const labels = fc.array(
          fc.record({ target, label: fc.option(fc.constantFrom("", "x", "y"), { nil: undefined }) }),
          { maxLength: 8 },
        );
        fc.assert(
          fc.property(labels, (labels) => {
            const entries = labels.map((one, at) => label(`l${at}`, one.target, one.label));
            const tree = new SessionTree(entries);
            const latest: { targetId: string; label: string; timestamp: string }[] = [];
            for (const [at, { target, label }] of labels.entries()) {
              const known = latest.findIndex(({ targetId }) => targetId === target);
              const set = label ? [{ targetId: target, label, timestamp: `at l${at}` }] : [];
              latest.splice(known < 0 ? latest.length : known, known < 0 ? 0 : 1, ...set);
            }
            expect(Array.from(tree.labels())).toEqual(latest);
            for (const id of ["a", "b", "__proto__", "constructor"]) {
              expect(tree.label(id)).toBe(latest.find(({ targetId }) => targetId === id)?.label);
            }
          }),
        );
      });

      test("are not set by an entry whose id was taken", () => {
        expect(Array.from(new SessionTree([entry("a", null), label("a", "a", "x")]).labels())).toEqual([]);
      });
    });
  });
});

describe("the table", () => {
  const head = (id: string, parentId: string | null, more: Partial<EntryHead> = {}): EntryHead => ({
    type: "custom",
    id,
    parentId,
    time: 0,
    ...more,
  });
  const asEntry = (id: string, parentId: string | null): SessionEntry => ({
    type: "custom",
    id,
    parentId,
    timestamp: "t",
    customType: "c",
  });

  function childrenOf(rows: EntryTable, row: number): readonly string[] {
    const ids: string[] = [];
    for (let at = rows.firstChild(row); at !== noRow; at = rows.nextSibling(at)) ids.push(rows.id(at));
    return ids;
  }

  const parents = fc.array(fc.option(fc.nat({ max: 20 })), { maxLength: 20 });
  const name = (at: number) => `e${at}`;

  describe("EntryTable", () => {
    test("places what came out of order, and says what it could not place", () => {
      fc.assert(
        fc.property(parents, (parents) => {
          const rows = new EntryTable();
          const entries = parents.map((parent, at) =>
            asEntry(name(at), parent === null ? null : name(parent)),
          );
          for (const { id, parentId } of entries) rows.add(head(id, parentId));
          const { orphans, cycles } = rows.linkLateParents();
          const naive = naiveTree(entries);
          expect(orphans.map((row) => rows.id(row))).toEqual(naive.orphans);
          expect(cycles.map((row) => rows.id(row))).toEqual(naive.cycles);
          for (const row of [noRow, ...entries.keys()]) {
            expect(childrenOf(rows, row)).toEqual(naiveChildren(naive, row === noRow ? null : rows.id(row)));
          }
          expect(rows.linkLateParents()).toEqual({ orphans: [], cycles: [] });
        }),
        { numRuns: rounds(125, 500) },
      );
    });

    test("grows in batches to the tree that one batch makes, where parents come first", () => {
      const step = fc.record({ back: fc.nat({ max: 5 }), link: fc.boolean(), look: fc.boolean() });
      const tree = fc.array(step, { maxLength: 100 });
      fc.assert(
        fc.property(tree, (tree) => {
          const rows = new EntryTable();
          const entries = tree.map(({ back }, at) =>
            asEntry(name(at), back === 0 || back > at ? null : name(at - back)),
          );
          entries.forEach(({ id, parentId }, at) => {
            rows.add(head(id, parentId));
            if (tree[at]?.link) rows.linkLateParents();
            // Lists of children are made when they are first asked for, and grow from then on.
            if (tree[at]?.look) expect(childrenOf(rows, at)).toEqual([]);
          });
          const naive = naiveTree(entries);
          for (const row of [noRow, ...entries.keys()]) {
            expect(childrenOf(rows, row)).toEqual(naiveChildren(naive, row === noRow ? null : rows.id(row)));
          }
        }),
      );
    });

    test("refuses an id a second time", () => {
      const rows = new EntryTable();
      expect(rows.add(head("a", null))).toBe(0);
      expect(rows.add(head("a", null))).toBe(noRow);
      expect(rows.size).toBe(1);
      expect([rows.row("a"), rows.row("b"), rows.row("constructor")]).toEqual([0, noRow, noRow]);
    });

    test("keeps kinds apart, with a number for each", () => {
      const rows = new EntryTable();
      rows.add(head("a", null, { type: "message", role: "user" }));
      rows.add(head("b", null, { type: "message" }));
      rows.add(head("c", null, { type: "message/user" }));
      rows.add(head("d", null, { type: "message", role: "user" }));
      expect(rows.kind(0)).toBe("message/user");
      expect([0, 1, 2, 3].map((row) => rows.kindAt(row) === rows.kindCode("message/user"))).toEqual([
        true,
        false,
        false,
        true,
      ]);
      expect(rows.kindCode("leaf")).toBe(-1);
    });

    test("keeps times as they were, numbers and others", () => {
      const rows = new EntryTable();
      rows.add(head("a", null, { time: 1_763_681_630_805 }));
      rows.add(head("b", null, { time: "yesterday" }));
      rows.add(head("c", null, { time: "" }));
      expect([0, 1, 2].map((row) => rows.timestamp(row))).toEqual([
        "2025-11-20T23:33:50.805Z",
        "yesterday",
        "",
      ]);
    });

    test("knows where a line lies, past what 32 bits hold, once it was written", () => {
      const rows = new EntryTable();
      rows.add(head("a", null));
      rows.add(head("b", null), 2 ** 40, 7);
      expect([rows.line(0), rows.line(1)]).toEqual([undefined, { at: 2 ** 40, length: 7 }]);
      rows.setLine(0, { at: 0, length: 9 });
      expect(rows.line(0)).toEqual({ at: 0, length: 9 });
    });
  });

  describe("a chain of 200 000 entries", () => {
    const length = 200_000;
    const chain = (): readonly SessionEntry[] =>
      Array.from({ length }, (_, at) => ({
        type: "message" as const,
        id: name(at),
        parentId: at === 0 ? null : name(at - 1),
        timestamp: "t",
        message: { role: "user" as const, content: "x", timestamp: at },
      }));

    test.runIf(isFull).each([
      ["parents first", (entries: readonly SessionEntry[]) => entries],
      ["parents last", (entries: readonly SessionEntry[]) => entries.toReversed()],
    ])("builds, walks and gives a context without recursion: %s", (_, order) => {
      const entries = order(chain());
      const tree = new SessionTree(entries);
      let depth = 0;
      for (const step of tree.walk()) if (step.depth === depth) depth++;
      expect(depth).toBe(length);
      const last = name(length - 1);
      expect(tree.path(last)).toHaveLength(length);
      const bodies = new Map(entries.map((entry) => [entry.id, entry]));
      const context = buildSessionContext({ tree, leafId: last, entry: (id) => bodies.get(id) });
      expect(context.items).toHaveLength(length);
      expect(context.items.at(-1)?.entryId).toBe(last);
      expect(treeRows(tree).size).toBe(length);
    });
  });
});

describe("the rows of keys", () => {
  const key: fc.Arbitrary<EntryKey> = fc.oneof(
    fc.integer({ min: 0, max: 40 }),
    fc.maxSafeInteger().map((number) => number | 0),
    fc.constantFrom("", "a", "constructor", "__proto__", "0000000A"),
  );
  const headOf = (id: EntryKey): EntryHead => ({ type: "custom", id, parentId: null, time: 0 });

  test("are those that a Map has, whatever the keys", () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 600 }), fc.array(key), (added, asked) => {
        const rows = new EntryTable();
        const map = new Map<EntryKey, number>();
        for (const each of added) {
          expect(rows.add(headOf(each))).toBe(map.has(each) ? noRow : map.size);
          if (!map.has(each)) map.set(each, map.size);
        }
        expect(rows.size).toBe(map.size);
        const found = Array.from(map, ([each, row]) => [rows.rowOfKey(each), rows.key(row), rows.id(row)]);
        expect(found).toEqual(Array.from(map, ([each, row]) => [row, each, toEntryId(each)]));
        expect(asked.map((each) => rows.rowOfKey(each))).toEqual(asked.map((each) => map.get(each) ?? noRow));
      }),
    );
  });

  test("are of a hundred thousand keys in a row, and as many far from each other", () => {
    const rows = new EntryTable();
    const keys = Array.from({ length: 200_000 }, (_, i) => (i % 2 === 0 ? i : i * 0x1_0000) | 0);
    const known = new Map<number, number>();
    for (const each of keys) if (!known.has(each)) known.set(each, rows.add(headOf(each)));
    expect([...known].filter(([each, row]) => rows.rowOfKey(each) !== row)).toEqual([]);
  });
});
