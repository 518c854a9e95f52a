import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { mergeSessions, syncSessions } from "sessile/sync";
import { expect, test } from "vitest";
import { contextView, ourView, piView, type View } from "./compare.js";
import { inDirectory, SessionManager } from "./pi.js";
import { script } from "./scripts.js";
import { carryOut, ourHand } from "./writers.js";

/** What pi sees of a file, where the order of lines counts for nothing. */
function unordered({ entries, leafId, children, labels, name }: View): object {
  const sorted = Object.entries(children).map(([id, below]) => [id, [...below].sort()]);
  const byId = Object.fromEntries(entries.map((entry) => [(entry as { readonly id: string }).id, entry]));
  const label = (set: View["labels"]) => Object.entries(set).map(([id, { label }]) => `${id} ${label}`);
  return { byId, leafId, children: Object.fromEntries(sorted), labels: label(labels).sort(), name };
}

// Pi writes nothing to a file without an answer.
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const answer = {
  role: "assistant",
  content: [{ type: "text", text: "On in pi." }],
  ...({ api: "anthropic-messages", provider: "anthropic", model: "m", stopReason: "stop" } as const),
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
  timestamp: 1,
} satisfies Parameters<SessionManager["appendMessage"]>[0];

/** Opens a file in pi, compares it with this library, and goes on in it. Returns what pi saw. */
async function opened(path: string): Promise<object> {
  const session = await openSessionFile(path);
  expect(session.diagnostics).toEqual([]);
  const [pis, ours] = [piView(SessionManager.open(path)), await ourView(session)];
  const { leafId } = pis;
  // pi sorts children by time.
  expect(unordered({ ...pis, leafId: null })).toEqual(unordered({ ...ours, leafId: null }));
  // pi goes on below a leaf entry, which stands below the leaf.
  const last = pis.entries.at(-1) as { readonly type: string; readonly parentId: string | null };
  expect(last.type === "leaf" ? last.parentId : leafId).toBe(ours.leafId);
  expect(pis.contexts[leafId ?? ""]).toEqual(contextView(await session.context()));
  await session.close();
  const manager = SessionManager.open(path);
  const id = manager.appendMessage(answer);
  const again = await openSessionFile(path);
  expect((await again.tree()).node(id)?.parentId).toBe(leafId);
  await again.close();
  return unordered(pis);
}

test("pi opens both files after a sync, and a merged one, and sees one tree", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(script, script, script, async (before, left, right) => {
      await inDirectory(async (dir) => {
        let now = Date.UTC(2026, 0, 1);
        const [a, b] = ["a", "b"].map((name) =>
          fileSessionStore({ dir: join(dir, name), durability: "os", now: () => now++ }),
        ) as [ReturnType<typeof fileSessionStore>, ReturnType<typeof fileSessionStore>];
        const inA = await a.create({ cwd: "/work/project", id: "s" });
        const ids = await carryOut(ourHand(inA), before);
        await inA.flush();
        if ((await a.latest()) === undefined) return;
        await syncSessions(a, b);
        const inB = await b.open("s", { mode: "write" });
        await carryOut(ourHand(inA), left, [...ids]);
        await carryOut(ourHand(inB), right, [...ids]);
        for (const session of [inA, inB]) {
          await session.flush();
          await session.close();
        }
        const paths = [inA, inB].map(({ location }) => location as string);
        const files = paths.map((path) => readFileSync(path)) as [Buffer, Buffer];
        const merged = join(dir, "merged.jsonl");
        writeFileSync(merged, (await mergeSessions(undefined, ...files)).bytes);
        await opened(merged);
        await syncSessions(a, b);
        const [one, other] = [await opened(paths[0] as string), await opened(paths[1] as string)];
        expect(one).toEqual(other);
      });
    }),
    { numRuns: 30 },
  );
});
