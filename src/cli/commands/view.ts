/** `view`: a session as one HTML file. */

import { spawn } from "node:child_process";
import { readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type BlobStore, memoryBlobStore } from "../../blobs/index.js";
import { isRecord } from "../../core/shape.js";
import { type ParsedSession, parseSession, type SessionHeader } from "../../session/index.js";
import { type PathStep, recentBounds, takeRecent } from "../../session/internal.js";
import { fileSessionStore } from "../../storage/files/index.js";
import { type ViewerSource, viewerHtml } from "../../viewer/internal.js";
import { readViewerTemplate } from "../../viewer/node/internal.js";
import { type CommandBody, type CommandContext, numberOption, type Parsed, textOption } from "../command.js";
import { assertNewFile, openRegular, writeNewFile } from "../files.js";
import { type NamedSession, readOwn } from "../named-session.js";
import { bytesText } from "../output.js";
import { blobStoreByPath, locate, sourceOptions } from "../sources.js";

const megabyte = 1_000_000;

const view: CommandBody = {
  description: [
    "The file has data, code and images, and makes no request. Images beyond the budget are left out, the",
    "largest first.",
  ],
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: [
    ...sourceOptions,
    { name: "output", short: "o", value: "FILE", description: "The new file. Default: ID.html here." },
    { name: "open", description: "Open the file in the browser." },
    { name: "images", value: "MB", description: "Megabytes of images in the file. Default: 20." },
  ],
  examples: [{ line: "sessile view latest -o session.html --open", does: "the newest session in a browser" }],
  async run(parsed, context) {
    const { out, cwd, signal } = context;
    const images = numberOption(parsed, "images");
    const output = textOption(parsed, "output");
    if (output !== undefined) assertNewFile("--output", resolve(cwd, output));
    const named = await locate(parsed.positionals[0] ?? "", parsed, context);
    const { source, blobs } = await readViewed(named, parsed, context);
    const { parts, leftOut } = await viewerHtml(source, {
      template: await readViewerTemplate(),
      agent: named.agent,
      ...(blobs && { blobs }),
      ...(images === undefined ? {} : { maxImageBytes: images * megabyte }),
    });
    const name = (source.header?.id ?? "session").replace(/[^\w.-]/g, "_");
    const file = resolve(cwd, output ?? `${name}.html`);
    await writeNewFile(file, inParts(parts), signal);
    const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    if (out.json) await out.value({ file, bytes, leftOut });
    else {
      await out.line(`${out.clean(file)}  ${bytesText(bytes)}`);
      if (leftOut.length > 0) await out.line(`${leftOut.length} images are left out: see --images`);
    }
    if (parsed.options.open === true) openInBrowser(file);
    return 0;
  },
};

async function* inParts(parts: readonly string[]): AsyncGenerator<string> {
  yield* parts;
}

/** Starts the program of the system that opens files, and does not wait for it. */
function openInBrowser(file: string): void {
  const [program, words] =
    process.platform === "darwin"
      ? ["open", [file]]
      : process.platform === "win32"
        ? ["explorer", [file]]
        : ["xdg-open", [file]];
  spawn(program as string, words as string[], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}

export const bodies = { view };

// The source of a viewer's page: a session as it is now, with those of its subagents.

export interface Viewed {
  readonly source: ViewerSource;
  readonly blobs: BlobStore | undefined;
  /** The files that were read, if all of them are this library's own. */
  readonly files?: readonly string[];
  /** Whether a subagent has a file that is not among those of the session. */
  readonly lacksChildren: boolean;
}

/** Reads a session in full. */
export async function readViewed(
  { path, read }: NamedSession,
  parsed: Parsed,
  context: CommandContext,
): Promise<Viewed> {
  if (read === undefined) {
    const { source, files } = await readFamily(path, context);
    return { source, files, blobs: blobStoreByPath(path, parsed, context), lacksChildren: false };
  }
  const blobs = memoryBlobStore();
  const source = await read({ blobs, keep: "none" });
  const lacksChildren = source.report.findings.some(({ code }) => code === "missingChild");
  return { source, blobs, lacksChildren };
}

/** The first screen of a long session: the rest comes when the page is there. */
const firstScreen = { messages: 100, bytes: 512 * 1024 };
/** A session up to this size is a page in whole. */
const wholeBytes = 1024 * 1024;
const maxHeaderBytes = 64 * 1024;

/**
 * The newest part of a long session of this library's own, read from the end of its file; undefined for a
 * short one, and for one whose end cannot be read alone.
 */
export async function readNewest(path: string): Promise<ViewerSource | undefined> {
  const header = await readHeader(path);
  if (header === undefined) return undefined;
  const store = fileSessionStore({ dir: dirname(path) });
  const page = await store.recent({ id: header.id, location: path }, firstScreen).catch(() => undefined);
  return page && newestSource(header, page.entries);
}

async function readHeader(path: string): Promise<SessionHeader | undefined> {
  await using file = await openRegular(path);
  if ((await file.stat()).size <= wholeBytes) return undefined;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxHeaderBytes), 0, maxHeaderBytes, 0);
  const end = buffer.subarray(0, bytesRead).indexOf("\n");
  return parseSession(buffer.subarray(0, Math.max(0, end))).header;
}

