/**
 * Reads the files of a session: its thread, the bases of a fork, the threads of subagents, the names; then
 * the lines of a thread, of which items are entries and events change the model's history.
 */

import { type ForeignObject, readMilliseconds, readNumber, readObject, readText } from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { eventOutcome, type readUsage } from "./items.js";
import { Rollout, type RolloutLine, type RolloutMeta } from "./rollout.js";
import { changeMessage, type ItemLine, ThreadItems } from "./thread-items.js";
import { type Draft, readCompacted, ThreadState, Timeline } from "./thread-state.js";

/** The newest version of Codex whose rollouts were looked at. */
const knownMinor = 169;

/** Reads a session and those of its subagents. */
export function readCodex(source: ForeignSource): void {
  const names = new Map<string, string>();
  const threads = new Map<string, Rollout[]>();
  for (const { path } of source.files) {
    if (/(?:^|\/)session_index\.jsonl$/.test(path)) {
      readNames(path, source, names);
      continue;
    }
    const rollout = new Rollout(path, source);
    const id = rollout.meta?.id ?? path;
    const files = threads.get(id);
    if (files === undefined) threads.set(id, [rollout]);
    else files.push(rollout);
  }
  // A thread that was reverted continues in a further file, whose name sorts after this one's.
  for (const files of threads.values()) files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const all = [...threads.values()].flat();
  for (const { meta } of all) {
    for (const base of threads.get(meta?.base?.threadId ?? "") ?? []) base.isShared = true;
  }
  const main = mainThread(threads, source.sessionId);
  if (main === undefined) return;
  const read = new Set<string>();
  const queue = [{ id: main, isChild: false }];
  for (const { id, isChild } of queue) {
    const files = threads.get(id);
    if (read.has(id)) continue;
    read.add(id);
    if (files === undefined) {
      source.find({ code: "missingChild", text: `the thread of a subagent is not among the files: ${id}` });
      continue;
    }
    const spawned = readThread(id, files, { source, threads, name: names.get(id), isChild });
    for (const child of spawned) queue.push({ id: child, isChild: true });
    for (const [other, [rollout]] of threads) {
      if (rollout?.meta?.parentThread === id) queue.push({ id: other, isChild: true });
    }
  }
  const bases = new Set(all.map(({ meta }) => meta?.base?.threadId));
  for (const [id, [rollout]] of threads) {
    if (read.has(id) || bases.has(id) || rollout === undefined) continue;
    source.find({ code: "unmapped", file: rollout.path, text: `another session, which is not read: ${id}` });
  }
}

/** The names of threads. Of several for one thread the last counts. */
function readNames(path: string, source: ForeignSource, names: Map<string, string>): void {
  for (const record of source.records(path)) {
    const id = readText(record.value.id);
    const name = readText(record.value.thread_name);
    if (id !== undefined && name !== undefined) names.set(id, name);
    source.count("thread_name", id === undefined ? "unmapped" : "mapped", record);
  }
}

/** The thread that was asked for, else the first that is neither a subagent's nor the base of another one. */
function mainThread(
  threads: ReadonlyMap<string, readonly Rollout[]>,
  wanted: string | undefined,
): string | undefined {
  if (wanted !== undefined && threads.has(wanted)) return wanted;
  const bases = new Set<string>();
  for (const [id, files] of threads) {
    for (const { meta } of files)
      if (meta?.base !== undefined && meta.base.threadId !== id) bases.add(meta.base.threadId);
  }
  const ids = [...threads.keys()];
  const isOwn = (id: string) => {
    const parent = threads.get(id)?.[0]?.meta?.parentThread;
    return (parent === undefined || !threads.has(parent)) && !bases.has(id);
  };
  return ids.find(isOwn) ?? ids[0];
}

interface ThreadContext {
  readonly source: ForeignSource;
  readonly threads: ReadonlyMap<string, readonly Rollout[]>;
  readonly name: string | undefined;
  readonly isChild: boolean;
}

