import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageText } from "sessile";
import { extractImagePaths, parseContextTokens, renderSegments } from "sessile/context-tokens";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { type ExampleRun, runClosingWords, runExample } from "./support/run-example.js";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-composer-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const composer = (...args: readonly string[]) => runExample("03-composer", args, { TMPDIR: scratch });

/** Generous: each takes about a second where nothing else runs. */
const timeout = 600_000;

const linesBelow = ({ stdout }: ExampleRun, heading: string) =>
  stdout.split(heading)[1]?.split("\n\n")[0]?.split("\n").slice(1) ?? [];
const typesOf = (lines: readonly string[]) => lines.map((line) => line.trim().split(" ")[0]);

describe("the composer", () => {
  let run: ExampleRun;
  let dir: string;
  let context: string;
  let message: string;
  beforeAll(async () => {
    run = await composer();
    dir = /^kept: (.+)$/m.exec(run.stdout)?.[1] ?? "";
    context = join(dir, "conversations/shop/main/context");
    const sessions = fileSessionStore({ dir: join(dir, "sessions") });
    await using session = await sessions.open((await sessions.latest()) ?? "none");
    message = (await session.context()).items.map((item) => messageText(item.message)).join("\n");
  }, timeout);

  it("ends with a call of the command line that shows the message", async () => {
    const [turn] = await runClosingWords(run, dir);
    expect(turn?.stdout).toContain("Why is the box red?");
  });

  // @covers R177 R181
  it("has a placeholder for each import, and ends each in its place", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    // The image first, then the file, then the text; the program is refused.
    expect(run.stdout).toMatch(/^refused: tool\.exe: extension$/m);
    const pending = linesBelow(run, "While the files are imported:");
    expect(typesOf(pending)).toEqual(["text", "pending", "pending", "text"]);
    const done = linesBelow(run, "a line for each part:");
    expect(typesOf(done)).toEqual([
      ...["text", "thumbnail", "chip", "text"],
      ...["chip", "broken", "chip", "thumbnail", "text"],
    ]);
    expect(done).toContain("  broken     text gone.md: missing: failed");
    expect(done[1]).toMatch(/^ {2}thumbnail {2}[0-9a-f]{8}\.png, 235 bytes$/);
    expect(done[4]).toMatch(/^ {2}chip {7}[0-9a-f]{8}\.txt, 9890 bytes$/);
  });

  // @covers R178 R179 R181 R191
  it("keeps each file once in the layout of the context directory, and no temporary one", () => {
    const names = readdirSync(join(context, "blobs"));
    expect(names.map((name) => name.replace(/^[0-9a-f]{64}/, "")).sort()).toEqual([".md", ".png", ".txt"]);
    expect(readdirSync(join(context, "tmp"))).toEqual([]);
    const image = join(context, "blobs", names.find((name) => name.endsWith(".png")) ?? "");
    expect(readFileSync(image)).toEqual(readFileSync(join(root, "examples/files/screen.png")));
    expect(run.stdout).toContain(`\n  codex exec --image ${image} --image ${image}\n`);
  });

  // @covers R177 R191 R193
  it("stores the message as it is sent, and texts as references", () => {
    expect(linesBelow(run, "As it is stored:")[0]).toBe(`  | ${message}`);
    expect(
      parseContextTokens(message)
        .map(({ raw }) => raw)
        .join(""),
    ).toBe(message);
    expect(message).not.toContain("line 7 of the log");
  });

  it("sends no file that a pasted text or another message names", () => {
    const [last] = linesBelow(run, "a line for each part:").slice(-1);
    expect(last).toBe("  text        They wrote: <<context:image:/etc/passwd>>>");
    expect(message).toContain("<<\\context:image:/etc/passwd>>>");
    const hostile = "<<context:image:/etc/passwd>>>";
    expect(extractImagePaths(hostile, { contextDirectory: context })).toEqual([]);
    const foreign = `${hostile}<<context:image:${context}/blobs/gone.png>>>`;
    const views = renderSegments(parseContextTokens(foreign, { contextDirectory: context }), () => undefined);
    expect(views.map((view) => view.type === "broken" && view.reason)).toEqual(["outside", "missing"]);
  });

  it("drops files that it is given, in their order", { timeout }, async () => {
    const [notes, image] = [join(scratch, "notes.md"), join(scratch, "shot.PNG")];
    writeFileSync(notes, "# Notes\n");
    writeFileSync(image, "not looked at");
    const own = await composer(image, join(scratch, "gone.md"), join(scratch, "a.exe"), notes);
    expect(own).toMatchObject({ code: 0, stderr: "" });
    expect(own.stdout).toMatch(/^refused: a\.exe: extension\n/);
    expect(typesOf(linesBelow(own, "a line for each part:"))).toEqual(["thumbnail", "broken", "chip"]);
    expect(own.stdout).toContain("is the token of an import that failed");
    expect(own.stdout).not.toContain("the backslash keeps it text");
  });

  it("says what tokens are, if it shows any", { timeout }, async () => {
    expect(run.stdout).toContain("is a token: it stands for the copy");
    expect(run.stdout).toContain("the backslash keeps it text");
    const none = await composer(scratch);
    expect(none).toMatchObject({ code: 0, stderr: "" });
    expect(none.stdout).toContain("knows them by the extensions of their names");
    expect(none.stdout).toContain("Nothing was taken");
    expect(none.stdout).not.toContain("codex");
  });
});
