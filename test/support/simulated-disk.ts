import { posix } from "node:path";
import type { BlobStore, SessionStore } from "sessile";
import type { FileBlobStoreOptions, FileSessionStoreOptions } from "sessile/node";
import type {
  DirectoryEntry,
  ExactFileStat,
  FileStat,
  FileSystem,
  OpenFile,
  OpenMode,
} from "../../src/core/node/file-system.js";
import { fileBlobStoreOn } from "../../src/storage/files/blobs/store-directory.js";
import { fileSessionStoreOn } from "../../src/storage/files/session-store.js";

/** A change of a file's bytes that no sync has made last yet. */
type FileChange = { readonly at: number; readonly bytes: Uint8Array } | { readonly size: number };

/** A change of a directory's names that no sync has made last yet. A rename is one change: both names, or neither. */
interface NameChange {
  readonly remove: readonly string[];
  readonly set?: { readonly name: string; readonly node: Node };
}

interface FileNode {
  readonly kind: "file";
  readonly ino: number;
  bytes: Uint8Array;
  mtimeMs: number;
  /** Of anything, its names included. Times are never lost, which spares as many states as there are changes of them. */
  ctimeMs: number;
  /** What a sync made last. */
  durable: Uint8Array;
  pending: FileChange[];
}

interface DirectoryNode {
  readonly kind: "directory";
  readonly ino: number;
  readonly names: Map<string, Node>;
  mtimeMs: number;
  durable: Map<string, Node>;
  pending: NameChange[];
}

type Node = FileNode | DirectoryNode;

/** What a power cut may leave of one node, as a number below `count`. */
interface Outcomes {
  readonly node: Node;
  readonly count: number;
  /** The one in which nothing is lost. */
  readonly kept: number;
}

/** How {@link SimulatedDisk.afterPowerCut} chooses among what may be left. */
export interface PowerCutOptions {
  /** At most this many disks: all of them where there are not more, else the extremes and a choice. Default 200. */
  readonly limit?: number;
  /** Numbers from 0 to below 1, for the choice. */
  readonly random?: () => number;
  /** Only files of these paths lose anything; all others, and all names, are kept. */
  readonly only?: (path: string) => boolean;
}

/**
 * A file system in memory that keeps what was synced apart from what was not, and can show every disk that a loss of
 * power would leave: of each file a prefix of its unsynced writes, the last one torn at any byte or padded with NULs; of
 * each directory any of its unsynced names. Syncing a file says nothing of its name. It can also be full, write less than
 * asked, fail a sync, refuse links, and wait.
 */
export class SimulatedDisk implements FileSystem {
  /** Bytes that all files may have together; an append takes what fits, then fails with ENOSPC. */
  capacityBytes = Number.POSITIVE_INFINITY;
  /** Bytes that one append takes at most. */
  maxWriteBytes = Number.POSITIVE_INFINITY;
  /** Hard links fail with EPERM, as on FAT. */
  refuseLinks = false;
  /** Called after each change, for a look at every point where the power can go. */
  onChange: (() => void) | undefined;
  /** What each change's time is; a millisecond a change. A clock that stands makes times of no use, as coarse ones are. */
  clock: () => number;
  /** Counts what was done, for tests of how little is. */
  readonly counts = { sync: 0, syncDirectory: 0, open: 0, write: 0, clone: 0, stat: 0 };
  #root: DirectoryNode = directoryNode(1, 0);
  #nextIno = 2;
  #failures: { readonly operation: Operation; readonly errno: string; readonly path: PathTest }[] = [];
  #gate: Promise<void> | undefined;
  readonly #watchers = new Set<{ readonly path: string; readonly changed: () => void }>();

  constructor(start = Date.UTC(2026, 0, 1)) {
    let time = start;
    this.clock = () => ++time;
  }

  /** The store of sessions in a directory of this disk. */
  sessions(options: FileSessionStoreOptions): SessionStore {
    return fileSessionStoreOn(this, options);
  }

