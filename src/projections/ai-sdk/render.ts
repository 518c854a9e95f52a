import { copyJson } from "../../internal/copy-json.js";
import { DocumentNames } from "../media-part.js";
import type { RenderTools } from "../target.js";
import type { AssistantTurn, NeutralRequest, Part, SaidPart, UserTurn } from "../turns.js";
import type { Family } from "./families.js";
import type { AiSdkMessage, AiSdkMessages, AiSdkProviderOptions, AiSdkToolResultPart } from "./messages.js";
import { type AssistantPart, isOwnPart } from "./own-part.js";
import { optionsOf } from "./provider-options.js";
import { outputOf, userPart } from "./shown.js";

/**
 * A request as messages, with cache markers where the provider's options can hold some. Nothing is marked: a refusal names a place
 * in the provider's own request, which is another one in these messages.
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
  const marked = writer.options(last);
  return "providerOptions" in marked
    ? { system: { role: "system", content, ...marked }, messages }
    : { system: content, messages };
}

class MessageWriter {
  readonly #tools: RenderTools;
  readonly #cacheKey: string | undefined;
  /** Where the provider has a rule for these. */
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
        const output = outputOf(result, this.#tools, this.#names);
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
    const content = parts.flatMap((part) => this.#said(part) ?? []);
    return content.length === 0 ? [] : [{ role: "assistant", content }];
  }

  /** What a provider had marked a part with, and a cache marker where one belongs. */
  options(part: Part, own?: AiSdkProviderOptions): { providerOptions?: AiSdkProviderOptions } {
    const key = this.#cacheKey;
    if (key === undefined || !this.#tools.endsCache(part)) {
      return own === undefined ? {} : { providerOptions: own };
    }
    return { providerOptions: { ...own, [key]: { ...own?.[key], cacheControl: { type: "ephemeral" } } } };
  }

  #said(part: SaidPart): AssistantPart | undefined {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text, ...this.options(part, optionsOf(part.signature)) };
      case "reasoning": {
        const providerOptions = optionsOf(part.signature);
        if (providerOptions !== undefined) return { type: "reasoning", text: part.text, providerOptions };
        this.#tools.lose(part, {
          code: "reasoning",
          by: "history",
          reason: "its signature is not of this kind",
        });
        return undefined;
      }
      case "call": {
        const { id: toolCallId, name: toolName } = part;
        const input = copyJson(part.arguments);
        const own = optionsOf(part.signature);
        return { type: "tool-call", toolCallId, toolName, input, ...this.options(part, own) };
      }
      case "opaque":
        if (isOwnPart(part.data)) return structuredClone(part.data);
        this.#tools.lose(part, { code: "opaque", by: "history", reason: "no part of a message" });
        return undefined;
    }
  }
}
