/** Sessions of frameworks after an erasure: they load, without the text, and go on. */

import { eraseEntries, memoryBlobStore, memorySessionStore, type SessionStore } from "sessile";
import { aiSdkChats, appendUIMessages, toUIMessages, type UiMessage } from "sessile/ai-sdk";
import { claudeAgentStore } from "sessile/claude-agent";
import { langgraphCheckpointer } from "sessile/langgraph";
import { openaiAgentsSession } from "sessile/openai-agents";
import { describe, expect, test } from "vitest";
import { bytesWithCanary, canary } from "../support/canary.js";

const reason = "a request";

async function all<T>(source: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

/** The only session of a partition. */
async function onlySession(store: SessionStore, partition: string) {
  for await (const { id } of store.list({ partition })) return store.open(id, { partition });
  throw new Error("there is no session");
}

/** The ids of the entries whose lines have the canary. */
async function idsWithCanary(store: SessionStore, partition: string): Promise<readonly string[]> {
  const session = await onlySession(store, partition);
  const ids: string[] = [];
  for (const { node } of (await session.tree()).walk()) {
    const line = await session.raw(node.id);
    if (line !== undefined && bytesWithCanary(line)) ids.push(node.id);
  }
  return ids;
}

/** Erases entries, then what derives from them. Returns the ids of the derived. */
async function eraseAll(store: SessionStore, partition: string, ids: readonly string[]) {
  const { id } = await onlySession(store, partition);
  const { sessions } = await eraseEntries(store, id, ids, { reason, partition });
  const derived = sessions.flatMap((each) => each.derived.map(({ entryId }) => entryId));
  await eraseEntries(store, id, derived, { reason, partition });
  expect(await idsWithCanary(store, partition)).toEqual([]);
  return derived;
}

describe("chats of the AI SDK", () => {
  const message = (id: string, role: UiMessage["role"], text: string): UiMessage => ({
    ...{ id, role },
    parts: [{ type: "text", text } as UiMessage["parts"][number]],
  });
  const partition = "ai-sdk";

  async function withChat() {
    const sessions = memorySessionStore();
    const chats = aiSdkChats({ sessions, blobs: memoryBlobStore() });
    const said = [message("m1", "user", `My doctor is ${canary}`), message("m2", "assistant", "Noted.")];
    await chats.save({ chatId: "c", messages: said });
    const [first] = await idsWithCanary(sessions, partition).then((ids) =>
      ids.filter((id) => id.startsWith("m/")),
    );
    return { sessions, chats, said, first: first as string };
  }

  test("the title goes with the first message, and the chat loads", async () => {
    const { sessions, chats, first } = await withChat();
    await eraseAll(sessions, partition, [first]);
    for (const each of [chats, aiSdkChats({ sessions })]) {
      const [row] = await all(each.list());
      expect(row).toEqual({ chatId: "c", modified: expect.any(String) });
      expect(await each.load("c")).toEqual([
        message("m1", "user", "[erased]"),
        message("m2", "assistant", "Noted."),
      ]);
    }
    expect(await chats.versions("c", "m1")).toMatchObject([{ message: { id: "m1", role: "user" } }]);
  });

  test("a save of what was loaded writes the new message alone, and no page brings the text back", async () => {
    const { sessions, chats, said, first } = await withChat();
    await eraseAll(sessions, partition, [first]);
    const loaded = await chats.load("c");
    const next = message("m3", "user", "And on Monday?");
    expect(await chats.save({ chatId: "c", messages: [...loaded, next] })).toMatchObject({ written: 1 });
    expect(await chats.save({ chatId: "c", messages: [...loaded, next] })).toMatchObject({ written: 0 });
    // A page from before the erasure.
    const later = message("m4", "assistant", "Nothing.");
    expect(await chats.save({ chatId: "c", messages: [...said, next, later] })).toMatchObject({ written: 1 });
    expect(await chats.load("c")).toEqual([...loaded, next, later]);
    expect(await idsWithCanary(sessions, partition)).toEqual([]);
  });

  test("a copy of the message after an edit of an earlier one goes with it", async () => {
    const { sessions, chats, said } = await withChat();
    const secret = message("m3", "user", `call ${canary}`);
    await chats.save({ chatId: "c", messages: [...said, secret] });
    await chats.save({ chatId: "c", messages: [message("m1", "user", "My doctor is Grey"), secret] });
    const session = await onlySession(sessions, partition);
    const { sessions: done } = await eraseEntries(sessions, session.id, [session.leafId as string], {
      reason,
      partition,
    });
    expect(done[0]?.erased).toHaveLength(2);
    expect((await chats.load("c"))[1]).toEqual(message("m3", "user", "[erased]"));
  });

  test("a chat of which every entry is erased is listed and loads", async () => {
    const sessions = memorySessionStore();
    const chatId = `${"long ".repeat(60)}id`;
    await aiSdkChats({ sessions }).save({ chatId, messages: [message("m1", "user", canary)] });
    const session = await onlySession(sessions, partition);
    await eraseAll(
      sessions,
      partition,
      [...(await session.tree()).walk()].map(({ node }) => node.id),
    );
    const [row] = await all(aiSdkChats({ sessions }).list());
    expect(row?.chatId).toBe(chatId);
    expect(await aiSdkChats({ sessions }).load(chatId)).toEqual([message("m1", "user", "[erased]")]);
  });

  test("the note of a posted message goes with it, and the page keeps its id", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/" });
    const blobs = memoryBlobStore();
    const posted = {
      ...message("m1", "user", "hi"),
      metadata: { about: canary },
      parts: [
        { type: "text", text: "hi", providerMetadata: { acme: { note: canary } } },
        { type: "data-card", data: { number: canary } },
      ],
    };
    await appendUIMessages(session, [posted], { blobs });
    const kept = { ...message("m2", "user", "more"), metadata: { kept: true } };
    await appendUIMessages(session, [posted, kept], { blobs });
    const [first] = [...(await session.tree()).walk()].filter(({ node }) => node.type === "message");
    await eraseAll(sessions, "", [first?.node.id as string]);
    const shown = await toUIMessages(await (await sessions.open(session.id)).path());
    expect(shown).toEqual([message("m1", "user", "[erased]"), kept]);
  });
});

