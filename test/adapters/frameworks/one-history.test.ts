/** One session that moves through four frameworks: each goes on with what the others saved. */

import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { foldSessionSummary, getSessionMessages, listSessions } from "@anthropic-ai/claude-agent-sdk";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import * as checkpoints from "@langchain/langgraph-checkpoint";
import { Agent, type AgentInputItem, Runner, tool } from "@openai/agents-core";
import { assistantMessage as agentMessage, functionCall, ScriptedModel } from "@openai/agents-core/testing";
import { convertToModelMessages, simulateReadableStream, streamText, type UIMessage } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { messageText, project } from "sessile";
import { aiSdkChats } from "sessile/ai-sdk";
import { anthropicMessages } from "sessile/anthropic";
import { claudeAgentStore } from "sessile/claude-agent";
import { compact, rollingSummary } from "sessile/compaction";
import { langgraphCheckpointer } from "sessile/langgraph";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { openaiResponses } from "sessile/openai";
import { openaiAgentsSession } from "sessile/openai-agents";
import { afterAll, expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { conversationRows } from "../../../src/viewer/model/rows.js";
import { SessionModel } from "../../../src/viewer/model/session-model.js";
import { call } from "../../cli/call.js";

const home = mkdtempSync(join(tmpdir(), "sessile-history-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const sessions = fileSessionStore({ dir: join(home, "sessions") });
const blobs = fileBlobStore({ dir: home });
/** That of a project in the store of the Claude Agent SDK: the other adapters take any partition. */
const partition = "x.claude-agent_2f-work";
const stores = { sessions, blobs, partition };
const id = randomUUID();
const pixels = Buffer.from(makePng(20, 10)).toString("base64");
const image = `data:image/png;base64,${pixels}`;

async function inLangGraph(): Promise<void> {
  const saver = langgraphCheckpointer(checkpoints, stores);
  const look = new AIMessage({
    content: "I look.",
    tool_calls: [{ id: "c1", name: "find", args: { q: "tower" } }],
  });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", () => ({ messages: [look] }))
    .addNode("tool", () => ({
      messages: [new ToolMessage({ tool_call_id: "c1", name: "find", content: "Torre" })],
    }))
    .addNode("answer", () => ({ messages: [new AIMessage("The Torre in Pisa.")] }))
    .addEdge(START, "model")
    .addEdge("model", "tool")
    .addEdge("tool", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: saver });
  const content = [
    { type: "text", text: "Which marmalade tower is this?" },
    { type: "image_url", image_url: { url: image } },
  ];
  await graph.invoke({ messages: [new HumanMessage({ content })] }, { configurable: { thread_id: id } });
  await saver.close();
}

const history = [
  "user: Which marmalade tower is this?",
  "assistant: I look.",
  "toolResult: Torre",
  "assistant: The Torre in Pisa.",
  "user: How high is it?",
  "assistant: 56 metres.",
  "user: Does it lean?",
  "assistant: ",
  "toolResult: 4 degrees",
  "assistant: It leans by 4 degrees.",
  "user: When was it finished?",
  "assistant: ",
  "toolResult: 1372",
  "assistant: In 1372.",
];
const spoken = history.map((line) => line.slice(line.indexOf(":") + 2)).filter(Boolean);

/** A turn as the SDK's guide has it. Returns what the model saw. */
async function inUseChat(): Promise<unknown> {
  const chats = aiSdkChats<UIMessage>(stores);
  const question: UIMessage = { id: "u2", role: "user", parts: [{ type: "text", text: "How high is it?" }] };
  const messages = [...(await chats.load(id)), question];
  const usage = {
    inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 2, text: 2, reasoning: 0 },
  };
  const model = new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "56 metres." },
          { type: "text-end", id: "t" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
        ],
      }),
    }),
  });
  const reply = streamText({ model, messages: await convertToModelMessages(messages) });
  const written: number[] = [];
  const stream = reply.toUIMessageStream({
    originalMessages: messages,
    generateMessageId: () => "a2",
    onFinish: async (end) => {
      written.push((await chats.save({ chatId: id, messages: end.messages })).written);
    },
  });
  for await (const _ of stream);
  expect(written).toEqual([2]);
  await chats.close();
  return model.doStreamCalls[0]?.prompt;
}

