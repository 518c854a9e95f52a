/**
 * Saves the files of a working tree as commits on a ref of their own, and gives them back. The shadow reads
 * and writes the files, so the user's index, HEAD, branches, stash and reflogs stay as they are.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { changesOf, planRestore, type Tree } from "./restore-plan.js";
import { fieldsOf, type Git, inputOf, lineOf } from "./run-git.js";
import type { Shadow } from "./shadow-directory.js";
import {
  applyPermissions,
  messageOf,
  parseMessage,
  printMessage,
  type SnapshotMessage,
} from "./snapshot-message.js";
import { isRules, type LeftOut, listWorkTree, type WorkTreeRules } from "./work-tree.js";

/** A saved state of the files. */
export interface Saved {
  /** The name of the commit. */
  readonly commit: string;
  readonly leftOut: readonly LeftOut[];
}

/** The result of a restore. Paths are binary strings. */
export interface Restored<R> {
  /** The record of the files as they were before the restore. */
  readonly recorded: R;
  readonly written: readonly string[];
  readonly deleted: readonly string[];
}

interface Commit {
  readonly name: string;
  readonly tree: string;
  readonly message: string;
}

/** How long an update of the ref waits for other processes. */
const refTimeoutMs = 20_000;
/** A lock of the ref that is older belongs to a dead process: git holds it for milliseconds. */
const staleLockMs = 5_000;

/** The files of one working tree, saved for one session. */
export class SavedFiles {
  readonly #shadow: Shadow;
  readonly #rules: WorkTreeRules;

  constructor(shadow: Shadow, rules: WorkTreeRules) {
    this.#shadow = shadow;
    this.#rules = rules;
  }

  /** Saves the files of the working tree. */
  save(): Promise<Saved> {
    return this.#withIndex((git, newest) => this.#save(git, newest));
  }

  /**
   * Gives the files of a commit back: writes those that differ, and deletes those that the present has in
   * addition. The present files are saved first, and `record` is awaited before anything changes. After a
   * crash the same call completes the restore.
   * @throws Error if the commit is no snapshot, or if a file that cannot be saved is in the way
   * @throws GitError if a file changed meanwhile; nothing was written
   */
  async restore<R>(commit: string, record: (saved: Saved) => Promise<R>): Promise<Restored<R>> {
    const message = await this.#messageOf(commit);
    if (message === undefined) throw new Error(`${commit} is no snapshot of a session's files`);
    const then = await this.#treeOf(commit);
    return this.#withIndex(async (git, newest) => {
      const wanted = [...then.keys()].filter((path) => !this.#rules.isExcluded(path));
      const saved = await this.#save(git, newest, wanted);
      const recorded = await record(saved);
      const now = await this.#treeOf(saved.commit);
      const { files, added } = planRestore(now, then, message.leftOut, this.#rules.isExcluded);
      const kept = await this.#ignoredBy(then, commit, added);
      const next = new Map([...files, ...[...now].filter(([path]) => kept.has(path))]);
      // Refuses, before it writes, to replace or delete a file that differs from the saved one.
      const { written, deleted } = changesOf(then, next);
      const isWhole = written.length === 0 && deleted.length === 0;
      await git(["read-tree", "-m", "-u", saved.commit, isWhole ? commit : await this.#writeTree(next)]);
      const restored = wanted.map((path) => [path, then.get(path)?.mode] as const);
      applyPermissions(this.#rules.root, restored, message.permissions);
      return { recorded, ...changesOf(now, next) };
    });
  }

  async #save(git: Git, newest: Commit | undefined, wanted?: Iterable<string>): Promise<Saved> {
    const files = await listWorkTree(this.#shadow.user, this.#rules, wanted);
    const gone = fieldsOf(await git(["ls-files", "-z"])).filter((path) => !files.paths.has(path));
    if (gone.length > 0) {
      await git(["update-index", "-z", "--force-remove", "--stdin"], { input: inputOf(gone) });
    }
    await git(["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], {
      input: inputOf(files.paths),
    });
    const tree = lineOf(await git(["write-tree"]));
    return {
      commit: await this.#commit(tree, printMessage(messageOf(files)), newest),
      leftOut: files.leftOut,
    };
  }

  /** Adds a commit to the ref by compare-and-swap. Returns the newest commit if it has the same files. */
  async #commit(tree: string, message: string, newest: Commit | undefined): Promise<string> {
    const deadline = Date.now() + refTimeoutMs;
    for (let parent = newest; ; ) {
      if (parent?.tree === tree && parent.message === message) return parent.name;
      const parents = parent === undefined ? [] : ["-p", parent.name];
      const commit = lineOf(
        await this.#shadow.git(["commit-tree", tree, ...parents, "-F", "-"], { input: message }),
      );
      try {
        // An empty old value: the ref must not exist.
        await this.#shadow.user(["update-ref", "--no-deref", this.#shadow.ref, commit, parent?.name ?? ""]);
        return commit;
      } catch (error) {
        const found = await this.#newest();
        const isRace = found?.name !== parent?.name || (await this.#isLocked());
        if (!isRace || Date.now() > deadline) throw error;
        parent = found;
        await setTimeout(10 + Math.random() * 40);
      }
    }
  }

  /** The commit of the ref. */
  async #newest(): Promise<Commit | undefined> {
    const format = "--format=%(objectname) %(tree)%0a%(contents)";
    const found = (await this.#shadow.user(["for-each-ref", format, this.#shadow.ref])).toString();
    const [, name, tree, message] = /^(\w+) (\w+)\n(.*)\n$/s.exec(found) ?? [];
    return name && tree && message ? { name, tree, message } : undefined;
  }

  /** Whether another process is updating the ref. Removes the lock of a dead one. */
  async #isLocked(): Promise<boolean> {
    const path = lineOf(
      await this.#shadow.user([
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        `${this.#shadow.ref}.lock`,
      ]),
    );
    const lock = await stat(path).catch(() => undefined);
    if (lock !== undefined && Date.now() - lock.mtimeMs > staleLockMs) await rm(path, { force: true });
    return lock !== undefined;
  }