  /** The store of blobs in a directory of this disk. */
  blobs(options: FileBlobStoreOptions): BlobStore {
    return fileBlobStoreOn(this, options);
  }

  /** The next operation of this kind on a path that passes fails with this code, once. */
  failNext(operation: Operation, errno: string, path: PathTest = () => true): void {
    this.#failures.push({ operation, errno, path });
  }

  /** Syncs, reads and lists wait until the function that it returns is called. */
  pause(): () => void {
    let resume = (): void => undefined;
    this.#gate = new Promise((resolve) => {
      resume = resolve;
    });
    return () => {
      this.#gate = undefined;
      resume();
    };
  }

  /** Bytes that all files have together. */
  get usedBytes(): number {
    let used = 0;
    for (const { node } of this.#files()) used += node.bytes.length;
    return used;
  }

  /** Paths of all files, in no order. */
  paths(): string[] {
    return this.#files().map(({ path }) => path);
  }

  /** The bytes of a file; undefined where there is none. */
  bytes(path: string): Uint8Array | undefined {
    const node = this.#at(path);
    return node?.kind === "file" ? node.bytes : undefined;
  }

  /** Puts a file there, synced, with its directories. */
  put(path: string, content: string | Uint8Array): void {
    this.mkdir(posix.dirname(path));
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const node = this.#at(path);
    if (node?.kind === "file") {
      node.bytes = bytes;
      node.mtimeMs = this.clock();
    } else {
      this.#parent(path).names.set(posix.basename(path), fileNode(this.#nextIno++, bytes, this.clock()));
    }
    this.#settle(this.#root);
    this.#changed(path);
  }

  /** The same disk, to go on with apart from this one: what a process that starts now would find. */
  copy(): SimulatedDisk {
    return this.#rebuilt(
      (node) => ({ bytes: node.bytes, durable: node.durable, pending: [...node.pending] }),
      (node) => ({ names: node.names, durable: node.durable, pending: [...node.pending] }),
    );
  }

  /** Disks that may be left if the power goes now. */
  *afterPowerCut({
    limit = 200,
    random = Math.random,
    only,
  }: PowerCutOptions = {}): Generator<SimulatedDisk> {
    const losing =
      only && new Set<Node>(this.#files().flatMap(({ path, node }) => (only(path) ? [node] : [])));
    const outcomes: Outcomes[] = this.#everyNode().map((node) => ({
      node,
      count: losing === undefined || losing.has(node) ? outcomeCount(node) : 1,
      kept: outcomeCount(node) - 1,
    }));
    const total = outcomes.reduce((product, { count }) => product * count, 1);
    const make = (pick: (outcome: Outcomes) => number) =>
      this.#leaving(new Map(outcomes.map((o) => [o.node, o.count === 1 ? o.kept : pick(o)])));
    if (total <= limit) {
      for (let number = 0; number < total; number++) {
        let rest = number;
        yield make(({ count }) => {
          const digit = rest % count;
          rest = Math.floor(rest / count);
          return digit;
        });
      }
      return;
    }
    // Nothing unsynced is left; all of it is; names but no bytes; bytes but no names; then any mixture.
    yield make(() => 0);
    if (limit > 1) yield make(({ count }) => count - 1);
    if (limit > 2) yield make(({ node, count }) => (node.kind === "directory" ? count - 1 : 0));
    if (limit > 3) yield make(({ node, count }) => (node.kind === "file" ? count - 1 : 0));
    for (let made = 4; made < limit; made++) {
      // Half of the mixtures keep all names: without its name a file shows nothing.
      const named = random() < 0.5;
      yield make(({ node, count }) =>
        named && node.kind === "directory" ? count - 1 : Math.floor(random() * count),
      );
    }
  }

  async openAsync(path: string, mode: OpenMode): Promise<OpenFile | undefined> {
    return this.open(path, mode);
  }

  open(path: string, mode: OpenMode): OpenFile | undefined {
    const creates = mode === "create" || mode === "createReadOnly";
    this.counts.open++;
    this.#fail("open", path);
    const parent = this.#at(posix.dirname(path));
    if (parent?.kind !== "directory") {
      if (!creates && parent === undefined) return undefined;
      throw systemError(parent === undefined ? "ENOENT" : "ENOTDIR", "open", path);
    }
    const known = parent.names.get(posix.basename(path));
    if (!creates) return known && this.#handle(path, known);
    if (known !== undefined) return undefined;
    const node = fileNode(this.#nextIno++, new Uint8Array(), this.clock());
    this.#rename(path, { remove: [], set: { name: posix.basename(path), node } });
    return this.#handle(path, node);
  }

  stat(path: string): FileStat | undefined {
    this.counts.stat++;
    this.#fail("stat", path);
    const node = this.#at(path);
    return node && statOf(node);
  }

  /** There are no links. */
  lstat(path: string): FileStat | undefined {
    return this.stat(path);
  }

  async lstatExact(path: string): Promise<ExactFileStat> {
    const stat = this.lstat(path);
    if (stat === undefined) throw systemError("ENOENT", "lstat", path);
    return exactOf(stat);
  }

  async realpath(path: string): Promise<string> {
    if (this.#at(path) === undefined) throw systemError("ENOENT", "realpath", path);
    return posix.resolve(path);
  }

  async list(directory: string): Promise<readonly DirectoryEntry[]> {
    await this.#gate;
    this.#fail("list", directory);
    const node = this.#at(directory);
    if (node === undefined) return [];
    if (node.kind !== "directory") throw systemError("ENOTDIR", "scandir", directory);
    return [...node.names].map(([name, { kind }]) => ({ name, kind }));
  }

  mkdir(path: string): string | undefined {
    this.#fail("mkdir", path);
    let made: string | undefined;
    let above = "/";
    for (const name of partsOf(path)) {
      const parent = this.#at(above) as DirectoryNode;
      above = posix.join(above, name);
      const known = parent.names.get(name);
      if (known?.kind === "file") throw systemError("EEXIST", "mkdir", above);
      if (known !== undefined) continue;
      made ??= above;
      this.#rename(above, { remove: [], set: { name, node: directoryNode(this.#nextIno++, this.clock()) } });
    }
    return made;
  }

  rename(from: string, to: string): void {
    this.#fail("rename", from);
    const node = this.#at(from);
    if (node === undefined) throw systemError("ENOENT", "rename", from);
    const name = posix.basename(to);
    if (posix.dirname(from) === posix.dirname(to)) {
      this.#rename(to, { remove: [posix.basename(from)], set: { name, node } });
    } else {
      this.#rename(to, { remove: [], set: { name, node } });
      this.#rename(from, { remove: [posix.basename(from)] });
    }
  }

  link(from: string, to: string): boolean {
    this.#fail("link", from);
    if (this.refuseLinks) throw systemError("EPERM", "link", from);
    const node = this.#at(from);
    if (node === undefined) throw systemError("ENOENT", "link", from);
    if (this.#at(to) !== undefined) return false;
    this.#rename(to, { remove: [], set: { name: posix.basename(to), node } });
    return true;
  }

  unlink(path: string): boolean {
    this.#fail("unlink", path);
    if (this.#at(path) === undefined) return false;
    this.#rename(path, { remove: [posix.basename(path)] });
    return true;
  }

  rmdir(path: string): boolean {
    return this.unlink(path);
  }

  async clone(from: string, to: string, first: Uint8Array, size: number): Promise<boolean> {
    await this.#gate;
    this.#fail("clone", to);
    const source = this.#at(from);
    if (source?.kind !== "file") throw systemError("ENOENT", "copyfile", from);
    const { bytes } = source;
    const copy = this.open(to, "create");
    if (copy === undefined) throw systemError("EEXIST", "copyfile", to);
    this.counts.clone++;
    const node = this.#at(to) as FileNode;
    const put = (change: FileChange) => {
      node.pending.push(change);
      node.bytes =
        "bytes" in change ? written(node.bytes, change.at, change.bytes) : resized(node.bytes, change.size);
      this.#touch(node);
      this.#changed(to);
    };
    if (bytes.length > this.capacityBytes - this.usedBytes) throw systemError("ENOSPC", "copyfile", to);
    put({ at: 0, bytes });
    if (bytes.length < size) return false;
    put({ at: 0, bytes: first });
    put({ size });
    return true;
  }

  touch(path: string): void {
    const node = this.#at(path);
    if (node === undefined) throw systemError("ENOENT", "utime", path);
    this.#touch(node);
  }

  async syncDirectory(path: string): Promise<void> {
    this.counts.syncDirectory++;
    const node = this.#at(path);
    if (node?.kind !== "directory")
      throw systemError(node === undefined ? "ENOENT" : "ENOTDIR", "open", path);
    const names = new Map(node.names);
    const { length } = node.pending;
    await this.#gate;
    this.#fail("syncDirectory", path);
    node.durable = names;
    node.pending = node.pending.slice(length);
    this.onChange?.();
  }

  watch(path: string, changed: () => void): () => void {
    const watcher = { path, changed };
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #handle(path: string, node: Node): OpenFile {
    let isOpen = true;
    const file = (): FileNode => {
      if (!isOpen) throw systemError("EBADF", "use", path);
      if (node.kind === "directory") throw systemError("EISDIR", "read", path);
      return node;
    };
    const bytesAt = (into: Uint8Array, at: number): number => {
      const bytes = file().bytes.subarray(at, at + into.length);
      into.set(bytes);
      return bytes.length;
    };
    const stat = (): FileStat => {
      this.counts.stat++;
      if (!isOpen) throw systemError("EBADF", "fstat", path);
      return statOf(node);
    };
    const append = (bytes: Uint8Array): number => {
      this.counts.write++;
      this.#fail("append", path);
      const target = file();
      const free = Math.max(0, this.capacityBytes - this.usedBytes);
      const count = Math.min(bytes.length, this.maxWriteBytes, free);
      if (count === 0 && bytes.length > 0) throw systemError("ENOSPC", "write", path);
      const taken = bytes.slice(0, count);
      target.pending.push({ at: target.bytes.length, bytes: taken });
      target.bytes = written(target.bytes, target.bytes.length, taken);
      this.#touch(target);
      this.#changed(path);
      return count;
    };
    const readSync = (into: Uint8Array, at: number): number => {
      this.#fail("readSync", path);
      return bytesAt(into, at);
    };
    const sync = async (): Promise<void> => {
      this.counts.sync++;
      const target = file();
      const { bytes } = target;
      const { length } = target.pending;
      await this.#gate;
      this.#fail("sync", path);
      target.durable = bytes;
      target.pending = target.pending.slice(length);
      this.onChange?.();
    };
    return {
      stat,
      statExact: async () => exactOf(stat()),
      append,
      appendAsync: async (bytes) => append(bytes),
      read: async (into, at) => {
        await this.#gate;
        this.#fail("read", path);
        return bytesAt(into, at);
      },
      readSync,
      truncate: (size) => {
        this.#fail("truncate", path);
        const target = file();
        target.pending.push({ size });
        target.bytes = resized(target.bytes, size);
        this.#touch(target);
        this.#changed(path);
      },
      sync,
      syncInBackground: sync,
      location: async () => path,
      setTime: (ms) => {
        const target = file();
        this.#touch(target, ms);
        this.#changed(path);
      },
      close: () => {
        isOpen = false;
      },
    };
  }

  #touch(node: Node, ms?: number): void {
    const now = this.clock();
    node.mtimeMs = ms ?? now;
    if (node.kind === "file") node.ctimeMs = now;
  }

  #rename(path: string, change: NameChange): void {
    const { node } = change.set ?? {};
    if (node?.kind === "file") node.ctimeMs = this.clock();
    const parent = this.#parent(path);
    for (const name of change.remove) parent.names.delete(name);
    if (change.set !== undefined) parent.names.set(change.set.name, change.set.node);
    parent.pending.push(change);
    parent.mtimeMs = this.clock();
    this.#changed(path);
  }

  #changed(path: string): void {
    for (const watcher of [...this.#watchers]) if (watcher.path === path) watcher.changed();
    this.onChange?.();
  }

  #fail(operation: Operation, path: string): void {
    const at = this.#failures.findIndex((failure) => failure.operation === operation && failure.path(path));
    const [failure] = at < 0 ? [] : this.#failures.splice(at, 1);
    if (failure !== undefined) throw systemError(failure.errno, operation, path);
  }

  #at(path: string): Node | undefined {
    let node: Node = this.#root;
    for (const name of partsOf(path)) {
      const next: Node | undefined = node.kind === "directory" ? node.names.get(name) : undefined;
      if (next === undefined) return undefined;
      node = next;
    }
    return node;
  }

  #parent(path: string): DirectoryNode {
    const parent = this.#at(posix.dirname(path));
    if (parent?.kind !== "directory") throw systemError("ENOENT", "open", path);
    return parent;
  }

  #files(): { readonly path: string; readonly node: FileNode }[] {
    const found: { path: string; node: FileNode }[] = [];
    const walk = (directory: DirectoryNode, above: string) => {
      for (const [name, node] of directory.names) {
        const path = posix.join(above, name);
        if (node.kind === "file") found.push({ path, node });
        else walk(node, path);
      }
    };
    walk(this.#root, "/");
    return found;
  }

  /** Nodes that a name leads to, or may lead to after a power cut. */
  #everyNode(): Node[] {
    const found = new Set<Node>([this.#root]);
    for (const node of found) {
      if (node.kind === "file") continue;
      for (const inner of [...node.names.values(), ...node.durable.values()]) found.add(inner);
      for (const { set } of node.pending) if (set !== undefined) found.add(set.node);
    }
    return [...found];
  }

  #settle(node: Node): void {
    node.pending = [];
    if (node.kind === "file") {
      node.durable = node.bytes;
      return;
    }
    node.durable = new Map(node.names);
    for (const inner of node.names.values()) this.#settle(inner);
  }

  #leaving(picks: ReadonlyMap<Node, number>): SimulatedDisk {
    return this.#rebuilt(
      (node) => {
        const bytes = fileAfter(node, picks.get(node) ?? 0);
        return { bytes, durable: bytes, pending: [] };
      },
      (node) => {
        const names = namesAfter(node, picks.get(node) ?? 0);
        return { names, durable: names, pending: [] };
      },
    );
  }

  #rebuilt(
    fileOf: (node: FileNode) => Pick<FileNode, "bytes" | "durable" | "pending">,
    directoryOf: (node: DirectoryNode) => Pick<DirectoryNode, "names" | "durable" | "pending">,
  ): SimulatedDisk {
    // The machine takes a minute to come back.
    const disk = new SimulatedDisk(this.clock() + 60_000);
    const made = new Map<Node, Node>();
    const mapped = (names: ReadonlyMap<string, Node>) =>
      new Map([...names].map(([name, node]) => [name, again(node)] as const));
    const again = (node: Node): Node => {
      const known = made.get(node);
      if (known !== undefined) return known;
      const { ino, mtimeMs } = node;
      if (node.kind === "file") {
        const { ctimeMs } = node;
        const file: FileNode = { kind: "file", ino, mtimeMs, ctimeMs, ...fileOf(node) };
        made.set(node, file);
        return file;
      }
      const { names, durable, pending } = directoryOf(node);
      const directory: DirectoryNode = {
        kind: "directory",
        ino,
        mtimeMs,
        names: mapped(names),
        durable: mapped(durable),
        pending: pending.map(({ remove, set }) =>
          set === undefined ? { remove } : { remove, set: { name: set.name, node: again(set.node) } },
        ),
      };
      made.set(node, directory);
      return directory;
    };
    disk.#root = again(this.#root) as DirectoryNode;
    disk.#nextIno = this.#nextIno;
    return disk;
  }
}

