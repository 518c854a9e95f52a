// A session that is longer than its model's window: pruned, compacted by three strategies, and left for a branch.
//
//   npx tsx examples/05-long-session.ts [TURNS]      questions about src, 90 without a key and 9 with one
//
// It asks Claude if ANTHROPIC_API_KEY is set, and a script else. ANTHROPIC_MODEL and CONTEXT_WINDOW (tokens, 20000) are optional.
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AssistantMessage,
  type Context,
  cacheConversation,
  memoryBlobStore,
  messageText,
  project,
  userMessage,
} from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import {
  type CompactionTrigger,
  compact,
  contextGauge,
  contextTokens,
  fileLedger,
  type Generate,
  hasInitialContext,
  initialContext,
  isContextOverflow,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  summarizeBranch,
  truncateToolResult,
} from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { claudeClient, type Said, type Turn } from "./support/offline-claude.js";
import { runTool } from "./support/workspace-tools.js";

const root = join(import.meta.dirname, "..");
const files = (await readdir(join(root, "src"), { recursive: true }))
  .filter((name) => name.endsWith(".ts"))
  .sort();
const turns = Number(process.argv[2] ?? (process.env.ANTHROPIC_API_KEY ? 9 : 90));
if (!(turns > 0)) throw new RangeError("TURNS: expected a number from 1 on");
const window = Number(process.env.CONTEXT_WINDOW ?? 20_000);
const model = process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5";
const target = anthropicMessages({ model });
const client = claudeClient(script);
const path = { type: "object" as const, properties: { path: { type: "string" } }, required: ["path"] };
const instructions = "Answer in one sentence.";
const tools = [{ name: "read", description: "Reads a file of the project.", input_schema: path }];

/** Each has a third of the turns. Keep one in a real agent; the numbers are small, for the small window. */
const strategies = [
  rollingSummary({ reserveTokens: 4_000, keepRecentTokens: 4_000 }),
  pruneThenSummarize({ protectTokens: 4_000, minimumTokens: 2_000 }),
  recentUserMessages({ keepUserTokens: 1_000 }),
];
let strategy = strategies[0] as (typeof strategies)[number];
let turn = 0;

const dir = await mkdtemp(join(tmpdir(), "sessile-long-"));
await using session = await fileSessionStore({ dir, durability: "os" }).create({ cwd: root });

// A pinned entry stays word for word, and an entry that is edited out is in no context and no summary.
const [pinned] = await say("Remember: the release is called Heron.");
const [removed] = await say("The token is tok_5e55113a, for once.");
await session.append([
  { type: "context_pin", targetId: pinned?.id ?? "", pinned: true },
  { type: "context_edit", targetId: removed?.id ?? "", replacement: null },
]);

let fork: string | null = null;
for (turn = 1; turn <= turns; turn++) {
  strategy = strategies[Math.floor(((turn - 1) * strategies.length) / turns)] ?? strategy;
  await say(`What does src/${files[(turn * 37) % files.length]} do?`);
  if (turn === Math.ceil(turns / 2)) fork = session.leafId;
  if (turn % Math.ceil(turns / 20) === 0) printGauge(await session.context());
}

console.log("\nBack to the middle, with a summary of the second half:");
await summarizeBranch(session, fork, { window, generate });
await say("Where were we, and what is the release called?");

const context = await session.context();
const ledger = fileLedger(context, { cwd: root });
console.log(
  `\n${(await session.tree()).size} entries, ${(await session.leaves()).length} branches, ${context.items.length} messages in context`,
);
console.log(
  `pinned:  ${context.items.some(({ entryId }) => entryId === pinned?.id) ? "still there" : "lost"}`,
);
console.log(
  `files:   ${ledger.files.length} in the ledger, such as ${ledger.files[0]?.path} (${ledger.files[0]?.operations.join(", ")})`,
);
console.log(`session: ${session.location}`);
console.log(`look:    npx sessile stats ${session.location}`);
console.log(`         npx sessile show ${session.location} --context`);

