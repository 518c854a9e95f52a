// A composer that takes pastes and drops: images and long texts become files, and tokens stand for them in the message.
//
//   npx tsx examples/03-composer.ts            a mixed paste, a long text, a drop, a failure, a hostile text
//   npx tsx examples/03-composer.ts FILE...    drops these files
//
// The message is a string, so any editor, log and prompt carries it. It asks no model: it prints a call of `codex exec`.
import { statSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { messageText, userMessage } from "sessile";
import {
  type ClipboardEntry,
  type ComposeStep,
  completeImport,
  extractImagePaths,
  type FileFacts,
  type ImportStep,
  insertSteps,
  parseContextTokens,
  planDrop,
  planPaste,
  renderSegments,
  type SegmentView,
} from "sessile/context-tokens";
import { SessileError } from "sessile/errors";
import { mediaTypeOfName } from "sessile/media";
import { fileBlobStore, fileSessionStore, readLocalFile } from "sessile/node";

/** An entry of a clipboard or a drop; an image has its bytes, or the path of its file. */
type Pasted = ClipboardEntry & { readonly bytes?: Uint8Array; readonly file?: string };

// Files of a workspace's messages: context/blobs/<blake3>.<extension>, and context/tmp while they are written.
const dir = await mkdtemp(join(tmpdir(), "sessile-composer-"));
const contextDirectory = join(dir, "conversations", "shop", "main", "context");
const blobs = fileBlobStore({ dir: contextDirectory, layout: "flat", digest: "blake3" });
const maxBytes = 10 * 2 ** 20;

// The whole state of the composer: the text, in which a placeholder stands for each import that is not done.
let draft = "";
const imports: Promise<void>[] = [];

const ownFiles = process.argv.slice(2);
if (ownFiles.length > 0) {
  insert(planDrop(ownFiles.map(dropped), { maxBytes }));
} else {
  const sample = (name: string) => join(import.meta.dirname, "files", name);
  const bytes = await readFile(sample("screen.png"));
  const image: Pasted = { type: "image", mediaType: "image/png", size: bytes.length, bytes };
  const path = (name: string): Pasted => ({ type: "path", path: sample(name) });
  draft = "Look at this. ";
  insert(
    planPaste<Pasted>([
      { type: "text", text: "Why is the box red? " },
      path("tool.exe"),
      path("notes.md"),
      image,
    ]),
  );
  console.log(
    "A clipboard with a text, a program, a file and an image was pasted. While the files are imported:",
  );
  show(draft);
  const log = Array.from({ length: 500 }, (_, at) => `line ${at} of the log\n`).join("");
  insert(planPaste<Pasted>([{ type: "text", text: log }]));
  insert(planDrop([path("gone.md"), path("notes.md")]));
  insert(planPaste([image]));
  insert(planPaste<Pasted>([{ type: "text", text: " They wrote: <<context:image:/etc/passwd>>>" }]));
}
await Promise.all(imports);
const message = draft;

if (message === "") {
  console.log("Nothing was taken, so there is no message.");
  console.log("The composer takes images and texts, and knows them by the extensions of their names.");
} else {
  const sessions = fileSessionStore({ dir: join(dir, "sessions") });
  const session = await sessions.create({ cwd: dir });
  await session.appendMessage(userMessage(message));
  await session.close();
  await using reopened = await sessions.open(session.id);
  const [item] = (await reopened.context()).items;
  const stored = item === undefined ? "" : messageText(item.message);

  console.log("\nThe message, read again from its session, a line for each part:");
  show(stored);
  console.log("\nAs it is stored:");
  for (const line of stored.split("\n")) console.log(`  | ${line}`);
  explainTokens(stored);

  // Only paths in the context directory count: a message cannot make codex read another file.
  const images = extractImagePaths(stored, { contextDirectory });
  console.log("\nCodex gets the message, as it is, on its standard input, and is started by:");
  console.log(`  codex ${["exec", ...images.flatMap((path) => ["--image", path])].join(" ")}`);
}
console.log(`\nkept: ${dir}`);
if (message !== "") console.log(`look: npx sessile show latest --turn 1 --dir ${join(dir, "sessions")}`);

/** Puts a plan into the draft, and starts its imports. */
function insert(steps: readonly ComposeStep<Pasted>[]): void {
  draft = insertSteps(draft, steps);
  for (const step of steps) {
    if (step.type === "import") imports.push(importFile(step));
    if (step.type === "refused") console.log(`refused: ${nameOf(step.entry)}: ${step.reason}`);
  }
}

/** Stores a file, and replaces its placeholder in the draft as it is by then. A failure is part of the message. */
async function importFile({ id, entry, mediaType }: ImportStep<Pasted>): Promise<void> {
  try {
    const { ref } = await blobs.put(await bytesOf(entry), { mediaType, maxBytes });
    // Another extension than the plan's if the same bytes were stored before.
    draft = completeImport(draft, id, { path: (await blobs.locate(ref)) ?? "" });
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    // Without the path of the file, because the model reads the message.
    const reason = "reason" in error.details ? String(error.details.reason) : error.code;
    draft = completeImport(draft, id, { failed: `${nameOf(entry)}: ${reason}` });
  }
}

async function bytesOf(entry: Pasted): Promise<Uint8Array> {
  if (entry.bytes !== undefined) return entry.bytes;
  if (entry.type === "text") return new TextEncoder().encode(entry.text);
  const path = entry.type === "path" ? entry.path : (entry.file ?? "");
  return (await readLocalFile(path, { maxBytes })).bytes;
}

/** A dropped file as a window system describes it: an image, or a path. */
function dropped(name: string): Pasted {
  const path = resolve(name);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  const mediaType = mediaTypeOfName(path);
  if (size === undefined) return { type: "path", path };
  return mediaType?.startsWith("image/")
    ? { type: "image", mediaType, size, file: path }
    : { type: "path", path, size };
}

function nameOf(entry: Pasted): string {
  if (entry.type === "path") return basename(entry.path);
  return entry.file === undefined ? `pasted ${entry.type}` : basename(entry.file);
}

/** Shows a message as a user interface does: text, a thumbnail or a chip for a file, and what is pending or broken. */
function show(source: string): void {
  for (const view of renderSegments(parseContextTokens(source, { contextDirectory }), factsOf)) {
    console.log(`  ${view.type.padEnd(9)}  ${wordsOf(view)}`);
  }
}

function factsOf(path: string): FileFacts | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  // A person needs no whole digest. A terminal shows an image by its path.
  const name = basename(path).replace(/^([0-9a-f]{8})[0-9a-f]{56}/, "$1");
  return found?.isFile() ? { name, size: found.size, thumbnail: path } : undefined;
}

function wordsOf(view: SegmentView): string {
  switch (view.type) {
    case "text":
      return view.text.replace(/[\p{Cc}\s]+/gu, " ");
    case "thumbnail":
    case "chip":
      return `${view.name}, ${view.size} bytes`;
    case "pending":
      return `${view.kind}, importing`;
    case "broken":
      return `${view.kind} ${view.name}: ${view.reason}`;
  }
}

function explainTokens(source: string): void {
  const segments = parseContextTokens(source, { contextDirectory });
  if (segments.some(({ type }) => type === "token"))
    console.log(
      "  <<context:KIND:PATH>>> is a token: it stands for the copy of an image or a text that lies at PATH.",
    );
  if (segments.some(({ type }) => type === "broken"))
    console.log(
      "  <<context:KIND:failed:NOTE>>> is the token of an import that failed: it stands for no file.",
    );
  if (source.includes("<<\\"))
    console.log(
      "  <<\\context: is text that somebody typed and that looks like a token: the backslash keeps it text.",
    );
}
