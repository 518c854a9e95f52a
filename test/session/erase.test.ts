import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import {
  assistantMessage,
  type BlobMark,
  collectGarbage,
  type EntryDraft,
  eraseEntries,
  type LogBatch,
  type LogPosition,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  type SessionEntry,
  type SessionLog,
  type SessionStore,
  sessionBlobRoots,
  sessionStore,
  type ToolCall,
  toolResult,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { diagnoseSession, fileBlobStore, fileSessionStore, salvageSession } from "sessile/node";
import { afterEach, describe, expect, test } from "vitest";
import { memoryBackend } from "../../src/session/store/memory-backend.js";
import { entryTree, plainHeader, sessionOf } from "../arbitraries/entries.js";
import { canary, filesWithCanary, withCanary } from "../support/canary.js";
import { fileClock } from "../support/file-clock.js";
import { rounds } from "../support/rounds.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

const reason = "a request of the person";
const say = (text: string, id?: string): EntryDraft => ({
  type: "message",
  message: userMessage(text),
  ...(id === undefined ? {} : { id }),
});
const answer = assistantMessage({ provider: "anthropic", model: "m" }, "Noted.");

const call = (id: string, name: string, input: object): ToolCall => ({
  type: "toolCall",
  id,
  name,
  arguments: input,
});

const kinds = {
  memory: () => memorySessionStore(),
  files: () => fileSessionStore({ dir: temporaryDirectory() }),
};

const opened: Session[] = [];
afterEach(async () => {
  for (const session of opened.splice(0)) await session.close();
});
async function keep(session: Promise<Session>): Promise<Session> {
  opened.push(await session);
  return session;
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

/** Counts the listeners of a store from now on. */
function countListeners(store: SessionStore): () => number {
  const on = store.on.bind(store);
  let count = 0;
  store.on = (...given) => {
    const stop = on(...given);
    count++;
    return () => {
      count--;
      stop();
    };
  };
  return () => count;
}

async function linesOf(session: Session): Promise<readonly string[]> {
  const lines = await Promise.all([...(await session.tree()).walk()].map(({ node }) => session.raw(node.id)));
  return lines.map((line) => new TextDecoder().decode(line));
}

async function textsOf(session: Session): Promise<readonly unknown[]> {
  const { items } = await session.context();
  return items.map(({ message }) => ("content" in message ? message.content : message.role));
}

describe.each(Object.entries(kinds))("in %s", (kind, make) => {
  // @covers security:erasure
  test("the body is gone, and the tree stands", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first, , third] = await session.append([
      say(`my number is ${canary}`),
      { type: "message", message: answer },
      say("and my cat is Tom"),
    ]);
    const before = [...(await session.tree()).walk()].map(({ node }) => node);
    const { sessions } = await eraseEntries(store, session, [first?.id as string], { reason });
    expect(sessions).toMatchObject([{ id: session.id, partition: "", erased: [first?.id], derived: [] }]);
    const again = await keep(store.open(session.id));
    expect([...(await again.tree()).walk()].map(({ node }) => node)).toEqual(before);
    expect(await linesOf(again)).not.toContainEqual(expect.stringContaining(canary));
    expect(await again.entry(first?.id as string)).toMatchObject({
      type: "message",
      timestamp: first?.timestamp,
      message: { role: "user", content: "[erased]" },
      erased: { reason, at: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
    expect(await again.entry(third?.id as string)).toEqual(third);
    expect(await textsOf(again)).toEqual(["[erased]", answer.content, "and my cat is Tom"]);
    expect(again.diagnostics).toEqual([]);
    expect(await again.diagnose()).toEqual([]);
  });

  test("a handle from before is told, reads again, and writes nothing of it", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first] = await session.append([say(canary)]);
    await session.context();
    await eraseEntries(store, session, [first?.id as string], { reason });
    await expect(session.append([say("next")])).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(await textsOf(session)).toEqual(["[erased]"]);
    await session.append([say("next")]);
    expect(await textsOf(await keep(store.open(session.id)))).toEqual(["[erased]", "next"]);
    expect(await linesOf(session)).not.toContainEqual(expect.stringContaining(canary));
  });

  test("an extract and a fork by a handle from before have tombstones", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first] = await session.append([say(canary), say("two")]);
    await session.context();
    await eraseEntries(store, session, [first?.id as string], { reason });
    const extract = await keep(session.extract());
    const fork = await keep(store.fork(session));
    for (const copy of [extract, fork])
      expect(await linesOf(copy)).not.toContainEqual(expect.stringContaining(canary));
    expect((await extract.entry(first?.id as string))?.type).toBe("message");
  });

  test("a retry of an erased append is refused", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const draft = say(canary, "e0000001");
    await session.append([draft]);
    await eraseEntries(store, session, ["e0000001"], { reason });
    await session.refresh();
    await expect(session.append([draft])).rejects.toMatchObject({ code: "DUPLICATE_ID" });
  });

  test("tool calls stay pairs, without arguments and results", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const calls = [call("c1", "read", { path: canary }), call("c2", "ls", {})];
    const [, asked, got, other] = await session.append([
      say("look"),
      { type: "message", message: assistantMessage({ provider: "p", model: "m" }, canary, ...calls) },
      { type: "message", message: { ...toolResult(calls[0] as never, canary), details: { canary } } },
      { type: "message", message: toolResult(calls[1] as never, "three files") },
    ]);
    const report = await eraseEntries(store, session, [asked?.id as string], { reason });
    expect(report.sessions[0]?.derived).toEqual([
      { entryId: got?.id, kind: "tool_result", from: [asked?.id] },
      { entryId: other?.id, kind: "tool_result", from: [asked?.id] },
    ]);
    await eraseEntries(store, session, [got?.id as string], { reason });
    const again = await keep(store.open(session.id));
    expect(await linesOf(again)).not.toContainEqual(expect.stringContaining(canary));
    const { items } = await again.context();
    expect(items.map(({ message }) => message)).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "[erased]" },
          { type: "toolCall", id: "c1", name: "read", arguments: {} },
          { type: "toolCall", id: "c2", name: "ls", arguments: {} },
        ],
      },
      { role: "toolResult", toolCallId: "c1", content: [{ type: "text", text: "[erased]" }] },
      { role: "toolResult", toolCallId: "c2", content: [{ type: "text", text: "three files" }] },
    ]);
  });

  test("edits, updates and labels of an entry are erased with it; names, if it is the first", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    await session.append([say("hello", "e0000001")]);
    await session.updateInfo({ title: canary, name: canary, archivedAt: "2026-01-01T00:00:00.000Z" });
    await session.append([
      { type: "context_edit", targetId: "e0000001", replacement: { content: canary }, id: "e0000002" },
      { type: "message_update", targetId: "e0000001", message: userMessage(canary), id: "e0000003" },
      { type: "label", targetId: "e0000001", label: canary, id: "e0000004" },
      { type: "context_pin", targetId: "e0000001", pinned: true, id: "e0000005" },
      say("more", "e0000006"),
      { type: "label", targetId: "e0000006", label: "stays", id: "e0000007" },
    ]);
    const report = await eraseEntries(store, session, ["e0000001"], { reason });
    expect(report.sessions[0]?.erased.filter((id) => id.startsWith("e000"))).toEqual([
      "e0000001",
      "e0000002",
      "e0000003",
      "e0000004",
    ]);
    expect(report.sessions[0]?.erased).toHaveLength(5);
    const again = await keep(store.open(session.id));
    expect(await linesOf(again)).not.toContainEqual(expect.stringContaining(canary));
    expect((await again.tree()).label("e0000001")).toBeUndefined();
    expect((await again.tree()).label("e0000006")).toBe("stays");
    expect(again.info).toMatchObject({ time: { archived: expect.anything() } });
    expect(again.info.title).toBeUndefined();
    const [row] = await all(store.list());
    expect(row).toMatchObject({ firstMessage: "[erased]" });
    expect(JSON.stringify(row)).not.toContain(canary);
    const second = await eraseEntries(store, session, ["e0000006"], { reason });
    expect(second.sessions[0]?.erased).toEqual(["e0000006", "e0000007"]);
  });

  test("each name goes with the first message of a person, and none with a later one", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    await session.append([
      { type: "model_change", provider: "p", modelId: "m", id: "e0000000" },
      ...[say("hello", "e0000001"), say("more", "e0000002"), say("last", "e0000003")],
    ]);
    const names = [{ name: canary }, { title: canary }, { slug: canary }];
    const infos = await session.append(names.map((each) => ({ type: "session_info", ...each })));
    const ids = infos.map(({ id }) => id);
    const later = await eraseEntries(store, session, ["e0000003", "e0000002", "e0000000"], { reason });
    // In the order of the log.
    expect(later.sessions[0]?.erased).toEqual(["e0000000", "e0000002", "e0000003"]);
    const first = await eraseEntries(store, session, ["e0000001"], { reason });
    expect(first.sessions[0]?.erased).toEqual(["e0000001", ...ids]);
    expect(await linesOf(await keep(store.open(session.id)))).not.toContainEqual(
      expect.stringContaining(canary),
    );
  });

  // @covers security:erasure
  test("the report lists what derives from erased entries", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const state = { type: "custom", customType: "sessile.memory" } as const;
    await session.append([
      say("one", "e0000001"),
      { ...state, data: { label: "facts", text: canary }, id: "e0000002" },
      say("two", "e0000003"),
      say("three", "e0000004"),
      {
        type: "compaction",
        summary: canary,
        firstKeptEntryId: "e0000004",
        tokensBefore: 1,
        id: "e0000005",
      },
      say("four", "e0000006"),
      { type: "resource_observation", resourceId: "res_0123456789abcdef", text: "a cat", id: "e0000007" },
      { type: "revert", targetId: "e0000003", diff: canary, id: "e0000008" },
      // Of another program, and of another call.
      { type: "custom", customType: "sessile.memories", data: "kept" },
      { type: "message", message: assistantMessage({ provider: "p", model: "m" }, call("c1", "ls", {})) },
      { type: "message", message: toolResult(call("c1", "ls", {}), "kept") },
    ]);
    await session.branch("e0000006");
    await session.append([say("a side", "e0000009")]);
    await session.branchWithSummary("e0000006", canary);
    const derived = async (id: string) => {
      const { sessions } = await eraseEntries(store, session, [id], { reason });
      await session.refresh();
      return sessions[0]?.derived.map(({ entryId, kind }) => `${kind} ${entryId}`);
    };
    expect(await derived("e0000004")).toEqual([]);
    expect(await derived("e0000001")).toEqual(["memory e0000002", "compaction e0000005"]);
    expect(await derived("e0000003")).toEqual(["compaction e0000005", "revert e0000008"]);
    const [summary] = (await derived("e0000009")) as string[];
    expect(summary).toMatch(/^branch_summary /);
    const ids = ["e0000002", "e0000005", "e0000008", summary?.split(" ")[1] as string];
    const { remaining } = await eraseEntries(store, session, ids, { reason });
    expect(remaining.join("\n")).not.toContain("derived");
    expect(await linesOf(await keep(store.open(session.id)))).not.toContainEqual(
      expect.stringContaining(canary),
    );
  });

  test("a compaction derives from what it covers, a summary from the branch that was left", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const compaction = { type: "compaction", summary: "s", tokensBefore: 1 } as const;
    const summary = (fromId: string, id: string): EntryDraft => ({
      ...{ type: "branch_summary", summary: "s", fromId, id },
    });
    await session.append([say("one", "e0000001"), say("two", "e0000002")]);
    await session.append([say("left", "e0000003"), say("left too", "e0000004")]);
    await session.branch("e0000001");
    await session.append([say("elsewhere", "e0000005")]);
    await session.branch("e0000002");
    await session.append([
      summary("e0000004", "e0000006"),
      // As pi writes it: the target of the branch, or nothing known.
      summary("e0000002", "e0000007"),
      summary("root", "e0000008"),
      { ...compaction, firstKeptEntryId: "e0000001", id: "e0000009" },
      { ...compaction, firstKeptEntryId: "e0000002", id: "e0000010" },
    ]);
    const derived = async (id: string) => {
      const { sessions } = await eraseEntries(store, session, [id], { reason });
      return sessions[0]?.derived.map(({ entryId }) => entryId);
    };
    expect(await derived("e0000003")).toEqual(["e0000006", "e0000007", "e0000008"]);
    expect(await derived("e0000005")).toEqual(["e0000008"]);
    expect(await derived("e0000001")).toEqual(["e0000010"]);
  });

  test("forks are erased on request, and their forks", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first] = await session.append([say(canary)]);
    const fork = await keep(store.fork(session));
    const [own] = await fork.append([say("the fork's own")], { conflict: "follow" });
    const second = await keep(store.fork(fork));
    const extract = await keep(session.extract());
    const { remaining } = await eraseEntries(store, session, [first?.id as string], { reason });
    expect(remaining.join("\n")).toContain("forks");
    expect(remaining.join("\n")).not.toContain("original files");
    expect(await linesOf(await keep(store.open(fork)))).toContainEqual(expect.stringContaining(canary));
    const report = await eraseEntries(store, session, [first?.id as string], { reason, forks: true });
    expect(report.sessions.map(({ id }) => id).sort()).toEqual(
      [session.id, fork.id, second.id, extract.id].sort(),
    );
    expect(report.remaining.join("\n")).not.toContain("original files");
    for (const id of [session.id, fork.id, second.id, extract.id])
      expect(await linesOf(await keep(store.open(id)))).not.toContainEqual(expect.stringContaining(canary));
    expect(await (await keep(store.open(second))).entry(own?.id as string)).toEqual(own);
  });

  test("a chain of forks is erased to its end, and the store keeps no listener", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first] = await session.append([say(canary)]);
    const chain = [session];
    for (let at = 0; at < 3; at++) chain.push(await keep(store.fork(chain.at(-1) as Session)));
    const listeners = countListeners(store);
    const ids = [first?.id as string];
    const report = await eraseEntries(store, session, ids, { reason, forks: true });
    expect(report.sessions.map(({ id }) => id)).toEqual(chain.map(({ id }) => id));
    expect(listeners()).toBe(0);
  });

  test("forks of a deleted fork are found", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first] = await session.append([say(canary)]);
    const fork = await store.fork(session);
    const second = await keep(store.fork(fork));
    const third = await keep(store.fork(second));
    await fork.close();
    await store.delete(fork.id);
    const other = await store.create({ cwd: "/work" });
    // The same id by chance, at another time.
    await new Promise((resolve) => setTimeout(resolve, 5));
    await other.append([say("other", first?.id)]);
    const stranger = await keep(store.fork(other));
    await other.close();
    await store.delete(other.id);
    const before = await linesOf(await keep(store.open(stranger)));
    const report = await eraseEntries(store, session, [first?.id as string], { reason, forks: true });
    expect(report.sessions.map(({ id }) => id)).toEqual([session.id, second.id, third.id]);
    for (const id of [session.id, second.id, third.id])
      expect(await linesOf(await keep(store.open(id)))).not.toContainEqual(expect.stringContaining(canary));
    expect(await linesOf(await keep(store.open(stranger)))).toEqual(before);
  });

  test("bad arguments change nothing", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first] = await session.append([say("one")]);
    const id = first?.id as string;
    await expect(eraseEntries(store, session, [id, "ffffffff"], { reason })).rejects.toMatchObject({
      code: "ENTRY_NOT_FOUND",
    });
    await expect(eraseEntries(store, session, [id], { reason: " " })).rejects.toThrow(TypeError);
    await expect(eraseEntries(store, session, id as never, { reason })).rejects.toThrow(TypeError);
    await expect(eraseEntries(store, session, [id], undefined as never)).rejects.toThrow(/^reason: expected/);
    await expect(eraseEntries(store, "nobody", [id], { reason })).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
    expect(await session.refresh()).toEqual([]);
    expect(await textsOf(await keep(store.open(session.id)))).toEqual(["one"]);
  });

  test("a second erasure keeps the record of the first", async () => {
    const store = make();
    const session = await keep(store.create({ cwd: "/work" }));
    const [first] = await session.append([say("one")]);
    await eraseEntries(store, session, [first?.id as string], { reason });
    const line = (await linesOf(await keep(store.open(session.id))))[0];
    await eraseEntries(store, session, [first?.id as string], { reason: "another" });
    expect((await linesOf(await keep(store.open(session.id))))[0]).toBe(line);
    if (kind === "files") expect(line).toContain(`"erased":{"at":"`);
  });
});

