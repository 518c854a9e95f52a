/** The cost of a session: a sum over the calls that its entries record. */

import type { ToolResultMessage, Usage } from "../../content/index.js";
import type { EntryNode, Session, SessionEntry, SessionTree, UnknownEntry } from "../../session/index.js";
import {
  addCost,
  type Cost,
  type CostOptions,
  hasOwnPrice,
  noCost,
  type PricedModel,
  priceForModel,
  usageCost,
  usageTokens,
} from "./cost.js";

/** The part of a session that {@link sessionCost} reads. */
export type CostedSession = Pick<Session, "tree" | "entry">;

/** Options of {@link sessionCost}. */
export interface SessionCostOptions extends CostOptions {
  /** Only the path to this entry. Default: all branches, because all were paid for. */
  readonly leafId?: string | null;
}

/** The calls of one model. */
export interface ModelCost {
  readonly provider: string;
  readonly model: string;
  readonly calls: number;
  readonly tokens: number;
  /** The sum of the calls with a known price. */
  readonly cost: Cost;
  /** The number of calls without a known price. `tokens` includes their tokens, `cost` does not. */
  readonly unpriced: number;
  /** Why the price is another model's, as in `ModelPrice.assumed`. */
  readonly assumed?: string;
}

/**
 * The cost of a session so far, in US dollars. A fork has copies of its source's entries and thus repeats
 * their costs: do not add both.
 */
export interface SessionCost {
  /** The sum of all known costs: a lower bound if `unknown` is not empty. */
  readonly cost: Cost;
  /** Its part of compactions and branch summaries. */
  readonly summaries: Cost;
  /** Its part of models that tools called, such as subagents. */
  readonly tools: Cost;
  readonly models: readonly ModelCost[];
  /** The models with calls without a known price. */
  readonly unknown: readonly ModelCost[];
}

interface NamedModel extends PricedModel {
  readonly provider: string;
}

/** A call of a model, and who made it. */
export interface Call {
  readonly model: NamedModel;
  readonly usage: Usage;
  readonly by: "agent" | "summary" | "tool";
}

const unnamed = { provider: "unknown", model: "unknown" };

/**
 * Sums the cost of a session's calls: assistant messages, usage entries, compactions, branch summaries, and
 * models that tools called. For a tool result its `usage` counts, which pi writes for nested calls; without
 * it the usage in `details` of pi's subagents; never both.
 *
 * A custom row of `prices` takes precedence over a recorded cost, and that over {@link modelPrices}. A
 * recorded cost of zero for tokens is ignored: pi writes it for models without a price. A summary without a
 * model has the price of the model in force there. A tool's call without a model has no price. Calls without
 * tokens and cost are not counted. A subagent's own session is separate: add either its cost or the cost of
 * the results, not both.
 *
 * @throws SessileError ENTRY_NOT_FOUND for an unknown `leafId`; errors of `session.entry`
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
  const path = leafId === undefined ? undefined : (await session.tree()).path(leafId);
  return sumCalls(await sessionCalls(session, path), options);
}

/** The calls of a session in the order of its tree; see {@link sessionCost}. */
export async function sessionCalls(
  session: Pick<CostedSession, "entry"> & { tree(): Promise<Pick<SessionTree, "walk">> },
  path?: readonly EntryNode[],
): Promise<readonly Call[]> {
  const nodes = path ?? Array.from((await session.tree()).walk(), ({ node }) => node);
  const inForce = new Map<string, NamedModel>();
  // An update replaces the calls of its message.
  const calls = new Map<string, readonly Call[]>();
  for (const { id, parentId, type, role } of nodes) {
    const before = (parentId === null ? undefined : inForce.get(parentId)) ?? unnamed;
    const entry = isCosted(type, role) ? await session.entry(id) : undefined;
    inForce.set(id, entry === undefined ? before : (modelAfter(entry) ?? before));
    const found = entry === undefined ? [] : entryCalls(entry, before);
    if (found.length > 0) calls.set(isEntry(entry, "message_update") ? entry.targetId : id, found);
  }
  return [...calls.values()].flat();
}

