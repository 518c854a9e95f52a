import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseSession, userMessage } from "sessile";
import { openSessionFile } from "sessile/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { runsSources } from "../examples/support/programs.js";

const hasGit = spawnSync("git", ["--version"]).status === 0;
const canRun = hasGit || process.env.CI !== undefined;

/** The set-up of the guide's page, with the program from its sources. */
const setUp = /```sh\n([\s\S]*?)```/
  .exec(readFileSync(join(root, "docs/guide/sync.md"), "utf8"))?.[1]
  ?.replace("npx sessile", () => {
    const words = [process.execPath, ...runsSources, join(root, "src/cli/main.ts")];
    return words.map((word) => `'${word}'`).join(" ");
  });

const header = (id: string) =>
  `{"type":"session","version":3,"id":"${id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n`;

let dir = "";
let path = "";
const git = (...args: string[]) => {
  const person = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...person, ...args], { cwd: dir, encoding: "utf8", stdio: "pipe" });
};
const append = async (text: string) => {
  const session = await openSessionFile(path, { mode: "write", durability: "os" });
  const { id } = await session.appendMessage(userMessage(text));
  await session.close();
  git("commit", "--all", "--message", text);
  return id;
};

describe.runIf(canRun)("a merge driver for git (skipped without git)", () => {
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "sessile-git-"));
    path = join(dir, "session.jsonl");
    git("init", "--initial-branch", "main");
    expect(setUp).toContain("main.ts' merge %A %B");
    execFileSync("sh", ["-c", setUp ?? ""], { cwd: dir });
    writeFileSync(path, header("s"));
    git("add", ".");
    await append("first");
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  // @covers durability:merges
  test("merges branches that both appended, to the same file on either side", async () => {
    const fork = (await openSessionFile(path)).leafId as string;
    git("branch", "theirs");
    await append("ours 1");
    const ours = await append("ours 2");
    git("switch", "theirs");
    const theirs = await append("theirs");
    git("merge", "main");
    const merged = readFileSync(path, "utf8");
    const session = await openSessionFile(path, { mode: "write" });
    expect(session.diagnostics).toEqual([]);
    expect((await session.tree()).children(fork).map(({ type }) => type)).toEqual(["message", "message"]);
    const tree = await session.tree();
    expect([ours, theirs].every((id) => tree.has(id))).toBe(true);
    expect(session.leafId).toBe(theirs);
    await session.appendMessage(userMessage("next"));
    await session.close();
    git("restore", "session.jsonl");
    git("switch", "main");
    git("merge", "theirs~1", "--no-ff");
    expect(readFileSync(path, "utf8")).toBe(merged);
    git("merge", "theirs");
    expect(readFileSync(path, "utf8")).toBe(merged);
  });

  test("keeps an edit of one branch, and leaves two edits of an entry to the person", async () => {
    const edit = (from: string, to: string) => {
      writeFileSync(path, readFileSync(path, "utf8").replace(from, to));
      git("commit", "--all", "--message", to);
    };
    git("branch", "theirs");
    edit('"first"', '"[redacted]"');
    git("switch", "theirs");
    await append("theirs");
    git("merge", "main");
    const merged = readFileSync(path, "utf8");
    expect([merged.includes("[redacted]"), merged.includes('"first"')]).toEqual([true, false]);
    edit("[redacted]", "[gone]");
    git("switch", "main");
    edit("[redacted]", "[removed]");
    expect(() => git("merge", "theirs")).toThrow();
    expect(git("status", "--short")).toMatch(/^UU session\.jsonl$/m);
    const left = readFileSync(path, "utf8");
    expect(left).toMatch(/\[gone\]|\[removed\]/);
    expect(left).toContain('"theirs"');
    expect(left).not.toMatch(/^[<=>]{7}/m);
  });

  test("leaves another session to the person, without a conflict marker", async () => {
    git("branch", "theirs");
    await append("ours");
    git("switch", "theirs");
    writeFileSync(path, readFileSync(path, "utf8").replace('"id":"s"', '"id":"t"'));
    git("commit", "--all", "--message", "another session");
    const theirs = readFileSync(path, "utf8");
    expect(() => git("merge", "main")).toThrow(/SESSION_MISMATCH|CONFLICT/);
    expect(readFileSync(path, "utf8")).toBe(theirs);
    expect(parseSession(git("show", ":3:session.jsonl")).entries).toHaveLength(2);
  });
});
