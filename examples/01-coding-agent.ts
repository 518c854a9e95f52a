// A coding agent whose session survives what happens to its process. Its model is behind Anthropic's own client, which speaks
// to a provider on this machine that follows a script.
//
//   npm run demo                  the story: a kill in the middle of a turn, then branches, a summary, a label, an
//                                 attachment, a compaction, a fork
//   npm run demo -- FILE.jsonl    reads any session file, pi's included, and changes nothing
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type Anthropic from "@anthropic-ai/sdk";
import { ingest } from "sessile/attachments";
import { readLocalFile } from "sessile/attachments/node";
import { fileBlobStore } from "sessile/blobs/node";
import { type CompactionResult, compact, contextTokens, rollingSummary } from "sessile/compaction";
import {
  type Context,
  contextOf,
  type MessagePart,
  type ToolResultMessage,
  toolCalls,
  userMessage,
} from "sessile/content";
import { SessileError } from "sessile/errors";
import {
  type EntryDraft,
  type Session,
  type ToolCallState,
  toolStarted,
  turnSettings,
} from "sessile/session";
import { fileSessionStore, openSessionFile } from "sessile/session/node";
import { check } from "./support/check.js";
import { fingerprint } from "./support/fingerprint.js";
import type { LocalClaude } from "./support/local-claude.js";
import { makePng } from "./support/make-media.js";
import { messageText } from "./support/message-text.js";
import type { Model } from "./support/model.js";
import { printSession } from "./support/print-session.js";
import { treeLines } from "./support/print-tree.js";
import { copyProject, type ProjectFacts, projectFacts } from "./support/project-copy.js";
import { terminalWidth } from "./support/terminal.js";
import { codingTools, failedResult, runTool, type Tools, toolDeclarations } from "./support/tools.js";

const program = fileURLToPath(import.meta.url);
const maxRounds = 10;
const maxTurnMs = 30_000;
const modelName = "claude-opus-5-5";
const strategy = rollingSummary({ reserveTokens: 4_000, keepRecentTokens: 100 });

const [argument, scratch] = process.argv.slice(2);
if (argument === undefined) await tellStory();
else if (argument === "--agent" && scratch !== undefined) await runAgent(scratch);
else await readSessionFile(argument);

// The agent: a loop around a model, with everything it knows in the session.

interface Agent {
  readonly session: Session;
  readonly model: Model;
  readonly tools: Tools;
  /** What the model takes, in tokens. By default 200 000. */
  readonly window?: number;
  readonly onCompacted?: (result: CompactionResult) => void;
  /** Told of an entry once it is sure to last. */
  readonly onKept?: (entryId: string) => void;
}

interface Answer {
  readonly entryId: string;
  readonly text: string;
}

/** One turn: what the user says, then the model and its tools, until the model calls none. */
async function ask(agent: Agent, ...parts: readonly MessagePart[]): Promise<Answer> {
  await keep(agent, [{ type: "message", message: userMessage(...parts) }]);
  return finishTurn(agent);
}

/**
 * Goes on with a turn from what the session holds, whether it has just begun or was left by a process that died. What to
 * do next is asked of the session each time, so that resuming needs no code of its own.
 */
async function finishTurn(agent: Agent): Promise<Answer> {
  const { session, model } = agent;
  const signal = AbortSignal.timeout(maxTurnMs);
  for (let round = 0; round < maxRounds; round++) {
    const calls = await session.toolStates();
    const results: EntryDraft[] = [];
    for (const call of calls.filter(({ resultEntryId }) => resultEntryId === undefined)) {
      results.push({ type: "message", message: await resultOf(agent, call, signal) });
    }
    if (results.length > 0) await keep(agent, results);

    const message = await model.generate(await contextWithRoom(agent, signal), { signal });
    const entryId = await keep(agent, [{ type: "message", message }]);
    if (toolCalls(message).length > 0) continue;
    return { entryId, text: messageText(message) };
  }
  throw new Error(`the model still calls tools after ${maxRounds} rounds`);
}

/** The context, compacted first where it has outgrown the model's window. The model itself writes the summary. */
async function contextWithRoom(agent: Agent, signal: AbortSignal): Promise<Context> {
  const { session, model, window = 200_000, onCompacted } = agent;
  const context = await session.context();
  if (!strategy.shouldCompact(context, { window, tokens: contextTokens(context) })) return context;
  const result = await compact(session, {
    strategy,
    window,
    signal,
    async generate({ system, text }) {
      const asked = contextOf([{ role: "system", content: system, timestamp: 0 }, userMessage(text)]);
      const message = await model.generate(asked, { signal });
      return { text: messageText(message), ...(message.usage && { usage: message.usage }) };
    },
  });
  onCompacted?.(result);
  return session.context();
}

