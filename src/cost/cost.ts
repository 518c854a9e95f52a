import type { Usage } from "../content/index.js";
import { type ModelPrice, modelPrices, type TokenRates } from "./prices.js";

/** US dollars, in the shape that a message's usage has. */
export type Cost = NonNullable<Usage["cost"]>;

/** A model by its name, and who offers it; an assistant message is one. */
export interface PricedModel {
  /** Without it a row of any provider fits. */
  readonly provider?: string;
  readonly model: string;
}

/** Options of {@link costOf}. */
export interface CostOptions {
  /** The caller's own rows: the first that fits wins over {@link modelPrices}. */
  readonly prices?: readonly ModelPrice[];
}

/**
 * The row of a model. A date behind the name makes no difference, unless a row has it.
 *
 * @returns undefined for a model that is not in the table: a price is never guessed
 */
export function priceOf(model: string | PricedModel, options: CostOptions = {}): ModelPrice | undefined {
  const own = options.prices ?? [];
  return find(own, model) ?? find(modelPrices, model);
}

/** Whether a caller's own table has the model. */
export function hasOwnPrice(model: PricedModel, { prices = [] }: CostOptions): boolean {
  return find(prices, model) !== undefined;
}

function find(rows: readonly ModelPrice[], asked: string | PricedModel): ModelPrice | undefined {
  const { provider, model } = typeof asked === "string" ? { provider: undefined, model: asked } : asked;
  const undated = model.replace(/[-@]\d{4}-?\d{2}-?\d{2}$/, "");
  const named = (name: string) =>
    rows.find(
      (row) =>
        row.model === name &&
        (row.provider === undefined || provider === undefined || row.provider === provider),
    );
  return named(model) ?? named(undated);
}

/**
 * The cost of one call of a model, in US dollars. A long prompt is charged in whole at the rates of `long`.
 * Counts that are no numbers from 0 on count nothing. Standard processing: no batches, priority, regional
 * surcharges or fees for a provider's tools.
 *
 * @param usage as a message has it; a cost in it is not looked at
 * @param model a name, or a message
 * @returns undefined where the price is not known
 * @example
 * ```ts
 * const usage = { input: 1_000, output: 500, cacheRead: 90_000, cacheWrite: 2_000 };
 * costOf(usage, "claude-opus-5-5")?.total; // 0.042
 * ```
 */
export function costOf(
  usage: Usage,
  model: string | PricedModel,
  options: CostOptions = {},
): Cost | undefined {
  const price = priceOf(model, options);
  if (price === undefined) return undefined;
  const rates = ratesOf(price, promptTokens(usage));
  return rates && priced(usage, rates);
}

function ratesOf({ long, ...rates }: ModelPrice, prompt: number): TokenRates | undefined {
  return long !== undefined && prompt > long.above ? long.rates : rates;
}

function priced(usage: Usage, rates: TokenRates): Cost {
  const written = count(usage.cacheWrite);
  const hour = Math.min(count(usage.cacheWrite1h), written);
  const input = dollars(count(usage.input), rates.input);
  const output = dollars(count(usage.output), rates.output);
  const cacheRead = dollars(count(usage.cacheRead), rates.cacheRead);
  const cacheWrite =
    dollars(written - hour, rates.cacheWrite) + dollars(hour, rates.cacheWrite1h ?? rates.cacheWrite);
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}

/** What the provider was sent, from a cache or not. */
function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
  return count(input) + count(cacheRead) + count(cacheWrite);
}

/** All tokens of a call. */
export function usageTokens(usage: Usage): number {
  return promptTokens(usage) + count(usage.output);
}

function dollars(tokens: number, rate: number): number {
  return (tokens / 1_000_000) * rate;
}

/** A log can hold any number. */
function count(tokens: number | undefined): number {
  return typeof tokens === "number" && tokens > 0 && tokens <= Number.MAX_SAFE_INTEGER ? tokens : 0;
}

/** The cost of nothing. */
export const noCost: Cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** Two costs together. */
export function addCost(a: Cost, b: Cost): Cost {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    total: a.total + b.total,
  };
}
