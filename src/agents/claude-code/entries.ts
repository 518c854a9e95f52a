/** The units of a transcript as entries: replies with their results, user messages, compactions, notes. */

import {
  type AssistantMessage,
  describeResource,
  type ImageBlock,
  type TextBlock,
} from "../../content/index.js";
import { type AnthropicReply, readAnthropicReply } from "../../providers/anthropic/index.js";
import { textDigest } from "../shared/ids.js";
import {
  type ForeignObject,
  readCount,
  readObject,
  readText,
  toArray,
  unknownBlocks,
} from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignSource } from "../types.js";
import {
  type Call,
  countedType,
  hasReason,
  isApiError,
  isMessage,
  type Line,
  lineBlocks,
  readId,
  readType,
  type Unit,
} from "./lines.js";
import type { Layout } from "./units.js";

/** Text of the program about its own tools. Out of context, unless the caller asks for it. */
const instructionTypes = new Set([
  "agent_listing_delta",
  "auto_mode",
  "deferred_tools_delta",
  "mcp_instructions_delta",
  "model",
  "output_style",
  "prompt_snapshot",
  "remote_session_change",
  "skill_listing",
]);

/** The text that Claude Code sends in place of a result that a microcompaction cleared. */
const clearedText = "[Old tool result content cleared]";

/** Adds the entries of a conversation, and sets its leaf. */
export function addEntries(conversation: Conversation): void {
  const { builder, layout } = conversation;
  addFollowers(layout);
  for (const unit of layout.units) {
    const { parent } = unit;
    unit.hasReply = unit.kind === "reply" || parent?.hasReply === true;
    unit.tail = addUnit(conversation, unit, parent?.tail ?? null);
  }
  const [line] = Array.from(conversation.inferred)[0]?.lines ?? [];
  if (line !== undefined) {
    const text = `${conversation.inferred.size} replies have no reason for their end`;
    conversation.source.find({ code: "guessed", file: line.record.file, line: line.record.line, text });
  }
  builder.setLeaf(layout.leaf?.tail ?? null);
}

/** Sets the first follower of each unit, on the conversation's own path. */
function addFollowers({ units, leaf }: Layout): void {
  const pass = (unit: Unit) => {
    const [line] = unit.lines;
    // At the end a note counts as the next message.
    const end = line !== undefined && isMessage(line) ? "prompt" : undefined;
    const follower = unitFollower(unit) ?? unit.next ?? end;
    if (unit.parent !== undefined && follower !== undefined) unit.parent.next = follower;
  };
  for (let at = units.length - 1; at >= 0; at--) pass(units[at] as Unit);
  for (let unit = leaf; unit !== undefined; unit = unit.parent) pass(unit);
}

function unitFollower({ kind, lines: [line] }: Unit): Unit["next"] {
  if (line === undefined || kind === "compaction") return undefined;
  if (line.type === "assistant") return "reply";
  return line.type === "user" && line.value.isMeta !== true ? "prompt" : undefined;
}

/** Adds the entries of a unit. Returns the last one, or the parent for a unit without entries. */
function addUnit(conversation: Conversation, unit: Unit, parentId: string | null): string | null {
  const [line] = unit.lines;
  if (line === undefined) return parentId;
  if (unit.kind === "reply") return addReply(conversation, unit, parentId);
  if (unit.kind === "compaction") return addCompaction(conversation, unit, line, parentId);
  switch (line.type) {
    case "user":
      return isMessage(line) ? addUser(conversation, line, parentId) : skip(conversation, line, parentId);
    case "assistant":
      if (isApiError(line)) return addApiError(conversation, line, parentId);
      return skip(conversation, line, parentId);
    case "attachment":
      return addAttachment(conversation, line, unit, parentId);
    case "system":
      if (line.value.subtype === "microcompact_boundary") return addCleared(conversation, line, parentId);
      return skip(conversation, line, parentId);
    default:
      return skip(conversation, line, parentId);
  }
}

function skip({ source }: Conversation, line: Line, parentId: string | null): string | null {
  source.count(countedType(line), "unmapped", line.record);
  return parentId;
}

/** Adds the entry of a line, and counts the line. */
function addOne(
  { builder, source }: Conversation,
  line: Line,
  draft: DraftEntry,
  { parentId, part }: { readonly parentId: string | null; readonly part?: string },
): string {
  source.count(countedType(line), "mapped", line.record);
  return builder.add(draft, {
    recordId: line.uuid,
    parentId,
    timestamp: line.value.timestamp,
    ...(part === undefined ? {} : { part }),
  });
}

