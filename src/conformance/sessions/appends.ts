/** Appends through one handle. */

import { assistantMessage, toolResult, userMessage } from "../../content/index.js";
import type { EntryDraft, EntryType } from "../../session/index.js";
import { equal, refuses, rejects } from "../expect.js";
import { conformanceCase, say } from "./harness.js";

const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 };
const call = {
  type: "toolCall",
  id: "c1",
  name: "read",
  arguments: { path: "a", depth: [null, 1.5] },
} as const;

type Fields<T extends EntryType> = Omit<EntryDraft & { readonly type: T }, "type">;

/**
 * Drafts of every type, with a message of every role. The leaf entry is last, so that its target is the
 * current leaf.
 */
const draftsByType: { readonly [T in EntryType]: readonly Fields<T>[] } = {
  thinking_level_change: [{ thinkingLevel: "high" }],
  model_change: [{ provider: "anthropic", modelId: "m" }],
  message: [
    { message: { role: "system", content: "Be brief.", sections: { a: null }, timestamp: 1 } },
    { message: userMessage("one"), id: "a0000001" },
    {
      message: assistantMessage(
        { provider: "anthropic", model: "m", usage, stopReason: "toolUse" },
        { type: "thinking", thinking: "hm", thinkingSignature: "c2ln" },
        "Let me look.",
        call,
        { type: "opaque", data: { type: "server_tool_use", input: { deep: [[{}]] } } },
      ),
    },
    { message: { ...toolResult(call, "text"), details: { lines: [1, 2] } } },
    {
      message: {
        role: "bashExecution",
        command: "ls",
        output: "",
        exitCode: null,
        cancelled: true,
        truncated: false,
        timestamp: 2,
      },
    },
    { message: { role: "custom", customType: "acme.note", content: [], display: true, timestamp: 3 } },
  ],
  custom: [{ customType: "acme.state", data: { nested: { list: [true, null, ""] } } }],
  custom_message: [{ customType: "acme.hint", content: "hint", display: false }],
  label: [{ targetId: "a0000001", label: "begin" }],
  session_info: [
    { name: "name", title: "title", permission: [{ permission: "*", pattern: "*", action: "ask" }] },
  ],
  usage: [{ kind: "title", provider: "anthropic", model: "m", usage }],
  context_edit: [{ targetId: "a0000001", replacement: null }],
  message_update: [{ targetId: "a0000001", message: { ...userMessage("one again"), timestamp: 4 } }],
  part_update: [{ targetId: "a0000001", index: 0, part: { type: "text", text: "once more" } }],
  context_pin: [{ targetId: "a0000001", pinned: true }],
  resource_view: [{ resourceId: "res_0123456789abcdef", reason: "again" }],
  resource_observation: [{ resourceId: "res_0123456789abcdef", text: "a cat" }],
  revert: [{ targetId: "a0000001", snapshot: "abc", diff: "--- a\n+++ b\n" }],
  branch_summary: [{ fromId: "root", summary: "went elsewhere" }],
  compaction: [
    { summary: "so far", firstKeptEntryId: "a0000001", tokensBefore: 1000, retain: ["a0000001"], usage },
  ],
  leaf: [{ targetId: "a0000001", name: "here" }],
};

const everyType: readonly EntryDraft[] = Object.entries(draftsByType).flatMap(([type, drafts]) =>
  drafts.map((fields) => ({ type, ...fields }) as EntryDraft),
);

