/** Reads the files of a session: its thread, the bases of a fork, the threads of subagents, the names. */

import { readText } from "../shared/values.js";
import type { ForeignSource } from "../types.js";
import { Rollout } from "./rollout.js";
import { ThreadReader } from "./thread-reader.js";

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
