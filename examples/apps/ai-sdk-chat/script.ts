// The model and the tools of the chat: a model of Anthropic if there is a key, a script otherwise.
import { anthropic } from "@ai-sdk/anthropic";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { sniff } from "sessile/media";
import { z } from "zod";
import type { ChatModel, ChatTools } from "./turn.js";

/** The model that the environment names. */
export function modelFrom(env: NodeJS.ProcessEnv): ChatModel {
  if (env.ANTHROPIC_API_KEY === undefined) return scriptedModel();
  return anthropic(env.SESSILE_MODEL ?? "claude-opus-5-5");
}

/** The tools of the chat. */
export const chatTools: ChatTools = {
  count_words: {
    description: "Counts the words of a text.",
    inputSchema: z.object({ text: z.string() }),
    run: async (input) => {
      const words = (input as { readonly text: string }).text.split(/\s+/).filter((word) => word !== "");
      if (words.length === 0) throw new Error("the text has no words");
      return String(words.length);
    },
  },
  wait: {
    description: "Waits for some seconds.",
    inputSchema: z.object({ seconds: z.number().min(0).max(60) }),
    run: async (input, { signal }) => {
      const { seconds } = input as { readonly seconds: number };
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, seconds * 1000);
        const stop = () => {
          clearTimeout(timer);
          reject(signal.reason);
        };
        if (signal.aborted) stop();
        signal.addEventListener("abort", stop, { once: true });
      });
      return `waited for ${seconds} s`;
    },
  },
};

type DoStream = MockLanguageModelV3["doStream"];
type Prompt = Parameters<DoStream>[0]["prompt"];
type StreamPart =
  Awaited<ReturnType<DoStream>>["stream"] extends ReadableStream<infer StreamPart> ? StreamPart : never;

/** A model that follows a script. Each fact that it states is from the request that it got. */
export function scriptedModel(): MockLanguageModelV3 {
  let calls = 0;
  return new MockLanguageModelV3({
    provider: "scripted",
    modelId: "script",
    doStream: async ({ prompt, abortSignal }) => {
      const chunks = chunksOf(reply(prompt), ++calls);
      const stream = simulateReadableStream({ chunks, chunkDelayInMs: 10 });
      const until = abortSignal === undefined ? {} : { signal: abortSignal };
      return { stream: stream.pipeThrough(new TransformStream<StreamPart, StreamPart>(), until) };
    },
  });
}

type Reply = string | { readonly toolName: string; readonly input: object };

function reply(prompt: Prompt): Reply {
  const last = prompt.at(-1);
  if (last?.role === "tool") {
    const outputs = last.content.flatMap((part) => (part.type === "tool-result" ? [part.output] : []));
    return `The tool said: ${outputs.map((output) => ("value" in output ? output.value : "")).join(", ")}.`;
  }
  const asked = prompt.flatMap((message) => (message.role === "user" ? message.content : []));
  const latest = last?.role === "user" ? last.content : [];
  const words = latest.flatMap((part) => (part.type === "text" ? [part.text] : []));
  // Unanswered messages before it are in the same one, and descriptors of files.
  const text = words.findLast((part) => !part.startsWith("[")) ?? "";
  const counted = /count the words of "(.*)"/i.exec(text)?.[1];
  if (counted !== undefined) return { toolName: "count_words", input: { text: counted } };
  const unit = /wait for a (moment|minute)/i.exec(text)?.[1];
  if (unit !== undefined) return { toolName: "wait", input: { seconds: unit === "minute" ? 60 : 3 } };
  if (/story/i.test(text)) return story;
  if (/table/i.test(text)) return table;
  if (/fail/i.test(text)) throw new Error("the model is out of order");
  const images = asked.flatMap((part) => (part.type === "file" ? [sizeOf(part.data)] : []));
  const said = asked.filter((part) => part.type === "text" && !part.text.startsWith("["));
  return `You said ${said.length} things; I see ${images.length === 0 ? "no images" : images.join(", ")}.`;
}

const story = Array.from({ length: 3000 }, (_, day) => `On day ${day + 1} the limpet stayed. `).join("");

const table = `## Two shells

| shell | height |
| --- | ---: |
| limpet | 3 cm |
| whelk | 8 cm |

Both are **gastropods**; \`whelk\` is the larger one. <b>This</b> ![beach](https://example.com/beach.png)`;

function sizeOf(data: unknown): string {
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : data;
  const media = bytes instanceof Uint8Array ? sniff(bytes) : undefined;
  return media?.kind === "image" ? `${media.width} x ${media.height}` : "an unknown file";
}

function chunksOf(said: Reply, call: number): StreamPart[] {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const end = (unified: "stop" | "tool-calls"): StreamPart => ({
    type: "finish",
    finishReason: { unified, raw: unified },
    usage,
  });
  if (typeof said !== "string") {
    const { toolName, input } = said;
    const toolCallId = `call_${call}_${Date.now().toString(36)}`;
    return [{ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) }, end("tool-calls")];
  }
  const words = said.match(/\S+\s*/g) ?? [];
  return [
    { type: "text-start", id: "t" },
    ...words.map((delta): StreamPart => ({ type: "text-delta", id: "t", delta })),
    { type: "text-end", id: "t" },
    end("stop"),
  ];
}