  async #messageOf(commit: string): Promise<SnapshotMessage | undefined> {
    if (!/^[0-9a-f]{40}([0-9a-f]{24})?$/.test(commit)) return undefined;
    const text = (await this.#shadow.git(["cat-file", "commit", commit])).toString();
    return parseMessage(text.slice(text.indexOf("\n\n") + 2));
  }

  async #treeOf(commit: string): Promise<Tree> {
    const listed = await this.#shadow.git(["ls-tree", "-r", "-z", "--full-tree", commit]);
    return new Map(
      fieldsOf(listed).map((field) => {
        const tab = field.indexOf("\t");
        const [mode = "", , object = ""] = field.slice(0, tab).split(" ");
        return [field.slice(tab + 1), { mode, object }] as const;
      }),
    );
  }

  async #writeTree(files: Tree): Promise<string> {
    const index = this.#temporary("index");
    const env = { GIT_INDEX_FILE: index };
    const lines = [...files].map(([path, { mode, object }]) => `${mode} ${object}\t${path}`);
    try {
      await this.#shadow.git(["update-index", "-z", "--index-info"], { env, input: inputOf(lines) });
      return lineOf(await this.#shadow.git(["write-tree"], { env }));
    } finally {
      await rm(index, { force: true });
    }
  }

  /** The paths that the `.gitignore` files of a commit, and the user's other rules, ignore. */
  async #ignoredBy(then: Tree, commit: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
    if (paths.length === 0) return new Set();
    const dir = await mkdtemp(this.#temporary("rules"));
    try {
      const env = { GIT_INDEX_FILE: join(dir, "index") };
      const rules = [...then.keys()].filter(isRules);
      const files = join(dir, "files");
      await mkdir(files);
      await this.#shadow.git(["read-tree", commit], { env });
      const prefix = `--prefix=${files}/`;
      await this.#shadow.git(["checkout-index", "-z", prefix, "--stdin"], { env, input: inputOf(rules) });
      const ignored = await this.#shadow.user(["-C", files, "check-ignore", "-z", "--stdin", "--no-index"], {
        env: { GIT_WORK_TREE: files },
        // Without the dot, a colon at the start of a name would be magic.
        input: inputOf(paths.map((path) => `./${path}`)),
        answers: [1],
      });
      return new Set(fieldsOf(ignored).map((path) => path.slice("./".length)));
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }

  /**
   * Works on a copy of the index, which caches the state of unchanged files. Two processes need no lock, and
   * a process that dies leaves none.
   */
  async #withIndex<T>(work: (git: Git, newest: Commit | undefined) => Promise<T>): Promise<T> {
    const index = this.#temporary("index");
    const cache = join(this.#shadow.dir, "index");
    const git: Git = (args, command) =>
      this.#shadow.git(args, { ...command, env: { ...command?.env, GIT_INDEX_FILE: index } });
    try {
      // Without the ref, objects of the cached index may be collected.
      const newest = await this.#newest();
      if (newest !== undefined && existsSync(cache)) {
        const { mtimeMs } = await stat(cache);
        await copyFile(cache, index);
        // An index that is newer than a changed file would hide the change. An older one costs a comparison.
        const seconds = Math.floor(mtimeMs / 1000);
        await utimes(index, seconds, seconds);
      }
      const result = await work(git, newest);
      if (existsSync(index)) await rename(index, cache);
      return result;
    } finally {
      await rm(index, { force: true });
      await rm(`${index}.lock`, { force: true });
    }
  }

  #temporary(kind: string): string {
    return join(this.#shadow.dir, `${kind}-${randomUUID()}`);
  }
}
