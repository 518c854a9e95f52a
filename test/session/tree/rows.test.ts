import fc from "fast-check";
import { buildSessionContext, type SessionEntry, SessionTree } from "sessile/session";
import { describe, expect, test } from "vitest";
import type { EntryHead } from "../../../src/session/format/entry-prefix.js";
import { EntryTable, noRow } from "../../../src/session/tree/entry-table.js";
import { entryTableOf } from "../../../src/session/tree/session-tree.js";
import { naiveChildren, naiveTree } from "./naive-tree.js";

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

describe("TreeRows", () => {
  test("places what came out of order, and says what it could not place", () => {
    fc.assert(
      fc.property(parents, (parents) => {
        const rows = new EntryTable();
        const entries = parents.map((parent, at) => asEntry(name(at), parent === null ? null : name(parent)));
        for (const { id, parentId } of entries) rows.add(head(id, parentId), undefined);
        const { orphans, cycles } = rows.linkLateParents();
        const naive = naiveTree(entries);
        expect(orphans.map((row) => rows.id(row))).toEqual(naive.orphans);
        expect(cycles.map((row) => rows.id(row))).toEqual(naive.cycles);
        for (const row of [noRow, ...entries.keys()]) {
          expect(childrenOf(rows, row)).toEqual(naiveChildren(naive, row === noRow ? null : rows.id(row)));
        }
        expect(rows.linkLateParents()).toEqual({ orphans: [], cycles: [] });
      }),
      { numRuns: 500 },
    );
  });

  test("grows in batches to the tree that one batch makes, where parents come first", () => {
    const tree = fc.array(fc.record({ back: fc.nat({ max: 5 }), settle: fc.boolean() }), { maxLength: 30 });
    fc.assert(
      fc.property(tree, (tree) => {
        const rows = new EntryTable();
        const entries = tree.map(({ back }, at) =>
          asEntry(name(at), back === 0 || back > at ? null : name(at - back)),
        );
        entries.forEach(({ id, parentId }, at) => {
          rows.add(head(id, parentId), undefined);
          if (tree[at]?.settle) rows.linkLateParents();
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
    expect(rows.add(head("a", null), undefined)).toBe(0);
    expect(rows.add(head("a", null), undefined)).toBe(noRow);
    expect(rows.size).toBe(1);
    expect([rows.row("a"), rows.row("b"), rows.row("constructor")]).toEqual([0, noRow, noRow]);
  });

  test("keeps kinds apart, with a number for each", () => {
    const rows = new EntryTable();
    rows.add(head("a", null, { type: "message", role: "user" }), undefined);
    rows.add(head("b", null, { type: "message" }), undefined);
    rows.add(head("c", null, { type: "message/user" }), undefined);
    rows.add(head("d", null, { type: "message", role: "user" }), undefined);
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
    rows.add(head("a", null, { time: 1_763_681_630_805 }), undefined);
    rows.add(head("b", null, { time: "yesterday" }), undefined);
    rows.add(head("c", null, { time: "" }), undefined);
    expect([0, 1, 2].map((row) => rows.timestamp(row))).toEqual([
      "2025-11-20T23:33:50.805Z",
      "yesterday",
      "",
    ]);
  });

  test("knows where a line lies, past what 32 bits hold, once it was written", () => {
    const rows = new EntryTable();
    rows.add(head("a", null), undefined);
    rows.add(head("b", null), { at: 2 ** 40, length: 7 });
    expect([rows.line(0), rows.line(1)]).toEqual([undefined, { at: 2 ** 40, length: 7 }]);
    rows.setLine(0, 0, 9);
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

  test.each([
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
    expect(entryTableOf(tree).size).toBe(length);
  });
});
