import type { ToolResultMessage, Usage } from "../content/index.js";
import type { Session, SessionEntry, UnknownEntry } from "../session/index.js";
import {
  addCost,
  type Cost,
  type CostOptions,
  costOf,
  hasOwnPrice,
  noCost,
  type PricedModel,
  usageTokens,
} from "./cost.js";
import { detailedCalls } from "./tool-calls.js";

/** The part of a session that {@link sessionCost} reads. */
export type CostedSession = Pick<Session, "tree" | "entry">;

/** Options of {@link sessionCost}. */
export interface SessionCostOptions extends CostOptions {
  /** Only the path to this entry. Default: all branches, since all were paid for. */
  readonly leafId?: string | null;
}

/** The calls of one model. */
export interface ModelCost {
  readonly provider: string;
  readonly model: string;
  readonly calls: number;
  readonly tokens: number;
  /** Of the calls whose price is known. */
  readonly cost: Cost;
  /** Calls without a known price; their tokens are in `tokens`, and not in `cost`. */
  readonly unpriced: number;
}

/** The cost of a session so far, in US dollars. */
export interface SessionCost {
  /** All that is known: a lower bound where `unknown` is not empty. */
  readonly cost: Cost;
  /** The part of it that compactions and summaries of branches took. */
  readonly summaries: Cost;
  /** The part of it that tools took which called models themselves, as subagents do. */
  readonly tools: Cost;
  readonly models: readonly ModelCost[];
  /** Those of `models` with calls that have no price. */
  readonly unknown: readonly ModelCost[];
}

interface Named extends PricedModel {
  readonly provider: string;
}

interface Call {
  readonly model: Named;
  readonly usage: Usage;
  readonly by: "agent" | "summary" | "tool";
}

const unnamed = { provider: "unknown", model: "unknown" };

/**
 * The cost of a session's calls: assistant messages, usage entries, compactions, summaries of branches, and what
 * results of tools record of models that the tool called. Of a result `usage` counts, which pi writes with what nested
 * calls took, or else the usage in `details` that pi's subagents leave there; never both.
 * A row of `prices` goes before a recorded cost, and that before {@link modelPrices}. A recorded cost of zeros
 * for tokens is none: pi writes it for a model without a price. A summary without a model is priced as the
 * model in force there, a tool's call without one is not priced. Calls without tokens and cost are not counted. A
 * subagent's own session is another one: add up either its cost or that of the results.
 *
 * @throws SessileError ENTRY_NOT_FOUND for `leafId`; what `entry` throws
 * @example
 * ```ts
 * const { cost, summaries, unknown } = await sessionCost(session);
 * ```
 */
export async function sessionCost(
  session: CostedSession,
  options: SessionCostOptions = {},
): Promise<SessionCost> {
  const { leafId } = options;
  const nodes =
    leafId === undefined ? Array.from(session.tree.walk(), ({ node }) => node) : session.tree.path(leafId);
  const inForce = new Map<string, Named>();
  // A message that was updated has the calls of its latest update.
  const calls = new Map<string, readonly Call[]>();
  for (const { id, parentId, type, role } of nodes) {
    const before = (parentId === null ? undefined : inForce.get(parentId)) ?? unnamed;
    const entry = isCosted(type, role) ? await session.entry(id) : undefined;
    inForce.set(id, entry === undefined ? before : (modelAfter(entry) ?? before));
    const found = entry === undefined ? [] : callsOf(entry, before);
    if (found.length > 0) calls.set(isEntry(entry, "message_update") ? entry.targetId : id, found);
  }
  return sumOf([...calls.values()].flat(), options);
}

function sumOf(calls: readonly Call[], options: CostOptions): SessionCost {
  const models = new Map<string, ModelCost>();
  const sums = { agent: noCost, summary: noCost, tool: noCost };
  for (const call of calls) {
    const spent = costOfCall(call, options);
    if (usageTokens(call.usage) === 0 && (spent === undefined || spent.total === 0)) continue;
    add(models, call, spent);
    if (spent !== undefined) sums[call.by] = addCost(sums[call.by], spent);
  }
  const all = [...models.values()];
  return {
    cost: addCost(addCost(sums.agent, sums.summary), sums.tool),
    summaries: sums.summary,
    tools: sums.tool,
    models: all,
    unknown: all.filter(({ unpriced }) => unpriced > 0),
  };
}

