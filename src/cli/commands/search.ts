/** `search`: full text over sessions, newest first. */

import { open, readFile } from "node:fs/promises";
import type { SessionEntry, UnknownEntry } from "../../session/index.js";
import {
  type CommandBody,
  type CommandContext,
  numberOption,
  sourceOptions,
  timeOption,
  UsageError,
} from "../command.js";
import { openOrSkip } from "../damage.js";
import { headline, messageLines } from "../entry-text.js";
import { truncated } from "../output.js";
import { type FoundSession, findSessions, queryOf } from "../sources.js";

export const search: CommandBody = {
  description: [
    "Each argument is a word or a phrase, as it is written; an entry with all of them is found. Sessions come",
    "newest first, and hits as they are found.",
  ],
  finds: "if nothing is found, as with grep",
  arguments: [{ name: "WORDS", kind: "text", multiple: true, description: "Words and phrases." }],
  options: [
    ...sourceOptions.filter(({ name }) => name !== "blobs"),
    { name: "cwd", value: "DIR", description: "Only sessions of this project." },
    { name: "since", value: "T", description: "Only sessions modified since: a date, or an age such as 7d." },
    { name: "number", short: "n", value: "N", description: "At most this many entries." },
  ],
  examples: [{ line: "sessile search 'rate limit' retry --since 30d", does: "entries with both" }],
  async run(parsed, context) {
    const { out, signal } = context;
    const words = parsed.positionals;
    if (words.includes("")) throw new UsageError("WORDS: expected a word or a phrase, got an empty one");
    const limit = numberOption(parsed, "number", 1) ?? Number.POSITIVE_INFINITY;
    const since = timeOption(parsed, "since", context.now());
    const needles = words.map(needleOf);
    let hits = 0;
    const sessions = await findSessions(parsed, context, queryOf(parsed, since));
    for await (const found of candidates(sessions, needles, signal)) {
      out.progress(() => `${hits} entries; ${found.path}`);
      for await (const { entry, text } of entriesOf(found, needles, context)) {
        if (!words.every((word) => text.includes(word))) continue;
        hits++;
        const snippet = snippetOf(text, words[0] ?? "");
        const { kind } = headline(entry);
        const hit = {
          agent: found.agent,
          session: found.id,
          path: found.path,
          entryId: entry.id,
          kind,
          snippet,
        };
        if (out.json) await out.value(hit);
        else {
          const start = `${found.agent} ${out.clean(found.id)} ${out.clean(entry.id)} ${out.clean(kind)}: `;
          const columns = Math.min(out.columns, 200) - start.length;
          await out.line(`${out.style("dim", start)}${truncated(out.clean(snippet), Math.max(20, columns))}`);
        }
        if (hits >= limit) return 0;
      }
    }
    return hits === 0 ? 1 : 0;
  },
};

/** The longest run of letters and digits: JSON writes those of ASCII as they are. */
function needleOf(word: string): Buffer {
  const runs = word.match(/[a-zA-Z0-9]+/g) ?? [""];
  return Buffer.from(runs.reduce((longest, run) => (run.length > longest.length ? run : longest), ""));
}

const chunkBytes = 256 * 1024;
/** Files that are read while others are searched. */
const readAhead = 4;

/** The sessions whose files have the bytes, in order. */
async function* candidates(
  sessions: readonly FoundSession[],
  needles: readonly Buffer[],
  signal: AbortSignal,
): AsyncGenerator<FoundSession> {
  const scans: Promise<boolean>[] = [];
  let next = 0;
  for (const found of sessions) {
    while (scans.length < readAhead && next < sessions.length) {
      const scan = mayHave(sessions[next++] as FoundSession, needles, signal);
      // It is awaited below, unless the search ends before.
      scan.catch(() => {});
      scans.push(scan);
    }
    if (await scans.shift()) yield found;
  }
}

