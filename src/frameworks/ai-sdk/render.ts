/** Renders a request as messages of the AI SDK. */

import { blockTexts, opaqueWords } from "../../content/internal.js";
import { copyJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type {
  AssistantPart,
  AssistantTurn,
  MediaPart,
  NeutralRequest,
  Part,
  RenderTools,
  ResultPart,
  UserPart,
  UserTurn,
} from "../../providers/index.js";
import { DocumentNames, isTextual } from "../../providers/internal.js";
import type { Family } from "./families.js";
import {
  type AiSdkAssistantPart,
  type AiSdkFilePart,
  type AiSdkMessage,
  type AiSdkMessages,
  type AiSdkProviderOptions,
  type AiSdkResultPart,
  type AiSdkTextPart,
  type AiSdkToolOutput,
  type AiSdkToolResultPart,
  isOwnPart,
  signatureOptions,
} from "./messages.js";

/**
 * Renders a request as messages, with cache markers if the provider's options can hold them. Records no
 * trace: a provider's error path refers to the provider's own request, not to these messages.
 */
export function renderMessages(
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
