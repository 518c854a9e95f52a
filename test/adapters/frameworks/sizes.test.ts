/**
 * Bytes that chats of four frameworks have in files, log and blobs. The limits are 1.1 times the bytes before
 * values of frameworks became messages (commit 951eb60a), in opaque entries with the same content.
 */

import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { foldSessionSummary } from "@anthropic-ai/claude-agent-sdk";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import * as checkpoints from "@langchain/langgraph-checkpoint";
import type { AgentInputItem } from "@openai/agents-core";
import type { UIMessage } from "ai";
import { aiSdkChats } from "sessile/ai-sdk";
import { claudeAgentStore } from "sessile/claude-agent";
import { langgraphCheckpointer } from "sessile/langgraph";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { openaiAgentsSession } from "sessile/openai-agents";
import { afterEach, expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";

const turns = 25;
const png = Buffer.from(makePng(64, 64)).toString("base64");
const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

type Stores = ReturnType<typeof filesOf>;

function filesOf(dir: string) {
  return { sessions: fileSessionStore({ dir: join(dir, "sessions") }), blobs: fileBlobStore({ dir }) };
}

/** A text of so many words, each of five letters on the average. */
function words(count: number, turn: number): string {
  const known = ["stone", "at", "bridge", "river", "of", "morning", "lantern", "a"];
  return Array.from({ length: count }, (_, at) => known[(at * 3 + turn) % known.length]).join(" ");
}

/** What a user sends, and a tool and the model say, in each turn. */
interface Content {
  readonly words: number;
  readonly image?: string;
}

async function useChat({ sessions, blobs }: Stores, { words: count, image }: Content): Promise<void> {
  const chats = aiSdkChats<UIMessage>({ sessions, blobs });
  const chatId = randomUUID();
  const messages: UIMessage[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const text = words(count, turn);
    const url = image && `data:image/png;base64,${image}`;
    const file = url === undefined ? [] : [{ type: "file", mediaType: "image/png", url } as const];
    messages.push({ id: `u${turn}`, role: "user", parts: [{ type: "text", text }, ...file] });
    const input = { q: words(3, turn) };
    const called = {
      type: "tool-find",
      toolCallId: `c${turn}`,
      state: "output-available",
      input,
      output: { found: text },
    } as const;
    const start = { type: "step-start" } as const;
    // A call in every second turn.
    const parts = turn % 2 === 0 ? [start] : [start, called, start];
    messages.push({
      id: `a${turn}`,
      role: "assistant",
      parts: [...parts, { type: "text", text, state: "done" }],
    });
    await chats.save({ chatId, messages: structuredClone(messages) });
  }
  await chats.close();
}

/** The items are those of the SDK's model for OpenAI's Responses. */
async function openaiAgents({ sessions, blobs }: Stores, { words: count, image }: Content): Promise<void> {
  const session = openaiAgentsSession<AgentInputItem>({ sessions, blobs, sessionId: randomUUID() });
  for (let turn = 0; turn < turns; turn++) {
    const text = words(count, turn);
    const [id, callId] = [`fc_${turn}68f3c1d2a4b5c6d7e8f9`, `call_${turn}abcdefghijkl`];
    const pixels = `data:image/png;base64,${image}`;
    const file = image === undefined ? [] : [{ type: "input_image", image: pixels } as const];
    await session.addItems([
      { type: "message", role: "user", content: [{ type: "input_text", text }, ...file] },
      {
        type: "function_call",
        id,
        callId,
        name: "find",
        status: "completed",
        arguments: JSON.stringify({ q: words(3, turn) }),
        providerData: { id, type: "function_call" },
      },
      {
        type: "function_call_result",
        name: "find",
        callId,
        status: "completed",
        output: { type: "text", text },
      },
      {
        id: `msg_${turn}68f3c1d2a4b5c6d7e8f9`,
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text, providerData: { annotations: [], logprobs: [] } }],
        status: "completed",
        providerData: {},
      },
    ]);
  }
  await session.close();
}

