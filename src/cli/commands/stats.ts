/** `stats`: calls, tokens and costs of sessions. */

import { isAbsolute, relative, resolve } from "node:path";
import type { ImportedSession } from "../../agents/index.js";
import { memoryBlobStore } from "../../blobs/index.js";
import { type FileRecord, fileLedger } from "../../compaction/index.js";
import { estimateMessageTokens } from "../../content/estimate/index.js";
import { type ContextMessage, contextFrom } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import type { Cost, CostOptions, ModelPrice } from "../../providers/cost/index.js";
import {
  type Call,
  costOfCall,
  prefixCost,
  prefixText,
  priceForModel,
  sessionCalls,
  usageTokens,
} from "../../providers/cost/internal.js";
import { project, type RequestPrefix } from "../../providers/index.js";
import { toolsAsRecorded } from "../../providers/internal.js";
import type { Session, SessionEntry, SessionTree } from "../../session/index.js";
import { type CommandBody, type CommandContext, textOption, textOptions, UsageError } from "../command.js";
import { readRegular } from "../files.js";
import { damagedRecords, type NamedSession, type OpenedSession } from "../named-session.js";
import { type Output, table } from "../output.js";
import { locateAll, sourceOptions } from "../sources.js";
import { targets } from "./project.js";

/** The sums over all sessions of a call of the command. */
interface Sums {
  sessions: number;
  /** Lines. */
  damaged: number;
  turns: number;
  toolCalls: number;
  failures: number;
  compactions: number;
  readonly spending: Spending;
  /** Of the sessions with a sum of their agent's own. */
  readonly counted: { sessions: number; byAgents: number; byReplies: number };
  /** Of one session: the branch of its leaf. */
  branch?: Branch;
}

interface Branch {
  /** The part of the prompts that came from the cache. */
  readonly cacheHits: readonly { readonly turn: number; readonly prompt: number; readonly cached: number }[];
  /** Estimated tokens of the context at the leaf, by kind of content. */
  readonly context: ReadonlyMap<string, number>;
  /** Those of subagents too. */
  readonly files: readonly Pick<FileRecord, "path" | "operations" | "gone">[];
  /** Of the next request to the model in force, if it is one of a target. */
  readonly prefix?: RequestPrefix & { readonly cost: number | undefined; readonly words: string };
}

/** The groups by which calls are summed. */
export const groupings = ["model", "day", "project"] as const;

const stats: CommandBody = {
  description: [
    "Sums over the sessions and those of their subagents, all branches included: all were paid for. A reply that",
    "several files hold counts once. Days are those of this machine's time zone, or of the variable `TZ`. Costs",
    "are by the library's dated table, or by `--prices`, a JSON list of rows as `ModelPrice`. With one session it",
    "also shows cache hits by turn, what fills the context at the leaf, and the files that were touched. `all` as",
    "a session means all that `ls` lists.",
    "If Claude Code counted another sum itself, the difference is named.",
    "Tokens by model and day are those of ccusage 17, but for the differences in docs/guide/look.md.",
  ],
  about: [
    "Sums over the sessions and those of their subagents, all branches included. Days are those of this machine's",
    "time zone. With one session it also shows cache hits, what fills the context, and the files touched.",
  ],
  arguments: [
    { name: "S", kind: "session", offers: ["all"], multiple: true, description: "The sessions, or all." },
  ],
  options: [
    ...sourceOptions,
    {
      name: "by",
      value: "GROUP",
      choices: groupings,
      multiple: true,
      description: "Sum by this.",
    },
    { name: "prices", value: "FILE", description: "Prices that precede the library's own, as JSON." },
  ],
  examples: [
    { line: "sessile stats latest", does: "one session: cost, cache hits, files" },
    { line: "sessile stats all --agent codex --by day --by model", does: "Codex's tokens by day and model" },
  ],
  async run(parsed, context) {
    const { out, signal } = context;
    const by = groupings.filter((each) => textOptions(parsed, "by").includes(each));
    const prices = await filePrices(textOption(parsed, "prices"), context);
    const named = await locateAll(parsed.positionals, parsed, context);
    const sums: Sums = {
      ...{ sessions: 0, damaged: 0, turns: 0, toolCalls: 0, failures: 0, compactions: 0 },
      spending: new Spending(by, prices),
      counted: { sessions: 0, byAgents: 0, byReplies: 0 },
    };
    const seen = new Set<string>();
    for (const each of named) {
      signal.throwIfAborted();
      out.progress(() => `${sums.sessions} of ${named.length} sessions`);
      const isOne = named.length === 1;
      const opened = isOne ? await each.open() : await countedOrSkip(each, context);
      if (opened === undefined) continue;
      try {
        await add(opened, sums, seen);
        await addCounted(opened, sums.counted);
        if (isOne) sums.branch = await sessionBranch(opened as OpenedSession);
      } finally {
        await opened.close();
      }
    }
    if (out.json) await out.value(sumsResult(sums, by));
    else await print(sums, out);
    return 0;
  },
};

