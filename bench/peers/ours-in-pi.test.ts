import fc from "fast-check";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { expect, test } from "vitest";
import { ourView, piView } from "./compare.js";
import { inDirectory, SessionManager } from "./pi.js";
import { type Step, script } from "./scripts.js";
import { carryOut, ourHand } from "./writers.js";

test("pi opens what this library wrote, and sees the same", { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(script, fc.boolean(), async (steps, stages) => {
      await inDirectory(async (dir) => {
        let now = Date.UTC(2026, 0, 1);
        const store = fileSessionStore({ dir, durability: "os", now: () => now++ });
        const session = await store.create({ cwd: "/work/project" });
        const isStaged = (step: Step) => stages && step.type !== "message";
        const ids = await carryOut(ourHand(session, isStaged), steps);
        if (ids.length === 0) return;
        await session.flush();
        // A tip that is moved at the very end is a leaf entry, which pi takes for a tip: a difference of its own.
        if (steps.at(-1)?.type === "label") await session.append([{ type: "custom", customType: "end" }]);
        const path = session.location as string;
        await session.close();
        const reopened = await openSessionFile(path);
        expect(reopened.diagnostics).toEqual([]);
        const manager = SessionManager.open(path);
        expect(manager.getCwd()).toBe("/work/project");
        expect(manager.getSessionId()).toBe(reopened.id);
        expect(await ourView(reopened)).toEqual(piView(manager));
        await reopened.close();
      });
    }),
    { numRuns: 300 },
  );
});
