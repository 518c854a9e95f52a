/** Reads a reply of the Interactions API as an assistant message. */

import { type AssistantMessage, assistantMessage, type Usage } from "../../content/index.js";
import { stringArgument } from "../../core/arguments.js";
import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import { copyJsonObject } from "../../core/json.js";
import { array, isRecord, nonEmptyString, object, string } from "../../core/shape.js";
import {
  assertReply,
  blockFields,
  countsIn,
  given,
  holdsMedia,
  isSignature,
  type ReplyEnding,
  readCount,
  replyEnd,
  replyEnding,
  replyFields,
  usageFields,
} from "../reply-shape.js";
import { modelNames } from "../target.js";
import { interactionsApi, outputBlock, printOutputMetadata, serverIds } from "./interaction-steps.js";
import { summaryText } from "./interactions.js";
import type { ReadGeminiReplyOptions } from "./reply.js";
import { generatedCallId } from "./target.js";

/** An interaction, as far as it is read. The official client's fits. */
export interface GeminiInteraction {
  /** Empty if the interaction is not stored. */
  readonly id?: string | undefined;
  readonly model?: string | undefined;
  readonly agent?: string | undefined;
  /** ISO 8601. */
  readonly created?: string | undefined;
  readonly status?: string | undefined;
  readonly steps?: readonly { readonly type: string }[] | undefined;
  readonly errors?: readonly GeminiInteractionError[] | undefined;
  readonly usage?:
    | {
        readonly total_input_tokens?: number | undefined;
        readonly total_cached_tokens?: number | undefined;
        readonly total_output_tokens?: number | undefined;
        readonly total_thought_tokens?: number | undefined;
        readonly total_tool_use_tokens?: number | undefined;
        readonly total_tokens?: number | undefined;
      }
    | undefined;
}

