/** The message of a snapshot's commit: facts about the files that a tree of git does not have. */
import { chmodSync, lstatSync } from "node:fs";
import { absolutePath, type LeftOut, type WorkTreeFiles } from "./work-tree.js";

/** Permissions by class, as git has only the two classes, and of the files with other ones. */
interface Permissions {
  readonly plain: number;
  readonly executable: number;
  readonly others: readonly (readonly [path: string, mode: number])[];
}

/** The data of a message. Paths are binary strings. */
export interface SnapshotMessage {
  readonly leftOut: readonly LeftOut[];
  readonly permissions: Permissions;
}

const subject = "Snapshot of a session's files";

/** The message for a listing. Equal listings have equal messages. */
export function messageOf({ leftOut, modes }: WorkTreeFiles): SnapshotMessage {
  const sorted = [...modes].sort(([a], [b]) => (a < b ? -1 : 1));
  const plain = mostFrequent(
    sorted.filter(([, mode]) => !isExecutable(mode)),
    0o644,
  );
  const executable = mostFrequent(
    sorted.filter(([, mode]) => isExecutable(mode)),
    0o755,
  );
  const others = sorted.filter(([, mode]) => mode !== (isExecutable(mode) ? executable : plain));
  return { leftOut, permissions: { plain, executable, others } };
}

function mostFrequent(modes: readonly (readonly [string, number])[], otherwise: number): number {
  const counts = new Map<number, number>();
  for (const [, mode] of modes) counts.set(mode, (counts.get(mode) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || a - b)[0]?.[0] ?? otherwise;
}

/** As git decides it. */
const isExecutable = (mode: number): boolean => (mode & 0o100) !== 0;

/** Prints a message in ASCII, so that no encoding of commits changes it. */
export function printMessage(message: SnapshotMessage): string {
  const json = JSON.stringify(message);
  const escaped = json.replace(/[\u0080-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `${subject}\n\n${escaped}\n`;
}

/** Reads the message of a commit; undefined if this program did not write it. */
export function parseMessage(text: string): SnapshotMessage | undefined {
  if (!text.startsWith(`${subject}\n\n`)) return undefined;
  try {
    const { leftOut, permissions } = JSON.parse(text.slice(subject.length)) as SnapshotMessage;
    return { leftOut: [...leftOut], permissions: { ...permissions, others: [...permissions.others] } };
  } catch {
    return undefined;
  }
}

/** Sets the permissions of regular files. `files` has the mode in git's tree for each path. */
export function applyPermissions(
  root: string,
  files: Iterable<readonly [path: string, gitMode: string | undefined]>,
  { plain, executable, others }: Permissions,
): void {
  const special = new Map(others);
  for (const [path, gitMode] of files) {
    const wanted = special.get(path) ?? (gitMode === "100755" ? executable : plain);
    const absolute = absolutePath(root, path);
    const stats = lstatSync(absolute, { throwIfNoEntry: false });
    if (stats?.isFile() && (stats.mode & 0o7777) !== wanted) chmodSync(absolute, wanted);
  }
}
