// A personal assistant: facts for each person, documents on demand, branches with memories of their own, a search over its
// past, and "forget this", carried out and proved. Its instructions are those of its memory at each request.
//
//   npx tsx examples/07-assistant.ts                                 two people, in a scratch directory
//   npx tsx examples/07-assistant.ts DIR PERSON "PROMPT"...          turns of one person; DIR/documents/*.md are the documents
//   npx tsx examples/07-assistant.ts DIR PERSON --back ENTRY "PROMPT"...   from an earlier entry, with the memory of that time
//   npx tsx examples/07-assistant.ts DIR PERSON --forget "WORDS"     takes every entry that has the words out of the files
//
// It asks Claude if ANTHROPIC_API_KEY is set, and a script else.
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { cacheConversation, eraseEntries, messageText, userMessage } from "sessile";
import { type DocumentSource, sessionMemory } from "sessile/memory";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { anthropicModel, runTurn, type ToolContext } from "sessile/turn";
import { scratchDirectory, script } from "./support/assistant-script.js";
import { claudeClient } from "./support/offline-claude.js";

const options = { back: { type: "string" }, forget: { type: "string" } } as const;
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const [given, named = "anna", ...prompts] = positionals;
const dir = given === undefined ? await scratchDirectory() : resolve(given);
const model = anthropicModel(claudeClient(script), {
  model: process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5",
});
const blobs = fileBlobStore({ dir: join(dir, "blobs") });
const sessions = fileSessionStore({ dir: join(dir, "sessions") });

const names = async () =>
  (await readdir(join(dir, "documents"))).filter((name) => name.endsWith(".md")).sort();
const documents: DocumentSource = {
  list: async () => (await names()).map((name) => ({ name })),
  // The model chooses the name: only one that the list has is read.
  load: async (name) =>
    (await names()).includes(name) ? readFile(join(dir, "documents", name), "utf8") : undefined,
};

/** The conversation of one person, a partition of its own, with its memory. */
async function assistantOf(person: string) {
  const own = { partition: person, blobs: blobs.partition(person) };
  const latest = await sessions.latest({ partition: person });
  const session =
    latest === undefined
      ? await sessions.create({ cwd: dir, ...own })
      : await sessions.open(latest, { mode: "write", ...own });
  session.on("entry", ({ entry }) => {
    const message = entry?.type === "message" ? entry.message : undefined;
    const text = message === undefined ? "" : messageText(message);
    if (message?.role === "toolResult") console.log(`  (${message.toolName}: ${text.split("\n")[0]})`);
    if (message?.role === "assistant" && text !== "") console.log(`  ${text}`);
  });
  const memory = sessionMemory(session, {
    blocks: [
      { label: "identity", text: "You are a personal assistant. Be brief, and remember what matters." },
      { label: "facts", description: "About the person you serve.", maxTokens: 1100, writable: true },
      { label: "documents", documents },
    ],
    blobs: own.blobs,
    // A model searches the past of its own person alone, on all branches.
    search: (query) => sessions.search({ ...query, partition: person, branch: "all" }),
  });
  return { person, session, memory };
}

type Assistant = Awaited<ReturnType<typeof assistantOf>>;

async function turn({ person, session, memory }: Assistant, prompt: string): Promise<void> {
  console.log(`\n${person}> ${prompt}`);
  const { tools } = await memory.prompt();
  await runTurn(session, {
    model,
    message: userMessage(prompt),
    blobs: blobs.partition(person),
    // They keep their bytes until a compaction, or on another branch.
    instructions: async () => (await memory.prompt()).system,
    tools: tools.map(({ schema, ...tool }) => ({
      ...{ ...tool, parameters: schema, repeatable: true },
      run: (_: unknown, { call, signal }: ToolContext) => memory.run(call, { signal }),
    })),
    project: { replay: memory.replay(), cache: cacheConversation },
  });
}

async function printFacts({ person, session, memory }: Assistant): Promise<void> {
  const { facts } = await memory.history("facts");
  console.log(`\nFacts about ${person} at ${session.leafId}:`);
  for (const { text, at, messageId } of facts)
    console.log(`- ${text}  (${at.slice(0, 10)}, from ${messageId})`);
}

/** Takes all entries that have the words out of the person's sessions, and looks for the words in every file. */
async function forget({ person, session, memory }: Assistant, words: string): Promise<Assistant> {
  // As they are, and with the escapes of JSON, as in a file.
  const forms = [words, JSON.stringify(words).slice(1, -1)].map((form) => form.toLowerCase());
  const has = (text: string) => forms.some((form) => text.toLowerCase().includes(form));
  console.log(`\n${person} wants "${words}" to be forgotten.`);
  // On every branch the other facts stay, in a value that never had the words.
  for (const { id } of (await session.leaves()).toSorted((a, b) => Number(a.current) - Number(b.current))) {
    await session.branch(id);
    const lines = (await memory.get("facts")).text.split("\n");
    if (lines.some(has)) await memory.set("facts", lines.filter((line) => !has(line)).join("\n"));
  }
  await session.close();
  for await (const summary of sessions.list({ partition: person })) {
    await using read = await sessions.open(summary, { partition: person });
    const ids: string[] = [];
    for (const { node } of (await read.tree()).walk())
      if (has(new TextDecoder().decode(await read.raw(node.id)))) ids.push(node.id);
    const reason = "the person asked for it";
    const own = { reason, partition: person, blobs: blobs.partition(person), forks: true };
    const report = await eraseEntries(sessions, summary, ids, own);
    console.log(`${report.sessions.flatMap(({ erased }) => erased).length} entries were erased.`);
    for (const note of report.remaining) console.log(`  may still have it: ${note}`);
  }
  let [found, hits] = [0, 0];
  const all = (await readdir(dir, { recursive: true, withFileTypes: true })).filter((file) => file.isFile());
  for (const file of all) if (has(await readFile(join(file.parentPath, file.name), "utf8"))) found++;
  for await (const _ of sessions.search({ text: words, partition: person, branch: "all" })) hits++;
  console.log(`${found} of ${all.length} files have the words, and a search finds ${hits} entries.`);
  return assistantOf(person);
}

let assistant = await assistantOf(named);
if (values.back !== undefined) await assistant.session.branch(values.back);
for (const prompt of prompts) await turn(assistant, prompt);
// Every entry has an empty text.
if (values.forget?.trim()) assistant = await forget(assistant, values.forget);
if (given === undefined) {
  await turn(assistant, "I am Anna. I live in Oslo, and I am allergic to hazelnuts.");
  const start = assistant.session.leafId;
  await turn(assistant, "I prefer trains. How do I get to Bergen?");
  await printFacts(assistant);
  // Back to the first turn: this branch has never heard of the trains.
  await assistant.session.branch(start);
  await turn(assistant, "I prefer ships.");
  await turn(assistant, "What did I say about hazelnuts?");
  const ben = await assistantOf("ben");
  await turn(ben, "I am Ben.");
  await printFacts(ben);
  await ben.session.close();
  assistant = await forget(assistant, "hazelnuts");
}
await printFacts(assistant);
await assistant.session.close();
console.log(`\ndirectory: ${dir}`);
