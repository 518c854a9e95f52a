/** `search`: full text over sessions, newest first, by the search of a store. */

import { closeSync, readSync } from "node:fs";
import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isOwnAgent } from "../../agents/internal.js";
import { memoryBlobStore } from "../../blobs/index.js";
import {
  foldCase,
  hidesLetters,
  isWordAt,
  parseQuery,
  queryProblem,
  rarestPart,
} from "../../log/internal.js";
import {
  memorySessionStore,
  type SearchCandidates,
  type SearchHit,
  type SearchQuery,
  type SessionLog,
} from "../../session/index.js";
import { clockSlack, openLog, type SearchBackend, searchSessions } from "../../session/internal.js";
import { fileSessionStore } from "../../storage/files/index.js";
import { sessionKey } from "../archive-index.js";
import {
  type CommandBody,
  type CommandContext,
  numberOption,
  textOption,
  timeOption,
  UsageError,
} from "../command.js";
import { openRegularNow } from "../files.js";
import { readHint } from "../help.js";
import { damagedLines, type FoundSession, noteDamage } from "../named-session.js";
import { truncated } from "../output.js";
import { merged, parsedQuery, type SearchedLists, searchedSessions, sourceOptions } from "../sources.js";

/** As in a store's search. */
const defaultLimit = 100;

/** The roles of messages with text, then the types of other entries with text. Other programs may add some. */
const roles = [
  ...["user", "assistant", "toolResult", "system", "bashExecution", "custom"],
  ...["compaction", "branch_summary", "custom_message", "label", "session_info", "resource_observation"],
];

const search: CommandBody = {
  description: [
    "An entry is found if it has all of the words, in any case; a word also finds longer ones that begin with it.",
    "Words within quotation marks, which a shell takes away unless they are quoted too, are found whole and in this",
    "order. Hits come newest first; in a restored backup, whose files have other times, over 64 sessions at once.",
    "Text that an edit or an erasure took out is not found. It is the rule of `store.search`, for all agents.",
  ],
  about: [
    "An entry is found if it has all of the words, in any case; a word also finds longer ones that begin with it.",
    "A phrase within quotation marks, which a shell needs quoted too, is found whole. Hits come newest first.",
  ],
  finds: "if nothing is found, as with grep",
  arguments: [{ name: "WORDS", kind: "text", multiple: true, description: "Words and phrases." }],
  options: [
    ...sourceOptions.filter(({ name }) => name !== "blobs"),
    { name: "cwd", value: "DIR", description: "Only sessions of this project." },
    {
      name: "role",
      value: "ROLE",
      offers: roles,
      description: "Only messages of this role, or entries of this type.",
    },
    { name: "since", value: "T", description: "Only entries since: a date, or an age such as 7d." },
    {
      name: "until",
      value: "T",
      isRare: true,
      description: "Only entries before: a date, or an age such as 7d.",
    },
    {
      name: "branch",
      isRare: true,
      value: "B",
      choices: ["path", "all"],
      description: "The path to each session's leaf, or all branches. Default: path.",
    },
    {
      name: "number",
      short: "n",
      value: "N",
      description: `At most this many entries. Default: ${defaultLimit}.`,
    },
  ],
  examples: [
    { line: "sessile search retry limit --since 30d", does: "entries with both" },
    { line: `sessile search '"rate limit"' --role user`, does: "questions with this phrase" },
  ],
  async run(parsed, context) {
    const { out } = context;
    const words = parsed.positionals;
    const text = words.join(" ");
    if (words.includes("")) throw new UsageError("WORDS: expected a word or a phrase, got an empty one");
    const problem = queryProblem(text);
    if (problem !== undefined) throw new UsageError(`WORDS: expected ${problem}`);
    if (parseQuery(text).length === 0)
      throw new UsageError(`WORDS: expected a letter or a digit, got ${JSON.stringify(text)}`);
    const given = numberOption(parsed, "number", 1);
    const since = timeOption(parsed, "since", context.now());
    const until = timeOption(parsed, "until", context.now());
    const role = textOption(parsed, "role");
    const branch = textOption(parsed, "branch") === "all" ? "all" : "path";
    // The time of a file may be that of another clock.
    const modified = since && new Date(since.getTime() - clockSlack);
    const sessions = await searchedSessions(parsed, context, parsedQuery(parsed, modified));
    const query = {
      ...({ text, branch, limit: given ?? defaultLimit + 1, signal: context.signal } as const),
      ...(role !== undefined && { role }),
      ...(since && { since }),
      ...(until && { until }),
    };
    let hits = 0;
    for await (const { found, hit } of searchFound(sessions, query, context)) {
      if (++hits > (given ?? defaultLimit)) break;
      const { entryId, role, at, snippet } = hit;
      const { agent, id: session, path } = found;
      if (out.json) await out.value({ agent, session, path, entryId, role, at, snippet });
      else {
        const start = `${[agent, session, entryId, role].map((each) => out.clean(each)).join(" ")}: `;
        const columns = Math.max(20, Math.min(out.columns, 200) - start.length);
        await out.line(`${out.style("dim", start)}${truncated(out.clean(snippet), columns)}`);
      }
    }
    if (given === undefined && hits > defaultLimit)
      out.warn({ code: "limit", message: `more than ${defaultLimit} entries match; -n N shows more` });
    if (hits === 0 && role !== undefined && !roles.includes(role)) {
      const hint = readHint(role, roles).replace(/\.$/, "");
      const message = `--role: nothing found for ${JSON.stringify(role)}; known are ${roles.join(", ")}${hint}`;
      out.warn({ code: "role", message });
    }
    return hits === 0 ? 1 : 0;
  },
};

