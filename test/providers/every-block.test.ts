/**
 * Every type of block that the newest clients list: verbatim to the model that made it, its words to all others, or a stated
 * loss. The type checker finds a type that has no row here.
 */
import type Anthropic from "@anthropic-ai/sdk";
import type { ContentBlock } from "@aws-sdk/client-bedrock-runtime";
import type { Interactions, Part } from "@google/genai";
import {
  type AssistantMessage,
  contextFrom,
  project,
  type Target,
  toolCalls,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages, anthropicStream, readAnthropicReply } from "sessile/anthropic";
import { replayAlways } from "sessile/attachments";
import { bedrockConverse, bedrockStream, readBedrockReply } from "sessile/bedrock";
import {
  geminiContents,
  geminiInteractionStream,
  geminiInteractions,
  geminiStream,
  readGeminiInteraction,
  readGeminiReply,
} from "sessile/gemini";
import { openaiChat, openaiResponses } from "sessile/openai";
import { describe, expect, it } from "vitest";
import { interaction } from "../support/providers/gemini/interactions.js";
import {
  anthropicStreamed,
  bedrockStreamed,
  geminiStreamed,
  interactionStreamed,
} from "../support/providers/streamed.js";
import { eventsFrom } from "../support/reply-streams.js";

const signature = Buffer.from("signature of a thought").toString("base64");
const call = (name: string) => ({
  type: "server_tool_use",
  id: "srvtoolu_1",
  name,
  input: { query: "word-q" },
});
const result = (type: string, content: unknown) => ({
  type: `${type}_tool_result`,
  tool_use_id: "srvtoolu_1",
  content,
});
const pair = (name: string, content: unknown) => [call(name), result(name, content)];

const anthropicBlocks = {
  text: [
    { type: "text", text: "word-plain", citations: null },
    {
      type: "text",
      text: "word-cited",
      citations: [
        { type: "char_location", cited_text: "c", document_index: 0, document_title: null, file_id: null },
      ],
    },
  ],
  thinking: [
    { type: "thinking", thinking: "hm", signature, depth: 2 },
    { type: "text", text: "word-after" },
  ],
  redacted_thinking: [
    { type: "redacted_thinking", data: signature, depth: 2 },
    { type: "text", text: "word-after" },
  ],
  tool_use: [
    {
      type: "tool_use",
      id: "toolu_1",
      name: "read",
      input: { path: "word-path" },
      caller: { type: "direct" },
    },
  ],
  server_tool_use: [call("web_search")],
  web_search_tool_result: pair("web_search", [
    {
      type: "web_search_result",
      title: "word-t",
      url: "https://e.x",
      encrypted_content: "E",
      page_age: null,
    },
  ]),
  web_fetch_tool_result: pair("web_fetch", {
    type: "web_fetch_result",
    url: "https://e.x",
    retrieved_at: null,
    content: {
      type: "document",
      source: { type: "text", media_type: "text/plain", data: "word-d" },
      title: null,
    },
  }),
  advisor_tool_result: pair("advisor", { type: "advisor_result", text: "word-advice" }),
  code_execution_tool_result: pair("code_execution", {
    type: "code_execution_result",
    ...{ stdout: "word-out", stderr: "", return_code: 0, content: [] },
  }),
  bash_code_execution_tool_result: pair("bash_code_execution", {
    type: "bash_code_execution_result",
    ...{
      stdout: "word-out",
      stderr: "",
      return_code: 0,
      content: [{ type: "bash_code_execution_output", file_id: "f" }],
    },
  }),
  text_editor_code_execution_tool_result: pair("text_editor_code_execution", {
    type: "text_editor_code_execution_view_result",
    ...{ content: "word-view", file_type: "text", num_lines: 1, start_line: 1, total_lines: 1 },
  }),
  tool_search_tool_result: pair("tool_search", {
    type: "tool_search_tool_search_result",
    tool_references: [],
  }),
  mcp_tool_use: [
    { type: "mcp_tool_use", id: "mcptoolu_1", name: "find", server_name: "s", input: { query: "word-q" } },
    { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] },
  ],
  mcp_tool_result: [
    { type: "mcp_tool_use", id: "mcptoolu_1", name: "find", server_name: "s", input: {} },
    {
      type: "mcp_tool_result",
      ...{
        tool_use_id: "mcptoolu_1",
        is_error: false,
        content: [{ type: "text", text: "word-m", citations: null }],
      },
    },
  ],
  container_upload: [{ type: "container_upload", file_id: "file_1" }],
  compaction: [{ type: "compaction", content: "word-summary", encrypted_content: "E" }],
  fallback: [{ type: "fallback", from: { model: "a" }, to: { model: "b" } }],
  mcp_tool_listing: [{ type: "mcp_tool_listing", server_name: "s", tools: [] }],
  unknown: [{ type: "holo", caption: { text: "word-holo" }, depth: [1] }],
} satisfies Record<Anthropic.Beta.BetaContentBlock["type"] | "unknown", readonly object[]>;

