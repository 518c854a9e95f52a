/** `search`: full text over sessions, newest first, by the search of a store. */

import { parseQuery, queryProblem } from "../../log/internal.js";
import { clockSlack } from "../../session/internal.js";
import { type CommandBody, numberOption, textOption, timeOption, UsageError } from "../command.js";
import { truncated } from "../output.js";
import { searchFound } from "../search-sessions.js";
import { findSessions, parsedQuery, sourceOptions } from "../sources.js";

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
    "order. Hits come newest first. Text that an edit or an erasure took out is not found. It is the rule of",
    "`store.search`, for sessions of all agents.",
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
    { name: "until", value: "T", description: "Only entries before: a date, or an age such as 7d." },
    {
      name: "branch",
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
    const sessions = await findSessions(parsed, context, parsedQuery(parsed, modified));
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
      const message = `--role: nothing found for ${JSON.stringify(role)}; known are ${roles.join(", ")}`;
      out.warn({ code: "role", message });
    }
    return hits === 0 ? 1 : 0;
  },
};

export const bodies = { search };