export const bodies = { search };

// A search over the sessions that a command found, by the search of a store: this library's own and pi's in
// their files, those of other agents imported into memory one after the other.

/** A hit with the session that was found; for a subagent that is not among them, its parent. */
export interface FoundHit {
  readonly found: FoundSession;
  readonly hit: SearchHit;
}

/**
 * Yields the entries of sessions that match a query, newest first, as `search` of a store does. Files whose times are
 * not those of their entries are put in order over {@link maxAhead} of them.
 */
export async function* searchFound(
  sessions: SearchedLists,
  query: SearchQuery,
  context: CommandContext,
): AsyncGenerator<FoundHit, void, undefined> {
  const { out } = context;
  const searched = new SearchedSessions(sessions, query, context);
  // A session that is only read uses its log alone.
  const { backend } = memorySessionStore();
  const hits = searchSessions(searched, query, {
    partition: "",
    skipped: (location, error) => out.skip(searched.found(location)?.path ?? location, error),
    async open(log) {
      const session = await openLog(backend, log, {});
      const found = searched.found(session.location);
      if (found !== undefined) noteDamage(found.path, damagedLines(session.diagnostics), out);
      return session;
    },
  });
  for await (const hit of hits) {
    const found = searched.found(hit.location);
    if (found !== undefined) yield { found, hit };
  }
}

/** The sessions as a backend; those whose files cannot have the words are left out. */
class SearchedSessions implements SearchBackend {
  readonly #lists: SearchedLists;
  readonly #context: CommandContext;
  readonly #since: number;
  readonly #filesTest: ReturnType<typeof filesTest>;
  readonly #found = new Map<string, FoundSession>();
  /** The sessions by agent and id: a subagent among them is not searched with its parent too. */
  #ids: ReadonlySet<string> | undefined;
  /** The logs of the import at hand, by their locations: its own, and those of its subagents. */
  #imported: ReadonlyMap<string, SessionLog> = new Map();

  constructor(lists: SearchedLists, { text, since }: SearchQuery, context: CommandContext) {
    this.#lists = lists;
    this.#context = context;
    this.#since = since?.getTime() ?? 0;
    this.#filesTest = filesTest(text);
  }

  /** The session with a log at this location. */
  found(location = ""): FoundSession | undefined {
    return this.#found.get(location);
  }

