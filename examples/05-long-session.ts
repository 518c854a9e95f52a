// A session that is longer than its model's window: pruned, compacted by three strategies, and left for a branch.
//
//   npx tsx examples/05-long-session.ts [TURNS]      questions about src, 90 without a key and 9 with one
//
// It asks Claude if ANTHROPIC_API_KEY is set, and a script else. ANTHROPIC_MODEL and CONTEXT_WINDOW (tokens, 20000) are optional.
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Context, cacheConversation, userMessage } from "sessile";
import {
  contextGauge,
  contextTokens,
  fileLedger,
  hasInitialContext,
  initialContext,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  summarizeBranch,
  truncateToolResult,
} from "sessile/compaction";
import { fileSessionStore } from "sessile/node";
import { anthropicModel, generateBy, runTurn } from "sessile/turn";
import { claudeClient, type Said, type Turn } from "./support/offline-claude.js";
import { workspaceTools } from "./support/workspace-tools.js";

const root = join(import.meta.dirname, "..");
const files = (await readdir(join(root, "src"), { recursive: true }))
  .filter((name) => name.endsWith(".ts"))
  .sort();
const turns = Number(process.argv[2] ?? (process.env.ANTHROPIC_API_KEY ? 9 : 90));
if (!(turns > 0)) throw new RangeError("TURNS: expected a number from 1 on");
const window = Number(process.env.CONTEXT_WINDOW ?? 20_000);
const model = anthropicModel(claudeClient(script), {
  model: process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5",
  maxTokens: 1_000,
});
const generate = generateBy(model);
const instructions = "Answer in one sentence.";
const tools = workspaceTools(root).filter(({ name }) => name === "read");

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
const pinned = await say("Remember: the release is called Heron.");
const removed = await say("The token is tok_5e55113a, for once.");
await session.append([
  { type: "context_pin", targetId: pinned.id, pinned: true },
  { type: "context_edit", targetId: removed.id, replacement: null },
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
  `pinned:  ${context.items.some(({ entryId }) => entryId === pinned.id) ? "still there" : "lost"}`,
);
console.log(
  `files:   ${ledger.files.length} in the ledger, such as ${ledger.files[0]?.path} (${ledger.files[0]?.operations.join(", ")})`,
);
console.log(`session: ${session.location}`);
console.log(`look:    npx sessile stats ${session.location}`);
console.log(`         npx sessile show ${session.location} --context`);

/** One turn. Returns the entry of the user's message. */
async function say(text: string) {
  // A compaction between turns drops the instructions, and the next turn tells them again.
  if (!hasInitialContext(await session.context())) await session.append([initialContext(instructions)]);
  const entry = await session.appendMessage(userMessage(text));
  await runTurn(session, {
    model,
    tools,
    runCall: async (_call, run) => truncateToolResult(await run(), { maxTokens: 2_000 }),
    project: { cache: cacheConversation },
    compaction: { strategy, window, generate, initialContext: { content: instructions } },
    onEvent: ({ type, phase, attributes, error }) => {
      if (type !== "turn.compaction" || phase !== "end") return;
      const started = `turn ${String(turn).padStart(3)}  ${strategy.name}, ${attributes["turn.compaction.trigger"]}:`;
      const [before, after] = ["before", "after"].map((name) => attributes[`turn.compaction.tokens_${name}`]);
      const sizes = after === undefined ? "" : `, ${before} -> ${after} tokens`;
      if (error === undefined) console.log(`${started} ${attributes["turn.compaction.status"]}${sizes}`);
      else console.log(`${started} ${attributes["error.type"]}, nothing was written`);
    },
    signal: AbortSignal.timeout(10 * 60_000),
  });
  return entry;
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