export const appendCases = [
  conformanceCase(
    "what was acknowledged is read back by another handle, equal entry by entry",
    async (harness) => {
      const session = await harness.create();
      const entries = await session.append(everyType);
      equal(
        entries.map(({ type }) => type),
        everyType.map(({ type }) => type),
        "types of the entries",
      );
      for (const [index, { id: _, ...draft }] of everyType.entries()) {
        const { id, parentId, timestamp, prior, ...fields } = entries[index] as (typeof entries)[number];
        const before = entries[index - 1]?.id;
        equal(prior, before === parentId ? undefined : before, "the entry before, if it is not the parent");
        equal(fields, draft, "fields of the entry that append gives");
      }
      const back = await harness.open(session.id, "read");
      for (const entry of entries)
        equal(await back.entry(entry.id), entry, `the ${entry.type} entry read back`);
      equal((await back.tree()).size, entries.length, "entries in the tree");
      equal(back.leafId, "a0000001", "leaf");
      equal(back.diagnostics, [], "diagnostics");
      equal(await back.diagnose(), [], "diagnostics of every line in whole");
    },
  ),

  conformanceCase("each append is there for other handles when it resolves", async (harness) => {
    const session = await harness.create();
    const entries = [];
    for (const text of ["one", "two", "three"]) {
      entries.push(...(await session.append([say(text)])));
      await harness.reads(session.id, entries, `after ${text}`);
    }
  }),

  conformanceCase("a batch is written all or none", async (harness) => {
    const session = await harness.start();
    const before = session.leafId;
    const wrong = { type: "message", message: { role: "user", content: 1, timestamp: 0 } };
    await rejects(
      () => session.append([say("one"), wrong as unknown as EntryDraft, say("three")]),
      "INVALID_ENTRY",
      "append of a batch with a draft of the wrong shape",
    );
    await rejects(
      () => session.append([say("one"), { type: "label", targetId: "nowhere", label: "x" }]),
      "ENTRY_NOT_FOUND",
      "append of a batch with a reference into nothing",
    );
    await rejects(
      () => session.append([say("one"), { type: "custom", customType: "acme", data: Number.NaN }]),
      "INVALID_ENTRY",
      "append of a batch with a value that JSON cannot hold",
    );
    equal(session.leafId, before, "leaf");
    equal(
      (await harness.readBack(session.id)).ids,
      [before],
      "entries read back after the batches that failed",
    );
    const batch = await session.append([say("one"), say("two"), say("three")]);
    const { ids } = await harness.readBack(session.id);
    equal(ids, [before, ...batch.map(({ id }) => id)], "entries read back after one that did not");
  }),

  conformanceCase("an empty append writes nothing", async (harness) => {
    const session = await harness.start();
    equal(await session.append([]), [], "entries");
    equal((await harness.readBack(session.id)).ids, [session.leafId], "entries read back");
  }),

  conformanceCase("appends of one tick follow each other", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    const [one, two, three] = await Promise.all([
      session.append([say("one")]),
      session.append([say("two"), say("two and a half")]),
      session.append([say("three")]),
    ]);
    const chain = [...one, ...two, ...three];
    equal(
      chain.map(({ parentId }) => parentId),
      [root, ...chain.slice(0, -1).map(({ id }) => id)],
      "parents",
    );
    equal(session.leafId, chain.at(-1)?.id, "leaf");
    equal(
      (await harness.readBack(session.id)).ids,
      [root, ...chain.map(({ id }) => id)],
      "entries read back",
    );
  }),

  conformanceCase("a hundred concurrent appends are stored in the order of the calls", async (harness) => {
    const session = await harness.create();
    const calls: Promise<readonly { readonly id: string }[]>[] = [];
    for (let i = 0; i < 100; i++) {
      calls.push(session.append([say(`message ${i}`)]));
      // Some calls arrive during a write, others in the same tick.
      if (i % 7 === 0) await undefined;
      if (i % 23 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const ids = (await Promise.all(calls)).flat().map(({ id }) => id);
    const back = await harness.readBack(session.id);
    equal(back.ids, ids, "entries read back");
    equal(back.leafId, ids.at(-1), "leaf");
  }),

  conformanceCase("an append with an aborted signal writes nothing", async (harness) => {
    const session = await harness.start();
    const before = session.leafId;
    const reason = new TypeError("no longer wanted");
    await refuses(
      () => session.append([say("no")], { signal: AbortSignal.abort(reason) }),
      "append with a signal whose reason is a TypeError",
    );
    equal(session.leafId, before, "leaf");
    const [after] = await session.append([say("yes")]);
    equal(after?.parentId, before, "parent of the next entry");
    equal((await harness.readBack(session.id)).ids, [before, after?.id], "entries read back");
  }),
];
