import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-composer-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The composer, with its temporary files where they are removed afterwards. */
function composer(...args: readonly string[]): Promise<Run> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      ["--import", "tsx", "examples/03-composer.ts", ...args],
      { cwd: root, env: { ...process.env, TMPDIR: scratch, NO_COLOR: "1", FORCE_COLOR: undefined } },
      (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
    );
  });
}

/** Generous: each takes about a second where nothing else runs. */
const timeout = 60_000;

describe("the composer", () => {
  let run: Run;
  beforeAll(async () => {
    run = await composer();
  }, timeout);

  // @covers R177 R179 R181 R191 R193
  it("ends well, with every check, and leaves nothing behind", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).not.toContain("FAIL");
    expect(run.stdout.match(/^ok {3}/gm)).toHaveLength(13);
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-"))).toEqual([]);
  });

  it("shows images, chips, what failed, and text, none as it is written", () => {
    expect(run.stdout).toMatch(/^ {2}pending {4}image, importing$/m);
    expect(run.stdout).toMatch(/^ {2}thumbnail {2}[0-9a-f]{8}\.png, 70 bytes$/m);
    expect(run.stdout).toMatch(/^ {2}chip {7}[0-9a-f]{8}\.txt, 9890 bytes$/m);
    expect(run.stdout).toMatch(/^ {2}broken {5}text gone\.md: missing: failed$/m);
    expect(run.stdout).toMatch(/^ {2}text {7}They wrote: <<context:image:\/etc\/passwd>>>$/m);
    expect(run.stdout).toMatch(/^ {2}broken {5}image passwd: outside$/m);
  });

  // @covers R178 R191
  it("keeps blobs in the layout of the context directory", () => {
    const path = String.raw`\S+/conversations/shop/main/context/blobs/[0-9a-f]{64}\.png`;
    expect(run.stdout).toMatch(new RegExp(`^  codex exec --image ${path} --image ${path}$`, "m"));
    expect(run.stdout).toMatch(/^ {2}\| .*<<\\context:image:\/etc\/passwd>>>$/m);
  });

  it("drops files that it is given, in their order", { timeout }, async () => {
    const [notes, image] = [join(scratch, "notes.md"), join(scratch, "shot.PNG")];
    writeFileSync(notes, "# Notes\n");
    writeFileSync(image, "not looked at");
    const { code, stdout } = await composer(image, join(scratch, "gone.md"), join(scratch, "a.exe"), notes);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^refused: a\.exe: extension\n/);
    expect(stdout).toMatch(/^ {2}thumbnail .*\n {2}broken .*\n {2}chip .*\n/m);
  });

  it("says what tokens are, where it shows any", { timeout }, async () => {
    const notes = join(scratch, "words.md");
    writeFileSync(notes, "# Words\n");
    const token = "is a token: it stands for the copy";
    expect(run.stdout).toContain(token);
    expect(run.stdout).toContain("the backslash keeps it text");
    const [taken, failed, none] = [
      await composer(notes),
      await composer(join(scratch, "gone.md")),
      await composer(scratch),
    ];
    expect([taken.code, failed.code, none.code]).toEqual([0, 0, 0]);
    expect(taken.stdout).toContain(token);
    expect(taken.stdout).not.toContain("import that failed");
    expect(failed.stdout).toContain("is a token of an import that failed");
    expect(failed.stdout).not.toContain(token);
    expect(none.stdout).toContain("knows them by the extensions of their names");
    expect(none.stdout).toContain("Nothing was taken");
    expect(none.stdout).not.toContain("codex");
  });
});
