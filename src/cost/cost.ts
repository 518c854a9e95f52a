import type { Usage } from "../content/index.js";
import { isProvider, isSnapshotOf, namesOf } from "./names.js";
import type { ModelPrice, TokenRates } from "./price.js";
import { modelPrices } from "./prices.js";

/** US dollars, in the shape that a message's usage has. */
export type Cost = NonNullable<Usage["cost"]>;

/** A model by its name, and who offers it; an assistant message is one. */
export interface PricedModel {
  /** Without it a row of any provider fits, but for those that serve open models under other makers' names. */
  readonly provider?: string;
  readonly model: string;
  /** The model that answered, if it names itself otherwise: its price is the one that counts. */
  readonly responseModel?: string;
  /** When it was called, in milliseconds since 1970, for prices that change. Default: the day of the table. */
  readonly timestamp?: number;
}

/** Options of {@link costOf}. */
export interface CostOptions {
  /** The caller's own rows: the first that fits wins over {@link modelPrices}. */
  readonly prices?: readonly ModelPrice[];
  /** That requests asked for caches of 12 hours, which usage does not tell. Models without a price for it do not mind. */
  readonly cacheWrites?: "12h";
  /** Those of the usage's tokens that are of images; needed where they cost other than text. */
  readonly imageTokens?: { readonly input?: number; readonly cacheRead?: number; readonly output?: number };
}

/**
 * The row of a model at its time. Dates behind the name, `models/`, Bedrock's profiles and OpenRouter's
 * `anthropic/` and `openai/` are understood.
 *
 * @returns undefined for a model that is not in the table: a price is never guessed
 */
export function priceOf(model: string | PricedModel, options: CostOptions = {}): ModelPrice | undefined {
  const priced = typeof model === "string" ? { model } : model;
  const own = ownPrice(priced, options);
  if (own !== undefined) return own;
  const { responseModel, ...asked } = priced;
  if (responseModel === undefined) return find(modelPrices, asked);
  const answered = find(modelPrices, { ...asked, model: responseModel });
  return answered ?? (isSnapshotOf(responseModel, asked.model) ? find(modelPrices, asked) : undefined);
}

/** Whether a caller's own table has the model. */
export function hasOwnPrice(model: PricedModel, options: CostOptions): boolean {
  return ownPrice(model, options) !== undefined;
}

/** A contract with one provider is none with another that passes its models through. */
function ownPrice(model: PricedModel, { prices = [] }: CostOptions): ModelPrice | undefined {
  const { responseModel } = model;
  const answered =
    responseModel === undefined ? undefined : find(prices, { ...model, model: responseModel }, true);
  return answered ?? find(prices, model, true);
}

function find(rows: readonly ModelPrice[], model: PricedModel, isOwn = false): ModelPrice | undefined {
  const day = dayOf(model.timestamp);
  const isOf = (row: ModelPrice, asked: string | undefined) =>
    isProvider(row.provider, asked) || (isOwn && asked === undefined);
  for (const name of namesOf(model)) {
    const row = rows.find(
      (row) =>
        row.model === name.model &&
        isOf(row, isOwn ? model.provider : name.provider) &&
        holds(row, day ?? row.asOf),
    );
    if (row !== undefined) return row;
  }
  return undefined;
}

function holds({ from, until }: ModelPrice, day: string): boolean {
  return (from === undefined || from <= day) && (until === undefined || day <= until);
}

/** Messages that were made by hand have any time. */
function dayOf(timestamp: number | undefined): string | undefined {
  return isTime(timestamp) ? new Date(timestamp).toISOString().slice(0, 10) : undefined;
}

function isTime(timestamp: number | undefined): timestamp is number {
  return timestamp !== undefined && timestamp > 0 && timestamp < 253_402_300_800_000;
}

/**
 * The cost of one call of a model, in US dollars. A long prompt is charged in whole at the rates of `long`.
 * Counts that are no numbers from 0 on count nothing. Standard processing: no batches, priority, regional
 * surcharges but Bedrock's, or fees for a provider's tools.
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
  const rates = ratesOf(price, promptTokens(usage), typeof model === "string" ? undefined : model.timestamp);
  return rates && priced(usage, rates, options);
}

function ratesOf(price: ModelPrice, prompt: number, timestamp: number | undefined): TokenRates | undefined {
  const { long, peak } = price;
  if (long !== undefined && prompt > long.above) return long.rates;
  return peak === undefined ? price : byTheHour(price, peak, timestamp);
}

function byTheHour(
  price: ModelPrice,
  { hours, holidays, until, rates }: NonNullable<ModelPrice["peak"]>,
  timestamp: number | undefined,
): TokenRates | undefined {
  const day = dayOf(timestamp);
  if (!isTime(timestamp) || day === undefined) return undefined;
  const time = new Date(timestamp);
  const hour = time.getUTCHours();
  const isWeekend = time.getUTCDay() === 0 || time.getUTCDay() === 6;
  if (isWeekend || !hours.some(([from, to]) => from <= hour && hour < to)) return price;
  if (day > until) return undefined;
  return holidays.includes(day) ? price : rates;
}

function priced(
  usage: Usage,
  rates: TokenRates,
  { cacheWrites, imageTokens }: CostOptions,
): Cost | undefined {
  const input = mixed(count(usage.input), rates.input, rates.image?.input, imageTokens?.input);
  const output = mixed(count(usage.output), rates.output, rates.image?.output, imageTokens?.output);
  const cacheRead = mixed(
    count(usage.cacheRead),
    rates.cacheRead,
    rates.image?.cacheRead,
    imageTokens?.cacheRead,
  );
  if (input === undefined || output === undefined || cacheRead === undefined) return undefined;
  const written = count(usage.cacheWrite);
  const hour = Math.min(count(usage.cacheWrite1h), written);
  const shortest = (cacheWrites === "12h" ? rates.cacheWrite12h : undefined) ?? rates.cacheWrite;
  const cacheWrite =
    dollars(written - hour, shortest) + dollars(hour, rates.cacheWrite1h ?? rates.cacheWrite);
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}

/** Tokens of which some are of images; not known where those cost otherwise and nobody says how many they are. */
function mixed(
  tokens: number,
  rate: number,
  imageRate: number | undefined,
  images: number | undefined,
): number | undefined {
  if (imageRate === undefined || tokens === 0) return dollars(tokens, rate);
  if (images === undefined) return undefined;
  const ofImages = Math.min(count(images), tokens);
  return dollars(tokens - ofImages, rate) + dollars(ofImages, imageRate);
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