/** Reads the files of a thread. Returns the threads of its subagents. */
function readThread(
  id: string,
  files: readonly Rollout[],
  { source, threads, name, isChild }: ThreadContext,
): ReadonlySet<string> {
  const [first] = files;
  const meta = first?.meta;
  const builder = source.session({
    id,
    cwd: meta?.cwd ?? first?.directory,
    timestamp: meta?.timestamp,
    agentVersion: meta?.version,
    parentSession: (isChild ? meta?.parentThread : undefined) ?? meta?.forkedFrom ?? meta?.parentThread,
  });
  checkVersion(meta?.version, source);
  const reader = new ThreadReader(source, builder, meta, files.length > 1 || meta?.base !== undefined);
  if (name !== undefined) {
    const place = { recordId: `name\0${name}`, timestamp: meta?.timestamp };
    reader.timeline.add({ type: "session_info", name }, place);
  }
  if (first !== undefined) readBases(first, id, { reader, source, threads }, new Set([id]));
  for (const [at, file] of files.entries()) {
    if (at === 0) {
      reader.read(file);
      continue;
    }
    const prefix = `${fileName(file)}:`;
    const end = file.meta?.base?.end;
    if (end !== undefined) reader.revertTo(end, prefix);
    reader.read(file, { prefix });
  }
  reader.finish(builder);
  return reader.spawned;
}

/** Reads the beginning of a fork: the lines of its base up to the place of the fork. */
function readBases(
  file: Rollout,
  id: string,
  context: {
    readonly reader: ThreadReader;
    readonly source: ForeignSource;
    readonly threads: ThreadContext["threads"];
  },
  seen: Set<string>,
): void {
  const base = file.meta?.base;
  if (base === undefined || base.threadId === id) return;
  const { reader, source, threads } = context;
  const files = threads.get(base.threadId);
  if (files === undefined || seen.has(base.threadId)) {
    const text = `the base of the fork is not among the files: ${base.threadId}`;
    source.find({ code: "missingBase", file: file.path, text });
    return;
  }
  seen.add(base.threadId);
  for (const [at, each] of files.entries()) {
    const started = each.meta?.base?.end;
    // A file of a later revert is no part of the fork.
    if (at > 0 && (started === undefined || isLater(each, file))) break;
    if (at === 0) readBases(each, base.threadId, context, seen);
    else if (started !== undefined) reader.revertTo(started, `${fileName(each)}:`);
    reader.read(each, { prefix: `${fileName(each)}:`, end: base.end });
  }
  reader.revertTo(base.end, `${fileName(file)}:base`);
}

function isLater(a: Rollout, b: Rollout): boolean {
  return String(a.meta?.timestamp) > String(b.meta?.timestamp);
}

function fileName({ path }: Rollout): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.jsonl(?:\.zst)?$/, "");
}

function checkVersion(version: string | undefined, source: ForeignSource): void {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})\./.exec(version ?? "") ?? [];
  if (major === undefined || (major === "0" && Number(minor) <= knownMinor)) return;
  source.find({ code: "newer", text: `version ${version} of Codex; known up to 0.${knownMinor}` });
}

// Reads the lines of a thread: items, and the events that change the model's history.

/** The last version seen to keep the harness's messages in front of a turn that is rolled back. */
export const keepingMinor = 98;

/** Reads one thread: the files of which it consists, one after the other. */
class ThreadReader {
  readonly timeline = new Timeline();
  readonly #state: ThreadState;
  readonly #items: ThreadItems;
  readonly #source: ForeignSource;
  readonly #id: string;
  #prefix = "";
  #time: number;
  #cwd: string | undefined;
  #effort: string | undefined;
  /** The name that the thread has at its end. */
  name: string | undefined;
  #isCompacting = false;
  #compactionUsage: ReturnType<typeof readUsage>;
  readonly #fromEvents: { readonly draft: Draft; readonly data: { readonly text: string } }[] = [];
  readonly #newer = new Set<string>();

  /** @param keepsStates whether a file continues from a line of an earlier one */
  constructor(
    source: ForeignSource,
    builder: EntryBuilder,
    meta: RolloutMeta | undefined,
    keepsStates: boolean,
  ) {
    this.#source = source;
    this.#id = meta?.id ?? "";
    this.#time = builder.time(meta?.timestamp);
    this.#cwd = meta?.cwd;
    const minor = Number(/^0\.(\d{1,6})\./.exec(meta?.version ?? "")?.[1] ?? 0);
    this.#state = new ThreadState({ keepsStates, trims: minor > keepingMinor });
    this.#items = new ThreadItems(source, this.timeline, this.#state);
    this.#items.provider = meta?.provider ?? "openai";
    this.#items.onDirectory = (cwd, record) => this.#moveTo(cwd, record);
  }

  /** The threads that calls started. */
  get spawned(): ReadonlySet<string> {
    return this.#items.spawned;
  }

