/** The sums of `stats` over the calls of models that sessions record. */

import type { Cost, CostOptions } from "../providers/cost/index.js";
import {
  type Call,
  costOfCall,
  priceForModel,
  sessionCalls,
  usageTokens,
} from "../providers/cost/internal.js";
import type { Session } from "../session/index.js";

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

/** The groups by which calls are summed. */
export const groupings = ["model", "day", "project"] as const;
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
  async add(session: Session): Promise<void> {
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

  #addCall(call: Call, session: Session, cost: Cost | undefined): void {
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

function callName({ model }: Call, session: Session, by: Grouping): string {
  // The price is that of the model that replied.
  if (by === "model") return model.responseModel ?? model.model;
  if (by === "project") return session.header.cwd;
  const date = new Date(model.timestamp ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return "unknown";
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
