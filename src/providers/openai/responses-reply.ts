/** Reads a reply of Responses as an assistant message. */

import type { AssistantMessage, ToolCall } from "../../content/index.js";
import { copyJsonObject } from "../../core/json.js";
import { array, isRecord, object, string } from "../../core/shape.js";
import {
  assertReply,
  countsIn,
  given,
  givenFields,
  holdsMedia,
  type ReplyEnding,
  replyEnd,
  replyEnding,
  replyFields,
  usageFields,
} from "../reply-shape.js";
import { answeredItems, clientToolCall, isClientCall, wantsAnswer } from "./hosted-items.js";
import { type OpenaiReplyOptions, openaiUsage, replyMessage } from "./options.js";
import { responsesApi } from "./responses.js";
import {
  contentFields,
  isCaller,
  isPhase,
  isStatus,
  partText,
  printCallMetadata,
  printTextMetadata,
  rawArguments,
  textArguments,
} from "./round-trip-metadata.js";

/** The members of a response that are read. Any version of the official client gives one. */
export interface OpenaiResponsesReply {
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly model: string;
  readonly status?: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly incomplete_details: { readonly reason?: string } | null;
  readonly output: readonly { readonly type: string }[];
  readonly usage?: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly total_tokens: number;
    readonly input_tokens_details?: {
      readonly cached_tokens?: number;
      readonly cache_write_tokens?: number;
    };
  };
}

/**
 * Reads a response as a message of a session, which {@link openaiResponses} sends back unchanged. Reasoning
 * has its item as the signature, text the ids and phases of its messages, and calls the ids of their items.
 * Items of the API's own tools and of unknown types are kept whole, and unknown members of others in
 * `providerFields`, as are citations. So are the members of the response that do not repeat the request. Log
 * probabilities are not kept.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member.
 * @example
 * ```ts
 * const { value } = await project(await session.context(), openaiResponses({ model }));
 * const reply = await client.responses.create({ model, store: false, ...value });
 * await session.appendMessage(readOpenaiResponsesReply(reply, { model }));
 * ```
 */
export function readOpenaiResponsesReply(
  reply: OpenaiResponsesReply,
  options: OpenaiReplyOptions = {},
): AssistantMessage {
  assertReply(reply, options.model === undefined ? response : unnamed);
  const { usage } = reply;
  const output = reply.output.filter((item) => !isHalfCall(item, reply.status));
  const alone = output.every(({ type }) => type !== "reasoning") && output.some(hasId);
  const isTold = output.some((item) => hasId(item) && spokenTypes.has(item.type));
  const answered = answeredItems(output, (item) => item);
  const tokens = countsIn(usage);
  const details = countsIn(tokens.input_tokens_details);
  return replyMessage(
    {
      api: responsesApi,
      model: reply.model,
      content: output.flatMap((item) => {
        const data = copyJsonObject(item);
        // A call that the API answered by itself is not the agent's to run.
        if (answered.has(item)) return [{ type: "opaque", data }];
        return readBlocks(data, alone && (hasId(item) || !isTold));
      }),
      usage:
        usage === undefined || usage === null
          ? undefined
          : openaiUsage({
              input: tokens.input_tokens,
              output: tokens.output_tokens,
              cacheRead: details.cached_tokens,
              cacheWrite: details.cache_write_tokens,
              total: tokens.total_tokens,
            }),
      ...readEnding(reply),
      createdAt: reply.created_at,
      ...replyFields(
        { ...reply, ...usageFields("usage", usage, ...usageMembers) },
        ...readMembers,
        ...requestMembers,
      ),
    },
    options,
  );
}

/** Members of a response that the message has. */
const readMembers = ["object", "created_at", "model", "output", "output_text", "error"] as const;
const usageMembers = ["input_tokens", "input_tokens_details", "output_tokens", "total_tokens"] as const;

/** Members of a response that repeat the request: the types of `ResponseCreateParams` of openai 7.59. */
const requestMembers = [
  "background",
  "frequency_penalty",
  "include",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "parallel_tool_calls",
  "presence_penalty",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
] as const;

/** The shape of the members that are read, of a response and of a stream's response. */
export const responseFields = {
  model: string,
  status: given(string),
  error: givenFields({ code: given(string), message: given(string) }),
  incomplete_details: givenFields({ reason: given(string) }),
  output: array(object({})),
};
const { model: _model, ...unnamedFields } = responseFields;
const response = object(responseFields);
const unnamed = object(unnamedFields);

type Content = AssistantMessage["content"];
type Item = Readonly<Record<string, unknown>>;

/** Whether an abort or a limit cut a call, which then is as if it had never begun. */
function isHalfCall(item: { readonly type: string }, status: string | undefined): boolean {
  if (!isRecord(item) || status === undefined || status === "completed") return false;
  const { type, status: reached, arguments: text } = item as Item;
  if (type !== "tool_search_call" && !wantsAnswer(item)) return false;
  if (reached === "in_progress" || reached === "incomplete") return true;
  return type === "function_call" && !isRecord(textArguments(typeof text === "string" ? text : ""));
}

/** Items that are kept with metadata. */
const spokenTypes: ReadonlySet<string> = new Set(["message", "function_call", "custom_tool_call"]);

/** Codex stores and sends items without their ids. */
function hasId(item: { readonly type: string; readonly id?: unknown }): boolean {
  return typeof item.id === "string" && item.id !== "";
}

