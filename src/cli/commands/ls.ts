/** `ls`: the sessions of all agents, newest first. */

import { isOwnAgent } from "../../agents/internal.js";
import { memoryBlobStore } from "../../blobs/index.js";
import { openSessionFile } from "../../storage/files/index.js";
import { type CommandBody, type CommandContext, numberOption, timeOption } from "../command.js";
import type { FoundSession } from "../named-session.js";
import { bytesText, table, textWidth, truncated } from "../output.js";
import {
  describedBlocks,
  noSessions,
  parsedQuery,
  type SearchedLists,
  searchedSessions,
  sourceOptions,
} from "../sources.js";

const shownIdLength = 13;

const ls: CommandBody = {
  description: [
    "Without DIR it lists the store `.sessile/sessions` of this project and the sessions of all known agents.",
    "With `--agent` of another agent, DIR is the agent's home. Sessions come by the times of their files, those of one",
    "time by the names, the last first; only files that are listed are read. Turns are counted in the newest 200",
    "sessions that are quickly read.",
  ],
  arguments: [
    { name: "DIR", kind: "directory", optional: true, description: "A store of sessions, as `--dir`." },
  ],
  options: [
    ...sourceOptions.filter(({ name }) => name !== "blobs"),
    { name: "cwd", value: "DIR", description: "Only sessions of this project." },
    { name: "since", value: "T", description: "Only sessions modified since: a date, or an age such as 7d." },
    { name: "number", short: "n", value: "N", description: "At most this many." },
  ],
  examples: [
    { line: "sessile ls --since 7d", does: "the sessions of the last week" },
    { line: "sessile ls backup/sessions", does: "those of a store" },
    { line: "sessile ls --all-partitions", does: "also chats and threads that adapters of frameworks saved" },
    { line: "sessile ls --store sqlite:sessions.db", does: "those of a database" },
    { line: "sessile ls --agent codex --json", does: "a line of JSON for each session of Codex" },
  ],
  async run(parsed, context) {
    const { out } = context;
    const since = timeOption(parsed, "since", context.now());
    const limit = numberOption(parsed, "number", 1) ?? Number.POSITIVE_INFINITY;
    const [dir = parsed.options.dir] = parsed.positionals;
    const here = { ...parsed, options: { ...parsed.options, dir } };
    const lists = await searchedSessions(here, context, parsedQuery(parsed, since));
    const turns = new TurnCounter(context);
    const list = new SessionTable(lists, context);
    let count = 0;
    for await (const { sessions, isLast } of describedBlocks(lists, limit)) {
      const turnsOf = await turns.count(sessions);
      count += sessions.length;
      out.progress(() => `${count} sessions`);
      if (!out.json) await list.print(sessions, turnsOf, isLast);
      else
        for (const each of sessions) {
          const { open: _, read: _read, files: _files, home: _home, ...session } = each;
          await out.value({ ...session, turns: turnsOf.get(each) });
        }
    }
    if (count === 0 && !out.json) out.note(await noSessions(here, context));
    return 0;
  },
};

/** A table that is printed in blocks, of which each is at least as wide as those before. */
class SessionTable {
  readonly #out: CommandContext["out"];
  readonly #ids: string[];
  readonly #agents: readonly string[];
  #isDivided: boolean | undefined;
  /** A row of spaces, as wide as the widest cells so far. */
  #widest: readonly string[] = [];

  constructor({ foreign }: SearchedLists, { out }: CommandContext) {
    this.#out = out;
    this.#ids = foreign.map(({ id }) => id);
    this.#agents = [...new Set(foreign.map(({ agent }) => agent))];
  }