/** One turn. Returns the entries of the user's message. */
async function say(text: string) {
  await makeRoom("pre-turn");
  // A compaction between turns drops the instructions, and the next turn tells them again.
  const initial = hasInitialContext(await session.context()) ? [] : [initialContext(instructions)];
  const message = { type: "message", message: userMessage(text) } as const;
  const entries = await session.append([...initial, message]);
  const signal = AbortSignal.timeout(10 * 60_000);
  for (;;) {
    const next = await session.turnState();
    if (next.state === "awaitingReply" || next.state === "paused") {
      await session.appendMessage(await ask());
    } else if (next.state === "awaitingResults") {
      for (const { call } of next.calls) {
        const result = await runTool(call, { dir: root, blobs: memoryBlobStore(), signal });
        await session.appendMessage(truncateToolResult(result, { maxTokens: 2_000 }));
      }
    } else {
      return entries.slice(-1);
    }
  }
}

/** Asks the model. A provider that counts more tokens than the estimate refuses: then there is one more try. */
async function ask(): Promise<AssistantMessage> {
  await makeRoom("mid-turn");
  try {
    return await send(await session.context());
  } catch (error) {
    if (!isContextOverflow(error)) throw error;
    await compactNow("overflow");
    return send(await session.context());
  }
}

async function send(context: Context): Promise<AssistantMessage> {
  const { value } = await project(context, target, { cache: cacheConversation });
  const reply = await client.messages.create({ model, max_tokens: 1_000, tools, ...value });
  return readAnthropicReply(reply, { model });
}

async function makeRoom(trigger: CompactionTrigger): Promise<void> {
  const context = await session.context();
  if (strategy.shouldCompact(context, { window, tokens: contextTokens(context) })) await compactNow(trigger);
}

/** Compacts. A failure has written nothing, and the next step tries again. */
async function compactNow(trigger: CompactionTrigger): Promise<void> {
  const started = `turn ${String(turn).padStart(3)}  ${strategy.name}, ${trigger}:`;
  try {
    const options = {
      strategy,
      window,
      trigger,
      generate,
      initialContext: { content: instructions },
    };
    const result = await compact(session, options);
    const sizes = "tokensAfter" in result ? `, ${result.tokensBefore} -> ${result.tokensAfter} tokens` : "";
    console.log(`${started} ${result.status}${sizes}`);
  } catch (error) {
    if (!SessileError.is(error, "SUMMARY_FAILED") && !SessileError.is(error, "IRREDUCIBLE")) throw error;
    console.log(`${started} ${error.code}, nothing was written`);
  }
}

/** Writes a summary: the model is asked for a text, outside the conversation. It may be a cheaper model. */
async function generate(...[{ system, text }, { signal, maxTokens }]: Parameters<Generate>) {
  const body = { model, max_tokens: maxTokens, system, messages: [{ role: "user" as const, content: text }] };
  const message = readAnthropicReply(await client.messages.create(body, { signal }), { model });
  return { text: messageText(message), usage: message.usage };
}

function printGauge(context: Context): void {
  const { tokens, fraction, level } = contextGauge(contextTokens(context), window);
  const bar = "#".repeat(Math.min(60, Math.round(fraction * 60))).padEnd(60, ".");
  console.log(`turn ${String(turn).padStart(3)}  ${bar} ${tokens} tokens, ${level}`);
}

/** The model without a key. */
function script({ prompt, results }: Turn): readonly Said[] {
  if (prompt.includes("<conversation>")) {
    const asked = new Set(prompt.match(/src\/\S+\.ts/g));
    return [
      `## Progress\nThe release is called Heron. ${asked.size} files were asked about:\n${[...asked].slice(-20).join("\n")}`,
    ];
  }
  const path = prompt.match(/What does (\S+) do/)?.[1];
  if (path === undefined)
    return [prompt.includes("Where were we") ? "At the files of src; the release is Heron." : "Noted."];
  if (results.length === 0) return [{ name: "read", input: { path } }];
  return [`${path} has ${results[0]?.match(/export /g)?.length ?? 0} exports in its first part.`];
}