  async *list(): AsyncGenerator<SearchCandidates> {
    for await (const { found: named, newestAt, restNewestAt } of this.#newestFirst()) {
      if (named !== undefined) yield* this.#candidates(named, newestAt);
      // Without places: the hits that no later session can precede need not wait for the next file with the words.
      yield { id: "", modifiedAt: restNewestAt, at: [] };
    }
  }

  async *#candidates(named: FoundSession, modifiedAt: number): AsyncGenerator<SearchCandidates> {
    const found = named.describe === undefined ? named : await named.describe();
    if (found === undefined) return;
    const { id, path } = found;
    this.#imported = isOwn(found) ? new Map() : await this.#import(found);
    for (const location of isOwn(found) ? [path] : this.#imported.keys()) {
      this.#found.set(location, found);
      yield { id, location, modifiedAt };
    }
  }

  /**
   * Sessions with the words by the time of their newest entry, newest first. The time of a file is at least that one; in
   * a restored backup it is much later. So files are looked at as far as the order needs. At most {@link maxAhead} of
   * them come before a session that was found is searched. An item without a session lets the search show the hits that
   * are newer than all others.
   */
  async *#newestFirst(): AsyncGenerator<OrderedSession> {
    /** Newest last. */
    const known: TimedSession[] = [];
    const sessions = merged(this.#lists.lists);
    const all = this.#lists.count === undefined ? "" : ` of ${this.#lists.count}`;
    let searched = 0;
    let count = 0;
    for (let next = await sessions.next(); next.done !== true || known.length > 0; ) {
      this.#context.signal.throwIfAborted();
      const nextAt = next.done === true ? Number.NEGATIVE_INFINITY : Date.parse(next.value.modified);
      const newest = known.at(-1);
      const isFull = known.length === maxAhead || searched - (newest?.searched ?? searched) >= maxAhead;
      if (newest !== undefined && (isFull || newest.newestAt >= nextAt)) {
        known.pop();
        const restAt = Math.max(known.at(-1)?.newestAt ?? 0, isFull ? 0 : nextAt);
        yield { ...newest, restNewestAt: Math.max(restAt, this.#since) };
        continue;
      }
      const named = next.value as FoundSession;
      if (newest === undefined) yield { newestAt: nextAt, restNewestAt: nextAt };
      searched++;
      this.#context.out.progress(
        () => `${count} sessions with the words, ${searched}${all} searched; ${named.path}`,
      );
      if (nextAt >= this.#since - clockSlack && (await this.#mayHave(named))) {
        count++;
        const newestAt = this.#newestAt(named, nextAt);
        const at = known.findLastIndex((each) => each.newestAt < newestAt) + 1;
        known.splice(at, 0, { found: named, newestAt, searched });
      }
      next = await sessions.next();
    }
  }

  #newestAt(found: FoundSession, modified: number): number {
    if (modified < this.#since) return modified;
    const newest = newestTime(found.files ?? [found.path]);
    // The search ends at a session before `since`, and an entry before the end of a file may be newer.
    return Math.max(this.#since, Math.min(modified, newest ?? modified));
  }

  async open(id: string, { location = "" }: { readonly location?: string | undefined }) {
    const imported = this.#imported.get(location);
    if (imported !== undefined) return imported;
    const { backend } = fileSessionStore({ dir: dirname(location) });
    return backend.open(id, { partition: "", mode: "read", location });
  }

  async #mayHave(found: FoundSession): Promise<boolean> {
    return this.#filesTest(isOwn(found) ? [found.path] : filesOf(found), this.#context.signal);
  }

  async #import(found: FoundSession): Promise<ReadonlyMap<string, SessionLog>> {
    const { signal, out } = this.#context;
    const logs = new Map<string, SessionLog>();
    try {
      const blobs = memoryBlobStore();
      const store = memorySessionStore({ blobs });
      const imported = await found.read?.({ blobs, keep: "none" });
      this.#ids ??= new Set(this.#lists.foreign.map(sessionKey));
      const ids = this.#ids;
      const children = imported?.children.filter(
        ({ header }) => !ids.has(sessionKey({ agent: found.agent, id: header.id })),
      );
      for (const each of imported === undefined ? [] : [imported, ...(children ?? [])]) {
        const { id } = each.header;
        await (await store.adopt(each)).close();
        const log = await store.backend.open(id, { partition: "", mode: "read" });
        const location = `${found.path}#${id}`;
        if (log !== undefined) logs.set(location, Object.assign(log, { location }));
      }
    } catch (error) {
      signal.throwIfAborted();
      out.skip(found.path, error);
      return new Map();
    }
    return logs;
  }
}

