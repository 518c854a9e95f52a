/**
 * The export of a session for another agent: the path with its media as the source of a writer, and the way
 * back to the agent that it was imported from.
 */

import { type BlobStore, isBlobRef } from "../blobs/index.js";
import { type BlobRef, isResource } from "../content/index.js";
import { describe } from "../core/arguments.js";
import { decodeBase64, decodeLooseBase64 } from "../core/base64.js";
import { collectBytes, decodeUtf8, encodeUtf8 } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { mediaTypeEssence } from "../core/media-types.js";
import { isRecord } from "../core/shape.js";
import { type Session, type SessionEntry, type SessionHeader, SessionTree } from "../session/index.js";
import { readSlice } from "../session/internal.js";
import {
  type AnyEntry,
  editedEntry,
  editedPath,
  entryPlaceholder,
  isChange,
  removedType,
} from "./edited-path.js";
import { importSession, readSha256 } from "./import.js";
import { ReportBuilder } from "./report.js";
import { isFileName } from "./shared/ids.js";
import { readObject, readText, wellFormed } from "./shared/values.js";
import { entryRoles } from "./shared/write-steps.js";
import { agentRow } from "./table.js";
import type {
  ExportableSession,
  ExportedSession,
  ExportOptions,
  ExportSource,
  ForeignFile,
  ImportedSession,
  WriteSource,
} from "./types.js";

/**
 * Writes a session as files that another agent resumes. For the agent that it was imported from: the original
 * bytes if nothing changed, lines after them if the format can express the change, else anew. Nothing is
 * written to disk, unless the option `write` does it. The report has everything that is left out or changed.
 *
 * @throws SessileError ENTRY_NOT_FOUND for an unknown leaf; errors of the blob store, the session and `write`
 * @throws TypeError for invalid arguments
 * @example
 * ```ts
 * const { files, resume, report } = await exportSession(session, { to: claudeCode, blobs });
 * ```
 */
export async function exportSession(source: ExportSource, options: ExportOptions): Promise<ExportedSession> {
  const { to, provider, write } = options;
  if (typeof to?.write !== "function") throw new TypeError(`to: expected a format, got ${describe(to)}`);
  if (provider !== undefined && (typeof provider !== "string" || provider === ""))
    throw new TypeError(`provider: expected a name, got ${describe(provider)}`);
  if (write !== undefined && typeof write !== "function")
    throw new TypeError(`write: expected a function, got ${describe(write)}`);
  const report = new ReportBuilder();
  const session = await loadSession(source, options.leafId);
  const loaded: LoadedSession[] = [];
  for (const child of options.children ?? []) loaded.push(await loadSession(child));
  const children = loaded.map((child) => writeSource(child, [], options, report));
  const writable = writeSource(session, children, options, report);
  // The original bytes name the provider that they were written with.
  const original = provider === undefined ? await readOriginal(session, options) : undefined;
  const kept = original && (await returned(session, writable, original, { ...options, loaded }));
  if (original !== undefined && kept !== undefined) {
    const exact = beginsWith(kept.files, original.files);
    const files = await delivered(kept.files, write);
    return { ...kept, files, report: report.build(to.name, { exact }) };
  }
  const written = await to.write(writable);
  const files = await delivered(written.files, write);
  return { ...written, files, report: report.build(to.name, { exact: false }) };
}

/** Hands the files to a writer, else collects them. */
async function delivered(
  files: readonly ForeignFile[],
  write: ExportOptions["write"],
): Promise<ExportedSession["files"]> {
  if (write === undefined) return collectFiles(files);
  for (const { path, bytes } of files) await write({ path, bytes: readChunks(bytes) });
  return [];
}

const chunkBytes = 1024 * 1024;