/** An error of an interaction that failed. */
interface GeminiInteractionError {
  /** Such as `image_safety`. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** The shape of the members that are read, of an interaction and of one in a stream's event. */
export const interactionFields = {
  id: given(string),
  model: given(string),
  agent: given(string),
  created: given(string),
  status: given(string),
  steps: given(array(object({}))),
  errors: given(array(object({ code: given(string), message: given(string) }))),
};

type Block = AssistantMessage["content"][number];
type Step = Readonly<Record<string, unknown>>;

/**
 * Reads an interaction of the official client as a message of a session, which {@link geminiInteractions} sends back
 * unchanged. A thought has its signature, and a call its own. Each text of an output is a text; other contents,
 * steps of the API's own tools, and steps of unknown types are kept whole. So are the members of the interaction that
 * do not repeat the request. Steps of the request, which a stored interaction has too, are left out.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member; also for `model`, if neither the
 *   reply nor the options name one.
 * @throws TypeError if the `model` option is no string.
 * @see https://ai.google.dev/gemini-api/docs/interactions (stored copy, 2026-11-28)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), geminiInteractions({ model }), { blobs });
 * const reply = await client.interactions.create({ model, store: false, ...value });
 * await session.appendMessage(readGeminiInteraction(reply, { model }));
 * ```
 */
export function readGeminiInteraction(
  reply: GeminiInteraction,
  options: ReadGeminiReplyOptions = {},
): AssistantMessage {
  const { model: named, provider = "google", account } = options;
  const isNamed = named !== undefined || typeof (reply as GeminiInteraction | null)?.agent === "string";
  assertReply(reply, object(isNamed ? interactionFields : { ...interactionFields, model: nonEmptyString }));
  const asked = named === undefined ? undefined : stringArgument("model", named);
  const content = stepBlocks((reply.steps ?? []) as readonly Step[]);
  const { refused, ...ending } = readEnding(reply, content);
  const created = Date.parse(reply.created ?? "");
  // Not as arguments: a reply may have more blocks than a call takes.
  return {
    ...assistantMessage({
      provider,
      ...modelNames(asked, reply.model ?? reply.agent),
      api: interactionsApi,
      usage: interactionUsage(reply),
      ...ending,
    }),
    content,
    ...(Number.isFinite(created) ? { timestamp: created } : {}),
    ...(refused === undefined ? {} : { refused }),
    ...replyFields(
      {
        ...reply,
        id: reply.id === "" ? undefined : reply.id,
        ...usageFields("usage", reply.usage, ...usageMembers),
      },
      ...readMembers,
      ...requestMembers,
    ),
    ...(account === undefined ? {} : { account }),
  };
}

/** Members that the message has, or that the official client adds. */
const readMembers = [
  ...["object", "role", "model", "created", "steps", "sdkHttpResponse"],
  ...["output_text", "output_image", "output_audio", "output_video"],
];

const usageMembers = [
  ...["total_input_tokens", "total_cached_tokens", "total_output_tokens"],
  ...["total_thought_tokens", "total_tool_use_tokens", "total_tokens"],
];

/** Members that repeat the request: `CreateModelInteraction` and `CreateAgentInteraction` of `@google/genai` 3.3. */
const requestMembers = [
  ...["agent_config", "background", "cached_content", "environment", "generation_config", "input", "labels"],
  ...["previous_interaction_id", "response_format", "response_mime_type", "response_modalities"],
  ...["safety_settings", "store", "stream", "system_instruction", "tools", "webhook_config"],
];

/** The steps that the model made: after the user's last words, without results of calls before them. */
function ownSteps(steps: readonly Step[]): readonly Step[] {
  const own = steps.slice(steps.findLastIndex(({ type }) => type === "user_input") + 1);
  const called = new Set(own.map((step) => serverIds(step).call));
  return own.filter((step) => step.type !== "function_result" || called.has(serverIds(step).result));
}

function stepBlocks(all: readonly Step[]): readonly Block[] {
  const steps = ownSteps(all);
  const answered = new Set(
    steps.flatMap((step) => (step.type === "function_result" ? (serverIds(step).result ?? []) : [])),
  );
  const calls = new CallIds(steps);
  let isAfterOutput = false;
  return steps.flatMap((sent, index): readonly Block[] => {
    const { signature, ...unsigned } = copyJsonObject(sent);
    // A stream begins steps with an empty one.
    const step = isSignature(signature) ? { ...unsigned, signature } : unsigned;
    const isOutput = step.type === "model_output";
    const follows = isAfterOutput;
    isAfterOutput = isOutput;
    if (isOutput) return outputBlocks(step, follows);
    return [ownBlock(step, answered, (id) => calls.next(id, index))];
  });
}

/** Ids of calls: the API's, or one of this library for a call without one or with one that is in use. */
class CallIds {
  readonly #known = new Set<string>();
  readonly #tag: string;

  constructor(steps: readonly Step[]) {
    const isNamed = ({ type, id }: Step) => type !== "function_call" || isSignature(id);
    this.#tag = steps.every(isNamed) ? "" : crc32Hex(encodeUtf8(JSON.stringify(steps)));
  }

