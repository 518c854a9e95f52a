// A coding agent on Anthropic's own client. Its session survives a crash: started again, it finishes the turn.
//
//   npm run demo                               two turns in a scratch directory
//   npm run demo -- DIR "PROMPT"...            a turn for each prompt, after the newest session of DIR;
//                                              @FILE in a prompt attaches a file
//   npm run demo -- DIR --at ENTRY "PROMPT"    from an earlier entry, with a summary of the abandoned branch
//
// It asks Claude if ANTHROPIC_API_KEY is set, and a script else. ANTHROPIC_MODEL and CONTEXT_WINDOW (tokens) are optional.
// Its bash tool runs commands with the rights of the user: start it in a container, or on a copy.
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  type AssistantMessage,
  type Context,
  cacheConversation,
  messageText,
  project,
  type SessionEntry,
  type ToolCallState,
  type ToolResultMessage,
  toolCalls,
  toolResult,
  toolStarted,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { ingest, replayCurrentTurn, runViewTool, viewTool, viewToolName } from "sessile/attachments";
import { compact, contextTokens, type Generate, rollingSummary, summarizeBranch } from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { fileBlobStore, fileSessionStore, readLocalFile } from "sessile/node";
import { claudeClient, type Said, type Turn } from "./support/offline-claude.js";
import { runTool } from "./support/workspace-tools.js";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { at: { type: "string" } } });
const [given, ...prompts] = positionals;
const dir = given === undefined ? await scratchProject() : resolve(given);
if (given === undefined) prompts.push("Write notes on this project.", "What does @dot.png show?");

const model = process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5";
const window = Number(process.env.CONTEXT_WINDOW ?? 200_000);
const system = `You are a coding agent. You work in ${dir}. Be brief.`;
const tools = [
  declared("read", "Reads a text file, or shows an image.", "path"),
  declared("write", "Writes a file.", "path", "content"),
  declared("edit", "Replaces a text that a file has once.", "path", "oldText", "newText"),
  declared("bash", "Runs a command.", "command"),
  viewTool("anthropic"),
];
const client = claudeClient(script);
const target = anthropicMessages({ model });
const strategy = rollingSummary();

// DIR/.sessile/sessions has a JSON Lines file for each session, DIR/.sessile the bytes of attachments, each once.
const blobs = fileBlobStore({ dir: join(dir, ".sessile") });
const sessions = fileSessionStore({ dir: join(dir, ".sessile", "sessions"), blobs });
const latest = await sessions.latest({ cwd: dir });
await using session =
  latest === undefined ? await sessions.create({ cwd: dir }) : await sessions.open(latest, { mode: "write" });
for (const { line, message } of session.diagnostics) console.warn(`line ${line}: ${message}`);
// A printed entry is on disk: it survives a kill of this process.
session.on("entry", ({ entry }) => console.log(`  + ${lineOf(entry)}`));

if (values.at !== undefined) {
  await summarizeBranch(session, values.at, { window, generate });
} else if ((await session.turnState()).state !== "idle") {
  console.log("The last turn was interrupted. It goes on:");
  await finishTurn();
}
for (const prompt of prompts) {
  console.log(`\n> ${prompt}`);
  const paths = [...prompt.matchAll(/(?<!\S)@([\w./-]*\w)/g)].map(([, path = ""]) => resolve(dir, path));
  const files = await Promise.all(paths.map((path) => readLocalFile(path)));
  await session.appendMessage(userMessage(prompt, ...(await ingest(files, { blobs }))));
  await finishTurn();
}

console.log(`\nsession: ${session.location}
look:    npx sessile show ${session.location}
         npx sessile view ${session.location}
next:    npm run demo -- ${dir} "PROMPT"`);

/** Runs the turn to its end. The session says what comes next, so a turn that a crash interrupted needs no other code. */
async function finishTurn(): Promise<void> {
  const signal = AbortSignal.timeout(15 * 60_000);
  for (;;) {
    const turn = await session.turnState();
    if (turn.state === "awaitingReply" || turn.state === "paused") {
      await session.appendMessage(await ask(signal));
    } else if (turn.state === "awaitingResults") {
      for (const call of turn.calls) await session.appendMessage(await resultOf(call, signal));
    } else {
      return;
    }
  }
}

