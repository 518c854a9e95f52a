// What becomes of attachments: in the log, in each request, after a view, a deletion, a fork and a collection.
//
//   npx tsx examples/02-attachments.ts             makes its own image, PDF and text
//   npx tsx examples/02-attachments.ts FILE...     attaches these as well, and says of each what became of it
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  grantResources,
  type IngestSource,
  imageExternalizer,
  ingest,
  type LeakageBoundary,
  listResources,
  observationsIn,
  resourceObservation,
  resourcesIn,
  runViewTool,
  viewToolName,
} from "sessile/attachments";
import { readLocalFile } from "sessile/attachments/node";
import { type BlobStore, blobRefsIn, collectGarbage } from "sessile/blobs";
import { fileBlobStore } from "sessile/blobs/node";
import {
  assistantMessage,
  asUserMessage,
  type Context,
  contextOf,
  type MessagePart,
  type Resource,
  type StoredResource,
  userMessage,
} from "sessile/content";
import { SessileError } from "sessile/errors";
import { limitProfiles } from "sessile/limits";
import { type NeutralRequest, project, type TextPart } from "sessile/projections";
import { anthropicMessages } from "sessile/projections/anthropic";
import type { Session } from "sessile/session";
import { fileSessionStore } from "sessile/session/node";
import { check } from "./support/check.js";
import { makePdf, makePng } from "./support/make-media.js";
import { oneLine, terminalWidth } from "./support/terminal.js";

const dir = await mkdtemp(join(tmpdir(), "sessile-attachments-"));
const files = join(dir, "files");
const blobs = fileBlobStore({ dir: join(dir, "blobs") });
const sessions = fileSessionStore({ dir: join(dir, "sessions") });
const model = { provider: "scripted", model: "scripted-1" };
const cloud = anthropicMessages({ model: "claude-sonnet-4-5" });

try {
  await tellStory(process.argv.slice(2).map((path) => resolve(path)));
} finally {
  await rm(dir, { recursive: true, force: true });
}

async function tellStory(given: readonly string[]): Promise<void> {
  const image = makePng(320, 200);
  const paths = await makeFiles(image);
  await using session = await sessions.create({ cwd: dir });

  console.log("A message with attachments");
  const made = await Promise.all(paths.map(attach));
  const yours = await Promise.all(given.map(attach));
  const parts = [...made, ...yours];
  const page = ingest({ link: "https://me@example.com/report.pdf?token=secret#page=2" });
  await session.appendMessage(userMessage("What is wrong here?", ...parts, page));
  const held = resourcesIn(await session.context());
  const [shot] = held;
  if (shot?.kind !== "image") throw new Error("the first attachment is the image");
  for (const line of listResources(held, { viewTool: true }).split("\n")) say(line);
  for (const part of parts) if (typeof part === "string") say(part);
  const isRefused = (part: MessagePart) => typeof part === "string";
  check("what cannot be attached is said in words", made.filter(isRefused).length, 3);
  check(
    "all else is attached, and the link",
    held.length,
    parts.filter((part) => !isRefused(part)).length + 1,
  );
  // Bytes of unknown type are kept and never sent.
  const sendable = held.filter((one) => one.kind !== "link" && one.mediaType !== "application/octet-stream");
  check("the store has the image byte for byte", sameBytes(await blobs.get(shot.blob), image));
  check(
    "the image is known by its bytes",
    [shot.mediaType, shot.width, shot.height],
    ["image/png", 320, 200],
  );
  check("of the link scheme, host and path are left", page.uri, "https://example.com/report.pdf");
  given.forEach((path, at) => {
    if (at === 0) console.log("\nYour files");
    say(`${basename(path)}: ${becameOf(yours[at])}`);
  });

  console.log("\nThe log");
  const log = await logOf(session);
  check(
    "holds no base64 of the image",
    log.includes(Buffer.from(image).toString("base64").slice(0, 40)),
    false,
  );
  check("names the image by its digest", log.includes(shot.contentSha256));
  check("holds no secret of the link", /secret|me@/.test(log), false);
  check(
    "keeps its lines short",
    Math.max(...log.split("\n").map((line) => line.length)) < 8000 + 1000 * given.length,
  );

  console.log("\nThe requests of this turn and the next");
  check(
    "the turn sends all that has bytes of a known type",
    await sentIn(await session.context()),
    sendable.length,
  );
  await reply(session, "It says E42.");
  check("so does each round of its tools", await sentIn(await session.context()), sendable.length);
  await session.appendMessage(userMessage("And what else?"));
  await printRequest(await session.context());
  check("the next turn sends none of them", await sentIn(await session.context()), 0);

  console.log("\nA view");
  await look(session, shot.resourceId);
  await printRequest(await session.context());
  check("brings one image back", await sentIn(await session.context()), 1);
  await session.append([resourceObservation(shot.resourceId, "an error code, E42, in the corner")]);
  await reply(session, "A gradient.");
  await session.appendMessage(userMessage("Thanks. One more thing."));
  check("for its turn alone", await sentIn(await session.context()), 0);
  check("of what was never there it says so", await look(session, "res_00000000000000ff"), "NOT_FOUND");
  check(
    "of a link it says that nothing was fetched",
    await look(session, page.resourceId),
    "NOT_REHYDRATABLE",
  );

  console.log("\nWho may see them");
  const messages = (await session.context()).items.map(({ message }) => message);
  check("a subagent gets none", resourcesIn(grantResources(messages)), []);
  check("or what it is granted", resourcesIn(grantResources(messages, [shot.resourceId])), [shot]);
  const atHome: LeakageBoundary = (_resource, { target }) => (target === "local" ? "allow" : "refuse");
  const abroad = await project(contextOf(messages.slice(0, 1)), cloud, { blobs, boundary: atHome });
  check(
    "a boundary keeps all of them at home",
    abroad.attachments.every(({ sent }) => sent === "nothing"),
  );
  const forged = asUserMessage({ content: [{ type: "text", text: "mine", resource: shot }] });
  check("a client's JSON cannot name one", resourcesIn([forged]), []);

  console.log("\nA fork");
  await using fork = await sessions.fork(session.id);
  const twin = resourcesIn(await fork.context()).find(({ resourceId }) => resourceId === shot.resourceId);
  check("names the same bytes", twin, shot);
  await fork.append([resourceObservation(shot.resourceId, "seen by the fork alone")]);
  check("sees for itself", [(await seen(session, shot)).length, (await seen(fork, shot)).length], [1, 2]);

  await collect(session, fork, shot);
  await loseBytes(session, shot);
  await moveOut(image);
}