/** A user line without results: a message of the user, or a note of the program. */
function addUser(conversation: Conversation, line: Line, parentId: string | null): string | null {
  const { source } = conversation;
  const content = readObject(line.value.message)?.content;
  const blocks = toArray(content);
  const isResult = (block: unknown) => readObject(block)?.type === "tool_result";
  const hasOrphan = blocks.some(isResult);
  if (hasOrphan) {
    const { file, line: at } = line.record;
    source.find({ code: "orphanResult", file, line: at, text: "a result without a call" });
  }
  const shown = hasOrphan ? blocks.filter((block) => !isResult(block)) : content;
  const draft = userDraft(conversation, line, shown);
  return draft === undefined
    ? skip(conversation, line, parentId)
    : addOne(conversation, line, draft, { parentId });
}

function addApiError(conversation: Conversation, line: Line, parentId: string | null): string {
  const data = { text: plainText(readObject(line.value.message)?.content) };
  return addOne(conversation, line, { type: "custom", customType: "sessile.api_error", data }, { parentId });
}

/** A boundary with its summary. */
function addCompaction(
  conversation: Conversation,
  { lines, retained }: Unit,
  boundary: Line,
  parentId: string | null,
): string {
  const { builder, source } = conversation;
  const summary = lines.find(({ type }) => type === "user");
  if (summary !== undefined) source.count(countedType(summary), "mapped", summary.record);
  const retain = retained.flatMap((unit) => unitEntries(unit, builder));
  const draft = {
    type: "compaction",
    summary: plainText(readObject(summary?.value.message)?.content),
    // Its own id, which keeps nothing before it.
    firstKeptEntryId: "",
    tokensBefore: readCount(readObject(boundary.value.compactMetadata)?.preTokens),
    ...(retain.length === 0 ? {} : { retain }),
  } as const;
  return addOne(conversation, boundary, draft, { parentId });
}

/** The messages of a unit that were added. */
function unitEntries({ lines, results }: Unit, builder: EntryBuilder): readonly string[] {
  const first = lines.map(({ uuid }) => builder.idByRecordId(uuid)).find((id) => id !== undefined);
  const ids = first === undefined ? [] : [first];
  for (const line of results) {
    for (const part of [...lineBlocks(line).keys(), "text"]) {
      const id = builder.idByRecordId(line.uuid, part);
      if (id !== undefined) ids.push(id);
    }
  }
  return ids;
}

/** A microcompaction: the results of the calls that it names are not sent any more. */
function addCleared(conversation: Conversation, line: Line, parentId: string | null): string | null {
  const { answered, builder, layout, source } = conversation;
  const ids = toArray(readObject(line.value.microcompactMetadata)?.compactedToolIds);
  let last = parentId;
  for (const callId of new Set(ids)) {
    const reply = typeof callId === "string" ? layout.replyByCallId(callId, line) : undefined;
    const targetId = reply && answered.get(answerKey(reply, callId as string));
    if (targetId === undefined) continue;
    const replacement = { content: [{ type: "text", text: clearedText }] };
    const draft: DraftEntry = { type: "context_edit", targetId, replacement };
    const place = { recordId: line.uuid, part: callId as string, timestamp: line.value.timestamp };
    last = builder.add(draft, { ...place, parentId: last });
  }
  source.count(countedType(line), last === parentId ? "unmapped" : "mapped", line.record);
  return last;
}

/** An addition of the program to a message, as the model saw it. */
function addAttachment(
  conversation: Conversation,
  line: Line,
  { hasReply, next }: Unit,
  parentId: string | null,
): string | null {
  const { builder, source } = conversation;
  const attachment = readObject(line.value.attachment) ?? {};
  const type = readType(attachment);
  const { prompt } = attachment;
  // A message that the user sent while the agent was at work.
  if (type === "queued_command" && attachment.isMeta !== true && isPrompt(prompt)) {
    const sent = readText(attachment.source_uuid);
    const isSentBefore = sent !== undefined && builder.idByRecordId(sent) !== undefined;
    const content = typeof prompt === "string" ? prompt.toWellFormed() : shownBlocks(prompt);
    // Before the next message it was not sent. At the end of a growing file it was still a message.
    if (isSentBefore || next === "prompt") {
      const data = { text: plainText(content) };
      return addOne(conversation, line, { type: "custom", customType: "sessile.queued", data }, { parentId });
    }
    const message = { role: "user", content, timestamp: builder.time(line.value.timestamp) } as const;
    return addOne(conversation, line, { type: "message", message }, { parentId });
  }
  const rendered = toArray(line.value.rendered);
  const content = rendered.flatMap((part) => shownBlocks(readObject(part)?.content));
  if (content.length === 0) return skip(conversation, line, parentId);
  if (instructionTypes.has(type) && !source.instructions) {
    const data = { type, text: plainText(content) };
    const draft = { type: "custom", customType: "sessile.instructions", data } as const;
    return addOne(conversation, line, draft, { parentId });
  }
  const customType = hasReply ? "sessile.attachment" : "sessile.initial_context";
  const details = { type };
  const draft = { type: "custom_message", customType, content, display: false, details } as const;
  return addOne(conversation, line, draft, { parentId });
}