const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const location = { web: { url: "https://e.x" } };
const bedrockCall = { toolUseId: "st1", name: "nova_grounding", input: {}, type: "server_tool_use" };
const bedrockResult = {
  toolUseId: "st1",
  content: [{ text: "word-r" }],
  status: "success",
  type: "nova_grounding_result",
};
type BedrockKind = ContentBlock extends infer B ? (B extends unknown ? RequiredKeys<B> : never) : never;
type RequiredKeys<B> = { [K in keyof B]-?: B[K] extends undefined ? never : K }[keyof B];

const bedrockBlocks = {
  text: [{ text: "word-plain" }],
  toolUse: [{ toolUse: { toolUseId: "t1", name: "read", input: { path: "word-path" } } }],
  reasoningContent: [
    { reasoningContent: { reasoningText: { text: "hm", signature } } },
    { reasoningContent: { redactedContent: bytes } },
    { text: "word-after" },
  ],
  citationsContent: [
    {
      citationsContent: {
        content: [{ text: "word-cited" }],
        citations: [{ title: "t", location, sourceContent: [] }],
      },
    },
  ],
  toolResult: [{ toolUse: bedrockCall }, { toolResult: bedrockResult }],
  guardContent: [{ guardContent: { text: { text: "word-guarded", qualifiers: ["query"] } } }],
  searchResult: [
    {
      searchResult: { source: "s", title: "t", content: [{ text: "word-s" }], citations: { enabled: true } },
    },
  ],
  audio: [{ audio: { format: "mp3", source: { bytes } } }],
  video: [{ video: { format: "mp4", source: { s3Location: { uri: "s3://b/v" } } } }],
  image: [{ image: { format: "png", source: { bytes } } }],
  document: [{ document: { name: "d", format: "txt", source: { text: "word-doc" } } }],
  cachePoint: [{ cachePoint: { type: "default" } }],
  toolAddition: [{ toolAddition: { name: "word-tool" } }],
  toolRemoval: [{ toolRemoval: { name: "word-tool" } }],
  $unknown: [{ $unknown: ["holo", { text: "word-holo" }] }],
} satisfies Record<BedrockKind, readonly object[]>;

