import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assistantMessage, type Session, toolResult, toolStarted, userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  GitError,
  type GitSnapshots,
  gitSnapshot,
  snapshotEntry,
} from "../../../examples/apps/git-snapshots/git-snapshot.js";
import {
  call,
  filesIn,
  git,
  makeRepository,
  sessionFor,
  status,
  turn,
  userState,
  write,
  writing,
} from "./git-snapshots/working-tree.js";

const hasGit = spawnSync("git", ["--version"]).status === 0;
const canRun = hasGit || process.env.CI !== undefined;

let scratch: string;
let dir: string;
let session: Session;
let snapshots: GitSnapshots;
const saveBefore = (...args: Parameters<GitSnapshots["before"]>) => snapshots.before(...args);
const open = async (repo = dir) => {
  session = await sessionFor(repo);
  snapshots = await gitSnapshot(session, { repo });
};

describe.runIf(canRun)("git snapshots (skipped without git)", () => {
  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), "sessile-snapshots-"));
    // Settings of this machine are not for tests.
    for (const name of ["HOME", "XDG_CONFIG_HOME"]) process.env[name] = join(scratch, "home");
    mkdirSync(join(scratch, "home"));
    makeRepository(join(scratch, "template"));
  });
  beforeEach(async () => {
    dir = mkdtempSync(join(scratch, "repository-"));
    cpSync(join(scratch, "template"), dir, { recursive: true });
    await open();
  });
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  describe("a snapshot", () => {
    // @covers R106
    it("is taken once before each turn that changes files, and is an entry of the session", async () => {
      await turn(session, saveBefore, () => {}, call("read", { path: "README.md" }));
      expect(git(dir, "for-each-ref", snapshots.ref)).toBe("");
      const [question] = await turn(
        session,
        async (tool) => {
          expect(await saveBefore(tool)).toMatchObject({ reason: "turn", leftOut: [] });
          expect(await saveBefore(call("write", { path: "b" }))).toBeUndefined();
        },
        () => write(dir, { "src/a.txt": "b\n" }),
        writing("src/a.txt"),
      );
      await turn(session, saveBefore, () => write(dir, { "src/a.txt": "c\n" }));
      const entries = (await session.path()).map((entry) => snapshotEntry.read(entry)).filter((each) => each);
      const commits = git(dir, "rev-list", "--reverse", snapshots.ref).split("\n").slice(0, -1);
      expect(entries.map((each) => each?.commit)).toEqual(commits);
      expect(commits).toHaveLength(2);
      expect(git(dir, "show", `${commits[0]}:src/a.txt`)).toBe("a\n");
      expect(git(dir, "show", `${commits[1]}:src/a.txt`)).toBe("b\n");
      expect(await snapshots.changedFiles(question, session.leafId ?? "")).toEqual(["src/a.txt"]);
    });

    it("of a turn is found again by a new process, which takes none for the rest of the turn", async () => {
      await session.appendMessage(userMessage("Go on."));
      const [first, second] = [call("bash"), call("bash")];
      await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, first, second));
      expect(await saveBefore(first)).toBeDefined();
      await session.appendMessage(toolResult(first, "done"));
      snapshots = await gitSnapshot(session, { repo: dir });
      expect(await saveBefore(second)).toBeUndefined();
    });

    it("is one for calls that run in parallel", async () => {
      await session.appendMessage(userMessage("Go on."));
      const taken = await Promise.all([
        saveBefore(writing("a")),
        saveBefore(call("bash")),
        saveBefore(writing("b")),
      ]);
      expect(taken.map((each) => each?.reason)).toEqual(["turn", undefined, undefined]);
    });

    it("is not taken for tools that are said to be harmless, and of own tools by the ledger's rows", async () => {
      const tools = {
        save: { operation: "write", path: "target" },
        look: { operation: "read", path: "at" },
      } as const;
      snapshots = await gitSnapshot(session, { repo: dir, tools, harmless: ["search"] });
      await session.appendMessage(userMessage("Go on."));
      expect(await saveBefore(call("search"))).toBeUndefined();
      expect(await saveBefore(call("look", { at: "a" }))).toBeUndefined();
      expect(await saveBefore(call("save", { target: "a" }))).toBeDefined();
    });

    it("adds no commit if nothing changed since the newest", async () => {
      const { commit } = await snapshots.take();
      expect((await snapshots.take()).commit).toBe(commit);
      chmodSync(join(dir, "README.md"), 0o600);
      expect((await snapshots.take()).commit).not.toBe(commit);
    });

    // @covers R106
    it("and a restore leave index, HEAD, branches, stash, reflogs and status as they are", async () => {
      write(dir, { "src/a.txt": "stashed\n" });
      git(dir, "stash");
      write(dir, { "src/a.txt": "staged\n", "new.txt": "staged too\n", "some.log": "ignored\n" });
      git(dir, "add", "src/a.txt", "new.txt");
      write(dir, { "src/a.txt": "not staged\n", "untracked.txt": "untracked\n" });
      rmSync(join(dir, "README.md"));
      git(dir, "config", "core.logAllRefUpdates", "always");
      const [kept, said, files] = [userState(dir), status(dir), filesIn(dir)];
      const [question] = await turn(session, saveBefore, () => {
        write(dir, { "src/a.txt": "agent\n", "README.md": "agent\n", "agent.txt": "agent\n" });
        unlinkSync(join(dir, "untracked.txt"));
      });
      expect(userState(dir)).toEqual(kept);
      await snapshots.restore(question);
      expect(userState(dir)).toEqual(kept);
      expect(status(dir)).toBe(said);
      expect(filesIn(dir)).toEqual(files);
      expect(git(dir, "diff", "--cached", "--name-only")).toBe("new.txt\nsrc/a.txt\n");
    });

    it("leaves out what is ignored, and large files with a report", async () => {
      snapshots = await gitSnapshot(session, { repo: dir, maxFileBytes: 10 });
      write(dir, {
        "some.log": "x",
        "ignored/x": "x",
        "ten.bin": "x".repeat(10),
        "eleven.bin": "x".repeat(11),
      });
      const { commit, ...rest } = await snapshots.take();
      const leftOut = [{ path: "eleven.bin", reason: "size", bytes: 11 }];
      expect(rest).toEqual({ reason: "manual", leftOut, leftOutCount: 1 });
      expect(git(dir, "ls-tree", "-r", "--name-only", commit).split("\n")).toEqual([
        ...[".gitignore", "README.md", "src/a.txt", "ten.bin", ""],
      ]);
    });

    it("of a tracked file that is ignored too has the file", async () => {
      write(dir, { "tracked.log": "1" });
      git(dir, "add", "--force", "tracked.log");
      expect(git(dir, "ls-tree", "--name-only", (await snapshots.take()).commit, "tracked.log")).toBe(
        "tracked.log\n",
      );
    });
  });

  describe("a restore", () => {
    // @covers R106
    it("gives the files of that moment back, after saving the present ones, and can be undone", async () => {
      const first = filesIn(dir);
      const [question] = await turn(session, saveBefore, () =>
        write(dir, { "src/a.txt": "broken\n", "b.txt": "b\n" }),
      );
      write(dir, { "person.txt": "by hand, after the turn\n" });
      const present = filesIn(dir);
      const result = await snapshots.restore(question);
      expect(filesIn(dir)).toEqual(first);
      expect(result).toMatchObject({ written: ["src/a.txt"], deleted: ["b.txt", "person.txt"] });
      const [saved, revert] = (await session.path()).slice(-2);
      expect(saved && snapshotEntry.read(saved)).toEqual(result?.saved);
      expect(revert).toMatchObject({ type: "revert", targetId: question, snapshot: result?.saved.commit });
      expect((await session.turn()).revert).toMatchObject({ targetId: question });

      await snapshots.restore(revert?.id ?? "");
      expect(filesIn(dir)).toEqual(present);
      expect((await session.turn()).revert).toBeUndefined();
      expect(await session.entry(session.leafId ?? "")).toMatchObject({ targetId: question, undone: true });
      await snapshots.restore(session.leafId ?? "");
      expect(filesIn(dir)).toEqual(first);
    });

    it("to the end of a turn, to its start, and to a snapshot", async () => {
      const states = [filesIn(dir)];
      const turns = [];
      for (const text of ["1", "2", "3"]) {
        turns.push(await turn(session, saveBefore, () => write(dir, { [`${text}.txt`]: text })));
        states.push(filesIn(dir));
      }
      await snapshots.restore(turns[1]?.[3] ?? "");
      expect(filesIn(dir)).toEqual(states[2]);
      await snapshots.restore(turns[0]?.[3] ?? "");
      expect(filesIn(dir)).toEqual(states[1]);
      await snapshots.restore(turns[0]?.[1] ?? "");
      expect(filesIn(dir)).toEqual(states[0]);
      const entries = await session.path();
      const second = entries.filter((entry) => snapshotEntry.read(entry)?.reason === "turn")[1];
      await snapshots.restore(second?.id ?? "");
      expect(filesIn(dir)).toEqual(states[1]);
      // The end of the last turn was saved by the first restore.
      await snapshots.restore(turns[2]?.[3] ?? "");
      expect(filesIn(dir)).toEqual(states[3]);
    });

    it("goes to another branch of the conversation and back, with its files", async () => {
      const [, , , common] = await turn(session, saveBefore, () => write(dir, { "a.txt": "common\n" }));
      const shared = filesIn(dir);
      const [, , , left] = await turn(session, saveBefore, () =>
        write(dir, { "a.txt": "left\n", "left.txt": "x" }),
      );
      const first = filesIn(dir);
      await snapshots.restore(common);
      await session.branch(common);
      expect(filesIn(dir)).toEqual(shared);
      const [, , , right] = await turn(session, saveBefore, () =>
        write(dir, { "a.txt": "right\n", "right.txt": "x" }),
      );
      const second = filesIn(dir);
      await snapshots.restore(left);
      await session.branch(left);
      expect(filesIn(dir)).toEqual(first);
      await snapshots.restore(right);
      await session.branch(right);
      expect(filesIn(dir)).toEqual(second);
    });

    it("takes the first of the snapshots behind an entry", async () => {
      const [, , , common] = await turn(session, saveBefore, () => write(dir, { "a.txt": "common\n" }));
      const shared = filesIn(dir);
      for (const text of ["left", "middle", "right"]) {
        await session.branch(common);
        await turn(session, saveBefore, () => write(dir, { "a.txt": text }));
      }
      await snapshots.restore(common);
      expect(filesIn(dir)).toEqual(shared);
    });

    it("has nothing to do if no call since the entry may have changed files", async () => {
      const [question] = await turn(session, saveBefore, () => {}, call("read", { path: "README.md" }));
      const size = (await session.tree()).size;
      expect(await snapshots.restore(question)).toBeUndefined();
      expect((await session.tree()).size).toBe(size);
    });

    it("refuses an entry in the middle of a turn, and one that is not there", async () => {
      const [, , result] = await turn(session, saveBefore, () => write(dir, { "a.txt": "1" }));
      await turn(session, saveBefore, () => write(dir, { "a.txt": "2" }));
      await session.appendMessage(userMessage("Both."));
      const [first, second] = [writing("b.txt"), call("bash")];
      await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, first, second));
      await saveBefore(first);
      const middle = await session.appendMessage(toolResult(first, "done"));
      await session.append([toolStarted.draft({ toolCallId: second.id })]);
      await session.appendMessage(userMessage("Stop."));
      const present = filesIn(dir);
      await expect(snapshots.restore(middle.id)).rejects.toThrow(
        `no snapshot has the files of entry ${middle.id}`,
      );
      await snapshots.take();
      await expect(snapshots.restore(middle.id)).rejects.toThrow("in the middle of a turn");
      await expect(snapshots.restore("none")).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
      expect(filesIn(dir)).toEqual(present);
      // All calls of that turn had ended.
      expect(await snapshots.restore(result)).toBeDefined();
    });

    it("refuses a commit that is no snapshot, and an option", async () => {
      const { id } = await session.appendMessage(userMessage("Go on."));
      const head = git(dir, "rev-parse", "HEAD").trim();
      for (const commit of [head, "HEAD", "--version", "0".repeat(40)]) {
        const [entry] = await session.append([{ type: "revert", targetId: id, snapshot: commit }]);
        await expect(snapshots.restore(entry?.id ?? "")).rejects.toThrow(/is no snapshot|git cat-file/);
      }
    });

    // @covers R106
    it("restores permissions, links, empty files, and files where directories are", async () => {
      write(dir, {
        run: "#!/bin/sh\n",
        secret: "key\n",
        empty: "",
        "lib/x": "x\n",
        swap: "file\n",
        "read-only": "r\n",
      });
      chmodSync(join(dir, "run"), 0o755);
      chmodSync(join(dir, "secret"), 0o600);
      chmodSync(join(dir, "read-only"), 0o444);
      symlinkSync("../outside\n", join(dir, "dangling"));
      symlinkSync("lib", join(dir, "to-lib"));
      const then = filesIn(dir);
      const { id } = await taken();
      chmodSync(join(dir, "run"), 0o644);
      for (const path of ["secret", "empty", "dangling", "read-only"]) rmSync(join(dir, path));
      for (const path of ["lib", "swap", "to-lib"]) rmSync(join(dir, path), { recursive: true });
      write(dir, {
        secret: "other\n",
        lib: "a file now\n",
        "swap/a/b": "a directory now\n",
        dangling: "a file now\n",
      });
      symlinkSync("src", join(dir, "to-lib"));
      await snapshots.restore(id);
      expect(filesIn(dir)).toEqual(then);
    });

    it("does not write behind a link that took the place of a directory", async () => {
      write(dir, { "lib/x": "x\n" });
      git(dir, "add", ".");
      const { id } = await taken();
      rmSync(join(dir, "lib"), { recursive: true });
      const outside = mkdtempSync(join(scratch, "outside-"));
      write(outside, { x: "outside\n" });
      symlinkSync(outside, join(dir, "lib"));
      await snapshots.take();
      await snapshots.restore(id);
      expect(filesIn(outside)).toEqual({ x: expect.stringContaining("outside\n") });
      expect(readFileSync(join(dir, "lib/x"), "utf8")).toBe("x\n");
      await snapshots.restore(session.leafId ?? "");
      expect(readFileSync(join(dir, "lib/x"), "utf8")).toBe("outside\n");
    });

    // @covers R106
    it("deletes only files that the saved snapshot has: no ignored, large or special ones", async () => {
      snapshots = await gitSnapshot(session, { repo: dir, maxFileBytes: 100 });
      const { id } = await taken();
      write(dir, { "added.txt": "x", "some.log": "x", "ignored/x": "x", "large.bin": "x".repeat(101) });
      spawnSync("mkfifo", [join(dir, "pipe")]);
      const { leftOut, commit } = await snapshots.take();
      expect(leftOut.map(({ path }) => path)).toEqual(["large.bin"]);
      const result = await snapshots.restore(id);
      expect(result?.deleted).toEqual(["added.txt"]);
      expect(Object.keys(filesIn(dir)).sort()).toEqual([
        ...[".gitignore", "README.md", "ignored/x", "large.bin", "pipe", "some.log", "src/a.txt"],
      ]);
      expect(git(dir, "show", `${commit}:added.txt`)).toBe("x");
    });

    it("keeps a file that was ignored or too large then, also if a snapshot has it now", async () => {
      snapshots = await gitSnapshot(session, { repo: dir, maxFileBytes: 10 });
      write(dir, { "env.log": "secret", "large.bin": "x".repeat(11), "ignored/deep/x": "x" });
      const { id } = await taken();
      write(dir, { ".gitignore": "", "large.bin": "x", "new.txt": "x" });
      const result = await snapshots.restore(id);
      expect(result?.deleted).toEqual(["new.txt"]);
      expect(readFileSync(join(dir, "env.log"), "utf8")).toBe("secret");
      expect(readFileSync(join(dir, "ignored/deep/x"), "utf8")).toBe("x");
      expect(readFileSync(join(dir, "large.bin"), "utf8")).toBe("x");
      expect(readFileSync(join(dir, ".gitignore"), "utf8")).toBe("ignored/\n*.log\n");
    });

    it("saves a file before it overwrites it, also if it is ignored or too large by now", async () => {
      snapshots = await gitSnapshot(session, { repo: dir, maxFileBytes: 10 });
      write(dir, { "grown.bin": "1", "hidden.txt": "1", tools: "a file" });
      const { id } = await taken();
      rmSync(join(dir, "tools"));
      write(dir, { ".gitignore": "hidden.txt\ntools\n", "grown.bin": "2".repeat(50), "hidden.txt": "2" });
      write(dir, { "tools/deep/x": "y".repeat(50) });
      const present = filesIn(dir);
      await snapshots.restore(id);
      expect(readFileSync(join(dir, "grown.bin"), "utf8")).toBe("1");
      expect(readFileSync(join(dir, "hidden.txt"), "utf8")).toBe("1");
      expect(readFileSync(join(dir, "tools"), "utf8")).toBe("a file");
      await snapshots.restore(session.leafId ?? "");
      expect(filesIn(dir)).toEqual(present);
    });

    it("refuses, and changes nothing, if no snapshot can keep a file in its way", async () => {
      write(dir, { tools: "a file", pipe: "a file" });
      const { id } = await taken();
      rmSync(join(dir, "tools"));
      makeRepository(join(dir, "tools"));
      write(dir, { "src/a.txt": "changed\n" });
      const present = filesIn(dir);
      await expect(snapshots.restore(id)).rejects.toThrow("tools/.git is in the way");
      rmSync(join(dir, "tools"), { recursive: true });
      rmSync(join(dir, "pipe"));
      spawnSync("mkfifo", [join(dir, "pipe")]);
      await expect(snapshots.restore(id)).rejects.toThrow("pipe is in the way");
      expect(readFileSync(join(dir, "src/a.txt"), "utf8")).toBe(present["src/a.txt"]?.replace(/^\d+ /, ""));
    });
  });

  it("refuses, and changes nothing, if a file changes between the save and the restore", async () => {
    const { id } = await taken();
    write(dir, { "src/a.txt": "saved\n", "README.md": "saved\n", "added.txt": "x" });
    const { PATH } = process.env;
    const bin = mkdtempSync(join(scratch, "bin-"));
    const real = join(git(dir, "--exec-path").trim(), "git");
    const late = `case "$*" in *"read-tree -m -u"*) echo by hand > "${dir}/src/a.txt";; esac`;
    write(bin, { git: `#!/bin/sh\n${late}\nexec "${real}" "$@"\n` });
    chmodSync(join(bin, "git"), 0o755);
    process.env.PATH = `${bin}:${PATH}`;
    try {
      await expect(snapshots.restore(id)).rejects.toThrow("src/a.txt");
    } finally {
      process.env.PATH = PATH;
    }
    const contents = ["src/a.txt", "README.md", "added.txt"].map((path) =>
      readFileSync(join(dir, path), "utf8"),
    );
    expect(contents).toEqual(["by hand\n", "saved\n", "x"]);
    expect((await session.turn()).revert).toBeUndefined();
    await snapshots.restore(id);
    expect(Object.keys(filesIn(dir))).toEqual([".gitignore", "README.md", "src/a.txt"]);
  });

  describe("works", () => {
    const roundTrip = async (change: () => void) => {
      const then = filesIn(dir);
      const { id, commit } = await taken();
      change();
      const present = filesIn(dir);
      expect(present).not.toEqual(then);
      await snapshots.restore(id);
      expect(filesIn(dir)).toEqual(then);
      await snapshots.restore(session.leafId ?? "");
      expect(filesIn(dir)).toEqual(present);
      return commit;
    };

    // @covers R106
    it("without any commits", async () => {
      dir = mkdtempSync(join(scratch, "unborn-"));
      git(dir, "init", "--quiet");
      await open();
      await roundTrip(() => write(dir, { "a/b": "1" }));
      expect(git(dir, "for-each-ref", "--format=%(refname)")).toBe(`${snapshots.ref}\n`);
      expect(status(dir)).toContain("# branch.oid (initial)");
    });

    it("in a repository with SHA-256", async () => {
      dir = makeRepository(mkdtempSync(join(scratch, "sha256-")), "--object-format=sha256");
      await open();
      expect(await roundTrip(() => write(dir, { "a/b": "1" }))).toMatch(/^[0-9a-f]{64}$/);
    });

    it("in a subdirectory, for the whole working tree", async () => {
      session = await sessionFor(dir);
      snapshots = await gitSnapshot(session, { repo: join(dir, "src") });
      await roundTrip(() => write(dir, { "README.md": "changed\n", "src/new": "x" }));
    });

    // @covers R106
    it("in a worktree, beside the main one", async () => {
      const other = join(scratch, "worktree");
      git(dir, "worktree", "add", "--quiet", other);
      write(dir, { "README.md": "of the main worktree\n" });
      const [main, mainFiles] = [userState(dir), filesIn(dir)];
      const mainRepository = dir;
      dir = other;
      await open();
      await roundTrip(() => write(dir, { "README.md": "changed\n", "src/new": "x" }));
      expect(userState(mainRepository)).toEqual(main);
      expect(filesIn(mainRepository)).toEqual(mainFiles);
    });

    // @covers R106
    it("in a submodule, and leaves submodules and nested repositories out with a report", async () => {
      const library = makeRepository(mkdtempSync(join(scratch, "library-")));
      git(dir, "submodule", "--quiet", "add", library, "sub");
      git(dir, "commit", "--quiet", "--message=submodule");
      makeRepository(join(dir, "nested"));
      git(mkdtempSync(join(dir, "unborn-")), "init", "--quiet");
      write(dir, { "sub/src/a.txt": "dirty\n", "nested/new.txt": "x" });
      const head = git(join(dir, "sub"), "rev-parse", "HEAD");
      const { id } = await taken();
      const left = await session.entry(id);
      expect((left && snapshotEntry.read(left))?.leftOut).toEqual([
        { path: "nested", reason: "repository" },
        { path: "sub", reason: "repository" },
        { path: expect.stringMatching(/^unborn-/), reason: "repository" },
      ]);
      write(dir, { "sub/src/a.txt": "dirtier\n", "nested/new.txt": "y", "README.md": "changed\n" });
      await snapshots.restore(id);
      expect(readFileSync(join(dir, "README.md"), "utf8")).toBe("# Tally\n");
      expect(readFileSync(join(dir, "sub/src/a.txt"), "utf8")).toBe("dirtier\n");
      expect(readFileSync(join(dir, "nested/new.txt"), "utf8")).toBe("y");
      expect(git(join(dir, "sub"), "rev-parse", "HEAD")).toBe(head);
      dir = join(dir, "sub");
      await open();
      await roundTrip(() => write(dir, { "src/a.txt": "another\n", "src/new": "x" }));
    });

    // @covers R106
    it("with two sessions at once, and with two handles of one session", async () => {
      const other = await sessionFor(dir);
      const [a, b] = await Promise.all([snapshots, gitSnapshot(other, { repo: dir })]);
      const again = await gitSnapshot(session, { repo: dir });
      const taken = [a, b, again, a, b, again].map((each) => each.take());
      const commits = await Promise.all(taken);
      expect(a.ref).not.toBe(b.ref);
      write(dir, { "x.txt": "x" });
      const more = await Promise.all([a, again, a, again].map((each) => each.take()));
      const kept = (ref: string) => git(dir, "rev-list", ref).split("\n");
      for (const { commit } of [...more, ...commits.filter((_, at) => at % 3 !== 1)]) {
        expect(kept(a.ref)).toContain(commit);
      }
      expect(kept(b.ref)).toContain(commits[1]?.commit);
    });

    it("while another handle moves its ref between the read and the update", async () => {
      await snapshots.take();
      const stores = await Promise.all([1, 2, 3].map(() => gitSnapshot(session, { repo: dir })));
      const all: string[] = [];
      for (let round = 0; round < 2; round++) {
        const saved = stores.map(async (each, at) => {
          write(dir, { [`${at}.txt`]: `${round}` });
          return (await each.take()).commit;
        });
        all.push(...(await Promise.all(saved)));
      }
      const kept = git(dir, "rev-list", snapshots.ref).split("\n");
      for (const commit of all) expect(kept).toContain(commit);
    });

    it("after a process that died with the lock of the ref", async () => {
      const lock = join(dir, ".git", `${snapshots.ref}.lock`);
      await snapshots.take();
      writeFileSync(lock, "");
      utimesSync(lock, 1, 1);
      write(dir, { "a.txt": "x" });
      await snapshots.take();
      expect(existsSync(lock)).toBe(false);
    });

    // @covers R106
    it("with names that have line feeds, quotes and bytes that are not UTF-8", async () => {
      const names = [
        "line\nfeed",
        'quote"s',
        "tab\t",
        " space ",
        "-option",
        ":(top)magic",
        "*",
        "back\\slash",
        "\xff\xfe",
      ];
      const at = (name: string) => Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(name, "latin1")]);
      for (const name of names) writeFileSync(at(name), "1");
      mkdirSync(at("d\xe9\n"));
      writeFileSync(at("d\xe9\n/\xff"), "1");
      git(dir, "add", ".");
      await roundTrip(() => {
        for (const name of names) writeFileSync(at(name), "22");
        rmSync(at("d\xe9\n/\xff"));
        renameSync(at("\xff\xfe"), at("\xfe"));
      });
    });

    it("with names that git cannot store", async () => {
      mkdirSync(join(dir, "x/.GIT"), { recursive: true });
      write(dir, { "x/.GIT/config": "1", "git~1": "1" });
      symlinkSync("a", join(dir, ".gitmodules"));
      await roundTrip(() => write(dir, { "git~1": "2" }));
      expect((await snapshots.take()).leftOut).toEqual([
        { path: ".gitmodules", reason: "name" },
        { path: "x/.GIT/config", reason: "name" },
      ]);
    });

    // @covers R106
    it("with core.autocrlf, filters and other attributes, which convert nothing", async () => {
      git(dir, "config", "core.autocrlf", "true");
      git(dir, "config", "filter.lfs.clean", "false");
      git(dir, "config", "filter.lfs.smudge", "false");
      git(dir, "config", "filter.lfs.process", "false");
      git(dir, "config", "filter.lfs.required", "true");
      const attributes = [
        "*.lfs filter=lfs",
        "*.txt text eol=crlf",
        "*.id ident",
        "*.enc working-tree-encoding=UTF-16",
      ];
      write(dir, {
        ".gitattributes": `${attributes.join("\n")}\n`,
        "mixed.txt": "a\r\nb\nc\r",
        "big.lfs": "the bytes themselves\n",
        "x.id": "$Id$ $Id: 1234 $\n",
        "x.enc": "plain\n",
        "src/.gitattributes": "a.txt working-tree-encoding=UTF-32\n",
      });
      mkdirSync(join(dir, ".git/info"), { recursive: true });
      writeFileSync(join(dir, ".git/info/attributes"), "* text eol=crlf\n");
      const home = join(scratch, "home", "git");
      write(home, { attributes: "* text filter=lfs\n" });
      const commit = await roundTrip(() => {
        write(dir, { "mixed.txt": "\r\n\n\r", "big.lfs": "other bytes\n", "x.id": "$Id$", "x.enc": "other" });
      });
      rmSync(home, { recursive: true });
      expect(git(dir, "cat-file", "blob", `${commit}:mixed.txt`)).toBe("a\r\nb\nc\r");
      expect(git(dir, "cat-file", "blob", `${commit}:big.lfs`)).toBe("the bytes themselves\n");
    });

    // @covers R106
    it("without a hook or a file-system monitor of the user", async () => {
      const ran = join(scratch, "ran");
      const hooks = [
        "pre-commit",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
      ];
      for (const name of hooks) {
        write(dir, { [`.git/hooks/${name}`]: `#!/bin/sh\necho ${name} >> ${ran}\n` });
        chmodSync(join(dir, ".git/hooks", name), 0o755);
      }
      git(dir, "config", "core.fsmonitor", join(dir, ".git/hooks/pre-commit"));
      git(dir, "config", "commit.gpgSign", "true");
      git(dir, "config", "gpg.program", "false");
      await roundTrip(() => write(dir, { "a.txt": "x" }));
      expect(existsSync(ran)).toBe(false);
    });

    // @covers R106
    it("within a hook: variables of git do not redirect it", async () => {
      const elsewhere = makeRepository(mkdtempSync(join(scratch, "elsewhere-")));
      const kept = [userState(elsewhere), filesIn(elsewhere)];
      const given = {
        ...{ GIT_DIR: join(elsewhere, ".git"), GIT_WORK_TREE: elsewhere, GIT_INDEX_FILE: "/nowhere/index" },
        ...{ GIT_OBJECT_DIRECTORY: "/nowhere", GIT_CEILING_DIRECTORIES: "/", GIT_PREFIX: "src/" },
        ...{ GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.bare", GIT_CONFIG_VALUE_0: "true" },
        ...{ GIT_NAMESPACE: "x", GIT_LITERAL_PATHSPECS: "0", GIT_AUTHOR_DATE: "never" },
      };
      Object.assign(process.env, given);
      try {
        await open();
        const then = filesIn(dir);
        const { id } = await taken();
        write(dir, { "a.txt": "x" });
        await snapshots.restore(id);
        expect(filesIn(dir)).toEqual(then);
      } finally {
        for (const name of Object.keys(given)) delete process.env[name];
      }
      expect([userState(elsewhere), filesIn(elsewhere)]).toEqual(kept);
      expect(git(dir, "for-each-ref", "refs/sessile")).toContain(snapshots.ref);
    });

    // @covers R106
    it("after a garbage collection, which the ref survives, and after one without the ref", async () => {
      write(dir, { "a.txt": "1" });
      const then = filesIn(dir);
      const { id } = await taken();
      write(dir, { "a.txt": "2" });
      git(dir, "gc", "--quiet", "--prune=now");
      await snapshots.restore(id);
      expect(filesIn(dir)).toEqual(then);
      git(dir, "update-ref", "-d", snapshots.ref);
      git(dir, "gc", "--quiet", "--prune=now");
      await expect(snapshots.restore(id)).rejects.toThrow(GitError);
      await roundTrip(() => write(dir, { "a.txt": "3" }));
      expect(git(dir, "fsck", "--full", "--strict")).toBe("");
    });

    it("with a sparse checkout, an unmerged index and a split index", async () => {
      git(dir, "config", "core.splitIndex", "true");
      git(dir, "switch", "--quiet", "--create", "other");
      write(dir, { "src/a.txt": "theirs\n", "docs/x": "x\n" });
      git(dir, "add", ".");
      git(dir, "commit", "--quiet", "--message=theirs");
      git(dir, "switch", "--quiet", "main");
      write(dir, { "src/a.txt": "ours\n" });
      git(dir, "commit", "--quiet", "--all", "--message=ours");
      expect(() => git(dir, "merge", "other")).toThrow();
      const kept = userState(dir);
      await roundTrip(() => write(dir, { "src/a.txt": "merged\n" }));
      expect(userState(dir)).toEqual(kept);
      git(dir, "merge", "--abort");
      git(dir, "sparse-checkout", "set", "docs");
      expect(existsSync(join(dir, "src"))).toBe(false);
      await roundTrip(() => write(dir, { "README.md": "changed\n", "src/a.txt": "again\n" }));
    });

    it("if a change keeps size and time", async () => {
      const path = join(dir, "src/a.txt");
      await snapshots.take();
      const { atime, mtime } = statSync(path);
      await roundTrip(() => {
        writeFileSync(path, "b\n");
        utimesSync(path, atime, mtime);
      });
    });

    it("with the session's own file in the working tree, and stores that are excluded", async () => {
      const store = fileSessionStore({ dir: join(dir, "sessions"), durability: "os" });
      session = await store.create({ cwd: dir });
      snapshots = await gitSnapshot(session, { repo: dir, exclude: ["blobs", join(dir, "more")] });
      await session.appendMessage(userMessage("Hello."));
      const { id, commit } = await taken();
      write(dir, { "blobs/a": "x", "more/b": "x", "blobs-not": "x" });
      expect((await snapshots.restore(id))?.deleted).toEqual(["blobs-not"]);
      expect(git(dir, "ls-tree", "-r", "--name-only", commit)).toBe(".gitignore\nREADME.md\nsrc/a.txt\n");
      expect(await session.diagnose()).toEqual([]);
      await session.close();
    });

    it("with any id of a session", async () => {
      const ids = ["a..b", "x.lock", "..a", "a.", "é", "a~^:?*[\\ b", "@{", "a%2e"];
      const refs = new Set<string>();
      for (const id of ids) {
        const named = { id, location: undefined, header: session.header } as Session;
        const { ref } = await gitSnapshot(named, { repo: dir });
        git(dir, "check-ref-format", ref);
        refs.add(ref);
      }
      expect(refs.size).toBe(ids.length);
    });

    it("only in a working tree", async () => {
      const bare = mkdtempSync(join(scratch, "bare-"));
      git(bare, "init", "--quiet", "--bare");
      await expect(gitSnapshot(session, { repo: bare })).rejects.toThrow("is in no working tree");
      await expect(gitSnapshot(session, { repo: join(dir, ".git") })).rejects.toThrow(
        "is in no working tree",
      );
      await expect(gitSnapshot(session, { repo: join(scratch, "home") })).rejects.toThrow(
        "not a git repository",
      );
      await expect(gitSnapshot(session, { repo: join(dir, "absent") })).rejects.toThrow("ENOENT");
      await expect(gitSnapshot(session, { repo: dir, maxFileBytes: -1 })).rejects.toThrow(RangeError);
    });
  });

  it("says that git is not there", async () => {
    const { PATH } = process.env;
    process.env.PATH = join(scratch, "home");
    try {
      await expect(snapshots.take()).rejects.toThrow(/^git .* did not start: .*ENOENT/);
    } finally {
      process.env.PATH = PATH;
    }
  });
});

/** Takes a snapshot, and returns its commit and the id of its entry. */
async function taken(): Promise<{ readonly id: string; readonly commit: string }> {
  const { commit } = await snapshots.take();
  return { id: session.leafId ?? "", commit };
}
