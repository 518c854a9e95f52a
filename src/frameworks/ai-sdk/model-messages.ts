/**
 * The target of model messages of the AI SDK: the request, its rendering, and types that fit `ModelMessage`
 * of the versions 6 and 7.
 */

import { blockTexts, opaqueWords, withMedia } from "../../content/internal.js";
import type { LimitProfile } from "../../content/limits/index.js";
import { describe, stringArgument } from "../../core/arguments.js";
import { copyJson, parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type {
  AssistantPart,
  AssistantTurn,
  MediaPart,
  NeutralRequest,
  Part,
  RenderTools,
  ResultPart,
  Target,
  TargetMedia,
  UserPart,
  UserTurn,
} from "../../providers/index.js";
import { DocumentNames, isTextual, mediaFor } from "../../providers/internal.js";
import { modelFacts } from "../../providers/models/internal.js";
import { type Family, providerFamily, toModelRef } from "./families.js";

/** The identity that a model object of the AI SDK carries. */
export interface AiSdkModel {
  /** Such as `anthropic.messages`. */
  readonly provider: string;
  readonly modelId: string;
}

/** Options of {@link aiSdkMessages}. */
export interface AiSdkMessagesOptions {
  /** The model that the messages are for: the object that `generateText` takes. */
  readonly model: AiSdkModel;
  /** The account, if the harness has several with one provider. */
  readonly account?: string;
  /** Media types that the provider accepts; overrides the built-in table. */
  readonly accepts?: TargetMedia;
  /** Limits in place of the provider's. */
  readonly profile?: LimitProfile;
  /** The model's context window in tokens. Without it the limits of models with a small window apply. */
  readonly contextWindow?: number;
}

/**
 * Projects to messages of the AI SDK, versions 6 and 7. A table by provider and model name lists the media
 * that each provider package converts. For an unknown provider only images from a user are sent: a converter
 * throws on other media or writes base64 as text.
 *
 * @throws TypeError for a model without a provider or an id
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (a stored copy, read 2026-11-21)
 * @example
 * ```ts
 * const model = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
 * const { value } = await project(contextFrom([userMessage("hi")]), aiSdkMessages({ model }));
 * value.messages; // [{ role: "user", content: [{ type: "text", text: "hi" }] }]
 * ```
 */
export function aiSdkMessages(options: AiSdkMessagesOptions): Target<AiSdkMessages> {
  const { provider, modelId } = modelArgument(options?.model);
  const family = providerFamily(provider, modelId);
  const { account, accepts = mediaFor(modelId, provider, family.accepts), contextWindow } = options;
  const limits = options.profile === undefined ? family.limits : { profile: options.profile };
  return {
    name: "ai-sdk-messages",
    model: { ...toModelRef(provider, modelId), ...(account === undefined ? {} : { account }) },
    accepts,
    rules: {
      ...(family.callId === undefined ? {} : { callId: family.callId }),
      ...(family.toolName === undefined ? {} : { toolName: family.toolName }),
      bindsReasoning: modelFacts(modelId).bindsReasoning === true,
      opaqueMedia,
    },
    ...(limits === undefined
      ? {}
      : { limits: { ...limits, ...(contextWindow === undefined ? {} : { contextWindow }) } }),
    ...(family.estimate === undefined ? {} : { estimate: family.estimate }),
    ...(family.cacheKey === undefined ? {} : { maxCacheMarkers: 4 }),
    embedsBase64: true,
    render: (request, tools) => renderMessages(request, tools, family),
  };
}

/** The identity of a model. Throws TypeError for a value without one. */
export function modelArgument(model: AiSdkModel): AiSdkModel {
  if (typeof model !== "object" || model === null) {
    throw new TypeError(`model: expected a model of the AI SDK, got ${describe(model)}`);
  }
  const provider = stringArgument("model.provider", model.provider);
  return { provider, modelId: stringArgument("model.modelId", model.modelId) };
}

/** A file with a signature, and the result of a tool that the provider ran, go back in every turn. */
function opaqueMedia(data: unknown): "always" | "replayed" | "never" {
  const part = withMedia(data, () => "");
  if (!isOwnPart(part)) return "never";
  const { type }: { readonly type: string } = part;
  const isFile = type === "file" || type === "reasoning-file";
  return isFile && readSignature(part.providerOptions) === undefined ? "replayed" : "always";
}

// Renders a request as messages of the AI SDK.

/**
 * Renders a request as messages, with cache markers if the provider's options can hold them. Records no
 * trace: a provider's error path refers to the provider's own request, not to these messages.
 */
function renderMessages(
  { system, turns }: NeutralRequest,
  tools: RenderTools,
  family: Pick<Family, "cacheKey" | "namesDocuments">,
): AiSdkMessages {
  const writer = new MessageWriter(tools, family);
  const messages = turns.flatMap((turn) =>
    turn.role === "user" ? writer.userSide(turn) : writer.assistantSide(turn),
  );
  const last = system.at(-1);
  if (last === undefined) return { messages };
  const content = system.map(({ text }) => text).join("\n\n");
  const systemOptions = writer.options(last);
  return "providerOptions" in systemOptions
    ? { system: { role: "system", content, ...systemOptions }, messages }
    : { system: content, messages };
}

class MessageWriter {
  readonly #tools: RenderTools;
  readonly #cacheKey: string | undefined;
  /** Undefined if the provider has no rule for document names. */
  readonly #names: DocumentNames | undefined;

  constructor(tools: RenderTools, { cacheKey, namesDocuments }: Pick<Family, "cacheKey" | "namesDocuments">) {
    this.#tools = tools;
    this.#cacheKey = cacheKey;
    this.#names = namesDocuments === true ? new DocumentNames() : undefined;
  }

  userSide({ results, parts }: UserTurn): AiSdkMessage[] {
    const messages: AiSdkMessage[] = [];
    if (results.length > 0) {
      const content = results.map((result): AiSdkToolResultPart => {
        const { callId: toolCallId, name: toolName } = result;
        const output = toolOutput(result, this.#tools, this.#names);
        const part = { type: "tool-result" as const, toolCallId, toolName, output };
        return { ...part, ...this.options(result) };
      });
      messages.push({ role: "tool", content });
    }
    if (parts.length > 0) {
      const content = parts.map((part) => ({
        ...userPart(part, this.#tools, this.#names),
        ...this.options(part),
      }));
      messages.push({ role: "user", content });
    }
    return messages;
  }

  assistantSide({ parts }: AssistantTurn): AiSdkMessage[] {
    const content = parts.flatMap((part) => this.#assistantPart(part) ?? []);
    return content.length === 0 ? [] : [{ role: "assistant", content }];
  }

  /** A part's stored provider options, and a cache marker if the cached prefix ends here. */
  options(part: Part, own?: AiSdkProviderOptions): { providerOptions?: AiSdkProviderOptions } {
    const key = this.#cacheKey;
    if (key === undefined || !this.#tools.endsCache(part)) {
      return own === undefined ? {} : { providerOptions: own };
    }
    return { providerOptions: { ...own, [key]: { ...own?.[key], cacheControl: { type: "ephemeral" } } } };
  }

  #assistantPart(part: AssistantPart): AiSdkAssistantPart | undefined {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text, ...this.options(part, signatureOptions(part.signature)) };
      case "reasoning": {
        const providerOptions = signatureOptions(part.signature);
        if (providerOptions !== undefined) return { type: "reasoning", text: part.text, providerOptions };
        this.#drop(part, "reasoning", "its signature is of another kind");
        return undefined;
      }
      case "call": {
        const { id: toolCallId, name: toolName } = part;
        const input = copyJson(part.arguments);
        const own = signatureOptions(part.signature);
        return { type: "tool-call", toolCallId, toolName, input, ...this.options(part, own) };
      }
      case "opaque": {
        if (isOwnPart(part.data)) return structuredClone(part.data);
        if (isSource(part.data)) return undefined;
        this.#drop(part, "opaque", "the data is no part of an AI SDK message");
        const words = opaqueWords(part.data);
        return words === "" ? undefined : { type: "text", text: words };
      }
    }
  }

  #drop(part: Part, code: "reasoning" | "opaque", reason: string): void {
    this.#tools.reportLoss(part, { code, by: code === "opaque" ? "target" : "history", reason });
  }
}

/** Whether data is a source, which the SDK shows and sends to no provider: to its own model nothing is lost. */
function isSource(data: unknown): boolean {
  return isRecord(data) && (data.type === "source-url" || data.type === "source-document");
}

/** Replaces a document of zero bytes, which providers refuse. */
const emptyDocument = "[an empty document]";
/** Precedes the content of a failed result, if the result has no other way to signal an error. */
const errorHeading = "[error]";

/** Media and text in a message of the user. */
function userPart(part: UserPart, tools: RenderTools, names?: DocumentNames): AiSdkTextPart | AiSdkFilePart {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "reference") throw referenceRefused();
  if (part.bytes.length === 0) return { type: "text", text: emptied(part, tools) };
  // Converters accept `text/plain` as the only text type, so all text files are sent as it.
  const mediaType = isTextual(part.mediaType) ? "text/plain" : part.mediaType;
  return { type: "file", mediaType, data: part.base64, ...filename(part, names) };
}

