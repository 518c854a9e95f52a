/** `ls`: the sessions of all agents, newest first. */

import { type CommandBody, numberOption, timeOption } from "../command.js";
import type { FoundSession } from "../named-session.js";
import { bytesText, table, truncated } from "../output.js";
import { findSessions, parsedQuery, sourceOptions } from "../sources.js";
import { countTurns } from "../turns.js";

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
    { line: "sessile ls --agent codex --json", does: "a line of JSON for each session of Codex" },
  ],
  async run(parsed, context) {
    const { out } = context;
    const since = timeOption(parsed, "since", context.now());
    const limit = numberOption(parsed, "number", 1) ?? Number.POSITIVE_INFINITY;
    const [dir = parsed.options.dir] = parsed.positionals;
    const here = { ...parsed, options: { ...parsed.options, dir } };
    const found = (await findSessions(here, context, parsedQuery(parsed, since))).slice(0, limit);
    const turns = await countTurns(found, context);
    if (out.json) {
      for (const each of found) {
        const { open: _, read: _read, files: _files, ...session } = each;
        await out.value({ ...session, turns: turns.get(each) });
      }
      return 0;
    }
    if (found.length === 0) {
      out.note("no sessions");
      return 0;
    }
    const idLength = uniqueLength(found);
    const columns = [
      { title: "agent" },
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
