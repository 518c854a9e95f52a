import type { Usage } from "../content/index.js";
import type { Session, SessionEntry, UnknownEntry } from "../session/index.js";
import { addCost, type Cost, type CostOptions, costOf, hasOwnPrice, noCost, usageTokens } from "./cost.js";

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
  readonly models: readonly ModelCost[];
  /** Those of `models` with calls that have no price. */
  readonly unknown: readonly ModelCost[];
}

interface Call {
  readonly model: { readonly provider: string; readonly model: string };
  readonly usage: Usage;
  readonly isSummary: boolean;
}

const unnamed = { provider: "unknown", model: "unknown" };

/**
 * The cost of a session's calls: assistant messages, usage entries, compactions and summaries of branches.
 * A row of `prices` goes before a recorded cost, and that before {@link modelPrices}. A recorded cost of zeros
 * for tokens is none: pi writes it for a model without a price. A summary without a model is priced as the
 * model in force there. Calls without tokens and usage in results of tools are not counted.
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
  const inForce = new Map<string, Call["model"]>();
  // A message that was updated is one call, and the latest update its usage.
  const calls = new Map<string, Call>();
  for (const { id, parentId, type, role } of nodes) {
    const before = (parentId === null ? undefined : inForce.get(parentId)) ?? unnamed;
    const entry = isCosted(type, role) ? await session.entry(id) : undefined;
    inForce.set(id, entry === undefined ? before : (modelAfter(entry) ?? before));
    const call = entry && callOf(entry, before);
    if (call !== undefined) calls.set(isEntry(entry, "message_update") ? entry.targetId : id, call);
  }
  return sumOf(calls.values(), options);
}

function sumOf(calls: Iterable<Call>, options: CostOptions): SessionCost {
  const models = new Map<string, ModelCost>();
  let cost = noCost;
  let summaries = noCost;
  for (const call of calls) {
    if (usageTokens(call.usage) === 0) continue;
    const spent = costOfCall(call, options);
    add(models, call, spent);
    if (spent === undefined) continue;
    cost = addCost(cost, spent);
    if (call.isSummary) summaries = addCost(summaries, spent);
  }
  const all = [...models.values()];
  return { cost, summaries, models: all, unknown: all.filter(({ unpriced }) => unpriced > 0) };
}

const costedTypes: ReadonlySet<string> = new Set([
  ...["usage", "compaction", "branch_summary", "model_change", "message_update"],
]);

function isCosted(type: string, role: string | undefined): boolean {
  return type === "message" ? role === "assistant" : costedTypes.has(type);
}

function modelAfter(entry: SessionEntry | UnknownEntry): Call["model"] | undefined {
  const isMessage = isEntry(entry, "message") || isEntry(entry, "message_update");
  if (isMessage && entry.message.role === "assistant")
    return { provider: entry.message.provider, model: entry.message.model };
  if (isEntry(entry, "model_change")) return { provider: entry.provider, model: entry.modelId };
  return undefined;
}

function callOf(entry: SessionEntry | UnknownEntry, inForce: Call["model"]): Call | undefined {
  if (isEntry(entry, "message") || isEntry(entry, "message_update")) {
    const { message } = entry;
    if (message.role !== "assistant" || message.usage === undefined) return undefined;
    const { provider, model, usage } = message;
    return { model: { provider, model }, usage, isSummary: message.summary === true };
  }
  if (isEntry(entry, "usage")) {
    const { provider, model, usage } = entry;
    return { model: { provider, model }, usage, isSummary: false };
  }
  if (isEntry(entry, "compaction")) {
    const { usage, model: named } = entry;
    const model = named === undefined ? inForce : { provider: named.provider, model: named.modelId };
    return usage && { model, usage, isSummary: true };
  }
  if (isEntry(entry, "branch_summary"))
    return entry.usage && { model: inForce, usage: entry.usage, isSummary: true };
  return undefined;
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
    ...model,
    calls: calls + 1,
    tokens: tokens + usageTokens(usage),
    cost: spent === undefined ? cost : addCost(cost, spent),
    unpriced: unpriced + (spent === undefined ? 1 : 0),
  });
}