/** The newest part of a long session that is in memory, by the same rule; undefined for a short one. */
export async function newestSession({
  header,
  entries,
  leafId,
}: ViewerSource): Promise<ViewerSource | undefined> {
  if (isShort(entries)) return undefined;
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  async function* steps(): AsyncGenerator<PathStep> {
    const seen = new Set<string>();
    for (let id = leafId; id !== null && !seen.has(id); ) {
      seen.add(id);
      const entry = byId.get(id);
      if (entry === undefined) return;
      const { parentId } = entry;
      yield { id, parentId, entry, at: undefined, length: JSON.stringify(entry).length };
      id = parentId;
    }
  }
  const page = await takeRecent(steps(), recentBounds(firstScreen));
  return newestSource(header, page.entries);
}

/** Counts no more of a long session than that needs. */
function isShort(entries: ViewerSource["entries"]): boolean {
  let bytes = 0;
  for (const entry of entries) {
    bytes += JSON.stringify(entry).length;
    if (bytes > wholeBytes) return false;
  }
  return true;
}

function newestSource(
  header: SessionHeader | undefined,
  entries: ViewerSource["entries"],
): ViewerSource | undefined {
  const leafId = entries.at(-1)?.id;
  return leafId === undefined ? undefined : { header, entries, leafId, isPart: true };
}

/** A session's file, and the files beside it of the subagents that its calls started, and of theirs. */
async function readFamily(
  path: string,
  context: CommandContext,
): Promise<{ readonly source: ViewerSource; readonly files: readonly string[] }> {
  const main = await readOwn(path, context);
  const children: ParsedSession[] = [];
  const files = [path];
  const ids = new Set(startedIds(main));
  const beside = ids.size === 0 ? [] : await readdir(dirname(path));
  // Iteration over a set includes members added meanwhile, and visits a cycle once.
  for (const id of ids) {
    const name = beside.find((each) => each === `${id}.jsonl` || each.endsWith(`_${id}.jsonl`));
    if (id === main.header?.id) continue;
    if (name === undefined) {
      // Changes when the file comes.
      if (!files.includes(dirname(path))) files.push(dirname(path));
      continue;
    }
    const file = join(dirname(path), name);
    const child = await readOwn(file, context).catch((error: unknown) => {
      context.signal.throwIfAborted();
      context.out.skip(file, error);
    });
    if (child?.header?.id !== id) continue;
    children.push(child);
    files.push(file);
    for (const more of startedIds(child)) ids.add(more);
  }
  return { source: { ...main, children }, files };
}

function startedIds({ entries }: ParsedSession): readonly string[] {
  return entries.flatMap((entry) => {
    if (entry.type !== "custom" || entry.customType !== "sessile.subagent") return [];
    const id = isRecord(entry.data) ? entry.data.sessionId : undefined;
    return typeof id === "string" && id !== "" ? [id] : [];
  });
}
