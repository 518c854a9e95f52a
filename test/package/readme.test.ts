import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { examplesOf } from "../support/doc-examples.js";

const readme = readFileSync(join(root, "README.md"), "utf8");
const code = examplesOf("README.md", readme)[0]?.code ?? "";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-readme-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("README.md", () => {
  it("has at most 10 KB", () => {
    expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(10_000);
  });

  it("says how to install it, and has a program of at most ten lines, which ends by the twentieth", () => {
    expect(readme).toContain("\n```sh\nnpm install sessile && npm pkg set type=module\n```\n");
    expect(code.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
    const lines = readme.split("\n");
    expect(lines.indexOf("```", lines.indexOf("```ts"))).toBeLessThan(20);
  });

  // @covers R7
  it("has a program that runs, and does what it says", async () => {
    const shown = "console.log(JSON.stringify([request.value, request.attachments]));";
    const program = `${code}\n${shown}`.replaceAll(/"\.sessile"/g, JSON.stringify(scratch));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "--eval", program],
      { cwd: root },
    );
    const [value, attachments] = JSON.parse(stdout);
    expect(attachments).toMatchObject([{ sent: "bytes", reason: "currentTurn" }]);
    // The working directory's own package.json: every project has one.
    const data = readFileSync(join(root, "package.json"), "utf8");
    expect(value.messages[0].content.at(-1)).toEqual({
      type: "document",
      source: { type: "text", media_type: "text/plain", data },
      title: "package.json",
    });
    const [log = ""] = readdirSync(join(scratch, "sessions"), { recursive: true, encoding: "utf8" }).filter(
      (name) => name.endsWith(".jsonl"),
    );
    const kept = readFileSync(join(scratch, "sessions", log), "utf8");
    expect([kept.includes(attachments[0].resourceId), kept.includes('"devDependencies')]).toEqual([
      true,
      false,
    ]);
  });
});

describe("npm run demo", () => {
  it.each([
    [["package.json", "What is this?"], "package.json is not a directory"],
    [["none"], "none is not a directory"],
    [["--at", "0a1b2c3d"], "--at needs a directory before it"],
    [[".", "--model", "m"], "Unknown option '--model'"],
  ])("says what it wants for the arguments %j", (args, problem) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/demo.mjs", ...args], {
      cwd: root,
      encoding: "utf8",
    });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`npm run demo: ${problem}`);
    expect(stderr).toContain('\n  npm run demo -- DIR "PROMPT"');
    expect(stderr).not.toMatch(/^ {4}at /m);
  });
});
