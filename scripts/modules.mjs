/**
 * The modules of the library and their subpaths: the one table from which come the exports of the package, the builds, the
 * aliases of tests, the API reference, the size limits, the layers, and the tables of the README and of architecture.md.
 * A new module or subpath is a row here and `npm run modules`, which writes what other programs read as files.
 *
 * @typedef {object} Subpath
 * @property {string} path below the package: "session/node"
 * @property {number} values exported values; a new one needs a reason, and a line in the changelog
 * @property {string} limit most bytes with all dependencies, minified and gzipped: "5 kB"
 * @property {string} use what the README says of it
 * @property {string} file its source below `src`, without extension: "session/node/index"
 *
 * @typedef {object} Module
 * @property {string} name its folder of `src`
 * @property {number} layer it imports from lower layers only
 * @property {string} owns
 * @property {string} ignores what it does not know
 * @property {readonly Subpath[]} subpaths
 */

/**
 * @param {string} path
 * @param {number} values
 * @param {string} limit
 * @param {string} use
 * @param {string} [file]
 * @returns {Subpath}
 */
const subpath = (path, values, limit, use, file = `${path}/index`) => ({ path, values, limit, use, file });

/**
 * @param {string} name
 * @param {number} layer
 * @param {string} owns
 * @param {string} ignores
 * @param {readonly Subpath[]} [subpaths]
 * @returns {Module}
 */
const module = (name, layer, owns, ignores, subpaths = []) => ({ name, layer, owns, ignores, subpaths });

/** `sessile` itself, which passes on what modules export. */
export const rootSubpath = subpath("", 32, "137.5 kB", "content, session, blobs and `project`", "index");