async function claudeAgent({ sessions, blobs }: Stores, { words: count, image }: Content): Promise<void> {
  const store = claudeAgentStore({ sessions, blobs, fold: foldSessionSummary });
  const sessionId = randomUUID();
  let parentUuid: string | null = null;
  const add = async (type: "user" | "assistant", message: object, more: object = {}) => {
    const uuid = randomUUID();
    const own = { parentUuid, isSidechain: false, userType: "external", cwd: "/work", sessionId };
    const rest = { version: "2.1.330", gitBranch: "main", type, message, uuid };
    const line = { ...own, ...rest, type, timestamp: new Date(1_790_000_000_000).toISOString(), ...more };
    await store.append({ projectKey: "-work", sessionId }, [line]);
    parentUuid = uuid;
  };
  for (let turn = 0; turn < turns; turn++) {
    const text = words(count, turn);
    const source = { type: "base64", media_type: "image/png", data: image };
    const content =
      image === undefined
        ? text
        : [
            { type: "text", text },
            { type: "image", source },
          ];
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1000,
      output_tokens: 50,
    };
    const reply = (id: string, stop: string, block: object) => {
      const of = { id, type: "message", role: "assistant", model: "claude-opus-5-5" };
      return { ...of, stop_reason: stop, stop_sequence: null, usage, content: [block] };
    };
    const id = `toolu_${turn}`;
    await add("user", { role: "user", content });
    const call = { type: "tool_use", id, name: "Find", input: { q: words(3, turn) } };
    await add("assistant", reply(`msg_${turn}`, "tool_use", call), { requestId: `req_${turn}` });
    const result = { type: "tool_result", tool_use_id: id, content: text };
    await add("user", { role: "user", content: [result] }, { toolUseResult: { stdout: words(5, turn) } });
    const said = { type: "text", text };
    await add("assistant", reply(`msg_${turn}b`, "end_turn", said), { requestId: `req_${turn}b` });
  }
  await store.close();
}

async function langgraph({ sessions, blobs }: Stores, { words: count, image }: Content): Promise<void> {
  const saver = langgraphCheckpointer(checkpoints, { sessions, blobs });
  let turn = 0;
  const call = () => ({ id: `c${turn}`, name: "find", args: { q: words(3, turn) } });
  const found = () =>
    new ToolMessage({ tool_call_id: `c${turn}`, name: "find", content: words(count, turn) });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", () => ({ messages: [new AIMessage({ content: "", tool_calls: [call()] })] }))
    .addNode("tool", () => ({ messages: [found()] }))
    .addNode("answer", () => ({ messages: [new AIMessage(words(count, turn))] }))
    .addEdge(START, "model")
    .addEdge("model", "tool")
    .addEdge("tool", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: saver });
  const configurable = { thread_id: randomUUID() };
  for (; turn < turns; turn++) {
    const text = { type: "text", text: words(count, turn) } as const;
    const image_url = { url: `data:image/png;base64,${image}` };
    const file = image === undefined ? [] : [{ type: "image_url", image_url } as const];
    await graph.invoke({ messages: [new HumanMessage({ content: [text, ...file] })] }, { configurable });
  }
  await saver.close();
}

/** Bytes before, of short texts, of long texts, and of long texts with an image in each turn. */
const before = [
  ["useChat", useChat, [28_010, 65_879, 82_724]],
  ["OpenAI Agents", openaiAgents, [37_574, 81_916, 98_486]],
  ["the Claude Agent SDK", claudeAgent, [113_609, 174_759, 192_146]],
  ["LangGraph", langgraph, [399_113, 473_761, 493_600]],
] as const;
const contents: readonly Content[] = [{ words: 8 }, { words: 120 }, { words: 120, image: png }];

for (const [name, chat, limits] of before)
  it.each(contents.map((content, at) => ({ ...content, limit: Math.round(1.1 * (limits[at] ?? 0)) })))(
    `a chat of ${name} with $words words a text takes at most $limit bytes`,
    async ({ limit, ...content }) => {
      const dir = mkdtempSync(join(tmpdir(), "sessile-sizes-"));
      made.push(dir);
      await chat(filesOf(dir), content);
      let bytes = 0;
      for (const found of readdirSync(dir, { recursive: true, withFileTypes: true }))
        if (found.isFile()) bytes += statSync(join(found.parentPath, found.name)).size;
      expect(bytes).toBeLessThanOrEqual(limit);
    },
  );
