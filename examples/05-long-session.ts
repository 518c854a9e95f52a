// A session of 400 turns over this repository's own files that never outgrows its model: pruned, compacted by three
// strategies, killed in the middle of a compaction, its model for summaries failing in every way there is.
//
//   npx tsx examples/05-long-session.ts
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileBlobStore } from "sessile/blobs/node";
import {
  contextGauge,
  fileLedger,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  summarizeBranch,
} from "sessile/compaction";
import type { Context, ContextItem } from "sessile/content";
import type { Session, SessionStore } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";
import { attemptLines, attemptMark } from "./support/attempt-lines.js";
import { type ChartPoint, chartLines } from "./support/chart.js";
import { check } from "./support/check.js";
import { checkAttempts, checkFiles } from "./support/check-long-session.js";
import { CompactingAgent } from "./support/compacting-agent.js";
import { dieWhileCompacting, killCompactions, type Moment } from "./support/dying-compaction.js";
import { filesOnDisk } from "./support/files-on-disk.js";
import { messageText } from "./support/message-text.js";
import { copyProject } from "./support/project-copy.js";
import { ScriptedModel } from "./support/scripted-model.js";
import { type Fault, ScriptedSummarizer } from "./support/scripted-summarizer.js";
import { ScriptedWork } from "./support/scripted-work.js";
import { terminalWidth } from "./support/terminal.js";
import { codingTools } from "./support/tools.js";

const program = fileURLToPath(import.meta.url);
const window = 128_000;
const instructions = "You work on a copy of this repository. Say in one sentence what you did.";
const secret = "tok_5e55113a77ac4";
/** Strategies, and the turn with which each ends. Pruning has opencode's own numbers, which are made for a larger window. */
const acts = [
  { strategy: rollingSummary(), until: 130 },
  { strategy: pruneThenSummarize({ protectTokens: 40_000, minimumTokens: 20_000 }), until: 230 },
  { strategy: recentUserMessages(), until: 330 },
  { strategy: rollingSummary(), until: 400 },
];
/** What goes wrong in the first compaction, in the second, and so on. After three times in a row there is no summary. */
const faults: readonly (readonly Fault[])[] = [
  [],
  ["error", "empty"],
  ["overflow"],
  ["error", "error", "error"],
  ["longer"],
  Array(12).fill("longer"),
];
/** The turn before the one in which the agent's own model refuses. */
const refusedAfter = 30;
const branch = { from: 250, to: 256 };
/** A review begins with so much room left: too little for it, and enough that most of it comes before that shows. */
const reviewRoom = 38_000;

const [mode, place = "", id = "", moment = ""] = process.argv.slice(2);
if (mode === "--compact" && moment !== "") {
  const session = await storeIn(place).open(id, { mode: "write" });
  await dieWhileCompacting(session, window, moment as Moment);
} else if (mode !== undefined) {
  console.error(`this takes no arguments, and got ${mode}`);
  process.exitCode = 1;
} else {
  const dir = await mkdtemp(join(tmpdir(), "sessile-long-"));
  await tellStory(dir).finally(() => rm(dir, { recursive: true, force: true }));
}

function storeIn(dir: string): SessionStore {
  return fileSessionStore({ dir: join(dir, "sessions"), durability: "os" });
}

