/** All sessions of all agents for the pages of `serve`: found in the background, searched, their costs summed. */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { setImmediate as pause } from "node:timers/promises";
import { resumeWords } from "../agents/internal.js";
import { parseQuery, queryProblem } from "../log/internal.js";
import {
  type CostsOfSessions,
  type FoundText,
  type ListedSession,
  type ListUpdate,
  maxHits,
} from "../viewer/internal.js";
import type { CommandContext, Parsed } from "./command.js";
import { searchFound } from "./commands/search.js";
import { openCounted, Spending } from "./commands/stats.js";
import type { FoundSession, SourceNotes } from "./named-session.js";
import { Output } from "./output.js";
import { namedSessions, parsedQuery, searchedList } from "./sources.js";
import { isDatabase } from "./stores.js";

/** The newest sessions come first, since the files of all others are then only listed. */
const recentMs = 7 * 86_400_000;
/** Between two searches for changed files, which list all of them. */
const rescanMs = 4000;
/** The time of a file may be somewhat earlier than that of its last write. */
const slackMs = 5000;
const keyLength = 16;

interface Known {
  readonly found: FoundSession;
  readonly listed: ListedSession;
  /** The version of the list with which it came, changed or went. */
  readonly version: number;
  /** Its file was deleted or moved. */
  readonly isGone: boolean;
}

/** The sessions on this machine, as they were found last. */
export class House {
  readonly #parsed: Parsed;
  readonly #context: CommandContext;
  readonly #findSessions: typeof namedSessions;
  /** Sessions that this version of Node cannot read are in no list, so that the terminal names them. */
  readonly #notes: SourceNotes;
  readonly #known = new Map<string, Known>();
  #version = 0;
  #isWhole = false;
  #scannedAt = Number.NEGATIVE_INFINITY;
  #scan: Promise<void> | undefined;
  #costs: { readonly spending: Spending; done: number; total: number } | undefined;

  /** @param find finds the sessions; another one is for tests */
  constructor(parsed: Parsed, context: CommandContext, find = namedSessions) {
    this.#parsed = parsed;
    this.#findSessions = find;
    this.#notes = { skip() {}, warn: (warning) => context.out.warn(warning) };
    // Damage and unreadable files are told by the page of their session, not again with each search.
    this.#context = { ...context, out: silentOutput(context) };
  }

  /** The sessions that came or changed after a version. The first answer has the newest ones alone. */
  async list(after: number): Promise<ListUpdate> {
    await this.#refresh();
    const changed = [...this.#known.values()].filter(({ version }) => version > after);
    const sessions = changed.flatMap(({ listed, isGone }) => (isGone ? [] : [listed]));
    const gone = changed.flatMap(({ listed, isGone }) => (isGone ? [listed.key] : []));
    const { now } = this.#context;
    return { version: this.#version, isWhole: this.#isWhole, now: now(), sessions, gone };
  }

  session(key: string): FoundSession | undefined {
    const known = this.#known.get(key);
    return known?.isGone === false ? known.found : undefined;
  }

  /** The entries that have the words, newest session first; a problem of the words instead. */
  async *search(text: string, signal: AbortSignal): AsyncGenerator<FoundText, void, undefined> {
    const problem = queryProblem(text) ?? (parseQuery(text).length === 0 ? "a letter or a digit" : undefined);
    if (problem !== undefined) return yield { problem: `expected ${problem}` };
    await this.#whole();
    const sessions = this.#newestFirst();
    const keys = new Map(sessions.map(({ found, listed }) => [found, listed.key]));
    const query = { text, branch: "path", limit: maxHits, signal } as const;
    const lists = searchedList(sessions.map(({ found }) => found));
    for await (const { found: session, hit } of searchFound(lists, query, { ...this.#context, signal })) {
      const { entryId, role, at, snippet, sessionId } = hit;
      const child = sessionId === session.id ? {} : { session: sessionId };
      yield { key: keys.get(session) ?? "", ...child, entryId, role, at, snippet };
    }
  }

  /** The costs so far. The first call begins to sum them. */
  costs(): CostsOfSessions {
    if (this.#costs === undefined) {
      const spending = new Spending(["day", "model"], {});
      this.#costs = { spending, done: 0, total: this.#known.size };
      // A stop of the command ends it; after an error the next call begins again.
      this.#sum(this.#costs).catch(() => {
        this.#costs = undefined;
      });
    }
    const { spending, done, total } = this.#costs;
    const groups = spending.groups.map(({ day = "", model = "", calls, total, cost, unpriced }) => ({
      ...{ day, model, calls, tokens: total, cost, unpriced },
    }));
    return { done, total, groups };
  }

  async #sum(costs: { readonly spending: Spending; done: number; total: number }): Promise<void> {
    await this.#whole();
    const sessions = this.#newestFirst();
    costs.total = sessions.length;
    for (const { found } of sessions) {
      this.#context.signal.throwIfAborted();
      const opened = await openCounted(found).catch(() => undefined);
      if (opened !== undefined) {
        try {
          for (const session of [opened.session, ...opened.children]) await costs.spending.add(session);
        } catch {
          // One that cannot be read in full: its calls so far count.
        } finally {
          await opened.close();
        }
      }
      costs.done++;
      // Requests in between.
      await pause();
    }
  }

  async #whole(): Promise<void> {
    await this.#refresh();
    await this.#scan;
  }