const geminiParts = {
  text: [{ text: "word-plain", partMetadata: { a: 1 } }],
  thought: [
    { text: "hm", thought: true, thoughtSignature: signature, partMetadata: { a: 1 } },
    { text: "word-a" },
  ],
  thoughtSignature: [
    { text: "word-signed", thoughtSignature: signature },
    { text: "", thoughtSignature: signature },
  ],
  functionCall: [
    { functionCall: { id: "c1", name: "read", args: { path: "word-path" } }, thoughtSignature: signature },
  ],
  functionResponse: [{ functionResponse: { name: "read", response: { output: "word-r" } } }],
  inlineData: [{ inlineData: { mimeType: "audio/wav", data: "UklGRg==" } }],
  fileData: [{ fileData: { fileUri: "https://e.x/f", mimeType: "image/png", displayName: "word-name" } }],
  executableCode: [{ executableCode: { language: "PYTHON", code: "word-code", id: "x" } }],
  codeExecutionResult: [{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "word-out", id: "x" } }],
  toolCall: [
    {
      toolCall: { id: "t", toolType: "GOOGLE_SEARCH_WEB", args: { q: "word-q" } },
      thoughtSignature: signature,
    },
  ],
  toolResponse: [{ toolResponse: { id: "t", toolType: "GOOGLE_SEARCH_WEB", response: { r: "word-r" } } }],
  audioTranscription: [{ audioTranscription: { text: "word-heard", languageCode: "en" } }],
  mediaResolution: [
    { fileData: { fileUri: "f", mimeType: "image/png" }, mediaResolution: { level: "MEDIA_RESOLUTION_LOW" } },
  ],
  videoMetadata: [{ fileData: { fileUri: "f", mimeType: "video/mp4" }, videoMetadata: { fps: 1 } }],
  partMetadata: [{ text: "word-meta", partMetadata: { a: [1] } }],
  mediaProcessing: [{ fileData: { fileUri: "f", mimeType: "video/mp4" }, mediaProcessing: { a: 1 } }],
  speechMetadata: [{ text: "word-spoken", speechMetadata: { speaker: "A" } }],
} satisfies Record<keyof Part, readonly object[]>;

const said = (text: string, more: object = {}) => ({
  type: "model_output",
  content: [{ type: "text", text, ...more }],
});
const ran = (tool: string, call: object, result?: unknown, more: object = {}) => [
  { type: `${tool}_call`, id: "t1", ...call, signature },
  { type: `${tool}_result`, call_id: "t1", ...(result === undefined ? {} : { result }), ...more, signature },
];
const shown = (type: string, more: object) => ({ type: "model_output", content: [{ type, ...more }] });
const speech = { type: "audio", mime_type: "audio/wav", data: "UklGRg==" };

const interactionSteps = {
  user_input: [said("word-plain")],
  model_output: [said("word-plain"), said("word-second"), said("word-third", { note: 1 })],
  thought: [
    { type: "thought", signature },
    { type: "thought", signature, summary: [{ type: "text", text: "hm" }] },
    { type: "thought", signature, summary: [] },
    {
      type: "thought",
      signature,
      summary: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    },
    said("word-after"),
  ],
  function_call: [
    { type: "thought", signature },
    { type: "function_call", id: "c1", name: "read", arguments: { path: "word-path" }, signature },
    { type: "function_call", id: "c2", name: "read", arguments: {} },
  ],
  function_result: [
    { type: "thought", signature },
    { type: "function_call", id: "c1", name: "read", arguments: { path: "word-path" } },
    { type: "function_result", call_id: "c1", name: "read", result: "word-r" },
    said("word-after"),
  ],
  code_execution_call: [{ type: "code_execution_call", id: "t1", arguments: { code: "word-c" } }],
  code_execution_result: ran(
    "code_execution",
    { arguments: { code: "word-c", language: "python" } },
    "word-o",
  ),
  google_search_call: [{ type: "google_search_call", id: "t1", arguments: { queries: ["word-q"] } }],
  google_search_result: ran("google_search", { arguments: { queries: ["word-q"] } }, [
    { search_suggestions: "word-s" },
  ]),
  google_maps_call: [{ type: "google_maps_call", id: "t1" }],
  google_maps_result: ran("google_maps", { arguments: { queries: ["word-q"] } }, [{ places: [] }]),
  url_context_call: [{ type: "url_context_call", id: "t1", arguments: { urls: ["https://e.x"] } }],
  url_context_result: ran("url_context", { arguments: { urls: ["https://e.x"] } }, [{ status: "success" }], {
    is_error: false,
  }),
  file_search_call: [{ type: "file_search_call", id: "t1", signature }],
  file_search_result: ran("file_search", {}, [{}]),
  mcp_server_tool_call: [
    { type: "mcp_server_tool_call", id: "t1", name: "find", server_name: "s", arguments: { q: "word-q" } },
  ],
  mcp_server_tool_result: ran("mcp_server_tool", { name: "f", server_name: "s", arguments: {} }, [
    { type: "text", text: "word-m" },
  ]),
  processing_call: [{ type: "processing_call", id: "t1" }],
  processing_result: ran("processing", {}),
  retrieval_call: [{ type: "retrieval_call", id: "t1", arguments: {}, retrieval_type: "rag_store" }],
  retrieval_result: ran("retrieval", { arguments: { queries: ["word-q"] } }, undefined, { is_error: false }),
  text: [said("word-cited", { annotations: [{ type: "url_citation", url: "https://e.x" }] })],
  audio: [
    { ...said("word-before"), content: [...said("word-before").content, speech, ...said("word-a").content] },
  ],
  image: [said("word-a"), shown("image", { uri: "https://e.x/i", mime_type: "image/png" })],
  document: [shown("document", { uri: "https://e.x/d", mime_type: "application/pdf" })],
  video: [shown("video", { uri: "https://e.x/v", mime_type: "video/mp4", name: "word-name" })],
  unknown: [
    { type: "holo", caption: { text: "word-holo" }, depth: [1] },
    { ...said("word-x"), content: [...said("word-x").content, { type: "holo", text: "word-y" }, speech] },
  ],
} satisfies Record<
  | Interactions.Step["type"]
  | NonNullable<Interactions.ModelOutputStep["content"]>[number]["type"]
  | "unknown",
  readonly object[]
