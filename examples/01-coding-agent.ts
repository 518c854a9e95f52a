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
  cacheConversation,
  messageText,
  type SessionEntry,
  toolCalls,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { ingest, replayCurrentTurn } from "sessile/attachments";
import { rollingSummary, summarizeBranch } from "sessile/compaction";
import { fileBlobStore, fileSessionStore, readLocalFile } from "sessile/node";
import { anthropicModel, generateBy, runTurn, type TurnOptions } from "sessile/turn";
import { claudeClient, type Said, type Turn } from "./support/offline-claude.js";
import { workspaceTools } from "./support/workspace-tools.js";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { at: { type: "string" } } });
const [given, ...prompts] = positionals;
const dir = given === undefined ? await scratchProject() : resolve(given);
if (given === undefined) prompts.push("Write notes on this project.", "What does @dot.png show?");

const window = Number(process.env.CONTEXT_WINDOW ?? 200_000);
const model = anthropicModel(claudeClient(script), {
  model: process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5",
});

// DIR/.sessile/sessions has a JSON Lines file for each session, DIR/.sessile the bytes of attachments, each once.
const blobs = fileBlobStore({ dir: join(dir, ".sessile") });
const sessions = fileSessionStore({ dir: join(dir, ".sessile", "sessions"), blobs });
const latest = await sessions.latest({ cwd: dir });
await using session =
  latest === undefined ? await sessions.create({ cwd: dir }) : await sessions.open(latest, { mode: "write" });
for (const { line, message } of session.diagnostics) console.warn(`line ${line}: ${message}`);
// A printed entry is on disk: it survives a kill of this process.
session.on("entry", ({ entry }) => console.log(`  + ${lineOf(entry)}`));

const options: TurnOptions = {
  model,
  blobs,
  instructions: `You are a coding agent. You work in ${dir}. Be brief.`,
  tools: workspaceTools(dir),
  // A model that binds its reasoning to the request would get attachments in each turn.
  project: { replay: replayCurrentTurn, cache: cacheConversation },
  compaction: { strategy: rollingSummary(), window },
  onDelta: (delta) => void (delta.type === "text" && process.stdout.write(delta.text)),
  onEvent: ({ type, phase, attributes }) => {
    if (type === "gen_ai.client.inference" && phase === "end") console.log();
    const { "turn.compaction.tokens_before": before, "turn.compaction.tokens_after": after } = attributes;
    if (after !== undefined) console.log(`  compacted: ${before} -> ${after} tokens`);
  },
};

if (values.at !== undefined)
  await summarizeBranch(session, values.at, { window, generate: generateBy(model) });
// A turn that the last process left goes on.
else await runTurn(session, { ...options, signal: AbortSignal.timeout(15 * 60_000) });
for (const prompt of prompts) {
  console.log(`\n> ${prompt}`);
  const paths = [...prompt.matchAll(/(?<!\S)@([\w./-]*\w)/g)].map(([, path = ""]) => resolve(dir, path));
  const files = await Promise.all(paths.map((path) => readLocalFile(path)));
  const message = userMessage(prompt, ...(await ingest(files, { blobs })));
  await runTurn(session, { ...options, message, signal: AbortSignal.timeout(15 * 60_000) });
}

console.log(`\nsession: ${session.location}
look:    npx sessile show ${session.location}
         npx sessile view ${session.location}
next:    npm run demo -- ${dir} "PROMPT"`);

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
