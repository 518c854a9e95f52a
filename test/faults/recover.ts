import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import {
  buildSessionContext,
  encodeEntry,
  type ParsedSession,
  parseSession,
  type Session,
  type SessionRef,
  type SessionStore,
  type SessionTree,
} from "sessile";
import { SessileError } from "sessile/errors";
import { decodeLine, parseEntryPrefix } from "../../src/log/internal.js";
import { SimulatedDisk } from "../support/simulated-disk.js";

const id = "mutant";
const path = `/sessions/2026-01-01T00-00-00-000Z_${id}.jsonl`;
/** Entries of one file that are looked at each by itself. */
const looks = 40;

/** What a file turned out to be, in so few words that most files share theirs with others. */
export type Kind = string;

/**
 * Does with the bytes of a session file all that a program can do with it, whatever they are. Throws where anything but a
 * SessileError with a code comes of it, where reading changes the file, where opening for writing loses a byte, or where
 * what was recovered is something else when it is read again.
 */
export async function recover(bytes: Uint8Array): Promise<Kind> {
  const parsed = parseSession(bytes);
  const codes = [...new Set(parsed.diagnostics.map(({ code }) => code))].sort();
  readAll(parsed);
  const disk = new SimulatedDisk();
  disk.put(path, bytes);
  const store = disk.sessions({ dir: "/sessions", lockWaitMs: 50 });
  const refused = await refusal(() => reads(store, parsed, hasTwofoldLine(bytes)));
  assert.deepEqual(disk.paths(), [path], "reading made files");
  assert.ok(same(disk.bytes(path), bytes), "reading changed the file");
  const how = refused ?? (await writes(disk, store, bytes));
  const types = [...new Set(parsed.entries.map(({ type }) => type))].sort();
  return [how, ...codes, ...types, Math.min(5, parsed.tree.size)].join(" ");
}

/** The code of the error that an open ended with; undefined where it opened. */
async function refusal(act: () => Promise<void>): Promise<string | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    if (!(error instanceof SessileError) || !["EMPTY", "NO_HEADER"].includes(error.code)) throw error;
    return error.code;
  }
}

/** All that a parse gives, without a file. What is written of it anew reads as the same. */
function readAll(parsed: ParsedSession): void {
  buildSessionContext(parsed);
  const lines: string[] = [];
  const isOld = (parsed.header?.version ?? 1) < 3;
  for (const entry of parsed.entries) {
    // Its line is that of a version in which entries have no ids.
    if (isOld && entry.type === "unknown") continue;
    try {
      lines.push(encodeEntry(entry));
    } catch (error) {
      // What another program wrote need not be what this one would.
      if (!(error instanceof SessileError) || error.code !== "INVALID_ENTRY") throw error;
    }
  }
  const header = '{"type":"session","version":3,"id":"again","timestamp":"t","cwd":"/"}';
  const again = parseSession(`${[header, ...lines].join("\n")}\n`);
  assert.equal(again.entries.length, lines.length, "not all that was written was read");
  assert.deepEqual(
    again.entries.map((entry) => encodeEntry(entry)),
    lines,
    "written again it is another",
  );
}

/** The file as a list has it: by the id in its header; one that no list has by the id in its name. */
async function listed(store: SessionStore): Promise<SessionRef> {
  for await (const summary of store.list()) if (summary.location === path) return summary;
  return id;
}

async function reads(store: SessionStore, parsed: ParsedSession, isTwofold: boolean): Promise<void> {
  const session = await store.open(await listed(store));
  try {
    assert.notEqual(parsed.header, undefined, "opened without a header");
    await looksAt(session);
    const diagnostics = await session.diagnose();
    if (!isTwofold) {
      assert.deepEqual(placesOf(await session.tree()), placesOf(parsed.tree));
      assert.equal(session.leafId, parsed.leafId);
      for (const { id } of some(parsed.entries)) assert.deepEqual(await session.entry(id), parsed.entry(id));
      assert.deepEqual(diagnostics, parsed.diagnostics);
    }
    for await (const summary of store.list({ stats: true })) assert.equal(typeof summary.id, "string");
    for await (const summary of store.list({ cwd: "/work" })) assert.equal(typeof summary.cursor, "string");
  } finally {
    await session.close();
  }
}

/** Everything that is asked of a session without writing to it. */
async function looksAt(session: Session): Promise<void> {
  for (const leaf of [null, ...some(Array.from((await session.tree()).walk(), ({ node }) => node.id))]) {
    await session.context(leaf);
    await session.turn(leaf);
    await session.toolStates(leaf);
    if (leaf === null) continue;
    await session.raw(leaf);
    (await session.tree()).path(leaf);
    (await session.tree()).label(leaf);
  }
  assert.equal(typeof session.info, "object");
}