async function* readChunks(bytes: ForeignFile["bytes"]): AsyncGenerator<Uint8Array, void, undefined> {
  if (!(bytes instanceof Uint8Array)) yield* bytes;
  else for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

// The source of a writer: a session, open or read, as a path with its media.

/** A source of an export. The bodies of a stored session are read when a writer comes to them. */
export interface LoadedSession {
  readonly header: SessionHeader;
  readonly tree: SessionTree;
  readonly leafId: string | null;
  /** The entries of the path to the leaf that can be read; outlines of them in a session that is open. */
  readonly path: readonly AnyEntry[];
  /** Whether the path has outlines. */
  readonly isOutlined: boolean;
  /** Custom entries without a parent, in the order of the file. */
  readonly roots: readonly AnyEntry[];
  /** Any entry, as it is stored. */
  entry(id: string): Promise<AnyEntry | undefined>;
}

/** Loads the path to a leaf, by default that of the source. */
export async function loadSession(source: ExportSource, leafId?: string | null): Promise<LoadedSession> {
  if (!isRecord(source)) throw new TypeError(`source: expected a session, got ${describe(source)}`);
  const isOpen = typeof (source as Partial<Session>).path === "function";
  return isOpen ? loadOpen(source as Session, leafId) : loadRead(source as ExportableSession, leafId);
}

async function loadOpen(session: Session, leafId: string | null = session.leafId): Promise<LoadedSession> {
  const { header } = session;
  const tree = await session.tree();
  const ids = tree.path(leafId).map(({ id }) => id);
  const path: AnyEntry[] = [];
  for (let at = 0; at < ids.length; ) {
    const { entries, end } = await readSlice(session, ids, at);
    for (const entry of entries) if (entry !== undefined) path.push(entryOutline(entry));
    at = end;
  }
  const roots: AnyEntry[] = [];
  for (const { id, type } of tree.children(null)) {
    const entry = type === "custom" ? await session.entry(id) : undefined;
    if (entry !== undefined) roots.push(entry);
  }
  return { header, tree, leafId, path, isOutlined: true, roots, entry: sliceReader(session, ids) };
}

/** Reads the entries of a path one by one, about in its order. Two slices of it are in memory. */
function sliceReader(session: Session, ids: readonly string[]): LoadedSession["entry"] {
  const indexes = new Map(ids.map((id, at) => [id, at]));
  let slices: readonly ReadonlyMap<string, AnyEntry | undefined>[] = [];
  return async (id) => {
    const at = indexes.get(id);
    if (at === undefined) return session.entry(id);
    const known = slices.find((slice) => slice.has(id));
    if (known !== undefined) return known.get(id);
    const { entries } = await readSlice(session, ids, at);
    const slice = new Map(entries.map((entry, index) => [ids[at + index] as string, entry]));
    slices = [slice, ...slices.slice(0, 1)];
    return slice.get(id);
  };
}

function loadRead(source: ExportableSession, leafId: string | null = source.leafId): LoadedSession {
  if (!Array.isArray(source.entries))
    throw new TypeError(`source.entries: expected entries, got ${describe(source.entries)}`);
  const entries = source.entries.map((entry) =>
    entry.type === "unknown"
      ? { entryType: "unknown", parentId: null, timestamp: "", raw: "", ...entry }
      : entry,
  ) as readonly AnyEntry[];
  const tree = new SessionTree(entries);
  const byId = new Map<string, AnyEntry>();
  for (const entry of entries) if (!byId.has(entry.id)) byId.set(entry.id, entry);
  const read = (id: string) => byId.get(id) as AnyEntry;
  const header = source.header ?? { type: "session", id: "session", timestamp: "", cwd: "" };
  const roots = tree.children(null).map(({ id }) => read(id));
  const path = tree.path(leafId).map(({ id }) => read(id));
  return { header, tree, leafId, path, isOutlined: false, roots, entry: async (id) => byId.get(id) };
}

/** Makes the source of a writer, and reports the entries that it leaves out. */
export function writeSource(
  session: LoadedSession,
  children: readonly WriteSource[],
  options: Pick<ExportOptions, "blobs" | "cwd" | "now" | "modelFor" | "provider">,
  report: ReportBuilder,
): WriteSource {
  const { path, edited } = editedPath(session.path);
  reportOmissions(session, edited, report);
  const { now = Date.now, modelFor, provider, blobs } = options;
  const outline = path.map((entry) =>
    wellFormed(
      entryRoles[entry.type] === "unmapped" || entry.type === "leaf" ? entryPlaceholder(entry) : entry,
    ),
  );
  return {
    header: wellFormed(session.header),
    outline,
    entry: wholeEntries(session, outline),
    leafId: wellFormed(session.leafId),
    children,
    cwd: wellFormed(options.cwd ?? session.header.cwd),
    now,
    modelFor: (message) => wellFormed(modelFor?.(message)),
    ...(provider === undefined ? {} : { provider: wellFormed(provider) }),
    media: mediaReader(blobs, report),
    find: (finding) => report.find(finding),
  };
}

/** Reads the entries of an outline whole, with their updates and edits. */
function wholeEntries(session: LoadedSession, outline: readonly SessionEntry[]): WriteSource["entry"] {
  const indexes = new Map(outline.map(({ id }, at) => [id, at]));
  const changes = new Map<string, string[]>();
  for (const entry of session.path) {
    if (!isChange(entry)) continue;
    const known = changes.get(entry.targetId);
    if (known === undefined) changes.set(entry.targetId, [entry.id]);
    else known.push(entry.id);
  }
  const stored = async (id: string): Promise<AnyEntry> => {
    const entry = await session.entry(id);
    if (entry !== undefined) return entry;
    throw new SessileError(
      "ENTRY_NOT_FOUND",
      `entry ${SessileError.printable(id)} is gone during the export`,
      {
        details: { entryId: id },
      },
    );
  };
  return async (id) => {
    const at = indexes.get(id) ?? -1;
    const planned = outline[at];
    if (planned === undefined) throw new TypeError(`entry: expected an id of the path, got ${describe(id)}`);
    if (!session.isOutlined || isRemoved(planned)) return planned;
    const own = session.path[at] as AnyEntry;
    const later: AnyEntry[] = [];
    for (const change of changes.get(own.id) ?? []) later.push(await stored(change));
    const entry = await stored(own.id);
    return wellFormed(later.length === 0 ? (entry as SessionEntry) : editedEntry(entry, later));
  };
}

function isRemoved(entry: SessionEntry): boolean {
  return entry.type === "custom" && entry.customType === removedType;
}

/** A finding for each type of entry that is left out, and for each entry that an edit changed. */
function reportOmissions(session: LoadedSession, edited: readonly string[], report: ReportBuilder): void {
  const groups = new Map<string, { count: number; first: string }>();
  for (const entry of session.path) {
    const type = entry.type === "unknown" ? entry.entryType : entry.type;
    const name = entry.type === "custom" ? `custom ${entry.customType}` : type;
    const isOut =
      entry.type === "unknown" ||
      entryRoles[entry.type] === "unmapped" ||
      (entry.type === "custom" && !isOwn(entry));
    report.count(type, { mapped: !isOut, kept: false });
    if (!isOut) continue;
    const group = groups.get(name) ?? { count: 0, first: entry.id };
    groups.set(name, group);
    group.count++;
  }
  for (const [name, { count, first }] of groups) {
    report.find({ code: "entry", entryId: first, text: `${count} of type ${name}` });
  }
  for (const entryId of edited)
    report.find({ code: "edited", entryId, text: "a context_edit was carried out" });
  const onPath = new Set(session.path.map(({ id }) => id));
  let others = 0;
  for (const { node } of session.tree.walk()) {
    if (!onPath.has(node.id) && node.type !== "leaf" && node.type !== "custom") others++;
  }
  if (others > 0) report.find({ code: "branch", text: `${others} entries of other branches` });
}

/** Custom entries of this library, which writers know or need not. */
function isOwn({ customType }: { readonly customType: string }): boolean {
  return customType.startsWith("sessile.");
}

/** Reads media. Those of an entry that are gone are one finding, though a compaction may repeat the entry. */
function mediaReader(blobs: BlobStore | undefined, report: ReportBuilder): WriteSource["media"] {
  const reported = new Set<string>();
  const missing = (entryId: string, text: string): undefined => {
    const key = `${entryId} ${text}`;
    if (!reported.has(key)) report.find({ code: "missing", entryId, text });
    reported.add(key);
  };
  return async (block, entryId) => {
    if (!isRecord(block)) return undefined;
    if (block.type === "image") {
      const data = typeof block.data === "string" ? block.data : "";
      const bytes = decodeBase64(data) ?? decodeLooseBase64(data);
      if (bytes !== undefined) return { bytes, mediaType: mediaTypeEssence(String(block.mimeType)) };
      return missing(entryId, "an image whose data is not base64");
    }
    const resource = block.type === "text" ? block.resource : block;
    if (!isResource(resource) || resource.kind === "link") return undefined;
    const bytes = await blobBytes(resource.blob, blobs);
    if (bytes !== undefined) return { bytes, mediaType: resource.mediaType };
    return missing(entryId, `the bytes of ${resource.resourceId}`);
  };
}

/** The bytes of a blob; undefined if they are gone or damaged. */
async function blobBytes(ref: BlobRef, blobs: BlobStore | undefined): Promise<Uint8Array | undefined> {
  try {
    return await blobs?.get(ref);
  } catch (error) {
    if (SessileError.is(error, "BLOB_CORRUPT")) return undefined;
    throw error;
  }
}

// Outlines of entries: all that a writer plans with, without long texts. The outlines of a session fit in memory if
// its entries do not.

/** Characters of a text that stay. */
const maxText = 256;

/** Members that name something, whole. */
const naming = /^(?:id|retain|type|role|name|toolName|customType|provider|model|api|.{0,64}Id)$/;

/** Members that no plan reads. */
const unread = new Set(["arguments", "details"]);

/** A copy of an entry that holds no long text, nor a part of its memory. */
export function entryOutline<T extends AnyEntry>(entry: T): T {
  const isRead = entry.type !== "custom" || entry.customType === "sessile.subagent";
  return cut(isRead ? entry : { ...entry, data: {} }) as T;
}

function cut(value: unknown): unknown {
  // The part of a text would keep all of it in memory.
  if (typeof value === "string") return value.length <= maxText ? value : copied(value.slice(0, maxText));
  if (Array.isArray(value)) return value.map(cut);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, cutMember(key, member)]);
  return Object.fromEntries(members);
}

