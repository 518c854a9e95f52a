/**
 * Models of a turn: a target, and a function that calls the provider's official client. The caller passes the client;
 * its type is named here by the methods that are called.
 */

import type { Generate } from "../compaction/index.js";
import { type AssistantMessage, contextFrom, messageText, userMessage } from "../content/index.js";
import { isBroken, toolShapes } from "../content/internal.js";
import { assertOptions, describe } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";
import {
  type AnthropicMessagesOptions,
  anthropicMessages,
  anthropicStream,
} from "../providers/anthropic/index.js";
import { type BedrockConverseOptions, bedrockConverse, bedrockStream } from "../providers/bedrock/index.js";
import {
  type GeminiContentsOptions,
  type GeminiInteractionsOptions,
  geminiContents,
  geminiInteractionStream,
  geminiStream,
  geminiInteractions as interactionsTarget,
} from "../providers/gemini/index.js";
import { project, type ReplyStream, type Target } from "../providers/index.js";
import {
  openaiChat as chatTarget,
  type OpenaiChatOptions,
  type OpenaiResponsesOptions,
  openaiChatStream,
  openaiResponsesStream,
  openaiResponses as responsesTarget,
} from "../providers/openai/index.js";
import type { ToolDeclaration } from "./tools.js";

/** A request to a model. */
export interface ModelRequest<V> {
  /** The value of the projection. */
  readonly value: V;
  /** As {@link TurnModel.declare} gave them; empty for a request without tools. */
  readonly tools: readonly unknown[];
  /** Whether the provider holds the conversation before the value. */
  readonly isContinued: boolean;
  /** In tokens. @default that of the model */
  readonly maxTokens?: number | undefined;
  readonly signal: AbortSignal;
}

/** A model, as `runTurn` asks it. Write one for a client of your own: a target, and two functions. */
// biome-ignore lint/suspicious/noExplicitAny: the value goes from the model's target to the model
export interface TurnModel<V = any> {
  readonly target: Target<V>;
  /** Declares tools in the provider's form. */
  declare(tools: readonly ToolDeclaration[]): readonly unknown[];
  /** Sends a request, and gives the reply as it comes. Rejects with the client's error if it is refused. */
  ask(request: ModelRequest<V>): ReplyStream | Promise<ReplyStream>;
}

/**
 * Asks a model for a text outside the conversation, as `compact` and `summarizeBranch` do for a summary.
 * @example
 * ```ts
 * import Anthropic from "@anthropic-ai/sdk";
 *
 * const generate = generateBy(anthropicModel(new Anthropic(), { model: "claude-haiku-5-5" }));
 * ```
 */
export function generateBy(model: TurnModel): Generate {
  return async ({ system, text }, { signal, maxTokens }) => {
    const context = contextFrom([{ role: "system", content: system, timestamp: 0 }, userMessage(text)]);
    const { value } = await project(context, model.target, { signal });
    const stream = await model.ask({ value, tools: [], isContinued: false, maxTokens, signal });
    const message = await stream.message();
    if (isBroken(message)) throw replyError(stream, message);
    return { text: messageText(message), ...(message.usage === undefined ? {} : { usage: message.usage }) };
  };
}

/** Throws a TypeError for another value than the official client that has this method, and without options. */
function assertClient(path: string, client: unknown, options: unknown): void {
  const method = path
    .split(".")
    .reduce((owner: unknown, key) => (owner as Record<string, unknown>)?.[key], client);
  if (typeof method !== "function")
    throw new TypeError(`client: expected the official client, with ${path}, got ${describe(client)}`);
  assertOptions(options, "{ model }");
}

/** The error of a reply that broke off. */
export function replyError(
  stream: ReplyStream,
  { errorMessage = "the reply broke off" }: AssistantMessage,
): unknown {
  return stream.error ?? new SessileError("REPLY_FAILED", errorMessage, { details: {} });
}

/** Options of every model here, beside those of its target. */
export interface AskOptions {
  /** The most tokens of a reply. @default 8192 */
  readonly maxTokens?: number;
  /** Members that each request has too, such as `thinking` or `temperature`. */
  readonly request?: Readonly<Record<string, unknown>>;
}

const defaultMaxTokens = 8192;