async function resultOf({ call, state }: ToolCallState, signal: AbortSignal): Promise<ToolResultMessage> {
  if (call.name === viewToolName) return runViewTool(session, call, { blobs, signal });
  // The process that started it died. Its effects are unknown, so it is not run again: the model decides.
  if (state === "running")
    return { ...toolResult(call, "Interrupted. Its effects are unknown."), isError: true };
  // Written before the tool runs: after a crash, a call without this entry was not started.
  await session.append([toolStarted.draft({ toolCallId: call.id })]);
  return runTool(call, { dir, blobs, signal });
}

/** Asks the model, and prints its text as it comes. */
async function ask(signal: AbortSignal): Promise<AssistantMessage> {
  // A model that binds its reasoning to the request would get attachments in each turn.
  const options = { blobs, viewTool: true, replay: replayCurrentTurn, cache: cacheConversation, signal };
  const { value } = await project(await contextWithRoom(signal), target, options);
  const stream = client.messages.stream({ model, max_tokens: 8192, system, tools, ...value }, { signal });
  stream.on("text", (text) => process.stdout.write(text));
  const reply = readAnthropicReply(await stream.finalMessage(), { model });
  if (messageText(reply) !== "") console.log();
  return reply;
}

/** Returns the context, compacted first if it is too long for the model's window. */
async function contextWithRoom(signal: AbortSignal): Promise<Context> {
  const context = await session.context();
  if (!strategy.shouldCompact(context, { window, tokens: contextTokens(context) })) return context;
  try {
    const result = await compact(session, { strategy, window, generate, signal });
    if ("tokensAfter" in result)
      console.log(`  ${result.status}: ${result.tokensBefore} -> ${result.tokensAfter} tokens`);
  } catch (error) {
    // Nothing was written. The provider decides whether it takes the long context.
    if (!SessileError.is(error, "SUMMARY_FAILED") && !SessileError.is(error, "IRREDUCIBLE")) throw error;
    console.warn(error.message);
  }
  return session.context();
}

/** Writes a summary: the model is asked for a text, outside the conversation. */
async function generate(...[{ system, text }, { signal, maxTokens }]: Parameters<Generate>) {
  const body = { model, max_tokens: maxTokens, system, messages: [{ role: "user" as const, content: text }] };
  const message = readAnthropicReply(await client.messages.create(body, { signal }), { model });
  return { text: messageText(message), usage: message.usage };
}

function declared(name: string, description: string, ...required: string[]) {
  const properties = Object.fromEntries(required.map((each) => [each, { type: "string" }]));
  return { name, description, input_schema: { type: "object" as const, properties, required } };
}

/** An entry on one line. */
function lineOf(entry: SessionEntry | UnknownEntry | undefined): string {
  if (entry === undefined) return "(a damaged entry)";
  if (entry.type === "custom") return `${entry.id} ${entry.customType}`;
  if (entry.type !== "message")
    return `${entry.id} ${entry.type}${"summary" in entry ? `: ${words(entry.summary)}` : ""}`;
  const { message } = entry;
  const calls = message.role === "assistant" ? toolCalls(message).map(({ name }) => `<${name}> `) : [];
  return `${entry.id} ${message.role}: ${calls.join("")}${words(messageText(message))}`;
}

function words(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, " ").slice(0, 70);
}

/** A project to try it on. */
async function scratchProject(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-demo-"));
  const dot =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
  await writeFile(join(dir, "README.md"), "# Tally\n\nCounts the words of a file.\n");
  await writeFile(join(dir, "tally.sh"), 'wc -w "$1"\n');
  await writeFile(join(dir, "dot.png"), Buffer.from(dot, "base64"));
  return dir;
}

/** The model without a key. */
function script({ prompt, results }: Turn): readonly Said[] {
  if (prompt.includes("<conversation>")) return ["## Progress\n- The notes are in NOTES.md."];
  if (prompt.includes("@dot.png")) return ["A single red pixel."];
  if (!prompt.includes("notes")) return ["That is not in my script. Set ANTHROPIC_API_KEY to ask Claude."];
  if (results.length === 0) {
    const calls = [
      { name: "read", input: { path: "README.md" } },
      { name: "bash", input: { command: "wc -l *.sh" } },
    ];
    return ["I look at the project first.", ...calls];
  }
  const content = "# Notes on Tally\n\nIt counts words, in one line of shell.\n";
  if (results.length === 2) return [{ name: "write", input: { path: "NOTES.md", content } }];
  return ["NOTES.md is written: Tally counts words, in one line of shell."];
}
