import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../examples/support/make-media.js";
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
      /^ {2}descriptor message 0: \[image screen\.png, image\/png, \d+ kB, res_\w{16}\] \(320 x 200/m,
    );
    expect(run.stdout).toMatch(/^ {2}bytes message 4: \[image screen\.png/m);
    expect(run.stdout).toMatch(/^ {2}\[endless\.bin could not be attached: FILE_TOO_LARGE\]$/m);
  });

  it("leaves nothing behind", () => {
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-attachments-"))).toEqual([]);
  });

  it("would end with an exit code of 1 where a check failed", { timeout }, async () => {
    const program =
      'import { check } from "./examples/support/check.ts"; check("all", 1, 2); check("good", 1, 1);';
    const run = await new Promise((done) => {
      const args = ["--import", "tsx", "--input-type=module", "-e", program];
      const child = execFile(process.execPath, args, { cwd: root }, (_error, stdout) =>
        done({ code: child.exitCode, lines: stdout.match(/^(?:FAIL|ok {2}) .*$/gm) }),
      );
    });
    expect(run).toEqual({ code: 1, lines: ["FAIL all", "ok   good"] });
  });

  it("takes files of any kind, and says of each what became of it", { timeout }, async () => {
    const at = (name: string) => join(scratch, name);
    writeFileSync(at("page.png"), "<html>");
    writeFileSync(at("mine.txt"), "Mine.\n");
    writeFileSync(at("empty.txt"), "");
    writeFileSync(at("linked.txt"), "Not a link.\n");
    writeFileSync(at("unknown.bin"), Uint8Array.of(0, 1, 2, 255));
    writeFileSync(at("dot.png"), makePng(1, 1));
    writeFileSync(at("mine.pdf"), makePdf());
    mkdirSync(at("folder"));
    const names = ["page.png", "mine.txt", "empty.txt", "linked.txt", "unknown.bin", "dot.png", "mine.pdf"];
    const { code, stdout, stderr } = await demo([...names, "folder", "nowhere.txt"].map(at));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).not.toContain("FAIL");
    const yours = stdout.split("Your files\n")[1]?.split("\n\n")[0]?.split("\n");
    const words = "in words, ";
    expect(yours).toEqual([
      `  page.png: ${words}[page.png could not be attached: MEDIA_TYPE_MISMATCH]`,
      "  mine.txt: attached as text/plain",
      "  empty.txt: attached as text/plain",
      "  linked.txt: attached as text/plain",
      "  unknown.bin: attached; of unknown type, so it is kept and never sent",
      "  dot.png: attached as image/png",
      "  mine.pdf: attached as application/pdf",
      `  folder: ${words}[folder could not be attached: NOT_A_FILE]`,
      `  nowhere.txt: ${words}[nowhere.txt could not be attached: FILE_REFUSED missing]`,
    ]);
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