/** The method of Anthropic's client that is called; the clients for Bedrock and Vertex have it too. */
export interface AnthropicClient {
  readonly messages: {
    create(
      body: object,
      options: { signal: AbortSignal; headers?: Record<string, string> },
    ): PromiseLike<AsyncIterable<{ type: string }>>;
  };
}

const shapes = toolShapes<ToolDeclaration["schema"]>();

/**
 * A model behind Anthropic's client. With `continue: true` the API holds the conversation as a message thread.
 * @example
 * ```ts
 * import Anthropic from "@anthropic-ai/sdk";
 *
 * await runTurn(session, { model: anthropicModel(new Anthropic(), { model: "claude-opus-5-5" }) });
 * ```
 */
export function anthropicModel(
  client: AnthropicClient,
  options: AnthropicMessagesOptions & AskOptions,
): TurnModel<ReturnType<ReturnType<typeof anthropicMessages>["render"]>> {
  assertClient("messages.create", client, options);
  return {
    target: anthropicMessages(options),
    declare: (tools) => tools.map(shapes.anthropic),
    async ask({ value, tools, isContinued, signal, maxTokens = options.maxTokens ?? defaultMaxTokens }) {
      const { model, request } = options;
      // A thread keeps the tools of its first request.
      const declared = isContinued || tools.length === 0 ? {} : { tools };
      const body = { model, max_tokens: maxTokens, ...request, ...declared, ...value, stream: true };
      const betas = [
        ...(value.thread === undefined ? [] : [threads]),
        ...(value.messages.some((message) => "clear_at" in message) ? [clearing] : []),
      ];
      const beta = betas.length === 0 ? {} : { headers: { "anthropic-beta": betas.join(",") } };
      return anthropicStream(await client.messages.create(body, { signal, ...beta }), { ...options, signal });
    },
  };
}

const threads = "message-threads-2026-08-12";
const clearing = "mid-conversation-system-clear-at-2026-08-21";

/** The method of OpenAI's client that {@link openaiResponsesModel} calls. */
export interface OpenaiResponsesClient {
  readonly responses: {
    create(body: object, options: { signal: AbortSignal }): PromiseLike<AsyncIterable<{ type: string }>>;
  };
}

/** A model behind the Responses API of OpenAI's client. With `continue: true` the API holds the conversation. */
export function openaiResponsesModel(
  client: OpenaiResponsesClient,
  options: OpenaiResponsesOptions & AskOptions,
): TurnModel<ReturnType<ReturnType<typeof responsesTarget>["render"]>> {
  assertClient("responses.create", client, options);
  const isStored = options.continue === true || options.stored === true;
  // Reasoning that is not stored comes encrypted, and goes back so.
  const storage = isStored ? {} : { store: false, include: ["reasoning.encrypted_content"] };
  return {
    target: responsesTarget(options),
    declare: (tools) => tools.map(shapes.openaiResponses),
    async ask({ value, tools, signal, maxTokens = options.maxTokens ?? defaultMaxTokens }) {
      const { model, request } = options;
      const declared = tools.length === 0 ? {} : { tools };
      const body = { model, max_output_tokens: maxTokens, ...storage, ...request, ...declared, ...value };
      const events = await client.responses.create({ ...body, stream: true }, { signal });
      return openaiResponsesStream(events, { ...options, signal });
    },
  };
}

/** The method of OpenAI's client that {@link openaiChatModel} calls. */
export interface OpenaiChatClient {
  readonly chat: {
    readonly completions: {
      create(body: object, options: { signal: AbortSignal }): PromiseLike<AsyncIterable<object>>;
    };
  };
}

/** A model behind Chat Completions, of OpenAI or any compatible server. */
export function openaiChatModel(
  client: OpenaiChatClient,
  options: OpenaiChatOptions & AskOptions,
): TurnModel<ReturnType<ReturnType<typeof chatTarget>["render"]>> {
  assertClient("chat.completions.create", client, options);
  return {
    target: chatTarget(options),
    declare: (tools) => tools.map(shapes.openaiChat),
    async ask({ value, tools, signal, maxTokens = options.maxTokens }) {
      const { model, request } = options;
      const declared = tools.length === 0 ? {} : { tools };
      // Compatible servers name the limit in two ways, so that none is sent unless it is asked for.
      const limit = maxTokens === undefined ? {} : { max_completion_tokens: maxTokens };
      const body = {
        model,
        ...limit,
        stream_options: { include_usage: true },
        ...request,
        ...declared,
        ...value,
      };
      const chunks = await client.chat.completions.create({ ...body, stream: true }, { signal });
      return openaiChatStream(chunks, { ...options, signal });
    },
  };
}

