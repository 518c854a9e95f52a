import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-providers-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Keys of the one who runs the tests are not for them. */
const noKeys = { ANTHROPIC_API_KEY: undefined, OPENAI_API_KEY: undefined, GEMINI_API_KEY: undefined };

/** The example, with its temporary files where they are removed afterwards. */
function providers(...args: readonly string[]): Promise<Run> {
  const env = { ...process.env, ...noKeys, TMPDIR: scratch, NO_COLOR: "1", FORCE_COLOR: undefined };
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", "examples/04-providers.ts", ...args],
      { cwd: root, env },
      (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** Generous: each takes about two seconds where nothing else runs. */
const timeout = 60_000;
const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures");
const real = join(fixtures, "pi/large-session.v1.jsonl");

describe("one session for every provider", () => {
  let run: Run;
  beforeAll(async () => {
    run = await providers();
  }, timeout);

  it("ends well, with every check, and leaves nothing behind", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).not.toContain("FAIL");
    expect(run.stdout.match(/^ok {3}/gm)).toHaveLength(17);
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-"))).toEqual([]);
  });

  it("prints a line for each target, with its losses", () => {
    const lines = run.stdout.match(/^ {2}[a-zA-Z]+ +\d+ +\d+ +\d+ {2}.*$/gm) ?? [];
    expect(lines.map((line) => line.trim().split(" ")[0])).toEqual([
      "anthropicMessages",
      "openaiChat",
      "openaiResponses",
      "geminiContents",
      "bedrockConverse",
      "aiSdkMessages",
      "mcpContent",
      "acpPrompt",
      "claudeAgentMessages",
      "codexExec",
    ]);
    expect(lines[0]).toContain("overLimit");
    expect(lines[1]).toContain("moved");
  });

  it("says what a refusal is about, and goes on without it", () => {
    expect(run.stdout).toMatch(/^ {2}messages\.2\.content\.0: .*: \w{8}, block 1, res_\w{16}$/m);
    expect(run.stdout).toContain("ok   the next request goes without it");
  });

  it("answers a path with nothing there with one line and an exit code of 1", { timeout }, async () => {
    const { code, stdout, stderr } = await providers(join(scratch, "absent.jsonl"));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.trimEnd()).toMatch(/^there is no file .*$/);
  });

  it.skipIf(!existsSync(real))(
    "projects a real session of pi's to all of them, and leaves it alone (skipped where SESSILE_FIXTURES has none)",
    { timeout },
    async () => {
      const { code, stdout, stderr } = await providers(real);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(/^ {2}anthropicMessages +\d{6,} /m);
      expect(stdout).toContain("ok   the file is unchanged");
    },
  );
});