>;

/** A provider: its reader, its stream and its blocks in a request. */
interface Provider {
  readonly name: string;
  readonly samples: Readonly<Record<string, readonly object[]>>;
  readonly target: Target<object>;
  readonly reply: (content: readonly object[]) => object;
  readonly read: (reply: never) => AssistantMessage;
  readonly stream: (source: AsyncIterable<never>) => { message(): Promise<AssistantMessage> };
  readonly streamed: (reply: object, size: number) => readonly object[];
  /** The blocks of the model in a request. */
  readonly sent: (value: never) => readonly object[];
  /** Blocks that the documentation forbids to send back; a loss says so. */
  readonly forbidden: readonly string[];
}

const models = {
  anthropic: "claude-opus-4-8",
  bedrock: "us.anthropic.claude-opus-4-8-v1:0",
  gemini: "gemini-3-pro-preview",
};
const ofModel = (messages: readonly { readonly role: string; readonly content: readonly object[] }[]) =>
  messages.filter(({ role }) => role === "assistant").flatMap(({ content }) => content);

const providers: readonly Provider[] = [
  {
    name: "Anthropic",
    samples: anthropicBlocks,
    target: anthropicMessages({ model: models.anthropic }),
    reply: (content) => ({
      type: "message",
      id: "msg_1",
      model: models.anthropic,
      content,
      stop_reason: "end_turn",
      usage: {},
    }),
    read: (reply) => readAnthropicReply(reply, { model: models.anthropic, timestamp: 1 }),
    stream: (source) => anthropicStream(source, { model: models.anthropic, timestamp: 1 }),
    streamed: anthropicStreamed,
    sent: ({ messages }: { messages: never }) => ofModel(messages),
    forbidden: [],
  },
  {
    name: "Bedrock Converse",
    samples: bedrockBlocks,
    target: bedrockConverse({ model: models.bedrock }),
    reply: (content) => ({
      output: { message: { role: "assistant", content } },
      stopReason: "end_turn",
      usage: {},
    }),
    read: (reply) => ({ ...readBedrockReply(reply, { model: models.bedrock }), timestamp: 1 }),
    stream: (source) => bedrockStream(source, { model: models.bedrock }),
    streamed: bedrockStreamed,
    sent: ({ messages }: { messages: never }) => ofModel(messages),
    forbidden: ["image", "document", "cachePoint"],
  },
  {
    name: "Gemini",
    samples: geminiParts,
    target: geminiContents({ model: models.gemini }),
    reply: (parts) => ({
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }],
      responseId: "r",
    }),
    read: (reply) => ({ ...readGeminiReply(reply, { model: models.gemini }), timestamp: 1 }),
    stream: (source) => geminiStream(source, { model: models.gemini }),
    streamed: geminiStreamed,
    sent: ({ contents }: { contents: readonly { role: string; parts: readonly object[] }[] }) =>
      contents.filter(({ role }) => role === "model").flatMap(({ parts }) => parts),
    forbidden: [],
  },
  {
    name: "Interactions",
    samples: interactionSteps,
    target: geminiInteractions({ model: models.gemini }),
    reply: (steps) => interaction(models.gemini, steps as never),
    read: (reply) => ({ ...readGeminiInteraction(reply, { model: models.gemini }), timestamp: 1 }),
    stream: (source) => geminiInteractionStream(source, { model: models.gemini }),
    streamed: interactionStreamed,
    sent: ({ input }: { input: readonly { type: string; result?: unknown }[] }) =>
      input.filter((step) => step.type !== "user_input" && !JSON.stringify(step).includes('"done"')),
    // A call of the API's own tool without its result.
    forbidden: Object.keys(interactionSteps).filter((kind) => /(?<!function)_call$/.test(kind)),
  },
];
const targets = [
  ...providers.map(({ target }) => target),
  openaiChat({ model: "gpt-5.5" }),
  openaiResponses({ model: "gpt-5.5" }),
];