function sumCalls(calls: readonly Call[], options: CostOptions): SessionCost {
  const models = new Map<string, ModelCost>();
  const sums = { agent: noCost, summary: noCost, tool: noCost };
  for (const call of calls) {
    const spent = costOfCall(call, options);
    if (usageTokens(call.usage) === 0 && (spent === undefined || spent.total === 0)) continue;
    const isRecorded = spent === call.usage.cost;
    addCall(models, call, spent, isRecorded ? undefined : priceForModel(call.model, options)?.assumed);
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

/** Entry types besides messages that record a call, or the model of later ones. */
export const costedTypes: ReadonlySet<string> = new Set([
  ...["usage", "compaction", "branch_summary", "model_change", "message_update"],
]);

function isCosted(type: string, role: string | undefined): boolean {
  return type === "message" ? role === "assistant" || role === "toolResult" : costedTypes.has(type);
}

function modelAfter(entry: SessionEntry | UnknownEntry): NamedModel | undefined {
  const isMessage = isEntry(entry, "message") || isEntry(entry, "message_update");
  if (isMessage && entry.message.role === "assistant")
    return { provider: entry.message.provider, model: entry.message.model };
  if (isEntry(entry, "model_change")) return { provider: entry.provider, model: entry.modelId };
  return undefined;
}

function entryCalls(entry: SessionEntry | UnknownEntry, inForce: NamedModel): readonly Call[] {
  if (isEntry(entry, "message") || isEntry(entry, "message_update")) {
    const { message } = entry;
    if (message.role === "toolResult") return callsOfTool(message);
    if (message.role !== "assistant" || message.usage === undefined) return [];
    return [{ model: message, usage: message.usage, by: message.summary === true ? "summary" : "agent" }];
  }
  const timestamp = readTimestamp(entry);
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
  const calls = callsInDetails(usage === undefined ? details : { usage });
  return calls.map((call) => ({
    model: { ...unnamed, ...(call.model !== undefined && { model: call.model }), timestamp },
    usage: call.usage,
    by: "tool",
  }));
}

function readTimestamp({
  timestamp,
}: {
  readonly timestamp: string;
}): { readonly timestamp: number } | undefined {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? undefined : { timestamp: time };
}

function isEntry<T extends SessionEntry["type"]>(
  entry: SessionEntry | UnknownEntry | undefined,
  type: T,
): entry is SessionEntry & { readonly type: T } {
  return entry?.type === type;
}

/** The cost of a call: recorded, or by a table. */
export function costOfCall({ model, usage }: Call, options: CostOptions): Cost | undefined {
  const { cost } = usage;
  if (cost !== undefined && isRecordedCost(cost) && !hasOwnPrice(model, options)) return cost;
  return usageCost(usage, model, options);
}

function isRecordedCost({ input, output, cacheRead, cacheWrite, total }: Cost): boolean {
  return total > 0 && [input, output, cacheRead, cacheWrite, total].every(Number.isFinite);
}

function addCall(
  models: Map<string, ModelCost>,
  { model, usage }: Call,
  spent: Cost | undefined,
  assumed: string | undefined,
): void {
  const key = JSON.stringify([model.provider, model.model]);
  const known = models.get(key);
  const why = known?.assumed ?? assumed;
  const { calls, tokens, cost, unpriced } = known ?? {
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
    ...(why !== undefined && { assumed: why }),
  });
}

/** A call of a model by a tool, as recorded in its result. */
interface ToolCallUsage {
  readonly model?: string;
  readonly usage: Usage;
}

/**
 * Reads the calls in `details` of a tool result: `{ usage, model? }`, or `{ results: [{ usage, model? }] }`
 * of pi's subagents. Details are any JSON: a usage without valid counts is ignored.
 *
 * @see https://github.com/earendil-works/pi/tree/main/packages/coding-agent/examples/extensions/subagent,
 *   1.5.2
 */
function callsInDetails(details: unknown): readonly ToolCallUsage[] {
  if (!isRecord(details)) return [];
  const { usage, results } = details;
  if (usage !== undefined) return callInRecord(details);
  return Array.isArray(results) ? results.flatMap(callInRecord) : [];
}

function callInRecord(value: unknown): readonly ToolCallUsage[] {
  if (!isRecord(value) || !isRecord(value.usage)) return [];
  const { input, output, cacheRead = 0, cacheWrite = 0, cacheWrite1h, cost } = value.usage;
  if (!isCount(input) || !isCount(output) || !isCount(cacheRead) || !isCount(cacheWrite)) return [];
  const known = recordedCost(cost);
  const usage = {
    ...{ input, output, cacheRead, cacheWrite },
    ...(isCount(cacheWrite1h) && { cacheWrite1h }),
    ...(known && { cost: known }),
  };
  return [typeof value.model === "string" ? { model: value.model, usage } : { usage }];
}

/** A recorded cost: an object, or the total only, as pi's subagents write it. */
function recordedCost(cost: unknown): Usage["cost"] {
  const total = isRecord(cost) ? cost.total : cost;
  if (!isCount(total)) return undefined;
  const part = (name: string) => {
    const value = isRecord(cost) ? cost[name] : 0;
    return isCount(value) ? value : 0;
  };
  return {
    input: part("input"),
    output: part("output"),
    cacheRead: part("cacheRead"),
    cacheWrite: part("cacheWrite"),
    total,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