/** What sums are made of: a session, or the entries of one. */
export interface CountedSession extends Pick<Session, "header" | "entry"> {
  tree(): Promise<Pick<SessionTree, "walk">>;
}

interface Counted extends Pick<OpenedSession, "damaged" | "report" | "close"> {
  readonly session: CountedSession;
  readonly children: readonly CountedSession[];
}

/**
 * A session to sum: that of another agent as it was imported. In a store it would be written and read once more, which
 * takes as long as the import.
 */
export async function openCounted(named: NamedSession): Promise<Counted> {
  if (named.home === undefined || named.read === undefined) return named.open();
  const imported = await named.read({ blobs: memoryBlobStore(), keep: "none" });
  const { report, children } = imported;
  const session = countedSession(imported);
  const damaged = damagedRecords(report);
  return { damaged, report, session, children: children.map(countedSession), close: async () => {} };
}

function countedSession({ header, entries }: ImportedSession): CountedSession {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const children = new Map<string | null, SessionEntry[]>();
  for (const entry of entries) {
    const parentId = entry.parentId !== null && byId.has(entry.parentId) ? entry.parentId : null;
    const siblings = children.get(parentId);
    if (siblings === undefined) children.set(parentId, [entry]);
    else siblings.push(entry);
  }
  function* walk() {
    const left = (children.get(null) ?? []).toReversed();
    for (let entry = left.pop(); entry !== undefined; entry = left.pop()) {
      const { id, parentId, type, timestamp } = entry;
      const role = type === "message" ? { role: entry.message.role } : {};
      yield { node: { id, parentId, type, timestamp, ...role }, depth: 0 };
      for (const child of (children.get(id) ?? []).toReversed()) left.push(child);
    }
  }
  return { header, tree: async () => ({ walk }), entry: async (id) => byId.get(id) };
}

/** One that cannot be read is named on standard error, and the command continues: its exit code becomes 3. */
async function countedOrSkip(
  named: NamedSession,
  { out, signal }: CommandContext,
): Promise<Counted | undefined> {
  try {
    return await openCounted(named);
  } catch (error) {
    signal.throwIfAborted();
    out.skip(named.path, error);
    return undefined;
  }
}

/** @throws UsageError for a file without a list */
async function filePrices(file: string | undefined, { cwd, signal }: CommandContext): Promise<CostOptions> {
  if (file === undefined) return {};
  const text = new TextDecoder().decode(await readRegular(resolve(cwd, file), signal));
  const prices = jsonValue(text);
  if (!Array.isArray(prices)) throw new UsageError(`--prices: expected a JSON list of prices in ${file}`);
  const wrong = prices.findIndex((row) => !isPrice(row));
  if (wrong >= 0)
    throw new UsageError(`--prices: expected a model and its ${rates.join(", ")} in row ${wrong}`);
  return { prices };
}

const rates = ["input", "cacheRead", "cacheWrite", "output"] as const;

function isPrice(row: unknown): row is ModelPrice {
  return isRecord(row) && typeof row.model === "string" && rates.every((rate) => Number.isFinite(row[rate]));
}

function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function add(opened: Counted, sums: Sums, seen: Set<string>): Promise<void> {
  sums.sessions++;
  sums.damaged += opened.damaged;
  for (const session of [opened.session, ...opened.children]) {
    await sums.spending.add(session);
    await addMessages(session, sums, seen);
  }
}

