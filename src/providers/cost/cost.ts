/** The cost of one call of a model. */

import type { Usage } from "../../content/index.js";
import { isSameModel, readModelName } from "../models/internal.js";
import { isInForce, type ModelPrice, type PricedName, PriceIndex, type TokenRates } from "./price.js";
import { modelPrices } from "./prices.js";

/** A cost in US dollars, in the shape of `usage.cost` of messages. */
export type Cost = NonNullable<Usage["cost"]>;

/** A model and its provider. An assistant message is a PricedModel. */
export interface PricedModel {
  /** Default: the maker, or Bedrock for its ids. */
  readonly provider?: string;
  readonly model: string;
  /** The model that answered, if its name differs. Its price takes precedence. */
  readonly responseModel?: string;
  /**
   * The time of the call in milliseconds since 1970, for prices that change. Default: the day of the table.
   */
  readonly timestamp?: number;
}

/** Options of {@link usageCost}. */
export interface CostOptions {
  /** Custom rows. The first match takes precedence over {@link modelPrices}. */
  readonly prices?: readonly ModelPrice[];
  /**
   * Requests asked for caches of 12 hours, which usage does not report. Ignored for models without such a
   * rate.
   */
  readonly cacheWrites?: "12h";
  /** The image tokens among the usage's tokens. Required for models whose image tokens have another rate. */
  readonly imageTokens?: { readonly input?: number; readonly cacheRead?: number; readonly output?: number };
}

/**
 * Finds the row of a model at the time of its call, by any form of its name: with a date, a gateway's or
 * maker's prefix, ids and ARNs of Bedrock, `@` and paths of Vertex AI, `claude-opus-4.7`, `[1m]`. Under an
 * unknown provider the models of Anthropic, Google, OpenAI and xAI have the price of their maker.
 *
 * @returns undefined for a model without a row. A version newer than all rows of its family has a copy of the
 *   row of the newest of them, marked by `assumed`.
 */
export function priceForModel(
  model: string | PricedModel,
  options: CostOptions = {},
): ModelPrice | undefined {
  const priced = typeof model === "string" ? { model } : model;
  const own = ownPrice(priced, options);
  if (own !== undefined) return own;
  const { responseModel, timestamp, ...asked } = priced;
  const day = timestampDay(timestamp);
  if (responseModel === undefined) return tablePrice(asked, day);
  const answered = tablePrice({ ...asked, model: responseModel }, day);
  if (answered !== undefined && answered.assumed === undefined) return answered;
  return (isSnapshotOf(responseModel, asked.model) ? tablePrice(asked, day) : undefined) ?? answered;
}

let index: PriceIndex | undefined;

function tablePrice(asked: PricedName, day: string | undefined): ModelPrice | undefined {
  index ??= new PriceIndex(modelPrices);
  return index.find(asked, day);
}

/** Whether a reply names a snapshot of the model that the request named. */
function isSnapshotOf(answered: string, asked: string): boolean {
  return readModelName(asked).snapshot === "" && isSameModel(answered, asked);
}

/** Whether the custom rows have the model. */
export function hasOwnPrice(model: PricedModel, options: CostOptions): boolean {
  return ownPrice(model, options) !== undefined;
}

/** Finds a custom row. It must be of the exact provider: resellers have their own contracts. */
function ownPrice(model: PricedModel, { prices = [] }: CostOptions): ModelPrice | undefined {
  if (prices.length === 0) return undefined;
  const day = timestampDay(model.timestamp);
  const ofProvider = prices.filter(
    (row) =>
      (row.provider === undefined || model.provider === undefined || row.provider === model.provider) &&
      isInForce(row, day ?? row.asOf),
  );
  for (const name of model.responseModel === undefined ? [model.model] : [model.responseModel, model.model]) {
    const row =
      ofProvider.find((row) => row.model === name) ?? ofProvider.find((row) => isSnapshotOf(name, row.model));
    if (row !== undefined) return row;
  }
  return undefined;
}

/** The day of UTC, or undefined for a timestamp out of range. */
function timestampDay(timestamp: number | undefined): string | undefined {
  return isTime(timestamp) ? new Date(timestamp).toISOString().slice(0, 10) : undefined;
}

function isTime(timestamp: number | undefined): timestamp is number {
  return timestamp !== undefined && timestamp > 0 && timestamp < 253_402_300_800_000;
}