/** In the order of the README. */
export const modules = [
  module("content", 2, "messages, blocks, resources, contexts, tool pairs", "sessions, files", [
    subpath("content", 11, "4.9 kB", "messages, blocks, resources, contexts: plain data"),
  ]),
  module("session", 5, "entries, the file, the tree, the context, stores", "providers, the place of blobs", [
    subpath("session", 13, "98 kB", "the tree, the context, sessions on any backend"),
    subpath("session/node", 5, "106 kB", "sessions in files"),
    subpath("session/repair", 2, "29.5 kB", "diagnosing a file; a clean copy", "session/node/repair/index"),
    subpath("session/schema", 2, "32.5 kB", "zod schemas of entries and headers", "session/schema"),
    subpath("session/conformance", 1, "34.5 kB", "tests for your session store", "session/conformance"),
  ]),
  module(
    "attachments",
    4,
    "intake, replay policies, the leakage boundary, views, grants",
    "sessions, formats of providers",
    [
      subpath("attachments", 17, "27.5 kB", "storing attachments, showing them"),
      subpath("attachments/node", 1, "5.8 kB", "reading a file that a user or model named"),
    ],
  ),
  module("blobs", 3, "bytes under their digest: puts, reads, quotas, collection", "messages, logs", [
    subpath("blobs", 7, "13 kB", "content-addressed bytes, garbage collection"),
    subpath("blobs/node", 1, "19.4 kB", "blobs in files"),
    subpath("blobs/conformance", 1, "17 kB", "tests for your blob store", "blobs/conformance"),
  ]),
  module("media", 3, "types by bytes", "resources", [
    subpath("media", 4, "8.6 kB", "types of bytes: images, PDF, text"),
  ]),
  module("limits", 3, "limits as rows with sources", "requests", [
    subpath("limits", 4, "7 kB", "limits of providers, as data with sources"),
  ]),
  module("estimate", 3, "token counts", "tokenizers", [
    subpath("estimate", 6, "10 kB", "tokens of text, images and messages"),
  ]),
  module("context-tokens", 3, "attachments as tokens in a text", "blobs, files (a path is text)", [
    subpath("context-tokens", 10, "4 kB", "attachments as tokens in a text"),
  ]),
  module(
    "compaction",
    6,
    "when to compact, what stays, summaries, the file ledger",
    "models (`generate` is a port), projections",
    [subpath("compaction", 19, "53 kB", "summaries of long contexts, three strategies")],
  ),
  module("memory", 7, "blocks of text, prompts, their tools", "models", [
    subpath("memory", 1, "55 kB", "facts and documents beside history"),
  ]),
  module("cost", 6, "prices as rows with sources, sums", "tokens of text, bills", [
    subpath("cost", 4, "19 kB", "costs at published prices"),
  ]),
  module(
    "projections",
    6,
    "a context as a valid request, its losses, replies, refusals",
    "HTTP, keys, loops; one target nothing of another",
    [
      subpath("projections", 10, "59.5 kB", "contexts as requests; losses; refusals explained"),
      subpath("projections/anthropic", 3, "14 kB", "Messages API, replies, streams"),
      subpath("projections/openai", 7, "26.5 kB", "Chat Completions, Responses, replies, streams"),
      subpath("projections/gemini", 3, "14.5 kB", "Gemini API, replies, streams"),
      subpath("projections/bedrock", 3, "16.5 kB", "Converse, replies, streams"),
      subpath("projections/ai-sdk", 3, "17 kB", "model messages of the AI SDK"),
      subpath("projections/mcp", 1, "3 kB", "messages of an MCP prompt"),
      subpath("projections/acp", 1, "3.5 kB", "a prompt for an ACP agent"),
      subpath("projections/claude-agent", 1, "3.5 kB", "user messages for the Claude Agent SDK"),
      subpath("projections/claude-agent/node", 2, "23.5 kB", "its content blocks from files"),
      subpath("projections/codex", 1, "2.3 kB", "arguments and images for `codex exec`"),
    ],
  ),
  module("tether", 7, "frames between gateway and agent, ring, window", "sockets, SDKs", [
    subpath("tether", 16, "31.5 kB", "frames between chat gateway and agent"),
    subpath("tether/schema", 6, "31 kB", "zod schemas of frames", "tether/schema"),
  ]),
  module("postgres", 8, "sessions as rows; the SQL, retries", "drivers, connections, entries", [
    subpath("postgres", 4, "97.5 kB", "sessions in PostgreSQL or PGlite"),
  ]),
  module("sqlite", 8, "sessions as rows; the SQL, retries", "drivers, connections, entries", [
    subpath("sqlite", 4, "32 kB", "sessions in any SQLite, Durable Objects too"),
  ]),
  module("r2", 8, "blobs as objects", "signing", [subpath("r2", 1, "10 kB", "blobs in an R2 bucket")]),
  module("s3", 8, "blobs as objects", "signing", [subpath("s3", 2, "23 kB", "blobs on S3 and its like")]),
  module(
    "sync",
    6,
    "copies of stores, unions of logs, merges of files",
    "stores, entries but for labels, names, leaves",
    [subpath("sync", 3, "37.5 kB", "copies, syncs and merges of sessions")],
  ),
  module(
    "adapters",
    8,
    "frameworks' values in sessions, exactly",
    "frameworks but as arguments; each other",
    [
      subpath("adapters/ai-sdk", 6, "47.5 kB", "chats of `useChat` in sessions"),
      subpath("adapters/langgraph", 1, "21.5 kB", "a checkpointer for LangGraph"),
      subpath("adapters/openai-agents", 1, "19.5 kB", "a session of the OpenAI Agents SDK"),
      subpath("adapters/claude-agent", 1, "18 kB", "a store for the Claude Agent SDK"),
      subpath("adapters/acp", 2, "11 kB", "sessions for ACP editors"),
    ],
  ),
  module("interop", 8, "other agents' sessions; redaction", "their homes; each other's formats", [
    subpath("interop", 6, "80 kB", "other agents' sessions, in and out; redaction"),
    subpath("interop/claude-code", 1, "29.5 kB", "Claude Code's"),
    subpath("interop/codex", 1, "36 kB", "Codex's"),
    subpath("interop/gemini", 1, "23 kB", "Gemini CLI's"),
    subpath("interop/opencode", 1, "20 kB", "opencode's"),
    subpath("interop/atif", 1, "84 kB", "ATIF, out"),
    subpath("interop/node", 3, "7.5 kB", "finding them on a machine"),
  ]),
  module("viewer", 8, "a session as a page; `app` is its DOM", "files, servers", [
    subpath("viewer", 1, "124 kB", "a chat's rows"),
  ]),
  module("errors", 0, "codes of errors, their details", "agents", [
    subpath("errors", 1, "380 B", "the one error class and its codes"),
  ]),
  module("internal", 1, "bytes, base64, ids, checks, concurrency, the file-system port", "agents"),
  module("models", 2, "names and facts of models and hosts", "prices"),
  module("cli", 9, "the program `sessile`", "keys"),
];
