/** What an erasure reaches: the entries that are erased with others, and those that it reports. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  assistantMessage,
  type EntryDraft,
  eraseEntries,
  memorySessionStore,
  type Session,
  type SessionStore,
  type ToolCall,
  toolResult,
  userMessage,
} from "sessile";
import { fileSessionStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { canary, filesWithCanary } from "../support/canary.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

const reason = "a request";
const say = (text: string, id: string): EntryDraft => ({ type: "message", message: userMessage(text), id });
const reply = (id: string, ...calls: readonly ToolCall[]): EntryDraft => ({
  ...{ type: "message", message: assistantMessage({ provider: "p", model: "m" }, canary, ...calls), id },
});
const call = (id: string): ToolCall => ({ type: "toolCall", id, name: "read", arguments: { path: canary } });
const res = (digit: number) => `res_${String(digit).repeat(16)}`;
const resource = (digit: number) => ({
  ...{ resourceId: res(digit), kind: "link" as const, uri: `https://a.example/${digit}`, source: "link" },
});
const withResource = (id: string, digit: number): EntryDraft => ({
  type: "message",
  id,
  message: {
    ...userMessage("look"),
    content: [{ type: "text", text: "a", resource: resource(digit) } as never],
  },
});

async function start(...drafts: readonly EntryDraft[]): Promise<{ store: SessionStore; session: Session }> {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/work" });
  await session.append([say("start", "start"), ...drafts]);
  return { store, session };
}

/** The ids of entries that are erased, and the derived ones as `kind id < from`. */
async function erase(
  { store, session }: { store: SessionStore; session: Session },
  ...ids: readonly string[]
) {
  const { sessions } = await eraseEntries(store, session, ids, { reason });
  const [{ erased = [], derived = [] } = {}] = sessions;
  return {
    erased: erased.filter((id) => !ids.includes(id)),
    derived: derived.map(({ kind, entryId, from }) => `${kind} ${entryId} < ${from.join()}`),
  };
}

describe("with an entry are erased", () => {
  test("edits, updates, labels and names of leaves, and what is of those in turn", async () => {
    const opened = await start(
      say(canary, "a"),
      { type: "context_edit", targetId: "a", replacement: { content: canary }, id: "edit" },
      { type: "message_update", targetId: "a", message: userMessage(canary), id: "update" },
      { type: "label", targetId: "update", label: canary, id: "label" },
      { type: "label", targetId: "label", label: canary, id: "label2" },
      reply("b"),
      { type: "part_update", targetId: "b", index: 0, part: { type: "text", text: canary }, id: "part" },
      { type: "leaf", targetId: "b", name: canary, id: "leaf" },
    );
    expect(await erase(opened, "a")).toEqual({ erased: ["edit", "update", "label", "label2"], derived: [] });
    expect(await erase(opened, "b")).toEqual({ erased: ["part", "leaf"], derived: [] });
    await opened.session.refresh();
    for (const { node } of (await opened.session.tree()).walk())
      expect(String(Buffer.from((await opened.session.raw(node.id)) ?? []))).not.toContain(canary);
  });

  test("none without a text: a cleared label, a leaf without a name, an edit that omits, a pin", async () => {
    const opened = await start(
      say(canary, "a"),
      { type: "label", targetId: "a", id: "l1" },
      { type: "label", targetId: "a", label: "", id: "l2" },
      { type: "context_edit", targetId: "a", replacement: null, id: "edit" },
      { type: "context_pin", targetId: "a", pinned: true, id: "pin" },
      { type: "leaf", targetId: "a", id: "leaf" },
    );
    expect(await erase(opened, "a")).toEqual({ erased: [], derived: [] });
  });

  test("views of its attachments, and those that its own call asked for", async () => {
    const opened = await start(
      withResource("a", 1),
      withResource("b", 2),
      reply("asked", call("c1")),
      { type: "message", message: toolResult(call("c1"), "shown"), id: "result" },
      { type: "resource_view", resourceId: res(1), reason: canary, id: "view1" },
      say("more", "more"),
      reply("again"),
      { type: "resource_view", resourceId: res(2), reason: canary, id: "view2" },
      { type: "resource_view", resourceId: res(1), id: "view3" },
    );
    expect(await erase(opened, "b")).toEqual({ erased: ["view2"], derived: [] });
    expect((await erase(opened, "asked")).erased).toEqual(["view1"]);
    expect((await erase(opened, "a")).erased).toEqual(["view1"]);
    expect((await erase(opened, "start")).erased).toEqual([]);
  });

  test("the note of the message or reply that it is a part of, and no other", async () => {
    const note = (entryId: string, id: string): EntryDraft => ({
      ...{ type: "custom", customType: "sessile.ai-sdk.ui", id },
      data: { messageId: `page-${entryId}`, entryId, metadata: { canary } },
    });
    const opened = await start(
      ...[note("u1", "n1"), say("u1", "u1"), say("u2", "u2"), note("r1", "n2"), reply("r1", call("c1"))],
      { type: "message", message: toolResult(call("c1"), "x"), id: "r2" },
      ...[{ type: "label", targetId: "u2", label: canary, id: "l1" } as const, reply("r3"), say("u3", "u3")],
    );
    expect((await erase(opened, "r3")).erased).toEqual(["n2"]);
    expect((await erase(opened, "u3")).erased).toEqual([]);
    expect((await erase(opened, "u2")).erased).toEqual(["l1"]);
    expect((await erase(opened, "r2")).erased).toEqual(["n2"]);
    expect((await erase(opened, "u1")).erased).toEqual(["n1"]);
  });

  test("names with the first message alone, and no rule or time of archiving", async () => {
    const opened = await start(say("second", "b"));
    await opened.session.append([
      {
        type: "session_info",
        title: canary,
        permission: [{ permission: "p", pattern: "*", action: "deny" }],
        id: "info",
      },
      { type: "session_info", name: null, title: null, id: "bare" },
    ]);
    expect(await erase(opened, "b")).toEqual({ erased: [], derived: [] });
    expect((await erase(opened, "start")).erased).toEqual(["info"]);
    const info = await (await opened.store.open(opened.session.id)).entry("info");
    expect(info).toMatchObject({ permission: [{ action: "deny" }] });
    expect(info).not.toHaveProperty("title");
  });
});