  /** Reads the lines of a file up to an ordinal. Its record ids begin with the prefix. */
  read(rollout: Rollout, { prefix = "", end = Number.POSITIVE_INFINITY } = {}): void {
    this.#prefix = prefix;
    for (const line of rollout.lines()) {
      if (line.ordinal >= end) break;
      this.#time = readMilliseconds(line.timestamp) ?? this.#time;
      const inner =
        line.type === "response_item" || line.type === "event_msg" ? line.payload.type : undefined;
      const type = inner === undefined ? line.type : `${line.type}/${readText(inner) ?? ""}`;
      this.#source.count(type, this.#line(line) ? "mapped" : "unmapped", line.record);
      this.#state.note(line.ordinal, this.timeline.cursor);
    }
    this.#items.endReply();
  }

  /** Restores the state before a line, from which a file continues. The lines after it are a branch. */
  revertTo(end: number, recordId: string): void {
    this.#items.usage.forget();
    this.#items.turnReply = undefined;
    const target = this.#state.revertTo(end);
    this.timeline.moveTo(target, { recordId, part: "revert", timestamp: this.#time });
  }

  /** Adds the entries to a builder. */
  finish(builder: EntryBuilder): void {
    const items = this.#items;
    items.finish();
    for (const { draft, data } of items.hasUserItems ? this.#fromEvents : []) {
      // At the end of a growing file it was a message, whose time has to stay.
      if (draft.timestamp === items.firstUserTime) draft.isDropped = true;
      else draft.entry = asState(data);
    }
    if (items.hasReplies && !items.usage.isExact) {
      this.#source.find({
        code: "guessed",
        text: "usage and ends of replies follow from the order of the lines",
      });
    }
    this.timeline.flush(builder);
  }

  /** Returns whether the line became entries, or a part of them. */
  #line(line: RolloutLine): boolean {
    const { type, payload } = line;
    switch (type) {
      case "response_item": {
        if (line.metadata.compaction_output === true) {
          this.#items.endReply();
          this.#isCompacting = true;
          return true;
        }
        const known = this.#items.add(this.#itemLine(line));
        if (known === "unknown") this.#isNewer(line, readText(payload.type) ?? "");
        return known === true;
      }
      case "event_msg":
        return this.#event(line);
      case "compacted":
        this.#compacted(line);
        return true;
      case "turn_context":
        this.#turnContext(line);
        return true;
      case "token_usage_record":
        return this.#usageRecord(payload);
      case "session_meta": {
        const text =
          readText(readObject(payload.base_instructions)?.text) ?? readText(payload.instructions) ?? "";
        if (readText(payload.id) === this.#id) this.#items.instructions(this.#itemLine(line), text);
        return true;
      }
      default:
        if (!stateTypes.has(type)) this.#isNewer(line, type);
        return false;
    }
  }