/** A session with the words. */
interface TimedSession {
  readonly found: FoundSession;
  /** Milliseconds since 1970. No entry is newer. */
  readonly newestAt: number;
  /** The number of sessions that were searched when it was found. */
  readonly searched: number;
}

interface OrderedSession extends Partial<TimedSession> {
  readonly newestAt: number;
  /** No entry of a later session is newer. */
  readonly restNewestAt: number;
}

/** Files that are looked at while a session that was found waits for newer ones. */
const maxAhead = 64;
const endBytes = 32 * 1024;

/** The newest time that records at the ends of files have; undefined if the end of one has none. */
function newestTime(paths: readonly string[]): number | undefined {
  let newest = 0;
  for (const path of paths) {
    // Of a compressed file or a database the end shows any text.
    const end = hidesText(path) ? undefined : fileEnd(path);
    if (end === undefined) return undefined;
    // Within a text the quotation marks have backslashes.
    const times = end.matchAll(/"(?:timestamp|lastUpdated)" ?: ?"([\dT:.Z+-]{20,35})"/g);
    let last = Number.NEGATIVE_INFINITY;
    for (const [, time = ""] of times) last = Math.max(last, Date.parse(time) || last);
    if (last < 0) return undefined;
    newest = Math.max(newest, last);
  }
  return newest === 0 ? undefined : newest;
}

/** The end of a file as Latin-1; undefined if it cannot be read. */
function fileEnd(path: string): string | undefined {
  const file = openRegularNow(path);
  if (file === undefined) return undefined;
  try {
    const bytes = Buffer.allocUnsafe(endBytes);
    const length = readSync(file.fd, bytes, 0, endBytes, Math.max(0, file.size - endBytes));
    return bytes.toString("latin1", 0, length);
  } finally {
    closeSync(file.fd);
  }
}

/** pi's files are this library's own. */
const isOwn = ({ agent, read }: FoundSession) => read === undefined || isOwnAgent(agent);

// Whether the bytes of files may have the words of a search: a test costs a tenth of reading entries. The
// answer may be yes for files in which nothing is found, and is never no for others.

const chunkBytes = 512 * 1024;
/** Of a longer word its beginning is looked for. */
const maxWordLength = 256;
/** Bytes that a chunk repeats of the one before: a word, an escape or a character may be on the border. */
const overlap = maxWordLength;

/** Texts that imports add to those of an agent's files. */
const textsOfImports = [
  "that is not base64",
  "[file part]",
  "[Attached application/octet-stream",
  "[Old tool result content cleared]",
  "What did we do so far?",
  "The following tool was executed by the user",
].map(foldCase);

/** Some milliseconds of work. */
const bytesBetweenTurns = 4 * 1024 * 1024;

const hidesText = (path: string) => /\.(?:zst|db)$/.test(path);

/** The files of a session of another agent. The first one is looked at before the others are sought. */
async function* filesOf(found: FoundSession): AsyncGenerator<string> {
  const { path } = found;
  yield path;
  // That of a session whose file is gone is opened again: reading it tells so.
  const files = await found.currentFiles?.().catch(() => ["", path]);
  for (const other of files?.slice(1) ?? []) yield other;
}

type FilePaths = Iterable<string> | AsyncIterable<string>;

/**
 * Makes the test of a query's text. It reads files without promises, which take longer than the bytes of a short
 * session. After some milliseconds the process can do other things.
 */