test("a tombstone keeps what the tree, the pairs and the sums need, and nothing else", async () => {
  const numbers = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, totalTokens: 10 };
  const cost = { input: 0.1, output: 0.2, cacheRead: 0.3, cacheWrite: 0.4, total: 1 };
  const usage = { ...numbers, cost };
  const noted = { ...numbers, note: canary, cost: { ...cost, note: canary } };
  const model = { provider: "p", modelId: "m" };
  const words = { type: "text", text: canary, id: "t1" };
  const erasedText = { type: "text", text: "[erased]" };
  const bare = { type: "toolCall", id: "c1", name: "t", arguments: {}, namespace: "n" };
  const made = { ...bare, arguments: { canary }, thoughtSignature: canary };
  const by = { role: "assistant", api: "a", provider: "p", model: "m", stopReason: "stop" };
  const result = { role: "toolResult", toolCallId: "c1", toolName: "t", isError: true };
  const shell = { role: "bashExecution", exitCode: 1, cancelled: false, truncated: true };
  const target = { targetId: "e0000000" };
  const message = (before: object, after: object) => [
    { type: "message", message: { ...before, timestamp: 1 } },
    { message: { ...after, timestamp: 1 } },
  ];
  const edit = (content: unknown, kept: unknown) => [
    { type: "context_edit", ...target, replacement: { content } },
    { ...target, replacement: { content: kept } },
  ];
  const part = (before: object, after: object) => [
    { type: "part_update", ...target, index: 1, part: before },
    { ...target, index: 1, part: after },
  ];
  const kept = (type: string, rest: object, gone: object = {}) => [{ type, ...rest, ...gone }, rest];
  const summary = { summary: "[erased]", usage, fromHook: true };
  const table = [
    message({ role: "user", content: [words] }, { role: "user", content: "[erased]" }),
    message({ role: "system", content: canary }, { role: "system", content: "[erased]" }),
    message(
      { ...by, content: [words, made], usage: noted, errorMessage: canary },
      { ...by, content: [erasedText, bare], usage },
    ),
    message({ ...by, content: [made] }, { ...by, content: [bare] }),
    message(
      { ...result, content: [words], details: { canary }, usage: noted },
      { ...result, content: [erasedText], usage },
    ),
    message(
      { ...shell, command: canary, output: canary, fullOutputPath: canary },
      { ...shell, command: "[erased]", output: "" },
    ),
    message(
      { role: "custom", customType: "x", content: canary, display: true, details: canary },
      { role: "custom", customType: "x", content: "[erased]", display: true },
    ),
    kept("thinking_level_change", { thinkingLevel: "high" }, { note: canary }),
    kept("model_change", model, { note: canary }),
    kept(
      "compaction",
      { ...summary, firstKeptEntryId: "e0000000", tokensBefore: 5, strategy: "s", model },
      { summary: canary, details: { canary }, usage: noted, model: { ...model, note: canary } },
    ),
    kept(
      "branch_summary",
      { fromId: "root", ...summary },
      { summary: canary, usage: noted, details: canary },
    ),
    kept("custom", { customType: "x" }, { data: canary }),
    kept(
      "custom_message",
      { customType: "x", content: "[erased]", display: false },
      { content: canary, details: canary },
    ),
    kept("label", target, { label: canary }),
    kept(
      "session_info",
      { archivedAt: "2026-01-01T00:00:00.000Z" },
      { title: canary, share: { url: canary } },
    ),
    kept("usage", { kind: "k", provider: "p", model: "m", usage }, { usage: noted, note: canary }),
    edit(canary, "[erased]"),
    edit([words, made], [erasedText, bare]),
    edit([made], [bare]),
    kept("context_edit", { ...target, replacement: null }, { note: canary }),
    kept("message", { message: { role: "future" } }, { message: { role: "future", text: canary } }),
    kept("future_type", {}, { text: canary }),
    part(words, erasedText),
    part(made, bare),
    [
      { type: "message_update", ...target, message: { role: "user", content: canary, timestamp: 1 } },
      { ...target, message: { role: "user", content: "[erased]", timestamp: 1 } },
    ],
    kept("context_pin", { ...target, pinned: true }, { note: canary }),
    kept("revert", { ...target, partId: "p", undone: true }, { snapshot: canary, diff: canary }),
    kept("resource_view", { resourceId: "r" }, { reason: canary }),
    kept("resource_observation", { resourceId: "r", text: "[erased]" }, { text: canary }),
  ] as unknown as readonly (readonly [object, object])[];
  const entries = table.map(([given], at) => ({
    ...given,
    id: `e00001${String(at).padStart(2, "0")}`,
    parentId: at === 0 ? null : `e00001${String(at - 1).padStart(2, "0")}`,
    timestamp: "2026-01-01T00:00:00.000Z",
  })) as unknown as SessionEntry[];
  const dir = temporaryDirectory();
  const header = { type: "session", version: 3, id: "any", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" };
  const text = [header, ...entries].map((each) => `${JSON.stringify(each)}\n`).join("");
  writeFileSync(join(dir, "any.jsonl"), text);
  const store = fileSessionStore({ dir });
  await eraseEntries(
    store,
    "any",
    entries.map(({ id }) => id),
    { reason },
  );
  const lines = await linesOf(await keep(store.open("any")));
  await eraseEntries(
    store,
    "any",
    entries.map(({ id }) => id),
    { reason: "another" },
  );
  expect(await linesOf(await keep(store.open("any")))).toEqual(lines);
  const bodies = lines.map((line) => {
    const { type: _, id, parentId: _p, timestamp: _t, erased, crc: _c, ...body } = JSON.parse(line);
    expect(erased).toMatchObject({ reason });
    return [id, body];
  });
  expect(bodies).toEqual(table.map(([, body], at) => [entries[at]?.id, body]));
});

