/**
 * Snapshots of the files beside a session, by git: one before each turn that changes files, and the way back.
 * Copy this folder; it needs `sessile` and git 2.32 or later.
 */
import { realpathSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import {
  assistantMessage,
  contextFrom,
  customEntry,
  type EntryMap,
  type Session,
  type SessionEntry,
  type ToolCall,
  toolCalls,
  toolStarted,
  type UnknownEntry,
} from "sessile";
import { type FileToolTable, fileLedger } from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { type Saved, SavedFiles } from "./saved-files.js";
import { openShadow } from "./shadow-directory.js";
import type { LeftOut } from "./work-tree.js";

export { GitError } from "./run-git.js";

/** The options of {@link gitSnapshot}. */
export interface GitSnapshotOptions {
  /** A directory in the working tree. The whole tree is saved, because commands run anywhere in it. */
  readonly repo: string;
  /** Larger files are left out, and reported. Bytes. Minimum: 0. @default 10 MiB */
  readonly maxFileBytes?: number;
  /**
   * Paths that are never saved, changed or deleted, absolute or relative to the top of the working tree: the
   * stores of sessions and blobs, if they are inside. The directory of the session's file always is.
   */
  readonly exclude?: readonly string[];
  /** File tools in addition to those of known agents, as for the file ledger. */
  readonly tools?: FileToolTable;
  /** Other tools that change no file. A tool that neither this nor the ledger knows, such as a shell, may. */
  readonly harmless?: readonly string[];
}

/** A snapshot, as an entry of the session has it. */
export interface Snapshot {
  /** The commit, on the ref `refs/sessile/<session>`. */
  readonly commit: string;
  /** Before the first change of a turn, before a restore, or on demand. */
  readonly reason: "turn" | "restore" | "manual";
  /** Files that it does not have: at most 100, and the number of all. Ignored files are not listed. */
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount: number;
}

/** The entry of a snapshot. Not in context. */
export const snapshotEntry = customEntry("example.git_snapshot", (data): Snapshot => {
  const { commit, reason, leftOut, leftOutCount } = data as Snapshot;
  if (typeof commit !== "string" || !Array.isArray(leftOut))
    throw new TypeError("snapshot: expected a commit");
  return { commit, reason, leftOut, leftOutCount };
});

/** The result of a restore. Paths are relative to the top of the working tree. */
export interface RestoreResult {
  /** The snapshot of the files before the restore. */
  readonly saved: Snapshot;
  readonly written: readonly string[];
  readonly deleted: readonly string[];
}

/** The snapshots of one session. */
export interface GitSnapshots {
  /** The ref that keeps the snapshots. Delete it to let git collect them. */
  readonly ref: string;
  /** Call it before each tool runs: takes a snapshot if the call may change files and its turn has none. */
  before(call: ToolCall): Promise<Snapshot | undefined>;
  /** Takes a snapshot now. */
  take(): Promise<Snapshot>;
  /**
   * Gives the files back as they were at an entry. The present files are saved as one more snapshot first,
   * and a `revert` entry at the leaf has its commit. The entry is a snapshot, a `revert`, whose restore is then
   * undone, or any other entry: the first snapshot behind it has its files, unless a call between the two may
   * have changed files. Returns undefined if no call since the entry may have changed files.
   *
   * Nothing else may write to the working tree meanwhile. For the conversation, call `session.branch` after it.
   * @throws SessileError ENTRY_NOT_FOUND
   * @throws Error if no snapshot has the files of that entry, or if a file that no snapshot can keep is in the
   *   way; nothing was changed
   * @throws GitError
   */
  restore(entryId: string): Promise<RestoreResult | undefined>;
  /** The files that the calls between two entries of one path changed, by the file ledger. */
  changedFiles(afterId: string | null, leafId: string): Promise<readonly string[]>;
}

/**
 * Makes snapshots of a working tree for a session.
 *
 * @example
 * ```ts
 * const snapshots = await gitSnapshot(session, { repo: dir });
 * await snapshots.before(call); // then run the tool
 * await snapshots.restore(entryId);
 * session.branch(entryId);
 * ```
 * @throws GitError if git is not there, or `repo` is in no working tree
 */
export async function gitSnapshot(session: Session, options: GitSnapshotOptions): Promise<GitSnapshots> {
  const { repo, maxFileBytes = 10 * 2 ** 20, exclude = [], harmless = [] } = options;
  if (!(maxFileBytes >= 0)) throw new RangeError(`maxFileBytes: expected a number >= 0, got ${maxFileBytes}`);
  const shadow = await openShadow(repo, session.id);
  const isExcluded = exclusion(shadow.root, exclude, session.location);
  const files = new SavedFiles(shadow, { root: shadow.root, maxFileBytes, isExcluded });
  const ledgerOptions = { cwd: session.header.cwd, ...(options.tools && { tools: options.tools }) };

  const record = async ({ commit, leftOut }: Saved, reason: Snapshot["reason"]): Promise<Snapshot> => {
    const listed = leftOut.slice(0, 100).map((each) => ({ ...each, path: textOf(each.path) }));
    const snapshot = { commit, reason, leftOut: listed, leftOutCount: leftOut.length };
    await session.append([snapshotEntry.draft(snapshot)]);
    return snapshot;
  };

  const mayChange = (call: ToolCall): boolean => {
    const asked = assistantMessage({ provider: "none", model: "none" }, call);
    const touched = fileLedger(contextFrom([asked]), ledgerOptions).files;
    if (touched.length === 0) return !harmless.includes(call.name);
    return touched.some(({ operations }) => operations.some((operation) => operation !== "read"));
  };

  /** Whether the turn at the leaf has a snapshot of its own. */
  const isSaved = async (): Promise<boolean> => {
    for (const { id, type, role } of (await session.tree()).path(session.leafId).toReversed()) {
      if (role === "user" || type === "revert") return false;
      const entry = type === "custom" ? await session.entry(id) : undefined;
      if (entry !== undefined && snapshotEntry.read(entry)?.reason === "turn") return true;
    }
    return false;
  };

  /** Whether a call that ran between two entries of a path may have changed files. */
  const isChangedBetween = async (afterId: string, leafId: string | null): Promise<boolean> => {
    const path = await session.path(leafId);
    const calls = new Map<string, ToolCall>();
    let isAfter = false;
    for (const entry of path) {
      const message = entry.type === "message" ? entry.message : undefined;
      if (message?.role === "assistant") for (const call of toolCalls(message)) calls.set(call.id, call);
      const ran = message?.role === "toolResult" ? message.toolCallId : toolStarted.read(entry)?.toolCallId;
      if (isAfter && ran !== undefined) {
        const call = calls.get(ran);
        if (call === undefined || mayChange(call)) return true;
      }
      isAfter ||= entry.id === afterId;
    }
    return false;
  };

  /** The commit with the files of an entry; undefined if they are the present ones. */
  const commitOf = async (
    entryId: string,
    entry: SessionEntry | UnknownEntry,
  ): Promise<string | undefined> => {
    const own = ownCommit(entry);
    if (own !== undefined) return own;
    const found: { readonly commit: string; readonly timestamp: string }[] = [];
    const open = (await session.tree()).children(entryId).toReversed();
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      const { id, type, timestamp } = node;
      const next = type === "custom" || type === "revert" ? await session.entry(id) : undefined;
      const commit = next && ownCommit(next);
      if (commit === undefined) open.push(...(await session.tree()).children(id).toReversed());
      else if (!(await isChangedBetween(entryId, id))) found.push({ commit, timestamp });
    }
    // Several branches may begin here. The first snapshot is the nearest in time, and siblings are in order.
    const [first] = found.sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
    if (first !== undefined) return first.commit;
    const isAbove = (await session.tree()).path(session.leafId).some(({ id }) => id === entryId);
    if (isAbove && !(await isChangedBetween(entryId, session.leafId))) return undefined;
    throw new Error(
      `no snapshot has the files of entry ${entryId}: it is in the middle of a turn, or not saved`,
    );
  };

  const before = async (call: ToolCall): Promise<Snapshot | undefined> => {
    if (!mayChange(call) || (await isSaved())) return undefined;
    return record(await files.save(), "turn");
  };

  const restore = async (entryId: string): Promise<RestoreResult | undefined> => {
    const entry = await session.entry(entryId);
    if (entry === undefined) {
      const details = { entryId };
      throw new SessileError("ENTRY_NOT_FOUND", `the session has no entry ${entryId}`, { details });
    }
    const commit = await commitOf(entryId, entry);
    if (commit === undefined) return undefined;
    const { written, deleted, recorded } = await files.restore(commit, (saved) => record(saved, "restore"));
    // The last step: without this entry the restore was interrupted.
    await session.append([{ type: "revert", ...revertOf(entry), snapshot: recorded.commit }]);
    return { saved: recorded, written: written.map(textOf), deleted: deleted.map(textOf) };
  };

  // One at a time: of calls that run in parallel, the first takes the snapshot, and the others wait for it.
  let last: Promise<unknown> = Promise.resolve();
  const next = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work, work);
    last = result;
    return result;
  };

  return {
    ref: shadow.ref,
    before: (call) => next(() => before(call)),
    take: () => next(async () => record(await files.save(), "manual")),
    restore: (entryId) => next(() => restore(entryId)),
    async changedFiles(afterId, leafId) {
      const path = await session.path(leafId);
      const from = path.findIndex(({ id }) => id === afterId) + 1;
      const messages = path.slice(from).flatMap((each) => (each.type === "message" ? [each.message] : []));
      return fileLedger(contextFrom(messages), ledgerOptions)
        .files.filter(({ operations }) => operations.some((each) => each !== "read"))
        .map(({ path }) => path);
    },
  };
}

