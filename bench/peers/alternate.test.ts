import fc from "fast-check";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { expect, test } from "vitest";
import { ourView, piView, type View } from "./compare.js";
import { inDirectory, type PiEntry, SessionManager } from "./pi.js";
import { type Step, script } from "./scripts.js";
import { carryOut, ourHand, piHand } from "./writers.js";

/** A conversation has begun: before the first assistant message pi keeps what it is given to itself. */
const begun: readonly Step[] = [
  { type: "message", jump: "stay", message: { role: "user", content: "hi", timestamp: 1 } },
  {
    type: "message",
    jump: "stay",
    message: {
      role: "assistant",
      content: [{ type: "text", text: "hello" }],
      api: "anthropic-messages",
      provider: "anthropic",
      model: "m",
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
      stopReason: "stop",
      timestamp: 2,
    },
  },
];

/** What both see of a file now; asserts that it is the same. */
async function sameView(path: string): Promise<View> {
  const session = await openSessionFile(path);
  expect(session.diagnostics).toEqual([]);
  const ours = await ourView(session);
  await session.close();
  expect(ours).toEqual(piView(SessionManager.open(path)));
  return ours;
}

const turns = fc.array(fc.tuple(fc.constantFrom("pi" as const, "ours" as const), script), {
  minLength: 2,
  maxLength: 6,
  size: "max",
});

test("both append in turns, each opening the file anew: nothing is lost, and both see the same", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(turns, async (list) => {
      await inDirectory(async (dir) => {
        const session = await fileSessionStore({ dir, durability: "os" }).create({ cwd: "/work/project" });
        const ids = await carryOut(ourHand(session), begun);
        const path = session.location as string;
        await session.close();
        for (const [who, steps] of list) {
          // A tip that is moved and not followed is a difference of its own.
          const kept = steps.map((step) => (step.type === "label" ? { ...step, goBack: false } : step));
          if (who === "pi") {
            await carryOut(piHand(SessionManager.open(path)), kept, ids);
          } else {
            const opened = await openSessionFile(path, { mode: "write", durability: "os" });
            await carryOut(ourHand(opened), kept, ids);
            await opened.close();
          }
          const { entries, leafId } = await sameView(path);
          const last = entries.at(-1) as PiEntry;
          // A name far from the end is written again when we close: a difference of its own.
          if (last.type === "session_info" && last.id !== ids.at(-1)) ids.push(last.id);
          // So it is before a compaction.
          const own = new Set(ids);
          const told = (entries as PiEntry[]).filter(
            ({ id, type }) => own.has(id) || type !== "session_info",
          );
          expect(told.map(({ id }) => id)).toEqual(ids);
          expect(leafId).toBe(ids.at(-1));
        }
      });
    }),
    { numRuns: 100 },
  );
});

test("a session that both hold open: ours reads what pi appended, and goes on where it was told to", async () => {
  await inDirectory(async (dir) => {
    const session = await fileSessionStore({ dir, durability: "os" }).create({ cwd: "/work/project" });
    const ids = await carryOut(ourHand(session), begun);
    const manager = SessionManager.open(session.location as string);
    ids.push(manager.appendCustomEntry("of-pi"));
    await expect(
      session.appendMessage({ role: "user", content: "late", timestamp: 3 }),
    ).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect(session.leafId).toBe(ids[1]);
    await session.branch(ids[2] as string);
    ids.push((await session.appendMessage({ role: "user", content: "again", timestamp: 4 })).id);
    await session.close();
    const { entries } = await sameView(session.location as string);
    expect(entries.map((entry) => (entry as PiEntry).id)).toEqual(ids);
  });
});
