import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { assistantMessage, memorySessionStore, type RequestPrefix, toolResult, userMessage } from "sessile";
import { type CompactionStrategy, compact, contextTokens, prompts } from "sessile/compaction";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { type Built, buildPackage } from "../support/built.js";
import { examplesOf } from "../support/doc-examples.js";
import {
  frameworkPages,
  installPackage,
  outputOf,
  outputPattern,
  programOf,
  runPage,
} from "../support/guide-page.js";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import { pages } from "./pages.js";

const guide = join(root, "docs/guide");
const index = "README.md";
const markdown = new Map(
  readdirSync(guide)
    .filter((name) => name !== index)
    .map((name) => [name, readFileSync(join(guide, name), "utf8")]),
);
const programs = new Map([...markdown].map(([name, text]) => [name, programOf(text)]));

// Inside the repository, so that programs find the official clients; git ignores it.
const space = join(root, ".guide");
let folder: string;
let built: Built;
beforeAll(async () => {
  mkdirSync(space, { recursive: true });
  folder = mkdtempSync(join(space, "run-"));
  built = await buildPackage();
  installPackage(built.dir, folder);
});
afterAll(() => {
  built[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe("docs/guide", () => {
  it("has an index that lists every page, and a world for each", () => {
    const links = [...readFileSync(join(guide, index), "utf8").matchAll(/\]\(([\w-]+\.md)\)/g)];
    const names = [...markdown.keys()].sort();
    expect(links.map(([, name]) => name).sort()).toEqual(names);
    expect(Object.keys(pages).sort()).toEqual(names);
  });

  // test/package/doc-examples.test.ts compiles them.
  it("has a program on each page", () => {
    for (const [name, code] of programs) expect(code.trim(), name).not.toBe("");
  });

  it.concurrent.each([...markdown.keys()].filter((name) => !frameworkPages.includes(name)))(
    "%s prints the text at its end",
    async (name) => {
      const own = join(folder, name);
      // Of an attempt before this one, if it is made again.
      rmSync(own, { recursive: true, force: true });
      mkdirSync(own);
      const { stdout } = await runPage(programs.get(name) ?? "", pages[name] ?? {}, own);
      const promised = outputOf(markdown.get(name) ?? "");
      expect(promised, "a text block at the end of the page").toBeDefined();
      if (!outputPattern(promised ?? "").test(stdout)) expect(stdout).toBe(promised);
    },
    120_000,
  );

  it("names every change of a request's past, and what to do instead", () => {
    const named: Record<NonNullable<RequestPrefix["change"]>["by"], true> = {
      ...{ compaction: true, edit: true, policy: true, limit: true },
      ...{ tools: true, instructions: true, model: true, other: true },
    };
    const page = markdown.get("switching-providers.md") ?? "";
    const rows = [...page.matchAll(/^\| [^|]+ \| (?:`(\w+)`|none: [^|]+) \| [^|]{10,} \|$/gm)];
    expect(new Set(rows.flatMap(([, by]) => by ?? []))).toEqual(new Set(Object.keys(named)));
    expect(rows).toHaveLength(13);
  });

  it("has an agent that appends nothing if it is stopped before the reply, and stops between two calls", async () => {
    const own = join(folder, "stopped");
    mkdirSync(own);
    const program = programs.get("durable-agent.md") ?? "";
    const stopped = `
      const session = await openSession();
      await session.appendMessage(userMessage("Read them."));
      const early = new AbortController();
      const asked = reply(session, early.signal);
      early.abort();
      await asked;
      console.log((await session.turnState()).state, (await session.tree()).size);

      const call = (id) => ({ type: "toolCall", id, name: "read_file", arguments: { path: "notes.txt" } });
      await session.appendMessage(assistantMessage({ provider: "anthropic", model }, call("first"), call("second")));
      const between = new AbortController();
      session.on("entry", () => between.abort());
      await finish(session, between.signal);
      const { state, calls } = await session.turnState();
      console.log(state, calls.map(({ call, state }) => call.id + " " + state));
      await session.close();`;
    const [functions = ""] = program.split('await say("What does');
    expect(functions).not.toBe(program);
    const { stdout } = await runPage(functions + stopped, { servers: { anthropic: startAnthropic } }, own);
    expect(stdout).toBe("awaitingReply 2\nawaitingResults [ 'second pending' ]\n");
  });

  it("has a strategy of one's own that compacts, and leaves pairs and turns whole", async () => {
    const page = markdown.get("compaction.md") ?? "";
    const own = examplesOf("compaction.md", page).find(({ code }) => code.includes("lastTurns"));
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
});