test("a body goes also if its line has the length of its tombstone", async () => {
  const store = memorySessionStore();
  let text = "x";
  for (let round = 0; round < 2; round++) {
    const session = await keep(store.create({ cwd: "/work" }));
    await session.append([say(text, "e0000001")]);
    const [line = ""] = await linesOf(session);
    await eraseEntries(store, session, ["e0000001"], { reason });
    const [tombstone = ""] = await linesOf(await keep(store.open(session.id)));
    expect(tombstone).toContain("[erased]");
    if (round === 1) expect(tombstone).toHaveLength(line.length);
    text = "x".repeat(tombstone.length - line.length + 1);
  }
});

test("a fork of an unrelated session that is there stays, even with an equal entry", async () => {
  const store = memorySessionStore({ now: () => Date.UTC(2026, 0, 1) });
  const [session, other] = [
    await keep(store.create({ cwd: "/work" })),
    await keep(store.create({ cwd: "/work" })),
  ];
  for (const each of [session, other]) await each.append([say("the same", "e0000001")]);
  const stranger = await keep(store.fork(other));
  const { sessions } = await eraseEntries(store, session, ["e0000001"], { reason, forks: true });
  expect(sessions.map(({ id }) => id)).toEqual([session.id]);
  expect(await textsOf(await keep(store.open(stranger.id)))).toEqual(["the same"]);
});