/** A turn that the program of the SDK mirrors. Returns what the SDK saw before. */
async function inClaude(): Promise<readonly { readonly type: string; readonly message: unknown }[]> {
  const sessionStore = claudeAgentStore({ sessions, blobs, fold: foldSessionSummary });
  const before = await getSessionMessages(id, { dir: "/work", sessionStore });
  let parentUuid = before.at(-1)?.uuid;
  const add = async (type: "user" | "assistant", content: unknown) => {
    const uuid = randomUUID();
    const message =
      type === "user" ? { role: type, content } : { role: type, model: "claude-opus-5-5", content };
    const own = { parentUuid, isSidechain: false, sessionId: id, cwd: "/work", uuid };
    const line = { ...own, type, message, timestamp: new Date().toISOString() };
    await sessionStore.append({ projectKey: "-work", sessionId: id }, [line]);
    parentUuid = uuid;
  };
  await add("user", "Does it lean?");
  await add("assistant", [{ type: "tool_use", id: "toolu_1", name: "Measure", input: {} }]);
  await add("user", [{ type: "tool_result", tool_use_id: "toolu_1", content: "4 degrees" }]);
  await add("assistant", [{ type: "text", text: "It leans by 4 degrees." }]);
  const after = await getSessionMessages(id, { dir: "/work", sessionStore });
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after).toHaveLength(before.length + 4);
  const [listed] = await listSessions({ dir: "/work", sessionStore });
  expect(listed).toMatchObject({ sessionId: id, firstPrompt: "Which marmalade tower is this?" });
  await sessionStore.close();
  return before;
}

/** A run with a tool. Returns what the model saw at its last call. */
async function inOpenAiAgents(): Promise<readonly AgentInputItem[]> {
  const session = openaiAgentsSession<AgentInputItem>({ ...stores, sessionId: id });
  const model = new ScriptedModel([
    [functionCall("year", {}, { callId: "call_1", id: "f1" })],
    [agentMessage("In 1372.", { id: "m1" })],
  ]);
  const year = tool({
    name: "year",
    description: "Returns a year.",
    parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
    strict: true,
    execute: () => "1372",
  });
  const agent = new Agent({ name: "Guide", model, tools: [year] });
  await new Runner({ tracingDisabled: true }).run(agent, "When was it finished?", { session });
  const seen = model.lastCall?.request.input;
  await session.close();
  return Array.isArray(seen) ? seen : [];
}

it("goes from LangGraph to useChat, the Claude Agent SDK and OpenAI Agents, and every reader has all of it", async () => {
  await inLangGraph();
  const prompt = JSON.stringify(await inUseChat());
  for (const text of ["marmalade", pixels, "Torre in Pisa", "How high"]) expect(prompt).toContain(text);
  const lines = await inClaude();
  expect(lines.map(({ type }) => type).join(" ")).toBe("user assistant user assistant user assistant");
  for (const text of ["marmalade", pixels, '"name":"find"', '"content":"Torre"', "56 metres"])
    expect(JSON.stringify(lines)).toContain(text);
  const items = JSON.stringify(await inOpenAiAgents());
  for (const text of ["marmalade", pixels, "56 metres", "4 degrees", "1372"]) expect(items).toContain(text);

  const session = await sessions.open(id, { partition, mode: "write" });
  const context = await session.context();
  const told = context.items.map(({ message }) => `${message.role}: ${messageText(message).split("\n")[0]}`);
  expect(told).toEqual(history);
  const path = session.location as string;
  expect(readFileSync(path, "utf8").includes(pixels.slice(0, 60))).toBe(false);

  const shown = await call(["show", path], { cwd: home });
  for (const text of [...spoken, "find", "Measure", "year"]) expect(shown.stdout).toContain(text);
  expect(shown.stdout).not.toMatch(/difference|sessile\.|langgraph/);
  for (const word of ["marmalade", "metres", "degrees", "1372"]) {
    const words = ["search", word, "--dir", join(home, "sessions"), "--all-partitions", "--json"];
    expect((await call(words, { cwd: home })).json.map(({ session: found }) => found)).toContain(id);
  }
  const [stats] = (await call(["stats", path, "--json"], { cwd: home })).json;
  expect(stats).toMatchObject({ turns: 4, toolCalls: 3, failures: 0, damaged: 0 });

  const data = {
    key: "s",
    header: session.header,
    leafId: session.leafId,
    diagnostics: { total: 0, listed: [] },
  };
  const rows = conversationRows(new SessionModel(data, await session.path()), session.leafId);
  expect(rows.map(({ kind }) => kind).join(" ")).toBe(
    "user assistant assistant user assistant user assistant assistant user assistant assistant",
  );

  for (const target of [
    anthropicMessages({ model: "claude-opus-5-5" }),
    openaiResponses({ model: "gpt-5.5" }),
  ]) {
    const { value, losses } = await project<unknown>(context, target as never, {
      blobs,
      replay: () => "full",
    });
    expect(losses).toEqual([]);
    for (const text of [...spoken, pixels]) expect(JSON.stringify(value)).toContain(text);
  }

  const asked: string[] = [];
  const result = await compact(session, {
    strategy: rollingSummary({ reserveTokens: 20, keepRecentTokens: 20 }),
    window: 100,
    generate: async ({ text }) => {
      asked.push(text);
      return { text: "About a tower." };
    },
  });
  expect(result.status).toBe("compacted");
  for (const word of ["marmalade", "56 metres", "4 degrees"]) expect(asked.join()).toContain(word);
  await session.close();
});
