/**
 * The sessions in the files of opencode: an exchange file, folders of JSON files, or a database; and the
 * kinds of their messages and parts.
 */

import { textDigest } from "../shared/ids.js";
import {
  type ForeignObject,
  parseJson,
  readCount,
  readNumber,
  readObject,
  readText,
  toArray,
} from "../shared/values.js";
import type { EntryBuilder, ForeignRecord, ForeignSource, SqliteReader } from "../types.js";

/** A session as it is stored. */
export interface StoredSession {
  readonly id: string;
  readonly info: ForeignObject;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly updated: number;
  /** The session that started this one. */
  readonly parentId: string | undefined;
  /** Its messages in the order of a request. Reads them on demand. */
  messages(): readonly StoredMessage[];
}

/** A message with its parts. */
export interface StoredMessage {
  readonly info: ForeignRecord;
  readonly parts: readonly ForeignRecord[];
}

/** Finds the sessions of all files, and counts the records that belong to none. */
export async function storedSessions(source: ForeignSource): Promise<readonly StoredSession[]> {
  const sessions: StoredSession[] = [];
  const folders = new Folders(source);
  for (const { path } of source.files) {
    if (folders.add(path)) continue;
    const database = await source.sqlite(path);
    // A log beside a database was read with it.
    if (database === undefined && /\.db-(?:wal|shm)$/.test(path)) continue;
    const found =
      database === undefined ? exchangeSessions(source, path) : databaseSessions(source, path, database);
    for (const session of found) sessions.push(session);
  }
  return [...sessions, ...folders.sessions()];
}

/** `{info, messages: [{info, parts}]}`, as `opencode export` prints it. */
function exchangeSessions(source: ForeignSource, path: string): readonly StoredSession[] {
  const value = source.json(path);
  if (value === undefined) return [];
  const whole = readObject(value);
  const info = readObject(whole?.info);
  if (whole === undefined || info === undefined || !Array.isArray(whole.messages)) {
    source.count("file", "unmapped", { file: path, line: 1, value: whole ?? {} });
    return [];
  }
  let line = 0;
  const record = (member: ForeignObject): ForeignRecord => ({ file: path, line: ++line, value: member });
  const messages = () =>
    toArray(whole.messages).flatMap((item): readonly StoredMessage[] => {
      const message = readObject(item);
      const head = record(readObject(message?.info) ?? {});
      if (message === undefined || readObject(message.info) === undefined) {
        source.find({ code: "unreadable", file: path, line: head.line, text: "a message without `info`" });
        return [];
      }
      const parts = toArray(message.parts).flatMap((part) => {
        const found = readObject(part);
        return found === undefined ? [] : [record(found)];
      });
      return [{ info: head, parts }];
    });
  return [stored(info, path, messages)];
}

function stored(
  info: ForeignObject,
  fallbackId: string,
  messages: () => readonly StoredMessage[],
): StoredSession {
  const time = readObject(info.time) ?? {};
  const created = readNumber(time.created) ?? 0;
  return {
    id: readText(info.id) ?? fallbackId,
    info,
    created,
    updated: readNumber(time.updated) ?? created,
    parentId: readText(info.parentID),
    messages,
  };
}

const storedFile = /(?:^|\/)(session|message|part)\/([^/]{1,255})\/([^/]{1,255})\.json$/;

/** `session/<project>/<id>.json`, `message/<session>/<id>.json`, `part/<message>/<id>.json` of 1.1. */
class Folders {
  readonly #source: ForeignSource;
  readonly #sessions: string[] = [];
  /** Paths by the folder that they are in. */
  readonly #members = { message: new Map<string, string[]>(), part: new Map<string, string[]>() };

  constructor(source: ForeignSource) {
    this.#source = source;
  }