function isPrompt(prompt: unknown): boolean {
  return typeof prompt === "string" ? prompt !== "" : Array.isArray(prompt) && prompt.length > 0;
}

/**
 * The entries of titles. They have no place in the conversation, so that a new title moves nothing, and no
 * time: that of the start.
 */
export function addTitles(builder: EntryBuilder, titles: readonly Titles[], timestamp: unknown): void {
  for (const [at, { name, title }] of titles.entries()) {
    const draft: DraftEntry = {
      type: "session_info",
      ...(name === undefined ? {} : { name }),
      ...(title === undefined ? {} : { title }),
    };
    builder.add(draft, { recordId: "title", part: at, parentId: null, timestamp });
  }
}

// A reply and the results of its calls as entries: one assistant message, then a result a call.

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
function addReply(conversation: Conversation, unit: Unit, parentId: string | null): string | null {
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
function answerKey({ at }: Unit, callId: string): string {
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
function userDraft({ builder }: Conversation, { value }: Line, shown: unknown): DraftEntry | undefined {
  const isText = typeof shown === "string";
  const content = isText ? shown.toWellFormed() : shownBlocks(shown);
  if (content.length === 0) return undefined;
  if (value.isMeta === true) {
    return { type: "custom_message", customType: "sessile.meta_message", content, display: false };
  }
  const timestamp = builder.time(value.timestamp);
  return { type: "message", message: { role: "user", content, timestamp } };
}

// Anthropic's content blocks as blocks of user messages and results. Nothing is opened or fetched.

/** A block of a user message or a result. */
type ShownBlock = TextBlock | ImageBlock;

/** The content of a message or a result. A text is one block; an unknown block is its JSON and its media. */
function shownBlocks(content: unknown): readonly ShownBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content.toWellFormed() }];
  return toArray(content).flatMap(shownBlock);
}

function shownBlock(block: unknown): readonly ShownBlock[] {
  const fields = readObject(block);
  if (fields === undefined) return typeof block === "string" ? shownBlocks(block) : [];
  switch (fields.type) {
    case "text":
      return typeof fields.text === "string" ? [{ type: "text", text: fields.text.toWellFormed() }] : [];
    case "image":
      return mediaBlocks(fields, readObject(fields.source) ?? {});
    case "document":
      return [...aboutDocument(fields), ...mediaBlocks(fields, readObject(fields.source) ?? {})];
    default:
      return unknownBlocks(fields);
  }
}

/** The title and the context of a document, which the model reads before it. */
function aboutDocument({ title, context }: ForeignObject): readonly TextBlock[] {
  const texts = [readText(title), readText(context)].filter((text) => text !== undefined && /\S/.test(text));
  return texts.length === 0 ? [] : [{ type: "text", text: texts.join("\n") }];
}

function mediaBlocks(block: ForeignObject, source: ForeignObject): readonly ShownBlock[] {
  const { data, media_type: mediaType, url, content } = source;
  if (source.type === "base64" && typeof data === "string") {
    const fallback = block.type === "image" ? "image/png" : "application/pdf";
    return [{ type: "image", data, mimeType: readText(mediaType) ?? fallback }];
  }
  if (source.type === "text" && typeof data === "string")
    return [{ type: "text", text: data.toWellFormed() }];
  if (source.type === "content") return shownBlocks(content);
  if (typeof url === "string") return [link(url.toWellFormed())];
  return unknownBlocks(block);
}

function link(uri: string): TextBlock {
  const resourceId = `res_${textDigest(uri).slice(0, 16)}`;
  const resource = { resourceId, kind: "link", source: "import", uri } as const;
  return { type: "text", text: describeResource(resource), resource };
}

/** The text of content, with a line feed between its blocks. */
export function plainText(content: unknown): string {
  return shownBlocks(content)
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n");
}

/**
 * A value without the bytes in it: an image is in the message already. The same value if there are none. The
 * depth of a record is bounded by its reader.
 */
function withoutBytes(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return mapped(value, withoutBytes);
  const fields = value as ForeignObject;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(fields)) {
    const member = fields[key];
    if (typeof member === "string") {
      const isBytes = key === "base64" || (key === "data" && fields.type === "base64");
      if (!isBytes) continue;
      copy ??= { ...fields };
      delete copy[key];
    } else {
      const next = withoutBytes(member);
      if (next === member) continue;
      copy ??= { ...fields };
      copy[key] = next;
    }
  }
  return copy ?? value;
}

/** The same array if no item changes. */
function mapped(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const next = change(items[at]);
    if (next === items[at]) continue;
    copy ??= [...items];
    copy[at] = next;
  }
  return copy ?? items;
}
