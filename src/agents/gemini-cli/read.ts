/** Reads the chats of Gemini CLI: the steps of each log as entries of a session. */

import { contentParts, shownText } from "../shared/gemini-parts.js";
import { derivedSessionId, textDigest } from "../shared/ids.js";
import { type ForeignObject, readMilliseconds, readObject, readText, toArray } from "../shared/values.js";
import type { EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { isEnvironment } from "./agent.js";
import { type Anchor, ChatLog, type CompactionStep, type Step, type Turn } from "./history.js";
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

// The chats among the files of a session: which one counts, which are subagents', and where they ran.

/** A file with a chat. */
interface Chat {
  readonly path: string;
  readonly sessionId: string;
  /** The id of the session that it is a subagent of. */
  readonly parentId: string | undefined;
  /** The members of the first record, with later changes. */
  readonly metadata: ForeignObject;
  readonly log: ChatLog;
}

/** Metadata that is read. */
const metadataNames = [
  "sessionId",
  "projectHash",
  "startTime",
  "lastUpdated",
  "kind",
  "directories",
  "meta",
  "sessile",
];

const readNames = new Set([...metadataNames, "messages", "summary"]);

/** Reads a file of states, one a line, or one JSON object of the whole chat as version 0.26 wrote it. */
function readChat(source: ForeignSource, path: string, form: "lines" | "value"): Chat | undefined {
  const metadata: Record<string, unknown> = {};
  const log = new ChatLog();
  const learn = (value: ForeignObject): void => {
    const { startTime = value.startTime } = metadata;
    for (const name of metadataNames) if (value[name] !== undefined) metadata[name] = value[name];
    // A resume in the minute of the start begins the same file again.
    metadata.startTime = startTime;
    const summary = readText(value.summary);
    if (summary !== undefined && summary !== "") log.name(summary);
  };
  let isChat = false;
  const add = (record: ForeignRecord): void => {
    isChat = addRecord(record, { log, learn, source }) || isChat;
  };
  if (form === "lines") for (const record of source.records(path)) add(record);
  else {
    const value = readObject(source.json(path));
    if (value === undefined || !Array.isArray(value.messages)) return undefined;
    learn(value);
    const values = value.messages.map(readObject);
    for (const [at, message] of values.entries())
      if (message !== undefined) add({ file: path, line: at + 1, value: message });
    isChat = true;
  }
  log.finish();
  if (!isChat) return undefined;
  const nested = /(?:^|\/)chats\/([^/]{1,255})\/([^/]{1,255})\.jsonl?$/.exec(path);
  const named =
    readText(metadata.sessionId) ??
    nested?.[2] ??
    path
      .split("/")
      .at(-1)
      ?.replace(/\.jsonl?$/, "");
  const isSubagent = metadata.kind === "subagent" || nested !== null;
  return {
    path,
    sessionId: named ?? path,
    parentId: isSubagent ? (nested?.[1] ?? "") : undefined,
    metadata,
    log,
  };
}

/** Adds a record to a log. Returns whether it is one of a chat. */
function addRecord(
  record: ForeignRecord,
  { log, learn, source }: { log: ChatLog; learn(value: ForeignObject): void; source: ForeignSource },
): boolean {
  const { value } = record;
  const rewound = readText(value.$rewindTo);
  if (rewound !== undefined) {
    log.rewind(rewound);
    source.count("$rewindTo", "mapped");
    return true;
  }
  const id = readText(value.id);
  if (id !== undefined) {
    addMessage(id, record, log, source);
    return typeof value.type === "string";
  }
  const changes = readObject(value.$set);
  if (changes !== undefined) {
    learn(changes);
    if (changes.messages !== undefined) log.checkpoint(changes.messages);
    const isMapped = Object.keys(changes).some((name) => readNames.has(name));
    source.count("$set", isMapped ? "mapped" : "unmapped", record);
    return true;
  }
  if (typeof value.sessionId === "string") {
    learn(value);
    for (const message of toArray(value.messages)) {
      const each = readObject(message);
      const messageId = readText(each?.id);
      if (each === undefined || messageId === undefined) continue;
      addMessage(messageId, { ...record, value: each }, log, source);
    }
    source.count("metadata", "mapped");
    return true;
  }
  source.count(readText(value.type) ?? "unknown", "unmapped", record);
  return false;
}

/** Types of messages that no model is sent. */
const shownTypes = new Set(["info", "warning", "error"]);

function addMessage(id: string, record: ForeignRecord, log: ChatLog, source: ForeignSource): void {
  const { value } = record;
  const type = readText(value.type) ?? "unknown";
  // Some tools that share these files name the replies as the Gemini API does.
  const message = type === "model" ? { content: value.parts, ...value, type: "gemini" } : value;
  log.put(id, message);
  const isMapped = message.type === "user" || message.type === "gemini";
  source.count(type, isMapped ? "mapped" : "unmapped", record);
  if (isMapped || shownTypes.has(type)) return;
  source.find({ code: "newer", file: record.file, line: record.line, text: `a message of type ${type}` });
}

/** The chats of the session to read: its own, those of its subagents, and older files of it. */
function chooseChats(
  source: ForeignSource,
  chats: readonly Chat[],
): {
  readonly main: Chat | undefined;
  readonly subagents: readonly Chat[];
  readonly others: readonly Chat[];
} {
  const wanted = source.sessionId;
  const isWanted = ({ sessionId }: Chat) =>
    wanted === undefined || sessionId === wanted || derivedSessionId("gemini", sessionId) === wanted;
  const mains = chats.filter(({ parentId }) => parentId === undefined);
  const candidates = (mains.some(isWanted) || wanted !== undefined ? mains : chats).filter(isWanted);
  // A resume begins a file of its own, with nothing but the environment.
  const rank = ({ log, metadata }: Chat): readonly [number, number] => [
    log.current.some(({ value }) => value.type === "gemini" || isPrompt(value)) ? 1 : 0,
    readMilliseconds(metadata.lastUpdated) ?? 0,
  ];
  let main: Chat | undefined;
  for (const chat of candidates) {
    if (main === undefined) main = chat;
    const [[content, updated], [mainContent, mainUpdated]] = [rank(chat), rank(main)];
    if (content > mainContent || (content === mainContent && updated > mainUpdated)) main = chat;
  }
  const subagents = chats.filter((chat) => chat !== main && chat.parentId !== undefined);
  const others = chats.filter((chat) => chat !== main && chat.parentId === undefined);
  return { main, subagents, others };
}

function isPrompt(value: ForeignObject): boolean {
  return value.type === "user" && !isEnvironment(shownText(contentParts(value.content)));
}

/**
 * The working directory of a chat, which has only its SHA-256: of the registry of projects, the directories
 * of the chat, and those in the environment of the agent's prompt. One with that digest comes first.
 */
function chatDirectory(chat: Chat, projects: ForeignObject | undefined): string {
  const { metadata, path, log } = chat;
  const slug = /(?:^|\/)tmp\/([^/]{1,255})\//.exec(path)?.[1];
  const named = Object.entries(projects ?? {}).flatMap(([directory, name]) =>
    name === slug && slug !== undefined ? [directory] : [],
  );
  const listed = toArray(metadata.directories).flatMap((directory) => readText(directory) ?? []);
  const told = log.current.slice(0, 3).flatMap(({ value }) => promptDirectories(value));
  const own = readText(readObject(metadata.sessile)?.cwd);
  const all = [...(own === undefined ? [] : [own]), ...named, ...listed, ...told];
  const hash = readText(metadata.projectHash);
  return all.slice(0, 100).find((directory) => textDigest(directory) === hash) ?? all[0] ?? "";
}

function promptDirectories({ content }: ForeignObject): readonly string[] {
  const text = shownText(contentParts(content)).slice(0, 10_000);
  if (!isEnvironment(text)) return [];
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.includes("Workspace Directories"));
  if (at < 0) return [];
  const rest = lines.slice(at + 1);
  const end = rest.findIndex((line) => !/^\s{1,200}- /.test(line));
  return rest.slice(0, end < 0 ? rest.length : end).map((line) => line.replace(/^\s{1,200}- /, ""));
}
