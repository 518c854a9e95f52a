import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-attachments-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function demo(files: readonly string[]): Promise<Run> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", "examples/02-attachments.ts", ...files],
      { cwd: root, env: { ...process.env, TMPDIR: scratch, NO_COLOR: "1", FORCE_COLOR: undefined } },
      (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** Generous: each takes about a second where nothing else runs. */
const timeout = 60_000;
const media = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures", "media");

describe("the attachments example", () => {
  let run: Run;
  beforeAll(async () => {
    run = await demo([]);
  }, timeout);

  it("ends well, with every check", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).not.toContain("FAIL");
    expect(run.stdout.match(/^ok {3}/gm)).toHaveLength(32);
  });

  it("shows what a request says of each attachment", () => {
    expect(run.stdout).toMatch(
      /^ {2}describe message 0: \[image screen\.png, image\/png, \d+ kB, res_\w{16}\] \(320 x 200/m,
    );
    expect(run.stdout).toMatch(/^ {2}full message 4: \[image screen\.png/m);
    expect(run.stdout).toMatch(/^ {2}\[endless\.bin could not be attached: FILE_TOO_LARGE\]$/m);
  });

  it("leaves nothing behind", () => {
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-attachments-"))).toEqual([]);
  });

  it("ends with an exit code of 1 when something is off", { timeout }, async () => {
    const page = join(scratch, "page.png");
    writeFileSync(page, "<html>");
    const { code, stdout } = await demo([page]);
    expect(code).toBe(1);
    expect(stdout).toContain("FAIL what cannot be attached is said in words");
  });

  const absent = (() => {
    try {
      return readdirSync(media).length === 0;
    } catch {
      return true;
    }
  })();
  it.skipIf(absent)("takes real files (skipped where SESSILE_FIXTURES has none)", { timeout }, async () => {
    const { code, stdout } = await demo(readdirSync(media).map((name) => join(media, name)));
    expect(stdout).not.toContain("FAIL");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}\[file paper\.pdf, application\/pdf, 23 kB, /m);
  });
});
