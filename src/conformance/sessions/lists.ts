/** Lists, archives and deletes. */

import type { SessionQuery, SessionStore } from "../../session/index.js";
import { equal, refuses, rejects } from "../expect.js";
import { collect, conformanceCase, cwd, type Harness, pause, say } from "./harness.js";

async function storeIds(store: SessionStore, query?: SessionQuery): Promise<readonly string[]> {
  return (await collect(store.list(query))).map(({ id }) => id);
}

/** Stores a session with one message, with a later time than the sessions before. */
async function add(
  harness: Harness,
  store: SessionStore,
  id: string,
  options: { readonly cwd?: string } = {},
) {
  await pause();
  const session = await harness.keep(store.create({ cwd, id, ...options }));
  await session.append([say(`first of ${id}`)]);
  return session;
}

export const listCases = [
  conformanceCase("list gives sessions by their last change, newest first", async (harness) => {
    const store = await harness.store();
    equal(await storeIds(store), [], "an empty storage");
    equal(await store.latest(), undefined, "latest of an empty storage");
    const a = await add(harness, store, "a");
    await add(harness, store, "b");
    await add(harness, store, "c");
    equal(await storeIds(await harness.store()), ["c", "b", "a"], "ids");
    await pause();
    await a.append([say("more")]);
    equal(await storeIds(await harness.store()), ["a", "c", "b"], "ids after an append to the oldest");
    equal((await store.latest())?.id, "a", "latest");
    await pause();
    await (await harness.open("b", "read")).close();
    equal(await storeIds(store), ["a", "c", "b"], "ids after one was read");
  }),

  conformanceCase(
    "a listed session has its header, its size, its times and its first message",
    async (harness) => {
      const store = await harness.store();
      const before = Date.now();
      const parentSession = "parent";
      const session = await harness.keep(store.create({ cwd: "/work/a", id: "listed", parentSession }));
      await session.append([{ type: "thinking_level_change", thinkingLevel: "high" }]);
      const [bare] = await collect(store.list());
      equal(bare?.firstMessage, undefined, "first message before there is one");
      const long = "🙂é ".repeat(100);
      await session.append([say(`  ${long}`), say("second")]);
      const [summary] = await collect((await harness.store()).list());
      const { created, modified, size = 0, firstMessage } = summary ?? {};
      equal(
        [summary?.id, summary?.cwd, summary?.parentSession],
        ["listed", "/work/a", parentSession],
        "header",
      );
      equal(summary?.location, session.location, "location");
      equal(created, session.header.timestamp, "created");
      // File systems round times; FAT to two seconds.
      const isRecent = Math.abs(Date.parse(modified ?? "") - before) < 60_000;
      equal(isRecent, true, `modified, which is ${modified}, is the time of the append`);
      equal(
        firstMessage,
        Array.from(long).slice(0, 200).join(""),
        "first message, at most 200 characters of it",
      );
      equal(size > 500, true, `size, which is ${size}, is more than the texts have`);
      equal(summary?.counts, undefined, "counts that nobody asked for");
      const [counted] = await collect(store.list({ stats: true }));
      equal(counted?.counts, { entries: 3, messages: 2 }, "counts");
    },
  ),

  conformanceCase("a listed session has the name and title of its last session_info", async (harness) => {
    const store = await harness.store();
    const session = await add(harness, store, "named");
    await session.updateInfo({ name: "old name", title: "title", slug: "slug" });
    await session.updateInfo({ name: "name" });
    const stats = { additions: 1, deletions: 2, files: 3 };
    await session.updateInfo({ slug: null, stats });
    const [summary] = await collect((await harness.store()).list());
    const { name, title, slug } = summary ?? {};
    equal([name, title, slug], ["name", "title", session.info.slug], "name, title and slug");
    equal(slug === "slug" || slug === undefined, false, "slug is cleared, and made of the id again");
    equal(summary?.stats, stats, "stats");
  }),

  conformanceCase("a listed session has its name however much was written since", async (harness) => {
    const store = await harness.store();
    const session = await add(harness, store, "named");
    for (let i = 0; i < 5; i++) await session.append([say("x".repeat(20_000))]);
    await session.updateInfo({ name: "name" });
    for (let i = 0; i < 20; i++) await session.append([say("x".repeat(20_000))]);
    await session.close();
    const [after] = await collect((await harness.store()).list());
    equal(after?.name, "name", "name");
  }),

  conformanceCase("list tells projects apart", async (harness) => {
    const store = await harness.store();
    const cwds = { one: "/work/a/b", two: "/work/a-b", three: "/work/a", four: "/work/a/b" };
    for (const [id, directory] of Object.entries(cwds)) await add(harness, store, id, { cwd: directory });
    equal(await storeIds(store, { cwd: "/work/a/b" }), ["four", "one"], "ids of /work/a/b");
    equal(await storeIds(store, { cwd: "/work/a-b" }), ["two"], "ids of /work/a-b");
    equal(await storeIds(store, { cwd: "/work" }), [], "ids of /work");
    equal((await store.latest({ cwd: "/work/a" }))?.id, "three", "latest of /work/a");
    equal(await storeIds(store), ["four", "three", "two", "one"], "ids of all");
  }),

  conformanceCase("list and search find a project by any spelling of its path", async (harness) => {
    const store = await harness.store();
    const spellings = { one: "/work/\u00d6l", two: "/work/./O\u0308l/", three: "/work/x/../\u00d6l" };
    for (const [id, directory] of Object.entries(spellings))
      await add(harness, store, id, { cwd: directory });
    await add(harness, store, "four", { cwd: "/work/ol" });
    for (const directory of Object.values(spellings)) {
      equal(await storeIds(store, { cwd: directory }), ["three", "two", "one"], `ids of ${directory}`);
      const hits = await collect(store.search({ text: "first", cwd: directory }));
      equal([...new Set(hits.map(({ sessionId }) => sessionId))].length, 3, `searched in ${directory}`);
    }
    const [summary] = await collect(store.list({ cwd: spellings.one }));
    equal(summary?.cwd, spellings.three, "the directory as it was given");
  }),

  conformanceCase("list tells archived sessions from active ones", async (harness) => {
    const store = await harness.store();
    for (const id of ["a", "b", "c"]) await add(harness, store, id);
    await pause();
    const archived = await store.archive("b");
    equal(archived.time.archived !== undefined, true, "info says that it is archived");
    equal(await storeIds(store, { archived: true }), ["b"], "archived");
    equal(await storeIds(store, { archived: false }), ["c", "a"], "active");
    equal(await storeIds(store), ["b", "c", "a"], "both");
    equal((await store.latest())?.id, "c", "latest, which is an active one");
    const [summary] = await collect(store.list({ archived: true }));
    equal(summary?.archivedAt, archived.time.archived, "archivedAt");
    await pause();
    const active = await (await harness.store()).archive("b", { archived: false });
    equal(active.time.archived, undefined, "info says that it is active again");
    equal(await storeIds(store, { archived: true }), [], "archived after that");
    equal(await storeIds(store, { archived: false }), ["b", "c", "a"], "active after that");
    await rejects(() => store.archive("nowhere"), "SESSION_NOT_FOUND", "archive of no session");
  }),

  conformanceCase("list can be bounded in time", async (harness) => {
    const store = await harness.store();
    for (const id of ["a", "b", "c"]) await add(harness, store, id);
    const middle = (await collect(store.list()))[1];
    const time = new Date(middle?.modified ?? "");
    equal(await storeIds(store, { since: time }), ["c", "b"], "at or after the time of b");
    equal(await storeIds(store, { until: time }), ["a"], "before the time of b");
    equal(
      await storeIds(store, { since: time, until: new Date(time.getTime() + 1) }),
      ["b"],
      "at the time of b",
    );
  }),

  conformanceCase("paging visits each session once, in order", async (harness) => {
    const store = await harness.store();
    // Without pauses, so that some have equal times.
    for (const id of ["a", "B", "c", "d", "e", "f", "g"]) {
      const session = await harness.keep(store.create({ cwd, id }));
      await session.append([say(id)]);
    }
    const all = await storeIds(store);
    equal([...all].sort(), ["B", "a", "c", "d", "e", "f", "g"], "ids in one page");
    for (const limit of [1, 2, 3, 7]) {
      const seen: string[] = [];
      let after: string | undefined;
      for (;;) {
        const page = await collect(store.list({ limit, ...(after === undefined ? {} : { after }) }));
        equal(page.length <= limit, true, `a page has at most ${limit}, it has ${page.length}`);
        seen.push(...page.map(({ id }) => id));
        after = page.at(-1)?.cursor;
        if (page.length < limit || seen.length > all.length) break;
      }
      equal(seen, all, `ids in pages of ${limit}`);
    }
    await refuses(() => collect(store.list({ after: "no cursor" })), "list after what is no cursor");
  }),

  conformanceCase("list ends when its signal is aborted, and when nobody reads on", async (harness) => {
    const store = await harness.store();
    for (const id of ["a", "b"]) await add(harness, store, id);
    const controller = new AbortController();
    const reason = new TypeError("enough");
    await refuses(async () => {
      for await (const _ of store.list({ signal: controller.signal })) controller.abort(reason);
    }, "list with a signal that is aborted between two sessions for a TypeError");
    for await (const { id } of store.list()) {
      equal(id, "b", "the first");
      break;
    }
  }),

  conformanceCase("a backend that lists partitions yields each one with sessions once", async (harness) => {
    const store = await harness.store();
    for (const partition of ["", "Tenant-B", "tenant-a"]) {
      const session = await harness.keep(store.create({ cwd, id: "same", partition }));
      await session.append([say("in a partition")]);
    }
    const { backend } = await harness.store();
    if (backend.partitions === undefined) return { skipped: "this storage does not list its partitions" };
    const found = (await collect(backend.partitions())).sort();
    equal(found, ["", "Tenant-B", "tenant-a"], "the partitions");
    return undefined;
  }),

  conformanceCase("partitions do not see each other's sessions", async (harness) => {
    const store = await harness.store();
    const partitions = [undefined, "tenant-a", "tenant-b"] as const;
    const inPartition = (partition: string | undefined) => (partition === undefined ? {} : { partition });
    const written = [];
    for (const partition of partitions) {
      const session = await harness.keep(store.create({ cwd, id: "same", ...inPartition(partition) }));
      written.push(await session.append([say(`in ${partition}`)]));
      await session.close();
    }
    const alone = await harness.keep(store.create({ cwd, id: "alone", partition: "tenant-a" }));
    await alone.append([say("alone")]);
    for (const [index, partition] of partitions.entries()) {
      const other = await harness.store();
      const session = await harness.keep(other.open("same", inPartition(partition)));
      equal(await session.entry(session.leafId as string), written[index]?.[0], `the entry in ${partition}`);
      const [summary] = await collect(other.list({ ...inPartition(partition), stats: true }));
      equal(summary?.counts?.entries, 1, `entries counted in ${partition}`);
    }
    equal(
      [...(await storeIds(store, { partition: "tenant-a" }))].sort(),
      ["alone", "same"],
      "ids in tenant-a",
    );
    equal(await storeIds(store, { partition: "tenant-b" }), ["same"], "ids in tenant-b");
    equal(await storeIds(store), ["same"], "ids in the unnamed partition");
    await rejects(() => store.open("alone"), "SESSION_NOT_FOUND", "open in the unnamed partition");
    await rejects(
      () => store.open("alone", { partition: "tenant-b" }),
      "SESSION_NOT_FOUND",
      "open in tenant-b",
    );
    await rejects(
      () => store.fork("alone", { partition: "tenant-b" }),
      "SESSION_NOT_FOUND",
      "fork in tenant-b",
    );
    await rejects(() => store.archive("alone", {}), "SESSION_NOT_FOUND", "archive in the unnamed partition");
    equal(await store.delete("alone", { partition: "tenant-b" }), false, "delete in tenant-b");
    equal(await store.delete("same", { partition: "tenant-b" }), true, "delete of the same id in tenant-b");
    equal(await storeIds(store, { partition: "tenant-b" }), [], "ids in tenant-b after that");
    equal(await storeIds(store), ["same"], "ids in the unnamed partition after that");
    equal((await storeIds(store, { partition: "tenant-a" })).length, 2, "sessions in tenant-a after that");
  }),

  conformanceCase("a deleted session is gone", async (harness) => {
    const store = await harness.store();
    const session = await add(harness, store, "a");
    await add(harness, store, "b");
    const events: string[] = [];
    session.on("deleted", ({ id }) => events.push(`session ${id}`));
    store.on("deleted", ({ id }) => events.push(`store ${id}`));
    equal(await store.delete("a"), true, "the first delete");
    equal(events, ["session a", "store a"], "events");
    equal(await store.delete("a"), false, "the second delete");
    equal(events.length, 2, "events after the second");
    await rejects(() => store.open("a"), "SESSION_NOT_FOUND", "open");
    equal(await storeIds(await harness.store()), ["b"], "ids");
    await rejects(() => session.append([say("again")]), "SESSION_NOT_FOUND", "append through an open handle");
    await rejects(() => store.open("a"), "SESSION_NOT_FOUND", "open after that");
    await session.close();
    const fresh = await add(harness, store, "a");
    equal((await harness.readBack("a")).ids, [fresh.leafId], "entries of a new session with the id");
  }),
];