  #newestFirst(): readonly Known[] {
    const there = [...this.#known.values()].filter(({ isGone }) => !isGone);
    return there.sort((a, b) => (a.listed.modified < b.listed.modified ? 1 : -1));
  }

  async #refresh(): Promise<void> {
    const now = this.#context.now();
    if (this.#scan === undefined) {
      this.#scannedAt = now;
      const recent = this.#find(new Date(now - recentMs));
      this.#scan = recent
        .then(() => this.#find())
        .then(() => {
          this.#isWhole = true;
        });
      // The next call tells the reason.
      this.#scan.catch(() => {
        this.#scan = undefined;
      });
      return recent;
    }
    if (!this.#isWhole || now < this.#scannedAt + rescanMs) return;
    const since = new Date(this.#scannedAt - slackMs);
    this.#scannedAt = now;
    await this.#find(since);
    this.#look();
  }

  async #find(since?: Date): Promise<void> {
    const query = { ...parsedQuery(this.#parsed, since), notes: this.#notes };
    const sessions = await this.#findSessions(this.#parsed, this.#context, query);
    // After the search: another one may have ended since its start, and a page may have the version of that.
    const version = this.#version + 1;
    for (const found of sessions) {
      const listed = listedSession(found);
      const before = this.#known.get(listed.key);
      if (before !== undefined && JSON.stringify(before.listed) === JSON.stringify(listed)) continue;
      this.#known.set(listed.key, { found, listed, version, isGone: false });
      this.#version = version;
    }
  }

  /** Looks which files are gone, or there again. A session that is deleted from a database stays. */
  #look(): void {
    const version = this.#version + 1;
    for (const [key, known] of this.#known) {
      const { path } = known.found;
      const isGone = !isDatabase(path) && !existsSync(path);
      if (isGone === known.isGone) continue;
      this.#known.set(key, { ...known, isGone, version });
      this.#version = version;
    }
  }
}

function listedSession(found: FoundSession): ListedSession {
  const { agent, id, path, title, cwd, created, modified, size, parent } = found;
  // The same in the next run, and safe in an address whatever the id is.
  const key = createHash("sha256").update(`${agent}\0${path}\0${id}`).digest("hex").slice(0, keyLength);
  const words = resumeWords(agent, id, [{ path }]) ?? [];
  const there = cwd === undefined || cwd === "" ? [] : [`cd ${quoted(cwd)}`];
  return {
    ...{ key, agent, id, modified, size },
    ...(title !== undefined && { title: title.slice(0, 300) }),
    ...(cwd !== undefined && { cwd }),
    ...(created !== undefined && { created }),
    ...(parent !== undefined && { parent }),
    ...(words.length > 0 && { resume: [...there, words.map(quoted).join(" ")].join(" && ") }),
  };
}

/** A word for a POSIX shell. Control characters cannot end the line that a user pastes. */
function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
  return `'${word.replace(/[\u0000-\u001f\u007f]/g, "?").replaceAll("'", "'\\''")}'`;
}

function silentOutput({ env, now }: CommandContext): Output {
  const stream = {
    write(_text: string, done?: (error?: Error | null) => void) {
      done?.();
      return true;
    },
  };
  return new Output({ stdout: stream, stderr: stream, env, json: false, now });
}