export function filesTest(text: string): (paths: FilePaths, signal: AbortSignal) => Promise<boolean> {
  const words = parseQuery(text).flatMap((phrase) => phrase.words.map((word) => word.text));
  // JSON writes letters and digits of ASCII as they are, but for escapes that are not needed. Files without a
  // letter are rare.
  const plain = words.filter(
    (word) =>
      /^[a-z0-9]{2,256}$/.test(word.slice(0, maxWordLength)) &&
      !textsOfImports.some((each) => each.includes(word)),
  );
  const wanted = [...new Set(plain.map((word) => word.slice(0, maxWordLength)))];
  const bytes = Buffer.alloc(overlap + chunkBytes);
  let sinceTurn = 0;
  return async (paths, signal) => {
    let missing: readonly string[] = wanted;
    for await (const path of missing.length === 0 ? [] : paths) {
      // A compressed file and a database do not show their text.
      if (hidesText(path)) return true;
      const file = openRegularNow(path);
      // Reading the session tells why its file cannot be read.
      if (file === undefined) return true;
      const { fd, size } = file;
      try {
        for (let at = 0, kept = 0; at < size; ) {
          const length = readSync(fd, bytes, kept, bytes.length - kept, at);
          if (length === 0) break;
          const chunk = bytes.subarray(0, kept + length);
          missing = missing.filter((word) => !hasWord(chunk, word));
          if (missing.length === 0 || hidesCharacters(chunk)) return true;
          at += length;
          kept = Math.min(overlap, chunk.length);
          bytes.copyWithin(0, chunk.length - kept, chunk.length);
          sinceTurn += length;
          if (sinceTurn < bytesBetweenTurns) continue;
          sinceTurn = 0;
          await nextTurn();
          signal.throwIfAborted();
        }
      } finally {
        closeSync(fd);
      }
    }
    return missing.length === 0;
  };
}

/** Whether a word stands in bytes in any case. `indexOf` compares 32 bytes at once. */
function hasWord(bytes: Buffer, word: string): boolean {
  const pairAt = rarestPart(word, 2);
  const [first = "", second = ""] = word.slice(pairAt);
  const cases = (letter: string) => [letter, letter.toUpperCase()];
  const pairs = cases(first).flatMap((one) => cases(second).map((two) => one + two));
  for (const pair of new Set(pairs)) {
    for (let at = bytes.indexOf(pair, 0, "latin1"); at >= 0; at = bytes.indexOf(pair, at + 1, "latin1"))
      if (isWordAt(bytes, at - pairAt, word)) return true;
  }
  return false;
}

/**
 * Whether bytes have an escape or a character that may hide a letter or a digit of ASCII, such as `ﬁ`. A step
 * over 32 bytes of ASCII takes 0.15 s for a gigabyte, one over each byte 0.9 s.
 */
function hidesCharacters(bytes: Buffer): boolean {
  for (let at = bytes.indexOf("\\u"); at >= 0; at = bytes.indexOf("\\u", at + 2)) {
    // That of a control character hides none.
    const isControl = isWordAt(bytes, at + 2, "000") || isWordAt(bytes, at + 2, "001");
    if (!isControl && /^[0-9a-f]{4}/i.test(bytes.toString("latin1", at + 2, at + 6))) return true;
  }
  const parts = new Uint32Array(bytes.buffer, bytes.byteOffset, Math.ceil(bytes.length / 32) * 8);
  const part = (at: number) => parts[at] as number;
  for (let at = 0; at < parts.length; at += 8) {
    const first = part(at) | part(at + 1) | part(at + 2) | part(at + 3);
    const second = part(at + 4) | part(at + 5) | part(at + 6) | part(at + 7);
    if (((first | second) & highBits) === 0) continue;
    for (let word = at; word < at + 8; word++) {
      if ((part(word) & highBits) === 0) continue;
      for (let byte = word * 4; byte < word * 4 + 4; byte++)
        if ((bytes[byte] ?? 0) >= 0x80 && hidesLetters(bytes, byte)) return true;
    }
  }
  return false;
}

/** Of the four bytes of a part: none of ASCII has it. */
const highBits = 0x80808080;
