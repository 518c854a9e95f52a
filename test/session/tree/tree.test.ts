import fc from "fast-check";
import { SessileError } from "sessile/errors";
import { parseSession, SessionTree } from "sessile/session";
import { describe, expect, test } from "vitest";
import { type AnyEntry, entryTree, sessionOf } from "../../arbitraries/entries.js";
import { naiveChildren, naivePath, naiveTree, naiveWalk } from "./naive-tree.js";

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
  .map((picks) => picks.map(({ id, parent }) => entry(nameOf(id), parent === null ? null : nameOf(parent))));

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
      { numRuns: 500 },
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
      { numRuns: 500 },
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
