/** The reader: which session of the files is read, its children, and its state. */

import { type ForeignObject, readCount, readObject, readText, toArray } from "../shared/values.js";
import type { EntryBuilder, ForeignSource } from "../types.js";
import { annotatedSessionId } from "./annotations.js";
import { SessionReader } from "./read-session.js";
import { type StoredSession, storedSessions } from "./stored-sessions.js";

/** Reads one session with those that it started. The others of the files are counted. */
export async function readOpencode(source: ForeignSource): Promise<void> {
  const sessions = new Map<string, StoredSession>();
  for (const session of await storedSessions(source)) {
    if (!sessions.has(session.id)) sessions.set(session.id, session);
    else source.find({ code: "superseded", text: `session ${session.id}: a second copy is left out` });
  }
  const chosen = chosenSession(sessions, source);
  if (chosen === undefined) return;
  const family = rootFamily(chosen, sessions);
  for (const session of sessions.values()) if (!family.has(session.id)) source.count("session", "unmapped");
  const names = new Map<string, string>();
  for (const session of family.values()) readSession(source, session, names, family);
}

/** The session that is named, else the newest that no other one of the files started. */
function chosenSession(
  sessions: ReadonlyMap<string, StoredSession>,
  source: ForeignSource,
): StoredSession | undefined {
  const { sessionId } = source;
  if (sessionId !== undefined) {
    const named = sessions.get(sessionId);
    if (named === undefined)
      source.find({ code: "unreadable", text: `session ${sessionId} is not in the files` });
    return named;
  }
  const isRoot = ({ parentId }: StoredSession) => parentId === undefined || !sessions.has(parentId);
  const all = [...sessions.values()];
  // A cycle of parents has no root.
  const roots = all.some(isRoot) ? all.filter(isRoot) : all;
  return roots.reduce<StoredSession | undefined>(
    (newest, each) => (newest === undefined || each.updated > newest.updated ? each : newest),
    undefined,
  );
}

/** A session and all that it started, itself first, the others in the order of their start. */
function rootFamily(
  root: StoredSession,
  sessions: ReadonlyMap<string, StoredSession>,
): ReadonlyMap<string, StoredSession> {
  const children = new Map<string, StoredSession[]>();
  const inOrder = [...sessions.values()].toSorted((a, b) => a.created - b.created);
  for (const session of inOrder) {
    if (session.parentId === undefined) continue;
    const list = children.get(session.parentId) ?? [];
    if (list.length === 0) children.set(session.parentId, list);
    list.push(session);
  }
  const family = new Map([[root.id, root]]);
  // Iteration over a map includes keys added meanwhile.
  for (const id of family.keys()) for (const child of children.get(id) ?? []) family.set(child.id, child);
  return family;
}

/** @param names ids of the sessions here by those of opencode */
function readSession(
  source: ForeignSource,
  session: StoredSession,
  names: Map<string, string>,
  family: ReadonlyMap<string, StoredSession>,
): void {
  const { info, parentId } = session;
  const messages = session.messages();
  const builder = source.session({
    id: annotatedSessionId(session.id, info, messages) ?? session.id,
    cwd: readText(info.directory),
    timestamp: readObject(info.time)?.created,
    agentVersion: readText(info.version),
    parentSession: parentId === undefined ? undefined : (names.get(parentId) ?? parentId),
  });
  names.set(session.id, builder.sessionId);
  source.count("session", "mapped");
  const reader = new SessionReader({ source, builder, session, messages, family });
  reader.read();
  addState(builder, info);
  addRevert(builder, reader, info);
}

/** Name, address, rules and changes of the session, after its messages: they change while it grows. */
function addState(builder: EntryBuilder, info: ForeignObject): void {
  const title = readText(info.title);
  const slug = readText(info.slug);
  const url = readText(readObject(info.share)?.url);
  const archived = readObject(info.time)?.archived;
  const summary = readObject(info.summary);
  const permission = toArray(info.permission).flatMap((item) => {
    const rule = readObject(item) ?? {};
    const { permission: name, pattern, action } = rule;
    if (typeof name !== "string" || typeof pattern !== "string") return [];
    if (action !== "allow" && action !== "deny" && action !== "ask") return [];
    return [{ permission: name.toWellFormed(), pattern: pattern.toWellFormed(), action } as const];
  });
  const fields = {
    ...(title === undefined || title === "" ? {} : { title }),
    ...(slug === undefined || slug === "" ? {} : { slug }),
    ...(typeof archived === "number" && archived > 0
      ? { archivedAt: new Date(builder.time(archived)).toISOString() }
      : {}),
    ...(url === undefined ? {} : { share: { url } }),
    ...(permission.length === 0 ? {} : { permission }),
    ...(readCount(summary?.files) === 0
      ? {}
      : {
          stats: {
            additions: readCount(summary?.additions),
            deletions: readCount(summary?.deletions),
            files: readCount(summary?.files),
          },
        }),
  };
  if (Object.keys(fields).length === 0) return;
  // Another state is another entry, since a second import keeps the entries of the first.
  builder.add({ type: "session_info", ...fields }, { recordId: "session", part: JSON.stringify(fields) });
}

/** Undone messages are still stored, until the next prompt deletes them. */
function addRevert(builder: EntryBuilder, reader: SessionReader, info: ForeignObject): void {
  const revert = readObject(info.revert);
  const messageId = readText(revert?.messageID);
  if (revert === undefined || messageId === undefined) return;
  const partId = readText(revert.partID);
  const undone = reader.undo(messageId, partId);
  if (undone === undefined) return;
  const snapshot = readText(revert.snapshot);
  const diff = readText(revert.diff);
  const recordId = `revert ${messageId} ${partId ?? ""}`;
  const { leaf } = undone;
  builder.add({ type: "leaf", targetId: leaf }, { recordId, part: "leaf", parentId: leaf });
  // On the new path, where a harness finds it.
  const id = builder.add(
    {
      type: "revert",
      targetId: undone.firstUndone,
      ...(partId === undefined ? {} : { partId }),
      ...(snapshot === undefined ? {} : { snapshot }),
      ...(diff === undefined || diff === "" ? {} : { diff }),
    },
    { recordId, parentId: leaf },
  );
  builder.setLeaf(id);
}