/** An item that is not as it should be is kept as it is. */
function readBlocks(item: Item, alone: boolean): Content {
  switch (item.type) {
    case "reasoning":
      return [{ type: "thinking", thinking: reasoningText(item), thinkingSignature: JSON.stringify(item) }];
    case "message":
      // A compacted conversation has the user's messages too.
      return item.role === undefined || item.role === "assistant"
        ? messageBlocks(item, alone)
        : [{ type: "opaque", data: item }];
    case "function_call":
      return callBlocks(item, alone, false);
    case "custom_tool_call":
      return callBlocks(item, alone, true);
    case "tool_search_call":
      return item.execution === "client" ? searchBlocks(item, alone) : [{ type: "opaque", data: item }];
    default:
      return isClientCall(item) ? [clientToolCall(item, alone)] : [{ type: "opaque", data: item }];
  }
}

function reasoningText({ summary, content }: Item): string {
  const texts = (list: unknown) =>
    (Array.isArray(list) ? list : [])
      .map((one: unknown) => (isRecord(one) && typeof one.text === "string" ? one.text : ""))
      .join("\n\n");
  const summarized = texts(summary);
  return summarized === "" ? texts(content) : summarized;
}

function messageBlocks(item: Item, alone: boolean): Content {
  const { id, phase, status, content } = item;
  if (!Array.isArray(content) || !content.every(isRecord)) return [{ type: "opaque", data: item }];
  const text = content.map(partText).join("");
  // Nothing of an empty message is shown, but reasoning may lead to it.
  if (text === "") return [{ type: "opaque", data: item }];
  const message = {
    id: typeof id === "string" ? id : "",
    status: isStatus(status) ? status : "completed",
    ...(isPhase(phase) ? { phase } : {}),
    content,
  };
  const textSignature = printTextMetadata(message, alone);
  const known = ["type", "role", "id", "status", ...(isPhase(phase) ? ["phase"] : []), "content"];
  const fields = { ...replyFields(item, ...known).providerFields, ...contentFields(content) };
  if (holdsMedia({ providerFields: fields })) return [{ type: "opaque", data: item }];
  return [
    {
      type: "text",
      text,
      ...(textSignature === undefined ? {} : { textSignature }),
      ...(Object.keys(fields).length === 0 ? {} : { providerFields: fields }),
    },
  ];
}

function callBlocks(item: Item, alone: boolean, custom: boolean): Content {
  const { call_id, id, name, caller, namespace, status } = item;
  const text = custom ? item.input : item.arguments;
  if (typeof call_id !== "string" || typeof name !== "string" || typeof text !== "string") {
    return [{ type: "opaque", data: item }];
  }
  const raw = custom ? undefined : rawArguments(text);
  const itemId = typeof id === "string" && id !== "" ? id : undefined;
  const metadata = printCallMetadata({
    alone,
    ...(custom ? { custom: itemId ?? "" } : {}),
    ...(raw === undefined ? {} : { arguments: raw }),
    ...(typeof namespace === "string" ? { namespace } : {}),
    ...(isCaller(caller) ? { caller } : {}),
    status: isStatus(status) ? status : "completed",
  });
  const call: ToolCall = {
    type: "toolCall",
    // pi's form: the call's own id, and that of its item.
    id: itemId !== undefined && !custom ? `${call_id}|${itemId}` : call_id,
    name,
    arguments: custom ? { input: text } : textArguments(text),
    ...(metadata === undefined ? {} : { thoughtSignature: metadata }),
    ...replyFields(item, ...callMembers, ...(isCaller(caller) ? ["caller"] : [])),
  };
  return [call];
}

/** Members of calls that the block has, or its metadata, or that the official client adds. */
const callMembers = [
  "type",
  "id",
  "call_id",
  "name",
  "arguments",
  "parsed_arguments",
  "input",
  "namespace",
  "status",
] as const;

const isText = (value: unknown): boolean => typeof value === "string";

/** A search that the client does: a call like any other, whose result is the list of tools. */
function searchBlocks(item: Item, alone: boolean): Content {
  const { call_id, id, arguments: sought, status } = item;
  if (typeof call_id !== "string") return [{ type: "opaque", data: item }];
  const search = typeof id === "string" ? id : "";
  const thoughtSignature = printCallMetadata({
    alone,
    search,
    status: isStatus(status) ? status : "completed",
  });
  const name = toolSearchName;
  const fields = replyFields(item, ...callMembers, "execution");
  const call: ToolCall = { type: "toolCall", id: call_id, name, arguments: sought ?? {}, ...fields };
  return [thoughtSignature === undefined ? call : { ...call, thoughtSignature }];
}

/** The name under which a search for tools is a call. */
const toolSearchName = "tool_search";

function readEnding({ status, error, incomplete_details: details }: OpenaiResponsesReply): ReplyEnding {
  if (error !== null && error !== undefined)
    return replyEnding("error", [error.code, error.message].filter(isText).join(": "));
  switch (status ?? undefined) {
    case "completed":
    case undefined:
      return { stopReason: "stop" };
    case "cancelled":
    case "in_progress":
      return { stopReason: "aborted" };
    case "incomplete":
      if (replyEnd(details?.reason) !== "refused") return { stopReason: "length" };
      return replyEnding("refused", "the reply was cut off by the content filter");
    default:
      return replyEnding("error", `the response is ${status}`);
  }
}
