/** The newest part of a path, without opening the session. */

import { assistantMessage, toolResult } from "../../content/index.js";
import type { RecentOptions, RecentPage, SessionStore } from "../../session/index.js";
import { equal, rejects } from "../expect.js";
import { conformanceCase, cwd, say } from "./harness.js";

const model = { provider: "p", model: "m" };

function readCall(id: string) {
  return { type: "toolCall", id, name: "read", arguments: {} } as const;
}

/** All pages, the newest first. */
async function pages(
  store: SessionStore,
  id: string,
  options: RecentOptions = {},
): Promise<readonly RecentPage[]> {
  const all: RecentPage[] = [];
  for (let before: string | undefined; ; ) {
    const page = await store.recent(id, { ...options, ...(before === undefined ? {} : { before }) });
    all.push(page);
    equal(page.truncated, page.before !== undefined, "truncated");
    if (page.before === undefined) return all;
    before = page.before;
  }
}

const recentPageIds = ({ entries }: Pick<RecentPage, "entries">) => entries.map(({ id }) => id);

export const recentCases = [
  conformanceCase("a long session opens by its end as it is", async (harness) => {
    const session = await harness.start();
    const root = session.leafId as string;
    const text = "0123456789abcde\n".repeat(4096);
    await session.append([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    await session.append([{ type: "context_pin", targetId: root, pinned: true }]);
    for (let turn = 0; turn < 40; turn++) await session.append([say(`${turn} ${text}`)]);
    const kept = session.leafId as string;
    await session.updateInfo({ title: "Long" });
    const compaction = {
      type: "compaction",
      summary: "Sum",
      firstKeptEntryId: kept,
      tokensBefore: 1,
    } as const;
    await session.append([compaction]);
    await session.append([say("after")]);
    const context = await session.context();
    const back = await harness.open(session.id, "write");
    equal(await back.context(), context, "context");
    equal([context.thinkingLevel, context.pins], ["high", [root]], "thinking level and pins");
    equal([back.leafId, back.info.title], [session.leafId, "Long"], "leaf and title");
    const [more] = await back.append([say("more")]);
    equal((await back.entry(root))?.id, root, "the first entry");
    equal((await back.tree()).path(back.leafId).at(0)?.id, root, "the root of the path");
    await session.refresh();
    equal(await session.entry(more?.id as string), more, "what was appended");
    equal(await session.path(more?.id), await back.path(), "the path");
  }),

  conformanceCase(
    "recent gives the end of the path in whole turns, and its pages the path",
    async (harness) => {
      const session = await harness.create();
      for (let turn = 0; turn < 6; turn++) {
        await session.append([
          say(`question ${turn}`),
          { type: "message", message: assistantMessage(model, readCall(`a${turn}`), readCall(`b${turn}`)) },
          { type: "message", message: toolResult(readCall(`a${turn}`), "x".repeat(turn * 100)) },
          { type: "message", message: toolResult(readCall(`b${turn}`), "y") },
          { type: "message", message: assistantMessage(model, "answer") },
        ]);
        if (turn === 2) await session.branch((await session.tree()).path(session.leafId)[4]?.id as string);
      }
      await session.flush();
      const store = await harness.store();
      const path = await session.path();
      equal((await store.recent(session.id)).entries, path, "a path within the bounds");
      for (const messages of [1, 2, 5, 9, 10, 11, 1000]) {
        const all = await pages(store, session.id, { messages });
        equal(
          all.toReversed().flatMap(({ entries }) => entries),
          path,
          `pages of ${messages} messages`,
        );
        equal(
          all[0],
          await session.recent({ messages }),
          `the page of the open session, ${messages} messages`,
        );
        const [newest] = all as [RecentPage];
        if (messages >= 5)
          equal(
            newest.entries[0],
            path[path.length - 5 * Math.floor(Math.min(messages, path.length) / 5)],
            "the first entry of a turn",
          );
      }
      // Of a turn that is too long: no result without its call.
      for (const bytes of [1, 300, 600, 1200, 2500]) {
        for (const { entries } of await pages(store, session.id, { bytes })) {
          const called = new Set(
            entries.flatMap((entry) =>
              entry.type === "message" && entry.message.role === "assistant"
                ? entry.message.content.flatMap((block) => (block.type === "toolCall" ? block.id : []))
                : [],
            ),
          );
          for (const entry of entries)
            if (entry.type === "message" && entry.message.role === "toolResult")
              equal(called.has(entry.message.toolCallId), true, "the call of a result is in its page");
        }
      }
      return undefined;
    },
  ),

  conformanceCase("recent follows the path, not the order of the log", async (harness) => {
    const session = await harness.create();
    const store = await harness.store();
    const first = await session.append([say("one"), say("two")]);
    await session.append(Array.from({ length: 30 }, (_, at) => say(`left ${at}`)));
    await session.branch(first[0]?.id as string);
    const right = await session.append([say("right")]);
    equal(
      recentPageIds(await store.recent(session.id)),
      [first[0]?.id, right[0]?.id],
      "the path of the new branch",
    );
    equal(
      recentPageIds(await store.recent(session.id, { messages: 1 })),
      [right[0]?.id],
      "its newest message",
    );
    await session.branch(first[1]?.id as string);
    await session.flush();
    equal(
      recentPageIds(await store.recent(session.id)),
      recentPageIds({ entries: first }),
      "after a moved leaf",
    );
    await session.branch(null);
    await session.flush();
    equal((await store.recent(session.id)).entries, [], "before the first entry");
    const [root] = await session.append([say("another root")]);
    equal(recentPageIds(await store.recent(session.id)), [root?.id], "another root");
    return undefined;
  }),

  conformanceCase("a cursor of recent keeps its place while others append", async (harness) => {
    const session = await harness.create();
    const entries = await session.append(Array.from({ length: 12 }, (_, at) => say(`message ${at}`)));
    const store = await harness.store();
    const newest = await store.recent(session.id, { messages: 5 });
    equal(recentPageIds(newest), recentPageIds({ entries: entries.slice(7) }), "the newest page");
    const before = newest.before as string;
    await session.append([say("later"), say("and later")]);
    const older = await store.recent(session.id, { messages: 5, before });
    equal(recentPageIds(older), recentPageIds({ entries: entries.slice(2, 7) }), "the page before");
    equal(await session.recent({ messages: 5, before }), older, "the page before, of the open session");
    await rejects(
      () => store.recent(session.id, { before: ":missing" }),
      ["ENTRY_NOT_FOUND"],
      "an unknown entry",
    );
    await rejects(() => store.recent("missing"), ["SESSION_NOT_FOUND"], "an unknown session");
    return undefined;
  }),

  conformanceCase("recent reads logs of other programs as a whole read does", async (harness) => {
    const { put } = harness.fixture;
    if (put === undefined) return { skipped: "no other program writes to this storage" };
    const time = "2026-01-01T00:00:00.000Z";
    const header = { type: "session", version: 3, id: "x", timestamp: time, cwd };
    const message = (text: string) => ({ role: "user", content: text, timestamp: 1 });
    const entry = (id: string, parentId: string | null) => ({
      type: "message",
      id,
      parentId,
      timestamp: time,
      message: message(id),
    });
    const logs: Readonly<Record<string, readonly unknown[]>> = {
      chain: [header, entry("e0000001", null), entry("e0000002", "e0000001")],
      late: [header, entry("e0000002", "e0000001"), entry("e0000001", null), entry("e0000003", "e0000002")],
      orphan: [header, entry("e0000002", "gone0000"), entry("e0000003", "e0000002")],
      cycle: [header, entry("e0000001", "e0000002"), entry("e0000002", "e0000001")],
      first: [
        { ...header, version: undefined },
        { type: "message", timestamp: time, message: message("a") },
        { type: "message", timestamp: time, message: message("b") },
      ],
      damaged: [
        header,
        entry("e0000001", null),
        { ...entry("e0000002", "e0000001"), message: 7 },
        entry("e0000003", "e0000002"),
        "{",
      ],
      only: [header],
      others: [entry("e0000001", null), header, entry("e0000002", "e0000001")],
    };
    const store = await harness.store();
    for (const [id, lines] of Object.entries(logs)) {
      await put(
        id,
        lines.map((line) =>
          typeof line === "string" ? line : JSON.stringify(line).replace('"id":"x"', `"id":"${id}"`),
        ),
      );
      const opened = await harness.open(id, "read");
      equal((await store.recent(id)).entries, await opened.path(), `the path of ${id}`);
      const all = await pages(store, id, { messages: 1 });
      equal(
        all.toReversed().flatMap(({ entries }) => entries),
        await opened.path(),
        `the pages of ${id}`,
      );
    }
    return undefined;
  }),
];