function cutMember(key: string, member: unknown): unknown {
  if (naming.test(key)) return member;
  return unread.has(key) && typeof member === "object" && member !== null ? {} : cut(member);
}

function copied(text: string): string {
  return decodeUtf8(encodeUtf8(text)) as string;
}

// The way back to the agent that a session was imported from: the kept bytes, and later entries.

type Files = ExportedSession["files"];

/** An import that can be returned: its bytes, and its entries made of them again. */
interface Original {
  readonly files: Files;
  readonly imported: ImportedSession;
}

/** Reads the newest original of a session; undefined if there is none, or not all of its bytes. */
async function readOriginal(session: LoadedSession, options: ExportOptions): Promise<Original | undefined> {
  const data = newestForeign(session, options.to.name);
  const files: { path: string; bytes: Uint8Array }[] = [];
  for (const { path, sha256, blob } of data?.files ?? []) {
    const bytes = isBlobRef(blob) && isInside(path) ? await blobBytes(blob, options.blobs) : undefined;
    if (path === undefined || bytes === undefined || (await readSha256(bytes)) !== sha256) return undefined;
    files.push({ path, bytes });
  }
  if (data === undefined || files.length === 0) return undefined;
  const imported = await importSession(files, {
    from: options.to,
    keep: "none",
    instructions: data.instructions,
    ...(data.session === undefined ? {} : { session: data.session }),
    ...(options.decompress === undefined ? {} : { decompress: options.decompress }),
    ...(options.sqlite === undefined ? {} : { sqlite: options.sqlite }),
  });
  // A fork is another session of the agent's.
  return imported.header.id === session.header.id ? { files, imported } : undefined;
}

