import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-demo-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

/** The demo as `npm run demo` starts it, with its temporary files where they are removed afterwards. */
function demo(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  const start = performance.now();
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", "examples/01-coding-agent.ts", ...args],
      { cwd: root, env: { ...process.env, TMPDIR: scratch, NO_COLOR: "1", FORCE_COLOR: undefined, ...env } },
      (_error, stdout, stderr) => {
        done({ code: child.exitCode, stdout, stderr, seconds: (performance.now() - start) / 1000 });
      },
    );
  });
}

/** Generous: each takes about a second where nothing else runs. */
const timeout = 60_000;

describe("npm run demo", () => {
  let run: Run;
  beforeAll(async () => {
    run = await demo([]);
  }, timeout);

  // @covers R25
  it("ends well, with every check", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).not.toContain("FAIL");
    expect(run.stdout.match(/^ok {3}/gm)).toHaveLength(21);
  });

  it("shows the killed turn with its calls, and the tip", () => {
    expect(run.stdout).toMatch(/^\w{8} assistant: <running bash .*> <pending write .*>$/m);
    expect(run.stdout).toMatch(/^\w{8} custom <- tip: sessile\.tool_started /m);
  });

  it("shows the branches of the finished session, the label, the tip, and what became of the calls", () => {
    expect(run.stdout).toMatch(/^ {2}\w{8} assistant: <error bash .*> <completed write .*>$/m);
    expect(run.stdout).toMatch(/^ {2}\w{8} assistant \[notes written\]: NOTES\.md is written\. /m);
    expect(run.stdout).toMatch(/^ {2}├─ \w{8} label: /m);
    expect(run.stdout).toMatch(/^ {2}│ {2}\w{8} branch_summary: The project in one sentence\. /m);
    expect(run.stdout).toMatch(/^ {2}│ {2}\w{8} assistant: We left this: /m);
    expect(run.stdout).toMatch(/^ {2}└─ \w{8} user: What is it, in one sentence\?$/m);
  });

  it("compacts once, and goes on from the summary", () => {
    expect(run.stdout).toMatch(/^ {2}compacted: \d{4,} -> \d{3} tokens, the model asked 1 times$/m);
    expect(run.stdout).toMatch(/^ {2}│ {2}\w{8} compaction: ## Progress - asked: Write notes/m);
    expect(run.stdout).toMatch(/^ {2}│ {2}\w{8} assistant <- tip: I look at the project first\. /m);
  });

  it("shows the context, and lists the session and its fork", () => {
    expect(run.stdout).toMatch(/^ {2}compactionSummary ## Progress - asked: Write notes on this project\. /m);
    expect(run.stdout).toMatch(/^in context {3}7 messages$/m);
    expect(run.stdout).toMatch(/^ {2}\S{36} Notes on sessile \(fork #1\): Write notes on this project\.$/m);
    expect(run.stdout).toMatch(/^ {2}\S{36} Notes on sessile: Write notes on this project\.$/m);
  });

  it("keeps the session directory alone, and its file reads", { timeout }, async () => {
    const kept = /^kept: (.+)$/m.exec(run.stdout)?.[1] as string;
    expect(readdirSync(join(kept, ".."))).toEqual(["blobs", "sessions"]);
    const file = /^file +(.+)$/m.exec(run.stdout)?.[1] as string;
    const again = await demo([file]);
    expect(again).toMatchObject({ code: 0, stderr: "" });
    const tree = (output: string) =>
      output.slice(output.indexOf("\ntree\n") + 1, output.indexOf("\ncontext\n"));
    expect(tree(`\n${again.stdout}`)).toBe(tree(run.stdout));
  });

  it("ends with an exit code of 1 when something is off", { timeout }, async () => {
    // Without bash on the path there is no command to be killed in.
    const { code, stdout } = await demo([], { PATH: scratch });
    expect(code).toBe(1);
    expect(stdout).toContain("FAIL the agent was killed");
  });
});

const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures");
const real = join(fixtures, "pi/large-session.v1.jsonl");

describe("npm run demo -- FILE", () => {
  it.skipIf(!existsSync(real))(
    "reads a real file of pi's first version and leaves it alone (skipped where SESSILE_FIXTURES has none)",
    { timeout },
    async () => {
      const before = readFileSync(real);
      const { code, stdout, stderr, seconds } = await demo([real]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^entries {6}1018$/m);
      expect(stdout).toMatch(/^in context {3}914 messages$/m);
      expect(stdout).toMatch(/^model {8}anthropic\/claude-sonnet-4-5$/m);
      expect(stdout).toMatch(/^diagnostics {2}none$/m);
      expect(stdout).toContain("818 left out");
      expect(stdout).toContain("ok   the file is unchanged");
      expect(readFileSync(real).equals(before)).toBe(true);
      // It takes half a second; the rest is for a machine that is busy with other tests.
      expect(seconds).toBeLessThan(10);
    },
  );

  it("says what is wrong with a broken file, by kind, and leaves it alone", { timeout }, async () => {
    const path = join(scratch, "broken.jsonl");
    const entry = (id: string, parentId: string | null) =>
      `{"type":"message","id":"${id}","parentId":${JSON.stringify(parentId)},"timestamp":"2026-01-01T00:00:00.000Z",` +
      `"message":{"role":"user","content":"\\u001b[31mred ${id}","timestamp":1}}`;
    const text = [
      `{"type":"session","version":3,"id":"broken","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`,
      entry("aaaaaaaa", null),
      "{oops",
      "{oops again",
      entry("bbbbbbbb", "cccccccc"),
      `{"type":"message","id":"dddd`,
    ].join("\n");
    writeFileSync(path, text);
    const { code, stdout, stderr } = await demo([path]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^entries {6}2$/m);
    expect(stdout).toMatch(/^diagnostics {2}4$/m);
    expect(stdout).toMatch(/^ {2}2 x INVALID_JSON\n {4}line 3: .+\n {4}line 4: /m);
    expect(stdout).toMatch(/^ {2}1 x ORPHAN$/m);
    expect(stdout).toMatch(/^ {2}1 x TORN_TAIL$/m);
    expect(stdout).not.toContain("\u001b");
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it.each([
    ["a path with nothing there", "absent.jsonl", () => undefined, /^there is no file /],
    ["a directory", "directory.jsonl", (path: string) => mkdirSync(path), /is a directory, not a file$/],
    ["an empty file", "empty.jsonl", (path: string) => writeFileSync(path, ""), /is empty/],
    ["no session", "other.jsonl", (path: string) => writeFileSync(path, "hello\n"), /session header/],
  ])("answers %s with one line and an exit code of 1", { timeout }, async (_what, name, make, message) => {
    const path = join(scratch, name);
    make(path);
    const { code, stdout, stderr } = await demo([path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.trimEnd()).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});
