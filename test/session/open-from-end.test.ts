import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  assistantMessage,
  eraseEntries,
  memorySessionStore,
  type Session,
  type SessionBackend,
  type SessionLog,
  sessionStore,
  userMessage,
} from "sessile";
import { fileSessionStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { conversation } from "../arbitraries/conversations.js";
import { rounds } from "../support/rounds.js";

/** How the logs of a backend were read. */
interface Reads {
  whole: number;
  last: number;
}

/** A backend whose last lines have so few bytes that a short log is opened by them; with 0, logs are read whole. */
function readingLast(backend: SessionBackend, bytes: number, reads: Reads): SessionBackend {
  const small = (log: SessionLog): SessionLog =>
    new Proxy(log, {
      get(target, name) {
        if (name === "read") {
          const read: SessionLog["read"] = (from, options = {}) => {
            const { lastBytes, ...rest } = options;
            if (from === undefined && lastBytes === undefined && options.batchBytes === undefined)
              reads.whole++;
            if (lastBytes === undefined || bytes === 0) return target.read(from, rest);
            reads.last++;
            return target.read(from, { ...rest, lastBytes: (bytes * lastBytes) / (512 << 10) });
          };
          return read;
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return new Proxy(backend, {
    get(target, name) {
      if (name === "open") {
        return async (...args: Parameters<SessionBackend["open"]>) => {
          const log = await target.open(...args);
          return log && small(log);
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const say = (text: string) => ({ type: "message", message: { ...userMessage(text), timestamp: 1 } }) as const;
const reply = (text: string) =>
  ({
    type: "message",
    message: {
      ...assistantMessage({ provider: "p", model: "m" }, text),
      timestamp: 1,
    },
  }) as const;

/** What a first look at a session shows, which needs the end of the log alone if that has all of it. */
async function shownFirst(session: Session): Promise<unknown> {
  const { leafId, info, header } = session;
  return { leafId, info, header, context: await session.context() };
}

/** All that a session shows. */
async function shown(session: Session): Promise<unknown> {
  const { leafId } = session;
  const page = await session.recent({ messages: 2 });
  return {
    page,
    turn: await session.turn(),
    state: await session.turnState(),
    tools: await session.toolStates(),
    before: page.before === undefined ? undefined : await session.recent({ before: page.before }),
    path: await session.path(),
    nodes: [...(await session.tree()).walk()],
    labels: [...(await session.tree()).labels()],
    leaves: await session.leaves(),
    entries: await Promise.all([...(await session.tree()).walk()].map(({ node }) => session.entry(node.id))),
    context: await session.context(leafId),
  };
}

/** Appends entries one by one, each after its parent; those that an append refuses are not there. */
async function written(backend: SessionBackend, entries: readonly { readonly id: string }[]): Promise<void> {
  const session = await sessionStore(backend).create({ id: "s", cwd: "/w" });
  await session.append([say("first")]);
  for (const entry of entries) {
    const {
      parentId,
      prior: _prior,
      ...draft
    } = entry as never as {
      readonly type: "custom";
      readonly customType: string;
      readonly parentId: string | null;
      readonly prior?: string;
    };
    const tree = await session.tree();
    if (parentId !== null && tree.has(parentId) && parentId !== session.leafId)
      await session.branch(parentId);
    await session.append([draft]).catch(() => undefined);
  }
  await session.close();
}

const damaged = fc.constantFrom(
  "",
  "{",
  '{"type":"message","id":"torn0001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","mess',
  '{"type":"custom","id":"orphan01","parentId":"nowhere","timestamp":"","customType":"x"}',
  '{"type":"later","id":"foreign1","parentId":"00000003","timestamp":"2026-01-01T00:00:00.000Z","x":1}',
  '{"type":"session","id":"inside","version":3,"timestamp":"","cwd":"/"}',
  '{"type":"compaction","id":"foreign2","parentId":"00000004","timestamp":"","summary":"s","firstKeptEntryId":"00000002","tokensBefore":1}',
);

/** The line as another writer has it: without a checksum, and without what a compaction has in force. */
function foreign(line: Uint8Array): Uint8Array {
  const { crc: _crc, inForce: _inForce, ...fields } = JSON.parse(new TextDecoder().decode(line));
  return new TextEncoder().encode(JSON.stringify(fields));
}

/** Changes the lines of a stored log, and adds some at places. */
async function damage(
  backend: SessionBackend,
  lines: readonly (readonly [number, string])[],
  change = (line: Uint8Array) => line,
): Promise<void> {
  const log = (await backend.open("s", { partition: "", mode: "write" })) as SessionLog;
  const all: Uint8Array[] = [];
  let position: Parameters<SessionLog["append"]>[1] | undefined;
  for await (const batch of log.read(undefined)) {
    for (const line of batch.lines as readonly Uint8Array[]) all.push(change(line));
    position = batch.next;
  }
  for (const [at, text] of lines) all.splice(1 + (at % all.length), 0, new TextEncoder().encode(text));
  const withFeeds = all.map((line) => Buffer.concat([line, Buffer.from("\n")]));
  await log.replace?.(withFeeds, position as Parameters<SessionLog["append"]>[1]);
  await log.close();
}

describe("a session that is opened by the end of its log", () => {
  test("shows what one shows that is read whole", async () => {
    const partial = { own: 0, foreign: 0 };
    const reads = { whole: 0, last: 0 };
    await fc.assert(
      fc.asyncProperty(
        conversation(40),
        fc.integer({ min: 200, max: 4_000 }),
        fc.array(fc.tuple(fc.nat(60), damaged), { maxLength: 3 }),
        fc.boolean(),
        async ({ entries }, bytes, lines, isForeign) => {
          const backend = memorySessionStore().backend;
          await written(backend, entries);
          if (lines.length > 0 || isForeign) await damage(backend, lines, isForeign ? foreign : undefined);
          const of = async (most: number, mode: "read" | "write") =>
            sessionStore(readingLast(backend, most, reads)).open("s", { mode });
          const whole = await of(0, "read");
          reads.whole = 0;
          const last = await of(bytes, "read");
          expect(await shownFirst(last)).toEqual(await shownFirst(whole));
          if (reads.whole === 0) partial[isForeign ? "foreign" : "own"]++;
          expect(await shown(last)).toEqual(await shown(whole));
          const writer = await of(bytes, "write");
          const [entry] = await writer.append([say("more")]);
          const again = await of(0, "read");
          expect(entry?.parentId).toBe(whole.leafId);
          expect(await again.entry(entry?.id as string)).toEqual(entry);
          expect(await shownFirst(writer)).toEqual(await shownFirst(again));
          expect(await shown(writer)).toEqual(await shown(again));
          expect((await again.tree()).size).toBe((await whole.tree()).size + 1);
        },
      ),
      { numRuns: rounds(50, 2_000) },
    );
    expect(partial.own).toBeGreaterThan(0);
    expect(partial.foreign).toBeGreaterThan(0);
  });

  /** A session of turns, compacted after each few of them. */
  async function compacted(backend: SessionBackend, turns: number, hasPin = true): Promise<void> {
    const session = await sessionStore(backend).create({ id: "s", cwd: "/w" });
    await session.append([say("begin"), { type: "session_info", title: "Title" }]);
    await session.append([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    for (let turn = 1; turn <= turns; turn++) {
      const [kept] = await session.append([say(`${turn} ${"x".repeat(500)}`), reply("y".repeat(500))]);
      if (turn === 1 && hasPin)
        await session.append([{ type: "context_pin", targetId: kept?.id as string, pinned: true }]);
      if (turn % 40 !== 0) continue;
      const firstKeptEntryId = kept?.id as string;
      await session.append([{ type: "compaction", summary: "S", firstKeptEntryId, tokensBefore: 1 }]);
    }
    await session.close();
  }

  test("reads what another writer's compaction does not say by prefixes, not as a whole", async () => {
    for (const hasPin of [false, true]) {
      const backend = memorySessionStore().backend;
      await compacted(backend, 170, hasPin);
      await damage(backend, [], foreign);
      const reads = { whole: 0, last: 0 };
      const session = await sessionStore(readingLast(backend, 40_000, reads)).open("s", { mode: "write" });
      const { items, thinkingLevel, pins } = await session.context();
      expect([items.length, thinkingLevel, pins.length]).toEqual([23, "high", hasPin ? 1 : 0]);
      expect(session.info.title).toBe("Title");
      expect(reads).toEqual({ whole: 0, last: hasPin ? 2 : 1 });
      const more = await session.append([say("more"), reply("more")]);
      const firstKeptEntryId = more.at(-1)?.id as string;
      const [ours] = await session.append([
        { type: "compaction", summary: "S", firstKeptEntryId, tokensBefore: 1 },
      ]);
      expect(ours).toMatchObject({ inForce: { thinkingLevel: "high", isObserved: false } });
      await session.close();
    }
  });

  test("reads no more for a context and an append if the log is longer", async () => {
    for (const turns of [170, 690]) {
      const backend = memorySessionStore().backend;
      await compacted(backend, turns);
      const reads = { whole: 0, last: 0 };
      const session = await sessionStore(readingLast(backend, 40_000, reads)).open("s", { mode: "write" });
      const { items, thinkingLevel, pins } = await session.context();
      expect([items.length, thinkingLevel, pins.length]).toEqual([23, "high", 1]);
      expect(session.info.title).toBe("Title");
      await session.append([say("more")]);
      expect(await session.turnState()).toMatchObject({ state: "awaitingReply" });
      expect(reads).toEqual({ whole: 0, last: 1 });
      expect((await session.tree()).size).toBe(turns * 2 + Math.floor(turns / 40) * 2 + 5);
      expect(reads.whole).toBe(1);
      await session.close();
    }
  });
});

describe("a session of which the end alone was read", () => {
  const filler = "x".repeat(500);

  /** A session of 90 turns and a compaction, and an entry after it. */
  async function longSession({ backend } = memorySessionStore()): Promise<SessionBackend> {
    const session = await sessionStore(backend).create({ id: "s", cwd: "/w" });
    await session.append([
      { ...say("begin"), id: "begin" },
      { type: "session_info", title: "Title" },
    ]);
    for (let turn = 1; turn <= 90; turn++) {
      await session.append([
        { ...say(filler), id: `u${turn}` },
        { ...reply(filler), id: `a${turn}` },
      ]);
    }
    await session.append([{ ...compaction("u87"), id: "C" }]);
    await session.append([{ ...say("after"), id: "after" }]);
    await session.close();
    return backend;
  }

  const compaction = (firstKeptEntryId: string) =>
    ({ type: "compaction", summary: "S", firstKeptEntryId, tokensBefore: 1 }) as const;

  const wholeOf = (backend: SessionBackend, mode: "read" | "write" = "read") =>
    sessionStore(backend).open("s", { mode });

  async function lastOf(backend: SessionBackend, mode: "read" | "write" = "read"): Promise<Session> {
    const reads = { whole: 0, last: 0 };
    const session = await sessionStore(readingLast(backend, 12_000, reads)).open("s", { mode });
    expect(reads).toEqual({ whole: 0, last: 1 });
    return session;
  }

  test("shows the whole context of an entry before the compaction", async () => {
    const backend = await longSession();
    const [last, whole] = [await lastOf(backend, "write"), await wholeOf(backend)];
    expect(await last.context("u89")).toEqual(await whole.context("u89"));
    const moved = await lastOf(backend, "write");
    await moved.branch("u89");
    expect(await moved.context()).toEqual(await whole.context("u89"));
  });

  test("shows the state before a compaction that is the first line of the end", async () => {
    const backend = await longSession();
    const session = await wholeOf(backend, "write");
    await session.append([say("question")]);
    await session.append([{ ...compaction("D"), id: "D" }]);
    await session.append([{ type: "session_info", title: "T2" }]);
    await session.append([{ type: "custom", customType: "x", data: filler }]);
    const whole = await wholeOf(backend);
    for (let bytes = 600; bytes < 1_600; bytes += 100) {
      const last = await sessionStore(readingLast(backend, bytes, { whole: 0, last: 0 })).open("s");
      expect(await last.turnState()).toEqual(await whole.turnState());
    }
  });

  test("a compaction has a whole line after another writer's metadata", async () => {
    const backend = await longSession();
    const [session, other] = [await wholeOf(backend, "write"), await wholeOf(backend, "write")];
    await other.updateInfo({ title: "Other" });
    const [entry] = await session.append([compaction("after")]);
    const again = await wholeOf(backend);
    expect(await again.entry(entry?.id as string)).toEqual(entry);
    expect(entry).toHaveProperty("inForce");
    expect((await again.diagnose()).length).toBe(0);
  });

  test("a compaction that follows another writer has nothing of its first place in force", async () => {
    const backend = await longSession();
    const [session, other] = [await wholeOf(backend, "write"), await wholeOf(backend, "write")];
    await other.append([{ type: "context_pin", targetId: "u90", pinned: true }]);
    const [entry] = await session.append([compaction("u88")], { conflict: "follow" });
    expect(entry).not.toHaveProperty("inForce");
    const last = await sessionStore(readingLast(backend, 12_000, { whole: 0, last: 0 })).open("s");
    expect((await last.context()).pins).toEqual(["u90"]);
  });

  test("appends and moves keep the order of their calls if one waits for entries", async () => {
    const backend = await longSession();
    const session = await lastOf(backend, "write");
    const appending = session.append([{ ...say("1"), id: "one" }]);
    expect(() => session.stage([say("no")])).toThrow("await the append first");
    const moving = session.branch("u89");
    const second = session.append([say("2")]);
    const summarizing = session.branchWithSummary("u3", "S");
    const third = session.append([say("3")]);
    await moving;
    const entries = [...(await appending), ...(await second), await summarizing, ...(await third)];
    const parents = entries.map(({ parentId }) => parentId);
    expect(parents).toEqual(["after", "u89", "u3", entries[2]?.id]);
  });

  test("a move to an entry that was not read comes before the next append", async () => {
    const session = await lastOf(await longSession(), "write");
    const moving = session.branch("u3");
    const [entry] = await session.append([say("more")]);
    await moving;
    expect(entry?.parentId).toBe("u3");
  });

  test("an append that cannot wait fails those that follow it alone", async () => {
    const dir = await mkdtemp(join(tmpdir(), "sessile-end-"));
    const session = await lastOf(await longSession(fileSessionStore({ dir })), "write");
    const controller = new AbortController();
    const first = session.append([{ ...say("1"), id: "one" }], controller);
    controller.abort(new Error("stopped"));
    const next = session.append([say("2")]);
    const renaming = session.updateInfo({ title: "Renamed" });
    const moving = session.branch("u89");
    const last = session.append([say("3")]);
    await expect(first).rejects.toThrow("stopped");
    await expect(next).rejects.toThrow("stopped");
    expect((await renaming).title).toBe("Renamed");
    await moving;
    expect((await last)[0]?.parentId).toBe("u89");
    await session.close();
    await rm(dir, { recursive: true });
  });

  test("a close waits for an append that waits for entries", async () => {
    const backend = await longSession();
    const session = await lastOf(backend, "write");
    const appending = session.append([{ ...say("1"), id: "one" }]);
    await session.close();
    expect((await appending)[0]?.id).toBe("one");
    expect((await wholeOf(backend)).leafId).toBe("one");
  });

  test("shows the leaf that another writer moved to an entry that was not read", async () => {
    const backend = await longSession();
    const [refreshed, followed] = [await lastOf(backend), await lastOf(backend)];
    const other = await wholeOf(backend, "write");
    await other.branch("u3");
    await other.flush();
    expect((await refreshed.refresh()).map(({ parentId }) => parentId)).toEqual(["u3"]);
    expect(refreshed.leafId).toBe("u3");
    const { signal } = new AbortController();
    for await (const { type } of followed.follow({ signal, pollMs: 1 })) if (type === "leaf") break;
    expect(followed.leafId).toBe("u3");
  });

  test("shows all entries of a log that was replaced since", async () => {
    const dir = await mkdtemp(join(tmpdir(), "sessile-end-"));
    const backend = await longSession(fileSessionStore({ dir }));
    const last = await lastOf(backend);
    await eraseEntries(sessionStore(backend), "s", ["u5"], { reason: "a request" });
    const whole = await wholeOf(backend);
    expect(await last.path()).toEqual(await whole.path());
    expect(await last.context()).toEqual(await whole.context());
    expect(last.leafId).toBe(whole.leafId);
    for (const session of [last, whole]) await session.close();
    await rm(dir, { recursive: true });
  });

  test("keeps the problems of its appends when all entries are read", async () => {
    const session = await lastOf(await longSession(), "write");
    const data: unknown = JSON.parse('{"__proto__":1}');
    await session.append([{ type: "custom", customType: "x", data }]);
    await session.tree();
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["UNSAFE_KEY"]);
  });

  test("stages no entry with an id that may be that of an entry that was not read", async () => {
    const session = await lastOf(await longSession(), "write");
    const label = { type: "label", targetId: "u3", label: "l" } as const;
    for (const draft of [label, { ...say("again"), id: "u3" }])
      expect(() => session.stage([draft])).toThrow("await session.tree() first");
    await session.tree();
    expect(session.stage([label])).toHaveLength(1);
  });

  test("an append with ids of the caller takes none of an entry that was not read", async () => {
    const backend = await longSession();
    let count = 0;
    const newEntryId = () => `u${++count}`;
    const store = sessionStore(readingLast(backend, 12_000, { whole: 0, last: 0 }), { newEntryId });
    const session = await store.open("s", { mode: "write" });
    const [entry] = await session.append([say("more")]);
    expect(entry?.id).toBe("u91");
    expect(await (await wholeOf(backend)).entry("u91")).toEqual(entry);
  });

  test("a torn line that becomes whole is new", async () => {
    const dir = await mkdtemp(join(tmpdir(), "sessile-end-"));
    const backend = await longSession(fileSessionStore({ dir }));
    const { location } = await wholeOf(backend);
    const rest = '"parentId":"after","timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}\n';
    await appendFile(location as string, '{"type":"custom","id":"late",');
    const last = await lastOf(backend);
    await appendFile(location as string, rest);
    await last.tree();
    expect((await last.refresh()).map(({ id }) => id)).toEqual(["late"]);
    expect(last.leafId).toBe("late");
    await last.close();
    await rm(dir, { recursive: true });
  });

  test("a compaction behind an orphan records nothing in force: a merge may bring the parent", async () => {
    const { backend } = memorySessionStore();
    const session = await sessionStore(backend).create({ id: "s", cwd: "/w" });
    await session.append([say("first")]);
    await session.close();
    await damage(backend, [
      [1, '{"type":"custom","id":"orphan01","parentId":"nowhere1","timestamp":"","customType":"x"}'],
    ]);
    const again = await sessionStore(backend).open("s", { mode: "write" });
    await again.branch("orphan01");
    const [, entry] = await again.append([say("kept"), { ...compaction("S"), firstKeptEntryId: "orphan01" }]);
    expect(entry).toMatchObject({ type: "compaction" });
    expect(entry).not.toHaveProperty("inForce");
    await again.close();
  });

  test("takes no damaged session_info for the last one", async () => {
    const backend = await longSession();
    const session = await wholeOf(backend, "write");
    await session.append([{ ...compaction("D"), id: "D" }]);
    const log = (await backend.open("s", { partition: "", mode: "write" })) as SessionLog;
    let end: Parameters<SessionLog["append"]>[1] | undefined;
    for await (const { next } of log.read(undefined)) end = next;
    const place = '"parentId":"D","timestamp":"2026-01-01T00:00:00.000Z"';
    const lines = [
      `{"type":"session_info","id":"damaged1",${place},"title":7}\n`,
      `{"type":"custom","id":"custom01",${place},"customType":"x","data":"${filler}"}\n`,
    ];
    await log.append(
      lines.map((line) => Buffer.from(line)),
      end as Parameters<SessionLog["append"]>[1],
    );
    const whole = await wholeOf(backend);
    for (let bytes = 600; bytes < 1_500; bytes += 100) {
      const last = await sessionStore(readingLast(backend, bytes, { whole: 0, last: 0 })).open("s");
      expect(last.info).toEqual(whole.info);
    }
  });
});