test("a session without a parent in the store that cannot be opened is reported", async () => {
  const { backend } = memorySessionStore();
  let unreadable: string | undefined;
  const store: SessionStore = sessionStore({
    ...backend,
    create: (session) => backend.create(session),
    open: async (id, options) => {
      if (id !== unreadable) return backend.open(id, options);
      throw new SessileError("STORAGE_FAILED", "no", { details: { operation: "", path: "", errno: "EIO" } });
    },
    list: (query) => backend.list(query),
    delete: (id, options) => backend.delete(id, options),
  });
  const session = await keep(store.create({ cwd: "/work" }));
  const [first] = await session.append([say(canary)]);
  const fork = await keep(store.fork(session));
  const orphan = await keep(store.fork(fork));
  await store.delete(fork.id);
  unreadable = orphan.id;
  const { sessions, remaining } = await eraseEntries(store, session, [first?.id as string], {
    reason,
    forks: true,
  });
  expect(sessions).toHaveLength(1);
  expect(remaining).toContain(`${orphan.id}, which cannot be read`);
});

test("a session that is deleted while it is read for references keeps no blob, one that fails keeps all", async () => {
  const blobs = memoryBlobStore();
  const store = memorySessionStore();
  const { ref } = await blobs.put(new TextEncoder().encode("bytes"));
  const session = await keep(store.create({ cwd: "/work" }));
  await session.append([say(`see ${ref}`, "e0000001"), say(`see ${ref}`, "e0000002")]);
  const other = await store.create({ cwd: "/work" });
  await other.append([say("hello")]);
  const open = store.backend.open.bind(store.backend);
  const failing = new SessileError("STORAGE_FAILED", "the disk failed", {
    details: { operation: "read", path: "x", errno: "EIO" },
  });
  let isFailing = true;
  store.backend.open = async (id, options) => {
    const log = await open(id, options);
    if (id !== other.id) return log;
    if (isFailing) throw failing;
    await store.backend.delete(id, { partition: "" });
    return log;
  };
  await eraseEntries(store, session, ["e0000001"], { reason });
  const first = await eraseEntries(store, session, ["e0000002"], { reason, blobs });
  expect(first.blobs).toEqual({ deleted: [], kept: [ref] });
  expect(first.remaining.join()).toContain("the disk failed");
  isFailing = false;
  await session.refresh();
  await session.append([say(`see ${ref}`, "e0000003")]);
  const second = await eraseEntries(store, session, ["e0000003"], { reason, blobs });
  expect(second.blobs).toEqual({ deleted: [ref], kept: [] });
});

