/** Search, by an index or by a scan. */

import { assistantMessage, toolResult } from "../../content/index.js";
import { matchTexts, parseQuery } from "../../log/internal.js";
import type { EntryDraft, SearchQuery, Session, SessionStore } from "../../session/index.js";
import { equal } from "../expect.js";
import { collect, conformanceCase, cwd, pause, say } from "./harness.js";

const model = { provider: "p", model: "m" };
const call = { type: "toolCall", id: "c1", name: "read", arguments: { path: "docs/harbour.md" } } as const;

/** The ids of the entries that a search finds, in order. */
async function found(store: SessionStore, text: string, query: Omit<SearchQuery, "text"> = {}) {
  return (await collect(store.search({ text, ...query }))).map(({ entryId }) => entryId);
}

/** Appends drafts and returns their ids. */
async function added(session: Session, ...drafts: readonly EntryDraft[]): Promise<readonly string[]> {
  return (await session.append(drafts)).map(({ id }) => id);
}

/** The ids of the entries that contexts show with the words: at the leaf, or at the end of any branch. */
async function shown(session: Session, text: string, branch: "path" | "all"): Promise<readonly string[]> {
  const phrases = parseQuery(text);
  const tree = await session.tree();
  const ids = [...tree.walk()].map(({ node }) => node.id);
  const leaves = branch === "path" ? [session.leafId] : ids.filter((id) => tree.children(id).length === 0);
  const found = new Set<string>();
  for (const leaf of leaves) {
    for (const { entryId, message } of (await session.context(leaf)).items) {
      const texts = message.role === "user" && typeof message.content === "string" ? [message.content] : [];
      if (matchTexts(texts, phrases) !== undefined) found.add(entryId);
    }
  }
  return [...found];
}