/** Opens for writing, appends, and reads what came of it; says what was done to the file. */
async function writes(disk: SimulatedDisk, store: SessionStore, bytes: Uint8Array): Promise<string> {
  const session = await store.open(await listed(store), { mode: "write" });
  if (!session.writable) {
    assert.ok(same(disk.bytes(path), bytes), "a session of a newer version was changed");
    await session.close();
    return "newer";
  }
  const old = disk.paths().find((name) => name.includes(".old-"));
  const kept = old ?? path;
  const mended = disk.bytes(kept) as Uint8Array;
  const ending = ["", "\n", "\t\n"].find((end) => same(mended, Buffer.concat([bytes, Buffer.from(end)])));
  const isKept = ending !== undefined;
  assert.ok(isKept, "opening for writing lost bytes");
  const before = placesOf(await session.tree());
  const isTwofold = hasTwofoldLine(bytes);
  // Once the header is in front, what stood before it is read as what stands behind: a damaged line may have a place.
  const isMoved = old !== undefined && session.diagnostics.some(({ code }) => code === "BEFORE_HEADER");
  const message = { role: "user", content: "after", timestamp: 0 } as const;
  const entry = await session.appendMessage(message);
  await session.context();
  const entries = new Map<string, unknown>();
  for (const [entryId] of some(before)) entries.set(entryId, await session.entry(entryId));
  await session.close();

  const left = disk.bytes(path) as Uint8Array;
  const again = await store.open(await listed(store));
  if (isTwofold || isMoved) {
    for (const [entryId] of before)
      assert.ok((await again.tree()).has(entryId) || isTwofold, "an entry was lost");
  } else {
    const after = placesOf(await again.tree()).filter(([entryId]) => entryId !== entry.id);
    assert.deepEqual(after, before);
  }
  for (const [entryId, value] of entries) {
    if (!isTwofold) assert.deepEqual(await again.entry(entryId), value);
  }
  assert.deepEqual(await again.entry(entry.id), entry);
  if (!hasTwofoldLine(left))
    assert.deepEqual(placesOf(parseSession(left).tree), placesOf(await again.tree()));
  assert.ok(!(await again.diagnose()).some(({ code }) => code === "TORN_TAIL"), "the end is torn still");
  await again.close();
  await copies(store, before.length).catch((error: unknown) => {
    const isTold = error instanceof SessileError || error instanceof assert.AssertionError;
    if (!isTwofold || !isTold) throw error;
  });
  assert.ok(same(disk.bytes(path), left), "reading or copying changed what was recovered");
  return old === undefined ? (ending === "\t\n" ? "mended" : "whole") : "migrated";
}

/** A fork has every entry; an extraction has the path. */
async function copies(store: SessionStore, entries: number): Promise<void> {
  const source = await listed(store);
  const fork = await store.fork(source, { id: "fork" });
  assert.ok((await fork.tree()).size >= entries, "a fork has fewer entries");
  await looksAt(fork);
  await fork.close();
  const session = await store.open(source);
  const path = (await session.tree()).path(session.leafId);
  const extracted = await session.extract(session.leafId ?? undefined, { id: "extract" });
  for (const { id, type } of path) {
    if (type === "label" || type === "leaf" || (await extracted.tree()).has(id)) continue;
    // Half an entry before a whole one in its line has a place, and no body to extract.
    assert.equal(await session.entry(id), undefined, "an extraction lost an entry");
  }
  await looksAt(extracted);
  await extracted.close();
  await session.close();
  await store.archive("extract");
  for (const copy of ["fork", "extract"]) assert.equal(await store.delete(copy), true);
}

/**
 * Whether a line says one thing where its canonical prefix is read and another where all of it is, as with a key that
 * stands twice: an open session has the tree of the first.
 */
function hasTwofoldLine(bytes: Uint8Array): boolean {
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(10, start);
    const line = bytes.subarray(start, feed < 0 ? bytes.length : feed);
    start += line.length + 1;
    const head = parseEntryPrefix(line);
    if (head === undefined) continue;
    const whole = decodeLine(line, { version: 3, ordinal: 0, maxDepth: 256 });
    if (whole.kind === "bad" && !whole.parsed) continue;
    if (whole.kind !== "entry" || !isDeepStrictEqual(whole.head, head)) return true;
  }
  return false;
}

function placesOf(tree: SessionTree): [string, string | null, number][] {
  return Array.from(tree.walk(), ({ node, depth }) => [node.id, node.parentId, depth]);
}

/** A choice of a long list, its ends included. */
function some<T>(all: readonly T[]): readonly T[] {
  const step = Math.ceil(all.length / looks);
  return all.filter((_, at) => at % step === 0 || at === all.length - 1);
}

function same(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && Buffer.compare(a, b) === 0;
}