test("without a list of partitions, blobs that any of them may name stay, and forks there are reported", async () => {
  const blobs = memoryBlobStore();
  const { partitions: _, ...backend } = memorySessionStore().backend;
  const store = sessionStore(backend);
  const { ref } = await blobs.put(new TextEncoder().encode("bytes"));
  await blobs.partition("a").put(new TextEncoder().encode("bytes"));
  for (const partition of ["", "a"]) {
    const session = await keep(store.create({ cwd: "/work", partition }));
    await session.append([say(`see ${ref}`, "e0000001"), say(`see ${ref}`, "e0000002")]);
    const shared = { reason, partition, blobs, forks: true };
    await eraseEntries(store, session, ["e0000001"], { reason, partition });
    const report = await eraseEntries(store, session, ["e0000002"], shared);
    expect(report.blobs).toEqual({ deleted: [], kept: [ref] });
    expect(report.remaining.join("\n")).toMatch(/^forks in other partitions/m);
    expect(report.remaining.join("\n")).toContain("pass `marks`");
    await session.refresh();
    await session.append([say(`see ${ref}`, "e0000003")]);
    const marks = [{ root: "all", refs: [], complete: true }];
    const own = partition === "" ? { ...shared, marks } : { ...shared, blobs: blobs.partition("a") };
    const last = await eraseEntries(store, session, ["e0000003"], own);
    expect(last.blobs).toEqual({ deleted: [ref], kept: [] });
  }
});

test("a store whose backend cannot erase says so at the first attempt", async () => {
  const { backend } = memorySessionStore();
  let writers = 0;
  const store: SessionStore = sessionStore({
    create: (session) => backend.create(session),
    async open(id, options) {
      if (options.mode === "write") writers++;
      const log = await backend.open(id, options);
      return log && (Object.assign(log, { erase: undefined }) as typeof log);
    },
    list: (query) => backend.list(query),
    delete: (id, options) => backend.delete(id, options),
  });
  const session = await keep(store.create({ cwd: "/work" }));
  const [first] = await session.append([say("one")]);
  await expect(eraseEntries(store, session, [first?.id as string], { reason })).rejects.toThrow(
    "this backend cannot erase",
  );
  expect(writers).toBe(1);
});