export const searchCases = [
  conformanceCase("search finds text of every kind when its append resolves", async (harness) => {
    const store = await harness.store();
    const session = await harness.create({ store });
    const kinds: readonly (readonly [word: string, draft: EntryDraft, role: string])[] = [
      ["lighthouse", say("Where is the Lighthouse?"), "user"],
      ["harbour", { type: "message", message: assistantMessage(model, call) }, "assistant"],
      ["keeper", { type: "message", message: toolResult(call, "the keeper's log") }, "toolResult"],
      ["granite", { type: "message", message: assistantMessage(model, "It is of granite.") }, "assistant"],
      ["ferry", { type: "branch_summary", fromId: "root", summary: "the ferry left" }, "branch_summary"],
      [
        "tides",
        { type: "custom_message", customType: "x", content: "tides", display: true },
        "custom_message",
      ],
      ["voyage", { type: "session_info", title: "A voyage" }, "session_info"],
    ];
    for (const [word, draft, role] of kinds) {
      const [id] = await added(session, draft);
      const other = await harness.store();
      const hits = await collect(other.search({ text: word }));
      equal(
        hits.map((hit) => [hit.sessionId, hit.entryId, hit.role]),
        [[session.id, id, role]],
        `hits of ${word}`,
      );
      equal(hits[0]?.snippet.toLowerCase().includes(word), true, `snippet with ${word}`);
    }
    const many = await added(
      session,
      ...Array.from({ length: 20 }, (_, index) => say(`buoy${index} afloat`)),
    );
    equal((await found(store, "afloat")).toSorted(), many.toSorted(), "all entries of a batch");
    equal(await found(store, "buoy7 float"), [], "a word that no entry has");
    equal(await found(store, "buoy7 AFLO"), [many[7]], "a word and the beginning of one");
    return undefined;
  }),

  conformanceCase("search compares words in any script", async (harness) => {
    const store = await harness.store();
    const session = await harness.create({ store });
    const texts = [
      "Die STRASSE nach Köln",
      "東京都に行く",
      "call getUserName()",
      "cafe\u0301",
      "x\0y \u001b[1m",
    ];
    const ids = await added(session, ...texts.map((text) => say(text)));
    const rows = [
      ["straße", 0],
      ["KÖLN", 0],
      ["京都", 1],
      ["username", 2],
      ["café", 3],
      ["y", 4],
    ] as const;
    for (const [text, at] of rows) equal(await found(store, text), [ids[at]], `hits of ${text}`);
    for (const text of ["traße", "東都", "erName", "cafe x"])
      equal(await found(store, text), [], `hits of ${text}`);
    return undefined;
  }),

  conformanceCase("search finds no text that an edit took out, from its append on", async (harness) => {
    const store = await harness.store();
    const session = await harness.create({ store });
    const asked = { type: "message", message: assistantMessage(model, "Let me see.", call) } as const;
    const answer = { type: "message", message: toolResult(call, "a secret number") } as const;
    const [said = "", called = "", result = ""] = await added(
      session,
      say("my password is swordfish"),
      asked,
      answer,
    );
    equal(await found(store, "swordfish"), [said], "before the edit");
    await session.append([
      { type: "context_edit", targetId: said, replacement: { content: "my password is gone" } },
    ]);
    equal(await found(store, "swordfish"), [], "replaced text");
    equal(await found(store, "password gone"), [said], "the replacement, as the edited entry");
    await session.append([
      { type: "context_edit", targetId: called, replacement: { content: [{ type: "text", text: "Seen." }] } },
    ]);
    equal(await found(store, "secret"), [], "the result of a removed call");
    equal(
      await found(store, "secret", { branch: "all" }),
      [],
      "the result of a removed call, on all branches",
    );
    equal(result === "", false, "an id");
    const [shown = ""] = await added(session, {
      type: "message",
      message: assistantMessage(model, "alpha", "beta"),
    });
    await session.append([
      { type: "part_update", targetId: shown, index: 1, part: { type: "text", text: "gamma" } },
    ]);
    equal(await found(store, "alpha gamma"), [shown], "words of a message and of its updated part");
    equal(await found(store, "beta"), [], "the part before");
    await session.append([
      { type: "message_update", targetId: shown, message: assistantMessage(model, "delta") },
    ]);
    equal([await found(store, "alpha"), await found(store, "delta")], [[], [shown]], "an updated message");
    await session.append([{ type: "context_edit", targetId: shown, replacement: null }]);
    equal(await found(store, "delta"), [], "a removed message");
    await session.updateInfo({ title: "First" });
    await session.updateInfo({ title: "Second" });
    equal([await found(store, "first"), (await found(store, "second")).length], [[], 1], "names");
    return undefined;
  }),

  conformanceCase("search covers the path, or all branches as each has them", async (harness) => {
    const store = await harness.store();
    const session = await harness.create({ store });
    const [root = "", left = ""] = await added(session, say("common trunk"), say("left twig"));
    await session.branch(root);
    const [right] = await added(session, say("right twig"));
    equal(await found(store, "twig"), [right], "on the path");
    equal(
      (await found(store, "twig", { branch: "all" })).toSorted(),
      [left, right].toSorted(),
      "on all branches",
    );
    equal(await found(store, "trunk"), [root], "before the branches");
    await session.append([{ type: "context_edit", targetId: root, replacement: null }]);
    equal(await found(store, "trunk"), [], "edited on the path");
    equal(await found(store, "trunk", { branch: "all" }), [root], "in force on the other branch");
    await session.branch(left);
    await session.append([{ type: "context_edit", targetId: root, replacement: { content: "bark" } }]);
    equal(await found(store, "trunk", { branch: "all" }), [], "in force on no branch");
    equal(await found(store, "bark", { branch: "all" }), [root], "the replacement of one branch");
    return undefined;
  }),

  conformanceCase("search finds the newest first, within its bounds", async (harness) => {
    const store = await harness.store();
    const ids: string[] = [];
    const first = await harness.create({ store });
    const second = await harness.create({ store });
    for (const session of [first, second, first]) {
      ids.unshift(...(await added(session, say(`a pebble ${ids.length}`))));
      await pause();
    }
    equal(await found(store, "pebble"), ids, "across sessions");
    equal(await found(store, "pebble", { limit: 2 }), ids.slice(0, 2), "with a limit");
    const times = (await collect(store.search({ text: "pebble" }))).map(({ at }) => new Date(at));
    const [last, middle] = times as [Date, Date, Date];
    equal(await found(store, "pebble", { since: last }), ids.slice(0, 1), "since the last");
    equal(await found(store, "pebble", { since: middle }), ids.slice(0, 2), "since a time");
    equal(await found(store, "pebble", { until: middle }), ids.slice(2), "until a time");
    equal(await found(store, "pebble", { role: "assistant" }), [], "of another role");
    equal(await found(store, "pebble", { cwd: "/other" }), [], "of another directory");
    equal(await found(store, "pebble", { cwd }), ids, "of a directory");
    const elsewhere = await harness.keep(store.create({ cwd, partition: "tenant" }));
    const [theirs] = await added(elsewhere, say("their pebble"));
    equal(await found(store, "pebble"), ids, "of one partition");
    equal(await found(store, "pebble", { partition: "tenant" }), [theirs], "of the other partition");
    return undefined;
  }),

  conformanceCase("search finds copies, and nothing of a deleted session", async (harness) => {
    const store = await harness.store();
    // A fork has a title with the first words of its source.
    const role = "user";
    const session = await harness.create({ store });
    const [one, two] = await added(session, say("an amber bead"), say("another bead"));
    const fork = await harness.keep(store.fork(session.id, { upTo: one as string }));
    equal(await found(store, "amber", { role }), [one, one], "in the session and in its fork");
    const whole = await harness.keep(store.fork(session.id, { toPartition: "tenant" }));
    equal(
      (await found(store, "bead", { role, partition: "tenant" })).length,
      2,
      "in a copy in another partition",
    );
    await store.delete(session.id);
    equal(await found(store, "bead", { role }), [one], "in the fork alone");
    await whole.close();
    await store.delete(whole.id, { partition: "tenant" });
    equal(await found(store, "bead", { role, partition: "tenant" }), [], "after both were deleted");
    const again = await harness.create({ store, id: session.id });
    const [third] = await added(again, say("a third bead"));
    equal(
      (await found(store, "bead", { role })).toSorted(),
      [one, third].toSorted(),
      "in a session created again",
    );
    equal(two !== undefined && fork.id !== session.id, true, "ids");
    return undefined;
  }),

  conformanceCase("search finds text in a log of an older version", async (harness) => {
    const { put } = harness.fixture;
    if (put === undefined) return { skipped: "no other program writes to this storage" };
    const id = "old";
    const message = (content: string) => ({ role: "user", content, timestamp: 1 });
    const lines = [
      { type: "session", id, timestamp: "2025-01-01T00:00:00.000Z", cwd },
      { type: "message", timestamp: "2025-01-01T00:00:01.000Z", message: message("an old anchor") },
      { type: "message", timestamp: "2025-01-01T00:00:02.000Z", message: message("a rope") },
    ];
    await put(
      id,
      lines.map((line) => JSON.stringify(line)),
    );
    const store = await harness.store();
    equal((await found(store, "anchor")).length, 1, "hits");
    const opened = await harness.open(id);
    await opened.append([say("another anchor")]);
    equal((await found(store, "anchor")).length, 2, "hits after the migration");
    return undefined;
  }),

  conformanceCase("search finds what contexts show, by an index as by a scan", async (harness) => {
    const store = await harness.store();
    const words = ["ebb", "Flood", "ebbTide", "潮流", "straße", "\u00e9bb", "x".repeat(60), "flood-gate"];
    const sessions: Session[] = [];
    for (const offset of [0, 1]) {
      const session = await harness.create({ store });
      sessions.push(session);
      const ids: string[] = [];
      for (let at = 0; at < 14; at++) {
        const text = [0, 1, 2].map((index) => words[(at * (index + 1) + offset) % words.length]).join(" ");
        const [id = ""] = await added(session, say(text));
        ids.push(id);
        if (at % 5 === 4) await session.branch(ids[at - 3] as string);
        if (at % 7 === 6)
          await session.append([
            { type: "context_edit", targetId: ids[at - 2] as string, replacement: { content: text } },
          ]);
      }
      await session.flush();
    }
    for (const text of [...words, "ebb flood", "tide 潮", '"ebb"', "xxx"]) {
      for (const branch of ["path", "all"] as const) {
        const expected = (await Promise.all(sessions.map((session) => shown(session, text, branch)))).flat();
        equal(expected.length > 0 || branch === "path", true, `an entry with ${text}`);
        equal(
          (await found(store, text, { branch })).toSorted(),
          expected.toSorted(),
          `hits of ${text}, ${branch}`,
        );
      }
    }
    return undefined;
  }),
];
