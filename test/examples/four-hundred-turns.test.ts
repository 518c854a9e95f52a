import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Context, memoryBlobStore, messageText, type Session } from "sessile";
import {
  fileLedger,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  staleFiles,
  summarizeBranch,
} from "sessile/compaction";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileTools } from "../../examples/apps/support/tools.js";
import { workspaceTools } from "../../examples/support/workspace-tools.js";
import { type Attempt, CompactingAgent } from "./support/compacting-agent.js";
import { killCompactions, longSessions, type Outcomes } from "./support/dying-compaction.js";
import {
  changesBetween,
  changesInLedger,
  copyProject,
  type Files,
  fileHash,
  filesOnDisk,
} from "./support/files-on-disk.js";
import { ScriptedModel } from "./support/scripted-model.js";
import { type Fault, ScriptedSummarizer } from "./support/scripted-summarizer.js";
import { ScriptedWork } from "./support/scripted-work.js";

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

/** Works for 400 turns: pruned, compacted by three strategies, killed in a compaction, and left by its models. */
async function work(dir: string) {
  const workspace = join(dir, "workspace");
  await copyProject(workspace);
  const before = await filesOnDisk(workspace);
  const session = await longSessions(dir).create({ cwd: workspace });
  const summarizer = new ScriptedSummarizer(faults);
  const model = new ScriptedModel(window, instructions);
  const blobs = memoryBlobStore();
  const bash = workspaceTools(workspace).filter(({ name }) => name === "bash");
  const tools = [...fileTools(workspace), ...bash];
  const strategy = rollingSummary();
  const agent = new CompactingAgent({
    session,
    strategy,
    model,
    summarizer,
    tools,
    blobs,
    instructions,
    window,
  });
  const tasks = new ScriptedWork(5, before.keys());

  await agent.run(tasks.say("remember: the release is called Heron."));
  const pinned = await agent.run(tasks.say("remember: LICENSE is never touched."));
  const said = messageOf(await session.context(), pinned);
  const told = await agent.run(tasks.say(`the token is ${secret}, use it once.`));
  await session.append([
    { type: "context_pin", targetId: pinned, pinned: true },
    { type: "context_edit", targetId: told, replacement: null },
  ]);
  let leaf = "";
  let killed: Outcomes | undefined;
  let left: { readonly origin?: string; readonly text: string } = { text: "" };
  for (const { strategy, until } of acts) {
    agent.strategy = strategy;
    let reviewed = false;
    while (agent.turn < until) {
      const review: boolean = !reviewed && agent.room < reviewRoom;
      reviewed ||= review;
      model.refuses = agent.turn === refusedAfter;
      await agent.run(review ? tasks.review() : tasks.next());
      if (killed === undefined && agent.turn > 40 && agent.gauge.tokens > window / 2) {
        killed = await killCompactions(agent.session, dir, window);
        agent.session = await longSessions(dir).open(session.id, { mode: "write" });
        await agent.compact("manual");
      }
      if (agent.turn === branch.from) leaf = agent.session.leafId ?? "";
      if (agent.turn === branch.to) {
        await summarizeBranch(agent.session, leaf, { generate: summarizer.generate, window });
        const last = (await agent.session.context()).items.at(-1);
        left = { origin: last?.origin ?? "none", text: last === undefined ? "" : messageText(last.message) };
      }
    }
  }
  await agent.session.close();
  return { agent, summarizer, killed, left, pinned, said, workspace, before, id: session.id };
}

function messageOf({ items }: Context, id: string) {
  return items.find(({ entryId }) => entryId === id)?.message;
}

/** It takes about ten seconds where nothing else runs. */
const timeout = 600_000;

