/**
 * Reads the sessions of opencode: which one of the files, its children and its state; then its messages as
 * entries, in the order in which opencode sends them to a model.
 */

import { derivedSessionId, textDigest } from "../shared/ids.js";
import {
  type ForeignObject,
  readCount,
  readNumber,
  readObject,
  readText,
  toArray,
} from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignSource } from "../types.js";
import { annotatedDraft, messageReply, messageSteps, readUsage, toolOutcome, userRuns } from "./reply.js";
import {
  annotatedSessionId,
  isSummary,
  isUnsent,
  keptAnnotation,
  messageAnnotation,
  metadataAnnotation,
  readKind,
  readPartId,
  type StoredMessage,
  type StoredSession,
  storedSessions,
} from "./stored-sessions.js";

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

// One session's messages as entries, in the order in which opencode sends them to a model.

interface SessionReaderInit {
  readonly source: ForeignSource;
  readonly builder: EntryBuilder;
  readonly session: StoredSession;
  readonly messages: readonly StoredMessage[];
  /** The session and its children. */
  readonly family: ReadonlyMap<string, StoredSession>;
}

/** A tool's output that opencode no longer sends. */
interface Pruned {
  readonly at: number;
  readonly recordId: string;
  readonly part: string;
}

const prunedText = "[Old tool result content cleared]";

class SessionReader {
  readonly #init: SessionReaderInit;
  readonly #source: ForeignSource;
  readonly #builder: EntryBuilder;
  /** Messages by id, with the entries before and at the start of each. */
  readonly #places = new Map<
    string,
    { readonly message: StoredMessage; readonly before: string | null; first?: string }
  >();
  /** The completed summary of each compaction, by the id of the message that asked for it. */
  readonly #summaries = new Map<string, StoredMessage>();
  readonly #pruned: readonly Pruned[];
  #nextPruned = 0;
  readonly #latePruned: Pruned[] = [];
  #tokens = 0;