describe("files", () => {
  test("copies of migrations, cut ends and unfinished files go too", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const session = await store.create({ cwd: "/work" });
    const [first] = await session.append([say(canary)]);
    const path = session.location as string;
    await session.close();
    for (const suffix of [".old-2026-01-01T00-00-00-000Z", ".torn-1", ".tmp-0123"])
      writeFileSync(`${path}${suffix}`, canary);
    writeFileSync(join(dirname(path), "other.txt"), "of somebody else");
    const { sessions, remaining } = await eraseEntries(store, session, [first?.id as string], { reason });
    expect(sessions[0]).toMatchObject({ location: path, removed: { length: 3 } });
    expect(remaining.join("\n")).toContain("forks that a crash cut off");
    expect(filesWithCanary(dir)).toEqual([]);
    expect(readdirSync(dirname(path)).sort()).toEqual([path.split("/").at(-1), "other.txt"].sort());
  });

  test("forks are found by the name of a parent whose directory has moved, and no others", async () => {
    const now = () => Date.UTC(2026, 0, 1);
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir, now });
    const [session, other] = [await store.create({ cwd: "/work" }), await store.create({ cwd: "/work" })];
    for (const each of [session, other]) await each.append([say(canary, "e0000001")]);
    const [fork, stranger] = [await store.fork(session), await store.fork(other)];
    for (const each of [session, other, fork, stranger]) await each.close();
    const moved = join(temporaryDirectory(), "moved");
    renameSync(dir, moved);
    const here = fileSessionStore({ dir: moved, now });
    const { sessions } = await eraseEntries(here, session.id, ["e0000001"], { reason, forks: true });
    expect(sessions.map(({ id }) => id)).toEqual([session.id, fork.id]);
    const left = [other, stranger].map(({ location }) => (location as string).replace(dir, moved));
    expect([...filesWithCanary(moved)].sort()).toEqual(left.sort());
  });

  test("the bytes around an erased line stay, in a file of several chunks too", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir, durability: "os" });
    const session = await store.create({ cwd: "/work" });
    const long = (fill: string) => say(fill.repeat(1_500_000));
    await session.append([long("a"), say(canary, "e0000001"), long("b"), say(canary, "e0000002"), long("c")]);
    await session.close();
    const path = session.location as string;
    mkdirSync(`${path}.old-directory`);
    const before = readFileSync(path, "utf8").split("\n");
    const { sessions } = await eraseEntries(store, session, ["e0000001", "e0000002"], { reason });
    expect(sessions[0]?.removed).toEqual([]);
    const after = readFileSync(path, "utf8").split("\n");
    expect(after).toHaveLength(before.length);
    const changed = after.flatMap((line, at) => (line === before[at] ? [] : [at]));
    expect(changed).toEqual([2, 4]);
    expect(filesWithCanary(dir)).toEqual([]);
  });

  test("an old version is migrated, and its copy goes", async () => {
    const dir = temporaryDirectory();
    const lines = [
      `{"type":"session","id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}`,
      `{"type":"message","timestamp":"","message":{"role":"user","content":"${canary}","timestamp":1}}`,
      `{"type":"message","timestamp":"","message":{"role":"user","content":"two","timestamp":1}}`,
    ];
    const path = join(dir, "old.jsonl");
    writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
    const store = fileSessionStore({ dir });
    const { sessions } = await eraseEntries(store, "old", ["00000001"], { reason });
    expect(sessions[0]?.removed).toEqual([expect.stringContaining("old.jsonl.old-")]);
    expect(filesWithCanary(dir)).toEqual([]);
    expect(await textsOf(await keep(store.open("old")))).toEqual(["[erased]", "two"]);
  });

  test("torn lines, repeated ids and damaged bodies of an entry go too", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const session = await store.create({ cwd: "/work" });
    await session.append([say(canary, "e0000001"), say("two", "e0000002"), say(canary, "e0000003")]);
    const path = session.location as string;
    await session.close();
    const [header, first, second, third] = readFileSync(path, "utf8").split("\n");
    const cut = `${first?.slice(0, -20)}\t`;
    const damaged = third?.replace(`"content":`, `"content"`);
    writeFileSync(path, `${[header, cut, first, second, first, damaged].join("\n")}\n${third?.slice(0, -9)}`);
    const report = await eraseEntries(store, session, ["e0000001", "e0000003"], { reason });
    expect(filesWithCanary(dir)).toEqual([]);
    expect(report.remaining.join("\n")).not.toContain("damaged");
    const again = await keep(store.open(session.id));
    expect((await again.entry("e0000003"))?.type).toBe("unknown");
    expect((await again.tree()).node("e0000003")).toMatchObject({ type: "message", role: "user" });
    expect(await again.entry("e0000002")).toMatchObject({ message: { content: "two" } });
  });

  test("damaged lines are erased as they were, if a log reuses the bytes of its batches", async () => {
    const backend = memoryBackend(Date.now);
    const session = await sessionStore(backend).create({ cwd: "/work" });
    await session.append([say(canary, "e0000001"), say("two", "e0000002")]);
    await session.close();
    const path = { partition: "", mode: "write" } as const;
    const log = (await backend.open(session.id, path)) as SessionLog;
    const lines: string[] = [];
    let end = "" as LogPosition;
    for await (const { lines: read, next } of log.read(undefined)) {
      for (const line of read as readonly Uint8Array[]) lines.push(Buffer.from(line).toString());
      end = next;
    }
    const damaged = `${lines[1]?.slice(0, -20)}\t`;
    await log.append(
      [`${damaged}\n`, `${lines[2]?.replace("e0000002", "e0000004")}\n`].map((line) => Buffer.from(line)),
      end,
    );
    const reused = Buffer.alloc(4096);
    const reusing = (found: SessionLog): SessionLog => {
      const read = found.read.bind(found);
      found.read = async function* (...given): AsyncGenerator<LogBatch> {
        for await (const batch of read(...given))
          for (const [index, line] of (batch.lines as readonly Uint8Array[]).entries()) {
            reused.fill(0x78).set(line);
            yield { ...batch, lines: [reused.subarray(0, line.length)], at: [batch.at[index] as number] };
          }
      };
      return found;
    };
    const store = sessionStore({
      ...backend,
      open: async (id, options) => reusing((await backend.open(id, options)) as SessionLog),
    });
    await eraseEntries(store, session, ["e0000001"], { reason });
    const opened = await keep(sessionStore(backend).open(session.id));
    expect((await opened.tree()).has("e0000004")).toBe(true);
    const stored = (await all(log.read(undefined))).flatMap(({ lines: read }) => read as Uint8Array[]);
    expect(String(Buffer.concat(stored))).not.toContain(canary);
  });

  test("a damaged line whose entry is unknown is reported", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const session = await store.create({ cwd: "/work" });
    await session.append([say("one", "e0000001")]);
    await session.close();
    const path = session.location as string;
    const damaged = `not JSON {"type":"message","id":"e0000001"\n`;
    writeFileSync(path, readFileSync(path, "utf8") + damaged);
    const { remaining } = await eraseEntries(store, session, ["e0000001"], { reason });
    expect(remaining.join("\n")).toContain("1 damaged lines");
    expect(readFileSync(path, "utf8").endsWith(`"}\nnot JSON \n`)).toBe(true);
  });

  test("diagnose and salvage know tombstones", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const session = await store.create({ cwd: "/work" });
    const [first] = await session.append([say(canary), say("two")]);
    const path = session.location as string;
    await session.close();
    await eraseEntries(store, session, [first?.id as string], { reason });
    expect((await diagnoseSession(path)).findings).toEqual([]);
    const to = join(dir, "salvaged.jsonl");
    const { lost } = await salvageSession(path, { to });
    expect(lost).toEqual({ lines: 0, bytes: 0 });
    expect(readFileSync(to)).toEqual(readFileSync(path));
  });

  test("blobs that nothing else names are deleted at once, from the trash too", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir: join(dir, "blobs") });
    const store = fileSessionStore({ dir: join(dir, "sessions"), blobs });
    const session = await keep(store.create({ cwd: "/work" }));
    const image = (text: string) => ({
      type: "image" as const,
      data: Buffer.from(`GIF89a${text.padEnd(2000)}`).toString("base64"),
      mimeType: "image/gif",
    });
    const picture = (text: string, id: string): EntryDraft => ({
      type: "message",
      id,
      message: { ...userMessage("look"), content: [image(text)] },
    });
    await session.append([
      picture(`${canary} one`, "e0000001"),
      picture("two", "e0000002"),
      picture("two", "e0000003"),
    ]);
    const refs = (await all(blobs.list())).map(({ ref }) => ref);
    expect(refs).toHaveLength(2);
    const before = await eraseEntries(store, session, ["e0000001"], { reason, blobs });
    expect(before.blobs?.deleted).toHaveLength(1);
    expect(filesWithCanary(dir)).toEqual([]);
    const shared = await eraseEntries(store, session, ["e0000002"], { reason, blobs });
    expect(shared.blobs).toEqual({ deleted: [], kept: [expect.anything()] });
    const note = expect.stringContaining("blobs of entries that were erased before");
    expect(shared.remaining).not.toContainEqual(note);
    const repeated = await eraseEntries(store, session, ["e0000002"], { reason, blobs });
    expect(repeated.blobs).toEqual({ deleted: [], kept: [] });
    expect(repeated.remaining).toContainEqual(note);
    const last = await eraseEntries(store, session, ["e0000003"], { reason, blobs });
    expect(last.blobs?.deleted).toEqual(shared.blobs?.kept);
    expect(await all(blobs.list())).toEqual([]);
  });

  test("blobs of an erasure that was cut off before them are garbage, which collections delete", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir: join(dir, "blobs") });
    const store = fileSessionStore({ dir: join(dir, "sessions") });
    const session = await keep(store.create({ cwd: "/work" }));
    const { ref } = await blobs.put(new TextEncoder().encode(canary));
    const { ref: other } = await blobs.put(new TextEncoder().encode("another"));
    await session.append([say(`see ${ref}`, "e0000001"), say(`see ${other}`, "e0000002")]);
    // Read after the log is written and before a blob is deleted, where a kill leaves the same files.
    async function* cut(): AsyncGenerator<BlobMark> {
      yield { root: "none", refs: [], complete: true };
      throw new Error("killed");
    }
    const first = eraseEntries(store, session, ["e0000001"], { reason, blobs, marks: cut() });
    await expect(first).rejects.toThrow("killed");
    expect(filesWithCanary(dir)).toHaveLength(1);
    const { blobs: found, remaining } = await eraseEntries(store, session, ["e0000001"], { reason, blobs });
    expect(found).toEqual({ deleted: [], kept: [] });
    expect(remaining).toContainEqual(expect.stringContaining("two collections"));
    const day = 86_400_000;
    const path = session.location as string;
    const marks = [await sessionBlobRoots(path, readFileSync(path))];
    const collect = (days: number) => collectGarbage(blobs, { marks, now: () => fileClock() + days * day });
    // The lease and the time in the trash are the defaults.
    expect((await collect(13)).recent.count).toBe(1);
    expect((await collect(15)).trashed.count).toBe(1);
    expect((await collect(30)).deleted.count).toBe(1);
    expect(filesWithCanary(dir)).toEqual([]);
    expect((await all(blobs.list())).map((each) => each.ref)).toEqual([other]);
  });

  test("a session whose file cannot be listed keeps its blobs, and one that is deleted meanwhile does not", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir: join(dir, "blobs") });
    const store = fileSessionStore({ dir: join(dir, "sessions"), blobs });
    const session = await keep(store.create({ cwd: "/work" }));
    const { ref } = await blobs.put(new TextEncoder().encode("bytes"));
    await session.append([say(`see ${ref}`, "e0000001"), say(`see ${ref}`, "e0000002")]);
    const broken = join(dirname(session.location as string), "broken.jsonl");
    writeFileSync(broken, `not a header\n{"ref":"${ref}"}\n`);
    await eraseEntries(store, session, ["e0000001"], { reason });
    const { blobs: kept, remaining } = await eraseEntries(store, session, ["e0000002"], { reason, blobs });
    expect(kept).toEqual({ deleted: [], kept: [ref] });
    expect(remaining.join("\n")).toContain("broken.jsonl");
    const { ref: other } = await blobs.put(new TextEncoder().encode("others"));
    rmSync(broken);
    await session.refresh();
    await session.append([say(`see ${other}`, "e0000003")]);
    const gone = await keep(store.create({ cwd: "/work" }));
    await gone.append([say(`see ${other}`)]);
    const listeners = countListeners(store);
    const open = store.backend.open.bind(store.backend);
    store.backend.open = async (id, options) => (id === gone.id ? undefined : open(id, options));
    const report = await eraseEntries(store, session, ["e0000003"], { reason, blobs });
    expect(report.blobs).toEqual({ deleted: [other], kept: [] });
    expect(listeners()).toBe(0);
  });

  test("a blob of a store without partitions stays if a session of another partition names it", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir: join(dir, "blobs") });
    const store = fileSessionStore({ dir: join(dir, "sessions") });
    const { ref } = await blobs.put(new TextEncoder().encode(canary));
    const sessions: Session[] = [];
    for (const partition of ["a", "b", ""]) {
      const session = await store.create({ cwd: "/work", partition });
      await session.append([say(`see ${ref}`, "e0000001")]);
      await session.close();
      sessions.push(session);
    }
    for (const [at, partition] of ["a", "b", ""].entries()) {
      const options = { reason, partition, blobs };
      const report = await eraseEntries(store, sessions[at] as Session, ["e0000001"], options);
      expect(report.blobs).toEqual(at < 2 ? { deleted: [], kept: [ref] } : { deleted: [ref], kept: [] });
    }
    expect(filesWithCanary(dir)).toEqual([]);
  });

  test("a blob of a partition goes, whatever other partitions name", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir: join(dir, "blobs") });
    const store = fileSessionStore({ dir: join(dir, "sessions") });
    const { ref } = await blobs.put(new TextEncoder().encode(canary));
    await blobs.partition("a").put(new TextEncoder().encode(canary));
    const other = await keep(store.create({ cwd: "/work" }));
    await other.append([say(`see ${ref}`, "e0000001")]);
    const session = await keep(store.create({ cwd: "/work", partition: "a" }));
    await session.append([say(`see ${ref}`, "e0000001")]);
    const options = { reason, partition: "a", blobs: blobs.partition("a") };
    const report = await eraseEntries(store, session, ["e0000001"], options);
    expect(report.blobs).toEqual({ deleted: [ref], kept: [] });
    expect(filesWithCanary(join(dir, "blobs", "@a"))).toEqual([]);
    expect(await blobs.stat(ref)).toBeDefined();
  });

  test("a damaged blob in quarantine goes too", async () => {
    const dir = temporaryDirectory();
    for (const blobs of [fileBlobStore({ dir }), fileBlobStore({ dir, quota: 1e6 })]) {
      const store = memorySessionStore();
      const session = await keep(store.create({ cwd: "/work" }));
      const { ref } = await blobs.put(new TextEncoder().encode(`${canary} and more`));
      const { ref: other } = await blobs.put(new TextEncoder().encode("of another entry"));
      await session.append([say(`see ${ref}`, "e0000001"), say(`see ${other}`)]);
      const damage = async (each: typeof ref) => {
        const path = (await blobs.locate(each)) as string;
        chmodSync(path, 0o600);
        writeFileSync(path, `${readFileSync(path, "utf8").slice(0, -1)}!`);
        await expect(blobs.get(each)).rejects.toMatchObject({ code: "BLOB_CORRUPT" });
      };
      await damage(ref);
      await damage(other);
      expect(filesWithCanary(dir)).toHaveLength(1);
      const report = await eraseEntries(store, session, ["e0000001"], { reason, blobs });
      expect(report.blobs).toEqual({ deleted: [ref], kept: [] });
      expect(filesWithCanary(dir)).toEqual([]);
      const kept = readdirSync(join(dir, "quarantine"));
      expect(kept).toEqual([expect.stringContaining(other.slice(7))]);
      rmSync(join(dir, "quarantine"), { recursive: true });
    }
  });

  test("copies of the file under its id are erased with the forks", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const session = await store.create({ cwd: "/work" });
    await session.append([say(canary, "e0000001")]);
    await session.close();
    const path = session.location as string;
    writeFileSync(join(dirname(path), "copy.jsonl"), readFileSync(path));
    mkdirSync(join(dir, "--other--"));
    writeFileSync(join(dir, "--other--", basename(path)), readFileSync(path));
    const report = await eraseEntries(store, session, ["e0000001"], { reason, forks: true });
    expect(report.sessions).toHaveLength(3);
    expect(filesWithCanary(dir)).toEqual([]);
  });

  test("a session that cannot be read keeps its blobs", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir: join(dir, "blobs") });
    const store = fileSessionStore({ dir: join(dir, "sessions"), blobs });
    const session = await keep(store.create({ cwd: "/work" }));
    const { ref } = await blobs.put(new TextEncoder().encode("bytes"));
    await session.append([say(`see ${ref}`, "e0000001")]);
    const other = await store.create({ cwd: "/work" });
    await other.append([say("hello")]);
    await other.close();
    const path = other.location as string;
    writeFileSync(path, `${readFileSync(path, "utf8")}not JSON\n`);
    const report = await eraseEntries(store, session, ["e0000001"], { reason, blobs });
    expect(report.blobs).toEqual({ deleted: [], kept: [ref] });
    expect(report.remaining.join("\n")).toContain("INVALID_JSON");
    expect(await blobs.stat(ref)).toBeDefined();
    const erased = await eraseEntries(store, session, ["e0000001"], { reason, blobs, marks: [] });
    expect(erased.blobs).toEqual({ deleted: [], kept: [] });
  });
});

