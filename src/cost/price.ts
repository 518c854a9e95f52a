/** US dollars for a million tokens. */
export interface TokenRates {
  /** Input that was neither read from a cache nor written to one. */
  readonly input: number;
  /** Input that was read from a cache. */
  readonly cacheRead: number;
  /** Input that was written to a cache of the provider's shortest lifetime: 5 minutes at Anthropic. */
  readonly cacheWrite: number;
  /** Input that was written to a cache of an hour. By default `cacheWrite`. */
  readonly cacheWrite1h?: number;
  /** Input that was written to a cache of 12 hours, where a request may ask for it. By default `cacheWrite`. */
  readonly cacheWrite12h?: number;
  /** Reasoning included. */
  readonly output: number;
  /** Tokens of images, where they cost other than those of text. */
  readonly image?: {
    readonly input?: number;
    readonly cacheRead?: number;
    readonly output?: number;
  };
}

/** Rates of hours in which a provider charges more. Outside of them, the row's own rates hold. */
export interface PeakRates {
  /** Hours of UTC on Monday to Friday, each from the first to before the second. */
  readonly hours: readonly (readonly [from: number, to: number])[];
  /** Days without such hours, as YYYY-MM-DD. */
  readonly holidays: readonly string[];
  /** The last day for which the holidays are known; on later ones the price in the hours is not. */
  readonly until: string;
  readonly rates: TokenRates;
}

/** The price of a model by one source. Tokens of documents cost as those of text, in all rows. */
export interface ModelPrice extends TokenRates {
  /** As messages have it; absent: any. A reseller has prices of its own. */
  readonly provider?: string;
  /** As messages have it; a date behind it, as `-20250929` or `-2026-09-29`, is ignored. */
  readonly model: string;
  /** The first day of UTC on which the row holds, as YYYY-MM-DD. Default: since ever. */
  readonly from?: string;
  /** The last day of UTC on which the row holds. Default: still. */
  readonly until?: string;
  /** Prompts of more tokens than `above` cost this in whole; not known where there is no rate. */
  readonly long?: { readonly above: number; readonly rates?: TokenRates };
  /** Rates by the hour; the cost of a call whose time is not known is not known. */
  readonly peak?: PeakRates;
  /** Where the price was read. */
  readonly source: string;
  /** When it was read, as YYYY-MM-DD. */
  readonly asOf: string;
  readonly note?: string;
}

/** The day on which all sources of the table were read. */
export const asOf = "2026-11-22";

/** Rates in the order of most price lists. A write costs as input by default: there is no fee for it. */
export function rates(input: number, cacheRead: number, output: number, cacheWrite = input): TokenRates {
  return { input, cacheRead, cacheWrite, output };
}

/** A rate that was multiplied, without what floating point adds to it. */
export function exact(rate: number): number {
  return Math.round(rate * 1_000_000) / 1_000_000;
}