/** Whether each needle is in one of a session's files. Bytes are cheaper than entries. */
async function mayHave(
  { files, path }: FoundSession,
  needles: readonly Buffer[],
  signal: AbortSignal,
): Promise<boolean> {
  let missing = needles.filter(({ length }) => length > 0);
  const overlap = missing.reduce((most, { length }) => Math.max(most, length - 1), 0);
  const buffer = Buffer.allocUnsafe(overlap + chunkBytes);
  for (const each of files ?? [path]) {
    // A compressed file and a database do not show their text.
    if (/\.(?:zst|db)$/.test(each)) return true;
    const file = await open(each).catch(() => undefined);
    // Opening it tells why it is not readable.
    if (file === undefined) return true;
    try {
      for (let kept = 0; missing.length > 0; ) {
        signal.throwIfAborted();
        const { bytesRead } = await file.read(buffer, kept, buffer.length - kept);
        if (bytesRead === 0) break;
        const chunk = buffer.subarray(0, kept + bytesRead);
        missing = missing.filter((needle) => chunk.indexOf(needle) < 0);
        kept = Math.min(overlap, chunk.length);
        buffer.copy(buffer, 0, chunk.length - kept, chunk.length);
      }
    } finally {
      await file.close();
    }
    if (missing.length === 0) return true;
  }
  return missing.length === 0;
}

/** A larger file is not read in whole. */
const maxFileBytes = 64 * 1024 * 1024;

/**
 * The ids of a session's lines that have all needles: decoding the other lines takes most of the time.
 * Undefined if the lines do not tell them: other agents' files, large ones, and those without ids.
 */
async function idsOfLines(
  { path, read, size }: FoundSession,
  needles: readonly Buffer[],
): Promise<ReadonlySet<string> | undefined> {
  const [first, ...others] = [...needles].sort((a, b) => b.length - a.length);
  if (read !== undefined || size > maxFileBytes || first === undefined || first.length === 0)
    return undefined;
  // Opening the session tells why it is not readable.
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const ids = new Set<string>();
  for (let at = bytes.indexOf(first); at >= 0; ) {
    const end = bytes.indexOf(lineFeed, at);
    const line = bytes.subarray(bytes.lastIndexOf(lineFeed, at) + 1, end < 0 ? bytes.length : end);
    if (others.every((needle) => line.includes(needle))) {
      const id = idOf(line);
      if (id === undefined) return undefined;
      ids.add(id);
    }
    at = end < 0 ? -1 : bytes.indexOf(first, end);
  }
  return ids;
}

const lineFeed = 10;

/** The id in a line; "" for a damaged line, which is no entry, and undefined for one without an id. */
function idOf(line: Buffer): string | undefined {
  try {
    const { id } = JSON.parse(line.toString()) as { readonly id?: unknown };
    return typeof id === "string" ? id : undefined;
  } catch {
    return "";
  }
}

/** Entries with their texts, subagents included. A session that cannot be read is named, and skipped. */
async function* entriesOf(
  found: FoundSession,
  needles: readonly Buffer[],
  context: CommandContext,
): AsyncGenerator<{ readonly entry: SessionEntry | UnknownEntry; readonly text: string }> {
  const ids = await idsOfLines(found, needles);
  const opened = await openOrSkip(found, context, { isSearch: true });
  if (opened === undefined) return;
  try {
    for (const session of [opened.session, ...opened.children]) {
      for (const { node } of session.tree.walk()) {
        context.signal.throwIfAborted();
        if (ids?.has(node.id) === false) continue;
        const entry = await session.entry(node.id);
        if (entry !== undefined) yield { entry, text: textOf(entry) };
      }
    }
  } finally {
    await opened.close();
  }
}

function textOf(entry: SessionEntry | UnknownEntry): string {
  if (entry.type !== "message") return headline(entry).text;
  return messageLines(entry.message)
    .map(({ title = "", text }) => `${title}\n${text}`)
    .join("\n");
}

const before = 40;
const snippetLength = 400;

function snippetOf(text: string, word: string): string {
  const at = Math.max(0, text.indexOf(word) - before);
  return `${at > 0 ? "…" : ""}${text.slice(at, at + snippetLength)}`;
}
