/** The units of a transcript as entries: replies with their results, user messages, compactions, notes. */

import { readCount, readObject, readText, toArray } from "../shared/values.js";
import type { DraftEntry, EntryBuilder } from "../types.js";
import { plainText, shownBlocks } from "./content.js";
import { countedType, isApiError, isMessage, type Line, lineBlocks, readType, type Unit } from "./lines.js";
import type { Conversation, Titles } from "./reply-entries.js";
import { addReply, answerKey, userDraft } from "./reply-entries.js";
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
