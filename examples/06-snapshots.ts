// An agent breaks the build, and the person goes back two turns: files and conversation together.
//
//   npx tsx examples/06-snapshots.ts                        five turns in a scratch repository
//   npx tsx examples/06-snapshots.ts DIR "PROMPT"...        a turn for each prompt, in a git repository
//   npx tsx examples/06-snapshots.ts DIR --back ENTRY "PROMPT"...   from an earlier entry, with its files
//
// Git keeps the files: a snapshot before each turn that changes some, on a ref of its own. apps/git-snapshots has the code.
// It asks Claude if ANTHROPIC_API_KEY is set, and a script else. Its bash tool runs commands with the rights of the user.
import { execFileSync } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { messageText, project, toolStarted, userMessage } from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { gitSnapshot } from "./apps/git-snapshots/git-snapshot.js";
import { claudeClient, type Said, type Turn } from "./support/offline-claude.js";
import { runTool } from "./support/workspace-tools.js";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { back: { type: "string" } } });
const [given, ...prompts] = positionals;
const dir = given === undefined ? await scratchRepository() : resolve(given);
const model = process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5";
const system = `You are a coding agent. You work in ${dir}. Be brief.`;
const tools = [
  declared("read", "Reads a text file.", "path"),
  declared("write", "Writes a file.", "path", "content"),
  declared("edit", "Replaces a text that a file has once.", "path", "oldText", "newText"),
  declared("bash", "Runs a command.", "command"),
];
const client = claudeClient(script);
const target = anthropicMessages({ model });

const blobs = fileBlobStore({ dir: join(dir, ".sessile") });
const sessions = fileSessionStore({ dir: join(dir, ".sessile", "sessions"), blobs });
const latest = given === undefined ? undefined : await sessions.latest({ cwd: dir });
await using session =
  latest === undefined ? await sessions.create({ cwd: dir }) : await sessions.open(latest, { mode: "write" });
// A restore never touches the stores of sessions and blobs.
const snapshots = await gitSnapshot(session, { repo: dir, exclude: [".sessile"] });

if (values.back !== undefined) await goBack(values.back);
for (const prompt of prompts) await turn(prompt);
if (given === undefined) {
  await turn("Write a script that builds greeting.txt.");
  const broken = await turn("Make the script shorter.");
  await turn("The build fails. Repair it.");
  // Two turns back: to the entry before the question of the second turn.
  await goBack((await session.tree()).node(broken)?.parentId ?? null);
  await turn("Now make it greet the whole world.");
}
// Restore a snapshot or a revert by its id in the tree, and those files are back, also of the other branch.
console.log(`\nsession: ${session.location}
look:    npx sessile show ${session.location} --tree
git log: git -C ${dir} log --stat ${snapshots.ref}`);

/** One turn. Returns the id of its question. */
async function turn(prompt: string): Promise<string> {
  console.log(`\n> ${prompt}`);
  const signal = AbortSignal.timeout(15 * 60_000);
  const question = await session.appendMessage(userMessage(prompt));
  for (;;) {
    const next = await session.turnState();
    if (next.state === "awaitingReply" || next.state === "paused") {
      const { value } = await project(await session.context(), target, { blobs, signal });
      const reply = await client.messages.create({ model, max_tokens: 8192, system, tools, ...value });
      const { message } = await session.appendMessage(readAnthropicReply(reply, { model }));
      if (messageText(message) !== "") console.log(`  ${messageText(message)}`);
    } else if (next.state === "awaitingResults") {
      for (const { call } of next.calls) {
        // Before the call is recorded as started: after a crash here it has not run.
        const snapshot = await snapshots.before(call);
        if (snapshot !== undefined) console.log(`  (snapshot ${snapshot.commit.slice(0, 7)})`);
        for (const { path, reason } of snapshot?.leftOut ?? []) console.log(`  (without ${path}: ${reason})`);
        await session.append([toolStarted.draft({ toolCallId: call.id })]);
        await session.appendMessage(await runTool(call, dir, { session, signal }));
      }
    } else {
      const changed = await snapshots.changedFiles(question.id, session.leafId ?? "");
      console.log(`  changed: ${changed.join(", ") || "no file"}; the build ${build()}`);
      return question.id;
    }
  }
}

/** Goes back to an entry: first the files, whose present state is saved, then the conversation. */
async function goBack(entryId: string | null): Promise<void> {
  // The first entry of the session has the files before the first turn too.
  const restored = await snapshots.restore(entryId ?? (await session.tree()).children(null)[0]?.id ?? "");
  await session.branch(entryId);
  console.log(`\nBack to ${entryId}: ${restored?.written.length ?? 0} files were written back,`);
  console.log(`${restored?.deleted.length ?? 0} deleted; the build ${build()}`);
}

function build(): string {
  try {
    return `prints ${JSON.stringify(execFileSync("sh", ["build.sh"], { cwd: dir, encoding: "utf8", stdio: "pipe" }))}`;
  } catch {
    return "fails";
  }
}

function declared(name: string, description: string, ...required: string[]) {
  const properties = Object.fromEntries(required.map((each) => [each, { type: "string" }]));
  return { name, description, input_schema: { type: "object" as const, properties, required } };
}

/** A repository to try it on, with a change that is not committed. */
async function scratchRepository(): Promise<string> {
  const scratch = await mkdtemp(join(tmpdir(), "sessile-snapshots-"));
  execFileSync("git", ["init", "--quiet"], { cwd: scratch });
  await writeFile(join(scratch, "README.md"), "# Greeting\n\nNot committed yet.\n");
  await writeFile(join(scratch, ".gitignore"), ".sessile/\n");
  return scratch;
}

/** The model without a key. */
function script({ prompt, results }: Turn): readonly Said[] {
  const steps = (last: string, ...calls: readonly Said[]) =>
    results.length < calls.length ? calls.slice(results.length, results.length + 1) : [last];
  const write = (path: string, content: string) => ({ name: "write", input: { path, content } });
  const edit = (oldText: string, newText: string) => ({
    name: "edit",
    input: { path: "build.sh", oldText, newText },
  });
  if (prompt.includes("Write a script"))
    return steps("It builds.", write("build.sh", "echo hello > greeting.txt\ncat greeting.txt\n"));
  if (prompt.includes("shorter")) return steps("It is one line now.", write("build.sh", "cat greeting.tx\n"));
  if (prompt.includes("Repair"))
    return steps("I moved it to another file.", write("build2.sh", "cat greeting.txt | tr h H\n"), {
      name: "bash",
      input: { command: "rm build.sh greeting.txt" },
    });
  if (prompt.includes("world")) return steps("It greets the world.", edit("echo hello", "echo hello, world"));
  return ["That is not in my script. Set ANTHROPIC_API_KEY to ask Claude."];
}