/** Runs a call that has no result yet. */
async function resultOf(
  agent: Agent,
  { call, state }: ToolCallState,
  signal: AbortSignal,
): Promise<ToolResultMessage> {
  // A process that died had begun it. Nobody knows what it did, so the model is told, and it is not run again.
  if (state === "running")
    return failedResult(call, "Interrupted: it was begun, and how far it came is unknown.");
  // Said before the tool runs: after a crash, a call without this entry was surely not begun.
  await keep(agent, [toolStarted.draft({ toolCallId: call.id })]);
  return runTool(agent.tools, call, { signal });
}

/** Appends, and only then says so. Gives the id of the last entry. */
async function keep({ session, onKept }: Agent, drafts: readonly EntryDraft[]): Promise<string> {
  const ids = (await session.append(drafts)).map((entry) => entry.id);
  for (const id of ids) onKept?.(id);
  return ids.at(-1) ?? "";
}

// The story, and what has to be true of it.

async function tellStory(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-demo-"));
  const { workspace, sessions, blobs } = placesIn(dir);
  console.log(`everything is in ${dir}`);
  await copyProject(workspace);

  console.log("\nAn agent works, and is killed while its command runs");
  const { signal, sessionId, acknowledged } = await killMidTurn(dir);
  check("the agent was killed", signal, "SIGKILL");
  await using session = await sessions.open(sessionId, { mode: "write" });
  const entries = await Promise.all(acknowledged.map((id) => session.entry(id)));
  const kept = entries.flatMap((entry) => entry?.id ?? []);
  check("it had acknowledged entries", acknowledged.length > 5);
  check("none of them was lost", kept, acknowledged);
  const open = (await session.toolStates()).filter(({ resultEntryId }) => resultEntryId === undefined);
  const states = open.map(({ call, state }) => `${call.name} ${state}`);
  check("one call was running, the next not begun", states, ["bash running", "write pending"]);
  console.log((await treeLines(session, { width: terminalWidth() })).join("\n"));

  console.log("\nThis process finishes the turn");
  await using claude = await startClaude(dir);
  const agent = { session, model: claude.model, tools: codingTools(workspace, blobs) };
  const notes = await finishTurn(agent);
  const facts = await projectFacts(workspace);
  const read = (path: string) => readFile(join(workspace, path), "utf8");
  check("the interrupted command was not run again", await read("audit.log"), "begun\n");
  check("the notes on disk are right", await read("NOTES.md"), notesOf(facts));
  await session.append([{ type: "label", targetId: notes.entryId, label: "notes written" }]);
  await session.updateInfo({ name: `Notes on ${facts.name}` });

  console.log("\nBranches");
  const copy = await ask(agent, "Put a copy of the notes under docs/.");
  check("the copy is on disk", await read("docs/NOTES.md"), notesOf(facts));
  session.branch(notes.entryId);
  const sentence = await ask(agent, "What is it, in one sentence?");
  check("it is answered from the first turn", sentence.text, `${facts.name}: ${facts.description}`);
  const inContext = (await session.context()).items.map(({ entryId }) => entryId);
  check("the other branch is not in context", inContext.includes(copy.entryId), false);
  await session.branchWithSummary(copy.entryId, `The project in one sentence. ${sentence.text}`);

  console.log("\nAn attachment");
  const screen = makePng(320, 200);
  await writeFile(join(dir, "screen.png"), screen);
  const shot = await ingest(await readLocalFile(join(dir, "screen.png")), { blobs });
  const seen = await ask(agent, "What is attached?", shot);
  check("the model is told of it", seen.text, `An image of 320 x 200 pixels: ${shot.resourceId}.`);
  const sent = () => imagesIn(claude.requests.at(-1)).map((data) => Buffer.from(data, "base64").length);
  check("its bytes go out in this turn", sent(), [shot.size]);
  const left = await ask(agent, "What did we do on the other branch?");
  check("and are described in the next", sent(), []);
  check("the summary of the abandoned branch is in context", left.text.endsWith(sentence.text));
  const log = await readFile(session.location ?? "", "latin1");
  const inline = log.includes(Buffer.from(screen).toString("base64"));
  check("the log names them, and has none", [log.includes(shot.blob), inline], [true, false]);

  console.log("\nA smaller window");
  let compaction: CompactionResult | undefined;
  const onCompacted = (result: CompactionResult) => {
    compaction = result;
  };
  const done = await ask({ ...agent, window: 10_000, onCompacted }, "What did we do so far?");
  if (compaction?.status !== "compacted") throw new Error("there was room");
  const { tokensBefore, tokensAfter, calls, entry } = compaction;
  console.log(`  compacted: ${tokensBefore} -> ${tokensAfter} tokens, the model asked ${calls} times`);
  check("the files are in the summary", entry.summary.includes("NOTES.md\ndocs/NOTES.md\n</modified-files>"));
  const told = [notes, copy, sentence].filter(({ text }) => entry.summary.includes(text));
  check("and what the model said, on the other branch too", told.length, 3);
  check(
    "it tells from the summary",
    [notes, copy].every(({ text }) => done.text.includes(text)),
  );

  console.log("\nA fork, and a list");
  await using fork = await sessions.fork(session.id, { upTo: notes.entryId });
  const [forked, original] = [await fork.context(), await session.context(notes.entryId)];
  check("the fork has the messages up to the notes", forked.items, original.items);
  for await (const { id, name, firstMessage } of sessions.list({ cwd: workspace })) {
    console.log(`  ${id} ${name ?? "(no name)"}: ${firstMessage}`);
  }

  console.log("\nAs it is read again");
  await using reopened = await sessions.open(sessionId);
  check("the tip is the last answer", reopened.leafId, done.entryId);
  check("the label is there", reopened.tree.label(notes.entryId), "notes written");
  check("nothing is wrong with the file", await reopened.diagnose(), []);
  await printSession(reopened);

  for (const made of [workspace, join(dir, "screen.png")]) await rm(made, { recursive: true });
  console.log(`\nkept: ${join(dir, "sessions")}\nread it: npm run demo -- ${reopened.location}`);
}

