/** The interface of conformance cases, and the harness that they share. */

import { userMessage } from "../../content/index.js";
import type { EntryDraft, Session, SessionEntry, SessionStore, UnknownEntry } from "../../session/index.js";
import { asFailure, equal } from "../expect.js";

/** The default project directory of the sessions. */
export const cwd = "/work/project";

/** A session as read by another handle. */
export interface ReadBack {
  readonly entries: readonly (SessionEntry | UnknownEntry | undefined)[];
  readonly ids: readonly string[];
  readonly leafId: string | null;
  readonly info: Session["info"];
  readonly codes: readonly string[];
}

/** One run of a case. Sessions that it opened are closed at the end, also after a failure. */
export class Harness {
  readonly fixture: ConformanceFixture;
  readonly #sessions: Session[] = [];

  constructor(fixture: ConformanceFixture) {
    this.fixture = fixture;
  }

  /** Opens the storage through an independent handle. */
  async store(): Promise<SessionStore> {
    return this.fixture.open();
  }

  /** Registers a session, to be closed at the end of the case. */
  async keep(session: Promise<Session>): Promise<Session> {
    const opened = await session;
    this.#sessions.push(opened);
    return opened;
  }

  /** Creates a session, by default through a new store. */
  async create(options: { readonly id?: string; readonly store?: SessionStore } = {}): Promise<Session> {
    const { store = await this.store(), ...rest } = options;
    return this.keep(store.create({ cwd, ...rest }));
  }

  /** Creates a session with one message. */
  async start(options: { readonly id?: string; readonly store?: SessionStore } = {}): Promise<Session> {
    const session = await this.create(options);
    await session.append([say("start")]);
    return session;
  }

  /** Opens a session through an independent handle, as another process would. */
  async open(id: string, mode: "read" | "write" = "write"): Promise<Session> {
    return this.keep((await this.store()).open(id, { mode }));
  }

  /** Reads a session as another process would: entries in the order of a walk through the tree. */
  async readBack(id: string): Promise<ReadBack> {
    const session = await (await this.store()).open(id);
    try {
      const ids = [...(await session.tree()).walk()].map(({ node }) => node.id);
      const entries: (SessionEntry | UnknownEntry | undefined)[] = [];
      for (const entryId of ids) entries.push(await session.entry(entryId));
      const codes = session.diagnostics.map(({ code }) => code);
      return { entries, ids, leafId: session.leafId, info: session.info, codes };
    } finally {
      await session.close();
    }
  }

  /**
   * Fails unless another handle reads exactly these entries in this order, with no diagnostics but those in
   * `found`.
   */
  async reads(
    id: string,
    entries: readonly SessionEntry[],
    what: string,
    found: readonly string[] = [],
  ): Promise<void> {
    const back = await this.readBack(id);
    equal(back.entries, entries, `entries read back ${what}`);
    equal(
      back.codes.filter((code) => !found.includes(code)),
      [],
      `diagnostics ${what}`,
    );
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) await session.close();
  }
}

/** Creates a case, which closes the sessions that it opened. */
export function conformanceCase(
  name: string,
  run: (harness: Harness) => ReturnType<ConformanceCase["run"]>,
): ConformanceCase {
  return {
    name,
    async run(fixture) {
      const harness = new Harness(fixture);
      try {
        return await run(harness);
      } catch (error) {
        throw asFailure(error);
      } finally {
        await harness.close();
      }
    },
  };
}

/** The draft of a user message. */
export function say(text: string, id?: string): EntryDraft {
  return { type: "message", message: userMessage(text), ...(id === undefined ? {} : { id }) };
}

/**
 * The texts of user messages, and the roles of other messages, in the context of a leaf. Default: the current
 * leaf.
 */
export async function textsInContext(session: Session, leafId?: string | null): Promise<readonly unknown[]> {
  const { items } = await session.context(leafId);
  return items.map(({ message }) => (message.role === "user" ? message.content : message.role));
}

/** Collects an async iterable. */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

/** Waits longer than the time resolution of the slowest file system. */
export function pause(ms = 25): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** One empty storage, against which a conformance case runs. */
export interface ConformanceFixture {
  /** Opens a store on the storage. Each call returns an independent handle, as of another process. */
  open(): Promise<SessionStore> | SessionStore;
  /**
   * Appends a torn line to the stored log, as a crash would. Absent if the storage cannot have torn lines.
   */
  tear?(id: string): Promise<void>;
  /**
   * Stores a log of these lines, as another program or a newer version would write it. The header comes
   * first, and lines have no line feed. Absent if no other program writes to the storage.
   */
  put?(id: string, lines: readonly string[]): Promise<void>;
  /**
   * Loses the answer of the next append after its commit, as a connection that breaks does. Absent if the
   * storage has no answers to lose.
   */
  loseAnswer?(): Promise<void> | void;
  /**
   * Yields every byte of the storage, as far as a backend answers for it: without free pages and logs of a
   * database. Absent if it cannot be read.
   */
  contents?(): AsyncIterable<Uint8Array>;
  /** The `maxLineBytes` that the stores were opened with; at least 2 MiB. Absent for the default, 64 MiB. */
  readonly maxLineBytes?: number;
}

/** A test of one guarantee of session stores. */
export interface ConformanceCase {
  /** The guarantee; unique in the suite. */
  readonly name: string;
  /**
   * Runs the case with a fresh fixture, whose storage is empty. Rejects with an Error that has the expected
   * and the actual value. Resolves with the reason if the fixture does not support the case.
   */
  run(fixture: ConformanceFixture): Promise<undefined | { readonly skipped: string }>;
}