const written = (value: unknown) =>
  JSON.stringify(value, (_, one: unknown) =>
    one instanceof Uint8Array ? Buffer.from(one).toString("base64") : one,
  );

/** What a caller says after a reply: the results of its calls, and the next question. */
function asked(message: AssistantMessage) {
  const results = toolCalls(message).map((one) => toolResult(one, "done"));
  return contextFrom([userMessage("one"), message, ...results, userMessage("two")]);
}

describe.each(providers)(
  "a reply of $name",
  ({ samples, target, reply, read, stream, streamed, sent, forbidden }) => {
    const rows = Object.entries(samples).map(([kind, blocks]) => ({ kind, blocks }));

    // @covers R26
    it.each(rows)("goes back verbatim: $kind", async ({ kind, blocks }) => {
      const message = JSON.parse(JSON.stringify(read(reply(blocks) as never))) as AssistantMessage;
      const { value, losses } = await project(asked(message), target, { replay: replayAlways });
      if (forbidden.includes(kind)) expect(losses).toMatchObject([{ entryId: "m1", block: 0 }]);
      // A call of the provider's own tool stays open only until the user speaks.
      else if (kind === "server_tool_use") expect(losses).toMatchObject([{ code: "opaque", block: 0 }]);
      else {
        expect(sent(value as never)).toEqual(blocks);
        expect(losses).toEqual([]);
      }
    });

    it.each(rows)("says its words to all others, or a loss: $kind", async ({ blocks }) => {
      const message = read(reply(blocks) as never);
      for (const other of targets) {
        if (other === target) continue;
        const { value, losses } = await project(asked(message), other, { replay: replayAlways });
        const text = written(value);
        message.content.forEach((block, index) => {
          const words = written(block).match(/word-\w+/g) ?? [];
          const isStated = losses.some((loss) => loss.entryId === "m1" && loss.block === index);
          if (!isStated)
            for (const word of words)
              expect([other.name, text]).toEqual([other.name, expect.stringContaining(word)]);
          // Also what people read is no opaque block.
          if (block.type === "text") for (const word of words) expect(text).toContain(word);
        });
      }
    });

    it.each(rows)("is the same streamed: $kind", async ({ blocks }) => {
      const whole = read(reply(blocks) as never);
      for (const size of [1, 1000]) {
        const message = await stream(
          eventsFrom(streamed(reply(blocks), size)) as AsyncIterable<never>,
        ).message();
        expect({ ...message, timestamp: 1 }).toEqual(whole);
      }
    });
  },
);