async function tellStory(dir: string): Promise<void> {
  const workspace = join(dir, "workspace");
  await copyProject(workspace);
  const before = await filesOnDisk(workspace);
  const session = await storeIn(dir).create({ cwd: workspace });
  const summarizer = new ScriptedSummarizer(faults);
  const model = new ScriptedModel(window, instructions);
  const blobs = fileBlobStore({ dir: join(dir, "blobs"), durability: "os" });
  const [strategy, tools] = [rollingSummary(), codingTools(workspace, blobs)];
  const agent = new CompactingAgent({ session, strategy, model, summarizer, tools, instructions, window });
  const work = new ScriptedWork(5, before.keys());
  const points: ChartPoint[] = [];
  agent.onStep = (attempt) => {
    const { tokens } = agent.gauge;
    points.push({ tokens, limit: tokens + agent.room, ...(attempt && { mark: attemptMark(attempt) }) });
  };

  await agent.run(work.say("remember: the release is called Heron."));
  const pinned = await agent.run(work.say("remember: LICENSE is never touched."));
  const said = itemOf(await session.context(), pinned);
  const told = await agent.run(work.say(`the token is ${secret}, use it once.`));
  await session.append([
    { type: "context_pin", targetId: pinned, pinned: true },
    { type: "context_edit", targetId: told, replacement: null },
  ]);
  let tip = "";
  let killed = false;
  for (const { strategy, until } of acts) {
    agent.strategy = strategy;
    let reviewed = false;
    while (agent.turn < until) {
      const review: boolean = !reviewed && agent.room < reviewRoom;
      reviewed ||= review;
      model.refuses = agent.turn === refusedAfter;
      await agent.run(review ? work.review() : work.next());
      if (!killed && agent.turn > 40 && agent.gauge.tokens > window / 2) {
        killed = true;
        agent.session = await killCompactions(agent.session, storeIn(dir), [program, "--compact", dir]);
        await agent.compact("manual");
      }
      if (agent.turn === branch.from) tip = agent.session.leafId ?? "";
      if (agent.turn === branch.to) await leaveBranch(agent, tip, summarizer);
    }
  }

  printChart(points);
  console.log(`\nAttempts to compact, in a window of ${window} tokens`);
  for (const line of attemptLines(agent.attempts)) console.log(`  ${line}`);
  console.log(`  ${model.repeated} times the model made its calls again, whose results it had not seen yet`);
  console.log(`  ${agent.cutOutputs} outputs of tools were cut before they were recorded`);
  checkAttempts(agent.attempts);
  check("outputs of tools were cut", agent.cutOutputs > 0);
  check("everything went wrong that can", summarizer.failed.size, 4);

  console.log("\nWhat is left");
  await agent.session.close();
  await using reopened = await storeIn(dir).open(session.id);
  const context = await reopened.context();
  const known = context.items.map(({ message }) => messageText(message)).join("\n");
  check("nothing is wrong with the file", await reopened.diagnose(), []);
  check("what is pinned is in context as it was said", itemOf(context, pinned)?.message, said?.message);
  check("what was to be remembered is known", known.includes("called Heron"));
  check("what was taken out is in no summary", (await summariesOf(reopened)).includes(secret), false);
  const wasShown = (words: string) => summarizer.prompts.some((text) => text.includes(words));
  check(
    "nor was it shown for one, nor the instructions",
    [wasShown(secret), wasShown(instructions)],
    [false, false],
  );
  await checkFiles(fileLedger(context, { cwd: workspace }), workspace, before);
}

/** Goes back to a tip, with a summary of what was said since. */
async function leaveBranch(
  agent: CompactingAgent,
  to: string,
  summarizer: ScriptedSummarizer,
): Promise<void> {
  const { session } = agent;
  await summarizeBranch(session, to, { generate: summarizer.generate, window });
  const last = (await session.context()).items.at(-1);
  check("a branch is left", last?.origin, "branchSummary");
  check("with a summary", last !== undefined && messageText(last.message).includes(`Turn ${branch.to}:`));
}

function printChart(points: readonly ChartPoint[]): void {
  console.log(
    "\nTokens in context over 400 turns (-: the strategy's limit, C: compacted, p: pruned, x: failed)",
  );
  const width = Math.max(20, Math.min(terminalWidth(), 120) - 10);
  for (const line of chartLines(points, { width, height: 16 })) console.log(line);
  const levels = new Map<string, number>();
  for (const { tokens } of points) {
    const { level } = contextGauge(tokens, window);
    levels.set(level, (levels.get(level) ?? 0) + 1);
  }
  console.log(`gauge: ${[...levels].map(([level, turns]) => `${level} ${turns} times`).join(", ")}`);
}

async function summariesOf(session: Session): Promise<string> {
  const ids = [...session.tree.walk()].map(({ node }) => node.id);
  const entries = await Promise.all(ids.map((id) => session.entry(id)));
  return JSON.stringify(entries.filter((entry) => entry !== undefined && "summary" in entry));
}

function itemOf({ items }: Context, id: string): ContextItem | undefined {
  return items.find(({ entryId }) => entryId === id);
}