/** Whether a path stays below the directory of an export, and can name a file, on every system. */
function isInside(path: string | undefined): boolean {
  if (path === undefined || /^[/\\]|^[A-Za-z]:/.test(path)) return false;
  return path.split(/[/\\]/).every((part) => part === "." || isFileName(part));
}

/** The data of the newest `sessile.foreign` entry of an agent. */
function newestForeign({ roots }: LoadedSession, agent: string) {
  for (const entry of roots.toReversed()) {
    if (entry.type !== "custom" || entry.customType !== "sessile.foreign") continue;
    const data = readObject(entry.data);
    if (data?.v !== 1 || data.agent !== agent || !Array.isArray(data.files)) return undefined;
    const files = data.files.map((file: unknown) => {
      const { path, sha256, blob } = readObject(file) ?? {};
      return { path: readText(path), sha256, blob };
    });
    return { files, instructions: data.instructions === true, session: readText(data.session) };
  }
  return undefined;
}

/**
 * The session in the agent's own files: the original bytes if no mapped entry was added, else the format's
 * lines after them. Undefined if it has to be written anew.
 */
async function returned(
  session: LoadedSession,
  source: WriteSource,
  { files, imported }: Original,
  options: ExportOptions & { readonly loaded: readonly LoadedSession[] },
): Promise<Omit<ExportedSession, "report"> | undefined> {
  const { loaded } = options;
  if (!sameChildren(imported, loaded)) return undefined;
  for (const each of [imported, ...imported.children]) {
    const stored = each === imported ? session : loaded.find(({ header }) => header.id === each.header.id);
    if (stored !== undefined && !(await isWhole(stored, each))) return undefined;
  }
  const ids = new Set(imported.entries.map(({ id }) => id));
  const last = session.path.findLastIndex(({ id }) => ids.has(id));
  const from = session.path[last]?.id ?? null;
  const later = session.path.slice(last + 1);
  // A change of an original entry cannot be expressed by a later line.
  if (later.some((entry) => isChangeOf(entry, ids))) return undefined;
  const addedIds = new Set(later.map(({ id }) => wellFormed(id)));
  const added = source.outline.filter((entry) => addedIds.has(entry.id) && !isState(entry));
  const { to } = options;
  const words = to.resume ?? agentRow(to.name)?.resume;
  const resume = words?.(imported.header.id, files) ?? [];
  if (added.length === 0 && from === imported.leafId) return { files, resume };
  const findings: Parameters<WriteSource["find"]>[0][] = [];
  const find: WriteSource["find"] = (finding) => findings.push(finding);
  const written = await to.append?.({ ...source, find, files, original: imported, from, added });
  // Those of a refused append are made again by the writer.
  if (written === undefined) return undefined;
  const appended = { ...written, files: await collectFiles(written.files) };
  for (const finding of findings) source.find(finding);
  return appended;
}

