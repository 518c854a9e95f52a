import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePng } from "../../examples/support/make-media.js";
import { entries, root } from "../../scripts/entries.mjs";
import { examplesOf } from "../support/doc-examples.js";

const readme = readFileSync(join(root, "README.md"), "utf8");
const code = examplesOf("README.md", readme)[0]?.code ?? "";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-readme-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("README.md", () => {
  it("has a program of at most ten lines, which ends by the twentieth", () => {
    expect(code.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
    expect(readme.split("\n").indexOf("```")).toBeLessThan(20);
  });

  it("has a program that runs, and does what it says", { timeout: 60_000 }, async () => {
    const image = join(scratch, "screen.png");
    writeFileSync(image, makePng(32, 20));
    const shown = "console.log(JSON.stringify([plan, shot]));";
    const program = `${code}\n${shown}`.replaceAll(/"(\.agent|\/home\/me)\//g, `"${scratch}/`);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "--eval", program],
      { cwd: root },
    );
    const [plan, shot] = JSON.parse(stdout);
    expect(shot).toMatchObject({ mediaType: "image/png", width: 32, height: 20 });
    expect(plan.attachments).toMatchObject([{ decision: "full", reason: "currentTurn", resource: shot }]);
    const [log = ""] = readdirSync(join(scratch, "sessions"), { recursive: true, encoding: "utf8" }).filter(
      (name) => name.endsWith(".jsonl"),
    );
    expect(readFileSync(join(scratch, "sessions", log), "utf8")).toContain(shot.blob);
  });

  it("lists every subpath", () => {
    const listed = [...readme.matchAll(/^\| `(sessile[\w/-]*)`/gm)].map(([, specifier]) => specifier);
    const subpaths = entries.map(({ specifier }) => specifier).filter((specifier) => specifier !== "sessile");
    expect(listed.sort()).toEqual(subpaths.sort());
  });
});
