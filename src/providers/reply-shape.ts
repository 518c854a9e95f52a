/**
 * What the readers of all replies share: shapes, usage, fields that are kept, and the words for how a reply
 * ended.
 */

import type { AssistantMessage, StopReason } from "../content/index.js";
import { opaqueMedia } from "../content/internal.js";
import { describe } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { copyJsonObject } from "../core/json.js";
import {
  type Check,
  custom,
  type Fields,
  isRecord,
  joinPath,
  nullable,
  type OptionalShape,
  object,
  optional,
  type Shape,
} from "../core/shape.js";

/** An optional member. Proxies write null for an absent one. */
export function given<T>(shape: Shape<T>): OptionalShape<T | null> {
  return optional(nullable(shape));
}

/** An optional object whose named members pass their checks. */
export function givenFields(fields: Fields): OptionalShape {
  return given(object(fields));
}

/** An array whose first item passes. The others are not read. */
export function firstGiven(item: Shape): Shape {
  return custom((value) => {
    if (!Array.isArray(value)) return { path: "", expected: "an array" };
    const problem = value.length === 0 ? undefined : item(value[0]);
    return problem && { path: joinPath("[0]", problem.path), expected: problem.expected };
  });
}

/**
 * Throws INVALID_MESSAGE with the path of the first invalid member. A proxy or a compatible server can send
 * anything.
 */
export function assertReply(reply: unknown, check: Check): void {
  const problem = check(reply);
  if (problem === undefined) return;
  const { path, expected } = problem;
  const got = path === "" ? `, got ${describe(reply)}` : "";
  throw new SessileError(
    "INVALID_MESSAGE",
    `${path === "" ? "reply" : `reply.${path}`}: expected ${expected}${got}`,
    {
      details: { path, expected },
    },
  );
}

/** Bounds a count so that sums stay finite. */
const maxCount = Number.MAX_SAFE_INTEGER;

/** A count of a reply; undefined for anything else, because a wrong count must not lose the reply. */
export function readCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= maxCount ? value : undefined;
}

/** An object of counts; empty for anything else. */
export function countsIn(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** Whether a provider can have made a signature: gateways write null, a number or an empty text for none. */
export function isSignature(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Blocks and messages with the provider's members beside those that they represent. */
interface WithProviderFields {
  readonly providerFields?: Readonly<Record<string, unknown>>;
}

/**
 * The members of a provider's block beside the known ones, as JSON; nothing without such members. `null` stays,
 * since a block is sent back verbatim.
 */
export function blockFields(block: object, ...known: readonly string[]): WithProviderFields {
  const rest = Object.entries(block).filter(([key, value]) => value !== undefined && !known.includes(key));
  return rest.length === 0 ? {} : { providerFields: copyJsonObject(Object.fromEntries(rest)) };
}

/**
 * Whether the members beside a block's words have media. Such a block stays opaque, so that its media become
 * resources and never stay as base64 in the log. A call cannot: its members stay, and are not sent.
 */
export function holdsMedia({ providerFields }: WithProviderFields): boolean {
  return providerFields !== undefined && opaqueMedia(providerFields).length > 0;
}

/** As {@link blockFields}, of a reply: without members that say nothing. */
export function replyFields(reply: object, ...known: readonly string[]): WithProviderFields {
  const said = Object.entries(reply).filter(([, value]) => value !== null && !isEmptyRecord(value));
  return blockFields(Object.fromEntries(said), ...known);
}

/** The counts of a reply that a usage does not represent, as members of the reply. */
export function usageFields(name: string, usage: unknown, ...known: readonly string[]): object {
  return isRecord(usage) ? { [name]: replyFields(usage, ...known).providerFields ?? {} } : {};
}

function isEmptyRecord(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((member) => member === undefined || member === null);
}

/** The members that pass their checks. An invalid member must not lose the rest of a reply. */
export function passing<T extends object>(members: T, checks: Readonly<Record<string, Check>>): T {
  const passes = ([key, value]: [string, unknown]) =>
    !Object.hasOwn(checks, key) || checks[key]?.(value) === undefined;
  return Object.fromEntries(Object.entries(members).filter(passes)) as T;
}

// Why a reply ended: the words of all protocols for it, in one table.

/** The members of a message that say how its reply ended. */
export type ReplyEnding = Pick<AssistantMessage, "errorMessage" | "refused"> & {
  readonly stopReason: StopReason;
};

/** An end; `refused` if the model, a filter or a guardrail declined what was asked or answered. */
type End = "stop" | "length" | "toolUse" | "pause" | "refused" | "error";

/**
 * The words of Anthropic, OpenAI, Gemini and its Interactions, Converse, the AI SDK, Mistral (`model_length`) and Z.AI (`sensitive`).
 * The AI SDK too counts a recitation as filtered. A reply with any other word of Gemini, Converse or Chat failed.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons,
 *   https://ai.google.dev/api/generate-content#FinishReason (stored copies, 2026-11-28); the types of openai 7.59,
 *   @google/genai 3.3 and client-bedrock-runtime 3.1164
 */
const words: Readonly<Record<End, string>> = {
  stop: "stop end_turn stop_sequence STOP completed",
  length:
    "length max_tokens model_context_window_exceeded model_length MAX_TOKENS CONTINUATION incomplete budget_exceeded",
  toolUse: "tool_use tool_calls tool-calls function_call requires_action",
  // The message is sent back unchanged, and the API continues it.
  pause: "pause_turn compaction requires_continuation",
  refused:
    "refusal content_filter content-filter content_filtered guardrail_intervened sensitive SAFETY RECITATION " +
    "BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR CONTENT_BLOCKED",
  error: "error failed",
};

/** The end that a provider's word means; undefined for an unknown one. */
export function replyEnd(word: unknown): End | undefined {
  return (Object.keys(words) as End[]).find((end) => words[end].split(" ").some((one) => one === word));
}

/** An end as members of the message. @param errorMessage of an end that is an error */
export function replyEnding(end: End, errorMessage: string): ReplyEnding {
  if (end === "refused") return { stopReason: "error", errorMessage, refused: true };
  return end === "error" ? { stopReason: "error", errorMessage } : { stopReason: end };
}
