import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type LogAppend,
  type LogErasure,
  type LogPosition,
  type SearchCandidates,
  type SearchIndexQuery,
  type SessionBackend,
  type SessionLog,
  type SessionStore,
  type StoredSession,
  sessionStore,
} from "sessile";
import { type ConformanceCase, type ConformanceFixture, sessionStoreConformance } from "sessile/conformance";
import { SessileError } from "sessile/errors";
import { afterEach, describe, expect, test } from "vitest";
import { searchTermsOfLine } from "../../src/log/internal.js";
import { logBatchLines } from "../../src/session/runtime/log-lines.js";
import { fileSessionStoreOn } from "../../src/storage/files/session-store.js";
import { fileSystemByProcessClock } from "../support/file-clock.js";
import { subjects } from "../support/rounds.js";
import { hookedMemory } from "./hooked-backend.js";

const maxLineBytes = 2 * 1024 * 1024;
const unnamed = { partition: "", cwd: "/work", timestamp: "2026-01-01T00:00:00.000Z" };

type LosingBackend = SessionBackend & Pick<ConformanceFixture, "loseAnswer" | "contents">;

/** The lines of a backend in memory, whose list has all of them. */
async function* linesIn(backend: SessionBackend): AsyncGenerator<Uint8Array> {
  for await (const { head } of backend.list({ partition: "" })) yield* head;
}

function fixtureOn(backend: LosingBackend): ConformanceFixture {
  const { loseAnswer } = backend;
  return {
    open: () => sessionStore(backend, { maxLineBytes }),
    contents: backend.contents?.bind(backend) ?? (() => linesIn(backend)),
    maxLineBytes,
    ...(loseAnswer === undefined ? {} : { loseAnswer }),
    async put(id, lines) {
      const { log, position } = await backend.create({ ...unnamed, id });
      const bytes = lines.map((line) => new TextEncoder().encode(`${line}\n`));
      await log.append(bytes, position);
      await log.close();
    },
  };
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function fileFixture(durability: "disk" | "os"): ConformanceFixture {
  const dir = mkdtempSync(join(tmpdir(), "sessile-"));
  folders.push(dir);
  const disk = fileSystemByProcessClock();
  const options = { dir, durability, maxLineBytes, lockWaitMs: 60_000 };
  const open = (): SessionStore => fileSessionStoreOn(disk, options);
  return {
    open,
    maxLineBytes,
    async *contents() {
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }))
        if (entry.isFile()) yield readFileSync(join(entry.parentPath, entry.name));
    },
    async tear(id) {
      const session = await open().open(id);
      appendFileSync(session.location as string, '{"type":"message","id":"torn0001","parentId":"e00');
      await session.close();
    },
    async put(id, lines) {
      const project = join(dir, "--work--");
      mkdirSync(project, { recursive: true });
      const path = join(project, `2026-01-01T00-00-00-000Z_${id}.jsonl`);
      writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
    },
  };
}

const fixtures: Readonly<Record<string, () => ConformanceFixture>> = {
  "a store in memory": () => fixtureOn(losing(poisoned)),
  "a store in files that are durable on disk": () => fileFixture("disk"),
  "a store in files that are durable in the operating system": () => fileFixture("os"),
};

describe.each(subjects(2, fixtures))("%s", (_, fixture) => {
  for (const { name, run } of sessionStoreConformance) {
    // @covers R89 › raw gives the line as it is stored
    // @covers R121 › branchWithSummary begins the new branch with what the old one came to
    // @covers R122 › an extract is one path, with its labels resolved
    // @covers R153 › list tells archived sessions from active ones
    // @covers R156 › of two writers the second is told, and has written nothing
    // @covers security:session-ids › create refuses ids and partitions that are no names
    test(name, async ({ skip }) => {
      const result = await run(fixture());
      if (result !== undefined) skip(result.skipped);
    });
  }
});

describe("a store in memory with an index", () => {
  test.each(sessionStoreConformance.filter(({ name }) => /^search/.test(name)))("$name", async ({ run }) => {
    expect(await run(fixtureOn(indexed()))).toBeUndefined();
  });
});

