/** Create, open and close. */

import { userMessage } from "../../content/index.js";
import { type EntryDraft, turnSettings } from "../../session/index.js";
import { equal, refuses, rejects } from "../expect.js";
import { collect, conformanceCase, cwd, pause, say, textsInContext } from "./harness.js";

const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };

export const lifecycleCases = [
  conformanceCase("create stores nothing before the first append", async (harness) => {
    const store = await harness.store();
    const session = await harness.create({ store });
    session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    const other = await harness.store();
    const isAbsent = async (when: string) => {
      await rejects(() => other.open(session.id), "SESSION_NOT_FOUND", `open ${when}`);
      equal(await collect(other.list()), [], `list ${when}`);
      equal(await other.delete(session.id), false, `delete ${when}`);
    };
    await isAbsent("before the first append");
    await session.close();
    await isAbsent("after it was closed without one");
  }),

  conformanceCase(
    "staged entries are in context at once, and stored with the first append",
    async (harness) => {
      const session = await harness.create();
      const staged = session.stage([
        { type: "model_change", provider: "anthropic", modelId: "m" },
        { type: "message", message: userMessage("staged") },
      ]);
      const before = await session.context();
      equal(before.model, { provider: "anthropic", modelId: "m" }, "model in context before the append");
      equal(await textsInContext(session), ["staged"], "context before the append");
      const appended = await session.append([say("appended")]);
      equal(appended[0]?.parentId, staged[1]?.id, "parent of the appended entry");
      equal(await textsInContext(session), ["staged", "appended"], "context after the append");
      await harness.reads(session.id, [...staged, ...appended], "after the append");
    },
  ),

  conformanceCase(
    "settings of a session without messages wait for the first message, or flush",
    async (harness) => {
      for (const first of ["message", "flush", "close"] as const) {
        const store = await harness.store();
        const session = await harness.create({ store });
        const announced: string[] = [];
        store.on("created", ({ id }) => id === session.id && announced.push("created"));
        store.on("updated", ({ id, info }) => id === session.id && announced.push(`updated ${info.title}`));
        session.on("entry", ({ entry }) => announced.push(entry.type));
        const retried: EntryDraft = { type: "model_change", provider: "p", modelId: "m", id: "0000aaaa" };
        equal((await session.append([retried], { after: null })).length, 1, "entries of the first append");
        const [model, again] = await Promise.all([
          session.append([retried], { after: null }),
          session.append([
            { type: "thinking_level_change", thinkingLevel: "high" },
            turnSettings.draft({ tools: ["read"] }),
          ]),
        ]);
        equal(again[0]?.parentId, "0000aaaa", "parent of the second");
        await session.append([{ type: "label", targetId: "0000aaaa", label: "l" }]);
        const info = await session.updateInfo({ title: "title" });
        equal(
          [info.title, (await session.tree()).size],
          ["title", 5],
          "title and entries, of which none is stored",
        );
        equal((await session.turn()).tools, ["read"], "tools in force");
        const types = ["model_change", "thinking_level_change", "custom", "label", "session_info"];
        equal(announced, types, "events before anything is stored");
        const other = await harness.store();
        await rejects(() => other.open(session.id), "SESSION_NOT_FOUND", "open");
        equal(await collect(other.list()), [], "list");
        if (first === "close") {
          await session.close();
          await rejects(() => other.open(session.id), "SESSION_NOT_FOUND", "open after close");
          continue;
        }
        if (first === "message") await session.append([say("one")], { after: session.leafId });
        else await session.flush();
        const rest = first === "message" ? ["message"] : [];
        equal(announced, [...types, "created", "updated title", ...rest], "events once it is stored");
        const back = await harness.readBack(session.id);
        equal(back.entries.slice(0, 2), [...model, again[0]], "the first entries read back");
        equal(
          [back.ids.length, back.leafId],
          [5 + rest.length, session.leafId],
          "entries and leaf read back",
        );
        equal(back.info.title, "title", "title read back");
        const [late] = await session.append([{ type: "thinking_level_change", thinkingLevel: "low" }]);
        equal(
          (await harness.readBack(session.id)).leafId,
          late?.id,
          "leaf after a setting of a stored session",
        );
        await session.close();
        await store.delete(session.id);
      }
    },
  ),

  conformanceCase("what a user or an extension says is stored at once", async (harness) => {
    const drafts: readonly EntryDraft[] = [
      say("message"),
      { type: "custom", customType: "acme.todo", data: [] },
      { type: "custom_message", customType: "acme.note", content: "note", display: true },
      { type: "usage", kind: "title", provider: "p", model: "m", usage },
    ];
    for (const draft of drafts) {
      const session = await harness.create();
      await session.updateInfo({ title: "title" });
      const [entry] = await session.append([draft]);
      equal((await harness.readBack(session.id)).leafId, entry?.id, `leaf read back after a ${draft.type}`);
    }
  }),

  conformanceCase("flush stores what is staged", async (harness) => {
    const session = await harness.create();
    const staged = session.stage([say("staged")]);
    await session.flush();
    await harness.reads(session.id, staged, "after flush");
  }),

  conformanceCase("the header is read back", async (harness) => {
    const store = await harness.store();
    const session = await harness.keep(store.create({ cwd: "/work/ü", parentSession: "another-session" }));
    await session.append([say("one")]);
    const back = await harness.open(session.id, "read");
    equal(back.header, session.header, "header");
    equal(back.header.cwd, "/work/ü", "cwd of the header");
    equal(back.header.parentSession, "another-session", "parentSession of the header");
    equal(back.id, session.id, "id");
  }),

  conformanceCase("create refuses an id that is taken", async (harness) => {
    const session = await harness.start({ id: "taken" });
    const store = await harness.store();
    const details = await rejects(() => store.create({ cwd, id: "taken" }), "SESSION_EXISTS", "create");
    equal(details, { id: "taken" }, "details");
    equal((await harness.readBack("taken")).ids, [session.leafId], "entries of the first");
  }),

  conformanceCase(
    "of two sessions created with one id, the one that writes first has it",
    async (harness) => {
      const first = await harness.create({ id: "same" });
      await pause();
      const second = await harness.create({ id: "same" });
      const third = await harness.keep((await harness.store()).create({ cwd: "/work/other", id: "same" }));
      const entries = await first.append([say("first")]);
      await rejects(() => second.append([say("second")]), "SESSION_EXISTS", "append of the second");
      await rejects(() => third.append([say("third")]), "SESSION_EXISTS", "append in another project");
      await harness.reads("same", entries, "of the first");
      equal((await collect((await harness.store()).list())).length, 1, "sessions in the list");
    },
  ),

  conformanceCase(
    "of two sessions that take one id in the same moment, at most one has it",
    async (harness) => {
      const first = await harness.create({ id: "same" });
      await pause();
      const second = await harness.create({ id: "same" });
      const outcomes = await Promise.allSettled([
        first.append([say("first")]),
        second.append([say("second")]),
      ]);
      const winners = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      equal(winners.length <= 1, true, "at most one append resolves");
      for (const outcome of outcomes) {
        if (outcome.status === "rejected")
          await rejects(() => Promise.reject(outcome.reason), "SESSION_EXISTS", "append");
      }
      equal((await collect((await harness.store()).list())).length, winners.length, "sessions in the list");
      for (const entries of winners) await harness.reads("same", entries, "of the one that has the id");
    },
  ),

  conformanceCase("create refuses ids and partitions that are no names", async (harness) => {
    const store = await harness.store();
    for (const name of ["../up", "a/b", "a\\b", ".hidden", "-", "a\nb", "ü", "x".repeat(129)]) {
      const shown = JSON.stringify(name);
      await refuses(() => harness.keep(store.create({ cwd, id: name })), `create with the id ${shown}`);
      await refuses(
        () => harness.keep(store.create({ cwd, partition: name })),
        `create with the partition ${shown}`,
      );
    }
  }),

  conformanceCase("open rejects an id that no session has", async (harness) => {
    await harness.start({ id: "here" });
    const store = await harness.store();
    for (const id of ["elsewhere", "../here", "HERE ", "__proto__"]) {
      for (const mode of ["read", "write"] as const) {
        const details = await rejects(
          () => harness.keep(store.open(id, { mode })),
          "SESSION_NOT_FOUND",
          `open ${JSON.stringify(id)} to ${mode}`,
        );
        equal(details, { id }, "details");
      }
    }
  }),

  conformanceCase("a handle for reading refuses to write", async (harness) => {
    const { id, leafId } = await harness.start();
    const reader = await harness.open(id, "read");
    equal(reader.writable, false, "writable");
    const details = await rejects(() => reader.append([say("no")]), "SESSION_READ_ONLY", "append");
    equal(details, { id, reason: "mode" }, "details");
    await rejects(() => reader.stage([say("no")]), "SESSION_READ_ONLY", "stage");
    await rejects(() => reader.updateInfo({ name: "no" }), "SESSION_READ_ONLY", "updateInfo");
    await reader.branch(null);
    await reader.close();
    const back = await harness.readBack(id);
    equal(back.ids, [leafId], "entries read back");
  }),

  conformanceCase("a session of a newer version opens for reading only", async (harness) => {
    const { fixture } = harness;
    if (fixture.put === undefined) return { skipped: "nobody else writes to this storage" };
    const entry = { type: "label", id: "a0000001", parentId: null, timestamp: "", targetId: "a0000001" };
    for (const versions of [{ version: 99 }, { version: 3, sessile: 2 }]) {
      const id = `newer-${versions.version}`;
      const header = { type: "session", ...versions, id, timestamp: "2026-01-01T00:00:00.000Z", cwd };
      await fixture.put(id, [JSON.stringify(header), JSON.stringify(entry)]);
      const session = await harness.open(id, "write");
      equal(session.writable, false, `writable at ${JSON.stringify(versions)}`);
      const details = await rejects(() => session.append([say("no")]), "SESSION_READ_ONLY", "append");
      equal(details, { id, reason: "version" }, "details");
      await session.close();
      const back = await harness.readBack(id);
      equal(back.ids, ["a0000001"], "entries read back");
      equal(back.codes, ["NEWER_VERSION"], "diagnostics");
    }
    return undefined;
  }),

  conformanceCase("a session of the first version opens, and is carried on", async (harness) => {
    const { fixture } = harness;
    if (fixture.put === undefined) return { skipped: "nobody else writes to this storage" };
    const timestamp = "2026-01-01T00:00:00.000Z";
    await fixture.put("old", [
      JSON.stringify({ type: "session", id: "old", timestamp, cwd }),
      JSON.stringify({ type: "message", timestamp, message: { role: "user", content: "old", timestamp: 0 } }),
    ]);
    equal(await textsInContext(await harness.open("old", "read")), ["old"], "context read");
    const session = await harness.open("old", "write");
    if (!session.writable) return { skipped: "this storage does not migrate" };
    await session.append([say("new")]);
    await session.close();
    const back = await harness.open("old", "read");
    equal(back.header.version, 3, "version of the header");
    equal(await textsInContext(back), ["old", "new"], "context after an append");
    return undefined;
  }),

  conformanceCase("names that objects inherit are ordinary ids", async (harness) => {
    for (const id of ["constructor", "toString"]) {
      const session = await harness.create({ id });
      const entries = await session.append([
        say("a", "__proto__"),
        say("b", "constructor"),
        { type: "label", targetId: "__proto__", label: "__proto__", id: "hasOwnProperty" },
      ]);
      await harness.reads(id, entries, `of ${id}`);
      const back = await harness.open(id, "write");
      equal((await back.tree()).label("__proto__"), "__proto__", "label");
      equal((await back.tree()).label("constructor"), undefined, "label of an entry without one");
      equal(await back.entry("toString"), undefined, "an entry that is not there");
      await back.branch("__proto__");
      equal(await textsInContext(back), ["a"], "context at __proto__");
      await back.close();
      equal((await harness.readBack(id)).leafId, "__proto__", "leaf");
    }
  }),

  conformanceCase("close waits for what is being written", async (harness) => {
    const session = await harness.create();
    const writing = [session.append([say("one")]), session.append([say("two")])];
    await session.close();
    const entries = (await Promise.all(writing)).flat();
    await harness.reads(session.id, entries, "after close");
  }),

  conformanceCase(
    "close may be called again, ends the handle, and leaves its store open",
    async (harness) => {
      const store = await harness.store();
      const session = await harness.start({ store });
      const sibling = await harness.start({ store });
      await Promise.all([session.close(), session.close()]);
      await session.close();
      await session[Symbol.asyncDispose]();
      equal(session.writable, false, "writable");
      await rejects(() => session.append([say("no")]), "SESSION_CLOSED", "append after close");
      await rejects(() => session.stage([say("no")]), "SESSION_CLOSED", "stage after close");
      await rejects(() => session.branch(null), "SESSION_CLOSED", "branch after close");
      await rejects(() => session.refresh(), "SESSION_CLOSED", "refresh after close");
      await sibling.append([say("still")]);
      const again = await harness.keep(store.open(session.id, { mode: "write" }));
      equal((await again.append([say("again")])).length, 1, "entries appended through a new handle");
    },
  ),
];
