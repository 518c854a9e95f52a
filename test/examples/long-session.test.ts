import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-long-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The example, with its temporary files where they are removed afterwards. */
function longSession(env: NodeJS.ProcessEnv = {}): Promise<Run> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", "examples/05-long-session.ts"],
      { cwd: root, env: { ...process.env, TMPDIR: scratch, NO_COLOR: "1", FORCE_COLOR: undefined, ...env } },
      (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** Generous: it takes about ten seconds where nothing else runs. */
const timeout = 120_000;

describe("the long session", () => {
  let run: Run;
  beforeAll(async () => {
    run = await longSession();
  }, timeout);

  it("ends well, with every check, and leaves nothing behind", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).not.toMatch(/^FAIL/m);
    expect(run.stdout.match(/^ok {3}/gm)).toHaveLength(24);
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-"))).toEqual([]);
  });

  it("draws the context's size, with marks where it was compacted, pruned and not", () => {
    expect(run.stdout.match(/^ {2,4}\d*k? *\|[ #-]+$/gm)?.length).toBeGreaterThanOrEqual(15);
    const [, marks = ""] = run.stdout.split(/^ {6}\+-+$/m);
    expect(marks.match(/^ *[Cpx][Cpx ]*$/gm)?.map((line) => [...new Set(line.replaceAll(" ", ""))])).toEqual([
      ["C"],
      ["x"],
      ["p"],
    ]);
  });

  it("lists the attempts, failures among them", () => {
    expect(run.stdout).toMatch(/^ {2}turn \d+ +rolling-summary +overflow +compacted +\d+ -> \d+ tokens, /m);
    expect(run.stdout).toMatch(/^ {2}turn \d+ +rolling-summary +manual +compacted +\d+ -> \d+ tokens, /m);
    expect(run.stdout).toMatch(/^ {2}turn \d+ +prune-then-summarize +\S+ +pruned +\d+ -> \d+ tokens$/m);
    expect(run.stdout).toMatch(
      /^ {2}turn \d+ +recent-user-messages +mid-turn +compacted +\d+ -> \d+ tokens/m,
    );
    expect(run.stdout.match(/^ {2}turn \d+ +\S+ +\S+ +[A-Z_]+ +nothing was written$/gm)).toHaveLength(2);
  });

  it("shows the head of the ledger", () => {
    expect(run.stdout).toMatch(/^The ledger: 400 files\n(?: {2}\S+ \((?:[a-z]+, )*[a-z]+\)\n){6}$/m);
  });
});