test("every case has a name of its own", () => {
  const names = sessionStoreConformance.map(({ name }) => name);
  expect([...new Set(names)]).toEqual(names);
});

/** A backend in memory that does some things in another way. */
function broken(how: (sound: SessionBackend) => Partial<SessionBackend>): SessionBackend {
  const sound = hookedMemory();
  return {
    create: (session) => sound.create(session),
    open: (id, options) => sound.open(id, options),
    list: (query) => sound.list(query),
    delete: (id, options) => sound.delete(id, options),
    ...how(sound),
  };
}

/** The same, of each of its logs. */
function brokenLogs(how: (sound: SessionLog) => Partial<SessionLog>): SessionBackend {
  const change = (sound: SessionLog): SessionLog => ({
    append: (lines, expected) => sound.append(lines, expected),
    read: (from, options) => sound.read(from, options),
    readAt: (places) => sound.readAt(places),
    replace: async (lines, expected) => (await sound.replace?.(lines, expected)) as LogPosition,
    erase: async (changes, expected) => (await sound.erase?.(changes, expected)) as LogErasure,
    delete: (at) => sound.delete?.(at) as Promise<void>,
    close: () => sound.close(),
    ...how(sound),
  });
  return broken((backend) => ({
    async create(session) {
      const { log, position } = await backend.create(session);
      return { log: change(log), position };
    },
    async open(id, options) {
      const log = await backend.open(id, options);
      return log && change(log);
    },
  }));
}

/** A backend in memory with an index, which does some things in another way. */
function indexed(
  how: {
    readonly terms?: (line: Uint8Array, at: number) => readonly string[];
    readonly has?: (term: string, wanted: string) => boolean;
    readonly change?: (query: SearchIndexQuery) => SearchIndexQuery;
  } = {},
): SessionBackend {
  const { terms = searchTermsOfLine, change = (query) => query } = how;
  const { has = (term, wanted) => term.startsWith(wanted) } = how;
  return broken((sound) => ({
    async *search(asked) {
      const { partition, anyOf } = change(asked);
      const found: SearchCandidates[] = [];
      for await (const { id, modifiedAt } of sound.list({ partition })) {
        const log = (await sound.open(id, { partition, mode: "read" })) as SessionLog;
        const at: number[] = [];
        for await (const batch of log.read(undefined)) {
          logBatchLines(batch).forEach((line, index) => {
            const own = terms(line, batch.at[index] as number);
            const isFound = anyOf.some((all) => all.every((term) => own.some((each) => has(each, term))));
            if (isFound) at.push(batch.at[index] as number);
          });
        }
        if (at.length > 0) found.push({ id, modifiedAt, at });
      }
      yield* found;
    },
  }));
}

/** A backend in memory whose logs lose the answer of an append on demand; then `answer` gives another one. */
function losing(
  answer: (sound: SessionLog, lines: readonly Uint8Array[]) => Promise<LogAppend>,
): LosingBackend {
  let loses = false;
  const backend = brokenLogs((sound) => ({
    async append(lines, expected) {
      const isLost = loses;
      loses = false;
      const appended = await sound.append(lines, expected);
      return isLost ? answer(sound, lines) : appended;
    },
  }));
  return {
    ...backend,
    loseAnswer() {
      loses = true;
    },
  };
}

function poisoned(): never {
  throw new SessileError("WRITER_POISONED", "the end of the log is unknown", {
    details: { id: "", reason: "lost" },
  });
}

function failed(): never {
  throw new SessileError("STORAGE_FAILED", "the connection was lost", {
    details: { operation: "append", path: "", errno: "ECONNRESET" },
  });
}

async function endOf(log: SessionLog): Promise<LogPosition | undefined> {
  let end: LogPosition | undefined;
  try {
    for await (const { next } of log.read(undefined)) end = next;
  } catch {
    // Nothing is there yet.
  }
  return end;
}