/** Compares what an agent counted with the replies of its files at the prices of the table. */
async function addCounted({ report, session, children }: Counted, counted: Sums["counted"]): Promise<void> {
  if (report?.agentCost === undefined) return;
  const alone = new Spending([], {});
  for (const each of [session, ...children]) await alone.add(each);
  // Without a price there is nothing to compare.
  if (alone.all.unpriced > 0) return;
  counted.sessions++;
  counted.byAgents += report.agentCost;
  counted.byReplies += alone.all.cost;
}

async function addMessages(session: CountedSession, sums: Sums, seen: Set<string>): Promise<void> {
  for (const { node } of (await session.tree()).walk()) {
    // A fork has copies of entries, with their ids and times.
    const key = `${node.id} ${node.timestamp}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (node.type === "compaction") sums.compactions++;
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
async function sessionBranch({ session, children }: OpenedSession): Promise<Branch> {
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
  const context = new Map<string, number>();
  for (const { message } of (await session.context()).items) {
    for (const [kind, part] of messageParts(message))
      context.set(kind, (context.get(kind) ?? 0) + estimateMessageTokens(part));
  }
  const files = new Map<string, Branch["files"][number]>();
  for (const each of [session, ...children]) {
    for (const { path: own, operations, gone } of await sessionFiles(each)) {
      const path = pathIn(session.header.cwd, resolve(each.header.cwd, own));
      const before = files.get(path)?.operations ?? [];
      const all = [...new Set([...before, ...operations])];
      files.set(path, { path, operations: all, ...(gone && { gone }) });
    }
  }
  const prefix = await nextPrefix(session);
  return {
    cacheHits: hits.filter(({ prompt }) => prompt > 0),
    context,
    files: [...files.values()],
    ...(prefix && { prefix }),
  };
}

/** Whether the next request repeats what the session's model answered last. */
async function nextPrefix(session: Session): Promise<Branch["prefix"]> {
  const context = await session.context();
  const last = context.items.findLast(({ message }) => message.role === "assistant")?.message;
  if (last?.role !== "assistant" || last.prefix === undefined) return undefined;
  const { provider, model, api } = last;
  const target = Object.values(targets)
    .map((each) => each.make(model))
    .find((each) => each.model.provider === provider && each.model.api === api);
  if (target === undefined) return undefined;
  const { prefix } = await project(context, target, { tools: toolsAsRecorded });
  return { ...prefix, cost: prefixCost(prefix, model), words: prefixText(prefix, model) };
}

/** The files of the whole branch, also those of messages that a compaction replaced. */
async function sessionFiles(session: Session): Promise<readonly FileRecord[]> {
  const messages: ContextMessage[] = [];
  for (const entry of await session.path()) if (entry.type === "message") messages.push(entry.message);
  return fileLedger(contextFrom(messages), { cwd: session.header.cwd }).files;
}

function pathIn(cwd: string, path: string): string {
  const inside = relative(cwd, path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside;
}

/** The kinds of content of a message: its text, and each of its other blocks. */
function* messageParts(message: ContextMessage): Generator<readonly [string, ContextMessage]> {
  const own =
    message.role === "toolResult" ? `result of ${message.toolName}` : (names[message.role] ?? message.role);
  if (!("content" in message) || typeof message.content === "string") {
    yield [own, message];
    return;
  }
  for (const block of message.content) {
    const kind = block.type === "toolCall" ? `call of ${block.name}` : (names[block.type] ?? own);
    yield [kind, { ...message, content: [block] } as ContextMessage];
  }
}

const names: Readonly<Record<string, string>> = {
  compactionSummary: "compaction summary",
  branchSummary: "branch summary",
  bashExecution: "shell",
  thinking: "thinking",
  image: "image",
  resource: "attachment",
};

function sumsResult({ spending, branch, compactions, counted, ...rest }: Sums, by: readonly Grouping[]) {
  const { calls, total: tokens, cost, unpriced } = spending.summaries;
  return {
    ...rest,
    compactions: { count: compactions, calls, tokens, cost, unpriced },
    tokens: spending.all,
    ...(spending.pricesAsOf !== undefined && { pricesAsOf: spending.pricesAsOf }),
    ...(spending.assumed.size > 0 && { assumed: Object.fromEntries(spending.assumed) }),
    ...(counted.sessions > 0 && { counted }),
    ...(by.length > 0 && { groups: spending.groups }),
    ...(branch && { ...branch, context: Object.fromEntries(branch.context) }),
  };
}

/** A part of an agent's own sum, up to which a difference is one of rounding. */
const maxDifference = 0.001;

const money = (cost: number) => `$${cost.toFixed(cost < 1 ? 4 : 2)}`;
const columns = [
  { title: "", grow: true },
  ...["calls", "input", "output", "cache read", "cache write", "total", "cost"].map((title) => ({
    title,
    align: "right" as const,
  })),
] as const;

function costText({ calls, cost, unpriced }: Spent): string {
  return unpriced === calls && calls > 0 ? "unknown" : `${money(cost)}${unpriced > 0 ? "+" : ""}`;
}

function cells(title: string, spent: Spent): readonly string[] {
  const { calls, input, output, cacheRead, cacheWrite, total } = spent;
  const counts = [calls, input, output, cacheRead, cacheWrite, total];
  return [title, ...counts.map((count) => count.toLocaleString("en")), costText(spent)];
}

async function print(sums: Sums, out: Output): Promise<void> {
  const { sessions, turns, toolCalls, failures, compactions, spending, branch, counted } = sums;
  const { all, groups, summaries, pricesAsOf, assumed } = spending;
  await out.line(
    `${sessions} sessions, ${turns} turns, ${toolCalls} tool calls (${failures} failed), ${compactions} compactions`,
    "",
  );
  const groupTitle = (group: Group) =>
    out.clean([group.day, group.model, group.project].filter(Boolean).join("  "));
  const rows = [...groups.map((group) => cells(groupTitle(group), group)), cells("all", all)];
  const [head = "", ...lines] = table(columns, rows, out.columns);
  await out.line(out.style("dim", head), ...lines);
  if (pricesAsOf !== undefined) await out.line(`prices as of ${pricesAsOf}`);
  for (const [model, price] of assumed) await out.line(`${out.clean(model)} has ${out.clean(price)}`);
  if (all.unpriced > 0) await out.line(`${all.unpriced} calls are of models without a known price`);
  const difference = counted.byAgents - counted.byReplies;
  if (Math.abs(difference) > counted.byAgents * maxDifference) {
    const [more, why] =
      difference > 0
        ? ["more", ": calls that no file has, such as those of summaries and titles, and web searches"]
        : ["less", ""];
    await out.line(
      `the agents counted ${money(counted.byAgents)} for ${counted.sessions} of the sessions, ${money(Math.abs(difference))} ${more}${why}`,
    );
  }
  if (summaries.calls > 0)
    await out.line(
      `${summaries.calls} of the calls wrote summaries: ${summaries.total.toLocaleString("en")} tokens, ${costText(summaries)}`,
    );
  else if (compactions > 0) await out.line("the calls that wrote the summaries are not recorded");
  if (branch !== undefined) await printBranch(branch, out);
}

async function printBranch({ cacheHits, context, files, prefix }: Branch, out: Output): Promise<void> {
  if (cacheHits.length > 0) {
    const shares = cacheHits.map(
      ({ turn, prompt, cached }) => `${turn}: ${Math.round((cached / prompt) * 100)} %`,
    );
    await out.line("", out.style("bold", "Cached part of the prompt by turn"), shares.join("  "));
  }
  if (prefix !== undefined)
    await out.line("", out.style("bold", "Prefix of the next request"), out.clean(prefix.words));
  const total = [...context.values()].reduce((sum, tokens) => sum + tokens, 0);
  if (total > 0) {
    await out.line("", out.style("bold", `Context at the leaf: about ${total.toLocaleString("en")} tokens`));
    for (const [kind, tokens] of [...context].sort(([, a], [, b]) => b - a)) {
      const share = `${Math.round((tokens / total) * 100)} %`;
      await out.line(`${tokens.toLocaleString("en").padStart(9)}  ${share.padStart(5)}  ${out.clean(kind)}`);
    }
  }
  if (files.length === 0) return;
  await out.line("", out.style("bold", "Files"));
  for (const { path, operations, gone } of files)
    await out.line(`  ${out.clean(path)}  ${operations.join(", ")}${gone ? " (gone)" : ""}`);
}

export const bodies = { stats };

// The sums of `stats` over the calls of models that sessions record.

/** The calls of a group, or all. */
export interface Spent {
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
export type Grouping = (typeof groupings)[number];

/** A group by its names, such as the day and the model. */
export type Group = { readonly [G in Grouping]?: string } & Spent;

const nothing = (): Spent => ({
  ...{ calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  ...{ cost: 0, unpriced: 0 },
});

/** Sums calls, each once: a message that several files hold, such as those of a fork, was paid for once. */
export class Spending {
  readonly all = nothing();
  /** Those of compactions and branch summaries. */
  readonly summaries = nothing();
  /** The newest day of the prices that were used. */
  pricesAsOf: string | undefined;
  /** The models with another model's price, and whose. */
  readonly assumed = new Map<string, string>();
  readonly #by: readonly Grouping[];
  readonly #prices: CostOptions;
  readonly #groups = new Map<string, Group>();
  readonly #seen = new Set<string>();

  constructor(by: readonly Grouping[], prices: CostOptions) {
    this.#by = by;
    this.#prices = prices;
  }

  /** The groups: by day if days are asked for, else the largest first. */
  get groups(): readonly Group[] {
    const days = ({ day = "" }: Group, other: Group) => (day < (other.day ?? "") ? -1 : 1);
    return [...this.#groups.values()].sort((a, b) => (a.day === b.day ? b.total - a.total : days(a, b)));
  }

  /** Adds the calls of a session that no session before it has. */
  async add(session: CountedSession): Promise<void> {
    const keys: string[] = [];
    for (const call of await sessionCalls(session)) {
      const key = callKey(call);
      if (key !== undefined) {
        if (this.#seen.has(key)) continue;
        keys.push(key);
      }
      const cost = costOfCall(call, this.#prices);
      // A reply that the agent made up, such as Claude Code's `<synthetic>`.
      if (usageTokens(call.usage) === 0 && !cost?.total) continue;
      this.#addCall(call, session, cost);
    }
    // Two calls of one session differ even if they look the same.
    for (const key of keys) this.#seen.add(key);
  }

  #addCall(call: Call, session: CountedSession, cost: Cost | undefined): void {
    // A cost that the session records needs no price.
    const row = cost === call.usage.cost ? undefined : priceForModel(call.model, this.#prices);
    if (row !== undefined && row.asOf > (this.pricesAsOf ?? "")) this.pricesAsOf = row.asOf;
    if (row?.assumed !== undefined) this.assumed.set(callName(call, session, "model"), row.assumed);
    addTo(this.all, call, cost?.total);
    if (call.by === "summary") addTo(this.summaries, call, cost?.total);
    if (this.#by.length === 0) return;
    const names = this.#by.map((by) => [by, callName(call, session, by)] as const);
    const key = JSON.stringify(names);
    const group = this.#groups.get(key) ?? { ...Object.fromEntries(names), ...nothing() };
    this.#groups.set(key, group);
    addTo(group, call, cost?.total);
  }
}

/** Calls of two sessions with the same time, model and counts are one call. */
function callKey({ model, usage }: Call): string | undefined {
  if (model.timestamp === undefined) return undefined;
  const { input, output, cacheRead, cacheWrite } = usage;
  return JSON.stringify([model.timestamp, model.provider, model.model, input, output, cacheRead, cacheWrite]);
}

function addTo(spent: Spent, { usage }: Call, cost: number | undefined): void {
  spent.calls++;
  for (const kind of ["input", "output", "cacheRead", "cacheWrite"] as const) spent[kind] += usage[kind] ?? 0;
  spent.total += usageTokens(usage);
  if (cost === undefined) spent.unpriced++;
  else spent.cost += cost;
}

function callName({ model }: Call, session: CountedSession, by: Grouping): string {
  // The price is that of the model that replied.
  if (by === "model") return model.responseModel ?? model.model;
  if (by === "project") return session.header.cwd;
  const date = new Date(model.timestamp ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "unknown";
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