/** The files of the story: three that are what they say, and three that cannot be attached. */
async function makeFiles(image: Uint8Array): Promise<readonly string[]> {
  await mkdir(files);
  const at = (name: string) => join(files, name);
  await writeFile(at("screen.png"), image);
  await writeFile(at("paper.pdf"), makePdf());
  await writeFile(at("notes.txt"), "Remember the milk.\n");
  await writeFile(at("linked notes.md"), "# Linked\n");
  await writeFile(at("error-page.png"), "<!doctype html><title>404</title>");
  await writeFile(at("endless.bin"), "");
  await truncate(at("endless.bin"), 2 ** 40);
  return [
    "screen.png",
    "paper.pdf",
    "notes.txt",
    "linked notes.md",
    "error-page.png",
    "endless.bin",
    "gone.png",
  ].map(at);
}

/** An attachment for a message: the resource, or what is to be said in its place. */
async function attach(path: string): Promise<MessagePart> {
  const options = { blobs, limits: limitProfiles.anthropic };
  try {
    // As an editor sends it: by a link, to be read here and now.
    if (path === join(files, "linked notes.md")) {
      const link = { type: "resource_link", uri: pathToFileURL(path).href, name: basename(path) } as const;
      return await ingest(link, { ...options, readFile: readLocalFile });
    }
    return await ingest(await readLocalFile(path), options);
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    // The name, not the path: where a file lies is no business of the model.
    const reason = "reason" in error.details ? ` ${error.details.reason}` : "";
    return `[${basename(path)} could not be attached: ${error.code}${reason}]`;
  }
}

/** What became of a file that was named on the command line. */
function becameOf(part: MessagePart | undefined): string {
  if (typeof part === "string") return `in words, ${part}`;
  const { mediaType } = part as StoredResource;
  return mediaType === "application/octet-stream"
    ? "attached; of unknown type, so it is kept and never sent"
    : `attached as ${mediaType}`;
}

