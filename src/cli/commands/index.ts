/** All commands, in the order of the help: a line each. Their modules are loaded when they are called. */

import type { CommandBody, CommandRow } from "../command.js";

export const commands: readonly CommandRow[] = [
  row("ls", "List sessions, newest first", () => import("./ls.js")),
  row("show", "Show a session: tree, context, turn or entry", () => import("./show.js")),
  row("search", "Find entries with all of the given words", () => import("./search.js")),
  row("stats", "Count turns, calls, tokens, cost, cache hits, files", () => import("./stats.js")),
  row("diff", "Compare two branches or points of a session", () => import("./diff.js")),
  row("project", "Show the request that a provider would get", () => import("./project.js")),
  row("diagnose", "Say whether session files are whole, and what is wrong", () => import("./diagnose.js")),
  row(
    "salvage",
    "Write a clean file from the readable lines of a damaged one",
    () => import("./diagnose.js"),
  ),
  row("blobs ls", "List blobs, with the sessions that refer to them", () => import("./blobs.js")),
  row("blobs verify", "Read every blob: rotten, missing, orphaned", () => import("./blobs.js")),
  row("blobs gc", "Collect blobs that no session refers to", () => import("./blobs.js")),
  row("import", "Copy a session of another agent into a store", () => import("./interop.js")),
  row("export", "Write a session as files that another agent resumes", () => import("./interop.js")),
  row("convert", "Turn a file of one agent into files of another", () => import("./interop.js")),
  row("archive", "Copy the sessions of all agents, before they delete them", () => import("./archive.js")),
  row("resume", "Continue a session in its agent, or in another one", () => import("./resume.js")),
  row("restore", "Give an agent back the files of an archived session", () => import("./archive.js")),
  row("redact", "Write a copy to share, without secrets and attachments", () => import("./redact.js")),
  row("merge", "Merge two diverged copies of a session file", () => import("./sync.js")),
  row("sync", "Bring two stores the sessions and entries that either lacks", () => import("./sync.js")),
  row("view", "Write a session as one HTML file to look at", () => import("./view.js")),
  row("serve", "Show all sessions, or one as it is written, in the browser", () => import("./serve.js")),
  row("completion", "Print the completion script of a shell", () => import("./completion.js")),
];

/** The module has a body of this name. */
function row<Name extends string>(
  name: Name,
  summary: string,
  load: () => Promise<{ readonly bodies: Readonly<Record<Name, CommandBody>> }>,
): CommandRow {
  return { name, summary, load };
}
