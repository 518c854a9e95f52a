/**
 * The import of a session: files to entries, with images and the original bytes in the blob store. A format
 * reads the files of another agent; those of pi and of this library need none.
 */

import { externalizeEntry } from "../attachments/internal.js";
import { digest, isBlobRef } from "../blobs/index.js";
import { describe, integerOption, oneOfOption } from "../core/arguments.js";
import { toHex } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { copyJson } from "../core/json.js";
import { defaultLimits, formatVersion, jsonProblem } from "../log/internal.js";
import { type ParsedSession, parseSession, type SessionEntry } from "../session/index.js";
import { type LoadedFile, loadFiles, readCwd, Source } from "./foreign-source.js";
import { redacted } from "./redaction.js";
import { ReportBuilder } from "./report.js";
import { derivedSessionId, textDigest } from "./shared/ids.js";
import { readMilliseconds } from "./shared/values.js";
import { agentRow, detectSession, isOwnAgent } from "./table.js";
import type {
  DetectedSession,
  ForeignFile,
  ForeignFormat,
  ForeignFormatName,
  ImportedSession,
  ImportOptions,
  Redaction,
} from "./types.js";

const defaultMaxLineBytes = 64 * 1024 * 1024;
const defaultMaxBytes = 1024 * 1024 * 1024;
const headBytes = 64 * 1024;
const sha256Prefix = "sha256:";

/**
 * Imports a session of another agent: the files that it consists of become entries with ids that follow from
 * the records, so that equal input gives equal ids. Nothing is opened or fetched. Never throws because of
 * content: each unreadable part is a finding of the report. Those of pi and of this library need no format.
 *
 * @param files the files of one session, those of its subagents included
 * @throws SessileError NO_HEADER if no file is a session of the given formats; errors of the blob store
 * @throws TypeError, RangeError for invalid arguments
 * @example
 * ```ts
 * const files = [{ path: "rollout.jsonl", bytes: await readFile("rollout.jsonl") }];
 * const imported = await importSession(files, { from: codex, blobs });
 * const session = await sessions.adopt(imported);
 * ```
 */
export async function importSession(
  files: readonly ForeignFile[],
  options: ImportOptions,
): Promise<ImportedSession> {
  if (!Array.isArray(files) || files.length === 0)
    throw new TypeError(`files: expected at least one file, got ${describe(files)}`);
  const { redact } = options;
  const maxLineBytes = integerOption("maxLineBytes", options.maxLineBytes, defaultMaxLineBytes, 1024);
  const maxBytes = integerOption("maxBytes", options.maxBytes, defaultMaxBytes, 1024);
  const keep = readKeep(options);
  const report = new ReportBuilder(redact);
  const claimed = files.filter(({ unclaimed }) => unclaimed !== true);
  const loaded = await loadFiles(claimed, maxBytes, options, report);
  const { format, detected } = fileFormat(loaded, options.from);
  if (format === undefined) {
    if (detected === undefined) throw unknownError(files);
    return importOwn(loaded, detected, { report, maxLineBytes, redact });
  }
  const source = new Source({
    ...options,
    // Only an agent's format reads.
    format: format.name as ForeignFormatName,
    files: loaded,
    instructions: options.instructions ?? false,
    maxLineBytes,
    keepsLines: keep === "lines",
    report,
  });
  await format.read?.(source);
  source.finish();
  findUnclaimed(files, format.name, report);
  const [main = emptySession(source), ...children] = source.sessions;
  const agentVersion = source.agentVersion ?? detected?.agentVersion;
  let exact = false;
  if (keep !== "none") {
    const kept = await keptFiles(loaded, keep === "blob" ? options : {});
    exact = keep === "blob" && kept.every(({ blob }) => blob !== undefined);
    const data = {
      v: 1,
      agent: format.name,
      format: detected?.variant ?? format.name,
      ...(agentVersion === undefined ? {} : { agentVersion }),
      ...(options.session === undefined ? {} : { session: options.session }),
      ...(options.instructions === true ? { instructions: true } : {}),
      // Their texts are in the files: an erasure there looks for them here.
      ...(children.length === 0 ? {} : { children: children.map(({ sessionId }) => sessionId) }),
      files: kept,
    };
    main.addForeign(
      data,
      kept.map(({ path, sha256 }) => textDigest(path, sha256)),
    );
    if (exact) report.keepAll();
  }
  const sessions: Omit<ImportedSession, "children" | "report">[] = [];
  for (const entries of [main, ...children]) {
    const session = entries.finish();
    sessions.push({ ...session, entries: await externalized(session.entries, options) });
  }
  const built = report.build(format.name, { exact, agentVersion });
  const [first, ...rest] = sessions.map((session) => ({ ...session, children: [], report: built }));
  return { ...(first as ImportedSession), children: rest };
}