describe("of an entry derive", () => {
  test("results of its calls, and observations on attachments of both", async () => {
    const result = toolResult(call("c1"), "x");
    const opened = await start(
      reply("a", call("c1"), call("c2")),
      {
        ...{ type: "message", id: "r1" },
        message: { ...result, content: [{ type: "text", text: "a", resource: resource(1) } as never] },
      },
      { type: "message", message: toolResult(call("c2"), "x"), id: "r2" },
      { type: "resource_observation", resourceId: res(1), text: canary, id: "o1" },
      { type: "resource_observation", resourceId: res(2), text: "of another", id: "o2" },
    );
    expect((await erase(opened, "r1")).derived).toEqual(["observation o1 < r1"]);
    expect((await erase(opened, "a")).derived).toEqual(["tool_result r2 < a"]);
  });

  test("a summary that covers a result of its call, although not the call", async () => {
    const opened = await start(reply("a", call("c1")), {
      type: "message",
      message: toolResult(call("c1"), canary),
      id: "r1",
    });
    await opened.session.branch("a");
    await opened.session.append([
      { type: "branch_summary", fromId: "r1", summary: canary, id: "summary" },
      { type: "custom", customType: "acme.note", data: { of: ["summary", "nothing"] }, id: "note" },
      { type: "custom", customType: "acme.note", data: { of: "start" }, id: "other" },
    ]);
    expect((await erase(opened, "a")).derived).toEqual([
      "tool_result r1 < a",
      "branch_summary summary < a",
      "custom note < a",
    ]);
  });

  test("reverts, memory and imports; not what is before it or on another branch", async () => {
    const memory = (id: string): EntryDraft => ({
      ...{ type: "custom", customType: "sessile.memory", data: { label: "x", text: "y" }, id },
    });
    const opened = await start(
      memory("m1"),
      say("a", "a"),
      memory("m2"),
      { type: "revert", targetId: "a", diff: canary, id: "revert" },
      { type: "custom", customType: "sessile.queued", data: { text: "q" }, id: "queued" },
      { type: "custom", customType: "sessile.api_error", data: { text: "q" }, id: "error" },
    );
    await opened.session.branch("m1");
    await opened.session.append([memory("m3")]);
    expect((await erase(opened, "a")).derived).toEqual([
      "memory m2 < a",
      "revert revert < a",
      "import queued < a",
    ]);
    expect((await erase(opened, "error")).derived).toEqual(["import queued < error"]);
  });

  test("a compaction of what it covers, and of the instructions that it repeats", async () => {
    const system: EntryDraft = {
      type: "message",
      message: { role: "system", content: canary, timestamp: 1 },
      id: "sys",
    };
    const compaction = (id: string, firstKeptEntryId: string): EntryDraft => ({
      ...{ type: "compaction", summary: "s", firstKeptEntryId, tokensBefore: 1, id },
    });
    const opened = await start(
      ...[say("a", "a"), say("b", "b"), system, compaction("c1", "b"), compaction("c2", "c2"), say("z", "z")],
    );
    expect((await erase(opened, "b")).derived).toEqual(["compaction c2 < b"]);
    expect((await erase(opened, "a", "sys")).derived).toEqual([
      "compaction c1 < a,sys",
      "compaction c2 < a,sys",
    ]);
    expect((await erase(opened, "z")).derived).toEqual([]);
  });

  test("values that a checkpoint has, and adapters' entries with the same text", async () => {
    const own = (name: string, data: unknown, id: string): EntryDraft => ({
      ...{ type: "custom", customType: `sessile.${name}`, data, id },
    });
    const value = (text: string) => ({ type: "json", value: { v: { content: text } } });
    const said = `a text of ${canary}`;
    const opened = await start(
      own("langgraph.value", value(said), "v1"),
      own("langgraph.value", value(`They said: ${said}!`), "v2"),
      own("langgraph.value", value(`of ${canary}`), "v3"),
      own("langgraph.value", value("another text of them"), "v4"),
      own("langgraph.checkpoint", { head: "v4", metadata: "v3", values: [["messages", "v1"]] }, "c"),
      own("langgraph.write", { channel: "messages", value: "v2" }, "w"),
    );
    expect((await erase(opened, "c")).derived).toEqual(["copy v1 < c", "copy v3 < c"]);
    expect((await erase(opened, "w")).derived).toEqual(["copy v2 < w"]);
    expect((await erase(opened, "v1")).derived).toEqual(["copy v2 < v1", "copy v3 < v1"]);
  });
});