/**
 * The output of a tool. A result of text alone is text: converters for Chat Completions write any other
 * content as JSON. Images are sent as images, not as files: the Anthropic converter of version 6 drops files.
 */
function toolOutput(
  { parts, isError }: ResultPart,
  tools: RenderTools,
  names?: DocumentNames,
): AiSdkToolOutput {
  const value = parts.map((part): AiSdkResultPart => {
    if (part.type === "text") return { type: "text", text: part.text };
    if (part.type === "reference") throw referenceRefused();
    if (part.bytes.length === 0) return { type: "text", text: emptied(part, tools) };
    const { base64: data, mediaType } = part;
    if (part.kind === "image") return { type: "image-data", data, mediaType };
    return { type: "file-data", data, mediaType, ...filename(part, names) };
  });
  const texts = blockTexts(value);
  if (texts.length === value.length) {
    return { type: isError ? "error-text" : "text", value: texts.join("\n") };
  }
  return { type: "content", value: isError ? [{ type: "text", text: errorHeading }, ...value] : value };
}

function filename(part: MediaPart, names: DocumentNames | undefined): { filename?: string } {
  const { name, kind } = part;
  if (names !== undefined && kind === "document") return { filename: names.nameFor(part) };
  const fileName = name?.toWellFormed() ?? "";
  return /\S/.test(fileName) ? { filename: fileName } : {};
}

