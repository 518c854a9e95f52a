/** Appends that conflict with another writer. */

import { assistantMessage, toolResult } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import type { EntryDraft, Session } from "../../session/index.js";
import { equal, refuses, rejects } from "../expect.js";
import { conformanceCase, type Harness, say, textsInContext } from "./harness.js";

const call = { type: "toolCall", id: "c1", name: "look", arguments: {} } as const;
const asks: EntryDraft = { type: "message", message: assistantMessage({ provider: "p", model: "m" }, call) };
const answers: EntryDraft = { type: "message", message: toolResult(call, "seen") };

/** Opens two handles on one session with one message, the root. */
async function twoHandles(harness: Harness): Promise<{ first: Session; second: Session; root: string }> {
  const first = await harness.start();
  return { first, second: await harness.open(first.id), root: first.leafId as string };
}

/** The `reason` in the details of a conflict. */
async function appendReason(append: () => Promise<unknown>, what: string): Promise<unknown> {
  return ((await rejects(append, "CONCURRENT_WRITER", what)) as { readonly reason?: unknown }).reason;
}

export const conflictCases = [
  conformanceCase("a conflict names the other's leaf and entries, and branch goes there", async (harness) => {
    const { first, second, root } = await twoHandles(harness);
    const theirs = await first.append([say("first"), say("more")]);
    const error = await second.append([say("second")]).catch((reason: unknown) => reason);
    if (!SessileError.is(error, "CONCURRENT_WRITER")) throw new Error("the append did not meet a conflict");
    const ids = theirs.map(({ id }) => id);
    equal([error.details.leafId, error.details.entryIds], [ids[1], ids], "leafId and entryIds");
    equal(
      [...ids, root].filter((id) => !error.message.includes(id)),
      [],
      "ids of the entries and of either leaf that the message does not name",
    );
    await second.branch(error.details.leafId as string);
    await second.append([say("second")]);
    equal(await textsInContext(second), ["start", "first", "more", "second"], "context of the second");
  }),

  conformanceCase("refresh gives what came, also after a conflict has read it", async (harness) => {
    const { first, second } = await twoHandles(harness);
    const [one] = await first.append([say("one")]);
    await rejects(() => second.append([say("second")]), "CONCURRENT_WRITER", "append of the second");
    const [two] = await first.append([say("two")]);
    equal(
      (await second.refresh()).map(({ id }) => id),
      [one?.id, two?.id],
      "what the second had not looked at",
    );
    await second.append([say("again")]);
    equal(await second.refresh(), [], "what came after that, its own entry not among it");
    const [label] = await first.append([{ type: "label", targetId: two?.id as string, label: "l" }], {
      conflict: "rebase",
    });
    await second.append([say("more")]);
    equal(
      (await second.refresh()).map(({ id }) => id),
      [label?.id],
      "what an append read that met no conflict",
    );
  }),

  conformanceCase("branch keeps both branches, and either handle on its own", async (harness) => {
    const { first, second, root } = await twoHandles(harness);
    const [theirs] = await first.append([say("first")]);
    const [ours, next] = await Promise.all([
      second.append([say("second")], { conflict: "branch", after: root }),
      second.append([say("next")], { conflict: "branch" }),
    ]);
    equal([ours[0]?.parentId, next[0]?.parentId], [root, ours[0]?.id], "parents of the second's entries");
    equal(second.leafId, next[0]?.id, "leaf of the second handle");
    equal(first.leafId, theirs?.id, "leaf of the first handle");
    const more = await first.append([say("more")], { conflict: "branch" });
    equal(more[0]?.parentId, theirs?.id, "parent of what the first appends then");
    equal(await textsInContext(first), ["start", "first", "more"], "context of the first");
    equal(await textsInContext(second), ["start", "second", "next"], "context of the second");
    const read = await harness.open(first.id, "read");
    equal((await read.tree()).size, 5, "entries in the log");
    equal(
      await textsInContext(read, more[0]?.id),
      ["start", "first", "more"],
      "the first's branch read back",
    );
    equal(await textsInContext(read, next[0]?.id), ["start", "second", "next"], "the second's, read back");
  }),

  conformanceCase(
    "branch stays on its own branch behind a label that went to the other's",
    async (harness) => {
      const { first, second, root } = await twoHandles(harness);
      await first.append([say("first")]);
      const [label, message] = await Promise.all([
        second.append([{ type: "label", targetId: root, label: "l" }], { conflict: "rebase" }),
        second.append([say("second")], { conflict: "branch" }),
      ]);
      equal([label.length, message[0]?.parentId], [1, root], "the label, and the parent of the message");
      equal(await textsInContext(second), ["start", "second"], "context of the second");
    },
  ),

  conformanceCase("follow goes after the other's newest entry, chained appends included", async (harness) => {
    const { first, second, root } = await twoHandles(harness);
    const theirs = await first.append([say("first"), { type: "label", targetId: root, label: "l" }]);
    const [one, two] = await Promise.all([
      second.append([say("one", "0000aaaa"), say("one more")], { conflict: "follow", after: root }),
      second.append([say("two")]),
    ]);
    equal(one[0]?.parentId, theirs.at(-1)?.id, "parent of the first entry: the other's newest");
    equal([one[0]?.id, one[1]?.parentId], ["0000aaaa", "0000aaaa"], "its id, and the parent of the next");
    equal(two[0]?.parentId, one[1]?.id, "parent of what was called without waiting");
    equal(second.leafId, two[0]?.id, "leaf of the second handle");
    await first.append([say("first again")], { conflict: "follow" });
    const all = ["start", "first", "one", "one more", "two", "first again"];
    equal(await textsInContext(first), all, "context of the first");
    equal(await textsInContext(await harness.open(first.id, "read")), all, "context read back");
  }),

  conformanceCase("follow goes after what refresh has read", async (harness) => {
    const { first, second, root } = await twoHandles(harness);
    const [theirs] = await first.append([say("first")]);
    await second.refresh();
    await second.updateInfo({ title: "title" });
    const [ours] = await second.append([say("second")], { conflict: "follow" });
    equal(ours?.parentId, theirs?.id, "parent of what the second appends");
    await second.branch(root);
    const [chosen] = await second.append([say("elsewhere")], { conflict: "follow" });
    equal(chosen?.parentId, root, "parent after a move of the leaf: nobody wrote since");
  }),

  conformanceCase("follow takes what is staged along", async (harness) => {
    const { first, second } = await twoHandles(harness);
    const [staged] = second.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    const [theirs] = await first.append([say("first")]);
    await second.context();
    const [ours] = await second.append([say("second")], { conflict: "follow" });
    equal(
      (await second.tree()).node(staged?.id as string)?.parentId,
      theirs?.id,
      "parent of what was staged",
    );
    equal(ours?.parentId, staged?.id, "parent of what was appended");
    equal(await textsInContext(second), ["start", "first", "second"], "context of the second");
    const walk = async (session: Session) => Array.from((await session.tree()).walk(), ({ node }) => node);
    equal(
      await walk(second),
      await walk(await harness.open(first.id, "read")),
      "the tree, as it is read back",
    );
  }),

  conformanceCase(
    "follow is refused where a result would lose its call, and writes nothing",
    async (harness) => {
      const { first, second } = await twoHandles(harness);
      await second.append([asks]);
      await first.refresh();
      await first.branch(null);
      const [theirs] = await first.append([say("elsewhere")]);
      const lost = () => second.append([answers], { conflict: "follow" });
      equal(await appendReason(lost, "a result whose call is on another branch"), "lostCall", "reason");
      equal((await second.tree()).size, 3, "entries: nothing was written");
      await rejects(lost, "CONCURRENT_WRITER", "the same again");
      const [ours] = await second.append([answers], { conflict: "branch" });
      equal(ours?.parentId === theirs?.id, false, "a branch of its own takes it");
      equal((await second.toolStates())[0]?.state, "completed", "state of the call");
    },
  ),

  conformanceCase(
    "a result that was chained to a message that followed is refused alone",
    async (harness) => {
      const { first, second } = await twoHandles(harness);
      await second.append([asks]);
      await first.refresh();
      await first.branch(null);
      await first.append([say("elsewhere")]);
      const [message, result, behind] = await Promise.allSettled([
        second.append([say("second")], { conflict: "follow" }),
        second.append([answers]),
        second.append([say("third")], { conflict: "follow" }),
      ]);
      equal(
        [message.status, result.status, behind.status],
        ["fulfilled", "rejected", "rejected"],
        "what became of the message, of the result, and of what was chained to the result",
      );
      equal(await textsInContext(second), ["elsewhere", "second"], "context of the second");
    },
  ),

  conformanceCase("follow does not come between a call and its result", async (harness) => {
    const { first, second } = await twoHandles(harness);
    await first.append([asks]);
    const interrupts = () => second.append([say("second")], { conflict: "follow" });
    equal(await appendReason(interrupts, "a message behind a call that waits"), "pendingCall", "reason");
    await first.append([answers]);
    await interrupts();
    equal(await textsInContext(second), ["start", "assistant", "toolResult", "second"], "context");
    await second.append([asks]);
    const [result] = await first.append([answers, say("then")], { conflict: "follow" });
    equal(result?.parentId, second.leafId, "parent of the result of another handle's call");
    await rejects(
      () => second.append([answers], { conflict: "follow" }),
      "CONCURRENT_WRITER",
      "a second result",
    );
  }),

  conformanceCase("follow is refused where what is named is on another branch", async (harness) => {
    const { first, second } = await twoHandles(harness);
    const [own] = await second.append([say("own")]);
    await first.append([say("first")], { conflict: "branch" });
    const targetId = own?.id as string;
    const drafts: readonly EntryDraft[] = [
      { type: "context_edit", targetId, replacement: null },
      { type: "context_pin", targetId, pinned: true },
      { type: "compaction", summary: "s", firstKeptEntryId: targetId, tokensBefore: 1 },
      { type: "revert", targetId },
    ];
    for (const draft of drafts) {
      const append = () => second.append([draft], { conflict: "follow" });
      equal(
        await appendReason(append, `a ${draft.type} entry`),
        "lostReference",
        `reason for a ${draft.type}`,
      );
    }
    equal((await second.tree()).size, 3, "entries");
    await second.append([{ type: "label", targetId, label: "l" }], { conflict: "follow" });
    await refuses(
      () => second.append([{ type: "leaf", targetId }], { conflict: "follow" }),
      "follow with a leaf entry",
    );
    await refuses(
      () => second.branchWithSummary(targetId, "s", { conflict: "follow" }),
      "a summary with follow",
    );
  }),

  conformanceCase("an append that is made again with its ids is one entry, in each mode", async (harness) => {
    for (const conflict of ["branch", "follow"] as const) {
      const { first, second } = await twoHandles(harness);
      await first.append([say("first")]);
      const drafts = [say("second", "0000aaaa"), say("third", "0000bbbb")];
      const entries = await second.append(drafts, { conflict });
      equal(
        await second.append(drafts, { conflict }),
        entries,
        `what the same handle gives again: ${conflict}`,
      );
      equal(await first.append(drafts, { conflict }), entries, `what another handle gives: ${conflict}`);
      equal((await harness.readBack(first.id)).ids.length, 4, `entries in the log: ${conflict}`);
    }
  }),

  conformanceCase("eight racing writers that follow write one history, each entry once", async (harness) => {
    const session = await harness.start();
    const writers = [session];
    while (writers.length < 8) writers.push(await harness.open(session.id));
    const written: string[] = [];
    for (let round = 1; round <= 4; round++) {
      const entries = await Promise.all(
        writers.map((writer, at) => writer.append([say(`${round}, ${at}`)], { conflict: "follow" })),
      );
      written.push(...entries.flat().map(({ id }) => id));
    }
    const read = await harness.open(session.id, "read");
    const path = (await read.tree()).path(read.leafId).map(({ id }) => id);
    equal(path.length, (await read.tree()).size, "entries on the path: nothing branches");
    equal([...path.slice(1)].sort(), written.sort(), "entries of the path");
    equal(read.diagnostics, [], "diagnostics");
  }),
];