test("a session that an erased call started is named", async () => {
  const subagent = (toolCallId: string, sessionId: string): EntryDraft => ({
    ...{ type: "custom", customType: "sessile.subagent", data: { toolCallId, sessionId } },
  });
  const { store, session } = await start(
    ...[reply("a", call("c1")), subagent("c1", "child"), reply("b", call("c2")), subagent("c2", "another")],
  );
  const { remaining } = await eraseEntries(store, session, ["a"], { reason });
  expect(remaining).toContain("session child, which an erased call started");
  expect(remaining.join("\n")).not.toContain("another");
});

test("lines of a transcript that name an erased one, or have its text, derive", async () => {
  const uuid = (digit: number) => `00000000-0000-4000-8000-00000000000${digit}`;
  const line = (value: object, id: string): EntryDraft => ({
    ...{ type: "custom", customType: "sessile.value", data: { of: "claude-agent", value: { v: value } }, id },
  });
  const user = (digit: number, content: unknown, parent: string | null) =>
    line({ type: "user", uuid: uuid(digit), parentUuid: parent, message: { content } }, `u/${uuid(digit)}`);
  const summary = (id: string): EntryDraft => ({
    ...{ type: "custom", customType: "sessile.claude-agent.summary", data: { summary: { v: {} } }, id },
  });
  const said = `a text of ${canary}`;
  const opened = await start(
    ...[summary("s0"), user(1, said, null), summary("s1"), user(2, "more", uuid(1)), summary("s2")],
    line({ type: "summary", summary: canary, leafUuid: uuid(1) }, "named"),
    line({ type: "last-prompt", lastPrompt: said }, "quoted"),
    line({ type: "last-prompt", lastPrompt: "more of another" }, "other"),
  );
  expect(await erase(opened, `u/${uuid(2)}`)).toEqual({ erased: ["s2"], derived: [] });
  expect(await erase(opened, `u/${uuid(1)}`)).toEqual({
    erased: ["s1", "s2"],
    derived: [`custom named < u/${uuid(1)}`, `copy quoted < u/${uuid(1)}`],
  });
});

describe("by forks", () => {
  const kinds = {
    memory: () => memorySessionStore(),
    files: () => fileSessionStore({ dir: temporaryDirectory() }),
  };

  test.each(Object.entries(kinds))(
    "the sessions above and beside it are erased, in %s",
    async (_kind, make) => {
      const store = make();
      const top = await store.create({ cwd: "/work", id: "top" });
      await top.append([say(canary, "a"), say("b", "b")]);
      await store.fork("top", { id: "middle" });
      await store.fork("middle", { id: "low" });
      await store.fork("top", { id: "beside" });
      await store.fork("low", { id: "below" });
      const other = await store.create({ cwd: "/work", id: "other" });
      await other.append([say("b", "b")]);
      const named = await eraseEntries(store, "low", ["b"], { reason });
      expect(named.remaining.join("\n")).toMatch(/session \S*middle\S*, if this one is its fork/);
      expect(named.sessions).toHaveLength(1);
      const { sessions, remaining } = await eraseEntries(store, "low", ["a"], { reason, forks: true });
      expect(sessions.map(({ id, erased }) => [id, erased[0]]).slice(0, 2)).toEqual([
        ["low", "a"],
        ["below", "a"],
      ]);
      expect(sessions.map(({ id }) => id).sort()).toEqual(["below", "beside", "low", "middle", "top"]);
      expect(remaining.join("\n")).not.toContain("of which it is a fork");
    },
  );

  test("a session above that the store does not have is named", async () => {
    const store = memorySessionStore();
    const top = await store.create({ cwd: "/work", id: "top" });
    await top.append([say(canary, "a")]);
    await store.fork("top", { id: "low" });
    await store.fork("top", { id: "beside" });
    await store.delete("top");
    const { sessions, remaining } = await eraseEntries(store, "low", ["a"], { reason, forks: true });
    expect(sessions.map(({ id }) => id)).toEqual(["low", "beside"]);
    expect(remaining).toContain("session top, of which it is a fork and which this store does not list");
  });
});