const costedTypes: ReadonlySet<string> = new Set([
  ...["usage", "compaction", "branch_summary", "model_change", "message_update"],
]);

function isCosted(type: string, role: string | undefined): boolean {
  return type === "message" ? role === "assistant" || role === "toolResult" : costedTypes.has(type);
}

function modelAfter(entry: SessionEntry | UnknownEntry): Named | undefined {
  const isMessage = isEntry(entry, "message") || isEntry(entry, "message_update");
  if (isMessage && entry.message.role === "assistant")
    return { provider: entry.message.provider, model: entry.message.model };
  if (isEntry(entry, "model_change")) return { provider: entry.provider, model: entry.modelId };
  return undefined;
}

function callsOf(entry: SessionEntry | UnknownEntry, inForce: Named): readonly Call[] {
  if (isEntry(entry, "message") || isEntry(entry, "message_update")) {
    const { message } = entry;
    if (message.role === "toolResult") return callsOfTool(message);
    if (message.role !== "assistant" || message.usage === undefined) return [];
    return [{ model: message, usage: message.usage, by: message.summary === true ? "summary" : "agent" }];
  }
  const timestamp = timeOf(entry);
  if (isEntry(entry, "usage")) {
    const { provider, model, usage } = entry;
    return [{ model: { provider, model, ...timestamp }, usage, by: "agent" }];
  }
  if (isEntry(entry, "compaction")) {
    const { usage, model: named } = entry;
    const model = named === undefined ? inForce : { provider: named.provider, model: named.modelId };
    return usage === undefined ? [] : [{ model: { ...model, ...timestamp }, usage, by: "summary" }];
  }
  if (!isEntry(entry, "branch_summary") || entry.usage === undefined) return [];
  return [{ model: { ...inForce, ...timestamp }, usage: entry.usage, by: "summary" }];
}

function callsOfTool({ usage, details, timestamp }: ToolResultMessage): readonly Call[] {
  const calls = detailedCalls(usage === undefined ? details : { usage });
  return calls.map((call) => ({
    model: { ...unnamed, ...(call.model !== undefined && { model: call.model }), timestamp },
    usage: call.usage,
    by: "tool",
  }));
}

function timeOf({ timestamp }: { readonly timestamp: string }): { readonly timestamp: number } | undefined {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? undefined : { timestamp: time };
}

function isEntry<T extends SessionEntry["type"]>(
  entry: SessionEntry | UnknownEntry | undefined,
  type: T,
): entry is SessionEntry & { readonly type: T } {
  return entry?.type === type;
}

function costOfCall({ model, usage }: Call, options: CostOptions): Cost | undefined {
  const { cost } = usage;
  if (cost !== undefined && isKnown(cost) && !hasOwnPrice(model, options)) return cost;
  return costOf(usage, model, options);
}

function isKnown({ input, output, cacheRead, cacheWrite, total }: Cost): boolean {
  return total > 0 && [input, output, cacheRead, cacheWrite, total].every(Number.isFinite);
}

function add(models: Map<string, ModelCost>, { model, usage }: Call, spent: Cost | undefined): void {
  const key = JSON.stringify([model.provider, model.model]);
  const { calls, tokens, cost, unpriced } = models.get(key) ?? {
    calls: 0,
    tokens: 0,
    cost: noCost,
    unpriced: 0,
  };
  models.set(key, {
    provider: model.provider,
    model: model.model,
    calls: calls + 1,
    tokens: tokens + usageTokens(usage),
    cost: spent === undefined ? cost : addCost(cost, spent),
    unpriced: unpriced + (spent === undefined ? 1 : 0),
  });
}