/** Mistakes of a backend, and cases that must find them. */
const mistakes: Readonly<
  Record<string, { readonly backend: () => SessionBackend; readonly found: readonly string[] }>
> = {
  "forgets the last line of a batch": {
    backend: () =>
      brokenLogs((sound) => ({
        async append(lines, expected) {
          const { position, at } = await sound.append(
            lines.slice(0, Math.max(2, lines.length - 1)),
            expected,
          );
          return { position, at: [...at, at.at(-1) as number].slice(0, lines.length) };
        },
      })),
    found: [
      "adopt writes entries with their ids, parents and times",
      "what was acknowledged is read back by another handle, equal entry by entry",
      "a batch is written all or none",
      "appends of one tick follow each other",
    ],
  },
  "acknowledges before it writes": {
    backend: () =>
      brokenLogs((sound) => ({
        async append(lines, expected) {
          const position = await endOf(sound);
          if (position === undefined) return sound.append(lines, expected);
          setTimeout(() => sound.append(lines, expected), 20);
          return { position, at: lines.map((_, index) => index) };
        },
      })),
    found: ["each append is there for other handles when it resolves"],
  },
  "ignores what is expected": {
    backend: () =>
      brokenLogs((sound) => ({
        async append(lines, expected) {
          try {
            return await sound.append(lines, expected);
          } catch (error) {
            if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
            return sound.append(lines, error.details.actual as LogPosition);
          }
        },
      })),
    found: [
      "of adoptions that race one writes, and the others add nothing",
      "of two writers the second is told, and has written nothing",
      "of eight racing writers exactly one wins each round",
      "an id that another writer gave to another body is refused",
    ],
  },
  "ignores partitions": {
    backend: () =>
      broken((sound) => ({
        create: (session) => sound.create({ ...session, partition: "" }),
        open: (id, options) => sound.open(id, { ...options, partition: "" }),
        list: (query) => sound.list({ ...query, partition: "" }),
        delete: (id) => sound.delete(id, { partition: "" }),
      })),
    found: ["partitions do not see each other's sessions"],
  },
  "lists the oldest first": {
    backend: () =>
      broken((sound) => ({
        async *list(query) {
          const all: StoredSession[] = [];
          for await (const stored of sound.list(query)) all.unshift(stored);
          yield* all;
        },
      })),
    found: [
      "list gives sessions by their last change, newest first",
      "list can be bounded in time",
      "list tells archived sessions from active ones",
    ],
  },
  "begins every page at the start": {
    backend: () => broken((sound) => ({ list: ({ after: _, ...query }) => sound.list(query) })),
    found: ["paging visits each session once, in order"],
  },
  "leaves out a session at the end of each page": {
    backend: () =>
      broken((sound) => ({
        async *list(query) {
          let skipped = query.after === undefined;
          for await (const stored of sound.list(query)) {
            if (skipped) yield stored;
            skipped = true;
          }
        },
      })),
    found: ["paging visits each session once, in order"],
  },
  "makes a session when it is created": {
    backend: () =>
      broken((sound) => ({
        async create(session) {
          const { log, position } = await sound.create(session);
          const header = { type: "session", version: 3, ...session };
          const line = new TextEncoder().encode(`${JSON.stringify(header)}\n`);
          return { log, position: (await log.append([line], position)).position };
        },
      })),
    found: ["adopt is all or none", "create stores nothing before the first append"],
  },
  "takes an id twice": {
    backend: () =>
      broken((sound) => ({
        async create(session) {
          await sound.delete(session.id, session);
          return sound.create(session);
        },
      })),
    found: [
      "adopt refuses an id that is taken, and adds to it on request",
      "create refuses an id that is taken",
      "a fork up to an entry has the lines up to that one",
    ],
  },
  "says that it deleted what was not there": {
    backend: () =>
      broken((sound) => ({
        async delete(id, options) {
          await sound.delete(id, options);
          return true;
        },
      })),
    found: ["a deleted session is gone", "create stores nothing before the first append"],
  },
  "writes into a session that was created again under the id": {
    backend: () =>
      broken((sound) => {
        const byId = (id: string, log: SessionLog): SessionLog => ({
          append: async (lines, expected) => {
            try {
              return await log.append(lines, expected);
            } catch (error) {
              const later = await sound.open(id, { partition: "", mode: "write", location: undefined });
              if (later === undefined || !SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
              return later.append(lines, expected);
            }
          },
          read: (from, options) => log.read(from, options),
          readAt: (places) => log.readAt(places),
          close: () => log.close(),
        });
        return {
          async create(session) {
            const { log, position } = await sound.create(session);
            return { log: byId(session.id, log), position };
          },
        };
      }),
    found: [
      "a session that is deleted and created again is another one: a handle of the first writes nothing",
    ],
  },
  "reads the lines of a session that was created again under the id": {
    backend: () =>
      broken((sound) => ({
        async open(id, options) {
          const opened = await sound.open(id, options);
          const current = async () => (await sound.open(id, options)) ?? (opened as SessionLog);
          return (
            opened && {
              append: (lines, expected) => opened.append(lines, expected),
              async *read(from, each) {
                yield* (await current()).read(from, each);
              },
              readAt: async (places) => (await current()).readAt(places),
              close: () => opened.close(),
            }
          );
        },
      })),
    found: [
      "a handle on a session that was deleted and created again reads nothing of the new one",
      "follow yields nothing of a session that was created again under the id",
    ],
  },
  "copies as many lines of a session that was created again under the id": {
    backend: () =>
      broken((sound) => {
        const idOf = new WeakMap<SessionLog, string>();
        return {
          async create(session) {
            const { log, position } = await sound.create(session);
            const copy: SessionLog["copy"] = async (from, first, to) => {
              const id = idOf.get(from) as string;
              const count = Number(to.split(":")[1]);
              for (;;) {
                // Until the other session is there.
                const now = await sound.open(id, { partition: "", mode: "read" });
                const lines: Uint8Array[] = [];
                if (now !== undefined)
                  for await (const batch of now.read(undefined)) lines.push(...logBatchLines(batch));
                await new Promise((resolve) => setTimeout(resolve, 1));
                if (lines.length <= count) continue;
                const copied = lines.slice(1, count).map((line) => new Uint8Array([...line, 10]));
                await log.append([first, ...copied], position);
                return true;
              }
            };
            return { log: Object.assign(log, { copy }), position };
          },
          async open(id, options) {
            const log = await sound.open(id, options);
            if (log !== undefined) idOf.set(log, id);
            return log;
          },
        };
      }),
    found: ["a fork that races with a deletion and a creation copies one of both sessions, whole"],
  },
  "writes again after a lost answer": {
    backend: () => losing(async (sound, lines) => sound.append(lines, (await endOf(sound)) as LogPosition)),
    found: [
      "an append whose answer is lost is acknowledged, or fails, and is stored once after a retry",
      "an append without ids whose answer is lost is stored at most once",
    ],
  },
  "takes a lost answer for a failure": {
    backend: () => losing(failed),
    found: ["an append whose answer is lost is acknowledged, or fails, and is stored once after a retry"],
  },
  "takes its own lost append for another session's": {
    backend: () =>
      losing(() => {
        throw new SessileError("SESSION_EXISTS", "there is a session already", { details: { id: "" } });
      }),
    found: ["an append whose answer is lost is acknowledged, or fails, and is stored once after a retry"],
  },
  "keeps what it erases": {
    backend: () => {
      const kept: Uint8Array[] = [];
      const backend = brokenLogs((sound) => ({
        async erase(changes, expected) {
          for await (const batch of sound.read(undefined)) kept.push(...logBatchLines(batch));
          return (await sound.erase?.(changes, expected)) as LogErasure;
        },
      }));
      const contents = async function* () {
        yield* linesIn(backend);
        yield* kept;
      };
      return Object.assign(backend, { contents });
    },
    found: [
      "an erased body is gone, and all else is as it was",
      "an erasure removes the copy that a migration kept",
    ],
  },
  "erases one line at most": {
    backend: () =>
      brokenLogs((sound) => ({
        erase: async (changes, expected) => (await sound.erase?.(changes.slice(-1), expected)) as LogErasure,
      })),
    found: ["an erased body is gone, and all else is as it was"],
  },
  "erases without telling": {
    backend: () =>
      brokenLogs((sound) => {
        // The change is made in the arrays of the lines, so that positions stay.
        return {
          async erase(changes, expected) {
            for await (const batch of sound.read(undefined)) {
              for (const [index, bytes] of logBatchLines(batch).entries()) {
                const change = changes.find(({ at }) => at === batch.at[index]);
                if (change !== undefined)
                  bytes.fill(0x20).set(change.line.slice(0, Math.min(bytes.length, change.line.length - 1)));
              }
            }
            return { position: expected, removed: [], remaining: [] };
          },
        };
      }),
    found: ["a handle from before an erasure is told, and reads again"],
  },
  "erases whatever is expected": {
    backend: () =>
      brokenLogs((sound) => ({
        erase: async (changes) =>
          (await sound.erase?.(changes, (await endOf(sound)) as LogPosition)) as LogErasure,
      })),
    found: ["an erasure of a log that another writer changed does nothing"],
  },
  "deletes nothing": {
    backend: () => broken(() => ({ delete: async () => true })),
    found: ["a deleted session is gone"],
  },
  "reads lines in the order of their places": {
    backend: () =>
      brokenLogs((sound) => ({
        readAt: (places) => sound.readAt([...places].sort((a, b) => b.at - a.at)),
      })),
    found: ["the context of one branch never has another's messages"],
  },
  "finds nothing new": {
    backend: () =>
      brokenLogs((sound) => ({
        async *read(from, options) {
          if (from === undefined) yield* sound.read(from, options);
        },
      })),
    found: ["refresh gives what another writer added, in order"],
  },
  "indexes the first lines of a log alone": {
    backend: () => indexed({ terms: (line, at) => (at > 8 ? [] : searchTermsOfLine(line)) }),
    found: [
      "search finds text of every kind when its append resolves",
      "search finds what contexts show, by an index as by a scan",
    ],
  },
  "indexes whole words": {
    backend: () => indexed({ has: (term, wanted) => term === wanted }),
    found: [
      "search finds text of every kind when its append resolves",
      "search finds what contexts show, by an index as by a scan",
    ],
  },
  "indexes words as they are written": {
    backend: () => indexed({ terms: (line) => new TextDecoder().decode(line).split(/[^\p{L}\p{N}]+/u) }),
    found: [
      "search compares words in any script",
      "search finds what contexts show, by an index as by a scan",
    ],
  },
  "looks up one alternative": {
    backend: () => indexed({ change: (query) => ({ ...query, anyOf: query.anyOf.slice(0, 1) }) }),
    found: [
      "search finds no text that an edit took out, from its append on",
      "search finds text in a log of an older version",
    ],
  },
  "indexes all partitions as one": {
    backend: () => indexed({ change: (query) => ({ ...query, partition: "" }) }),
    found: [
      "search finds the newest first, within its bounds",
      "search finds copies, and nothing of a deleted session",
    ],
  },
  "stores text of two-byte units": {
    backend: () =>
      brokenLogs((sound) => ({
        append: (lines, expected) =>
          sound.append(
            lines.map((line) => new TextEncoder().encode(new TextDecoder("latin1").decode(line))),
            expected,
          ),
      })),
    found: ["text with any character comes back as it was"],
  },
};

/** Why a case fails on this backend; undefined where it does not. */
async function failureOf({ run }: ConformanceCase, backend: SessionBackend): Promise<string | undefined> {
  try {
    await run(fixtureOn(backend));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe.each(Object.entries(mistakes))("a backend that %s", (_, { backend, found }) => {
  test.each(found)("is found by: %s", async (name) => {
    const testCase = sessionStoreConformance.find((candidate) => candidate.name === name);
    expect(await failureOf(testCase as ConformanceCase, backend())).toMatch(/expected .+, got /s);
  });
});
