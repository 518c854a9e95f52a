/** Reads a reply of the AI SDK as an assistant message. */

import { type AssistantMessage, assistantMessage, type StopReason, type Usage } from "../../content/index.js";
import { copyJson, copyJsonObject } from "../../internal/json.js";
import { array, custom, isRecord, joinPath, object, string } from "../../internal/shape.js";
import { modelNames } from "../model-ref.js";
import { assertReply, countOf, countsIn, given } from "../reply-shape.js";
import { modelRefOf } from "./families.js";
import { signatureOf } from "./messages.js";

/** A step of `generateText` or `streamText`, as far as it is read. */
export interface AiSdkStep {
  readonly model: { readonly provider: string; readonly modelId: string };
  /** Content that the model generated; used to check that a step is not empty. */
  readonly content: readonly { readonly type: string }[];
  readonly finishReason: string;
  readonly usage: {
    readonly inputTokens: number | undefined;
    readonly inputTokenDetails?: {
      readonly noCacheTokens: number | undefined;
      readonly cacheReadTokens: number | undefined;
      readonly cacheWriteTokens: number | undefined;
    };
    readonly outputTokens: number | undefined;
    readonly totalTokens: number | undefined;
  };
  readonly response: {
    /** The model that answered. */
    readonly modelId?: string;
    /** Messages of this step and of all steps before it. */
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  };
}

/** A step, or a result whose last step is meant. */
export type AiSdkReply = AiSdkStep | { readonly steps: readonly AiSdkStep[] };

/** Options of {@link readAiSdkReply}. */
export interface ReadAiSdkReplyOptions {
  /** The account, if the harness has several with one provider. */
  readonly account?: string;
}

const stepFields = {
  model: object({ provider: string, modelId: string }),
  content: array(object({})),
  finishReason: given(string),
  response: object({ messages: array(object({})) }),
};
const stepShape = object(stepFields);
/** Only the last step is read. */
const result = object({
  steps: custom((value) => {
    if (!Array.isArray(value) || value.length === 0) return { path: "", expected: "an array with a step" };
    const problem = stepShape(value.at(-1));
    return problem && { path: joinPath(`[${value.length - 1}]`, problem.path), expected: problem.expected };
  }),
});

type Block = AssistantMessage["content"][number];

/**
 * Reads a reply of the AI SDK as a message of a session. A projection to the same model sends it back
 * unchanged: provider metadata is kept as signatures, provider-executed tools as opaque blocks. Of a result
 * the last step is read. If a call had several steps, read each of `result.steps`, with the results of the
 * tools between them.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member; also for a result without a
 *   step
 * @example
 * ```ts
 * const reply = readAiSdkReply({
 *   model: { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" },
 *   content: [{ type: "text" }],
 *   finishReason: "stop",
 *   usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
 *   response: { messages: [{ role: "assistant", content: [{ type: "text", text: "hi" }] }] },
 * });
 * reply.provider; // "anthropic"
 * ```
 */
export function readAiSdkReply(reply: AiSdkReply, options: ReadAiSdkReplyOptions = {}): AssistantMessage {
  const isResult = isRecord(reply) && "steps" in reply;
  assertReply(reply, isResult ? result : stepShape);
  const step = (
    isResult ? (reply as { readonly steps: readonly AiSdkStep[] }).steps.at(-1) : reply
  ) as AiSdkStep;
  const { provider, model: asked, api } = modelRefOf(step.model.provider, step.model.modelId);
  const { finishReason } = step;
  const stopReason = stopReasons.get(finishReason) ?? "stop";
  // Not as arguments: a reply may have more blocks than a call takes.
  const message = {
    ...assistantMessage({
      provider,
      ...modelNames(asked, step.response.modelId),
      api,
      usage: aiSdkUsage(step),
      stopReason,
      ...(stopReason === "error" ? { errorMessage: finishReason } : {}),
    }),
    content: blocksOf(step),
  };
  return options.account === undefined ? message : { ...message, account: options.account };
}

const stopReasons: ReadonlyMap<string, StopReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["tool-calls", "toolUse"],
  ["content-filter", "error"],
  ["error", "error"],
]);

function aiSdkUsage({ usage }: AiSdkStep): Usage {
  const tokens = countsIn(usage);
  const details = countsIn(tokens.inputTokenDetails);
  const inputTokens = countOf(tokens.inputTokens) ?? 0;
  const output = countOf(tokens.outputTokens) ?? 0;
  const cacheRead = countOf(details.cacheReadTokens) ?? 0;
  const cacheWrite = countOf(details.cacheWriteTokens) ?? 0;
  const input = countOf(details.noCacheTokens) ?? Math.max(0, inputTokens - cacheRead - cacheWrite);
  const totalTokens = countOf(tokens.totalTokens) ?? inputTokens + output;
  return { input, output, cacheRead, cacheWrite, totalTokens };
}

function blocksOf({ content, response }: AiSdkStep): readonly Block[] {
  // The messages are those of all steps so far: after an empty step the last message would be that of the
  // step before.
  if (!content.some(isKept)) return [];
  const parts = response.messages.findLast(({ role }) => role === "assistant")?.content;
  if (typeof parts === "string") return parts === "" ? [] : [{ type: "text", text: parts }];
  return Array.isArray(parts) ? parts.flatMap((part: unknown) => blockOf(part)) : [];
}

/**
 * Whether a content part belongs in the assistant message: not sources, empty text or results of the client's
 * tools.
 */
function isKept(part: {
  readonly type: string;
  readonly text?: string;
  readonly providerExecuted?: boolean;
}): boolean {
  switch (part.type) {
    case "source":
      return false;
    case "text":
      return part.text !== "";
    case "tool-result":
    case "tool-error":
      return part.providerExecuted === true;
    default:
      return true;
  }
}

function blockOf(part: unknown): readonly Block[] {
  if (!isRecord(part)) return [];
  const { type, text } = part;
  const signature = signatureOf(part.providerOptions);
  if (type === "text" && typeof text === "string") {
    return [{ type, text, ...(signature === undefined ? {} : { textSignature: signature }) }];
  }
  if (type === "reasoning" && typeof text === "string") {
    const signed = signature === undefined ? {} : { thinkingSignature: signature };
    return [{ type: "thinking", thinking: text, ...signed, ...(text === "" ? { redacted: true } : {}) }];
  }
  const { toolCallId, toolName } = part;
  if (type === "tool-call" && part.providerExecuted !== true) {
    if (typeof toolCallId !== "string" || typeof toolName !== "string") return [];
    const signed = signature === undefined ? {} : { thoughtSignature: signature };
    return [{ type: "toolCall", id: toolCallId, name: toolName, arguments: copyJson(part.input), ...signed }];
  }
  // The SDK writes absent members out.
  return [{ type: "opaque", data: copyJsonObject(part) }];
}
