/** Reads a reply of the Gemini API as an assistant message. */

import { type AssistantMessage, assistantMessage, type Usage } from "../../content/index.js";
import { stringArgument } from "../../core/arguments.js";
import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import { copyJsonObject } from "../../core/json.js";
import { array, isRecord, nonEmptyString, object, string } from "../../core/shape.js";
import {
  assertReply,
  blockFields,
  countsIn,
  firstGiven,
  given,
  givenFields,
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
import { geminiApi, transcribed } from "./shapes.js";
import { generatedCallId } from "./target.js";

/** A response of `generateContent`, as far as it is read. The official client's fits. */
export interface GeminiReply {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly GeminiReplyPart[] };
    readonly finishReason?: string;
    readonly finishMessage?: string;
  }[];
  readonly promptFeedback?: { readonly blockReason?: string; readonly blockReasonMessage?: string };
  readonly usageMetadata?: {
    readonly promptTokenCount?: number;
    readonly cachedContentTokenCount?: number;
    readonly candidatesTokenCount?: number;
    readonly thoughtsTokenCount?: number;
    readonly toolUsePromptTokenCount?: number;
    readonly totalTokenCount?: number;
  };
  readonly modelVersion?: string;
  readonly responseId?: string;
}

/** A part of a response. One that is something else is kept as it is. */
export interface GeminiReplyPart {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: {
    readonly id?: string;
    readonly name?: string;
    readonly args?: Readonly<Record<string, unknown>>;
  };
}

/** Options of {@link readGeminiReply}. */
export interface ReadGeminiReplyOptions {
  /**
   * The requested model, as for the target. Default the version that the response names. Give it if an alias
   * was requested: signatures are sent back only to the model that the message names.
   */
  readonly model?: string;
  /** The provider, as for `geminiContents`. Default `google`. */
  readonly provider?: string;
  /** The account, as for `geminiContents`. */
  readonly account?: string;
}

/** The shape of a part that is read; a stream leaves out any other part. */
export const replyPart = object({
  text: given(string),
  functionCall: givenFields({ name: given(string), args: givenFields({}) }),
});
/** The shape of the members that are read, of a candidate. */
export const candidateFields = { finishReason: given(string), finishMessage: given(string) };
/** The shape of the members that are read, of a response and of a stream's chunk. */
export const responseFields = {
  candidates: given(
    firstGiven(givenFields({ content: givenFields({ parts: given(array(replyPart)) }), ...candidateFields })),
  ),
  promptFeedback: givenFields({ blockReason: given(string), blockReasonMessage: given(string) }),
  responseId: given(string),
};

type Block = AssistantMessage["content"][number];

/**
 * Reads a response of the official client as a message of a session: text, reasoning, calls and other parts,
 * each with its signature and its other members. `geminiContents` sends the model its own parts back. A call
 * without an id gets one that is not sent back. Only the first candidate is read; its grounding, and the other
 * members of the response, are kept.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member; also for `modelVersion`, if
 *   the options name no model.
 * @throws TypeError if the `model` option is no string.
 * @see https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse (stored copy, 2026-11-21)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), geminiContents({ model }), { blobs });
 * const reply = await client.models.generateContent({ model, contents: value.contents });
 * await session.appendMessage(readGeminiReply(reply, { model }));
 * ```
 */
export function readGeminiReply(reply: GeminiReply, options: ReadGeminiReplyOptions = {}): AssistantMessage {
  const { model: named } = options;
  assertReply(
    reply,
    object(named === undefined ? { modelVersion: nonEmptyString, ...responseFields } : responseFields),
  );
  const asked = named === undefined ? undefined : stringArgument("model", named);
  const { provider = "google", account } = options;
  const [candidate] = reply.candidates ?? [];
  const sent = candidate?.content?.parts ?? [];
  // A call whose arguments were still to come is as if it had never begun.
  const parts = sent.filter((part) => !isUnfinishedCall(part));
  const content = partBlocks(parts, reply.responseId);
  const { refused, ...ending } = readEnding(reply, content);
  // Not as arguments: a reply may have more blocks than a call takes.
  const message = {
    ...assistantMessage({
      provider,
      ...modelNames(asked, reply.modelVersion),
      api: geminiApi(provider),
      usage: geminiUsage(reply),
      ...ending,
    }),
    content,
    ...(refused === undefined ? {} : { refused }),
    ...replyRest(reply),
  };
  return account === undefined ? message : { ...message, account };
}

/** The members of a response beside its content and counts. Those that begin with `sdk` are of the transport. */
function replyRest(reply: GeminiReply): Pick<AssistantMessage, "providerFields"> {
  const candidate = reply.candidates?.[0];
  const { providerFields } = replyFields(candidate ?? {}, "content", "index");
  const rest = {
    ...reply,
    candidates: providerFields === undefined ? undefined : [providerFields],
    ...usageFields("usageMetadata", reply.usageMetadata, ...knownCounts),
  };
  return replyFields(rest, "modelVersion", "sdkHttpResponse", "automaticFunctionCallingHistory");
}