  constructor(init: SessionReaderInit) {
    this.#init = init;
    this.#source = init.source;
    this.#builder = init.builder;
    for (const message of init.messages) {
      const { value } = message.info;
      const parent = readText(value.parentID);
      if (isSummary(value) && parent !== undefined) this.#summaries.set(parent, message);
    }
    this.#pruned = init.messages
      .flatMap((message, index) => this.#prunedCalls(message, index))
      .toSorted((a, b) => a.at - b.at);
  }

  /** Adds all messages. */
  read(): void {
    for (const [index, message] of this.#init.messages.entries()) {
      const { info, parts } = message;
      const id = this.#foreignId(message, index);
      const role = readText(info.value.role) ?? "message";
      if (this.#places.has(id)) {
        const text = `message ${id}: a second copy is left out`;
        this.#source.find({ code: "superseded", file: info.file, line: info.line, text });
        this.#source.count(role, "unmapped", info);
        continue;
      }
      const created = readNumber(readObject(info.value.time)?.created);
      if (created !== undefined) this.#addPruned(created);
      this.#places.set(id, { message, before: this.#builder.last });
      const annotation = messageAnnotation(message);
      if (annotation?.kept === true && this.#builder.has(annotation.entry)) {
        for (const record of [info, ...parts]) this.#source.count(readKind(record.value), "mapped");
      } else if (role === "user") this.#addUser(message, id, created);
      else if (role === "assistant") this.#addAssistant(message, this.#recordId(message, index), id, created);
      else {
        this.#source.count(role, "unmapped", info);
        this.#findNewer(message, `a message of role ${role}`);
      }
    }
    this.#addPruned(Number.POSITIVE_INFINITY);
    for (const pruned of this.#latePruned) this.#addEdit(pruned);
  }

  /**
   * Where the session goes on after an undo: before a message, or before a part of it. Then the parts before
   * it are a message of their own. Undefined for an unknown message.
   */
  undo(
    messageId: string,
    partId: string | undefined,
  ): { readonly leaf: string | null; readonly firstUndone: string } | undefined {
    const place = this.#places.get(messageId);
    if (place?.first === undefined) return undefined;
    const { message, before, first } = place;
    const at = message.parts.findIndex(({ value }) => value.id === partId);
    if (partId === undefined || at <= 0) return { leaf: before, firstUndone: first };
    const kept = { info: message.info, parts: message.parts.slice(0, at) };
    const id = `${messageId} before ${partId}`;
    const created = readNumber(readObject(message.info.value.time)?.created);
    this.#places.set(id, { message: kept, before });
    this.#parent = before;
    if (message.info.value.role === "user") this.#addUser(kept, id, created);
    else this.#addAssistant(kept, id, id, created);
    const isEmpty = this.#places.get(id)?.first === undefined;
    return { leaf: isEmpty ? before : this.#builder.last, firstUndone: first };
  }

  /** The parent of the next entry, if it is not the last one. */
  #parent: string | null | undefined;

  #add(
    draft: DraftEntry,
    place: {
      readonly id: string;
      readonly recordId: string;
      readonly part: string | number;
      readonly time: unknown;
      readonly entry?: string | undefined;
    },
  ): string {
    const { id, recordId, part, time: timestamp, entry } = place;
    const parent = this.#parent === undefined ? {} : { parentId: this.#parent };
    this.#parent = undefined;
    const added = this.#builder.add(draft, { recordId, part, timestamp, ...parent, id: entry });
    const known = this.#places.get(id);
    if (known !== undefined) known.first ??= added;
    return added;
  }

  #foreignId({ info }: StoredMessage, index: number): string {
    return readText(info.value.id) ?? `#${index}`;
  }

  /** The last reply may still be running: its later state is another entry, on a branch of its own. */
  #recordId(message: StoredMessage, index: number): string {
    const id = this.#foreignId(message, index);
    const { time, error, role } = message.info.value;
    const isOpen = role === "assistant" && readObject(time)?.completed === undefined && error === undefined;
    if (!isOpen || index !== this.#init.messages.length - 1) return id;
    return `${id} ${textDigest(JSON.stringify(message.parts.map(({ value }) => value))).slice(0, 16)}`;
  }

  #addUser(message: StoredMessage, id: string, created: unknown): void {
    const { info, parts } = message;
    const summary = this.#summaries.get(id);
    const annotation = messageAnnotation(message);
    const model = readObject(info.value.model);
    const runs = userRuns(parts, summary !== undefined);
    this.#source.count("user", runs.length > 0 || summary !== undefined ? "mapped" : "unmapped", info);
    for (const { record, outcome, isNew } of runs.records) {
      this.#source.count(readKind(record.value), outcome, record);
      if (isNew) this.#findNewer(message, `a part of type ${readKind(record.value)}`);
    }
    const whole =
      annotation?.draft === undefined ? undefined : annotatedDraft(annotation.draft, runs.content);
    const place = { id, recordId: id, time: created };
    if (whole !== undefined) {
      this.#add(whole, { ...place, part: 0, entry: annotation?.entry });
      return;
    }
    let isAnnotated = false;
    for (const { customType, content, part } of runs) {
      if (customType !== undefined) {
        this.#add({ type: "custom_message", customType, content, display: false }, { ...place, part });
        continue;
      }
      const provider = readText(model?.providerID);
      const modelId = readText(model?.modelID);
      const variant = readText(info.value.variant) ?? readText(model?.variant);
      const draft: DraftEntry = {
        type: "message",
        message: {
          role: "user",
          content,
          ...(provider === undefined || modelId === undefined ? {} : { model: { provider, modelId } }),
          ...(variant === undefined ? {} : { variant }),
          timestamp: this.#builder.time(created),
        },
      };
      this.#add(draft, { ...place, part, entry: isAnnotated ? undefined : annotation?.entry });
      isAnnotated = true;
    }
  }