// @covers durability:erased-bytes
test("of any session, no byte of the directory has the erased texts, and all else stays", async () => {
  await fc.assert(
    fc.asyncProperty(
      entryTree({ minLength: 1, maxLength: 12 }).filter((entries) =>
        entries.every(({ id }) => id.length <= 64),
      ),
      fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 4 }),
      async (tree, picks) => {
        const ids = [...new Set(picks.map((at) => (tree[at % tree.length] as SessionEntry).id))];
        const entries = tree.map((entry) =>
          ids.includes(entry.id) && entry.type !== "unknown" ? withCanary(entry) : entry,
        );
        const dir = temporaryDirectory();
        const { text } = sessionOf(entries, { header: { ...plainHeader, id: "any" } });
        writeFileSync(join(dir, "any.jsonl"), text);
        const store = fileSessionStore({ dir });
        const before = await store.open("any");
        const nodes = [...(await before.tree()).walk()].map(({ node }) => node);
        const lines = new Map(
          await Promise.all(nodes.map(async ({ id }) => [id, String(await before.raw(id))] as const)),
        );
        await before.close();
        const { sessions } = await eraseEntries(store, "any", ids, { reason });
        expect(filesWithCanary(dir)).toEqual([]);
        const after = await store.open("any");
        expect([...(await after.tree()).walk()].map(({ node }) => node)).toEqual(nodes);
        for (const { id } of nodes) {
          const isErased = sessions[0]?.erased.includes(id);
          if (!isErased) expect(String(await after.raw(id))).toBe(lines.get(id));
        }
        await after.context();
        await after.close();
        expect(ids.every((id) => sessions[0]?.erased.includes(id))).toBe(true);
      },
    ),
    { numRuns: rounds(60, 2000) },
  );
});

