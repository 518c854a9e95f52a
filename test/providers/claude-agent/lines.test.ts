/** Lines of a transcript of Claude Code as messages of a session. */

import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  toolResult,
  userMessage,
} from "sessile";
import { claudeAgentStore } from "sessile/claude-agent";
import { openaiResponses } from "sessile/openai";
import { expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";

const data = Buffer.from(makePng(20, 10)).toString("base64");
const source = { type: "base64", media_type: "image/png", data };
const uuid = (at: number) => `00000000-0000-4000-8000-00000000000${at}`;
const line = (at: number, type: string, message: object, more: object = {}) => ({
  parentUuid: at === 1 ? null : uuid(at - 1),
  ...{
    isSidechain: false,
    userType: "external",
    cwd: "/work",
    sessionId: "s",
    version: "2.1.0",
    gitBranch: "main",
  },
  ...{ type, message },
  ...{ uuid: uuid(at), timestamp: "2026-11-01T10:00:00.000Z", ...more },
});
const usage = {
  input_tokens: 10,
  cache_creation_input_tokens: 5,
  cache_read_input_tokens: 2,
  output_tokens: 3,
};
const reply = (content: object, stop_reason: string | null) => {
  const own = { model: "claude-opus-5-5", id: "msg_1", type: "message", role: "assistant" };
  return {
    ...own,
    content: [content],
    stop_reason,
    stop_sequence: null,
    usage: { ...usage, service_tier: "standard" },
  };
};
const lines = [
  { type: "file-history-snapshot", messageId: uuid(1), snapshot: {} },
  line(1, "user", { role: "user", content: "What is in the picture?" }),
  line(2, "assistant", reply({ type: "thinking", thinking: "I read it.", signature: "sig" }, null), {
    requestId: "r",
  }),
  line(
    3,
    "assistant",
    reply({ type: "tool_use", id: "t1", name: "Read", input: { path: "a.png" } }, "tool_use"),
  ),
  line(
    4,
    "user",
    {
      role: "user",
      content: [{ tool_use_id: "t1", type: "tool_result", content: [{ type: "image", source }] }],
    },
    { toolUseResult: { type: "image", file: { base64: data, originalSize: 70 } } },
  ),
  line(5, "user", { role: "user", content: "A caveat of the program." }, { isMeta: true }),
  line(6, "assistant", reply({ type: "text", text: "A red square." }, "end_turn")),
  { type: "summary", summary: "A picture", leafUuid: uuid(6) },
];
const key = { projectKey: "-work", sessionId: "6867ccc7" };

async function open() {
  const stores = { sessions: memorySessionStore(), blobs: memoryBlobStore() };
  const store = claudeAgentStore(stores);
  const session = async (): Promise<Session> => {
    for await (const partition of stores.sessions.backend.partitions?.() ?? [])
      for await (const { id } of stores.sessions.list({ partition }))
        return stores.sessions.open(id, { partition, mode: "write" });
    throw new Error("there is no session");
  };
  return { ...stores, store, session };
}

it("lines with a message are messages, with the tools of results of an earlier append, and come back as they were", async () => {
  const { store, blobs, session } = await open();
  for (const each of lines) await store.append(key, [each]);
  expect(JSON.stringify(await store.load(key))).toBe(JSON.stringify(lines));
  const context = await (await session()).context();
  const messages = context.items.map(({ message }) => message);
  expect(messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "assistant",
    "toolResult",
    "custom",
    "assistant",
  ]);
  expect(messages[3]).toMatchObject({ toolName: "Read", toolCallId: "t1" });
  expect(messages[4]).toMatchObject({ display: false });
  // A reply is several lines, each with the counts of all of it: those of the last one count.
  expect(messages.map((message) => "usage" in message && message.usage !== undefined)).toEqual([
    false,
    false,
    true,
    false,
    false,
    true,
  ]);
  const { value } = await project(context, openaiResponses({ model: "gpt-5.5" }), { blobs });
  expect(JSON.stringify(value)).toContain(data.slice(-60));
  let stored = 0;
  for await (const { size } of blobs.list()) stored += size;
  expect(stored).toBe(makePng(20, 10).length);
});

it("messages of other writers are lines of the chain, which the program goes on from", async () => {
  const { store, session } = await open();
  await store.append(key, lines);
  const other = await session();
  await other.appendMessage(userMessage("And in the other one?"));
  await other.close();
  const loaded = await store.load(key);
  expect(loaded?.slice(0, -1)).toEqual(lines);
  const added = loaded?.at(-1);
  expect(added).toEqual({
    ...{ parentUuid: uuid(6), isSidechain: false, userType: "external", cwd: "/work", sessionId: "6867ccc7" },
    ...{ type: "user", message: { role: "user", content: "And in the other one?" } },
    ...{ uuid: expect.stringMatching(/^[0-9a-f-]{36}$/), timestamp: expect.stringContaining("T") },
  });
  expect((await store.load(key))?.at(-1)).toEqual(added);
  // The program follows the uuids.
  const next = { ...line(7, "user", { role: "user", content: "Go on." }), parentUuid: added?.uuid };
  await store.append(key, [next]);
  expect(await store.load(key)).toEqual([...lines, added, next]);
});

it("what others said has what the API takes: own ids, results in one line, no blank text, no other reasoning", async () => {
  const { store, session } = await open();
  await store.append(key, lines.slice(0, 2));
  const other = await session();
  const model = { provider: "google", model: "gemini-3-pro" };
  const call = (id: string) => ({ type: "toolCall", id, name: "find", arguments: {} }) as const;
  const thought = { type: "thinking", thinking: "Hm.", thinkingSignature: "foreign" } as const;
  await other.append([
    {
      type: "message",
      message: assistantMessage(model, thought, { type: "text", text: " " }, call("a:0"), call("b:0")),
    },
    { type: "message", message: toolResult(call("a:0"), "one") },
    { type: "message", message: { ...toolResult(call("b:0"), "two"), isError: true } },
    { type: "message", message: assistantMessage(model, thought) },
    { type: "message", message: assistantMessage(model, "Both.") },
    { type: "message", message: userMessage(" ") },
    {
      type: "message",
      message: {
        role: "bashExecution",
        command: "ls",
        output: "a",
        exitCode: 0,
        cancelled: false,
        truncated: false,
        timestamp: 1,
      },
    },
  ]);
  await other.close();
  const added = (await store.load(key))?.slice(2) ?? [];
  const messages = added.map(
    ({ message }) => message as { id?: string; content: unknown; stop_reason?: string },
  );
  const use = (id: string) => ({ type: "tool_use", id, name: "find", input: {} });
  expect(messages.map(({ content }) => content)).toEqual([
    [use("a_0"), use("b_0")],
    [
      { tool_use_id: "a_0", type: "tool_result", content: "one" },
      { tool_use_id: "b_0", type: "tool_result", content: "two", is_error: true },
    ],
    [{ type: "text", text: "Both." }],
    "$ ls\na",
  ]);
  const ids = messages.flatMap(({ id }) => id ?? []);
  expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
  expect(messages.map(({ stop_reason }) => stop_reason)).toEqual([
    "tool_use",
    undefined,
    "end_turn",
    undefined,
  ]);
  expect(added.map(({ parentUuid }) => parentUuid)).toEqual([
    uuid(1),
    ...added.slice(0, -1).map((each) => each.uuid),
  ]);
});