  #place({ recordId, annotation }: RolloutLine, part?: string) {
    const place = {
      recordId: this.#prefix + recordId,
      timestamp: this.#time,
      id: readText(annotation?.entry),
    };
    return part === undefined ? place : { ...place, part };
  }

  #itemLine(line: RolloutLine): ItemLine {
    return { item: line.payload, place: this.#place(line), record: line.record, annotation: line.annotation };
  }

  #isNewer({ record: { file, line } }: RolloutLine, type: string): void {
    if (this.#newer.has(type) || this.#newer.size >= 100) return;
    this.#newer.add(type);
    this.#source.find({ code: "newer", file, line, text: `unknown type ${type}` });
  }

  #event(line: RolloutLine): boolean {
    const { payload } = line;
    const told = eventOutcome(payload);
    if (told !== undefined) {
      this.#items.outcomes.set(told.callId, told.outcome);
      return true;
    }
    switch (payload.type) {
      case "token_count": {
        const usage = this.#items.usage.count(readObject(payload.info));
        if (usage === undefined) return false;
        this.#items.endReply();
        this.#items.usage.assign(usage);
        return true;
      }
      case "user_message":
        this.#userEvent(line);
        return true;
      case "thread_rolled_back":
        return this.#rollBack(line, readNumber(payload.num_turns) ?? 0);
      case "turn_aborted": {
        this.#items.endReply();
        const { turnReply } = this.#items;
        if (turnReply !== undefined) changeMessage(turnReply, { stopReason: "aborted" });
        return turnReply !== undefined;
      }
      case "thread_name_updated": {
        const name = readText(payload.thread_name) ?? readText(payload.name);
        if (name === undefined) return false;
        this.name = name;
        this.timeline.add({ type: "session_info", name }, this.#place(line));
        return true;
      }
      default:
        return false;
    }
  }

  /** In files without items of users, an event is all that there is of their messages. */
  #userEvent(line: RolloutLine): void {
    const content = readText(line.payload.message) ?? "";
    if (this.#items.hasUserItems || content === "") return;
    this.#items.endReply();
    const message = { role: "user", content, timestamp: this.#time } as const;
    const draft: Draft = this.timeline.add({ type: "message", message }, this.#place(line));
    this.#fromEvents.push({ draft, data: { text: content } });
  }

  #usageRecord(payload: ForeignObject): boolean {
    const usage = this.#items.usage.record(payload);
    if (usage === undefined) return false;
    if (this.#isCompacting) {
      this.#compactionUsage = usage;
      return true;
    }
    this.#items.usage.contextTokens = usage.totalTokens ?? 0;
    this.#items.endReply();
    this.#items.usage.assign(usage);
    return true;
  }

  #rollBack(line: RolloutLine, count: number): boolean {
    this.#items.endReply();
    const found = count >= 1 ? this.#state.rollBack(Math.trunc(count)) : undefined;
    if (found === undefined) return false;
    if (found.dropped < count) {
      const { file, line: number } = line.record;
      this.#source.find({ code: "guessed", file, line: number, text: `${found.dropped} of ${count} turns` });
    }
    this.#items.usage.forget();
    this.#items.turnReply = undefined;
    this.timeline.moveTo(found.before, this.#place(line));
    return true;
  }

  #turnContext(line: RolloutLine): void {
    const { payload } = line;
    const items = this.#items;
    items.endReply();
    items.usage.separate();
    const settings = readObject(readObject(payload.collaboration_mode)?.settings);
    const model = readText(payload.model) ?? readText(settings?.model) ?? "";
    if (model !== "" && model !== items.model) {
      items.model = model;
      const entry = { type: "model_change", provider: items.provider, modelId: model } as const;
      this.timeline.add(entry, this.#place(line, "model"));
    }
    const effort = readText(payload.effort) ?? readText(settings?.reasoning_effort);
    if (effort !== undefined && effort !== this.#effort) {
      this.#effort = effort;
      const thinkingLevel = effort === "none" ? "off" : effort;
      this.timeline.add({ type: "thinking_level_change", thinkingLevel }, this.#place(line, "effort"));
    }
    const cwd = readText(payload.cwd);
    if (cwd !== undefined) this.#moveTo(cwd, line.record);
  }

  #moveTo(cwd: string, { file, line }: ForeignRecord): void {
    if (this.#cwd !== undefined && this.#cwd !== cwd) {
      this.#source.find({ code: "moved", file, line, text: `the working directory is ${cwd}` });
    }
    this.#cwd = cwd;
  }

  #compacted(line: RolloutLine): void {
    const items = this.#items;
    items.endReply();
    const usage = this.#compactionUsage ?? items.usage.takeHeld();
    this.#compactionUsage = undefined;
    this.#isCompacting = false;
    const { payload, record } = line;
    const {
      summary,
      items: replaced,
      isGuessed,
    } = readCompacted(payload, this.#state.history, this.#state.dropped);
    if (isGuessed) {
      const text = "the line has no history: all messages of users are taken to stay";
      this.#source.find({ code: "guessed", file: record.file, line: record.line, text });
    }
    const retained = replaced.flatMap((each) => (each.kind === "kept" ? each.drafts : []));
    const place = this.#place(line);
    const tokensBefore = items.usage.contextTokens;
    const draft = this.timeline.add(
      (readId) => ({
        type: "compaction",
        summary,
        // An own id keeps nothing: entries that stay are named one by one.
        firstKeptEntryId: "",
        tokensBefore: readNumber(line.annotation?.tokensBefore) ?? tokensBefore,
        strategy: "codex",
        ...(retained.length === 0 ? {} : { retain: [...new Set(retained.map(readId))] }),
        ...(usage === undefined ? {} : { usage }),
      }),
      place,
    );
    this.#state.restart(new Set(retained));
    for (const [at, { item, ...kept }] of replaced.entries()) {
      if (kept.kind === "kept") {
        items.endReply();
        if (item.role === "user") this.#state.beginTurn(draft);
        this.#state.see(item, ...kept.drafts);
      } else
        items.add({
          item,
          place: { ...place, id: undefined, part: `history.${at}` },
          record,
          annotation: undefined,
          isKept: true,
        });
    }
    items.endReply();
    items.usage.forget();
  }
}

/** The entry of an event whose message came as an item too. */
function asState(data: { readonly text: string }): DraftEntry {
  return { type: "custom", customType: "sessile.user_event", data };
}

/** Lines that are state, of which no model sees anything that items do not have. */
const stateTypes: ReadonlySet<string> = new Set([
  "world_state",
  "state",
  "inter_agent_communication",
  "inter_agent_communication_metadata",
]);