function readKeep(options: ImportOptions): "blob" | "lines" | "none" {
  if (options.blobs !== undefined && typeof options.blobs?.put !== "function")
    throw new TypeError(`blobs: expected a blob store, got ${describe(options.blobs)}`);
  if (options.redact !== undefined && typeof options.redact !== "function")
    throw new TypeError(`redact: expected a function, got ${describe(options.redact)}`);
  const fallback = options.blobs === undefined ? "lines" : "blob";
  const keep = oneOfOption("keep", options.keep ?? fallback, ["blob", "lines", "none"]);
  if (keep === "blob" && options.blobs === undefined)
    throw new TypeError('keep: expected the option `blobs` with "blob", got none');
  return options.redact === undefined ? keep : "none";
}

/** The format to read, or the detected one of this library's family, which needs none. */
function fileFormat(
  files: readonly LoadedFile[],
  from: ImportOptions["from"],
): { readonly format: ForeignFormat | undefined; readonly detected: DetectedSession | undefined } {
  const found = files
    .map(({ path, bytes, stored }) => detectSession((bytes ?? stored).subarray(0, headBytes), path))
    .filter((each) => each !== undefined);
  if (!Array.isArray(from)) {
    const format = from as ForeignFormat;
    if (typeof format?.write !== "function")
      throw new TypeError(`from: expected a format or a list of them, got ${describe(from)}`);
    const detected = found.find(({ format: name }) => name === format.name);
    return { format: format.read === undefined ? undefined : format, detected };
  }
  const formats = new Map((from as readonly ForeignFormat[]).map((each) => [each.name, each]));
  const usable = found.filter((each) => formats.has(each.format) || isOwnAgent(each.format));
  const detected = usable.find(({ sure }) => sure) ?? usable[0];
  const format = detected && formats.get(detected.format);
  return { format: format?.read === undefined ? undefined : format, detected };
}

/** Reports files of the session's folder that the agent's row does not name, with one finding. */
function findUnclaimed(
  files: readonly ForeignFile[],
  agent: ForeignFormat["name"],
  report: ReportBuilder,
): void {
  const unclaimed = files.filter((file) => file.unclaimed === true);
  const [first] = unclaimed;
  if (first === undefined) return;
  const title = agentRow(agent)?.title ?? agent;
  const [count, are] = unclaimed.length === 1 ? ["1 file", "is"] : [`${unclaimed.length} files`, "are"];
  const text = `${count} in the session's folder ${are} not read: ${title} has no place for such`;
  report.find({ code: "unmapped", file: first.path, text });
}

function unknownError(files: readonly ForeignFile[]): SessileError {
  const path = files[0]?.path ?? "";
  return new SessileError("NO_HEADER", `${path}: no file is a session of the given formats`, {
    details: { path, lines: 0 },
  });
}

/** A session for files without a readable record: the format has begun none. */
function emptySession(source: Source) {
  source.session({ id: source.files[0]?.path ?? "" });
  return source.sessions[0] as (typeof source.sessions)[number];
}

/** The files of a `sessile.foreign` entry. A database is not kept: it has other sessions too. */
async function keptFiles(
  files: readonly LoadedFile[],
  { blobs, signal }: Pick<ImportOptions, "blobs" | "signal">,
): Promise<
  readonly {
    readonly path: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly blob?: string;
  }[]
> {
  const kept = [];
  for (const { path, stored, kind } of files) {
    const stat =
      blobs === undefined || kind === "sqlite"
        ? undefined
        : await blobs.put(stored, signal === undefined ? {} : { signal }).catch(ignoreTooLarge);
    // The store has mostly made the digest already.
    const named = isBlobRef(stat?.ref) && stat.ref.startsWith(sha256Prefix) ? stat.ref : undefined;
    const sha256 = named?.slice(sha256Prefix.length) ?? (await readSha256(stored));
    const row = { path, bytes: stored.length, sha256 };
    kept.push(stat === undefined ? row : { ...row, blob: stat.ref });
  }
  return kept;
}

function ignoreTooLarge(error: unknown): undefined {
  if (!SessileError.is(error, "BLOB_TOO_LARGE")) throw error;
}

/** By the platform, where it has a digest: thirty times as fast. */
export async function readSha256(bytes: Uint8Array): Promise<string> {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) return digest(bytes).slice(sha256Prefix.length);
  return toHex(new Uint8Array(await subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)));
}

