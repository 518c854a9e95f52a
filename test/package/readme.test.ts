import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type CompactionStrategy, compact, contextTokens, prompts } from "sessile/compaction";
import { assistantMessage, toolResult, userMessage } from "sessile/content";
import { memorySessionStore } from "sessile/session";
import ts from "typescript";
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

  // @covers R7
  it("has a program that runs, and does what it says", { timeout: 60_000 }, async () => {
    const image = join(scratch, "a.png");
    writeFileSync(image, makePng(32, 20));
    const shown = "console.log(JSON.stringify([request.value, request.attachments]));";
    const program = `${code}\n${shown}`.replaceAll(/"(\.agent|\/tmp)\//g, `"${scratch}/`);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", "tsx", "--input-type=module", "--eval", program],
      { cwd: root },
    );
    const [value, attachments] = JSON.parse(stdout);
    expect(attachments).toMatchObject([{ sent: "bytes", reason: "currentTurn" }]);
    const data = readFileSync(image).toString("base64");
    expect(value.messages[0].content.at(-1)).toEqual({
      type: "image",
      source: { type: "base64", media_type: "image/png", data },
    });
    const [log = ""] = readdirSync(join(scratch, "sessions"), { recursive: true, encoding: "utf8" }).filter(
      (name) => name.endsWith(".jsonl"),
    );
    const kept = readFileSync(join(scratch, "sessions", log), "utf8");
    expect([kept.includes(attachments[0].resourceId), kept.includes(data)]).toEqual([true, false]);
  });

  it("has a strategy of one's own that compacts, and leaves pairs and turns whole", async () => {
    const own = examplesOf("README.md", readme).find((example) => example.code.includes("lastTurns"));
    const source = ts.transpile(own?.code ?? "", { target: ts.ScriptTarget.ES2023 });
    const body = source.replace(/^import .*$/m, "").replace("export function", "return function");
    const lastTurns: (turns: number) => CompactionStrategy = new Function("prompts", body)(prompts);
    const session = await memorySessionStore().create({ cwd: "/work" });
    const maker = { provider: "p", model: "m" };
    for (const turn of [1, 2, 3]) {
      const call = { type: "toolCall", id: `c${turn}`, name: "look", arguments: {} } as const;
      await session.appendMessage(userMessage(`${turn}. ${"question ".repeat(250)}`));
      await session.appendMessage(assistantMessage(maker, call));
      await session.appendMessage(toolResult(call, `${turn}. ${"finding ".repeat(250)}`));
    }
    const window = 2_000;
    const strategy = lastTurns(2);
    const generate = async () => ({ text: "What was found." });
    const isFull = async () => {
      const context = await session.context();
      return strategy.shouldCompact(context, { window, tokens: contextTokens(context) });
    };
    expect(await isFull()).toBe(true);
    await compact(session, { strategy, window, generate });
    expect(await isFull()).toBe(false);
    expect((await session.context()).items.map(({ message }) => message.role)).toEqual([
      "compactionSummary",
      ...["user", "assistant", "toolResult"],
      ...["user", "assistant", "toolResult"],
    ]);
    await session.appendMessage(userMessage("question ".repeat(1000)));
    expect(await isFull()).toBe(true);
    await compact(session, { strategy, window, generate });
    expect(await isFull()).toBe(false);
  });

  it("lists every subpath", () => {
    const listed = [...readme.matchAll(/^\| `(sessile[\w/-]*)`/gm)].map(([, specifier]) => specifier);
    const subpaths = entries.map(({ specifier }) => specifier).filter((specifier) => specifier !== "sessile");
    expect(listed.sort()).toEqual(subpaths.sort());
  });
});