  /** Whether the file is of these folders. Others that lie beside them are counted. */
  add(path: string): boolean {
    const [, kind, folder = ""] = storedFile.exec(path) ?? [];
    if (kind === "session") this.#sessions.push(path);
    else if (kind === "message" || kind === "part") {
      const paths = this.#members[kind].get(folder) ?? [];
      if (paths.length === 0) this.#members[kind].set(folder, paths);
      paths.push(path);
    } else if (/(?:^|\/)storage\//.test(path)) {
      const value = path.endsWith(".json") ? readObject(this.#source.json(path)) : undefined;
      const kindOfFile = /(?:^|\/)storage\/([^/]{0,255})/.exec(path)?.[1] ?? "file";
      this.#source.count(kindOfFile, "unmapped", value && { file: path, line: 1, value });
    } else return false;
    return true;
  }

  sessions(): readonly StoredSession[] {
    const named = this.#sessions.flatMap((path) => {
      const info = this.#object(path);
      const id = nameByPath(path);
      return info === undefined ? [] : [stored({ ...info, id }, id, () => this.#messages(id))];
    });
    const known = new Set(named.map(({ id }) => id));
    // Without its own file a session still has messages.
    const others = [...this.#members.message.keys()].filter((id) => !known.has(id));
    return [...named, ...others.map((id) => stored({ id }, id, () => this.#messages(id)))];
  }

  #messages(sessionId: string): readonly StoredMessage[] {
    return this.#records("message", sessionId).map((info) => ({
      info,
      parts: this.#records("part", nameByPath(info.file)),
    }));
  }

  #records(kind: "message" | "part", folder: string): readonly ForeignRecord[] {
    const paths = this.#members[kind].get(folder) ?? [];
    return paths.toSorted(byText).flatMap((file) => {
      const value = this.#object(file);
      return value === undefined ? [] : [{ file, line: 1, value: { ...value, id: nameByPath(file) } }];
    });
  }

  #object(path: string): ForeignObject | undefined {
    return readObject(this.#source.json(path));
  }
}

function nameByPath(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, -".json".length);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The tables `session`, `message` and `part` of opencode.db, from 1.2 on. */
function databaseSessions(
  source: ForeignSource,
  path: string,
  database: SqliteReader,
): readonly StoredSession[] {
  return database.all("SELECT * FROM session ORDER BY time_created, id").flatMap((row) => {
    const id = readText(row.id);
    return id === undefined
      ? []
      : [stored(infoOfRow(row), id, () => rowMessages(source, path, database, id))];
  });
}

/** A row as the object that `opencode export` prints. */
function infoOfRow(row: ForeignObject): ForeignObject {
  const json = (value: unknown) => readObject(typeof value === "string" ? parseJson(value) : value);
  const permission = typeof row.permission === "string" ? parseJson(row.permission) : row.permission;
  return {
    ...row,
    parentID: row.parent_id,
    permission,
    metadata: json(row.metadata),
    revert: json(row.revert),
    share: typeof row.share_url === "string" ? { url: row.share_url } : undefined,
    summary: {
      additions: row.summary_additions,
      deletions: row.summary_deletions,
      files: row.summary_files,
    },
    time: { created: row.time_created, updated: row.time_updated, archived: row.time_archived },
  };
}

function rowMessages(
  source: ForeignSource,
  path: string,
  database: SqliteReader,
  sessionId: string,
): readonly StoredMessage[] {
  // A text literal has no escape but the doubled quote; a NUL would end it.
  const id = `'${sessionId.replaceAll("\0", "").replaceAll("'", "''")}'`;
  const parts = new Map<string, ForeignRecord[]>();
  let line = 0;
  const rowRecord = (row: ForeignObject): ForeignRecord | undefined => {
    const value = readObject(typeof row.data === "string" ? parseJson(row.data) : undefined);
    line++;
    if (value !== undefined) return { file: path, line, value: { ...value, id: row.id } };
    const text = `${readText(row.id) ?? "a row"}: its data is not a JSON object`;
    source.find({ code: "unreadable", file: path, text });
    return undefined;
  };
  const rows = database.all(
    `SELECT id, message_id, data FROM part WHERE session_id = ${id} ORDER BY message_id, id`,
  );
  for (const row of rows) {
    const part = rowRecord(row);
    const messageId = readText(row.message_id) ?? "";
    const list = parts.get(messageId) ?? [];
    if (list.length === 0) parts.set(messageId, list);
    if (part !== undefined) list.push(part);
  }
  return database
    .all(`SELECT id, data FROM message WHERE session_id = ${id} ORDER BY time_created, id`)
    .flatMap((row) => {
      const info = rowRecord(row);
      return info === undefined ? [] : [{ info, parts: parts.get(readText(row.id) ?? "") ?? [] }];
    });
}

