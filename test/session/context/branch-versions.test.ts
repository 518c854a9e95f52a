import fc from "fast-check";
import { type SessionEntry, SessionTree, type UnknownEntry, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import { type BranchVersion, BranchVersions } from "../../../src/session/context/branch-versions.js";
import { applyEdit, entryItem, latestEdits } from "../../../src/session/context/context-items.js";
import { applyUpdates, entryUpdates, treeRows } from "../../../src/session/internal.js";
import { rounds } from "../../support/rounds.js";

const time = { timestamp: "2026-01-01T00:00:00.000Z" };
const message = (id: string, parentId: string | null): SessionEntry => ({
  ...{ type: "message", id, parentId, ...time },
  message: userMessage("text"),
});
const edit = (id: string, parentId: string | null, targetId: string): SessionEntry => ({
  ...{ type: "context_edit", id, parentId, ...time, targetId },
  replacement: { content: id },
});

const update = (id: string, parentId: string | null, targetId: string): SessionEntry => ({
  ...{ type: "message_update", id, parentId, ...time, targetId },
  message: userMessage(id),
});
const part = (id: string, parentId: string | null, targetId: string, index: number): SessionEntry => ({
  ...{ type: "part_update", id, parentId, ...time, targetId, index },
  part: { type: "text", text: id },
});

/** Counts the edits that are looked at. */
class CountedEdits extends Map<number, SessionEntry> {
  looked = 0;
  override get(row: number): SessionEntry | undefined {
    this.looked++;
    return super.get(row);
  }
}

function branches(entries: readonly SessionEntry[], leaves?: readonly string[]) {
  const table = treeRows(new SessionTree(entries));
  const edits = new CountedEdits();
  for (const entry of entries) if ("targetId" in entry) edits.set(table.row(entry.id), entry);
  const parents = new Set(entries.map(({ parentId }) => parentId));
  const ends = leaves ?? entries.flatMap(({ id }) => (parents.has(id) ? [] : [id]));
  const rows = ends.map((id) => table.row(id));
  return { table, edits, ends, versions: new BranchVersions(table, edits, rows) };
}

describe("the versions of an entry", () => {
  const step = fc.record({
    parent: fc.nat(),
    target: fc.option(fc.nat()),
    kind: fc.nat(4),
    isLeaf: fc.boolean(),
  });

  test("are the edits that each branch with it has", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 24 }), fc.boolean(), (steps, isAll) => {
        const entries: SessionEntry[] = [];
        for (const [at, { parent, target, kind }] of steps.entries()) {
          const id = `e${at}`;
          const parentId = at === 0 || parent % 12 === 0 ? null : `e${parent % at}`;
          const targetId = `e${(target ?? 0) % steps.length}`;
          if (target === null || at === 0) entries.push(message(id, parentId));
          else if (kind < 2) entries.push(edit(id, parentId, targetId));
          else if (kind === 2) entries.push(update(id, parentId, targetId));
          else entries.push(part(id, parentId, targetId, kind - 3));
        }
        const some = steps.flatMap(({ isLeaf }, at) => (isLeaf ? [`e${at}`] : []));
        const { table, ends, versions } = branches(entries, isAll ? undefined : some);
        const byId = new Map(entries.map((entry) => [entry.id, entry]));
        const paths = ends.map((end) => {
          const path: SessionEntry[] = [];
          for (let each = byId.get(end); each !== undefined; each = byId.get(each.parentId ?? ""))
            path.unshift(each);
          return path;
        });
        for (const [at, { id, type }] of entries.entries()) {
          if (type !== "message") continue;
          const ids = [id, `e${(at * 7) % entries.length}`];
          const own = paths.filter((path) => path.some((each) => each.id === id));
          const expected = own.map((path) =>
            path.flatMap((each) =>
              "targetId" in each && ids.includes(String(each.targetId)) ? [each.id] : [],
            ),
          );
          const found = [...versions.versions(table.row(id), [...new Set(ids)])].map((version) => {
            const edits: (SessionEntry | UnknownEntry)[] = [];
            for (let each: BranchVersion | undefined = version; each !== undefined; each = each.before)
              if (each.edit !== undefined) edits.unshift(each.edit);
            // All of them at once, as a context applies them.
            const item = entryItem(applyUpdates(entries[at], entryUpdates(edits)) as SessionEntry, new Set());
            const edited = item && applyEdit(item, latestEdits(edits).get(id));
            expect(version.entryMessage(entries[at] as SessionEntry)).toEqual(edited?.message);
            return edits.map((each) => each.id);
          });
          const sorted = (lists: readonly (readonly string[])[]) =>
            [...new Set(lists.map((list) => list.join(" ")))].sort();
          expect(found.map((list) => list.join(" ")).sort()).toEqual(sorted(expected));
          expect(versions.isOnBranch(table.row(id))).toBe(own.length > 0);
        }
      }),
      { numRuns: rounds(200, 2000) },
    );
  });

  test("take a look at each edit of one entry, although a branch starts at each", () => {
    const looked = (count: number) => {
      /** Steps of applying an edit, and one more look at each. */
      let targets = 0;
      const entries: SessionEntry[] = [message("e", null)];
      for (let at = 0; at < count; at++) {
        const made = edit(`t${at}`, at === 0 ? "e" : `t${at - 1}`, "e");
        const target = { get: () => (targets++ < 0 ? "" : "e"), enumerable: true };
        entries.push(Object.defineProperty(made, "targetId", target));
        entries.push(message(`l${at}`, `t${at}`));
      }
      const { table, edits, versions } = branches(entries);
      let found = 0;
      for (const version of versions.versions(table.row("e"), ["e"])) {
        expect(version.entryMessage(entries[0] as SessionEntry)).toMatchObject({ content: `t${found++}` });
      }
      expect(found).toBe(count);
      return edits.looked + targets;
    };
    expect(looked(100)).toBeLessThanOrEqual(4 * 100);
    expect(looked(1000)).toBeLessThanOrEqual(4 * 1000);
  });

  test("take a look at each edit, however many branches there are", () => {
    const looked = (results: number, count: number) => {
      const entries = Array.from({ length: results }, (_, at) =>
        message(`r${at}`, at === 0 ? null : `r${at - 1}`),
      );
      let last = entries.at(-1)?.id ?? null;
      for (let at = 0; at < results; at++) {
        entries.push(edit(`t${at}`, last, `r${at}`));
        last = `t${at}`;
      }
      for (let at = 0; at < count; at++) {
        entries.push(edit(`b${at}`, last, `r${at % results}`));
        entries.push(message(`l${at}`, `b${at}`));
      }
      const { table, edits, versions } = branches(entries);
      let found = 0;
      for (let at = 0; at < results; at++)
        found += [...versions.versions(table.row(`r${at}`), [`r${at}`])].length;
      expect(found).toBe(results + count);
      return edits.looked;
    };
    // Each version has the edit on the trunk, and at most one behind it.
    expect(looked(200, 100)).toBeLessThanOrEqual(2 * (200 + 100));
    expect(looked(2000, 200)).toBeLessThanOrEqual(2 * (2000 + 200));
  });
});
