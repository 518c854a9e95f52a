import fc from "fast-check";
import { buildSessionContext, type SessionEntry, SessionTree } from "sessile/session";
import { describe, expect, test } from "vitest";
import { contextAt, keptRange, runInMemory } from "../../../src/session/context/build-context.js";
import { noRow } from "../../../src/session/tree/entry-table.js";
import { entryTableOf } from "../../../src/session/tree/session-tree.js";
import { conversation } from "../../arbitraries/conversations.js";

const user = (at: number): SessionEntry => ({
  type: "message",
  id: `e${at}`,
  parentId: at === 0 ? null : `e${at - 1}`,
  timestamp: "t",
  message: { role: "user", content: "x", timestamp: 0 },
});
const compaction = (at: number, firstKeptEntryId: string, retain?: readonly string[]): SessionEntry => ({
  type: "compaction",
  id: `e${at}`,
  parentId: `e${at - 1}`,
  timestamp: "t",
  summary: "s",
  firstKeptEntryId,
  tokensBefore: 1,
  ...(retain === undefined ? {} : { retain }),
});

/** Rounds in which bodies are asked for, each with the ids, in building the context at the last entry. */
function asked(
  entries: readonly SessionEntry[],
  damaged: readonly string[] = [],
): readonly (readonly string[])[] {
  const rows = entryTableOf(new SessionTree(entries));
  const bodies = new Map(entries.map((entry) => [entry.id, entry]));
  const rounds: string[][] = [];
  const steps = contextAt(rows, rows.size - 1);
  const bodyOf = (row: number) => (damaged.includes(rows.id(row)) ? undefined : bodies.get(rows.id(row)));
  let step = steps.next();
  while (!step.done) {
    rounds.push(step.value.map((row) => rows.id(row)));
    step = steps.next(bodyOf);
  }
  return rounds;
}

describe("contextSteps", () => {
  test("asks for no more than the latest compaction and what is in context", () => {
    const entries = [...Array.from({ length: 7 }, (_, at) => user(at)), compaction(7, "e5", ["e1"]), user(8)];
    expect(asked(entries)).toEqual([["e7"], ["e1", "e5", "e6", "e8"]]);
  });

  test("goes on to the compaction before where the latest is damaged", () => {
    const entries = [user(0), user(1), compaction(2, "e1"), compaction(3, "e3"), user(4)];
    expect(asked(entries, ["e3"])).toEqual([["e3"], ["e2"], ["e1", "e4"]]);
  });

  test("asks for nothing at the empty leaf", () => {
    const steps = contextAt(entryTableOf(new SessionTree([user(0)])), noRow);
    expect(runInMemory(steps, () => user(0)).items).toEqual([]);
    expect(contextAt(entryTableOf(new SessionTree()), noRow).next().value).toEqual([]);
  });

  test("gives the same whether bodies are there at once or are let go after each step", () => {
    fc.assert(
      fc.property(conversation(12), ({ entries, leafId }) => {
        const tree = new SessionTree(entries);
        const rows = entryTableOf(tree);
        const bodies = new Map(entries.map((entry) => [entry.id, entry]));
        const entry = (id: string) => bodies.get(id);
        const steps = contextAt(rows, leafId === null ? noRow : rows.row(leafId));
        let step = steps.next();
        while (!step.done) {
          const wanted = new Map(step.value.map((row) => [row, entry(rows.id(row))]));
          step = steps.next((row) => wanted.get(row));
        }
        expect(step.value).toEqual(buildSessionContext({ tree, leafId, entry }, leafId));
      }),
    );
  });
});

describe("keptRange", () => {
  test("is the whole path without a compaction", () => {
    const rows = entryTableOf(new SessionTree([user(0), user(1)]));
    expect(keptRange(rows, rows.path(1), undefined, -1)).toEqual({
      start: 0,
      retained: [],
      earliest: 0,
    });
  });

  test("has what is retained in the order of the list, also from the kept range", () => {
    const last = compaction(5, "e3", ["e2", "e0", "e4", "e5", "gone", "e2"]);
    const entries = [...Array.from({ length: 5 }, (_, at) => user(at)), last];
    const rows = entryTableOf(new SessionTree(entries));
    const range = keptRange(rows, rows.path(5), last as SessionEntry & { readonly type: "compaction" }, 5);
    expect(range).toEqual({ start: 3, retained: [2, 0, 4], earliest: 0 });
  });
});
