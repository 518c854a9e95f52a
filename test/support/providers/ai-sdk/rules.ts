import { modelMessageSchema } from "ai";
import { z } from "zod";
import { isRecord } from "../../plain-values.js";
import { differences, loneSurrogates } from "../json-walk.js";
import type { ProviderRule } from "../rule.js";
import { fileRules } from "./file-rules.js";
import { type AiSdkCall, messagesOf, partsOf, resultPartsOf } from "./parts.js";
import { toolRules } from "./tool-rules.js";

const read = "(a stored copy, read 2026-11-21)";
const schema = z.array(modelMessageSchema);
const isBlank = (text: unknown): boolean => typeof text === "string" && !/\S/.test(text);

/** Rules of what is said. */
const textRules: readonly ProviderRule<AiSdkCall>[] = [
  {
    id: "schema",
    source: "modelMessageSchema of ai 7.0.173; https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message",
    check: ({ messages }) =>
      schema.safeParse(messages).error?.issues.map(({ path, message }) => ({
        path: ["messages", ...path].join("."),
        problem: message,
      })) ?? [],
  },
  {
    id: "nothing-unknown",
    source: "modelMessageSchema of ai 7.0.173 drops fields that it does not know",
    check: ({ messages }) => {
      const { success, data } = schema.safeParse(messages);
      return success ? differences(messages, data, "messages") : [];
    },
  },
  {
    id: "some-message",
    source: 'standardizePrompt of ai 7.0.173: "messages must not be empty"',
    check: ({ messages }) =>
      Array.isArray(messages) && messages.length === 0 ? [{ path: "messages", problem: "no message" }] : [],
  },
  {
    id: "system-apart",
    source: `ai 7 refuses system messages among the messages: https://ai-sdk.dev/v7/docs/reference/ai-sdk-core/model-message ${read}; ai 6 warns of them`,
    check: (call) =>
      messagesOf(call).flatMap(({ role }, at) =>
        role === "system" ? [{ path: `messages.${at}`, problem: "a system message" }] : [],
      ),
  },
  {
    id: "system-text",
    source:
      'standardizePrompt of ai 7.0.173: "system must be a string…"; a blank one is an empty text block for Anthropic',
    check: ({ system }) => {
      const text = isRecord(system) && system.role === "system" ? system.content : system;
      return text === undefined || (typeof text === "string" && !isBlank(text))
        ? []
        : [{ path: "system", problem: "no text" }];
    },
  },
  {
    id: "content",
    source:
      "convertToAnthropicMessagesPrompt of @ai-sdk/anthropic 3.0.138 sends a message without parts on as an empty one",
    check: (call) =>
      messagesOf(call).flatMap(({ content }, at) =>
        isBlank(content) || (Array.isArray(content) && content.length === 0)
          ? [{ path: `messages.${at}.content`, problem: "no content" }]
          : [],
      ),
  },
  {
    id: "text",
    source: `providers refuse a blank text: https://github.com/anthropics/claude-code/issues/23369 ${read}; ai 7.0.173 drops an empty one without a word`,
    check: (call) =>
      [...partsOf(call), ...resultPartsOf(call)]
        .filter(({ part }) => part.type === "text" && isBlank(part.text))
        .map(({ path }) => ({ path, problem: "a blank text" })),
  },
  {
    id: "reasoning",
    source:
      "convertToAnthropicMessagesPrompt of @ai-sdk/anthropic 3.0.138 drops reasoning without signature or redactedData",
    check: (call) =>
      partsOf(call)
        .filter(({ part }) => part.type === "reasoning" && /anthropic/.test(call.provider))
        .filter(({ part: { providerOptions } }) => {
          const own = isRecord(providerOptions) ? providerOptions.anthropic : undefined;
          return (
            !isRecord(own) || !(typeof own.signature === "string" || typeof own.redactedData === "string")
          );
        })
        .map(({ path }) => ({ path, problem: "reasoning without its signature" })),
  },
  {
    id: "utf-8",
    source:
      "https://www.rfc-editor.org/rfc/rfc8259 section 8.1: JSON between systems is UTF-8 (read 2026-11-21)",
    check: ({ system, messages }) => loneSurrogates({ system, messages }),
  },
];

/** What the AI SDK, and the providers behind it, ask of a call. */
export const aiSdkRules: readonly ProviderRule<AiSdkCall>[] = [...textRules, ...toolRules, ...fileRules];
