import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gitSnapshot, snapshotEntry } from "../../examples/apps/git-snapshots/git-snapshot.js";
import {
  filesIn,
  git,
  makeRepository,
  sessionFor,
  turn,
  userState,
  write,
} from "../examples/apps/git-snapshots/working-tree.js";
import { rounds } from "../support/rounds.js";
import { needs } from "./needs.js";
import { useProgram } from "./start-child.js";

let scratch: string;
const absent = needs("git");
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-snapshot-faults-"));
  for (const name of ["HOME", "XDG_CONFIG_HOME"]) process.env[name] = scratch;
  if (absent === "") makeRepository(join(scratch, "template"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const copyOf = (template: string): string => {
  const dir = mkdtempSync(join(scratch, "copy-"));
  cpSync(join(scratch, template), dir, { recursive: true, verbatimSymlinks: true });
  return dir;
};

describe("snapshots of the files, over random edits, turns and restores", () => {
  type Files = Readonly<Record<string, string>>;
  type Edit = {
    readonly path: string;
    readonly kind: "file" | "run" | "secret" | "link" | "gone";
    readonly text: string;
  };
  type Step =
    | { readonly type: "edits"; readonly edits: readonly Edit[] }
    | { readonly type: "turn"; readonly edits: readonly Edit[] }
    | { readonly type: "restore"; readonly which: number; readonly branch: boolean };

  // Files in the place of directories, and ignored files among them.
  const paths = [
    "a",
    "a/b",
    "a/b/c",
    "a/x.log",
    "d",
    "d/e.log",
    "d/f",
    "g.log",
    "h\n\xe9",
    "src/a.txt",
    "README.md",
  ];
  const edit: fc.Arbitrary<Edit> = fc.record({
    path: fc.constantFrom(...paths),
    kind: fc.constantFrom("file", "file", "run", "secret", "link", "gone"),
    text: fc.constantFrom("", "1", "2", "1\r\n", "\0\xff", "a much longer text\n"),
  });
  const edits = fc.array(edit, { minLength: 1, maxLength: 4 });
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ type: fc.constant("edits" as const), edits }),
    fc.record({ type: fc.constant("turn" as const), edits }),
    fc.record({ type: fc.constant("restore" as const), which: fc.nat(), branch: fc.boolean() }),
  );

  const isIgnored = (path: string) => path.endsWith(".log");
  const isAbove = (path: string, other: string) => other.startsWith(`${path}/`);

  /** The files of the present that a snapshot has, if it is taken before a restore of `then`. */
  const savedOf = (now: Files, then: Files = {}): Files =>
    keep(now, (path) => {
      const replaced = Object.keys(then).some(
        (each) => each === path || isAbove(each, path) || isAbove(path, each),
      );
      return !isIgnored(path) || replaced;
    });
  /** The files after a restore. */
  const restoredOf = (now: Files, then: Files): Files => {
    const saved = savedOf(now, then);
    return { ...keep(now, (path) => !(path in saved)), ...then };
  };
  const keep = (files: Files, test: (path: string) => boolean): Files =>
    Object.fromEntries(Object.entries(files).filter(([path]) => test(path)));

  /** Applies an edit to the disk; what is in its way goes. */
  const apply = (dir: string, { path, kind, text }: Edit): void => {
    const at = Buffer.from(`${dir}/${path}`, "latin1");
    for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
      const parent = join(dir, path.slice(0, slash));
      const found = lstatSync(parent, { throwIfNoEntry: false });
      if (found !== undefined && !found.isDirectory()) rmSync(parent);
    }
    rmSync(at, { recursive: true, force: true });
    if (kind === "gone") return;
    mkdirSync(Buffer.from(dirname(`${dir}/${path}`), "latin1"), { recursive: true });
    if (kind === "link") {
      symlinkSync(Buffer.from(text.replaceAll("\0", "-") || "nowhere", "latin1"), at);
      return;
    }
    writeFileSync(at, text, "latin1");
    chmodSync(at, kind === "run" ? 0o755 : kind === "secret" ? 0o600 : 0o644);
  };

  // @covers R106
  it("gives back byte for byte, and leaves all of the user's", { timeout: 600_000 }, async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 9 }), async (steps) => {
      const dir = copyOf("template");
      const kept = userState(dir);
      const session = await sessionFor(dir);
      const snapshots = await gitSnapshot(session, { repo: dir });
      const moments: { readonly id: string; readonly files: Files }[] = [];
      /** The end of the last turn, whose files the next snapshot has, unless they are edited before. */
      let open: string | undefined;
      for (const each of steps) {
        const now = filesIn(dir);
        if (each.type === "edits") {
          for (const one of each.edits) apply(dir, one);
          open = undefined;
        } else if (each.type === "turn") {
          if (open !== undefined) moments.push({ id: open, files: savedOf(now) });
          const change = () => {
            for (const one of each.edits) apply(dir, one);
          };
          const [question, , , reply] = await turn(session, snapshots.before, change);
          moments.push({ id: question, files: savedOf(now) });
          open = reply;
        } else if (moments.length > 0) {
          const { id, files } = moments[each.which % moments.length] as (typeof moments)[number];
          const end = open;
          const result = await snapshots.restore(id);
          expect(filesIn(dir)).toEqual(restoredOf(now, files));
          expect(result).toBeDefined();
          const revert = session.leafId ?? "";
          moments.push({ id: revert, files: savedOf(now, files) });
          if (end !== undefined) moments.push({ id: end, files: savedOf(now, files) });
          open = undefined;
          if (each.branch) await session.branch(id);
        }
      }
      expect(userState(dir)).toEqual(kept);
      expect(git(dir, "fsck", "--strict")).toBe("");
      rmSync(dir, { recursive: true });
    });
    await fc.assert(property, { numRuns: rounds(10, 300) });
  });
});

