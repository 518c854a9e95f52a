import { basename, dirname, join } from "node:path";
import type { FileSystem } from "../../../internal/node/file-system.js";
import { foreignMs } from "../file-lock.js";
import { readLockFile, whyDead } from "../lock-file.js";
import type { SessionFinding, SessionFindingCode } from "./findings.js";

type Beside = Omit<SessionFinding, "severity">;

/**
 * What lies beside a session file and belongs to it: its lock, and what writers have left or put aside. Nothing is made or
 * taken to find out, so that the age of another machine's lock is told by this machine's clock.
 */
export async function filesBeside(disk: FileSystem, path: string, now: number): Promise<readonly Beside[]> {
  const directory = dirname(path);
  const name = basename(path);
  const found: Beside[] = [];
  for (const { name: other, kind } of await disk.list(directory)) {
    if (!other.startsWith(`${name}.`) || kind !== "file") continue;
    const beside = join(directory, other);
    const stat = disk.stat(beside);
    // Another process has removed it in this moment, as it does with its own.
    if (stat === undefined) continue;
    const suffix = other.slice(name.length);
    const finding =
      suffix === ".lock" ? lockFinding(disk, beside, now - stat.mtimeMs) : leftoverFinding(suffix);
    if (finding !== undefined) found.push({ ...finding, path: beside, bytes: stat.size });
  }
  return found.sort((a, b) => ((a.path ?? "") < (b.path ?? "") ? -1 : 1));
}

const leftovers: readonly (readonly [RegExp, SessionFindingCode, string])[] = [
  [/^\.torn-/, "TORN_FILE", "an end that was cut off when the file was opened for writing"],
  [/^\.old-/, "OLD_FILE", "the file before its migration"],
  [/^\.tmp-/, "LEFTOVER_FILE", "a copy that was not finished"],
  [/^\.lock\.wait$/, "LEFTOVER_FILE", "a writer waits for the lock, or ended while it did"],
  [
    /^\.lock\.stale-/,
    "LEFTOVER_FILE",
    "made by a writer that took a stale lock over, and ended before it was done",
  ],
  [
    /^\.lock\.[0-9a-f-]{36}$/,
    "LEFTOVER_FILE",
    "made by a writer to tell the time, which ended before it was done",
  ],
];

function leftoverFinding(suffix: string): Beside | undefined {
  const [, code, message] = leftovers.find(([pattern]) => pattern.test(suffix)) ?? [];
  return code === undefined || message === undefined ? undefined : { code, message };
}

function lockFinding(disk: FileSystem, path: string, ageMs: number): Beside | undefined {
  const file = readLockFile(disk, path);
  if (file === undefined) return undefined;
  if (file.holder === undefined) return { code: "LOCK_UNREADABLE", message: "the lock file names no holder" };
  const { pid, host, since } = file.holder;
  const holder = { pid, host, since };
  const gone = whyDead(file.holder, () => ageMs, foreignMs);
  if (gone === undefined) {
    return { code: "LOCK_LIVE", message: `process ${pid} on ${host} holds the lock`, holder };
  }
  const message = `process ${pid} on ${host} held the lock, and ${gone}; the next writer takes it over`;
  return { code: "LOCK_STALE", message, holder };
}
