/** What frameworks save is one kind of session: a thread of LangGraph goes on in `useChat`, and then in Claude Code. */

import { memoryBlobStore, memorySessionStore, project, type Session } from "sessile";
import { aiSdkChats, type UiMessage } from "sessile/ai-sdk";
import { anthropicMessages } from "sessile/anthropic";
import { claudeAgentStore } from "sessile/claude-agent";
import { claudeCode } from "sessile/claude-code";
import { exportSession } from "sessile/interop";
import { langgraphCheckpointer } from "sessile/langgraph";
import { expect, it } from "vitest";
import { makePng } from "../../examples/apps/support/make-media.js";

const image = `data:image/png;base64,${Buffer.from(makePng(20, 10)).toString("base64")}`;

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

interface Saver {
  put(config: object, checkpoint: object, metadata: object, versions: object): Promise<object>;
  putWrites(config: object, writes: readonly (readonly [string, unknown])[], task: string): Promise<void>;
  getTuple(config: object): Promise<{ checkpoint: { channel_values: { messages: unknown } } } | undefined>;
}

const of = (name: string, kwargs: object) => {
  return { lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs };
};
const human = of("HumanMessage", {
  content: [
    { type: "text", text: "Which tower is this?" },
    { type: "image_url", image_url: { url: image } },
  ],
  id: "h1",
  additional_kwargs: {},
  response_metadata: {},
});
const ai = of("AIMessage", {
  content: "I look.",
  id: "a1",
  tool_calls: [{ name: "find", args: { q: "tower" }, id: "c1", type: "tool_call" }],
  additional_kwargs: {},
  usage_metadata: { input_tokens: 4, output_tokens: 2, total_tokens: 6 },
});
const tool = of("ToolMessage", {
  status: "success",
  content: "Torre",
  tool_call_id: "c1",
  name: "find",
  id: "t1",
});
const answer = of("AIMessage", { content: "The Torre in Pisa.", id: "a2", tool_calls: [] });
const other = of("AIMessage", { content: "No idea.", id: "a3", tool_calls: [] });

function open() {
  const stores = { sessions: memorySessionStore(), blobs: memoryBlobStore() };
  const saver = () => langgraphCheckpointer(module as never, stores) as never as Saver;
  let step = 0;
  const put = async (saver: Saver, config: object, messages: readonly object[]) => {
    const id = `1f0-${String(++step).padStart(4, "0")}`;
    const checkpoint = {
      ...{ v: 4, id, ts: "2026-01-01T00:00:00.000Z", channel_values: { messages, count: step } },
      ...{ channel_versions: { messages: step, count: step }, versions_seen: {} },
    };
    return saver.put(
      config,
      checkpoint,
      { source: "loop", step, parents: {} },
      { messages: step, count: step },
    );
  };
  return { ...stores, saver, put };
}

const partition = "langgraph";
const thread = { configurable: { thread_id: "t" } };

async function words(session: Session): Promise<readonly string[]> {
  const { items } = await session.context();
  return items.map(
    ({ message }) => /Torre in|No idea|Which|I look|Torre/.exec(JSON.stringify(message))?.[0] ?? "",
  );
}

it("the messages of a thread are those of its session, also on a branch and after a removal", async () => {
  const { sessions, saver, put } = open();
  const first = saver();
  const one = await put(first, thread, [human]);
  await first.putWrites(one, [["messages", [ai]]], "task");
  const two = await put(first, one, [human, ai]);
  const three = await put(first, two, [human, ai, tool, answer]);
  const session = () => sessions.open("t", { partition });
  expect(await words(await session())).toEqual(["Which", "I look", "Torre", "Torre in"]);
  const loaded = async (config: object) =>
    (await saver().getTuple(config))?.checkpoint.channel_values.messages;
  expect(JSON.stringify(await loaded(three))).toBe(JSON.stringify([human, ai, tool, answer]));
  // A branch from the first checkpoint has messages of the other one again.
  const branch = await put(saver(), one, [human, tool, other]);
  expect(await words(await session())).toEqual(["Which", "Torre", "No idea"]);
  expect(await loaded(branch)).toEqual([human, tool, other]);
  // A list without a message that its parent has, and then with it again.
  const shorter = await put(saver(), branch, [human, other]);
  expect(await words(await session())).toEqual(["Which", "No idea"]);
  const again = await put(saver(), shorter, [human, other, tool]);
  expect(await words(await session())).toEqual(["Which", "No idea", "Torre"]);
  expect(await loaded(again)).toEqual([human, other, tool]);
  expect(await loaded(three)).toEqual([human, ai, tool, answer]);
});

it("one history goes from LangGraph to useChat to Claude Code, with its image", async () => {
  const { sessions, blobs, saver, put } = open();
  await put(saver(), thread, [human, ai, tool, answer]);
  // The chat is the same session: useChat opens what LangGraph wrote.
  const chats = aiSdkChats({ sessions, blobs, partition });
  const shown = await chats.load("t");
  expect(shown.map(({ role, parts }) => [role, parts.map(({ type }) => type).join()])).toEqual([
    ["user", "text,file"],
    ["assistant", "step-start,text,tool-find,step-start,text"],
  ]);
  expect(shown[0]?.parts[1]).toMatchObject({ url: image, mediaType: "image/png" });
  const next = {
    id: "u2",
    role: "user",
    parts: [{ type: "text", text: "And how high?" } as UiMessage["parts"][number]],
  } as UiMessage;
  expect(await chats.save({ chatId: "t", messages: [...shown, next] })).toMatchObject({ written: 1 });
  await chats.close();

  const session = await sessions.open("t", { partition });
  const { value } = await project(await session.context(), anthropicMessages({ model: "claude-opus-5-5" }), {
    blobs,
  });
  expect(JSON.stringify(value)).toContain(image.slice(-60));
  // To Claude Code: its transcript, in the store that the Claude Agent SDK resumes from.
  const { files } = await exportSession(session, { to: claudeCode, blobs });
  const transcript = files.find(({ path }) => path.endsWith(".jsonl"));
  const lines = new TextDecoder()
    .decode(transcript?.bytes as Uint8Array)
    .split("\n")
    .filter(Boolean);
  const entries = lines.map((line) => JSON.parse(line) as { type: string });
  const store = claudeAgentStore({ sessions, blobs });
  const key = { projectKey: "-work", sessionId: "6867ccc7-0000-4000-8000-000000000000" };
  await store.append(key, entries);
  expect(await store.load(key)).toEqual(entries);
  await store.close();
  for await (const at of sessions.backend.partitions?.() ?? []) {
    if (!at.includes("claude")) continue;
    for await (const { id } of sessions.list({ partition: at })) {
      const claude = await sessions.open(id, { partition: at });
      const roles = (await claude.context()).items.map(({ message }) => message.role);
      expect(roles).toEqual(["user", "assistant", "toolResult", "assistant", "user"]);
    }
  }
});
