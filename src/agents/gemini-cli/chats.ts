/** The chats among the files of a session: which one counts, which are subagents', and where they ran. */

import { contentParts, shownText } from "../shared/gemini-parts.js";
import { derivedSessionId, textDigest } from "../shared/ids.js";
import { type ForeignObject, readMilliseconds, readObject, readText, toArray } from "../shared/values.js";
import type { ForeignRecord, ForeignSource } from "../types.js";
import { isEnvironment } from "./agent.js";
import { ChatLog } from "./history.js";

/** A file with a chat. */
export interface Chat {
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
export function readChat(source: ForeignSource, path: string, form: "lines" | "value"): Chat | undefined {
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
export function chooseChats(
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
export function chatDirectory(chat: Chat, projects: ForeignObject | undefined): string {
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
