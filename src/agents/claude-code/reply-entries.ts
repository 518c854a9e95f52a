/** A reply and the results of its calls as entries: one assistant message, then a result a call. */

import type { AssistantMessage } from "../../content/index.js";
import { type AnthropicReply, readAnthropicReply } from "../../providers/anthropic/index.js";
import { type ForeignObject, readObject, readText } from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignSource } from "../types.js";
import { shownBlocks, withoutBytes } from "./content.js";
import { type Call, countedType, hasReason, type Line, lineBlocks, readId, type Unit } from "./lines.js";
import type { Layout } from "./units.js";

/** The name from the user, and the title from a model. */
export interface Titles {
  readonly name: string | undefined;
  readonly title: string | undefined;
}

/** The parts of which the entries of a conversation are made. */
export interface Conversation {
  readonly source: ForeignSource;
  readonly builder: EntryBuilder;
  readonly layout: Layout;
  /** The id that the agent gives the session. */
  readonly foreignId: string;
  /** The replies without a reason for their end, which is inferred. */
  readonly inferred: Set<Unit>;
  /** The entries of results, by {@link answerKey}. */
  readonly answered: Map<string, string>;
  /** The session of the subagent that a call started; `result` is the line with its result. */
  callChild(call: Call, result: Line | undefined): string | undefined;
  /** The sessions of the subagents that a workflow started; `result` is the line with the result of its call. */
  resultRun(result: Line): readonly string[];
}

/** Adds a reply with its results. Returns the last entry. */
export function addReply(conversation: Conversation, unit: Unit, parentId: string | null): string | null {
  const { builder, source } = conversation;
  const [first] = unit.lines;
  for (const line of unit.lines) source.count(countedType(line), "mapped", line.record);
  const timestamp = first?.value.timestamp;
  if (!unit.lines.some(hasReason)) conversation.inferred.add(unit);
  const message = replyMessage(unit.lines, builder.time(timestamp));
  const recordId = first?.uuid ?? "";
  let last = builder.add({ type: "message", message }, { recordId, parentId, timestamp });
  for (const line of unit.results) last = addResults(conversation, line, last);
  for (const call of unit.calls.values()) {
    if (!conversation.answered.has(answerKey(unit, call.id)))
      last = addSubagents(conversation, call, undefined, last);
  }
  return last;
}

/** The message of the lines of a reply: blocks in the order of the file, usage and end of the last line. */
function replyMessage(lines: readonly Line[], timestamp: number): AssistantMessage {
  const content: AnthropicBlock[] = [];
  const inputs: unknown[] = [];
  const calls = new Set<unknown>();
  let reply: Partial<AnthropicReply> = {};
  let requested: string | undefined;
  for (const line of lines) {
    const fields = readObject(line.value.message) ?? {};
    for (const block of lineBlocks(line)) {
      const { type, id } = readObject(block) ?? {};
      // A line that was written again.
      if (typeof type !== "string" || (type === "tool_use" && calls.has(id))) continue;
      if (type === "tool_use") calls.add(id);
      content.push(withoutInput(block as AnthropicBlock));
      inputs.push(readObject(block)?.input);
    }
    const { model, usage, stop_reason: end, stop_details: details } = fields;
    const explanation = readText(readObject(details)?.explanation);
    reply = {
      ...reply,
      ...(typeof model === "string" ? { model } : {}),
      ...(readObject(usage) === undefined ? {} : { usage: usage as AnthropicReply["usage"] }),
      ...(typeof end === "string" ? { stop_reason: end } : {}),
      ...(explanation === undefined ? {} : { stop_details: { explanation } }),
    };
    requested = readId(line.value.requestedModel) ?? requested;
  }
  // Most lines are written before the reply ends, and have no reason.
  const inferred = calls.size > 0 ? "tool_use" : "end_turn";
  const { model = "unknown", usage = {} as AnthropicReply["usage"], stop_reason: end = inferred } = reply;
  const read = (stop_reason: string | null) =>
    readAnthropicReply(
      { ...reply, model, usage, stop_reason, content },
      { timestamp, ...(requested === undefined ? {} : { model: requested }) },
    );
  const { providerFields: { stop_reason: _, ...fields } = {}, ...message } = read(end);
  // A call at the limit of a reply's length is left out of a new reply; here its result can follow.
  const blocks = message.stopReason === "length" ? read(inferred).content : message.content;
  const known = reply.stop_reason === undefined ? fields : { ...fields, stop_reason: end };
  return {
    ...message,
    content: blocks.map((block, at) =>
      block.type === "toolCall" ? { ...block, arguments: inputs[at] ?? {} } : block,
    ),
    ...(Object.keys(known).length === 0 ? {} : { providerFields: known }),
  };
}

