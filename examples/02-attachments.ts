// Attachments: stored once, sent in their turn, described later, shown again to a model that asks, and collected.
//
//   npx tsx examples/02-attachments.ts             attaches examples/files
//   npx tsx examples/02-attachments.ts FILE...     attaches these files
//
// It asks Claude if ANTHROPIC_API_KEY is set, and a script else. ANTHROPIC_MODEL is optional.
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import {
  type AttachmentReport,
  collectGarbage,
  isResource,
  type MessagePart,
  messageText,
  project,
  type Resource,
  sessionBlobRoots,
  toolCalls,
  userMessage,
} from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import {
  grantResources,
  ingest,
  type LeakageBoundary,
  replayCurrentTurn,
  resourceObservation,
  resourcesIn,
  runViewTool,
  viewTool,
} from "sessile/attachments";
import { SessileError } from "sessile/errors";
import { limitProfiles } from "sessile/limits";
import { fileBlobStore, fileSessionStore, readLocalFile } from "sessile/node";
import { claudeClient, type Said, type Turn } from "./support/offline-claude.js";

const ownFiles = process.argv.slice(2);
const samples = ["screen.png", "paper.pdf", "notes.md"].map((name) =>
  join(import.meta.dirname, "files", name),
);

const model = process.env.ANTHROPIC_MODEL ?? "claude-opus-5-5";
const client = claudeClient(script);
const target = anthropicMessages({ model });

const dir = await mkdtemp(join(tmpdir(), "sessile-attachments-"));
const blobs = fileBlobStore({ dir });
const sessions = fileSessionStore({ dir: join(dir, "sessions"), blobs });
await using session = await sessions.create({ cwd: process.cwd() });

console.log("Files are sniffed, checked against limits and stored:");
const parts: MessagePart[] = [];
for (const path of ownFiles.length > 0 ? ownFiles : samples) parts.push(await attach(path));
// A link is stored without its credentials, query and fragment, and is never fetched.
const link = ingest({ link: "https://me@example.com/report.pdf?token=secret#page=2" });
console.log(`  link ${link.uri}`);

await turn("What do these show?", ...parts, link);
await turn("And in one word?");
const [first] = resourcesIn(await session.context());
await turn("Look at the first one again.");

console.log("\nThe log has the descriptions, and no bytes:");
const log = await readFile(session.location ?? "");
const stored = parts.flatMap((part) => (isStored(part) ? part.size : []));
console.log(
  `  ${log.length} bytes of log, ${stored.reduce((sum, size) => sum + size, 0)} bytes of attachments`,
);

console.log("\nA subagent gets the attachments that it is granted, and a boundary decides which leave:");
const messages = (await session.context()).items.map(({ message }) => message);
const granted = grantResources(messages, first === undefined ? [] : [first.resourceId]);
console.log(`  granted: ${resourcesIn(granted).map(nameOf).join(", ")}`);
const atHome: LeakageBoundary = (_resource, { target }) => (target === "local" ? "allow" : "refuse");
report((await project(await session.context(), target, { blobs, boundary: atHome })).attachments);

console.log("\nAn observation outlives the bytes:");
if (first !== undefined && isStored(first)) {
  await session.append([resourceObservation(first.resourceId, "a red box below a blue bar")]);
  await blobs.delete(first.blob);
}
await turn("Look at the first one again.");

console.log("\nA blob that no session names is garbage, after a grace period of 14 days:");
await blobs.put(new TextEncoder().encode("an upload whose message was never sent"));
const marks = [await sessionBlobRoots(session.id, await readFile(session.location ?? ""))];
const { kept, trashed } = await collectGarbage(blobs, { marks, now: () => Date.now() + 15 * 86_400_000 });
console.log(`  ${kept.count} kept, ${trashed.count} in the trash\n\nsession: ${session.location}`);
console.log(`look:    npx sessile show ${session.location} --context --blobs ${dir}`);
console.log(`         npx sessile blobs verify ${dir} --sessions ${join(dir, "sessions")}`);

/** Returns the attachment, or a text in its place, so that the model learns of the failure too. */
async function attach(path: string): Promise<MessagePart> {
  try {
    const resource = await ingest(await readLocalFile(resolve(path)), {
      blobs,
      limits: limitProfiles.anthropic,
    });
    if (!isStored(resource)) return resource;
    const { mediaType, size, resourceId } = resource;
    const note = mediaType === "application/octet-stream" ? ", of unknown type, so it is never sent" : "";
    console.log(`  ${basename(path)}: ${mediaType}, ${size} bytes, ${resourceId}${note}`);
    return resource;
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    const reason = "reason" in error.details ? ` ${error.details.reason}` : "";
    console.log(`  ${basename(path)}: ${error.code}${reason}`);
    return `[${basename(path)} could not be attached: ${error.code}${reason}]`;
  }
}

/** One turn of a chat, with a tool by which the model views attachments of earlier turns. */
async function turn(prompt: string, ...attachments: MessagePart[]): Promise<void> {
  console.log(`\n> ${prompt}`);
  await session.appendMessage(userMessage(prompt, ...attachments));
  for (;;) {
    // A model that binds its reasoning to the request would get them in each turn.
    const options = { blobs, viewTool: true, replay: replayCurrentTurn };
    const { value, attachments } = await project(await session.context(), target, options);
    report(attachments);
    const tools = [viewTool("anthropic")];
    const reply = await client.messages.create({ model, max_tokens: 1024, tools, ...value });
    const message = readAnthropicReply(reply, { model });
    await session.appendMessage(message);
    if (messageText(message) !== "") console.log(messageText(message));
    const calls = toolCalls(message);
    if (calls.length === 0) return;
    for (const call of calls) await session.appendMessage(await runViewTool(session, call, { blobs }));
  }
}

/** Prints the form of each attachment in a request: its bytes, its text, a description, or nothing. */
function report(attachments: readonly AttachmentReport[]): void {
  const names = new Map(
    [...parts, link].flatMap((part) => (isResource(part) ? [[part.resourceId, nameOf(part)]] : [])),
  );
  const forms = attachments.map(
    ({ resourceId = "", sent, reason }) => `${names.get(resourceId)} as ${sent} (${reason})`,
  );
  console.log(`  request: ${forms.join(", ")}`);
}

function isStored(part: MessagePart): part is Extract<Resource, { readonly blob: string }> {
  return typeof part === "object" && "blob" in part;
}

function nameOf(resource: Resource): string {
  return resource.name ?? (resource.kind === "link" ? resource.uri : resource.resourceId);
}

/** The model without a key. */
function script({ prompt, results }: Turn): readonly Said[] {
  if (!prompt.includes("again"))
    return [prompt.includes("one word") ? "Red." : "A red box, a page and a note."];
  if (results.length > 0)
    return [results[0]?.includes('"image"') ? "It is still a red box." : "It cannot be shown."];
  return [{ name: "view_resource", input: { resourceId: first?.resourceId ?? "none" } }];
}