  async print(
    sessions: readonly FoundSession[],
    turns: ReadonlyMap<FoundSession, number>,
    isLast: boolean,
  ): Promise<void> {
    const out = this.#out;
    if (sessions.length === 0) return;
    for (const { id } of sessions) this.#ids.push(id);
    const idLength = uniqueLength(this.#ids);
    const isDivided = this.#isDivided === true || sessions.some(({ partition }) => partition !== undefined);
    const isNew = isDivided !== this.#isDivided;
    const divided = <T>(value: T): readonly T[] => (isDivided ? [value] : []);
    const columns = [
      { title: "agent" },
      ...divided({ title: "partition" }),
      { title: "id" },
      { title: "modified", leaves: 1 },
      { title: "turns", align: "right", leaves: 3 },
      { title: "size", align: "right", leaves: 4 },
      { title: "project", leaves: 2 },
      { title: "title", grow: true },
    ] as const;
    const row = (cells: { readonly [Title in (typeof columns)[number]["title"]]?: string }) =>
      columns.map(({ title }) => cells[title] ?? "");
    const rows = sessions.map((each) =>
      row({
        agent: each.agent,
        partition: out.clean(each.partition ?? ""),
        id: out.clean(each.id.slice(0, idLength)),
        modified: each.modified.slice(0, 16).replace("T", " "),
        turns: String(turns.get(each) ?? ""),
        size: bytesText(each.size),
        project: truncated(out.clean(projectByCwd(each.cwd)), maxProject),
        title: out.clean(each.title ?? ""),
      }),
    );
    // Rows to come are seldom wider.
    const ahead = this.#agents.map((agent) => row({ agent, size: "99.9 MB", project: " ".repeat(16) }));
    const before = isNew ? (isLast ? [] : ahead) : [this.#widest];
    const all = [...rows, ...before];
    this.#widest = columns.map((_, at) =>
      " ".repeat(all.reduce((width, cells) => Math.max(width, textWidth(cells[at] ?? "")), 0)),
    );
    const [head = "", ...lines] = table(columns, all, out.columns);
    await out.line(...(isNew ? [out.style("dim", head)] : []), ...lines.slice(0, rows.length));
    this.#isDivided = isDivided;
  }
}

const maxProject = 24;

/** The length from which on starts of the ids differ. */
function uniqueLength(all: readonly string[]): number {
  const ids = [...new Set(all)].sort();
  let length = shownIdLength;
  for (let at = 1; at < ids.length; at++) {
    const [a, b] = [ids[at - 1] as string, ids[at] as string];
    let same = 0;
    while (same < a.length && a[same] === b[same]) same++;
    length = Math.max(length, same + 1);
  }
  return length;
}

function projectByCwd(cwd: string | undefined): string {
  return cwd?.split(/[/\\]/).filter(Boolean).at(-1) ?? "";
}

export const bodies = { ls };

// The turns of sessions in a list: messages of the user, counted in sessions that are quick to read.

const maxCounted = 200;
/** Bytes: opening a file of this library reads little of each line; an import parses all of it. */
const maxOwnBytes = 64_000_000;
const maxForeignBytes = 8_000_000;

/** Counts the turns of the first sessions, up to some number and some bytes, so that a long list is as fast. */
class TurnCounter {
  readonly #context: CommandContext;
  readonly #left = { sessions: maxCounted, own: maxOwnBytes, foreign: maxForeignBytes };

  constructor(context: CommandContext) {
    this.#context = context;
  }

  /** The counts of the next sessions. Further ones, and those that cannot be read, have none. */
  async count(sessions: readonly FoundSession[]): Promise<ReadonlyMap<FoundSession, number>> {
    const { signal, out } = this.#context;
    const turns = new Map<FoundSession, number>();
    for (const session of sessions) {
      signal.throwIfAborted();
      if (this.#left.sessions-- <= 0) break;
      out.progress(() => `turns of ${maxCounted - this.#left.sessions} sessions`);
      const kind = isOwn(session) ? "own" : "foreign";
      if (session.size > this.#left[kind]) continue;
      this.#left[kind] -= session.size;
      const count = await (isOwn(session) ? turnsOfFile(session) : turnsOfImport(session)).catch(
        () => undefined,
      );
      if (count !== undefined) turns.set(session, count);
    }
    return turns;
  }
}

/** pi's files are read as this library's own. */
const isOwn = ({ agent, read }: FoundSession) => read === undefined || isOwnAgent(agent);

async function turnsOfFile({ path }: FoundSession): Promise<number> {
  const session = await openSessionFile(path);
  try {
    let count = 0;
    for (const { node } of (await session.tree()).walk())
      if (node.type === "message" && node.role === "user") count++;
    return count;
  } finally {
    await session.close();
  }
}

async function turnsOfImport({ read }: FoundSession): Promise<number | undefined> {
  const imported = await read?.({ blobs: memoryBlobStore(), keep: "none", isQuiet: true });
  return imported?.entries.filter((entry) => entry.type === "message" && entry.message.role === "user")
    .length;
}