type AnthropicBlock = AnthropicReply["content"][number];

/** A call without its arguments: the reader would copy them, which takes longer than all the rest. */
function withoutInput(block: AnthropicBlock): AnthropicBlock {
  const { type, id, name } = block as ForeignObject;
  const isCall = type === "tool_use" && typeof id === "string" && typeof name === "string";
  return isCall ? ({ ...block, input: undefined } as AnthropicBlock) : block;
}

/** The key of a result: calls of two replies may have one id. */
export function answerKey({ at }: Unit, callId: string): string {
  return `${at} ${callId}`;
}

/** A user line with results: a message each, and one for text beside them. */
function addResults(conversation: Conversation, line: Line, last: string): string {
  const { answered, builder, layout, source } = conversation;
  const { value, record } = line;
  const { file, line: at } = record;
  const beside: unknown[] = [];
  const found: Call[] = [];
  let tail = last;
  let part = 0;
  const place = { recordId: line.uuid, timestamp: value.timestamp };
  for (const block of lineBlocks(line)) {
    const result = readObject(block);
    if (result?.type !== "tool_result") {
      beside.push(block);
      continue;
    }
    const index = part++;
    const callId = readId(result.tool_use_id);
    const reply = callId === undefined ? undefined : layout.replyByCallId(callId, line);
    const call = reply?.calls.get(callId as string);
    if (callId === undefined || reply === undefined || call === undefined) {
      source.find({ code: "orphanResult", file, line: at, text: `a result without a call: ${callId}` });
      continue;
    }
    const key = answerKey(reply, callId);
    if (answered.has(key)) {
      source.find({ code: "duplicateResult", file, line: at, text: `a second result of the call ${callId}` });
      continue;
    }
    found.push(call);
    const details = lineBlocks(line).length === 1 ? withoutBytes(value.toolUseResult) : undefined;
    const message = {
      role: "toolResult",
      toolCallId: callId,
      toolName: call.name,
      content: shownBlocks(result.content),
      ...(details === undefined ? {} : { details }),
      isError: result.is_error === true,
      timestamp: builder.time(value.timestamp),
    } as const;
    tail = builder.add({ type: "message", message }, { ...place, part: index, parentId: tail });
    answered.set(key, tail);
  }
  const draft = beside.length === 0 ? undefined : userDraft(conversation, line, beside);
  if (draft !== undefined) tail = builder.add(draft, { ...place, part: "text", parentId: tail });
  source.count(countedType(line), tail === last ? "unmapped" : "mapped", record);
  for (const call of found) tail = addSubagents(conversation, call, line, tail);
  return tail;
}

/** The links from a call to the sessions of the subagents that it started. Returns the last of its own place. */
function addSubagents(
  conversation: Conversation,
  call: Call,
  result: Line | undefined,
  parentId: string,
): string {
  const toolCallId = call.id;
  const add = (
    sessionId: string,
    place: { readonly parentId: string | null; readonly timestamp?: unknown },
  ) =>
    conversation.builder.add(
      { type: "custom", customType: "sessile.subagent", data: { toolCallId, sessionId } },
      { recordId: sessionId, part: toolCallId, ...place },
    );
  // A workflow starts more of them while the conversation goes on: their links move nothing.
  const timestamp = result?.value.timestamp;
  for (const sessionId of result === undefined ? [] : conversation.resultRun(result))
    add(sessionId, { parentId: null, timestamp });
  const sessionId = conversation.callChild(call, result);
  return sessionId === undefined ? parentId : add(sessionId, { parentId });
}

/** The message of a user line; undefined without content. */
export function userDraft(
  { builder }: Conversation,
  { value }: Line,
  shown: unknown,
): DraftEntry | undefined {
  const isText = typeof shown === "string";
  const content = isText ? shown.toWellFormed() : shownBlocks(shown);
  if (content.length === 0) return undefined;
  if (value.isMeta === true) {
    return { type: "custom_message", customType: "sessile.meta_message", content, display: false };
  }
  const timestamp = builder.time(value.timestamp);
  return { type: "message", message: { role: "user", content, timestamp } };
}
