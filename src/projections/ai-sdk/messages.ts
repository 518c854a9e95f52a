import { isRecord } from "../../internal/shape.js";

/**
 * Messages as `ModelMessage` of the AI SDK 6 and 7 both have them: of the forms that a part can have, those that neither drops.
 *
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message and
 *   https://ai-sdk.dev/v7/docs/reference/ai-sdk-core/model-message (stored copies, read 2026-11-21)
 */

/** A JSON value. */
export type AiSdkJson =
  | null
  | string
  | number
  | boolean
  | { [key: string]: AiSdkJson | undefined }
  | AiSdkJson[];

/** What is for one provider, under its name. */
export type AiSdkProviderOptions = { [provider: string]: { [key: string]: AiSdkJson | undefined } };

/** What any part may carry for its provider. */
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

/** What a tool's result shows, where it is more than text. */
export type AiSdkResultPart =
  | { type: "text"; text: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string; filename?: string };

/** What a tool gave back. */
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

/** What the user said. */
export type AiSdkUserMessage = { role: "user"; content: (AiSdkTextPart | AiSdkFilePart)[] };

/** What the model said. */
export type AiSdkAssistantMessage = {
  role: "assistant";
  content: (AiSdkTextPart | AiSdkFilePart | AiSdkReasoningPart | AiSdkToolCallPart | AiSdkToolResultPart)[];
};

/** What tools gave back. */
export type AiSdkToolMessage = { role: "tool"; content: AiSdkToolResultPart[] };

/** A message; instructions are apart. */
export type AiSdkMessage = AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage;

/** The part of a call of `generateText` that a projection makes. For the AI SDK 7 `system` is `instructions`. */
export type AiSdkMessages = { system?: string | AiSdkSystemMessage; messages: AiSdkMessage[] };

/** A part of what the model said. */
export type AssistantPart = AiSdkAssistantMessage["content"][number];

/** Whether an opaque block is a part that a message of the AI SDK can hold: a file, or what the provider ran itself. */
export function isOwnPart(data: unknown): data is AssistantPart {
  if (!isRecord(data)) return false;
  const { type, toolCallId, toolName } = data;
  switch (type) {
    case "file":
      return typeof data.data === "string" && typeof data.mediaType === "string";
    case "tool-call":
      return data.providerExecuted === true && typeof toolCallId === "string" && typeof toolName === "string";
    case "tool-result":
      return isRecord(data.output) && typeof toolCallId === "string" && typeof toolName === "string";
    default:
      return false;
  }
}

/**
 * What a provider marked a part with, as text that a message of a session can hold: signatures, ids of items. Undefined where
 * there is nothing.
 */
export function signatureOf(options: unknown): string | undefined {
  return isRecord(options) && Object.keys(options).length > 0 ? JSON.stringify(options) : undefined;
}

/** The inverse of {@link signatureOf}; undefined for any other text. */
export function optionsOf(signature: string | undefined): AiSdkProviderOptions | undefined {
  if (signature === undefined) return undefined;
  try {
    const options: unknown = JSON.parse(signature);
    return isProviderOptions(options) ? options : undefined;
  } catch {
    return undefined;
  }
}

function isProviderOptions(value: unknown): value is AiSdkProviderOptions {
  return isRecord(value) && Object.values(value).every(isRecord);
}