function emptied(part: MediaPart, tools: RenderTools): string {
  const reason = "it has no bytes";
  tools.reportLoss(part, { code: "invalid", by: "history", reason, instead: emptyDocument });
  return emptyDocument;
}

function referenceRefused(): TypeError {
  return new TypeError("part.type: expected text or media, got a reference, which this target refuses");
}

// Types of messages that fit `ModelMessage` of the AI SDK 6 and 7. If a part has several forms, these types
// use the one that both versions keep.
//
// @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message and
//   https://ai-sdk.dev/v7/docs/reference/ai-sdk-core/model-message (stored copies, read 2026-11-21)

/** A JSON value. */
type AiSdkJson = null | string | number | boolean | { [key: string]: AiSdkJson | undefined } | AiSdkJson[];

/** Options for providers, by the provider's name. */
export type AiSdkProviderOptions = { [provider: string]: { [key: string]: AiSdkJson | undefined } };

/** Provider options, which any part may carry. */
export type AiSdkWithOptions = { providerOptions?: AiSdkProviderOptions };

/** Text. */
type AiSdkTextPart = { type: "text"; text: string } & AiSdkWithOptions;

/** An image or a document, as base64. */
type AiSdkFilePart = {
  type: "file";
  mediaType: string;
  data: string;
  filename?: string;
} & AiSdkWithOptions;

