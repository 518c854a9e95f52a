/**
 * Types of messages that fit `ModelMessage` of the AI SDK 6 and 7. If a part has several forms, these types
 * use the one that both versions keep.
 *
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message and
 *   https://ai-sdk.dev/v7/docs/reference/ai-sdk-core/model-message (stored copies, read 2026-11-21)
 */

import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";

/** A JSON value. */
export type AiSdkJson =
  | null
  | string
  | number
  | boolean
  | { [key: string]: AiSdkJson | undefined }
  | AiSdkJson[];

/** Options for providers, by the provider's name. */
export type AiSdkProviderOptions = { [provider: string]: { [key: string]: AiSdkJson | undefined } };

/** Provider options, which any part may carry. */
export type AiSdkWithOptions = { providerOptions?: AiSdkProviderOptions };

/** Text. */
export type AiSdkTextPart = { type: "text"; text: string } & AiSdkWithOptions;

/** An image or a document, as base64. */
export type AiSdkFilePart = {
  type: "file";
  mediaType: string;
  data: string;
  filename?: string;
} & AiSdkWithOptions;

/** Reasoning; its signature is among the options. */
export type AiSdkReasoningPart = { type: "reasoning"; text: string } & AiSdkWithOptions;

/** A request by the model to run a tool. */
export type AiSdkToolCallPart = {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: boolean;
} & AiSdkWithOptions;

/** Content of a tool's result, if it is more than text. */
export type AiSdkResultPart =
  | { type: "text"; text: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string; filename?: string };

/** The output of a tool. */
export type AiSdkToolOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "json"; value: AiSdkJson }
  | { type: "error-json"; value: AiSdkJson }
  | { type: "content"; value: AiSdkResultPart[] };

/** The answer to a call. */
export type AiSdkToolResultPart = {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: AiSdkToolOutput;
} & AiSdkWithOptions;

/** Instructions. */
export type AiSdkSystemMessage = { role: "system"; content: string } & AiSdkWithOptions;

/** A message of the user. */
export type AiSdkUserMessage = { role: "user"; content: (AiSdkTextPart | AiSdkFilePart)[] };

/** A message of the model. */
export type AiSdkAssistantMessage = {
  role: "assistant";
  content: (AiSdkTextPart | AiSdkFilePart | AiSdkReasoningPart | AiSdkToolCallPart | AiSdkToolResultPart)[];
};

/** Results of tools. */
export type AiSdkToolMessage = { role: "tool"; content: AiSdkToolResultPart[] };

/** A message; instructions are apart. */
export type AiSdkMessage = AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage;

/** The part of a `generateText` call that a projection writes. The AI SDK 7 calls `system` `instructions`. */
export type AiSdkMessages = { system?: string | AiSdkSystemMessage; messages: AiSdkMessage[] };

/** A part of a message of the model. */
export type AiSdkAssistantPart = AiSdkAssistantMessage["content"][number];

/**
 * Whether an opaque block is a part of an AI SDK message: a file, a provider's own part, a request for an
 * approval, a call or result of a tool that the provider ran, or metadata on a text without words. The types
 * lack some of these, since those of version 6 do.
 */
export function isOwnPart(data: unknown): data is AiSdkAssistantPart {
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
export function signatureOptions(signature: string | undefined): AiSdkProviderOptions | undefined {
  if (signature === undefined) return undefined;
  const options = parseJson(signature);
  return isProviderOptions(options) ? options : undefined;
}

function isProviderOptions(value: unknown): value is AiSdkProviderOptions {
  return isRecord(value) && Object.values(value).every(isRecord);
}