/** A record's type, for the counts. */
export function readKind(value: ForeignObject): string {
  return readText(value.type) ?? readText(value.role) ?? "part";
}

/** The id of a part; for one without an id a digest of it. */
export function readPartId(part: ForeignObject): string {
  return readText(part.id) ?? textDigest(JSON.stringify(part)).slice(0, 16);
}

/** Whether a reply is a summary that replaces all messages before it. */
export function isSummary({ role, summary, finish, error }: ForeignObject): boolean {
  return role === "assistant" && summary === true && Boolean(finish) && !error;
}

/** Whether opencode leaves a reply out: it failed, or it was stopped before it had said anything. */
export function isUnsent({ info, parts }: StoredMessage): boolean {
  const error = readObject(info.value.error);
  if (error === undefined) return false;
  const said = parts.some(({ value }) => value.type !== "step-start" && value.type !== "reasoning");
  return error.name !== "MessageAbortedError" || !said;
}

// The metadata that an export adds for an import back: ids of sessions and entries, and the members of
// entries that opencode has no place for. Metadata of texts, calls and results, which opencode keeps as it
// is.

/** The annotation of a part, or of a tool's result. */
export interface EntryAnnotation {
  readonly entry: string;
  /** The part represents the entry, and its message is built from these members. */
  readonly draft?: ForeignObject | undefined;
  /** The message repeats an entry that a compaction keeps. */
  readonly kept: boolean;
  readonly members: ForeignObject;
}

/** The annotation in the metadata of a part, or in that of a tool's state. */
export function metadataAnnotation(metadata: unknown): EntryAnnotation | undefined {
  const members = readObject(readObject(metadata)?.sessile);
  const entry = readText(members?.entry);
  if (members === undefined || entry === undefined || entry === "") return undefined;
  return { entry, draft: readObject(members.draft), kept: members.kept === true, members };
}

/** The annotations of a message, the first one first. */
export function messageAnnotation({ parts }: StoredMessage): EntryAnnotation | undefined {
  for (const { value } of parts) {
    const annotation = metadataAnnotation(value.metadata);
    if (annotation !== undefined) return annotation;
  }
  return undefined;
}

/**
 * The id that the session had here, from its own metadata or from that of its first annotated part, since 1.2
 * drops the former. A fork has the annotations of its source: it is a session of its own.
 */
export function annotatedSessionId(
  id: string,
  info: ForeignObject,
  messages: readonly StoredMessage[],
): string | undefined {
  const candidates = [readObject(readObject(info.metadata)?.sessile)];
  for (const { parts } of messages.slice(0, 2))
    for (const { value } of parts) candidates.push(readObject(readObject(value.metadata)?.sessile));
  const found = candidates.find(
    (annotation) => annotation?.of === id && typeof annotation.session === "string",
  );
  return readText(found?.session);
}

/** The entries that the compaction of an own export kept. */
export function keptAnnotation(
  { members }: EntryAnnotation,
  builder: EntryBuilder,
): { firstKeptEntryId?: string; retain?: readonly string[]; tokensBefore?: number } {
  const first = readText(members.firstKept);
  const retain = Array.isArray(members.retain) ? members.retain.flatMap((id) => readText(id) ?? []) : [];
  return {
    ...(first === undefined ? {} : { firstKeptEntryId: first }),
    ...(retain.length === 0 ? {} : { retain: retain.filter((id) => builder.has(id)) }),
    ...(members.tokensBefore === undefined ? {} : { tokensBefore: readCount(members.tokensBefore) }),
  };
}
