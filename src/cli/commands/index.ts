/** All commands, in the order of the help. Their modules are loaded when they are called. */

import type { CommandRow } from "../command.js";

export const commands: readonly CommandRow[] = [
  {
    name: "ls",
    summary: "List sessions, newest first",
    load: async () => (await import("./ls.js")).ls,
  },
  {
    name: "show",
    summary: "Show a session: tree, context, turn or entry",
    load: async () => (await import("./show.js")).show,
  },
  {
    name: "search",
    summary: "Find entries with all of the given words",
    load: async () => (await import("./search.js")).search,
  },
  {
    name: "stats",
    summary: "Count turns, calls, tokens, cost, cache hits, files",
    load: async () => (await import("./stats.js")).stats,
  },
  {
    name: "diff",
    summary: "Compare two branches or points of a session",
    load: async () => (await import("./diff.js")).diff,
  },
  {
    name: "project",
    summary: "Show the request that a provider would get",
    load: async () => (await import("./project.js")).project,
  },
  {
    name: "diagnose",
    summary: "Say whether session files are whole, and what is wrong",
    load: async () => (await import("./diagnose.js")).diagnose,
  },
  {
    name: "salvage",
    summary: "Write a clean file from the readable lines of a damaged one",
    load: async () => (await import("./diagnose.js")).salvage,
  },
  {
    name: "blobs ls",
    summary: "List blobs, with the sessions that refer to them",
    load: async () => (await import("./blobs.js")).blobsList,
  },
  {
    name: "blobs verify",
    summary: "Read every blob: rotten, missing, orphaned",
    load: async () => (await import("./blobs.js")).blobsVerify,
  },
  {
    name: "blobs gc",
    summary: "Collect blobs that no session refers to",
    load: async () => (await import("./blobs.js")).blobsCollect,
  },
  {
    name: "import",
    summary: "Copy a session of another agent into a store",
    load: async () => (await import("./interop.js")).importCommand,
  },
  {
    name: "export",
    summary: "Write a session as files that another agent resumes",
    load: async () => (await import("./interop.js")).exportCommand,
  },
  {
    name: "convert",
    summary: "Turn a file of one agent into files of another",
    load: async () => (await import("./interop.js")).convert,
  },
  {
    name: "redact",
    summary: "Write a copy to share, without secrets and attachments",
    load: async () => (await import("./redact.js")).redact,
  },
  {
    name: "merge",
    summary: "Merge two diverged copies of a session file",
    load: async () => (await import("./sync.js")).merge,
  },
  {
    name: "sync",
    summary: "Bring two stores the sessions and entries that either lacks",
    load: async () => (await import("./sync.js")).sync,
  },
  {
    name: "view",
    summary: "Write a session as one HTML file to look at",
    load: async () => (await import("./view.js")).view,
  },
  {
    name: "serve",
    summary: "Show a session in the browser as it is being written",
    load: async () => (await import("./serve.js")).serve,
  },
  {
    name: "completion",
    summary: "Print the completion script of a shell",
    load: async () => (await import("./completion.js")).completionCommand(commands),
  },
];
