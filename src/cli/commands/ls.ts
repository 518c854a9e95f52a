/** `ls`: the sessions of all agents, newest first. */

import { isOwnAgent } from "../../agents/internal.js";
import { memoryBlobStore } from "../../blobs/index.js";
import { openSessionFile } from "../../storage/files/index.js";
import { type CommandBody, type CommandContext, numberOption, timeOption } from "../command.js";
import type { FoundSession } from "../named-session.js";
import { bytesText, table, truncated } from "../output.js";
import { namedSessions, noSessions, parsedQuery, sourceOptions } from "../sources.js";

const shownIdLength = 13;

const ls: CommandBody = {
  description: [
    "Without DIR it lists the store `.sessile/sessions` of this project and the sessions of all known agents.",
    "With `--agent` of another agent, DIR is the agent's home. Turns are counted in the newest 200 sessions that are",
    "quickly read.",
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
    const found = (await namedSessions(here, context, parsedQuery(parsed, since))).slice(0, limit);
    const turns = await countTurns(found, context);
    if (out.json) {
      for (const each of found) {
        const { open: _, read: _read, files: _files, home: _home, ...session } = each;
        await out.value({ ...session, turns: turns.get(each) });
      }
      return 0;
    }
    if (found.length === 0) {
      out.note(await noSessions(here, context));
      return 0;
    }
    const idLength = uniqueLength(found);
    const isDivided = found.some(({ partition }) => partition !== undefined);
    const columns = [
      { title: "agent" },
      ...(isDivided ? [{ title: "partition" }] : []),
      { title: "id" },
      { title: "modified", leaves: 1 },
      { title: "turns", align: "right", leaves: 3 },
      { title: "size", align: "right", leaves: 4 },
      { title: "project", leaves: 2 },
      { title: "title", grow: true },
    ] as const;
    const rows = found.map((each) => {
      const { agent, id, modified, size, cwd, title } = each;
      return [
        agent,
        ...(isDivided ? [out.clean(each.partition ?? "")] : []),
        out.clean(id.slice(0, idLength)),
        modified.slice(0, 16).replace("T", " "),
        String(turns.get(each) ?? ""),
        bytesText(size),
        truncated(out.clean(projectByCwd(cwd)), 24),
        out.clean(title ?? ""),
      ];
    });
    const [head = "", ...lines] = table(columns, rows, out.columns);
    await out.line(out.style("dim", head), ...lines);
    return 0;
  },
};

/** The length from which on starts of the ids differ. */
function uniqueLength(found: readonly FoundSession[]): number {
  const ids = [...new Set(found.map(({ id }) => id))].sort();
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

/**
 * Counts the turns of the first sessions, up to some number and some bytes, so that a long list is as fast.
 * The others, and those that cannot be read, have no count.
 */
export async function countTurns(
  sessions: readonly FoundSession[],
  { signal, out }: CommandContext,
): Promise<ReadonlyMap<FoundSession, number>> {
  const turns = new Map<FoundSession, number>();
  const left = { own: maxOwnBytes, foreign: maxForeignBytes };
  for (const session of sessions.slice(0, maxCounted)) {
    signal.throwIfAborted();
    out.progress(() => `turns of ${turns.size} sessions`);
    const kind = isOwn(session) ? "own" : "foreign";
    if (session.size > left[kind]) continue;
    left[kind] -= session.size;
    const count = await (isOwn(session) ? turnsOfFile(session) : turnsOfImport(session)).catch(
      () => undefined,
    );
    if (count !== undefined) turns.set(session, count);
  }
  return turns;
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