/** The entries with their inline images in the blob store. Ids of resources follow from those of entries. */
async function externalized(
  entries: readonly SessionEntry[],
  { blobs, signal }: Pick<ImportOptions, "blobs" | "signal">,
): Promise<readonly SessionEntry[]> {
  if (blobs === undefined) return entries;
  const out: SessionEntry[] = [];
  for (const entry of entries) {
    let count = 0;
    const newId = () => `res_${textDigest(entry.id, String(count++)).slice(0, 16)}`;
    out.push((await externalizeEntry(entry, { blobs, newId, signal, source: "import" })).entry);
  }
  return out;
}

// Sessions of pi and of this library: the same format, which needs no reader of its own.

/** Imports the first file. Entries of unknown types become custom entries with their lines. */
function importOwn(
  files: readonly LoadedFile[],
  detected: DetectedSession,
  options: {
    readonly report: ReportBuilder;
    readonly maxLineBytes: number;
    readonly redact: Redaction | undefined;
  },
): ImportedSession {
  const { report, maxLineBytes, redact } = options;
  const file = files.find(({ bytes }) => bytes !== undefined);
  const path = file?.path ?? "";
  const parsed = parseSession(file?.bytes ?? new Uint8Array(), { maxLineBytes });
  for (const { code, line, message } of parsed.diagnostics) {
    const found = code === "LINE_TOO_LONG" ? "tooLong" : code === "NEWER_VERSION" ? "newer" : "unreadable";
    report.find({ code: found, file: path, line, text: `${code}: ${message}` });
  }
  const readable = nearestReadable(parsed);
  const entries = parsed.entries.map((entry): SessionEntry => {
    const { id, timestamp } = entry;
    // The tree has the parent that an entry with a missing one follows, and null for one that closes a cycle.
    const parentId = readable(parsed.tree.node(id)?.parentId ?? null);
    const place = { id, parentId, timestamp };
    const isKnown = entry.type !== "unknown";
    report.count(isKnown ? entry.type : entry.entryType, { mapped: isKnown, kept: !isKnown });
    if (!isKnown) {
      report.find({ code: "unmapped", file: path, entryId: id, text: `an entry of type ${entry.entryType}` });
      const data = { file: path, text: entry.raw };
      return { type: "custom", ...place, customType: "sessile.foreign_line", data };
    }
    const placed = entry.parentId === parentId ? entry : { ...entry, parentId };
    // JSON.parse reads 1e999 as infinite.
    const isJson = jsonProblem(placed, defaultLimits.maxDepth) === undefined;
    return isJson ? placed : (copyJson(placed) as unknown as SessionEntry);
  });
  const { header } = parsed;
  const shared = (text: unknown) => (redact === undefined ? text : redacted(text, redact));
  const id = derivedSessionId(detected.format, String(shared(header?.id ?? path)));
  return {
    header: {
      ...(header?.parentSession === undefined ? {} : { parentSession: String(shared(header.parentSession)) }),
      type: "session",
      version: formatVersion,
      id,
      timestamp: new Date(readMilliseconds(header?.timestamp) ?? 0).toISOString(),
      cwd: readCwd(shared(header?.cwd)),
      sessile: 1,
    },
    entries: parentsFirst(redact === undefined ? entries : (redacted(entries, redact) as SessionEntry[])),
    leafId: readable(parsed.leafId),
    children: [],
    report: report.build(detected.format, { exact: false }),
  };
}

/** Finds the entry itself, or its nearest ancestor, that has a readable body. */
function nearestReadable({ entries, tree }: ParsedSession): (id: string | null) => string | null {
  const known = new Map<string, string | null>(entries.map(({ id }) => [id, id]));
  return (from) => {
    const passed: string[] = [];
    let id = from;
    while (id !== null && !known.has(id)) {
      passed.push(id);
      id = tree.node(id)?.parentId ?? null;
    }
    const found = id === null ? null : (known.get(id) ?? null);
    for (const each of passed) known.set(each, found);
    return found;
  };
}

/** The entries in their order, except that children before their parents are moved after them. */
function parentsFirst(entries: readonly SessionEntry[]): readonly SessionEntry[] {
  const done = new Set<string>();
  const waiting = new Map<string, SessionEntry[]>();
  const ordered: SessionEntry[] = [];
  for (const entry of entries) {
    const next = [entry];
    for (let each = next.pop(); each !== undefined; each = next.pop()) {
      const { id, parentId } = each;
      if (parentId !== null && !done.has(parentId)) {
        const others = waiting.get(parentId);
        if (others === undefined) waiting.set(parentId, [each]);
        else others.push(each);
        continue;
      }
      done.add(id);
      ordered.push(each);
      for (const child of waiting.get(id)?.toReversed() ?? []) next.push(child);
      waiting.delete(id);
    }
  }
  return ordered;
}
