/**
 * A search over the sessions that a command found, by the search of a store: this library's own and pi's in
 * their files, those of other agents imported into memory one after the other.
 */

import { dirname } from "node:path";
import { isOwnAgent } from "../agents/internal.js";
import { memoryBlobStore } from "../blobs/index.js";
import {
  memorySessionStore,
  type SearchCandidates,
  type SearchHit,
  type SearchQuery,
  type SessionLog,
} from "../session/index.js";
import { openLog, type SearchBackend, searchSessions } from "../session/internal.js";
import { fileSessionStore } from "../storage/files/index.js";
import type { CommandContext } from "./command.js";
import { damagedLines, noteDamage } from "./damage.js";
import type { FoundSession } from "./named-session.js";
import { filesTest } from "./search-bytes.js";

/** A hit with the session that was found; for a subagent that is not among them, its parent. */
export interface FoundHit {
  readonly found: FoundSession;
  readonly hit: SearchHit;
}

/** Yields the entries of sessions that match a query, newest first, as `search` of a store does. */
export async function* searchFound(
  sessions: readonly FoundSession[],
  query: SearchQuery,
  context: CommandContext,
): AsyncGenerator<FoundHit, void, undefined> {
  const { out } = context;
  const searched = new SearchedSessions(sessions, query.text, context);
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
  readonly #sessions: readonly FoundSession[];
  readonly #context: CommandContext;
  readonly #filesTest: ReturnType<typeof filesTest>;
  readonly #found = new Map<string, FoundSession>();
  /** The sessions by agent and id: a subagent among them is not searched with its parent too. */
  readonly #ids: ReadonlySet<string>;
  /** The logs of the import at hand, by their locations: its own, and those of its subagents. */
  #imported: ReadonlyMap<string, SessionLog> = new Map();

  constructor(sessions: readonly FoundSession[], text: string, context: CommandContext) {
    this.#sessions = sessions;
    this.#context = context;
    this.#filesTest = filesTest(text);
    this.#ids = new Set(sessions.map(({ agent, id }) => `${agent} ${id}`));
  }

  /** The session with a log at this location. */
  found(location = ""): FoundSession | undefined {
    return this.#found.get(location);
  }

  async *list(): AsyncGenerator<SearchCandidates> {
    let count = 0;
    for (const found of this.#sessions) {
      if (!(await this.#mayHave(found))) continue;
      count++;
      this.#context.out.progress(() => `${count} sessions with the words; ${found.path}`);
      const { id, path, modified } = found;
      this.#imported = isOwn(found) ? new Map() : await this.#import(found);
      for (const location of isOwn(found) ? [path] : this.#imported.keys()) {
        this.#found.set(location, found);
        yield { id, location, modifiedAt: Date.parse(modified) };
      }
    }
  }

  async open(id: string, { location = "" }: { readonly location?: string | undefined }) {
    const imported = this.#imported.get(location);
    if (imported !== undefined) return imported;
    const { backend } = fileSessionStore({ dir: dirname(location) });
    return backend.open(id, { partition: "", mode: "read", location });
  }

  async #mayHave(found: FoundSession): Promise<boolean> {
    // Reading a session whose file is gone tells so.
    const files = isOwn(found) ? [found.path] : await found.currentFiles?.().catch(() => undefined);
    return files === undefined || this.#filesTest(files, this.#context.signal);
  }

  async #import(found: FoundSession): Promise<ReadonlyMap<string, SessionLog>> {
    const { signal, out } = this.#context;
    const logs = new Map<string, SessionLog>();
    try {
      const blobs = memoryBlobStore();
      const store = memorySessionStore({ blobs });
      const imported = await found.read?.({ blobs, keep: "none" });
      const children = imported?.children.filter(
        ({ header }) => !this.#ids.has(`${found.agent} ${header.id}`),
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

/** pi's files are this library's own. */
const isOwn = ({ agent, read }: FoundSession) => read === undefined || isOwnAgent(agent);