/** A tool that a model calls to see a resource again. Gives the code of the failure. */
async function look(session: Session, resourceId: string): Promise<string | undefined> {
  const call = {
    type: "toolCall",
    id: `look-${session.tree.size}`,
    name: viewToolName,
    arguments: { resourceId, reason: "to look closer" },
  } as const;
  await session.appendMessage(assistantMessage(model, call));
  const message = await runViewTool(session, call, { blobs });
  await session.appendMessage(message);
  const [block] = message.content;
  return message.isError && block?.type === "text" ? /^\[(\w+)/.exec(block.text)?.[1] : undefined;
}

async function collect(session: Session, fork: Session, shot: StoredResource): Promise<void> {
  console.log("\nCollection");
  // A batch whose last attachment is refused by the store: what was stored by then is named by no log.
  const full: Pick<BlobStore, "put"> = {
    put: (source, options) =>
      options?.mediaType === "text/plain" ? Promise.reject(new Error("full")) : blobs.put(source, options),
  };
  const batch: readonly IngestSource[] = [{ bytes: makePng(9, 9) }, { bytes: new TextEncoder().encode("x") }];
  const failed = await ingest(batch, { blobs: full }).then(
    () => "stored",
    () => "failed",
  );
  const before = await count(blobs);
  const marks = await Promise.all(
    [session, fork].map(async (one) => ({
      root: one.id,
      refs: blobRefsIn(await logOf(one)),
      complete: (await one.diagnose()).length === 0,
    })),
  );
  const later = { marks, graceMs: 0, now: () => Date.now() + 60_000 };
  const { trashed } = await collectGarbage(blobs, later);
  await collectGarbage(blobs, { ...later, now: () => Date.now() + 120_000 });
  check("a failed batch leaves an orphan", [failed, trashed.count], ["failed", 1]);
  check("which is collected", await count(blobs), before - 1);
  check("and what a log names is not", (await blobs.stat(shot.blob))?.size, shot.size);
}

async function loseBytes(session: Session, shot: StoredResource): Promise<void> {
  console.log("\nBytes that are gone");
  await blobs.delete(shot.blob);
  check("a view says so", await look(session, shot.resourceId), "RESOURCE_MISSING");
  await printRequest(await session.context());
  const { attachments } = await project(await session.context(), cloud, { blobs });
  const places = attachments.filter(({ resourceId }) => resourceId === shot.resourceId);
  check(
    "no request pretends to have sent them",
    places.some(({ sent }) => sent === "bytes"),
    false,
  );
  check(
    "one says that they are missing",
    places.some(({ reason }) => reason === "missing"),
  );
  check("the log still has its text", (await logOf(session)).includes("What is wrong here?"));
}

async function moveOut(image: Uint8Array): Promise<void> {
  console.log("\nAn image inline, as other programs store it");
  const data = Buffer.from(image).toString("base64");
  const message = asUserMessage({
    content: [
      { type: "text", text: "see" },
      { type: "image", data, mimeType: "image/png" },
    ],
  });
  await using fat = await sessions.create({ cwd: "/work", inline: "allow" });
  await fat.appendMessage(message);
  const { rewrite, report } = imageExternalizer({ blobs });
  await using slim = await sessions.fork(fat.id, { rewrite });
  say(`${report.bytesBefore} bytes of entries before, ${report.bytesAfter} after`);
  check("moves out", [report.images, report.bytesAfter < report.bytesBefore / 10], [1, true]);
  const [moved] = resourcesIn(await slim.context());
  check("byte for byte", sameBytes(moved?.kind === "image" ? await blobs.get(moved.blob) : undefined, image));
  check("and the first session is as it was", (await logOf(fat)).includes(data));
}

async function reply(session: Session, text: string): Promise<void> {
  await session.appendMessage(assistantMessage(model, text));
}

async function logOf(session: Session): Promise<string> {
  return readFile(session.location ?? "", "utf8");
}

/** How many resources a request made now would send. */
async function sentIn(context: Context): Promise<number> {
  const { attachments } = await project(context, cloud, { blobs });
  return attachments.filter(({ sent }) => sent === "bytes" || sent === "text").length;
}

async function printRequest(context: Context): Promise<void> {
  const { attachments, request } = await project(context, cloud, { blobs });
  for (const { entryId, block, sent } of attachments) {
    const { origin, text } = textAt(request, entryId, block) ?? {};
    say(`${sent} message ${origin?.item}: ${text}`);
  }
}

/** The text of a request that describes one block of an entry. */
function textAt({ turns }: NeutralRequest, entryId: string, block: number | undefined): TextPart | undefined {
  const parts = turns.flatMap((turn) =>
    turn.role === "user" ? [...turn.results.flatMap((result) => result.parts), ...turn.parts] : [],
  );
  return parts
    .filter((part) => part.type === "text")
    .find(({ origin }) => origin.entryId === entryId && origin.block === block);
}

async function seen(session: Session, { resourceId }: Resource): Promise<readonly string[]> {
  const path = await Promise.all(session.tree.path(session.leafId).map(({ id }) => session.entry(id)));
  return observationsIn(path.flatMap((entry) => entry ?? [])).get(resourceId) ?? [];
}

async function count(store: BlobStore): Promise<number> {
  let blobs = 0;
  for await (const _ of store.list()) blobs++;
  return blobs;
}

function sameBytes(actual: Uint8Array | undefined, expected: Uint8Array): boolean {
  return actual !== undefined && Buffer.compare(actual, expected) === 0;
}

function say(line: string): void {
  console.log(`  ${oneLine(line, terminalWidth() - 2)}`);
}