/** The process that is going to be killed: it says of each entry that it is kept, and the session must keep that promise. */
async function runAgent(dir: string): Promise<void> {
  const { workspace, sessions, blobs } = placesIn(dir);
  await using session = await sessions.create({ cwd: workspace });
  console.log(session.id);
  const tools = codingTools(workspace, blobs);
  // Not worth a file yet: it is written with the first message.
  session.stage([
    { type: "model_change", provider: "anthropic", modelId: modelName },
    turnSettings.draft({ tools: [...tools.keys()] }),
  ]);
  await using claude = await startClaude(dir);
  const onKept = (id: string) => console.log(id);
  const agent = { session, model: claude.model, tools, onKept };
  await ask(agent, "Write notes on this project.");
}

async function killMidTurn(dir: string) {
  const args = [...process.execArgv, program, "--agent", dir];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = once(child, "close");
  // The first effect of the slow command shows that it has begun.
  const begun = join(placesIn(dir).workspace, "audit.log");
  while (child.exitCode === null && child.signalCode === null && !existsSync(begun)) await setTimeout(10);
  child.kill("SIGKILL");
  const [, signal] = await ended;
  const [sessionId = "", ...acknowledged] = said.split("\n").slice(0, -1);
  return { signal, sessionId, acknowledged };
}

function placesIn(dir: string) {
  const blobs = fileBlobStore({ dir: join(dir, "blobs") });
  return {
    workspace: join(dir, "workspace"),
    sessions: fileSessionStore({ dir: join(dir, "sessions"), blobs }),
    blobs,
  };
}

/** Loaded where a model is needed: to read a session file, none is. */
async function startClaude(dir: string): Promise<LocalClaude> {
  const { startLocalClaude } = await import("./support/local-claude.js");
  return startLocalClaude({ model: modelName, blobs: placesIn(dir).blobs, tools: toolDeclarations });
}

/** The base64 of each image that a request sends. */
function imagesIn(request: Anthropic.MessageCreateParams | undefined): readonly string[] {
  const blocks = (request?.messages ?? []).flatMap(({ content }) =>
    typeof content === "string" ? [] : content,
  );
  return blocks.flatMap((block) =>
    block.type === "image" && block.source.type === "base64" ? [block.source.data] : [],
  );
}

function notesOf({ name, readmeLines, withSessileError, sourceLines }: ProjectFacts): string {
  const lines = [
    `# Notes on ${name}`,
    `README: ${readmeLines} lines`,
    `Files with SessileError: ${withSessileError}`,
    `Lines of source: ${sourceLines}`,
  ];
  return `${lines.join("\n")}\n`;
}

// Reading any session file.

async function readSessionFile(path: string): Promise<void> {
  // Whoever reads what is printed may have enough of it, as head has.
  process.stdout.on("error", () => process.exit());
  try {
    const before = await fingerprint(path);
    await using session = await openSessionFile(path);
    await printSession(session, { maxEntries: 200, maxMessages: 20 });
    check("the file is unchanged", await fingerprint(path), before);
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
