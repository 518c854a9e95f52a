/** `stats`: what sessions did and cost. */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type FileRecord, fileLedger } from "../../compaction/index.js";
import type { ContextMessage } from "../../content/index.js";
import type { CostOptions, ModelPrice } from "../../cost/index.js";
import { type Call, costOfCall, sessionCalls, usageTokens } from "../../cost/internal.js";
import { estimateMessageTokens } from "../../estimate/index.js";
import type { Session } from "../../session/index.js";
import { type CommandBody, type CommandContext, sourceOptions, textOption, UsageError } from "../command.js";
import { openOrSkip } from "../damage.js";
import { type Output, table } from "../output.js";
import { locateAll, type OpenedSession } from "../sources.js";

/** The calls of a group: a model, a day, a project, or all. */
interface Spent {
  calls: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
  /** US dollars, of the calls with a known price. */
  cost: number;
  /** Calls without a known price. */
  unpriced: number;
}

const nothing = (): Spent => ({
  ...{ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  ...{ cost: 0, unpriced: 0 },
});

/** The sums over all sessions of a call of the command. */
interface Sums {
  sessions: number;
  /** Lines. */
  damaged: number;
  turns: number;
  toolCalls: number;
  failures: number;
  readonly all: Spent;
  readonly groups: Map<string, Spent>;
  readonly compactions: { count: number; cost: number; tokens: number; unpriced: number };
  /** Estimated tokens of the contexts at the leaves, by kind of message. */
  readonly context: Map<string, number>;
  /** The share of the prompt that came from the cache, by turn of the last session. */
  cacheHits: readonly { readonly turn: number; readonly prompt: number; readonly cached: number }[];
  files: readonly FileRecord[];
}

const groupings = ["model", "day", "project"] as const;

export const stats: CommandBody = {
  description: [
    "Sums over the sessions and those of their subagents, all branches included: all were paid for. Days are",
    "those of this machine's time zone. Costs are by the library's dated table, or by `--prices`, a JSON list of",
    "rows as `ModelPrice`. With one session it also shows cache hits by turn, what fills the context at the",
    "leaf, and the files that were touched. `all` as a session means all that `ls` lists.",
  ],
  arguments: [{ name: "S", kind: "session", multiple: true, description: "The sessions, or all." }],
  options: [
    ...sourceOptions,
    { name: "by", value: "GROUP", choices: groupings, description: "Sum by this." },
    { name: "prices", value: "FILE", description: "Prices that precede the library's own, as JSON." },
  ],
  examples: [
    { line: "sessile stats latest", does: "one session: cost, cache hits, files" },
    { line: "sessile stats all --agent codex --by day", does: "Codex's tokens by day" },
  ],
  async run(parsed, context) {
    const { out, signal } = context;
    const by = textOption(parsed, "by") as (typeof groupings)[number] | undefined;
    const prices = await pricesOf(textOption(parsed, "prices"), context);
    const named = await locateAll(parsed.positionals, parsed, context);
    const sums: Sums = {
      ...{ sessions: 0, damaged: 0, turns: 0, toolCalls: 0, failures: 0, cacheHits: [], files: [] },
      ...{ all: nothing(), groups: new Map(), context: new Map() },
      compactions: { count: 0, cost: 0, tokens: 0, unpriced: 0 },
    };
    // A message that several files hold, such as those of a fork, was paid for once.
    const seen = new Set<string>();
    for (const each of named) {
      signal.throwIfAborted();
      out.progress(() => `${sums.sessions} of ${named.length} sessions`);
      const opened = named.length === 1 ? await each.open() : await openOrSkip(each, context);
      if (opened === undefined) continue;
      try {
        await add(opened, sums, { by, prices, seen, isOne: named.length === 1 });
      } finally {
        await opened.close();
      }
    }
    if (out.json) await out.value(resultOf(sums));
    else await print(sums, by, out);
    return 0;
  },
};

/** @throws UsageError for a file without a list */
async function pricesOf(file: string | undefined, { cwd }: CommandContext): Promise<CostOptions> {
  if (file === undefined) return {};
  const prices: unknown = JSON.parse(await readFile(resolve(cwd, file), "utf8"));
  if (!Array.isArray(prices)) throw new UsageError("--prices: expected a JSON list of prices");
  return { prices: prices as readonly ModelPrice[] };
}

interface AddOptions {
  readonly by: (typeof groupings)[number] | undefined;
  readonly prices: CostOptions;
  readonly seen: Set<string>;
  readonly isOne: boolean;
}

async function add(opened: OpenedSession, sums: Sums, options: AddOptions): Promise<void> {
  const { by, prices, seen, isOne } = options;
  sums.sessions++;
  sums.damaged += opened.damaged;
  for (const session of [opened.session, ...opened.children]) {
    const keys: string[] = [];
    for (const call of await sessionCalls(session)) {
      const key = keyOf(call);
      if (key !== undefined) {
        if (seen.has(key)) continue;
        keys.push(key);
      }
      const cost = costOfCall(call, prices)?.total;
      // A reply that the agent made up, such as Claude Code's `<synthetic>`.
      if (usageTokens(call.usage) === 0 && !cost) continue;
      addCall(sums.all, call, cost);
      if (by !== undefined) {
        const group = groupOf(call, session, by);
        const spent = sums.groups.get(group) ?? nothing();
        sums.groups.set(group, spent);
        addCall(spent, call, cost);
      }
      if (call.by === "summary") {
        sums.compactions.cost += cost ?? 0;
        sums.compactions.unpriced += cost === undefined ? 1 : 0;
        sums.compactions.tokens += usageTokens(call.usage);
      }
    }
    for (const key of keys) seen.add(key);
    await addMessages(session, sums, seen);
  }
  if (isOne) await addLeaf(opened.session, sums);
}

/** Calls of two sessions with the same time, model and counts are one call. */
function keyOf({ model, usage }: Call): string | undefined {
  if (model.timestamp === undefined) return undefined;
  const { input, output, cacheRead, cacheWrite } = usage;
  return JSON.stringify([model.timestamp, model.provider, model.model, input, output, cacheRead, cacheWrite]);
}

function addCall(spent: Spent, { usage }: Call, cost: number | undefined): void {
  spent.calls++;
  for (const kind of ["input", "output", "cacheRead", "cacheWrite"] as const) spent[kind] += usage[kind] ?? 0;
  spent.total += usageTokens(usage);
  if (cost === undefined) spent.unpriced++;
  else spent.cost += cost;
}

function groupOf({ model }: Call, session: Session, by: (typeof groupings)[number]): string {
  if (by === "model") return model.model;
  if (by === "project") return session.header.cwd;
  const date = new Date(model.timestamp ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "unknown";
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

async function addMessages(session: Session, sums: Sums, seen: Set<string>): Promise<void> {
  for (const { node } of session.tree.walk()) {
    // A fork has copies of entries, with their ids and times.
    const key = `${node.id} ${node.timestamp}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (node.type === "compaction") sums.compactions.count++;
    if (node.type !== "message") continue;
    if (node.role === "user") sums.turns++;
    if (node.role !== "assistant" && node.role !== "toolResult") continue;
    const entry = await session.entry(node.id);
    if (entry?.type !== "message") continue;
    const { message } = entry;
    if (message.role === "toolResult" && message.isError) sums.failures++;
    if (message.role === "assistant")
      sums.toolCalls += message.content.filter(({ type }) => type === "toolCall").length;
  }
}

/** The branch of the leaf: cache hits by turn, the context, the files. */
async function addLeaf(session: Session, sums: Sums): Promise<void> {
  const hits: { turn: number; prompt: number; cached: number }[] = [];
  for (const entry of await session.path()) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (message.role === "user") hits.push({ turn: hits.length + 1, prompt: 0, cached: 0 });
    const last = hits.at(-1);
    if (message.role !== "assistant" || message.usage === undefined || last === undefined) continue;
    const { input, cacheRead, cacheWrite } = message.usage;
    last.prompt += input + cacheRead + cacheWrite;
    last.cached += cacheRead;
  }
  sums.cacheHits = hits.filter(({ prompt }) => prompt > 0);
  const context = await session.context();
  for (const { message } of context.items) {
    const kind = kindOf(message);
    sums.context.set(kind, (sums.context.get(kind) ?? 0) + estimateMessageTokens(message));
  }
  sums.files = fileLedger(context, { cwd: session.header.cwd }).files;
}

function kindOf(message: ContextMessage): string {
  return message.role === "toolResult" ? `result of ${message.toolName}` : message.role;
}

function resultOf(sums: Sums) {
  const { groups, context, all, ...rest } = sums;
  return { ...rest, tokens: all, groups: Object.fromEntries(groups), context: Object.fromEntries(context) };
}

const money = (cost: number) => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
const columns = [
  { title: "", grow: true },
  ...["calls", "input", "output", "cache read", "cache write", "total", "cost"].map((title) => ({
    title,
    align: "right" as const,
  })),
] as const;

function cells(title: string, spent: Spent): readonly string[] {
  const { calls, input, output, cacheRead, cacheWrite, total, cost, unpriced } = spent;
  const counts = [calls, input, output, cacheRead, cacheWrite, total].map((count) =>
    count.toLocaleString("en"),
  );
  return [
    title,
    ...counts,
    unpriced === calls && calls > 0 ? "unknown" : `${money(cost)}${unpriced > 0 ? "+" : ""}`,
  ];
}

async function print(sums: Sums, by: string | undefined, out: Output): Promise<void> {
  const { sessions, turns, toolCalls, failures, compactions, all, groups, context, cacheHits, files } = sums;
  await out.line(
    `${sessions} sessions, ${turns} turns, ${toolCalls} tool calls (${failures} failed), ${compactions.count} compactions`,
    "",
  );
  const sorted = [...groups].sort(([a, x], [b, y]) => (by === "day" ? (a < b ? -1 : 1) : y.total - x.total));
  const rows = [...sorted.map(([key, spent]) => cells(out.clean(key), spent)), cells("all", all)];
  const [head = "", ...lines] = table(columns, rows, out.columns);
  await out.line(out.style("dim", head), ...lines);
  if (all.unpriced > 0) await out.line(`${all.unpriced} calls are of models without a known price`);
  if (compactions.tokens > 0)
    await out.line(
      `summaries: ${compactions.tokens} tokens, ${compactions.unpriced > 0 ? "cost unknown" : money(compactions.cost)}, included above`,
    );
  if (cacheHits.length > 0) {
    const shares = cacheHits.map(
      ({ turn, prompt, cached }) => `${turn}: ${Math.round((cached / prompt) * 100)} %`,
    );
    await out.line("", out.style("bold", "Cached part of the prompt by turn"), shares.join("  "));
  }
  if (context.size > 0) {
    await out.line("", out.style("bold", "Context at the leaf, estimated tokens"));
    for (const [kind, tokens] of [...context].sort(([, a], [, b]) => b - a))
      await out.line(`${String(tokens).padStart(9)}  ${out.clean(kind)}`);
  }
  if (files.length > 0) {
    await out.line("", out.style("bold", "Files"));
    for (const { path, operations, gone } of files)
      await out.line(`  ${out.clean(path)}  ${operations.join(", ")}${gone ? " (gone)" : ""}`);
  }
}