describe("a process that is killed with its git", () => {
  const program = useProgram(new URL("./git-snapshots-child.ts", import.meta.url));

  /**
   * Runs the program. Program and git are killed before the first command of git that matches, `seconds` after
   * it began, or at its end.
   */
  const run = async (args: readonly string[], kill?: readonly [command: string, seconds: string]) => {
    const bin = mkdtempSync(join(scratch, "bin-"));
    const real = `"${join(git(scratch, "--exec-path").trim(), "git")}" "$@"`;
    const [command, seconds] = kill ?? ["none", ""];
    const during = seconds === "end" ? `${real};` : `${real} <&0 & sleep ${seconds};`;
    const death = seconds === "" ? "kill -9 0" : `${during} kill -9 0`;
    write(bin, { git: `#!/bin/sh\ncase "$*" in *"${command}"*) ${death};; esac\nexec ${real}\n` });
    chmodSync(join(bin, "git"), 0o755);
    const child = spawn(process.execPath, [program(), ...args], {
      detached: true,
      stdio: ["ignore", "inherit", "pipe"],
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
    });
    let words = "";
    child.stderr.setEncoding("utf8").on("data", (piece) => {
      words += piece;
    });
    const [code, signal] = await once(child, "close");
    return signal ?? (code === 0 ? "done" : words);
  };

  interface Prepared {
    readonly dir: string;
    readonly sessions: string;
    /** The entry to go back to, and the files there. */
    readonly entry: string;
    readonly former: Readonly<Record<string, string>>;
    readonly present: Readonly<Record<string, string>>;
    readonly kept: Readonly<Record<string, string>>;
  }
  let made: Prepared;
  /** A copy of a session with a snapshot, after which many files were changed. */
  const prepared = async (): Promise<Prepared> => {
    made ??= await prepare();
    const copies = { dir: mkdtempSync(join(scratch, "d-")), sessions: mkdtempSync(join(scratch, "s-")) };
    for (const name of ["dir", "sessions"] as const) cpSync(made[name], copies[name], { recursive: true });
    return { ...made, ...copies };
  };
  const prepare = async (): Promise<Prepared> => {
    const dir = copyOf("template");
    const sessions = mkdtempSync(join(scratch, "sessions-"));
    const session = await fileSessionStore({ dir: sessions }).create({ id: "s", cwd: dir });
    const snapshots = await gitSnapshot(session, { repo: dir });
    const many = (text: string) =>
      Object.fromEntries(
        Array.from({ length: 70 }, (_, at) => [`many/${at % 7}/${at}`, `${text} ${at}\n`.repeat(50)]),
      );
    write(dir, many("then"));
    const former = filesIn(dir);
    const { id } = await session.appendMessage(userMessage("Go on."));
    await snapshots.take();
    write(dir, { ...many("now"), "added/x": "x", "README.md": "changed\n" });
    rmSync(join(dir, "src"), { recursive: true });
    await session.close();
    return { dir, sessions, former, entry: id, present: filesIn(dir), kept: userState(dir) };
  };

  const points: readonly (readonly [command: string, seconds: string])[] = [
    ["read-tree -m -u", "0.006"],
    ["update-index -z --add", ""],
    ["read-tree -m -u", "0.003"],
    ["check-ignore", ""],
    ["commit-tree", ""],
    ["read-tree -m -u", "end"],
    ["read-tree -m -u", ""],
    ["write-tree", ""],
    // It may leave a lock, which is removed after five seconds.
    ["update-ref", "0"],
    ...["update-index -z --index-info", "checkout-index"].map((command) => [command, ""] as const),
    ...["update-ref", "update-index -z --add", "read-tree -m -u"].flatMap((command) =>
      ["0", "0.001", "0.002", "0.004", "0.01"].map((seconds) => [command, seconds] as const),
    ),
  ];

  // @covers R106
  it("loses nothing in a restore, and the same restore completes it", { timeout: 600_000 }, async () => {
    let cut = 0;
    for (let round = 0; round < rounds(6, 250); round++) {
      const { dir, sessions, former, present, entry, kept } = await prepared();
      expect(await run([dir, sessions, entry], points[round % points.length])).toBe("SIGKILL");
      const store = fileSessionStore({ dir: sessions });
      const saved = await savedEntry(store);
      if (JSON.stringify(filesIn(dir)) !== JSON.stringify(present)) {
        cut++;
        // Nothing changes before the present files are saved, and their entry is written.
        expect(saved).toBeDefined();
      }
      expect(await run([dir, sessions, entry])).toBe("done");
      expect(filesIn(dir)).toEqual(former);
      expect(await run([dir, sessions, saved ?? (await savedEntry(store)) ?? ""])).toBe("done");
      expect(filesIn(dir)).toEqual(present);
      expect(userState(dir)).toEqual(kept);
      rmSync(dir, { recursive: true });
    }
    expect(cut).toBeGreaterThan(0);
  });

  // @covers R106
  it("changes no file in a snapshot, and the next one is whole", { timeout: 600_000 }, async () => {
    const commands = points.filter(([command]) => /update|commit|^write/.test(command));
    for (let round = 0; round < rounds(3, 100); round++) {
      const { dir, sessions, present, kept } = await prepared();
      const point = commands.filter(([command]) => !command.includes("info"))[round % 8];
      expect(await run([dir, sessions], point)).toBe("SIGKILL");
      expect(filesIn(dir)).toEqual(present);
      expect(await run([dir, sessions])).toBe("done");
      write(dir, { "many/0/0": "lost\n" });
      const session = await fileSessionStore({ dir: sessions }).open("s", { mode: "write" });
      const snapshots = await gitSnapshot(session, { repo: dir });
      await snapshots.restore(session.leafId ?? "");
      await session.close();
      expect(filesIn(dir)).toEqual(present);
      expect(userState(dir)).toEqual(kept);
      expect(git(dir, "fsck", "--strict").replace(/^dangling .*\n/gm, "")).toBe("");
      rmSync(dir, { recursive: true });
    }
  });

  /** The entry of the first snapshot that a restore took. */
  async function savedEntry(store: ReturnType<typeof fileSessionStore>): Promise<string | undefined> {
    await using session = await store.open("s");
    const path = await session.path();
    return path.find((entry) => snapshotEntry.read(entry)?.reason === "restore")?.id;
  }
});
