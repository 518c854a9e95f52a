/** Adoption: entries that exist elsewhere, with their ids, parents and times, as the lines of a session. */

import { describe, oneOfOption } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { nameArgument } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import {
  assertValidEntry,
  type EntryDraft,
  encodeLine,
  type SessionEntry,
  type SessionHeader,
} from "../../log/internal.js";
import type { LogPosition } from "../api/backend.js";
import type { AdoptableSession, AdoptOptions } from "../api/store.js";
import { assertInline, hasInline } from "../runtime/recording.js";
import type { LiveSession } from "../runtime/session.js";
import type { SessionState } from "../runtime/session-state.js";
import type { SessionTree } from "../tree/session-tree.js";
import { cwdArgument } from "./arguments.js";
import { freshId } from "./copy.js";

/** The parts of a store that an adoption uses. */
export interface AdoptionStore {
  create(header: AdoptedHeader, lines: (target: Target) => Promise<readonly Uint8Array[]>): Promise<void>;
  /** Opens the session for writing. */
  open(id: string): Promise<LiveSession>;
}

/** The members of a header that an adoption gives. */
type AdoptedHeader = Pick<SessionHeader, "id" | "timestamp" | "cwd" | "parentSession">;
type Target = Pick<SessionState, "log" | "settings" | "reader" | "leafId">;

const maxAttempts = 16;

/** Writes a session, or the entries that an existing one lacks, and opens it for writing. */
export async function adoptSession(
  session: AdoptableSession,
  options: Pick<AdoptOptions, "existing">,
  store: AdoptionStore,
): Promise<LiveSession> {
  const existing = oneOfOption("existing", options.existing, ["refuse", "append"]);
  const header = adoptedHeader(session);
  for (let attempt = 1; ; attempt++) {
    try {
      const opened = existing === "append" ? await store.open(header.id).catch(undefinedIfNone) : undefined;
      if (opened === undefined) await store.create(header, (target) => adoptedLines(session, target));
      else await adoptInto(session, opened).finally(() => opened.close());
      return await store.open(header.id);
    } catch (error) {
      // Another program wrote in between.
      const again = SessileError.is(error, "SESSION_EXISTS") || SessileError.is(error, "CONCURRENT_WRITER");
      if (existing === "refuse" || !again || attempt === maxAttempts) throw error;
    }
  }
}

function undefinedIfNone(error: unknown): undefined {
  if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
}

async function adoptInto(session: AdoptableSession, opened: LiveSession): Promise<void> {
  const { id, source } = opened;
  const tree = await opened.tree();
  source.assertWritable();
  const times = new Set(session.entries.map((entry) => entry?.timestamp));
  // The entries of the stored session, or its first one in another state.
  const isSame =
    session.entries.some((entry) => tree.has(entry?.id)) ||
    tree.children(null).some(({ timestamp }) => times.has(timestamp));
  if (tree.size > 0 && !isSame) {
    const [expected, actual] = [opened.header.timestamp, session.header.timestamp];
    throw new SessileError("SESSION_MISMATCH", `session ${id} has none of these entries`, {
      details: { expected, actual },
    });
  }
  await source.migrate?.();
  const { log, position } = source;
  const lines = await adoptedLines(session, source);
  if (lines.length === 0) return;
  await log.append(lines, position as LogPosition);
  // Announces a new session_info.
  await opened.refresh();
}

/** The header, whose version becomes the current one. */
function adoptedHeader(session: AdoptableSession): AdoptedHeader {
  const header: unknown = session?.header;
  if (!isRecord(header)) throw new TypeError(`header: expected a session header, got ${describe(header)}`);
  if (!Array.isArray(session.entries))
    throw new TypeError(`entries: expected an array of entries, got ${describe(session.entries)}`);
  const { id, timestamp, cwd, parentSession } = header;
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  // A store makes file names of it.
  if (!(time >= firstTime && time <= lastTime))
    throw invalid("header.timestamp", "a time of the years 0 to 9999 in ISO 8601", timestamp);
  if (parentSession !== undefined && typeof parentSession !== "string")
    throw invalid("header.parentSession", "a string", parentSession);
  return {
    id: nameArgument("header.id", id),
    timestamp: new Date(time).toISOString(),
    cwd: cwdArgument(cwd),
    ...(parentSession === undefined ? {} : { parentSession }),
  };
}