/** The commit of a snapshot, or of the files before a restore. */
function ownCommit(entry: SessionEntry | UnknownEntry): string | undefined {
  return entry.type === "revert" ? entry.snapshot : snapshotEntry.read(entry)?.commit;
}

/** A restore of a `revert` undoes it, and a restore of its undoing does it again. */
function revertOf(entry: SessionEntry | UnknownEntry): Pick<EntryMap["revert"], "targetId" | "undone"> {
  if (entry.type !== "revert") return { targetId: entry.id };
  return { targetId: entry.targetId, ...(entry.undone !== true && { undone: true }) };
}

/** The test for excluded paths, which are binary strings relative to the top of the working tree. */
function exclusion(
  root: string,
  exclude: readonly string[],
  location: string | undefined,
): (path: string) => boolean {
  const inside = (path: string): readonly string[] => {
    const found = relative(root, realPath(path)).replaceAll(sep, "/");
    const isInside = found !== "" && found !== ".." && !found.startsWith("../");
    return isInside ? [Buffer.from(found).toString("latin1")] : [];
  };
  const above = exclude.flatMap((path) => inside(resolve(root, path)));
  if (location !== undefined) above.push(...inside(dirname(location)));
  // In the top directory itself only the file, its locks and its temporary files are the session's.
  const files = location === undefined ? [] : inside(location);
  return (path) =>
    above.some((each) => path === each || path.startsWith(`${each}/`)) ||
    files.some((file) => path.startsWith(file));
}

/** The real path of a path that need not exist yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : resolve(realPath(parent), relative(parent, path));
  }
}

/** A binary string as text. A name that is not UTF-8 gets replacement characters. */
function textOf(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}