  #addAssistant(message: StoredMessage, recordId: string, id: string, created: unknown): void {
    const { info, parts } = message;
    const place = { id, recordId, time: created };
    const asked = readText(info.value.parentID);
    if (asked !== undefined && this.#summaries.get(asked)?.info === info) {
      this.#addCompaction(message, asked, place);
      return;
    }
    if (isUnsent(message)) {
      const error = readObject(info.value.error) ?? {};
      this.#source.count("assistant", "unmapped", info);
      for (const record of parts) this.#source.count(readKind(record.value), "unmapped", record);
      this.#add({ type: "custom", customType: "opencode.error", data: error }, { ...place, part: "error" });
      return;
    }
    this.#source.count("assistant", "mapped", info);
    const calls = new Set<string>();
    const steps = messageSteps(message, (callId, record) => {
      if (calls.has(callId)) {
        const text = `call ${callId}: a second call or result of this id in one message is left out`;
        this.#source.find({ code: "duplicateResult", file: record.file, line: record.line, text });
        return false;
      }
      calls.add(callId);
      return true;
    });
    let isAnnotated = false;
    const annotation = messageAnnotation(message);
    for (const [index, step] of steps.entries()) {
      for (const { record, outcome, isNew } of step.records) {
        this.#source.count(readKind(record.value), outcome, record);
        if (isNew) this.#findNewer(message, `a part of type ${readKind(record.value)}`);
      }
      const timestamp = this.#builder.time(created);
      const reply = messageReply(message, step, steps.length, timestamp, annotation);
      if (reply !== undefined) {
        this.#add(
          { type: "message", message: reply },
          { ...place, part: index, entry: isAnnotated ? undefined : annotation?.entry },
        );
        isAnnotated = true;
      }
      for (const record of step.tools) this.#addOutcome(record.value, place);
    }
    const { tokens } = info.value;
    const usage = readUsage(tokens, 0);
    if (usage !== undefined) this.#tokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  }

  #addOutcome(
    part: ForeignObject,
    place: { readonly id: string; readonly recordId: string; readonly time: unknown },
  ): void {
    const state = readObject(part.state) ?? {};
    const time = readObject(state.time);
    const ended = readNumber(time?.end) ?? readNumber(time?.start) ?? place.time;
    const message = toolOutcome(part, this.#builder.time(ended));
    const partId = readPartId(part);
    const entry = metadataAnnotation(state.metadata)?.entry;
    if (message !== undefined)
      this.#add({ type: "message", message }, { ...place, part: `${partId} result`, time: ended, entry });
    const child = readText(readObject(state.metadata)?.sessionId);
    if (child === undefined) return;
    const session = this.#init.family.get(child);
    if (session === undefined) {
      if (part.tool !== "task") return;
      this.#source.find({ code: "missingChild", text: `session ${child} of a task is not in the files` });
      return;
    }
    const foreignId = annotatedSessionId(child, session.info, session.messages()) ?? child;
    const data = {
      toolCallId: readText(part.callID) ?? partId,
      sessionId: derivedSessionId("opencode", foreignId),
    };
    this.#add(
      { type: "custom", customType: "sessile.subagent", data },
      { ...place, part: `${partId} subagent`, time: ended },
    );
  }

  #addCompaction(
    message: StoredMessage,
    asked: string,
    place: { readonly id: string; readonly recordId: string; readonly time: unknown },
  ): void {
    const { info, parts } = message;
    const request = this.#places.get(asked)?.message;
    const compaction = request?.parts.find(({ value }) => value.type === "compaction");
    this.#source.count("assistant", "mapped", info);
    for (const record of parts)
      this.#source.count(
        readKind(record.value),
        record.value.type === "text" ? "mapped" : "unmapped",
        record,
      );
    const texts = parts.flatMap(({ value }) => (value.type === "text" ? (readText(value.text) ?? []) : []));
    const tail = readText(compaction?.value.tail_start_id);
    const first = tail === undefined ? undefined : this.#places.get(tail)?.first;
    if (tail !== undefined && first === undefined) {
      const text = `a compaction keeps all from message ${tail}, which is not before it`;
      this.#source.find({ code: "missingParent", file: info.file, line: info.line, text });
    }
    const annotation = request === undefined ? undefined : messageAnnotation(request);
    const own = annotation === undefined ? {} : keptAnnotation(annotation, this.#builder);
    const provider = readText(info.value.providerID);
    const modelId = readText(info.value.modelID);
    const usage = readUsage(info.value.tokens, info.value.cost);
    const draft: DraftEntry = {
      type: "compaction",
      summary: texts.join("\n\n"),
      // A message id is not an entry id: nothing is kept.
      firstKeptEntryId: first ?? asked,
      tokensBefore: this.#tokens,
      ...own,
      ...(usage === undefined ? {} : { usage }),
      ...(provider === undefined || modelId === undefined ? {} : { model: { provider, modelId } }),
    };
    const known = this.#places.get(asked);
    const id = this.#add(draft, { ...place, part: "compaction", entry: annotation?.entry });
    if (known !== undefined) known.first ??= id;
  }

  #prunedCalls(message: StoredMessage, index: number): readonly Pruned[] {
    if (message.info.value.role !== "assistant") return [];
    const recordId = this.#recordId(message, index);
    return message.parts.flatMap(({ value }) => {
      const at = readNumber(readObject(readObject(value.state)?.time)?.compacted);
      if (value.type !== "tool" || at === undefined || at === 0) return [];
      return [{ at, recordId, part: `${readPartId(value)} result` }];
    });
  }

  /** Adds the edits of outputs that were pruned before a time to the path of later entries. */
  #addPruned(before: number): void {
    for (let next = this.#pruned[this.#nextPruned]; next !== undefined && next.at < before; ) {
      if (!this.#addEdit(next)) this.#latePruned.push(next);
      next = this.#pruned[++this.#nextPruned];
    }
  }

  #addEdit({ at, recordId, part }: Pruned): boolean {
    const targetId = this.#builder.idByRecordId(recordId, part);
    if (targetId === undefined) return false;
    const content = [{ type: "text", text: prunedText }] as const;
    this.#builder.add(
      { type: "context_edit", targetId, replacement: { content } },
      { recordId, part: `${part} pruned`, timestamp: at },
    );
    return true;
  }

  #findNewer({ info }: StoredMessage, text: string): void {
    this.#source.find({ code: "newer", file: info.file, line: info.line, text });
  }
}