test("an erasure is made again after each append of another writer, and gives up", async () => {
  const { backend } = memorySessionStore();
  let appends = 0;
  let tries = 0;
  const store: SessionStore = sessionStore({
    create: (session) => backend.create(session),
    async open(id, options) {
      const log = await backend.open(id, options);
      const erase = log?.erase?.bind(log);
      if (log === undefined || erase === undefined) return log;
      log.erase = async (...given) => {
        tries++;
        if (appends-- > 0) await other.append([say("meanwhile")], { conflict: "follow" });
        return erase(...given);
      };
      return log;
    },
    list: (query) => backend.list(query),
    delete: (id, options) => backend.delete(id, options),
  });
  const other = await keep(sessionStore(backend).create({ cwd: "/work" }));
  const [first] = await other.append([say(canary), say("two")]);
  appends = 2;
  const { sessions } = await eraseEntries(store, other, [first?.id as string], { reason });
  expect([tries, sessions[0]?.erased]).toEqual([3, [first?.id]]);
  await other.refresh();
  expect(await textsOf(other)).toEqual(["[erased]", "two", "meanwhile", "meanwhile"]);
  [appends, tries] = [Number.POSITIVE_INFINITY, 0];
  const [, second] = await other.path();
  await expect(eraseEntries(store, other, [second?.id as string], { reason })).rejects.toMatchObject({
    code: "CONCURRENT_WRITER",
  });
  expect(tries).toBe(16);
});

test("an erasure among concurrent appends loses none of them", async () => {
  const dir = temporaryDirectory();
  const store = fileSessionStore({ dir });
  const session = await keep(store.create({ cwd: "/work" }));
  const [first] = await session.append([say(canary)]);
  const writers = [0, 1].map(async (writer) => {
    const handle = await fileSessionStore({ dir }).open(session, { mode: "write" });
    for (let n = 0; n < 20; n++) {
      for (;;) {
        try {
          await handle.append([say(`${writer}-${n}`)], { conflict: "follow" });
          break;
        } catch (error) {
          if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
        }
      }
    }
    await handle.close();
  });
  await eraseEntries(store, session, [first?.id as string], { reason });
  await Promise.all(writers);
  const lines = await linesOf(await keep(store.open(session.id)));
  expect(lines).toHaveLength(41);
  expect(new Set(lines).size).toBe(41);
  expect(filesWithCanary(dir)).toEqual([]);
});