/** What {@link SimulatedDisk.failNext} can make fail. */
export type Operation =
  | "open"
  | "stat"
  | "list"
  | "mkdir"
  | "rename"
  | "link"
  | "unlink"
  | "append"
  | "clone"
  | "read"
  | "readSync"
  | "truncate"
  | "sync"
  | "syncDirectory";

type PathTest = (path: string) => boolean;

/** Nothing of it, each write torn at each byte, or padded from there; then the next change. */
function outcomeCount(node: Node): number {
  if (node.kind === "directory") return 2 ** Math.min(node.pending.length, 40);
  return node.pending.reduce((sum, change) => sum + outcomesOf(change), 1);
}

function outcomesOf(change: FileChange): number {
  return "bytes" in change ? 2 * change.bytes.length : 1;
}

function fileAfter({ durable, pending }: FileNode, pick: number): Uint8Array {
  let left = pick;
  let bytes = durable;
  for (const change of pending) {
    if (left === 0) break;
    const whole = outcomesOf(change);
    if (!("bytes" in change)) {
      bytes = resized(bytes, change.size);
    } else if (left < change.bytes.length) {
      bytes = written(bytes, change.at, change.bytes.subarray(0, left));
    } else if (left < whole) {
      // The size came to the disk, and the rest of the bytes did not.
      const padded = new Uint8Array(change.bytes.length);
      padded.set(change.bytes.subarray(0, left - change.bytes.length));
      bytes = written(bytes, change.at, padded);
    } else {
      bytes = written(bytes, change.at, change.bytes);
    }
    left = Math.max(0, left - whole);
  }
  return bytes;
}

