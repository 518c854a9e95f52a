import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageText } from "sessile";
import { openSessionFile } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { git } from "./apps/git-snapshots/working-tree.js";
import { type ExampleRun, runClosingWords, runExample } from "./support/run-example.js";

const canRun = spawnSync("git", ["--version"]).status === 0 || process.env.CI !== undefined;

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-snapshots-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const timeout = 600_000;

describe.runIf(canRun)("an agent that breaks the build (skipped without git)", () => {
  let run: ExampleRun;
  let dir: string;
  let file: string;
  let tree: string;
  beforeAll(async () => {
    run = await runExample("06-snapshots", [], { TMPDIR: scratch });
    dir = /^git log: git -C (\S+) /m.exec(run.stdout)?.[1] ?? "";
    file = /^session: (.+)$/m.exec(run.stdout)?.[1] ?? "";
  }, timeout);

  // @covers R106
  it("is taken back two turns, files and conversation", async () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    const builds = [...run.stdout.matchAll(/the build (.+)$/gm)].map(([, how]) => how);
    const [good, after] = ['prints "hello\\n"', 'prints "hello, world\\n"'];
    expect(builds).toEqual([good, "fails", "fails", good, after]);
    await using session = await openSessionFile(file);
    const { items } = await session.context();
    const questions = items.flatMap(({ message }) => (message.role === "user" ? [messageText(message)] : []));
    expect(questions).toEqual([
      "Write a script that builds greeting.txt.",
      "Now make it greet the whole world.",
    ]);
    expect(existsSync(join(dir, "build2.sh"))).toBe(false);
    expect(readFileSync(join(dir, "README.md"), "utf8")).toContain("Not committed yet.");
    expect(git(dir, "status", "--porcelain")).toBe(
      "?? .gitignore\n?? README.md\n?? build.sh\n?? greeting.txt\n",
    );
  });

  it("has snapshots in the tree that the command line shows, and both branches", async () => {
    const [shown] = await runClosingWords(run, dir);
    tree = shown?.stdout ?? "";
    expect(tree.match(/ \w{8} \S+: \{.*"reason":"turn".*$/gm)).toHaveLength(4);
    expect(tree).toMatch(/"reason":"restore".*\n +\w{8} revert: \w{8}\n/);
    expect(tree).toMatch(/^ {4}\w{8} user: Now make it greet the whole world\.$/m);
    expect(tree).toMatch(/^\* {3}\w{8} assistant: It greets the world\.$/m);
  });

  it("goes back to the other branch by its entry, in a later process", { timeout }, async () => {
    const left = /^ +(\w{8}) revert: /m.exec(tree)?.[1] ?? "";
    writeFileSync(join(dir, "by-hand.txt"), "x");
    const back = await runExample("06-snapshots", [dir, "--back", left], { TMPDIR: scratch });
    expect(back).toMatchObject({ code: 0, stderr: "" });
    expect(back.stdout).toContain("; the build fails\n");
    expect(existsSync(join(dir, "build2.sh"))).toBe(true);
    expect(existsSync(join(dir, "by-hand.txt"))).toBe(false);
    const log = execFileSync("git", ["-C", dir, "log", "--name-only", "--all"], { encoding: "utf8" });
    expect(log).toContain("by-hand.txt");
  });
});