/** Entries without a counterpart in any format: state of programs, and removed messages. */
function isState(entry: SessionEntry): boolean {
  return (
    entry.type === "custom" && (entry.customType === removedType || entry.customType.startsWith("sessile."))
  );
}

function isChangeOf(entry: LoadedSession["path"][number], ids: ReadonlySet<string>): boolean {
  switch (entry.type) {
    case "context_edit":
    case "message_update":
    case "part_update":
      return ids.has(entry.targetId);
    default:
      return false;
  }
}

/** Whether no child has an entry that its original lacks. */
function sameChildren(imported: ImportedSession, children: readonly LoadedSession[]): boolean {
  const originals = new Map(imported.children.map((child) => [child.header.id, child]));
  return children.every(({ header, tree }) => {
    const ids = new Set(originals.get(header.id)?.entries.map(({ id }) => id));
    // An adoption may have written a leaf entry.
    return Array.from(tree.walk()).every(({ node: { id, type } }) => type === "leaf" || ids.has(id));
  });
}

/** Entries that are read at once. */
const chunkSize = 64;

/**
 * Whether a session has all entries of the original, and none on any branch was erased: the original has what
 * was. One that is damaged may be the tombstone of a damaged one. Another version of this library may have
 * read the bytes in another way.
 */
async function isWhole({ tree, entry }: LoadedSession, { entries }: ImportedSession): Promise<boolean> {
  const originals = new Set(entries.map(({ id }) => id));
  if (!entries.every(({ id }) => tree.has(id))) return false;
  const ids = Array.from(tree.walk(), ({ node }) => node.id);
  for (let at = 0; at < ids.length; at += chunkSize) {
    const read = await Promise.all(ids.slice(at, at + chunkSize).map(entry));
    for (const each of read) {
      if (each === undefined || "erased" in each) return false;
      if (each.type === "unknown" && originals.has(each.id)) return false;
    }
  }
  return true;
}

/** The files with their bytes in memory. */
export async function collectFiles(files: readonly ForeignFile[]): Promise<Files> {
  const collected: { path: string; bytes: Uint8Array }[] = [];
  for (const { path, bytes } of files)
    collected.push({ path, bytes: bytes instanceof Uint8Array ? bytes : await collectBytes(bytes) });
  return collected;
}

/** Whether each original file is there, and its file in the result begins with its bytes. */
function beginsWith(written: Files, original: Files): boolean {
  return original.every(({ path, bytes }) => {
    const file = written.find((each) => each.path === path);
    if (file === undefined || file.bytes.length < bytes.length) return false;
    for (let at = 0; at < bytes.length; at++) if (file.bytes[at] !== bytes[at]) return false;
    return true;
  });
}