const firstTime = Date.parse("0000-01-01T00:00:00.000Z");
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * The lines of the entries that the session does not have yet, and of a leaf entry if the leaf would be
 * another one without it. No line if it has all of them and the leaf.
 */
async function adoptedLines(
  { entries, leafId }: AdoptableSession,
  { settings, reader: { tree }, log, leafId: leaf }: Target,
): Promise<readonly Uint8Array[]> {
  const ids = checkedIds(entries, tree);
  if (leafId !== null && !ids.has(leafId)) throw missing("leafId", leafId);
  const lines: Uint8Array[] = [];
  let last: string | null = leaf;
  for (const [at, entry] of entries.entries()) {
    if (tree.has(entry.id)) continue;
    const written = await recorded(entry, entryPlace(entry, at), settings);
    lines.push(encodeLine(written, settings, log.crc32));
    last = written.type === "leaf" ? written.targetId : written.id;
  }
  // A continuation that was appended here keeps the leaf.
  const next = leaf === null || !isContinued(leaf, ids, { entries, tree }) ? leafId : leaf;
  if (last !== next) {
    const id = freshId(settings, (each) => ids.has(each) || tree.has(each));
    const timestamp = new Date(settings.now()).toISOString();
    const leafEntry = { type: "leaf", id, parentId: next, timestamp, targetId: next } as const;
    lines.push(encodeLine(leafEntry, settings, log.crc32));
  }
  return lines;
}

/**
 * Whether the path to a leaf has an entry that was appended here. One that the entries lack, but whose time
 * they have, is an earlier state of one of them: an import of a reply that was not complete.
 */
function isContinued(
  leaf: string,
  ids: ReadonlySet<string>,
  { entries, tree }: { readonly entries: readonly SessionEntry[]; readonly tree: SessionTree },
): boolean {
  if (ids.has(leaf)) return false;
  const times = new Set(entries.map(({ timestamp }) => timestamp));
  for (let node = tree.node(leaf); node !== undefined && !ids.has(node.id); ) {
    if (!times.has(node.timestamp)) return true;
    node = node.parentId === null ? undefined : tree.node(node.parentId);
  }
  return false;
}

/** The ids of the entries. Throws for a repeated one, and for a parent that is no earlier entry. */
function checkedIds(entries: readonly SessionEntry[], tree: SessionTree): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const [at, entry] of entries.entries()) {
    if (!isRecord(entry)) throw invalid(`entries[${at}]`, "an entry", entry);
    const { id, parentId } = entry;
    if (typeof id !== "string" || id === "") throw invalid(`entries[${at}].id`, "a non-empty string", id);
    if (ids.has(id)) {
      throw new SessileError("DUPLICATE_ID", `${entryPlace(entry, at)}: an earlier entry has the id`, {
        details: { entryId: id },
      });
    }
    if (typeof parentId === "string" && !ids.has(parentId) && !tree.has(parentId))
      throw missing(`${entryPlace(entry, at)}.parentId`, parentId);
    ids.add(id);
  }
  return ids;
}

/** An entry in recorded form, with its images in blobs. Throws if it is invalid. */
async function recorded(
  entry: SessionEntry,
  place: string,
  { maxDepth, recording }: Target["settings"],
): Promise<SessionEntry> {
  try {
    assertValidEntry(entry, maxDepth);
  } catch (error) {
    if (!SessileError.is(error, "INVALID_ENTRY")) throw error;
    const { path, expected } = error.details;
    throw invalid(path === "" ? place : `${place}.${path}`, expected);
  }
  if (!hasInline(entry)) return entry;
  if (recording.blobs === undefined) {
    assertInline(entry, place, recording);
    return entry;
  }
  const { withoutInline } = await import("../runtime/inline-images.js");
  const draft = entry as EntryDraft;
  return (await withoutInline(draft, { id: entry.id, at: place }, recording, undefined)) as SessionEntry;
}

function entryPlace({ id }: SessionEntry, at: number): string {
  return `entries[${at}] (${SessileError.printable(id)})`;
}

function missing(place: string, entryId: string): SessileError {
  const message = `${place}: no earlier entry has the id ${JSON.stringify(entryId)}`;
  return new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
}

function invalid(path: string, expected: string, ...got: readonly unknown[]): SessileError {
  const came = got.length === 0 ? "" : `, got ${describe(got[0])}`;
  return new SessileError("INVALID_ENTRY", `${path}: expected ${expected}${came}`, {
    details: { path, expected },
  });
}