  next(id: unknown, index: number): string {
    const own = isSignature(id) && !this.#known.has(id) ? id : generatedCallId(this.#tag, index);
    this.#known.add(own);
    return own;
  }
}

function ownBlock(step: Step, answered: ReadonlySet<string>, nextId: (id: unknown) => string): Block {
  if (step.type === "thought") return thoughtBlock(step);
  const { call } = serverIds(step);
  const isRun = call !== undefined && answered.has(call);
  // A call that the API answered by itself is not the agent's to run.
  if (step.type !== "function_call" || isRun || typeof step.name !== "string")
    return { type: "opaque", data: step };
  const { id, name, arguments: args, signature } = step;
  return {
    type: "toolCall",
    id: nextId(id),
    name,
    arguments: args ?? {},
    ...(isSignature(signature) ? { thoughtSignature: signature } : {}),
    ...blockFields(step, "type", "id", "name", "arguments", "signature"),
  };
}

/** The summary is kept as it came, if it is more than one text. */
function thoughtBlock(step: Step): Block {
  const { summary, signature } = step;
  if (holdsMedia({ providerFields: step })) return { type: "opaque", data: step };
  const text = summaryText(summary) ?? "";
  return {
    type: "thinking",
    thinking: text,
    ...(isSignature(signature) ? { thinkingSignature: signature } : {}),
    ...blockFields(step, "type", "signature", ...(isOneText(summary, text) ? ["summary"] : [])),
  };
}

function isOneText(summary: unknown, text: string): boolean {
  const [one, ...more] = Array.isArray(summary) ? (summary as readonly unknown[]) : [];
  if (!isRecord(one) || more.length > 0 || text === "") return false;
  return one.type === "text" && one.text === text && Object.keys(one).length === 2;
}

/** A block for each content. The first one of an output that follows another keeps where it begins. */
function outputBlocks(step: Step, isAfterOutput: boolean): readonly Block[] {
  const { content, type: _, ...members } = step;
  const contents = Array.isArray(content) ? content.filter((one: unknown) => isRecord(one)) : [];
  return contents.map((one, at): Block => {
    const isMarked = at === 0 && (isAfterOutput || Object.keys(members).length > 0);
    const { text } = one;
    const rest = blockFields(one, "type", "text");
    if (one.type !== "text" || typeof text !== "string" || text === "" || holdsMedia(rest))
      return { type: "opaque", data: outputBlock(one, at === 0 ? members : undefined) };
    return {
      type: "text",
      text,
      ...(isMarked ? { textSignature: printOutputMetadata(members) } : {}),
      ...rest,
    };
  });
}

function readEnding({ status, errors, steps }: GeminiInteraction, content: readonly Block[]): ReplyEnding {
  if (status === "cancelled" || status === "in_progress" || status === "queued")
    return { stopReason: "aborted" };
  const end = replyEnd(status ?? "completed");
  if (end === "stop")
    return { stopReason: content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop" };
  if (end !== undefined && end !== "error") return replyEnding(end, `the interaction is ${status}`);
  const found = [...(errors ?? []), ...stepErrors((steps ?? []) as readonly Step[])];
  const said = found.map(({ code, message }) => [code, message].filter(isSignature).join(": "));
  return replyEnding(found.some(isBlocked) ? "refused" : "error", said[0] ?? `the interaction is ${status}`);
}

/** The errors of outputs, which have a message and a number. */
function stepErrors(steps: readonly Step[]): readonly GeminiInteractionError[] {
  return steps.flatMap(({ error }) =>
    isRecord(error) && typeof error.message === "string" ? [{ message: error.message }] : [],
  );
}

/**
 * Whether the service declined what was asked or answered. It gives the documented codes, and the general one with
 * these words.
 *
 * @see https://ai.google.dev/gemini-api/docs/api-errors, and the Google adapter of
 *   https://github.com/apostrophecms/apostrophe (stored copies, 2026-11-28)
 */
function isBlocked({ code, message }: GeminiInteractionError): boolean {
  return (
    replyEnd(code?.toUpperCase()) === "refused" || message?.startsWith("Request blocked due to") === true
  );
}

/** Tokens of tools are no part of the input, and cached ones are. */
function interactionUsage({ usage }: GeminiInteraction): Usage {
  const tokens = countsIn(usage);
  const count = (name: string) => readCount(tokens[`total_${name}tokens`]);
  const cacheRead = count("cached_") ?? 0;
  const input = Math.max(0, (count("input_") ?? 0) + (count("tool_use_") ?? 0) - cacheRead);
  const output = (count("output_") ?? 0) + (count("thought_") ?? 0);
  return {
    input,
    output,
    cacheRead,
    cacheWrite: 0,
    totalTokens: count("") ?? input + cacheRead + output,
  };
}
