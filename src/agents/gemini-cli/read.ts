/** Reads the chats of Gemini CLI: the steps of each log as entries of a session. */

import { contentParts, shownText } from "../shared/gemini-parts.js";
import type { EntryBuilder, ForeignSource } from "../types.js";
import { type Chat, chatDirectory, chooseChats, readChat } from "./chats.js";
import type { Anchor, CompactionStep, Step, Turn } from "./history.js";
import { Conversation } from "./messages.js";

/** The chat of a session, and the entries of its messages. */
export interface MainChat {
  readonly chat: Chat;
  readonly conversation: Conversation;
}

/** Reads a session into builders: the chat that was updated last, and the chats of its subagents. */
export function readGemini(source: ForeignSource): MainChat | undefined {
  let projects: Readonly<Record<string, unknown>> | undefined;
  const chats: Chat[] = [];
  for (const { path, form } of source.files) {
    if (path.split("/").at(-1) === "projects.json") projects = readRegistry(source.json(path));
    else if (form !== undefined) {
      const chat = readChat(source, path, form);
      if (chat === undefined) source.count("other file", "unmapped");
      else chats.push(chat);
    }
  }
  const { main, subagents, others } = chooseChats(source, chats);
  if (main === undefined) return undefined;
  const cwd = chatDirectory(main, projects);
  const builder = beginSession(source, main, { cwd });
  const ids = new Map(subagents.map((chat) => [chat.sessionId, chat]));
  const builders = new Map<Chat, EntryBuilder>([[main, builder]]);
  for (const chat of subagents) {
    const parent = [main, ...subagents].find(({ sessionId }) => sessionId === chat.parentId) ?? main;
    const place = { cwd: chatDirectory(chat, projects) || cwd, parentSession: parent.sessionId };
    builders.set(chat, beginSession(source, chat, place));
  }
  let result: MainChat | undefined;
  for (const [chat, entries] of builders) {
    const subagentByAgentId = (id: string): string | undefined => {
      const child = ids.get(id);
      return child === undefined ? undefined : builders.get(child)?.sessionId;
    };
    const { sessionId: foreignId, path: file } = chat;
    const conversation = new Conversation(source, entries, { foreignId, file, subagentByAgentId });
    addChat(source, chat, conversation);
    if (chat === main) result = { chat, conversation };
  }
  for (const { path, sessionId } of others) {
    const text =
      sessionId === main.sessionId ? "another file of the session is newer" : `another session: ${sessionId}`;
    source.find({ code: sessionId === main.sessionId ? "superseded" : "unmapped", file: path, text });
  }
  return result;
}

function readRegistry(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const projects = (value as { readonly projects?: unknown } | undefined)?.projects;
  return typeof projects === "object" && projects !== null ? { ...projects } : undefined;
}

function beginSession(
  source: ForeignSource,
  { sessionId, metadata }: Chat,
  place: { readonly cwd: string; readonly parentSession?: string },
): EntryBuilder {
  return source.session({ id: sessionId, timestamp: metadata.startTime, ...place });
}

function addChat(source: ForeignSource, chat: Chat, conversation: Conversation): void {
  const { steps, superseded } = chat.log;
  for (const step of steps) addStep(step, conversation);
  conversation.finish();
  if (superseded === 0) return;
  const text = `${superseded} ${superseded === 1 ? "record is" : "records are"} an earlier state of a message`;
  source.find({ code: "superseded", file: chat.path, text });
}

function addStep(step: Step, conversation: Conversation): void {
  switch (step.type) {
    case "message":
      conversation.addTurn(step.turn);
      return;
    case "compaction":
      addCompaction(step, conversation);
      return;
    case "name":
      conversation.add({ type: "session_info", name: step.name }, { recordId: step.key });
      return;
    case "removed":
      removeTurns(step.turns, step.key, conversation);
      return;
    case "rewind": {
      const targetId = anchorEntry(step.anchor, conversation);
      conversation.moveTo(targetId, step.key);
      removeTurns(step.removed, step.key, conversation);
    }
  }
}

function anchorEntry(anchor: Anchor, conversation: Conversation): string | null {
  if (anchor === undefined) return null;
  const turn = "type" in anchor ? anchor.summary : anchor;
  return conversation.lastTurnEntry(turn);
}

/** Edits the entries of messages out of the context. */
function removeTurns(turns: readonly Turn[], key: string, conversation: Conversation): void {
  for (const turn of turns) {
    for (const targetId of conversation.turnEntries(turn)) {
      const place = { recordId: key, part: targetId };
      conversation.add({ type: "context_edit", targetId, replacement: null }, place);
    }
  }
}

/** The wrapper of a summary that another agent wrote. */
const [open, close] = ["<state_snapshot>\n", "\n</state_snapshot>"] as const;

function addCompaction({ summary, retained }: CompactionStep, conversation: Conversation): void {
  const text = shownText(contentParts(summary.value.content)).toWellFormed();
  const isWrapped =
    text.startsWith(open) && text.endsWith(close) && text.length >= open.length + close.length;
  const retain = [...new Set(retained.flatMap((turn) => conversation.turnEntries(turn)))];
  const draft = {
    type: "compaction",
    summary: isWrapped ? text.slice(open.length, -close.length) : text,
    // Its own id, which keeps nothing before it: kept messages are in `retain`.
    firstKeptEntryId: "",
    tokensBefore: conversation.tokens,
    ...(retain.length === 0 ? {} : { retain }),
  } as const;
  conversation.addFunction(summary, draft);
}
