/** The source of a writer: a session, open or read, as a path with its media. */

import type { BlobStore } from "../blobs/index.js";
import { type BlobRef, isResource } from "../content/index.js";
import { describe } from "../core/arguments.js";
import { decodeBase64, decodeLooseBase64 } from "../core/base64.js";
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
import { entryOutline } from "./outline.js";
import type { ReportBuilder } from "./report.js";
import { entryRoles } from "./shared/entry-roles.js";
import { wellFormed } from "./shared/values.js";
import type { ExportableSession, ExportOptions, ExportSource, WriteSource } from "./types.js";

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
export async function blobBytes(ref: BlobRef, blobs: BlobStore | undefined): Promise<Uint8Array | undefined> {
  try {
    return await blobs?.get(ref);
  } catch (error) {
    if (SessileError.is(error, "BLOB_CORRUPT")) return undefined;
    throw error;
  }
}