test("OpenAI Agents: items keep their places, and each call has its result", async () => {
  const sessions = memorySessionStore();
  const agent = openaiAgentsSession<object>({ sessions, sessionId: "s" });
  const call = { type: "function_call", callId: "c1", name: "find", status: "completed" };
  const result = { type: "function_call_result", callId: "c1", name: "find", status: "completed" };
  await agent.addItems([
    { type: "message", role: "user", content: [{ type: "input_text", text: canary }] },
    { ...call, arguments: `{"q":"${canary}"}` },
    { ...result, output: { type: "text", text: canary } },
    {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "ok" }],
    },
  ]);
  await eraseAll(sessions, "openai-agents", await idsWithCanary(sessions, "openai-agents"));
  expect(await openaiAgentsSession({ sessions, sessionId: "s" }).getItems()).toEqual([
    { type: "message", role: "user", content: "[erased]" },
    { ...call, arguments: "{}" },
    { ...result, output: { type: "text", text: "[erased]" } },
    {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "ok" }],
    },
  ]);
});

test("Claude Agent SDK: the transcript keeps its chain, and the summary is made anew", async () => {
  const sessions = memorySessionStore();
  const fold = (
    previous: { data: Record<string, unknown> } | undefined,
    key: { sessionId: string },
    entries: readonly unknown[],
  ) => {
    const texts = JSON.stringify([previous?.data ?? null, entries]);
    return { sessionId: key.sessionId, mtime: 0, data: { texts } };
  };
  const store = claudeAgentStore({ sessions, fold: fold as never });
  const key = { projectKey: "-work", sessionId: "6867ccc7" };
  const line = (uuid: string, parentUuid: string | null, message: object) => ({
    ...{ type: "user", uuid, parentUuid, sessionId: "6867ccc7", message },
  });
  const use = { type: "tool_use", id: "t1", name: "Read", input: { path: canary } };
  await store.append(key, [
    line("00000000-0000-4000-8000-000000000001", null, { role: "user", content: canary }),
    {
      ...line("00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000001", {
        ...{ role: "assistant", content: [{ type: "thinking", thinking: canary }, use] },
      }),
      type: "assistant",
    },
  ] as never);
  await store.append(key, [
    line("00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000002", {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t1", content: canary }],
    }),
    { type: "last-prompt", lastPrompt: canary, sessionId: "6867ccc7" },
  ] as never);
  const { partition } = await (async () => {
    for await (const each of sessions.backend.partitions?.() ?? []) return { partition: each };
    throw new Error("there is no partition");
  })();
  const lines = (await idsWithCanary(sessions, partition)).filter((id) => id.startsWith("u/"));
  expect(lines).toHaveLength(3);
  await eraseAll(sessions, partition, lines);
  const again = claudeAgentStore({ sessions, fold: fold as never });
  expect(await again.load(key)).toEqual([
    line("00000000-0000-4000-8000-000000000001", null, { role: "user", content: "[erased]" }),
    {
      ...line("00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000001", {
        ...{ role: "assistant", content: [{ ...use, input: {} }] },
      }),
      type: "assistant",
    },
    line("00000000-0000-4000-8000-000000000003", "00000000-0000-4000-8000-000000000002", {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "t1", content: "[erased]" }],
    }),
    { type: "last-prompt", sessionId: "6867ccc7" },
  ]);
  const [summary] = (await again.listSessionSummaries?.("-work")) ?? [];
  expect(summary?.data.texts).toContain("[erased]");
  expect(summary?.data.texts).not.toContain(canary);
});

