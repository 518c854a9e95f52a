import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { memoryBlobStore, memorySessionStore, userMessage } from "sessile";
import { ingest } from "sessile/attachments";
import {
  anthropicModel,
  bedrockModel,
  geminiInteractionsModel,
  geminiModel,
  openaiChatModel,
  openaiResponsesModel,
  runTurn,
  steer,
  type TurnModel,
} from "sessile/turn";
import { expect, test } from "vitest";
import { png } from "../support/media-files.js";
import { callingReply as anthropicCalling } from "../support/providers/anthropic/replies.js";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import { bedrockClient } from "../support/providers/bedrock/client.js";
import { callingReply as bedrockCalling, bedrockReply } from "../support/providers/bedrock/replies.js";
import { claude as bedrockClaude } from "../support/providers/bedrock/sample.js";
import { startBedrock } from "../support/providers/bedrock/server.js";
import { startInteractions } from "../support/providers/gemini/interaction-rules.js";
import { callingInteraction, interaction } from "../support/providers/gemini/interactions.js";
import { callingReply as geminiCalling, geminiReply } from "../support/providers/gemini/replies.js";
import { gemini3 } from "../support/providers/gemini/sample.js";
import { startGemini } from "../support/providers/gemini/server.js";
import type { ProviderServer } from "../support/providers/local-server.js";
import {
  chatCallsReply,
  chatReply,
  responsesCallsReply,
  responsesReply,
} from "../support/providers/openai/replies.js";
import { startOpenai } from "../support/providers/openai/server.js";
import { countingTool, shortHistory } from "../support/turn.js";

interface Peer {
  readonly server: ProviderServer;
  // biome-ignore lint/suspicious/noExplicitAny: models of any value
  readonly model: TurnModel<any>;
}

const apiKey = "none";
const gpt = "gpt-5.6";
const said = (text: string) => ({
  type: "message" as const,
  id: `msg_${text.length}`,
  role: "assistant" as const,
  status: "completed" as const,
  content: [{ type: "output_text" as const, text, annotations: [] }],
});

/** A server that refuses what breaks its rules, its official client, and a script: two calls, then two answers. */
const peers: Readonly<Record<string, () => Promise<Peer>>> = {
  anthropic: async () => {
    const text = (words: string) => ({ content: [{ type: "text" as const, text: words, citations: null }] });
    const server = await startAnthropic([anthropicCalling, text("Seen."), text("Again.")]);
    const client = new Anthropic({ apiKey, baseURL: server.url });
    return { server, model: anthropicModel(client, { model: "claude-opus-5" }) };
  },
  chat: async () => {
    const chat = [chatCallsReply(), chatReply({ content: "Seen." }), chatReply({ content: "Again." })];
    const server = await startOpenai({ chat });
    const client = new OpenAI({ apiKey, baseURL: `${server.url}/v1` });
    return { server, model: openaiChatModel(client, { model: gpt }) };
  },
  responses: async () => {
    const responses = [
      responsesCallsReply(),
      responsesReply([said("Seen.")]),
      responsesReply([said("Again.")]),
    ];
    const server = await startOpenai({ responses });
    const client = new OpenAI({ apiKey, baseURL: `${server.url}/v1` });
    return { server, model: openaiResponsesModel(client, { model: gpt }) };
  },
  gemini: async () => {
    const calling = geminiCalling(gemini3, { ids: true });
    const answers = ["Seen.", "Again."].map((text) => geminiReply(gemini3, [{ text }]));
    const server = await startGemini([calling, ...answers]);
    const client = new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl: server.url } });
    return { server, model: geminiModel(client, { model: gemini3 }) };
  },
  interactions: async () => {
    const answers = ["Seen.", "Again."].map((text) =>
      interaction(gemini3, [{ type: "model_output", content: [{ type: "text", text }] }]),
    );
    const server = await startInteractions([callingInteraction(gemini3), ...answers]);
    const client = new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl: server.url } });
    return { server, model: geminiInteractionsModel(client, { model: gemini3 }) };
  },
  bedrock: async () => {
    const answers = ["Seen.", "Again."].map((text) => bedrockReply([{ text }]));
    const server = await startBedrock([bedrockCalling(bedrockClaude), ...answers]);
    return { server, model: bedrockModel(bedrockClient(server.url), { model: bedrockClaude }) };
  },
};