describe("a session of 400 turns in a window of 128,000 tokens", () => {
  let dir: string;
  let done: Awaited<ReturnType<typeof work>>;
  let reopened: Session;
  let context: Context;
  let attempts: readonly Attempt[];
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "sessile-long-"));
    done = await work(dir);
    attempts = done.agent.attempts;
    reopened = await longSessions(dir).open(done.id);
    context = await reopened.context();
  }, timeout);
  afterAll(async () => {
    await reopened.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const results = () => attempts.flatMap(({ outcome }) => (typeof outcome === "string" ? [] : [outcome]));
  const compacted = () => results().filter((result) => result.status === "compacted");

  it("never outgrows its model, which saw each turn in whole", () => {
    // The model throws for a context that is too long, a call without its result, and instructions that are missing.
    expect(done.agent.turn).toBe(400);
    expect(done.agent.cutOutputs).toBeGreaterThan(0);
  });

  it("is pruned, and compacted by each strategy, in the middle of a turn too", () => {
    expect(results().map(({ status }) => status)).toContain("pruned");
    expect(compacted().length).toBeGreaterThanOrEqual(4);
    expect(new Set(compacted().map(({ entry }) => entry.strategy)).size).toBe(3);
    expect(compacted().some(({ entry }) => entry.summary.includes("## Turn in Progress"))).toBe(true);
    const told = compacted()
      .flatMap(({ entries }) => entries)
      .filter(({ type }) => type === "custom_message");
    expect(told.length).toBeGreaterThan(0);
    const triggers = attempts.map(({ trigger }) => trigger);
    expect(triggers).toEqual(expect.arrayContaining(["overflow", "manual", "mid-turn"]));
    expect(attempts.filter(({ trigger }) => trigger === "overflow")).toHaveLength(1);
  });

  it("writes nothing before there is a summary, whatever goes wrong", () => {
    expect(done.summarizer.failed).toEqual(new Set(["error", "empty", "overflow", "longer"]));
    const errors = attempts.flatMap(({ outcome }) => (typeof outcome === "string" ? [outcome] : []));
    // How often depends on the words of the tools.
    expect(new Set(errors)).toEqual(new Set(["SUMMARY_FAILED", "IRREDUCIBLE"]));
    expect(Math.max(...attempts.map(({ tooEarly }) => tooEarly))).toBe(0);
  });

  it("has all or nothing of a compaction whose process was killed", () => {
    const [before, after] = ["SIGKILL, as before", "SIGKILL, compacted"];
    expect(done.killed?.asked).toBe(before);
    expect([before, after]).toContain(done.killed?.appending);
    expect(done.killed?.appended).toBe(after);
  });

  it("leaves a branch with a summary of what was said there", () => {
    expect(done.left.origin).toBe("branchSummary");
    expect(done.left.text).toContain(`Turn ${branch.to}:`);
  });

  it("keeps what was pinned as it was said, knows what was to be remembered, and no summary has what was taken out", async () => {
    expect(await reopened.diagnose()).toEqual([]);
    expect(messageOf(context, done.pinned)).toEqual(done.said);
    const known = context.items.map(({ message }) => messageText(message)).join("\n");
    expect(known).toContain("called Heron");
    const entries = await Promise.all(
      [...(await reopened.tree()).walk()].map(({ node }) => reopened.entry(node.id)),
    );
    const summaries = entries.filter((entry) => entry !== undefined && "summary" in entry);
    expect(JSON.stringify(summaries)).not.toContain(secret);
    const prompts = done.summarizer.prompts.join("\n");
    expect(prompts).not.toContain(secret);
    expect(prompts).not.toContain(instructions);
  });

  it("has a ledger of the files that says what happened on disk", async () => {
    const { workspace, before } = done;
    const ledger = fileLedger(context, { cwd: workspace });
    const after: Files = await filesOnDisk(workspace);
    expect(changesInLedger(ledger, before)).toEqual(changesBetween(before, after));
    const there = ledger.files.filter(({ gone }) => !gone);
    expect(there.length).toBeGreaterThan(100);
    expect(there.map(({ path, contentSha256 }) => [path, contentSha256])).toEqual(
      there.map(({ path }) => [path, after.get(path) ?? "not there"]),
    );
    const probe = (path: string) => fileHash(resolve(workspace, path));
    expect(await staleFiles(ledger, probe)).toEqual([]);
    const path = there[0]?.path ?? "";
    appendFileSync(resolve(workspace, path), "// Behind the agent's back.\n");
    const stale = (await staleFiles(ledger, probe)).map(({ record, reason }) => [record.path, reason]);
    expect(stale).toEqual([[path, "changed"]]);
  });
});