function namesAfter({ durable, pending }: DirectoryNode, pick: number): Map<string, Node> {
  const names = new Map(durable);
  pending.forEach(({ remove, set }, index) => {
    if (Math.floor(pick / 2 ** Math.min(index, 40)) % 2 === 0) return;
    for (const name of remove) names.delete(name);
    if (set !== undefined) names.set(set.name, set.node);
  });
  return names;
}

function written(bytes: Uint8Array, at: number, added: Uint8Array): Uint8Array {
  const out = new Uint8Array(Math.max(bytes.length, at + added.length));
  out.set(bytes);
  out.set(added, at);
  return out;
}

function resized(bytes: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  out.set(bytes.subarray(0, size));
  return out;
}

function fileNode(ino: number, bytes: Uint8Array, mtimeMs: number): FileNode {
  return { kind: "file", ino, bytes, mtimeMs, ctimeMs: mtimeMs, durable: new Uint8Array(), pending: [] };
}

function directoryNode(ino: number, mtimeMs: number): DirectoryNode {
  return { kind: "directory", ino, names: new Map(), mtimeMs, durable: new Map(), pending: [] };
}

function statOf(node: Node): FileStat {
  const { kind, ino, mtimeMs } = node;
  const { size, ctimeMs } =
    node.kind === "file" ? { ...node, size: node.bytes.length } : { size: 4096, ctimeMs: mtimeMs };
  return { kind, dev: 1, ino, size, mtimeMs, ctimeMs };
}

function exactOf({ kind, dev, ino, size, mtimeMs }: FileStat): ExactFileStat {
  const mtimeNs = BigInt(Math.round(mtimeMs * 1e6));
  return { kind, dev: BigInt(dev), ino: BigInt(ino), size: BigInt(size), mtimeNs };
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

function systemError(code: string, syscall: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });
}