/**
 * Computes the cost of one call of a model in US dollars, for standard processing: no batches, priority, fees
 * for a provider's tools, or regional surcharges except Bedrock's. A long prompt is charged entirely at the
 * rates of `long`. Invalid token counts count 0.
 *
 * @param usage of a message; its own `cost` is ignored
 * @param model a name, or a message
 * @returns undefined if the price is unknown
 * @example
 * ```ts
 * const usage = { input: 1_000, output: 500, cacheRead: 90_000, cacheWrite: 2_000 };
 * usageCost(usage, "claude-opus-5-5")?.total; // 0.042
 * ```
 */
export function usageCost(
  usage: Usage,
  model: string | PricedModel,
  options: CostOptions = {},
): Cost | undefined {
  const price = priceForModel(model, options);
  if (price === undefined) return undefined;
  const rates = priceRates(
    price,
    promptTokens(usage),
    typeof model === "string" ? undefined : model.timestamp,
  );
  return rates && costAtRates(usage, rates, options);
}

function priceRates(
  price: ModelPrice,
  prompt: number,
  timestamp: number | undefined,
): TokenRates | undefined {
  const { long, peak } = price;
  if (long !== undefined && prompt > long.above) return long.rates;
  return peak === undefined ? price : ratesAtTime(price, peak, timestamp);
}

function ratesAtTime(
  price: ModelPrice,
  { hours, holidays, until, rates }: NonNullable<ModelPrice["peak"]>,
  timestamp: number | undefined,
): TokenRates | undefined {
  const day = timestampDay(timestamp);
  if (!isTime(timestamp) || day === undefined) return undefined;
  const time = new Date(timestamp);
  const hour = time.getUTCHours();
  const isWeekend = time.getUTCDay() === 0 || time.getUTCDay() === 6;
  if (isWeekend || !hours.some(([from, to]) => from <= hour && hour < to)) return price;
  if (day > until) return undefined;
  return holidays.includes(day) ? price : rates;
}

function costAtRates(
  usage: Usage,
  rates: TokenRates,
  { cacheWrites, imageTokens }: CostOptions,
): Cost | undefined {
  const input = costOfTokens(tokenCount(usage.input), rates.input, rates.image?.input, imageTokens?.input);
  const output = costOfTokens(
    tokenCount(usage.output),
    rates.output,
    rates.image?.output,
    imageTokens?.output,
  );
  const cacheRead = costOfTokens(
    tokenCount(usage.cacheRead),
    rates.cacheRead,
    rates.image?.cacheRead,
    imageTokens?.cacheRead,
  );
  if (input === undefined || output === undefined || cacheRead === undefined) return undefined;
  const written = tokenCount(usage.cacheWrite);
  const hour = Math.min(tokenCount(usage.cacheWrite1h), written);
  const shortest = (cacheWrites === "12h" ? rates.cacheWrite12h : undefined) ?? rates.cacheWrite;
  const cacheWrite =
    dollars(written - hour, shortest) + dollars(hour, rates.cacheWrite1h ?? rates.cacheWrite);
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}

/**
 * Text and image tokens at their rates. Undefined if images have another rate and their number is unknown.
 */
function costOfTokens(
  tokens: number,
  rate: number,
  imageRate: number | undefined,
  images: number | undefined,
): number | undefined {
  if (imageRate === undefined || tokens === 0) return dollars(tokens, rate);
  if (images === undefined) return undefined;
  const ofImages = Math.min(tokenCount(images), tokens);
  return dollars(tokens - ofImages, rate) + dollars(ofImages, imageRate);
}

/** The tokens of the prompt, cached or not. */
function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
  return tokenCount(input) + tokenCount(cacheRead) + tokenCount(cacheWrite);
}

/** All tokens of a call. */
export function usageTokens(usage: Usage): number {
  return promptTokens(usage) + tokenCount(usage.output);
}

function dollars(tokens: number, rate: number): number {
  return (tokens / 1_000_000) * rate;
}

/** Logs are untrusted: an invalid count is 0. */
function tokenCount(tokens: number | undefined): number {
  return typeof tokens === "number" && tokens > 0 && tokens <= Number.MAX_SAFE_INTEGER ? tokens : 0;
}

/** The neutral element of {@link addCost}. */
export const noCost: Cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** Adds two costs, part by part. */
export function addCost(a: Cost, b: Cost): Cost {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    total: a.total + b.total,
  };
}
