/**
 * The modules of the library and their subpaths: the one table from which come the exports of the package, the builds, the
 * aliases of tests, the API reference, the size limits, the layers, and the tables of the README and of architecture.md.
 * A new module or subpath is a row here and `npm run modules`, which writes what other programs read as files.
 *
 * @typedef {object} Subpath
 * @property {string} path below the package: "openai"
 * @property {number} values exported values; a new one needs a reason, and a line in the changelog
 * @property {string} limit most bytes with all dependencies, minified and gzipped: "5 kB"
 * @property {string} use what the README says of it
 * @property {string} file its source below `src`, without extension: "providers/openai/index"
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
export const rootSubpath = subpath("", 42, "161 kB", "sessions, blobs, messages, `project`", "index");

/** In the order of the README. */
export const modules = [
  module("content", 2, "messages, blocks, resources, contexts, tool pairs", "sessions, files"),
  module(
    "log",
    3,
    "lines to entries and back: the table of types, migration, the words of a search",
    "sessions",
  ),
  module("session", 5, "the tree, the context, appends, stores", "providers, the place of blobs", [
    subpath("schema", 8, "36.5 kB", "zod schemas of entries, headers and frames", "schema"),
  ]),
  module("storage/files", 6, "sessions, blobs and attachments in files", "entries", [
    subpath("node", 11, "147.5 kB", "sessions, blobs, attachments in files; repair", "node"),
  ]),
  module("storage/sql", 6, "sessions as rows; the SQL, retries", "drivers, connections, entries", [
    subpath(
      "postgres",
      6,
      "130.5 kB",
      "sessions and blobs in PostgreSQL or PGlite",
      "storage/sql/postgres/index",
    ),
    subpath("mysql", 3, "121 kB", "sessions and blobs in MySQL or MariaDB", "storage/sql/mysql/index"),
    subpath(
      "sqlite",
      6,
      "122 kB",
      "sessions and blobs in any SQLite, Durable Objects too",
      "storage/sql/sqlite/index",
    ),
  ]),
  module("storage/objects", 6, "blobs as objects", "signing", [
    subpath("s3", 2, "26.5 kB", "blobs on S3 and its like", "storage/objects/s3/index"),
    subpath("r2", 1, "10.5 kB", "blobs in an R2 bucket", "storage/objects/r2/index"),
    subpath("azure", 1, "10.5 kB", "blobs in Azure Blob Storage", "storage/objects/azure/index"),
  ]),
  module(
    "attachments",
    4,
    "intake, replay policies, the leakage boundary, views, grants",
    "sessions, formats of providers",
    [subpath("attachments", 17, "31.5 kB", "storing attachments, showing them")],
  ),
  module("blobs", 3, "bytes under their digest: puts, reads, quotas, collection", "messages, logs"),
  module(
    "providers",
    6,
    "a context as a valid request, its losses, replies, refusals",
    "HTTP, keys, loops; one target nothing of another",
    [
      subpath("anthropic", 3, "14.5 kB", "Messages API, replies, streams", "providers/anthropic/index"),
      subpath(
        "openai",
        7,
        "26 kB",
        "Chat Completions, Responses, replies, streams",
        "providers/openai/index",
      ),
      subpath(
        "gemini",
        6,
        "20 kB",
        "Gemini API and Interactions, replies, streams",
        "providers/gemini/index",
      ),
      subpath("bedrock", 3, "16.5 kB", "Converse, replies, streams", "providers/bedrock/index"),
    ],
  ),
  module("providers/models", 2, "names and facts of models and hosts", "prices"),
  module("providers/cost", 6, "prices as rows with sources, sums", "tokens of text, bills", [
    subpath("cost", 4, "19 kB", "costs at published prices", "providers/cost/index"),
  ]),
  module(
    "frameworks",
    7,
    "frameworks' values in and out of sessions, exactly",
    "frameworks but as arguments; each other",
    [
      subpath(
        "ai-sdk",
        9,
        "62 kB",
        "the AI SDK: chats of `useChat`, model messages",
        "frameworks/ai-sdk/index",
      ),
      subpath("langgraph", 1, "43 kB", "a checkpointer for LangGraph", "frameworks/langgraph/index"),
      subpath(
        "openai-agents",
        1,
        "41 kB",
        "a session of the OpenAI Agents SDK",
        "frameworks/openai-agents/index",
      ),
      subpath(
        "claude-agent",
        4,
        "54.5 kB",
        "the Claude Agent SDK: store, messages, files",
        "frameworks/claude-agent/node/index",
      ),
      subpath("acp", 3, "15 kB", "ACP editors and agents", "frameworks/acp/index"),
      subpath("mcp", 1, "3 kB", "messages of an MCP prompt", "frameworks/mcp/index"),
    ],
  ),
  module("agents", 7, "other agents' sessions; redaction", "their homes; each other's formats", [
    subpath("interop", 11, "121.5 kB", "other agents' sessions, in and out; ATIF; redaction", "agents/index"),
    subpath("claude-code", 1, "36 kB", "Claude Code's", "agents/claude-code/index"),
    subpath("codex", 2, "43.5 kB", "Codex's; input for `codex exec`", "agents/codex/index"),
    subpath("gemini-cli", 1, "29.5 kB", "Gemini CLI's", "agents/gemini-cli/index"),
    subpath("opencode", 1, "26.5 kB", "opencode's", "agents/opencode/index"),
    subpath("kimi-code", 1, "24.5 kB", "Kimi Code's", "agents/kimi-code/index"),
    subpath("qwen-code", 1, "26 kB", "Qwen Code's", "agents/qwen-code/index"),
  ]),
  module(
    "compaction",
    6,
    "when to compact, what stays, summaries, the file ledger",
    "models (`generate` is a port), projections",
    [subpath("compaction", 21, "57 kB", "summaries of long contexts, four strategies")],
  ),
  module(
    "turn",
    7,
    "the loop of an agent: requests, calls, steering, retries",
    "HTTP, keys; clients but as arguments",
    [subpath("turn", 10, "146.5 kB", "one durable turn: model, tools, steering")],
  ),
  module("memory", 7, "blocks of text, prompts, their tools", "models", [
    subpath("memory", 1, "54 kB", "facts and documents beside history"),
  ]),
  module(
    "sync",
    6,
    "copies of stores, unions of logs, merges of files",
    "stores, entries but for labels, names, leaves",
    [subpath("sync", 3, "40 kB", "copies, syncs and merges of sessions")],
  ),
  module("tether", 8, "frames between gateway and agent, ring, window", "sockets, SDKs", [
    subpath("tether", 16, "36 kB", "frames between chat gateway and agent"),
  ]),
  module("viewer", 8, "a session as a page; `app` is its DOM", "files, servers", [
    subpath("viewer", 1, "125 kB", "a chat's rows"),
  ]),
  module("content/media", 3, "types by bytes", "resources", [
    subpath("media", 4, "8.5 kB", "types of bytes: images, PDF, text", "content/media/index"),
  ]),
  module("content/limits", 3, "limits as rows with sources", "requests", [
    subpath("limits", 4, "10 kB", "limits of providers, as data with sources", "content/limits/index"),
  ]),
  module("content/estimate", 3, "token counts", "tokenizers", [
    subpath("estimate", 6, "12.5 kB", "tokens of text, images and messages", "content/estimate/index"),
  ]),
  module("content/context-tokens", 3, "attachments as tokens in a text", "blobs, files (a path is text)", [
    subpath(
      "context-tokens",
      10,
      "4.5 kB",
      "attachments as tokens in a text",
      "content/context-tokens/index",
    ),
  ]),
  module("conformance", 8, "suites for those who write a backend", "backends", [
    subpath("conformance", 2, "133 kB", "tests for your session and blob stores"),
  ]),
  module("core", 0, "errors, bytes, base64, ids, checks, concurrency, the file-system port", "agents", [
    subpath("errors", 1, "380 B", "the one error class and its codes", "core/errors/index"),
  ]),
  module("cli", 9, "the program `sessile`", "keys"),
];
