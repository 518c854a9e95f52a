/** The way back to the agent that a session was imported from: the kept bytes, and later entries. */

import { isBlobRef } from "../blobs/index.js";
import { collectBytes } from "../core/bytes.js";
import type { SessionEntry } from "../session/index.js";
import { removedType } from "./edited-path.js";
import { blobBytes, type LoadedSession } from "./export-source.js";
import { importSession, readSha256 } from "./import.js";
import { isFileName } from "./shared/ids.js";
import { readObject, readText, wellFormed } from "./shared/values.js";
import { agentRow } from "./table.js";
import type { ExportedSession, ExportOptions, ForeignFile, ImportedSession, WriteSource } from "./types.js";

type Files = ExportedSession["files"];

/** An import that can be returned: its bytes, and its entries made of them again. */
export interface Original {
  readonly files: Files;
  readonly imported: ImportedSession;
}

/** Reads the newest original of a session; undefined if there is none, or not all of its bytes. */
export async function readOriginal(
  session: LoadedSession,
  options: ExportOptions,
): Promise<Original | undefined> {
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
export async function returned(
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
export function beginsWith(written: Files, original: Files): boolean {
  return original.every(({ path, bytes }) => {
    const file = written.find((each) => each.path === path);
    if (file === undefined || file.bytes.length < bytes.length) return false;
    for (let at = 0; at < bytes.length; at++) if (file.bytes[at] !== bytes[at]) return false;
    return true;
  });
}