/** The method of Google's client that {@link geminiModel} calls. */
export interface GeminiClient {
  readonly models: {
    generateContentStream(params: {
      model: string;
      contents: object[];
      config: object;
    }): PromiseLike<AsyncIterable<object>>;
  };
}

/** A model behind `generateContent` of Google's client. `request` has members of `config`. */
export function geminiModel(
  client: GeminiClient,
  options: GeminiContentsOptions & AskOptions,
): TurnModel<ReturnType<ReturnType<typeof geminiContents>["render"]>> {
  assertClient("models.generateContentStream", client, options);
  return {
    target: geminiContents(options),
    declare: (tools) => tools.map(shapes.gemini),
    async ask({ value, tools, signal, maxTokens = options.maxTokens ?? defaultMaxTokens }) {
      const { contents, ...instructions } = value;
      const declared = tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools }] };
      const config = { maxOutputTokens: maxTokens, ...options.request, ...declared, ...instructions };
      const params = { model: options.model, contents, config: { ...config, abortSignal: signal } };
      return geminiStream(await client.models.generateContentStream(params), { ...options, signal });
    },
  };
}

/** The method of Google's client that {@link geminiInteractionsModel} calls. */
export interface GeminiInteractionsClient {
  readonly interactions: {
    create(body: object, options: { signal: AbortSignal }): PromiseLike<AsyncIterable<object>>;
  };
}

/** A model behind the Interactions API of Google's client. With `continue: true` the API holds the conversation. */
export function geminiInteractionsModel(
  client: GeminiInteractionsClient,
  options: GeminiInteractionsOptions & AskOptions,
): TurnModel<ReturnType<ReturnType<typeof interactionsTarget>["render"]>> {
  assertClient("interactions.create", client, options);
  const storage = options.continue === true ? {} : { store: false };
  return {
    target: interactionsTarget(options),
    declare: (tools) =>
      tools.map(({ name, description, schema }) => ({
        type: "function",
        name,
        description,
        parameters: schema,
      })),
    async ask({ value, tools, signal, maxTokens = options.maxTokens ?? defaultMaxTokens }) {
      const { model, request } = options;
      const declared = tools.length === 0 ? {} : { tools };
      const generation_config = { max_output_tokens: maxTokens };
      const body = { model, generation_config, ...storage, ...request, ...declared, ...value, stream: true };
      const events = await client.interactions.create(body, { signal });
      return geminiInteractionStream(events as AsyncIterable<{ event_type: string }>, { ...options, signal });
    },
  };
}

/** The method of AWS's client that is called: `BedrockRuntime`, which has a method for each command. */
export interface BedrockClient {
  converseStream(
    input: object,
    options: { abortSignal: AbortSignal },
  ): PromiseLike<{ stream?: AsyncIterable<object> | undefined }>;
}

/** A model behind Converse of AWS's client `BedrockRuntime`. `request` has members of the command's input. */
export function bedrockModel(
  client: BedrockClient,
  options: BedrockConverseOptions & AskOptions,
): TurnModel<ReturnType<ReturnType<typeof bedrockConverse>["render"]>> {
  assertClient("converseStream", client, options);
  return {
    target: bedrockConverse(options),
    declare: (tools) => tools.map(shapes.bedrock),
    async ask({ value, tools, signal, maxTokens = options.maxTokens ?? defaultMaxTokens }) {
      const { model, request } = options;
      const declared = tools.length === 0 ? {} : { toolConfig: { tools } };
      const inferenceConfig = {
        maxTokens,
        ...(isRecord(request?.inferenceConfig) ? request.inferenceConfig : {}),
      };
      const input = { modelId: model, ...request, inferenceConfig, ...declared, ...value };
      return bedrockStream(await client.converseStream(input, { abortSignal: signal }), {
        ...options,
        signal,
      });
    },
  };
}
