import { userMessage } from "../../content/index.js";
import { asFailure, equal } from "../../internal/expect.js";
import type { EntryDraft, SessionEntry, UnknownEntry } from "../entries.js";
import type { Session, SessionStore } from "../types.js";

/** The project directory of sessions that need none in particular. */
export const cwd = "/work/project";

/** A session as a fresh handle reads it. */
export interface ReadBack {
  readonly entries: readonly (SessionEntry | UnknownEntry | undefined)[];
  readonly ids: readonly string[];
  readonly leafId: string | null;
  readonly info: Session["info"];
  readonly codes: readonly string[];
}

/** One run of a case: what it opens is closed at its end, also where it fails. */
export class Harness {
  readonly fixture: ConformanceFixture;
  readonly #sessions: Session[] = [];

  constructor(fixture: ConformanceFixture) {
    this.fixture = fixture;
  }

  /** A handle on the storage that is independent of those before. */
  async store(): Promise<SessionStore> {
    return this.fixture.open();
  }

  /** Closes the session at the end of the case. */
  async keep(session: Promise<Session>): Promise<Session> {
    const opened = await session;
    this.#sessions.push(opened);
    return opened;
  }

  /** A new session, through a store of its own unless one is given. */
  async create(options: { readonly id?: string; readonly store?: SessionStore } = {}): Promise<Session> {
    const { store = await this.store(), ...rest } = options;
    return this.keep(store.create({ cwd, ...rest }));
  }

  /** A new session with one message. */
  async start(options: { readonly id?: string; readonly store?: SessionStore } = {}): Promise<Session> {
    const session = await this.create(options);
    await session.append([say("start")]);
    return session;
  }

  /** Opens a session as another process would. */
  async open(id: string, mode: "read" | "write" = "write"): Promise<Session> {
    return this.keep((await this.store()).open(id, { mode }));
  }

  /** What another process reads of a session, entries in the order of a walk through the tree. */
  async readBack(id: string): Promise<ReadBack> {
    const session = await (await this.store()).open(id);
    try {
      const ids = [...session.tree.walk()].map(({ node }) => node.id);
      const entries: (SessionEntry | UnknownEntry | undefined)[] = [];
      for (const entryId of ids) entries.push(await session.entry(entryId));
      const codes = session.diagnostics.map(({ code }) => code);
      return { entries, ids, leafId: session.leafId, info: session.info, codes };
    } finally {
      await session.close();
    }
  }

  /**
   * Fails unless another process reads exactly these entries, in this order, and nothing wrong but torn lines, where it
   * may find some.
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

/** A case that closes what it opened. */
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

/** A draft of a user's message. */
export function say(text: string, id?: string): EntryDraft {
  return { type: "message", message: userMessage(text), ...(id === undefined ? {} : { id }) };
}

/** The texts of the user messages in context at the tip, or at a leaf. */
export async function textsInContext(session: Session, leafId?: string | null): Promise<readonly unknown[]> {
  const { items } = await session.context(leafId);
  return items.map(({ message }) => (message.role === "user" ? message.content : message.role));
}

/** All that an async iterable gives. */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

/** Lets the clock of the slowest file system move on. */
export function pause(ms = 25): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What the conformance cases are run against: one empty storage, and ways to it. */
export interface ConformanceFixture {
  /** A store over the fixture's one storage. Each call gives an independent handle, as another process would have. */
  open(): Promise<SessionStore> | SessionStore;
  /** Adds half a line to the end of the stored log, as a crash would. Absent where the storage cannot tear. */
  tear?(id: string): Promise<void>;
  /**
   * Stores a log of these lines as they are, as another program or a newer version would have. Each comes without its
   * line feed, the header first. Absent where nobody else writes.
   */
  put?(id: string, lines: readonly string[]): Promise<void>;
  /** The `maxLineBytes` that the stores were opened with; at least 2 MiB. Absent for the default, 64 MiB. */
  readonly maxLineBytes?: number;
}

/** One promise of a session store, as a program that fails where it is not kept. */
export interface ConformanceCase {
  /** What is promised; unique in the suite. */
  readonly name: string;
  /**
   * Rejects with an Error that says what was expected and what came. Each run wants a fresh fixture, its storage empty.
   * Gives why, where the fixture cannot show what is promised.
   */
  run(fixture: ConformanceFixture): Promise<undefined | { readonly skipped: string }>;
}
