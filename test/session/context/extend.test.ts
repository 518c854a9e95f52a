import fc from "fast-check";
import { type SessionEntry, SessionTree } from "sessile/session";
import { describe, expect, test } from "vitest";
import { type BuiltContext, buildContext, runInMemory } from "../../../src/session/context/build-context.js";
import { extendContext } from "../../../src/session/context/extend-context.js";
import { noRow } from "../../../src/session/tree/entry-table.js";
import { entryTableOf } from "../../../src/session/tree/session-tree.js";
import { conversation } from "../../arbitraries/conversations.js";
import type { AnyEntry } from "../../arbitraries/entries.js";

function sessionOf(entries: readonly AnyEntry[], damaged: (id: string) => boolean = () => false) {
  const rows = entryTableOf(new SessionTree(entries));
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

const picks = fc.array(fc.nat(), { minLength: 1, maxLength: 16, size: "max" });

describe("a context that goes on from the last one", () => {
  test("is the one that is built from the start, in whatever order the leaves come", () => {
    fc.assert(
      fc.property(conversation(24), picks, fc.nat(7), ({ entries }, picks, unreadable) => {
        const { rows, bodyOf } = sessionOf(entries, (id) => Number.parseInt(id, 16) % 8 === unreadable);
        let last: BuiltContext | undefined;
        for (const pick of picks) {
          // Mostly a few rows on, as in a session that grows.
          const near = Math.min(rows.size - 1, (last?.leaf ?? noRow) + 1 + (pick % 3));
          const leaf = pick % 4 === 0 ? (pick % (rows.size + 1)) - 1 : near;
          const built = runInMemory(extendContext(rows, leaf, last), bodyOf);
          const { context, shown } = runInMemory(buildContext(rows, leaf), bodyOf);
          expect(built.context).toEqual(context);
          expect(built.shown.filter((row) => rows.kind(row).startsWith("message"))).toEqual(
            shown.filter((row) => rows.kind(row).startsWith("message")),
          );
          last = built;
        }
      }),
      { numRuns: 300 },
    );
  });

  test("keeps the items of the last one, and leaves it as it was", () => {
    const { rows, bodyOf } = sessionOf([user(0), user(1), user(2)]);
    const first = runInMemory(extendContext(rows, 1, undefined), bodyOf);
    const second = runInMemory(extendContext(rows, 2, first), bodyOf);
    expect(first.context.items).toHaveLength(2);
    expect(second.context.items).toHaveLength(3);
    expect(second.context.items[0]).toBe(first.context.items[0]);
  });

  test("goes on behind edits and pins of what is there, and is built anew behind one of what may come", () => {
    const said = (type: "context_edit" | "context_pin", targetId: string): SessionEntry[] => {
      const base = { id: "e1", parentId: "e0", timestamp: "t", targetId };
      const entry: SessionEntry =
        type === "context_pin"
          ? { type, ...base, pinned: true }
          : { type, ...base, replacement: { content: "less" } };
      return [user(0), entry, user(2)];
    };
    for (const type of ["context_edit", "context_pin"] as const) {
      for (const [target, goesOn] of [
        ["e0", true],
        ["e2", false],
      ] as const) {
        const { rows, bodyOf } = sessionOf(said(type, target));
        const first = runInMemory(extendContext(rows, 1, undefined), bodyOf);
        const second = runInMemory(extendContext(rows, 2, first), bodyOf);
        expect(second.context.items).toHaveLength(2);
        expect(second.context.items[0] === first.context.items[0]).toBe(goesOn);
      }
    }
  });

  test("is built anew where the last one is of another tree", () => {
    const before = sessionOf([{ ...user(0), id: "other" }]);
    const { rows, bodyOf } = sessionOf([user(0), user(1)]);
    const last = runInMemory(extendContext(before.rows, 0, undefined), before.bodyOf);
    const { context } = runInMemory(extendContext(rows, 1, last), bodyOf);
    expect(context.items.map(({ entryId }) => entryId)).toEqual(["e0", "e1"]);
  });

  test("leaves out the result of a call that an edit took out before the result came", () => {
    const place = (at: number) => ({
      id: `e${at}`,
      parentId: at === 0 ? null : `e${at - 1}`,
      timestamp: "t",
    });
    const content = [{ type: "toolCall", id: "call", name: "read", arguments: {} }] as const;
    const { rows, bodyOf } = sessionOf([
      {
        type: "message",
        ...place(0),
        message: { role: "assistant", content, provider: "p", model: "m", timestamp: 0 },
      },
      { type: "context_edit", ...place(1), targetId: "e0", replacement: null },
      {
        type: "message",
        ...place(2),
        message: {
          role: "toolResult",
          toolCallId: "call",
          toolName: "read",
          content: [],
          isError: false,
          timestamp: 0,
        },
      },
    ]);
    const last = runInMemory(extendContext(rows, 1, undefined), bodyOf);
    expect(runInMemory(extendContext(rows, 2, last), bodyOf).context.items).toEqual([]);
  });
});