/** Reasoning; its signature is among the options. */
type AiSdkReasoningPart = { type: "reasoning"; text: string } & AiSdkWithOptions;

/** A request by the model to run a tool. */
type AiSdkToolCallPart = {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: boolean;
} & AiSdkWithOptions;

/** Content of a tool's result, if it is more than text. */
type AiSdkResultPart =
  | { type: "text"; text: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string; filename?: string };

/** The output of a tool. */
type AiSdkToolOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "json"; value: AiSdkJson }
  | { type: "error-json"; value: AiSdkJson }
  | { type: "content"; value: AiSdkResultPart[] };

/** The answer to a call. */
type AiSdkToolResultPart = {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: AiSdkToolOutput;
} & AiSdkWithOptions;

/** Instructions. */
type AiSdkSystemMessage = { role: "system"; content: string } & AiSdkWithOptions;

/** A message of the user. */
type AiSdkUserMessage = { role: "user"; content: (AiSdkTextPart | AiSdkFilePart)[] };

/** A message of the model. */
type AiSdkAssistantMessage = {
  role: "assistant";
  content: (AiSdkTextPart | AiSdkFilePart | AiSdkReasoningPart | AiSdkToolCallPart | AiSdkToolResultPart)[];
};

/** Results of tools. */
type AiSdkToolMessage = { role: "tool"; content: AiSdkToolResultPart[] };

/** A message; instructions are apart. */
type AiSdkMessage = AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage;

/** The part of a `generateText` call that a projection writes. The AI SDK 7 calls `system` `instructions`. */
export type AiSdkMessages = { system?: string | AiSdkSystemMessage; messages: AiSdkMessage[] };

/** A part of a message of the model. */
type AiSdkAssistantPart = AiSdkAssistantMessage["content"][number];

/**
 * Whether an opaque block is a part of an AI SDK message: a file, a provider's own part, a request for an
 * approval, a call or result of a tool that the provider ran, or metadata on a text without words. The types
 * lack some of these, since those of version 6 do.
 */
function isOwnPart(data: unknown): data is AiSdkAssistantPart {
  if (!isRecord(data)) return false;
  const { type, toolCallId, toolName } = data;
  switch (type) {
    case "file":
    case "reasoning-file":
      return typeof data.data === "string" && typeof data.mediaType === "string";
    case "text":
      return data.text === "" && isProviderOptions(data.providerOptions);
    case "custom":
      return typeof data.kind === "string";
    case "tool-approval-request":
      return typeof data.approvalId === "string" && typeof toolCallId === "string";
    case "tool-call":
      return data.providerExecuted === true && typeof toolCallId === "string" && typeof toolName === "string";
    case "tool-result":
      return isRecord(data.output) && typeof toolCallId === "string" && typeof toolName === "string";
    default:
      return false;
  }
}

/**
 * A provider's metadata of a part (signatures, ids of items) as text for a block of a session. Undefined if
 * it is empty.
 */
export function readSignature(options: unknown): string | undefined {
  return isRecord(options) && Object.keys(options).length > 0 ? JSON.stringify(options) : undefined;
}

/** The inverse of {@link readSignature}; undefined for any other text. */
function signatureOptions(signature: string | undefined): AiSdkProviderOptions | undefined {
  if (signature === undefined) return undefined;
  const options = parseJson(signature);
  return isProviderOptions(options) ? options : undefined;
}

function isProviderOptions(value: unknown): value is AiSdkProviderOptions {
  return isRecord(value) && Object.values(value).every(isRecord);
}