describe("bytes that no entry owns", () => {
  const header = {
    type: "session",
    version: 3,
    id: "s",
    timestamp: "2026-01-01T00:00:00.000Z",
    cwd: "/",
    sessile: 1,
  };
  const secret = `my number is ${canary}`;
  const line = (id: string, text: string, parentId: string | null = null) =>
    JSON.stringify({
      ...{ type: "message", id, parentId, timestamp: "2026-01-01T00:00:00.000Z" },
      message: { role: "user", content: [{ type: "text", text }], timestamp: 1 },
    });
  const whole = line("a", secret);
  const next = line("b", "the next line", "a");
  const cutAt = (text: string, end: string) => text.slice(0, text.indexOf(end) + end.length);

  async function erased(...lines: readonly string[]) {
    const dir = temporaryDirectory();
    const path = join(dir, "p", "s.jsonl");
    mkdirSync(dirname(path));
    writeFileSync(path, [JSON.stringify(header), ...lines].join("\n"));
    const { remaining, sessions } = await eraseEntries(fileSessionStore({ dir }), "s", ["a"], { reason });
    const counted = remaining.find((each) => each.includes("damaged lines"));
    const after = readFileSync(path, "utf8").split("\n").slice(1);
    return { dir, after, counted: Number(counted?.split(" ")[0] ?? 0), erased: sessions[0]?.erased };
  }

  test.each([
    [
      "the torn first attempt of a line, under another id",
      [`${cutAt(line("x", secret), canary)}\t`, whole, next, ""],
    ],
    ["a torn line that ends with a brace", [`${cutAt(line("x", secret), '"}')}\t`, whole, next, ""]],
    ["a tail", [whole, next, cutAt(line("x", secret), canary)]],
    ["the end of a line", [whole, next, `${secret.slice(5)}"}],"timestamp":1}}`, ""]],
    ["NULs and a piece", [whole, next, `\0\0\0\0${secret}`, ""]],
    ["JSON that is no entry", [whole, next, JSON.stringify({ note: secret }), ""]],
  ])("%s is cut out", async (_name, lines) => {
    const { dir, after, counted, erased: ids } = await erased(...lines);
    expect(filesWithCanary(dir)).toEqual([]);
    expect(after).toContain(next);
    expect([counted, ids]).toEqual([0, ["a"]]);
  });

  test("of joined lines the others stay, byte for byte", async () => {
    const torn = cutAt(line("x", secret), canary);
    const other = line("c", "a third line", "b");
    const { dir, after, counted } = await erased(whole, `${torn}${next}`, `${other}${whole}`, "");
    expect(filesWithCanary(dir)).toEqual([]);
    expect(after[1]).toBe(next);
    expect(after[2]).toMatch(/^.*a third line.*\{"type":"message","id":"a".*\[erased\].*$/);
    expect(after[2]?.startsWith(other)).toBe(true);
    expect(counted).toBe(0);
  });

  test("an entry of the tree whose body is damaged becomes a tombstone", async () => {
    const damaged = line("x", secret, "b").replace('"content":', '"content"');
    const { dir, after, erased: ids } = await erased(whole, next, damaged, "");
    expect(filesWithCanary(dir)).toEqual([]);
    expect(ids).toEqual(["a", "x"]);
    expect(JSON.parse(after[2] as string)).toMatchObject({ type: "message", id: "x", parentId: "b" });
  });

  test("a requested entry whose body is damaged is looked for in other pieces", async () => {
    const damaged = whole.replace('"content":', '"content"');
    const { dir, after } = await erased(damaged, next, `${cutAt(line("x", secret), canary)}\t`, "");
    expect(filesWithCanary(dir)).toEqual([]);
    expect(after).toHaveLength(4);
  });

  test("a value within a torn line is no piece of the entry that it is a copy of", async () => {
    const torn = `{"type":"custom","id":"x","parentId":"b","data":[{"type":"message","id":"a","note":"no`;
    const { after, counted } = await erased(whole, next, torn, "");
    expect([after[2], counted]).toEqual([torn, 1]);
  });

  test("those without the text stay, and are counted", async () => {
    const lines = [`${cutAt(line("x", "of something else"), "else")}\t`, "not JSON", "\0\0"];
    const { after, counted } = await erased(whole, next, ...lines, "");
    expect(after.slice(2, 5)).toEqual(lines);
    expect(counted).toBe(2);
  });
});