const knownCounts = [
  ...["promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount"],
  ...["thoughtsTokenCount", "toolUsePromptTokenCount", "totalTokenCount"],
];

function partBlocks(parts: readonly GeminiReplyPart[], responseId: string | undefined): readonly Block[] {
  let tag = responseId ?? undefined;
  const known = new Set<string>();
  return parts.map((sent, index): Block => {
    // REST answers through a proxy may have null for absent members.
    const part = Object.fromEntries(
      Object.entries(sent).filter(([, value]) => value !== null),
    ) as typeof sent;
    const { thought, text, functionCall } = part;
    const thoughtSignature = isSignature(part.thoughtSignature) ? part.thoughtSignature : undefined;
    if (functionCall !== undefined) {
      const { id } = functionCall;
      const name = functionCall.name ?? "";
      const own = typeof id === "string" && id !== "" && !known.has(id) ? id : undefined;
      tag ??= crc32Hex(encodeUtf8(JSON.stringify(parts)));
      const callId = own ?? generatedCallId(tag, index);
      known.add(callId);
      const signed = thoughtSignature === undefined ? {} : { thoughtSignature };
      const { providerFields: ofCall } = blockFields(functionCall, ...knownOfCall);
      const rest = { ...part, functionCall: ofCall };
      return {
        type: "toolCall",
        id: callId,
        name,
        arguments: copyJsonObject(functionCall.args ?? {}),
        ...signed,
        ...blockFields(rest, "thoughtSignature"),
      };
    }
    const words = text ?? transcribed(part);
    if (words === undefined || isOpaqueText(part, words)) return opaque(part);
    const rest = blockFields(part, "text", "thought", "thoughtSignature");
    if (thought === true) {
      const signed = thoughtSignature === undefined ? {} : { thinkingSignature: thoughtSignature };
      return { type: "thinking", thinking: words, ...signed, ...rest };
    }
    const signed = thoughtSignature === undefined ? {} : { textSignature: thoughtSignature };
    return { type: "text", text: words, ...signed, ...rest };
  });
}

/**
 * Whether a part is kept as it came, although it has words: beside media, or as a blank text with a signature, which
 * other providers refuse. A stream shows no words of it.
 */
export function isOpaqueText(part: GeminiReplyPart, words: string): boolean {
  if (holdsMedia(blockFields(part, "text", "thought", "thoughtSignature"))) return true;
  return part.thought !== true && isSignature(part.thoughtSignature) && !/\S/.test(words);
}

const knownOfCall = ["id", "name", "args", "partialArgs", "willContinue"];

function isUnfinishedCall(part: GeminiReplyPart): boolean {
  const call: unknown = part?.functionCall;
  return isRecord(call) && call.willContinue === true;
}

/** A JSON copy: without undefined members, and sharing no objects with the client. */
function opaque(part: GeminiReplyPart): Block {
  return { type: "opaque", data: JSON.parse(JSON.stringify(part)) };
}

function readEnding({ candidates, promptFeedback }: GeminiReply, content: readonly Block[]): ReplyEnding {
  const { blockReason, blockReasonMessage } = promptFeedback ?? {};
  const { finishReason, finishMessage } = candidates?.[0] ?? {};
  const reason = finishReason ?? blockReason ?? undefined;
  if (reason === undefined && candidates?.[0] !== undefined) return { stopReason: "aborted" };
  const isBlocked = (finishReason ?? undefined) === undefined && reason !== undefined;
  const end = isBlocked ? "refused" : (replyEnd(reason) ?? "error");
  if (end === "stop") return { stopReason: content.some(isCall) ? "toolUse" : "stop" };
  const said = finishMessage ?? blockReasonMessage ?? undefined;
  const why = reason ?? "no candidate";
  return replyEnding(end, said === undefined ? why : `${why}: ${said}`);
}

const isCall = ({ type }: Block) => type === "toolCall";

function geminiUsage({ usageMetadata }: GeminiReply): Usage {
  const tokens = countsIn(usageMetadata);
  const prompt = readCount(tokens.promptTokenCount) ?? 0;
  const cacheRead = readCount(tokens.cachedContentTokenCount) ?? 0;
  const generated = readCount(tokens.candidatesTokenCount) ?? 0;
  const thought = readCount(tokens.thoughtsTokenCount) ?? 0;
  const tools = readCount(tokens.toolUsePromptTokenCount) ?? 0;
  const input = prompt + tools - cacheRead;
  const output = generated + thought;
  return {
    input,
    output,
    cacheRead,
    cacheWrite: 0,
    totalTokens: readCount(tokens.totalTokenCount) ?? input + cacheRead + output,
  };
}
