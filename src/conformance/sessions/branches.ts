/** Branches and the current leaf. */

import { assistantMessage, toolResult } from "../../content/index.js";
import type { EntryDraft, Session } from "../../session/index.js";
import { equal, rejects } from "../expect.js";
import { conformanceCase, say, textsInContext } from "./harness.js";

export const branchCases = [
  conformanceCase("the context of one branch never has another's messages", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    const [left] = await session.append([say("left")]);
    await session.branch(root);
    const [right] = await session.append([say("right")]);
    await session.branch(null);
    const [other] = await session.append([say("another root")]);
    equal([left?.parentId, right?.parentId, other?.parentId], [root, root, null], "parents");
    for (const handle of [session, await harness.open(session.id, "read")]) {
      equal(await textsInContext(handle), ["another root"], "context at the leaf");
      equal(await textsInContext(handle, left?.id), ["start", "left"], "context of the first branch");
      equal(await textsInContext(handle, right?.id), ["start", "right"], "context of the second branch");
      equal(await textsInContext(handle, null), [], "context of nothing");
      equal(
        (await handle.tree()).children(null).map(({ id }) => id),
        [root, other?.id],
        "roots",
      );
    }
  }),

  conformanceCase("a leaf that was moved is recorded at close", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    await session.append([say("one"), say("two")]);
    await session.branch(root);
    equal(session.leafId, root, "leaf at once");
    await session.close();
    const again = await harness.open(session.id);
    equal(again.leafId, root, "leaf read back");
    const [next] = await again.append([say("three")]);
    equal(next?.parentId, root, "parent of the next entry");
    await again.branch(null);
    await again.close();
    const back = await harness.open(session.id);
    equal(back.leafId, null, "leaf read back after branch(null)");
    const [fresh] = await back.append([say("four")]);
    equal(fresh?.parentId, null, "parent of the entry after branch(null)");
  }),

  conformanceCase("flush records it too", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    await session.append([say("one")]);
    await session.branch(root);
    await session.flush();
    equal((await harness.readBack(session.id)).leafId, root, "leaf read back");
  }),

  conformanceCase("browsing writes nothing", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    const [one] = await session.append([say("one")]);
    await session.branch(root);
    await session.branch(null);
    await session.context();
    await session.branch(one?.id as string);
    await session.close();
    equal((await harness.readBack(session.id)).ids, [root, one?.id], "entries read back");
  }),

  conformanceCase("branch refuses an id that is not there", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    const details = await rejects(() => session.branch("nowhere"), "ENTRY_NOT_FOUND", "branch");
    equal(details, { entryId: "nowhere" }, "details");
    equal(session.leafId, root, "leaf");
    await rejects(() => session.context("nowhere"), "ENTRY_NOT_FOUND", "context");
  }),

  conformanceCase(
    "branchWithSummary begins the new branch with what the old one came to",
    async (harness) => {
      const session = await harness.start();
      const root = session.leafId;
      const [one] = await session.append([say("one")]);
      const summary = await session.branchWithSummary(root, "one was tried", { details: { files: ["a"] } });
      equal([summary.parentId, summary.fromId], [root, one?.id], "parentId and fromId");
      const back = await harness.open(session.id);
      equal(await textsInContext(back), ["start", "branchSummary"], "context read back");
      equal(await back.entry(summary.id), summary, "the entry read back");
      const fresh = await back.branchWithSummary(null, "all was tried");
      equal([fresh.parentId, fresh.fromId], [null, summary.id], "parentId and fromId of a new root");
    },
  ),

  conformanceCase("path gives the entries from the root to a leaf", async (harness) => {
    const session = await harness.start();
    const root = session.leafId as string;
    const [left] = await session.append([say("left")]);
    await session.branch(root);
    const [right] = await session.append([say("right")]);
    const start = await session.entry(root);
    for (const handle of [session, await harness.open(session.id, "read")]) {
      equal(await handle.path(), [start, right], "the path to the current leaf");
      equal(await handle.path(left?.id), [start, left], "the path to another leaf");
      equal(await handle.path(root), [start], "the path to an inner entry");
      equal(await handle.path(null), [], "the path to null");
      const details = await rejects(() => handle.path("nowhere"), "ENTRY_NOT_FOUND", "path");
      equal(details, { entryId: "nowhere" }, "details");
    }
  }),

  conformanceCase("leaves gives the ends of the branches, newest first", async (harness) => {
    const session = await harness.start();
    const root = session.leafId as string;
    const [left] = await session.append([say("left")]);
    await session.append([{ type: "label", targetId: left?.id as string, label: "first try" }]);
    await session.branch(root);
    const [right] = await session.append([say("right")]);
    const ends = async (handle: Session) =>
      (await handle.leaves()).map(({ id, label, current }) => [id, label, current]);
    const expected = [
      [right?.id, undefined, true],
      [left?.id, "first try", false],
    ];
    equal(await ends(session), expected, "ends of the branches");
    equal(await ends(await harness.open(session.id, "read")), expected, "ends read back");
    equal((await session.leaves())[0]?.timestamp, right?.timestamp, "timestamp");
  }),

  conformanceCase("turnState tells if the last turn is finished", async (harness) => {
    const session = await harness.start();
    const reply = (...content: Parameters<typeof assistantMessage>[1][]): EntryDraft => ({
      type: "message",
      message: assistantMessage({ provider: "p", model: "m" }, ...content),
    });
    const call = { type: "toolCall", id: "c1", name: "look", arguments: {} } as const;
    const asked = session.leafId as string;
    const [calls] = await session.append([reply(call)]);
    const [result] = await session.append([{ type: "message", message: toolResult(call, "seen") }]);
    const [done] = await session.append([reply("done")]);
    for (const handle of [session, await harness.open(session.id, "read")]) {
      const awaited = { state: "awaitingReply", entryId: asked };
      equal(await handle.turnState(asked), awaited, "after a user message");
      const open = await handle.turnState(calls?.id);
      equal(
        open.state === "awaitingResults" && [open.entryId, open.calls.map((one) => one.call.id)],
        [calls?.id, ["c1"]],
        "after a tool call",
      );
      equal(await handle.turnState(result?.id), { ...awaited, entryId: result?.id }, "after a result");
      equal(await handle.turnState(done?.id), { state: "idle" }, "after a reply");
      equal(await handle.turnState(null), { state: "idle" }, "before the first entry");
    }
  }),
];
