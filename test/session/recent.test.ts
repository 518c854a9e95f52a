import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  assistantMessage,
  buildSessionContext,
  type EntryDraft,
  memorySessionStore,
  type RecentOptions,
  type RecentPage,
  type SessionEntry,
  type SessionLog,
  type SessionStore,
  SessionTree,
  sessionStore,
  toolResult,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { estimateMessageTokens } from "sessile/estimate";
import { fileSessionStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { breakage } from "../arbitraries/broken-sessions.js";
import { rounds } from "../support/rounds.js";
import { SimulatedDisk } from "../support/simulated-disk.js";
import { hookedMemory } from "./hooked-backend.js";

const model = { provider: "p", model: "m" };
type Entry = SessionEntry | UnknownEntry;

async function pages(recent: (options: RecentOptions) => Promise<RecentPage>, options: RecentOptions) {
  const all: RecentPage[] = [];
  for (let before: string | undefined; ; ) {
    const page = await recent({ ...options, ...(before === undefined ? {} : { before }) });
    all.unshift(page);
    if (page.before === undefined) return all;
    before = page.before;
  }
}

const isMessage = (entry: Entry) => ["message", "branch_summary", "custom_message"].includes(entry.type);
const isPrompt = (entry: Entry | undefined) => entry?.type === "message" && entry.message.role === "user";

/** Whether a page that begins at an index would part no result from its call. */
function isWhole(path: readonly Entry[], start: number): boolean {
  const seen = new Set<string>();
  for (const entry of path.slice(start).reverse()) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (message.role === "toolResult") seen.add(message.toolCallId);
    if (message.role === "assistant")
      for (const block of message.content) if (block.type === "toolCall") seen.delete(block.id);
  }
  return seen.size === 0;
}

/** The start of the newest page by its definition. */
function startOf(path: readonly Entry[], messages: number): number {
  const fits = (start: number) => path.slice(start).filter(isMessage).length <= messages;
  if (fits(0)) return 0;
  const starts = path.map((_, index) => index).filter((start) => isWhole(path, start));
  return (
    starts.find((start) => fits(start) && isPrompt(path[start])) ??
    starts.find(fits) ??
    (starts.filter((start) => !fits(start)).at(-1) as number)
  );
}

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ say: true as const }) },
  { weight: 3, arbitrary: fc.record({ calls: fc.integer({ min: 0, max: 2 }), late: fc.boolean() }) },
  fc.record({ branch: fc.nat() }),
  fc.record({ label: fc.nat() }),
  fc.record({ edit: fc.nat() }),
  fc.constant({ summary: true as const }),
  fc.record({ compact: fc.nat() }),
);

async function play(
  store: SessionStore,
  steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
) {
  const session = await store.create({ cwd: "/work" });
  const ids: string[] = [];
  const append = async (draft: EntryDraft) => ids.push((await session.append([draft]))[0]?.id as string);
  let owed: EntryDraft[] = [];
  for (const each of steps) {
    const one = (at: number) => ids[at % ids.length] as string;
    if ("say" in each) await append({ type: "message", message: userMessage("hello") });
    else if ("calls" in each) {
      const calls = Array.from({ length: each.calls }, (_, at) => ({
        type: "toolCall" as const,
        id: `c${ids.length}.${at}`,
        name: "t",
        arguments: {},
      }));
      await append({ type: "message", message: assistantMessage(model, "I see", ...calls) });
      for (const draft of owed) await append(draft);
      owed = calls.map((call) => ({ type: "message", message: toolResult(call, "done") }));
      if (!each.late) for (const draft of owed.splice(0)) await append(draft);
    } else if (ids.length === 0) continue;
    else if ("branch" in each) await session.branch(one(each.branch));
    else if ("label" in each) await append({ type: "label", targetId: one(each.label), label: "x" });
    else if ("edit" in each)
      await append({ type: "context_edit", targetId: one(each.edit), replacement: { content: "edited" } });
    else if ("compact" in each) {
      const kept = (await session.tree()).path(session.leafId).map(({ id }) => id);
      const firstKeptEntryId = kept[each.compact % kept.length];
      if (firstKeptEntryId !== undefined)
        await append({ type: "compaction", summary: "so far", firstKeptEntryId, tokensBefore: 1 });
    } else await append({ type: "branch_summary", fromId: "root", summary: "so far" });
  }
  await session.flush();
  return session;
}

