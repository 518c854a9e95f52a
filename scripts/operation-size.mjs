import { mkdtempSync, rmSync } from "node:fs";
import { Session as Inspector } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./entries.mjs";

/**
 * How many places an operation goes through: the named functions of src that it runs, and their files, as V8 counts calls.
 * `npm run operation-size` prints a line per operation, `-- --list append` the functions of one.
 */

const sources = pathToFileURL(`${join(root, "src")}/`).href;
/** @param {string} path */
const load = (path) => import(new URL(path, sources).href);

const inspector = new Inspector();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/**
 * The functions that an operation calls, by file. The second run counts: nothing is loaded or compiled in it.
 *
 * @template T
 * @param {() => Promise<T>} prepare
 * @param {(prepared: T) => Promise<unknown>} operation
 */
async function callsOf(prepare, operation) {
  await operation(await prepare());
  const prepared = await prepare();
  await inspector.post("Profiler.takePreciseCoverage");
  await operation(prepared);
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  /** @type {Map<string, Set<string>>} */
  const files = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith(sources)) continue;
    const file = url.slice(sources.length).replace(/\?.*/, "");
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges;
      if (whole === undefined || whole.count === 0 || !/^[\w# .]+$/.test(functionName)) continue;
      if (functionName === "__name") continue; // tsx adds it
      const called = files.get(file) ?? new Set();
      files.set(file, called.add(`${functionName} (${whole.startOffset})`));
    }
  }
  return files;
}

const { fileSessionStore } = await load("session/node/index.ts");
const { userMessage } = await load("content/index.ts");
const { project } = await load("projections/index.ts");
const { openaiChat } = await load("projections/openai/index.ts");
const { compact, rollingSummary } = await load("compaction/index.ts");

const dir = mkdtempSync(join(tmpdir(), "sessile-size-"));
const store = fileSessionStore({ dir });
const usage = { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20 };
/** @param {unknown[]} content */
const assistantMessage = (content) => ({
  ...{
    role: "assistant",
    content,
    timestamp: 1,
    provider: "openai",
    model: "gpt-5.6",
    api: "openai-completions",
  },
  ...{ usage, stopReason: "stop" },
});

const generate = async () => ({
  text: "## Goal\nRead the reader.",
  model: { provider: "openai", modelId: "gpt-5.6" },
});

/** Six messages: two of a person, a call with its result, two answers. */
async function sixMessages() {
  const session = await store.create({ cwd: "/project" });
  await session.appendMessage(userMessage("Where is the reader?"));
  const call = { type: "toolCall", id: "call_1", name: "read", arguments: { path: "src/reader.ts" } };
  await session.appendMessage(assistantMessage([{ type: "text", text: "I look." }, call]));
  await session.appendMessage({
    ...{ role: "toolResult", toolCallId: "call_1", toolName: "read", isError: false, timestamp: 1 },
    content: [{ type: "text", text: "export class Reader {}" }],
  });
  await session.appendMessage(assistantMessage([{ type: "text", text: "In src/reader.ts." }]));
  await session.appendMessage(userMessage("Thanks. What does it export?"));
  await session.appendMessage(assistantMessage([{ type: "text", text: "A class." }]));
  return session;
}

try {
  const warm = await sixMessages();
  const context = await warm.context();
  const longSession = async () => {
    const session = await sixMessages();
    await session.appendMessage(userMessage("a long text ".repeat(2000)));
    await session.appendMessage(assistantMessage([{ type: "text", text: "Read." }]));
    return session;
  };
  const strategy = rollingSummary({ keepRecentTokens: 100 });
  const calls = {
    append: await callsOf(
      async () => warm,
      (session) => session.appendMessage(userMessage("hello")),
    ),
    project: await callsOf(
      async () => context,
      async (items) => (await project(items, openaiChat({ model: "gpt-5.6" }))).value,
    ),
    compact: await callsOf(longSession, async (session) => {
      const { status } = await compact(session, { strategy, window: 4000, generate });
      if (status !== "compacted") throw new Error(`compact gave ${status}`);
    }),
  };
  const listed = process.argv[process.argv.indexOf("--list") + 1];
  for (const [name, files] of Object.entries(calls)) {
    const functions = [...files.values()].reduce((sum, called) => sum + called.size, 0);
    console.log(`${name}: ${functions} functions in ${files.size} files`);
    if (!process.argv.includes("--list") || listed !== name) continue;
    for (const [file, called] of files) console.log(`  ${file}: ${[...called].join(", ")}`);
  }
  await warm.close();
} finally {
  rmSync(dir, { recursive: true });
}
process.exit(0);
