/** Concurrent writers of one session. */

import { SessileError } from "../../core/errors/index.js";
import type { EntryDraft } from "../../session/index.js";
import { equal, refuses, rejects } from "../expect.js";
import { conformanceCase, say, textsInContext } from "./harness.js";

const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };

/** Entries that are metadata of the conversation only. */
const metadata = (targetId: string): readonly EntryDraft[] => [
  { type: "label", targetId, label: "start" },
  { type: "session_info", title: "title" },
  { type: "usage", kind: "title", provider: "anthropic", model: "m", usage },
];

export const writerCases = [
  conformanceCase("of two writers the second is told, and has written nothing", async (harness) => {
    const first = await harness.start();
    const root = first.leafId as string;
    const second = await harness.open(first.id);
    const [theirs] = await first.append([say("first")]);
    const details = (await rejects(
      () => second.append([say("second"), say("third")]),
      "CONCURRENT_WRITER",
      "append of the second writer",
    )) as { readonly expected: unknown; readonly actual: unknown };
    equal(typeof details.expected, "string", "type of details.expected");
    equal(details.actual !== details.expected, true, "details.actual is another position");
    equal((await harness.readBack(first.id)).ids, [root, theirs?.id], "entries read back");
    equal((await second.tree()).size, 2, "entries that the second writer sees, having refreshed");
    equal(await second.entry(theirs?.id as string), theirs, "the entry of the first, as the second reads it");
    equal(second.leafId, root, "leaf of the second writer");
    equal(await textsInContext(second), ["start"], "context of the second writer");
    const [ours] = await second.append([say("again")]);
    equal(ours?.parentId, root, "parent of what the second appends then");
    equal(
      (await second.tree()).siblings(ours?.id as string).map(({ id }) => id),
      [theirs?.id, ours?.id],
      "siblings",
    );
    const back = await harness.readBack(first.id);
    equal(back.ids, [root, theirs?.id, ours?.id], "entries read back after the second append");
    equal(back.leafId, ours?.id, "leaf read back: the branch that was written last");
  }),

  conformanceCase("appends that wait behind one that fails, fail with it", async (harness) => {
    const first = await harness.start();
    const root = first.leafId;
    const second = await harness.open(first.id);
    const [theirs] = await first.append([say("first")]);
    const outcomes = await Promise.allSettled([
      second.append([say("one")]),
      second.append([say("two")]),
      second.append([say("three")]),
    ]);
    for (const outcome of outcomes) {
      const reason: unknown = outcome.status === "rejected" ? outcome.reason : undefined;
      equal(
        SessileError.is(reason, "CONCURRENT_WRITER"),
        true,
        "an append of the tick rejects CONCURRENT_WRITER",
      );
    }
    equal((await harness.readBack(first.id)).ids, [root, theirs?.id], "entries read back");
    const [next] = await second.append([say("next")]);
    equal(next?.parentId, root, "parent of what is appended then");
  }),

  conformanceCase("another writer's labels, names and usage are no conflict", async (harness) => {
    const first = await harness.start();
    const root = first.leafId as string;
    const second = await harness.open(first.id);
    const theirs = await first.append(metadata(root));
    const ours = await second.append([say("second")]);
    equal(ours[0]?.parentId, root, "parent of what the second appends");
    equal((await second.tree()).label(root), "start", "label, as the second sees it");
    equal(second.info.title, "title", "title, as the second sees it");
    const back = await harness.readBack(first.id);
    equal(back.ids, [root, ...theirs.map(({ id }) => id), ours[0]?.id], "entries read back");
    equal(back.info.title, "title", "title read back");
    equal(back.leafId, ours[0]?.id, "leaf read back");
  }),

  conformanceCase("rebase puts labels, names and usage after the other writer's entries", async (harness) => {
    const first = await harness.start();
    const root = first.leafId as string;
    const second = await harness.open(first.id);
    const theirs = await first.append([say("first"), { type: "session_info", name: "their name" }]);
    const ours = await second.append(metadata(root), { conflict: "rebase" });
    equal(ours[0]?.parentId, theirs.at(-1)?.id, "parent of the first entry");
    const back = await harness.readBack(first.id);
    equal(back.entries.slice(1), [...theirs, ...ours], "entries read back");
    const reader = await harness.open(first.id, "read");
    equal(await textsInContext(reader), ["start", "first"], "context at the log's leaf");
    equal([back.info.name, back.info.title], ["their name", "title"], "name and title read back");
  }),

  conformanceCase("after a rebase a writer is still on its own branch", async (harness) => {
    const first = await harness.start();
    const second = await harness.open(first.id);
    await first.append([say("first")]);
    await rejects(() => second.append([say("second")]), "CONCURRENT_WRITER", "append of the second writer");
    await second.append([say("second")]);
    await rejects(() => first.append([say("more")]), "CONCURRENT_WRITER", "append of the first writer");
    await first.append([say("more")]);
    await second.append([{ type: "session_info", title: "title" }], { conflict: "rebase" });
    equal(await textsInContext(second), ["start", "second"], "context of the second writer");
    await rejects(
      () => second.append([say("later")]),
      "CONCURRENT_WRITER",
      "its next append, of the messages",
    );
    await second.append([say("later")]);
    equal(await textsInContext(second), ["start", "second", "later"], "context after its next append");
  }),

  conformanceCase("an append behind a rebase is told of the other writer all the same", async (harness) => {
    const first = await harness.start();
    const root = first.leafId as string;
    const second = await harness.open(first.id);
    const [theirs] = await first.append([say("first")]);
    const [label, message] = await Promise.allSettled([
      second.append([{ type: "label", targetId: root, label: "start" }], { conflict: "rebase" }),
      second.append([say("second")]),
    ]);
    equal(label.status, "fulfilled", "the label");
    const reason: unknown = message.status === "rejected" ? message.reason : undefined;
    equal(SessileError.is(reason, "CONCURRENT_WRITER"), true, "the message rejects CONCURRENT_WRITER");
    const reader = await harness.open(first.id, "read");
    equal(
      await textsInContext(reader, theirs?.id),
      ["start", "first"],
      "context of the first writer's branch",
    );
    equal((await reader.tree()).size, 3, "entries in the log");
  }),

  conformanceCase("a rebase behind an append that fails leaves the leaf where it is", async (harness) => {
    const first = await harness.start();
    const root = first.leafId as string;
    const second = await harness.open(first.id);
    await first.append([say("first")]);
    const [one, label, two] = await Promise.allSettled([
      second.append([say("one")]),
      second.append([{ type: "label", targetId: root, label: "start" }], { conflict: "rebase" }),
      second.append([say("two")]),
    ]);
    equal([one.status, label.status, two.status], ["rejected", "fulfilled", "rejected"], "outcomes");
    equal(await textsInContext(second), ["start"], "context of the second writer");
    await second.append([say("again")]);
    equal(await textsInContext(second), ["start", "again"], "context after its next append");
  }),

  conformanceCase(
    "an append that is to follow another entry than the leaf writes nothing",
    async (harness) => {
      const session = await harness.create();
      const [start] = await session.append([say("start")], { after: null });
      const root = start?.id as string;
      const before = await rejects(
        () => session.append([say("late")], { after: null }),
        "CONCURRENT_WRITER",
        "append that was to be the first",
      );
      equal(before, { expected: "none", actual: root }, "details");
      const waiting = session.append([say("one")]);
      await rejects(
        () => session.append([say("late")], { after: root }),
        "CONCURRENT_WRITER",
        "append that was to follow what another follows already",
      );
      const [one] = await waiting;
      const draft = say("two", "b0000002");
      const [two] = await session.append([draft], { after: one?.id as string });
      const again = await session.append([draft], { after: one?.id as string });
      equal(again, [two], "what the same call gives again");
      await rejects(
        () => session.branchWithSummary(root, "late", { after: one?.id as string }),
        "CONCURRENT_WRITER",
        "a summary of a branch that went on",
      );
      equal(session.leafId, two?.id, "leaf after that");
      const summary = await session.branchWithSummary(root, "s", { after: two?.id as string });
      equal([summary.parentId, summary.fromId], [root, two?.id], "parentId and fromId of the summary");
      const back = await harness.readBack(session.id);
      equal([...back.ids].sort(), [root, one?.id, two?.id, summary.id].sort(), "entries read back");
      equal(back.leafId, summary.id, "leaf read back");
    },
  ),

  conformanceCase("rebase is refused for anything else", async (harness) => {
    const session = await harness.start();
    const root = session.leafId as string;
    const drafts: readonly EntryDraft[] = [
      say("message"),
      { type: "context_pin", targetId: root, pinned: true },
      { type: "leaf", targetId: null },
      { type: "compaction", summary: "s", firstKeptEntryId: root, tokensBefore: 1 },
    ];
    for (const draft of drafts) {
      await refuses(
        () => session.append([{ type: "label", targetId: root, label: "x" }, draft], { conflict: "rebase" }),
        `rebase of a ${draft.type} entry`,
      );
    }
    equal((await harness.readBack(session.id)).ids, [root], "entries read back");
  }),

  conformanceCase("of eight racing writers exactly one wins each round", async (harness) => {
    const session = await harness.start();
    const { id } = session;
    const writers = [session];
    while (writers.length < 8) writers.push(await harness.open(id));
    const won: unknown[] = [];
    for (let round = 1; round <= 6; round++) {
      const outcomes = await Promise.allSettled(
        writers.map((writer, index) => writer.append([say(`round ${round}, writer ${index}`)])),
      );
      const winners = outcomes.flatMap((outcome) =>
        outcome.status === "fulfilled" ? outcome.value.map((entry) => entry.id) : [],
      );
      equal(winners.length, 1, `winners of round ${round}`);
      for (const outcome of outcomes) {
        if (outcome.status === "fulfilled") continue;
        equal(
          (outcome.reason as { code?: unknown }).code,
          "CONCURRENT_WRITER",
          `code of a loser of round ${round}`,
        );
      }
      won.push(...winners);
      for (const writer of writers) await writer.refresh();
    }
    const back = await harness.open(id, "read");
    const tree = await back.tree();
    equal(tree.size, won.length + 1, "entries in the log");
    equal(
      won.map((entryId) => tree.has(entryId as string)).includes(false),
      false,
      "a winner's entry is missing",
    );
    equal(back.diagnostics, [], "diagnostics");
  }),

  conformanceCase("refresh gives what another writer added, in order", async (harness) => {
    const session = await harness.start();
    const reader = await harness.open(session.id, "read");
    equal(await reader.refresh(), [], "new entries before there are any");
    const entries = await session.append([say("one"), { type: "session_info", name: "name" }, say("two")]);
    const nodes = await reader.refresh();
    equal(
      nodes.map(({ id, parentId, type }) => ({ id, parentId, type })),
      entries.map(({ id, parentId, type }) => ({ id, parentId, type })),
      "new entries",
    );
    equal(reader.leafId, entries.at(-1)?.id, "leaf of a reader, which follows the log");
    equal(reader.info.name, "name", "name");
    equal(await textsInContext(reader), ["start", "one", "two"], "context");
    equal(await reader.refresh(), [], "new entries after that");
  }),
];
