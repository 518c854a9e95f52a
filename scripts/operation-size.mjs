import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Session as Inspector } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./entries.mjs";

/**
 * How many places an operation goes through: the named functions of src that it runs, and their files, as V8 counts calls.
 * `npm run operation-size` prints a line per operation, `-- --list append` the functions of one. It fails if an operation
 * is larger than its limit, or so much smaller that the limit holds nothing: then the limit is lowered to the count.
 */

/**
 * The most functions and files of an operation, which only fall, and what a person can hold in mind.
 *
 * @type {Readonly<Record<string, Readonly<Record<"functions" | "files", { limit: number, goal?: number }>>>>}
 */
const sizes = {
  append: { functions: { limit: 57 }, files: { limit: 20, goal: 14 } },
  "open and context": { functions: { limit: 116 }, files: { limit: 27, goal: 16 } },
  import: { functions: { limit: 248, goal: 150 }, files: { limit: 40, goal: 25 } },
  project: { functions: { limit: 153 }, files: { limit: 27 } },
  compact: { functions: { limit: 301 }, files: { limit: 46 } },
};
/** A limit may be this many times the count. */
const slack = 1.05;
/** Runs of an operation, of which the smallest counts: a timer may end in one and add functions of its own. */
const runs = 20;

const sources = pathToFileURL(`${join(root, "src")}/`).href;
/** @param {string} path */
const load = (path) => import(new URL(path, sources).href);

const inspector = new Inspector();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** @typedef {ReadonlyMap<string, ReadonlySet<string>>} Calls the functions that were called, by file */

/** @param {Calls} calls */
const functionsOf = (calls) => [...calls.values()].reduce((sum, called) => sum + called.size, 0);

/**
 * The functions that an operation calls. An earlier run loads and compiles what it needs.
 *
 * @template T
 * @param {() => Promise<T>} prepare
 * @param {(prepared: T) => Promise<unknown>} operation
 * @param {(prepared: T) => Promise<unknown>} [end]
 */
async function callsOf(prepare, operation, end = async () => undefined) {
  /** @type {Calls | undefined} */
  let smallest;
  for (let run = 0; run <= runs; run++) {
    const prepared = await prepare();
    await inspector.post("Profiler.takePreciseCoverage");
    await operation(prepared);
    const calls = await callsSince();
    await end(prepared);
    if (run === 0) continue;
    if (smallest === undefined || functionsOf(calls) < functionsOf(smallest)) smallest = calls;
  }
  return smallest ?? new Map();
}

/** The functions that were called since coverage was read. */
async function callsSince() {
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

const { fileSessionStore } = await load("node.ts");
const { memoryBlobStore, project, userMessage } = await load("index.ts");
const { openaiChat } = await load("providers/openai/index.ts");
const { compact, rollingSummary } = await load("compaction/index.ts");
const { importSession } = await load("agents/index.ts");
const { claudeCode } = await load("agents/claude-code/index.ts");

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

/** A session of Claude Code 2.1.330 with a few turns and calls, as it wrote it. */
function transcript() {
  const path = join(root, "test/agents/claude-code/files/2.1.330.json");
  /** @type {{ files: readonly { path: string, text: string }[] }} */
  const { files } = JSON.parse(readFileSync(path, "utf8"));
  return files.map(({ path: name, text }) => ({ path: name, bytes: new TextEncoder().encode(text) }));
}

/**
 * @param {number} count
 * @param {{ limit: number, goal?: number }} bounds
 * @param {string} unit
 */
function verdict(count, { limit, goal }, unit) {
  const below = limit - count;
  const aim = goal === undefined || count <= goal ? "" : `, goal ${goal}`;
  const text = `${count} ${unit} (${below < 0 ? `${-below} above` : `${below} below`} the limit${aim})`;
  if (below < 0) return { ok: false, text: `${text} TOO MANY` };
  if (limit > count * slack) return { ok: false, text: `${text} LOWER THE LIMIT to ${count}` };
  return { ok: true, text };
}

/** @param {{ close(): Promise<void> }} session */
const closed = (session) => session.close();

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
  const blobs = memoryBlobStore();
  let opened = warm;
  /** @type {Readonly<Record<string, () => Promise<Calls>>>} */
  const operations = {
    append: () =>
      callsOf(
        async () => userMessage("hello"),
        (message) => warm.appendMessage(message),
      ),
    "open and context": () =>
      callsOf(
        async () => warm.id,
        async (id) => {
          opened = await store.open(id, { mode: "write" });
          await opened.context();
        },
        () => opened.close(),
      ),
    import: () =>
      callsOf(
        async () => transcript(),
        (files) => importSession(files, { from: claudeCode, blobs }),
      ),
    project: () =>
      callsOf(
        async () => context,
        async (items) => (await project(items, openaiChat({ model: "gpt-5.6" }))).value,
      ),
    compact: () =>
      callsOf(
        longSession,
        async (session) => {
          const { status } = await compact(session, { strategy, window: 4000, generate });
          if (status !== "compacted") throw new Error(`compact gave ${status}`);
        },
        closed,
      ),
  };
  const listed = process.argv.includes("--list") ? process.argv.at(-1) : undefined;
  for (const [name, { functions, files }] of Object.entries(sizes)) {
    const calls = (await operations[name]?.()) ?? new Map();
    const results = [
      verdict(functionsOf(calls), functions, "functions"),
      verdict(calls.size, files, "files"),
    ];
    console.log(`${name}: ${results.map(({ text }) => text).join(", ")}`);
    if (results.some(({ ok }) => !ok)) process.exitCode = 1;
    if (listed !== name) continue;
    for (const [file, called] of calls) console.log(`  ${file}: ${[...called].join(", ")}`);
  }
  await warm.close();
} finally {
  rmSync(dir, { recursive: true });
}
process.exit();
