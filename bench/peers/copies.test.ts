import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { fileSessionStore } from "sessile/node";
import { expect, test } from "vitest";
import { contextView, ourView, piView, type View, withNumbers } from "./compare.js";
import { inDirectory, type PiEntry, plain, SessionManager } from "./pi.js";
import { script, scriptWithAssistant, withLabelsAside } from "./scripts.js";
import { carryOut, ourHand } from "./writers.js";

/** A view with numbers for ids, since both give new ids to the labels that they write at the end. */
function numbered(view: View) {
  const entries = view.entries as readonly PiEntry[];
  const number = new Map(entries.map(({ id }, index) => [id, index]));
  return {
    entries: withNumbers(entries),
    labels: Object.fromEntries(Object.entries(view.labels).map(([id, label]) => [number.get(id), label])),
    leaf: number.get(view.leafId ?? ""),
    contexts: entries.map(({ id }) => view.contexts[id]),
    name: view.name,
  };
}

test("extract takes the path that createBranchedSession takes, with the same labels and contexts", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(scriptWithAssistant, fc.nat(), async (steps, pick) => {
      await inDirectory(async (dir) => {
        let now = Date.UTC(2026, 0, 1);
        const store = fileSessionStore({ dir, durability: "os", now: () => now++ });
        const session = await store.create({ cwd: "/work/project" });
        const ids = await carryOut(ourHand(session), withLabelsAside(steps));
        await session.flush();
        const leafId = ids[pick % ids.length] as string;
        // What pi makes of a label on the path is a difference of its own.
        if ((await session.tree()).path(leafId).some(({ type }) => type === "label")) return;
        const manager = SessionManager.open(session.location as string);
        const file = manager.createBranchedSession(leafId) as string;
        const extracted = await session.extract(leafId);
        const ours = await ourView(extracted);
        expect(numbered(ours)).toEqual(numbered(piView(manager)));
        // Without an assistant message pi leaves the writing for later.
        if (existsSync(file)) expect(numbered(ours)).toEqual(numbered(piView(SessionManager.open(file))));
        expect(extracted.header.parentSession).toBe(manager.getHeader()?.parentSession);
        await extracted.close();
        await session.close();
      });
    }),
    { numRuns: 150 },
  );
});

test("fork takes every entry that forkFrom takes, ids and branches included", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      await inDirectory(async (dir) => {
        let now = Date.UTC(2026, 0, 1);
        const store = fileSessionStore({ dir, durability: "os", now: () => now++ });
        const session = await store.create({ cwd: "/work/project" });
        const ids = await carryOut(ourHand(session), steps);
        if (ids.length === 0) return;
        // Settings alone make no file until they are flushed.
        await session.flush();
        await session.close();
        const source = session.location as string;
        const ofPi = SessionManager.forkFrom(source, "/work/other", join(dir, "pi"));
        const ours = await store.fork(session.id, { cwd: "/work/other" });
        // The title that this library gives to a fork is one entry more: a difference of its own.
        const added = ours.leafId as string;
        const { entries, children, labels, contexts } = await ourView(ours);
        const expected = piView(ofPi);
        expect(entries.slice(0, -1)).toEqual(expected.entries);
        expect(labels).toEqual(expected.labels);
        for (const [id, list] of Object.entries(expected.children))
          expect(children[id]?.filter((child) => child !== added)).toEqual(list);
        for (const [id, context] of Object.entries(expected.contexts)) expect(contexts[id]).toEqual(context);
        expect(ours.info.cwd).toBe(ofPi.getCwd());
        expect(ours.header.parentSession).toBe(ofPi.getHeader()?.parentSession);
        await ours.close();
      });
    }),
    { numRuns: 100 },
  );
});

test("branch and branchWithSummary go on from the same entry", { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(scriptWithAssistant, fc.nat(), fc.string(), async (steps, pick, summary) => {
      await inDirectory(async (dir) => {
        const session = await fileSessionStore({ dir, durability: "os" }).create({ cwd: "/work/project" });
        const ids = await carryOut(ourHand(session), steps);
        const copy = join(dir, "of-pi.jsonl");
        copyFileSync(session.location as string, copy);
        const manager = SessionManager.open(copy);
        const target = ids[pick % ids.length] as string;
        await session.branch(target);
        manager.branch(target);
        expect(session.leafId).toBe(manager.getLeafId());
        const [after] = await session.append([{ type: "custom", customType: "after" }]);
        const afterOfPi = manager.getEntry(manager.appendCustomEntry("after"));
        expect(after?.parentId).toBe(afterOfPi?.parentId);
        const { parentId } = await session.branchWithSummary(target, summary);
        const ofPi = manager.getEntry(manager.branchWithSummary(target, summary));
        expect(parentId).toBe(ofPi?.parentId);
        const shape = (context: ReturnType<typeof contextView>) =>
          context.messages.map((message) => {
            const { fromId: _fromId, timestamp: _timestamp, ...rest } = message as Record<string, unknown>;
            return rest;
          });
        expect(shape(contextView(await session.context()))).toEqual(
          shape(plain(manager.buildSessionContext())),
        );
        expect((await session.tree()).children(target).map(({ type }) => type)).toEqual(
          manager.getChildren(target).map(({ type }) => type),
        );
        await session.close();
      });
    }),
    { numRuns: 100 },
  );
});