test.each(Object.entries(peers))(
  "the same conversation goes through the official client of %s",
  async (_name, start) => {
    const { server, model } = await start();
    await using _server = server;
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/work" });
    const image = (width: number) => ({ bytes: png({ width, height: 2 }), name: "a.png" });
    const shown: string[] = [];
    let isSteered = false;
    const tools = ["read", "screenshot", "list"].map((name) =>
      countingTool(name, {
        parallel: true,
        run: async () => {
          if (!isSteered) {
            isSteered = true;
            await steer(session, userMessage("and hurry"));
          }
          return ["here", image(3)];
        },
      }),
    );
    const onDelta = (delta: { type: string; text?: string }) =>
      void (delta.type === "text" && shown.push(delta.text ?? ""));
    const options = { model, blobs, tools, onDelta, instructions: "Be brief." };
    const message = userMessage("Look at both.", await ingest(image(2), { blobs }));
    const first = await runTurn(session, { ...options, message });
    const second = await runTurn(session, { ...options, message: userMessage("Again?") });
    expect([first.reason, first.steps, second.reason]).toEqual(["done", 2, "done"]);
    const history = await shortHistory(session);
    expect(history.slice(0, 2)).toEqual([
      "system: ",
      expect.stringMatching(/^user: Look at both\. \[image a\.png/),
    ]);
    expect(history[2]).toMatch(/^assistant: .*<\S+> .*<\S+>$/s);
    expect(history.slice(5)).toEqual([
      "user: and hurry",
      "assistant: Seen.",
      "user: Again?",
      "assistant: Again.",
    ]);
    expect(history.slice(3, 5).join()).toMatch(/result \S+: here \[image .*result \S+: here \[image/);
    expect(shown.join("")).toMatch(/Seen\.Again\.$/);
    expect(server.requests).toHaveLength(3);
    expect(JSON.stringify(server.requests[0]?.body)).toContain("view_resource");
  },
);

test("Anthropic gets the header for texts of one turn if a request has one, also a cleared one", async () => {
  const text = (words: string) => ({ content: [{ type: "text" as const, text: words, citations: null }] });
  await using server = await startAnthropic([
    text("First."),
    anthropicCalling,
    text("Seen."),
    text("Again."),
  ]);
  const sent: unknown[] = [];
  const client = new Anthropic({
    apiKey,
    baseURL: server.url,
    fetch: (url, init) => {
      const { messages } = JSON.parse(String(init?.body)) as { messages: readonly { clear_at?: string }[] };
      const cleared = messages.filter(({ clear_at }) => clear_at === "next_user_message").length;
      sent.push([new Headers(init?.headers).get("anthropic-beta"), cleared]);
      return fetch(url, init);
    },
  });
  const model = anthropicModel(client, { model: "claude-opus-5", turnOnly: ["todos"] });
  const session = await memorySessionStore().create({ cwd: "/work" });
  const options = { model, tools: ["read", "screenshot"].map((name) => countingTool(name)) };
  await runTurn(session, { ...options, message: userMessage("Begin.") });
  const note = { role: "custom", customType: "todos", content: "1. Read.", display: false } as const;
  await session.appendMessage({ ...note, timestamp: 1 });
  await runTurn(session, { ...options, message: userMessage("Go.") });
  await runTurn(session, { ...options, message: userMessage("More?") });
  const beta = "mid-conversation-system-clear-at-2026-08-21";
  expect(sent).toEqual([
    [null, 0],
    [beta, 1],
    [beta, 2],
    [beta, 2],
  ]);
  await session.close();
});