describe("recent", () => {
  test("is the end of the path by its definition, on an open session and on a log", async () => {
    let cut = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 4000 }),
        async (steps, messages, bytes) => {
          const store = memorySessionStore();
          const session = await play(store, [{ say: true }, ...steps]);
          const path = await session.path();
          const newest = await store.recent(session.id, { messages });
          expect(newest.entries).toEqual(path.slice(startOf(path, messages)));
          expect(newest.truncated).toBe(startOf(path, messages) > 0);
          if (newest.truncated) cut++;
          for (const options of [{ messages }, { bytes }, { tokens: bytes }, {}]) {
            const all = await pages((each) => store.recent(session.id, each), options);
            expect(all.flatMap(({ entries }) => entries)).toEqual(path);
            expect(all).toEqual(await pages((each) => session.recent(each), options));
          }
          // The context of the page is the end of the context, unless a compaction keeps what is before the page.
          if (newest.entries.some(({ type }) => type === "compaction")) return;
          const window = new SessionTree(newest.entries);
          const entry = (id: string) => newest.entries.find((each) => each.id === id);
          const leafId = newest.entries.at(-1)?.id ?? null;
          const { items } = buildSessionContext({ tree: window, leafId, entry });
          const whole = (await session.context()).items;
          expect(items).toEqual(items.length === 0 ? [] : whole.slice(-items.length));
        },
      ),
      { numRuns: rounds(60, 3000) },
    );
    expect(cut).toBeGreaterThan(10);
  });

  test("is the end of the path of a file, whatever other branches, damage and torn end it has", async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 20 });
    const ending = fc.constantFrom("\n", "", '\n{"type":"message","id":"torn', `\n${"\0".repeat(300)}`);
    const damage = fc.option(breakage, { nil: (bytes: Uint8Array) => bytes });
    const bound = fc.record({
      messages: fc.integer({ min: 1, max: 4 }),
      bytes: fc.integer({ min: 1, max: 3000 }),
    });
    let cut = 0;
    await fc.assert(
      fc.asyncProperty(steps, ending, damage, bound, async (all, end, broken, { messages, bytes }) => {
        const disk = new SimulatedDisk();
        const store = disk.sessions({ dir: "/s", durability: "disk" });
        const written = await play(store, [{ say: true }, ...all]);
        const { id, location = "" } = written;
        await written.close();
        disk.put(
          location,
          broken(Buffer.concat([disk.bytes(location)?.subarray(0, -1) ?? Buffer.of(), Buffer.from(end)])),
        );
        const ref = { id, location };
        const opened = await store
          .open(ref, { mode: "read" })
          .catch((error: unknown) => error as SessileError);
        if (opened instanceof SessileError) {
          await expect(store.recent(ref)).rejects.toMatchObject({ code: opened.code });
          return;
        }
        // Of two lines with an id, recent has the last, and the tree the first.
        if (opened.diagnostics.some(({ code }) => code === "DUPLICATE_ID")) return;
        const path = await opened.path();
        for (const options of [{ messages }, { bytes }, {}]) {
          const all = await pages((each) => store.recent(ref, each), options);
          expect(all.flatMap(({ entries }) => entries)).toEqual(path);
          expect(all).toEqual(await pages((each) => opened.recent(each), options));
        }
        const newest = await store.recent(ref, { messages });
        if (newest.truncated) cut++;
        await opened.close();
      }),
      { numRuns: rounds(100, 3000) },
    );
    expect(cut).toBeGreaterThan(3);
  });

  /** A store whose logs count what is read of them. */
  function counting() {
    const backend = hookedMemory();
    const read = { lines: 0, whole: 0 };
    const store = sessionStore({
      ...backend,
      async open(id, options) {
        const log = await backend.open(id, options);
        if (log === undefined) return undefined;
        const [whole, backwards] = [log.read.bind(log), log.readBackwards?.bind(log)];
        return Object.assign(log, {
          read: (...call: Parameters<SessionLog["read"]>) => {
            read.whole++;
            return whole(...call);
          },
          async *readBackwards(before: number | undefined) {
            for await (const batch of backwards?.(before) ?? []) {
              read.lines += batch.at.length;
              yield batch;
            }
          },
        });
      },
    });
    return { store, read };
  }

  test("reads as many lines of a long log as of a short one", async () => {
    const counts: number[] = [];
    for (const length of [200, 5_000]) {
      const { store, read } = counting();
      const session = await store.create({ cwd: "/work" });
      await session.append(
        Array.from({ length }, (_, at) => ({
          type: "message" as const,
          message: userMessage(`message ${at}`),
        })),
      );
      read.lines = 0;
      read.whole = 0;
      const page = await store.recent(session.id, { messages: 50 });
      expect(page.entries).toHaveLength(50);
      expect(read.whole).toBe(1);
      counts.push(read.lines);
    }
    expect(counts[0]).toBe(counts[1]);
    expect(counts[0]).toBeLessThanOrEqual(64);
  });

  test("a page may end where the parent is far back, and the next one finds it", async () => {
    const { store, read } = counting();
    const session = await store.create({ cwd: "/work" });
    const trunk = await session.append(
      [0, 1].map((at) => ({ type: "message" as const, message: userMessage(`trunk ${at}`) })),
    );
    for (let at = 0; at < 20; at++) await session.appendMessage(userMessage("x".repeat(1 << 20)));
    await session.branch(trunk[1]?.id as string);
    // The page begins with a turn, or else with any entry.
    const twig = await session.appendMessage(assistantMessage(model, "twig"));
    const first = await store.recent(session.id);
    expect(first.entries).toEqual([twig]);
    expect(first.truncated).toBe(true);
    read.lines = 0;
    const second = await store.recent(session.id, { before: first.before as string });
    expect(second.entries).toEqual(trunk);
    // It goes on where the first page ended.
    expect(read.lines).toBeLessThan(15);
    expect((await session.recent()).entries).toEqual([...trunk, twig]);
    const next = await session.appendMessage(userMessage("next"));
    expect((await store.recent(session.id)).entries).toEqual([next]);
  });

  test("has as many whole messages as the bytes and the tokens of its bounds", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    const message = userMessage("word ".repeat(100));
    const entries = await session.append(
      Array.from({ length: 12 }, () => ({ type: "message" as const, message })),
    );
    const line = (await session.raw(entries[5]?.id as string))?.length as number;
    const tokens = estimateMessageTokens(message);
    for (const isOpen of [false, true]) {
      const count = async (options: RecentOptions) =>
        (await (isOpen ? session.recent(options) : store.recent(session.id, options))).entries.length;
      expect([await count({ bytes: 3 * line }), await count({ bytes: 3 * line - 1 })]).toEqual([3, 2]);
      expect([await count({ tokens: 4 * tokens }), await count({ tokens: 4 * tokens - 1 })]).toEqual([4, 3]);
      expect(await count({ bytes: 5 * line, tokens: 2 * tokens, messages: 9 })).toBe(2);
    }
  });

  test("staged entries are in the page of their session", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    const [staged] = session.stage([{ type: "model_change", provider: "p", modelId: "m" }]);
    expect((await session.recent()).entries).toEqual([staged]);
    await expect(store.recent(session.id)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  test("refuses bounds and cursors that are none", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("a"));
    for (const options of [{ bytes: 0 }, { messages: 0.5 }, { tokens: -1 }])
      await expect(store.recent(session.id, options)).rejects.toThrow(RangeError);
    for (const before of ["", "x", "12", "a1:x", "1:"])
      await expect(session.recent({ before })).rejects.toThrow("before: expected a cursor");
  });

  test("passes a damaged entry, and reads a log of version 1 from its start", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sessile-"));
    try {
      const store = fileSessionStore({ dir, durability: "os" });
      const session = await store.create({ cwd: "/work" });
      const said = await session.append(
        ["one", "two", "three"].map((text) => ({ type: "message" as const, message: userMessage(text) })),
      );
      await session.close();
      const path = session.location as string;
      writeFileSync(path, readFileSync(path, "utf8").replace('"content":"two"', '"content""two"'));
      const { entries, truncated } = await store.recent(session.id);
      expect([entries, truncated]).toEqual([[said[0], said[2]], false]);
      const time = "2026-01-01T00:00:00.000Z";
      const old = ["one", "two"].map((content) => ({ role: "user", content, timestamp: 1 }));
      const lines = old.map((message) => ({ type: "message", timestamp: time, message }));
      const header = { type: "session", id: "old", timestamp: time, cwd: "/work" };
      writeFileSync(
        join(dir, "old.jsonl"),
        [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""),
      );
      const opened = await store.open("old");
      expect((await store.recent("old")).entries).toEqual(await opened.path());
      expect(await opened.path()).toHaveLength(2);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test("a torn end of a file is no entry, and a whole line without its line feed is one", async () => {
    const { appendFileSync } = await import("node:fs");
    const dir = mkdtempSync(join(tmpdir(), "sessile-"));
    try {
      const store = fileSessionStore({ dir, durability: "os" });
      const session = await store.create({ cwd: "/work" });
      const said = await session.appendMessage(userMessage("a"));
      await session.close();
      const path = session.location as string;
      const line = { ...said, id: "00000002", parentId: said.id };
      appendFileSync(path, JSON.stringify(line));
      expect((await store.recent(session.id)).entries.map(({ id }) => id)).toEqual([said.id, "00000002"]);
      appendFileSync(path, '\n{"type":"message","id":"0000');
      expect((await store.recent(session.id)).entries.map(({ id }) => id)).toEqual([said.id, "00000002"]);
      appendFileSync(path, "\0".repeat(100_000));
      expect((await store.recent(session.id)).entries.map(({ id }) => id)).toEqual([said.id, "00000002"]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
