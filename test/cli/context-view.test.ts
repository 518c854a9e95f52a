import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { assistantMessage, memorySessionStore, type Session, userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterAll, describe, expect, it } from "vitest";
import { contextViewAt } from "../../src/cli/commands/show.js";
import { call } from "./call.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-context-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const model = { provider: "anthropic", model: "claude-opus-5-5" };
const asked = async (session: Session, text: string) => (await session.appendMessage(userMessage(text))).id;
const compaction = (firstKeptEntryId: string, retain: readonly string[] = []) => ({
  type: "compaction" as const,
  ...{ summary: "They spoke.", firstKeptEntryId, tokensBefore: 90_000 },
  ...(retain.length > 0 && { retain }),
});

describe("show --context", () => {
  it("names the compactions with what each dropped and kept, and the edits", async () => {
    await using session = await fileSessionStore({ dir }).create({ cwd: "/work" });
    const first = await asked(session, "The password is swordfish.");
    const pinned = await asked(session, "Never delete data.");
    const secret = await asked(session, "A token.");
    const second = await asked(session, "Continue.");
    await session.append([{ type: "context_pin", targetId: pinned, pinned: true }]);
    await session.append([{ type: "context_edit", targetId: secret, replacement: null }]);
    const [one] = await session.append([compaction(second, [pinned])]);
    const reply = await session.appendMessage(assistantMessage(model, "A long answer."));
    const third = await asked(session, "Shorter.");
    const [two] = await session.append([compaction(reply.id, [pinned])]);
    const [edit] = await session.append([
      { type: "context_edit", targetId: reply.id, replacement: { content: "Cut." } },
    ]);
    const words = ["show", session.location ?? "", "--context"];
    const [view] = (await call([...words, "--json"], { cwd: dir })).json;
    expect(view).toMatchObject({
      model: { provider: "anthropic", modelId: "claude-opus-5-5" },
      compactions: [
        { id: one?.id, tokensBefore: 90_000, dropped: [first], kept: [pinned, second] },
        { id: two?.id, dropped: [second], kept: [pinned, reply.id, third] },
      ],
      edits: [
        { targetId: secret, omits: true },
        { id: edit?.id, targetId: reply.id, omits: false },
      ],
      others: [],
      items: [
        { entryId: two?.id, origin: "summary", kept: false },
        { entryId: pinned, origin: "retained", kept: true, pinned: true },
        { entryId: reply.id, edited: true, kept: true },
        { entryId: third, edited: false, kept: true },
      ],
    });
    const { stdout } = await call(words, { cwd: dir });
    const summary = `Compaction ${one?.id} of 90,000 tokens: keeps 2 messages, and drops 1:`;
    expect(stdout).toContain(`${summary}\n  ${first} user: The password is swordfish.\n`);
    expect(stdout).toContain(`leaves out:\n  ${secret} user: A token.\n`);
    expect(stdout).toContain(`user [kept] [pinned] ${pinned}\n  Never delete data.\n`);
    expect(stdout).toContain(`assistant [kept] [edited] ${reply.id}\n  Cut.\n`);
    // Before the first compaction all was there.
    const before = (await call([...words, "--at", second, "--json"], { cwd: dir })).json[0];
    expect(before).toMatchObject({ compactions: [], edits: [], others: [] });
    expect(before.items).toHaveLength(4);
  });

  it("has a place for every message of the branch", async () => {
    const step = fc.record({
      kind: fc.constantFrom("ask", "ask", "reply", "compact", "omit", "replace"),
      at: fc.nat(),
      retain: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const session = await memorySessionStore().create({ cwd: "/work" });
        const ids = [await asked(session, "0")];
        for (const { kind, at, retain } of steps) {
          const target = ids[at % ids.length] ?? "";
          if (kind === "ask") ids.push(await asked(session, `${ids.length}`));
          else if (kind === "reply")
            ids.push((await session.appendMessage(assistantMessage(model, "Yes."))).id);
          else if (kind === "compact")
            await session.append([compaction(target, [ids[retain % ids.length] ?? ""])]);
          else {
            const replacement = kind === "omit" ? null : { content: "Cut." };
            await session.append([{ type: "context_edit", targetId: target, replacement }]);
          }
        }
        const view = await contextViewAt(session, session.leafId);
        const shown = view.items.map(({ entryId }) => entryId);
        const gone = [
          ...view.compactions.flatMap(({ dropped }) => dropped),
          ...view.edits.filter(({ omits }) => omits).map(({ targetId }) => targetId),
          ...view.others,
        ];
        const placed = new Set([...shown, ...gone]);
        expect(ids.filter((id) => !placed.has(id))).toEqual([]);
        expect(view.others).toEqual([]);
        expect(gone.filter((id) => shown.includes(id))).toEqual([]);
        expect(gone).toHaveLength(new Set(gone).size);
      }),
      { numRuns: 100 },
    );
  });
});