test("LangGraph: a thread has its checkpoints, and every value with the text is found", async () => {
  const sessions = memorySessionStore();
  class BaseCheckpointSaver {
    serde = {
      dumpsTyped: async (value: unknown) => ["json", new TextEncoder().encode(JSON.stringify(value))],
      loadsTyped: async (_type: string, data: Uint8Array | string) =>
        JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data)),
    };
  }
  const module = {
    BaseCheckpointSaver,
    WRITES_IDX_MAP: {},
    TASKS: "__tasks__",
    getCheckpointId: (config: { configurable?: { checkpoint_id?: string } }) =>
      config.configurable?.checkpoint_id ?? "",
    copyCheckpoint: (checkpoint: object) => structuredClone(checkpoint),
    maxChannelVersion: Math.max,
  };
  const saver = () => langgraphCheckpointer(module as never, { sessions }) as never as LanggraphLike;
  const config = { configurable: { thread_id: "t" } };
  const human = {
    ...{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"] },
    kwargs: { content: canary, id: "h1", name: canary },
  };
  const tool = {
    ...{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"] },
    kwargs: {
      content: "",
      id: "a1",
      tool_calls: [{ name: "find", args: { q: canary }, id: "c1", type: "tool_call" }],
    },
  };
  const checkpoint = {
    ...{ v: 4, id: "1f0-1", ts: "2026-01-01T00:00:00.000Z" },
    channel_values: { messages: [human, tool], input: { messages: [{ role: "user", content: canary }] } },
    ...{ channel_versions: { messages: 1, input: 1 }, versions_seen: {} },
  };
  const first = saver();
  const put = await first.put(
    config,
    checkpoint,
    { source: "input", step: -1, parents: {} },
    { messages: 1, input: 1 },
  );
  await first.putWrites(
    put,
    [
      ["messages", [human]],
      ["note", canary],
    ],
    "task",
  );
  const found = await idsWithCanary(sessions, "langgraph");
  expect(JSON.stringify(await first.getTuple(config))).toContain(canary);
  // The message alone is requested: the input, the call and the write are reported.
  const session = await onlySession(sessions, "langgraph");
  const lines = await Promise.all(
    found.map(async (id) => [id, String(Buffer.from((await session.raw(id)) ?? []))] as const),
  );
  const message = lines.find(([, line]) => line.includes('"role":"user"'))?.[0] as string;
  expect(await eraseAll(sessions, "langgraph", [message])).toHaveLength(found.length - 1);
  // The one that wrote it too, whose cache has the values.
  expect(JSON.stringify(await first.getTuple(config))).not.toContain(canary);
  const tuple = await saver().getTuple(config);
  expect(tuple?.checkpoint).toEqual({
    ...checkpoint,
    channel_values: {
      messages: [
        { ...human, kwargs: { content: "[erased]", id: "h1" } },
        {
          ...tool,
          kwargs: {
            content: "",
            id: "a1",
            tool_calls: [{ name: "find", args: {}, id: "c1", type: "tool_call" }],
          },
        },
      ],
      input: { messages: [{ role: "user", content: "[erased]" }] },
    },
  });
  expect(tuple?.metadata).toEqual({ source: "input", step: -1, parents: {} });
  expect(tuple?.pendingWrites).toHaveLength(2);
  // A checkpoint that is requested reports its values.
  const ids = (await (await onlySession(sessions, "langgraph")).tree()).children(null);
  expect(ids).toHaveLength(1);
});

interface LanggraphLike {
  put(config: object, checkpoint: object, metadata: object, versions: object): Promise<object>;
  putWrites(config: object, writes: readonly (readonly [string, unknown])[], task: string): Promise<void>;
  getTuple(
    config: object,
  ): Promise<{ checkpoint: object; metadata: object; pendingWrites: readonly unknown[] } | undefined>;
}
