import fc from "fast-check";
import { type SessionEntry, SessionTree } from "sessile/session";
import { describe, expect, test } from "vitest";
import { extendedSteps } from "../../../src/session/context/extend.js";
import { type BuiltContext, builtSteps, runSteps } from "../../../src/session/context/steps.js";
import { noRow } from "../../../src/session/tree/rows.js";
import { treeRows } from "../../../src/session/tree/tree.js";
import { conversation } from "../../arbitraries/conversations.js";
import type { AnyEntry } from "../../arbitraries/entries.js";

function sessionOf(entries: readonly AnyEntry[], damaged: (id: string) => boolean = () => false) {
  const rows = treeRows(new SessionTree(entries));
  const bodies = new Map(entries.map((entry) => [entry.id, entry]));
  const bodyOf = (row: number) => (damaged(rows.id(row)) ? undefined : bodies.get(rows.id(row)));
  return { rows, bodyOf };
}

const user = (at: number): SessionEntry => ({
  type: "message",
  id: `e${at}`,
  parentId: at === 0 ? null : `e${at - 1}`,
  timestamp: "t",
  message: { role: "user", content: "x", timestamp: 0 },
});

describe("a context that goes on from the last one", () => {
  test("is the one that is built from the start, in whatever order the leaves come", () => {
    fc.assert(
      fc.property(conversation(), fc.infiniteStream(fc.nat()), fc.nat(7), (entries, picks, unreadable) => {
        const { rows, bodyOf } = sessionOf(entries, (id) => unreadable > 0 && id.length % 8 === unreadable);
        let last: BuiltContext | undefined;
        for (let turn = 0; turn < 12; turn++) {
          // Mostly a few rows on, as in a session that grows.
          const pick = picks.next().value ?? 0;
          const near = Math.min(rows.size - 1, (last?.leaf ?? noRow) + 1 + (pick % 3));
          const leaf = pick % 4 === 0 ? (pick % (rows.size + 1)) - 1 : near;
          const built = runSteps(extendedSteps(rows, leaf, last), bodyOf);
          const { context, shown } = runSteps(builtSteps(rows, leaf), bodyOf);
          expect(built.context).toEqual(context);
          expect(built.shown.filter((row) => rows.kind(row).startsWith("message"))).toEqual(
            shown.filter((row) => rows.kind(row).startsWith("message")),
          );
          last = built;
        }
      }),
    );
  });

  test("keeps the items of the last one, and leaves it as it was", () => {
    const { rows, bodyOf } = sessionOf([user(0), user(1), user(2)]);
    const first = runSteps(extendedSteps(rows, 1, undefined), bodyOf);
    const second = runSteps(extendedSteps(rows, 2, first), bodyOf);
    expect(first.context.items).toHaveLength(2);
    expect(second.context.items).toHaveLength(3);
    expect(second.context.items[0]).toBe(first.context.items[0]);
  });

  test("is built anew where the last one is of another tree", () => {
    const before = sessionOf([user(0), user(1)]);
    const { rows, bodyOf } = sessionOf([user(0), { ...user(1), id: "other" }]);
    const last = runSteps(extendedSteps(before.rows, 0, undefined), before.bodyOf);
    const { context } = runSteps(extendedSteps(rows, 1, last), bodyOf);
    expect(context.items.map(({ entryId }) => entryId)).toEqual(["e0", "other"]);
  });
});
