/** The row of a model in the price table. */

/** US dollars per million tokens. */
export interface TokenRates {
  /** Uncached input. */
  readonly input: number;
  /** Input read from a cache. */
  readonly cacheRead: number;
  /** Input written to a cache of the provider's shortest lifetime: 5 minutes at Anthropic. */
  readonly cacheWrite: number;
  /** Input written to a cache of an hour. Default: `cacheWrite`. */
  readonly cacheWrite1h?: number;
  /** Input written to a cache of 12 hours, if a request can ask for it. Default: `cacheWrite`. */
  readonly cacheWrite12h?: number;
  /** Output, including reasoning. */
  readonly output: number;
  /** Image tokens, if their rate differs from text. */
  readonly image?: {
    readonly input?: number;
    readonly cacheRead?: number;
    readonly output?: number;
  };
}

/** Rates of peak hours. Outside of them the rates of the row apply. */
export interface PeakRates {
  /** Ranges of UTC hours on Monday to Friday: from inclusive, to exclusive. */
  readonly hours: readonly (readonly [from: number, to: number])[];
  /** Days without peak hours, as YYYY-MM-DD. */
  readonly holidays: readonly string[];
  /** The last day for which the holidays are known. On later days the price in peak hours is unknown. */
  readonly until: string;
  readonly rates: TokenRates;
}

/** The price of a model by one source. Tokens of documents cost the same as text in all rows. */
export interface ModelPrice extends TokenRates {
  /** The provider as in messages. Default: any. Resellers have their own prices. */
  readonly provider?: string;
  /** The model as in messages. A date suffix of a message, `-20250929` or `-2026-09-29`, is ignored. */
  readonly model: string;
  /** The first UTC day of the price, as YYYY-MM-DD. Default: no start. */
  readonly from?: string;
  /** The last UTC day of the price. Default: no end. */
  readonly until?: string;
  /**
   * Prompts of more tokens than `above` are charged entirely at `rates`; without `rates` their price is
   * unknown.
   */
  readonly long?: { readonly above: number; readonly rates?: TokenRates };
  /** Rates of peak hours. The cost of a call without a time is then unknown. */
  readonly peak?: PeakRates;
  /** The URL of the source. */
  readonly source: string;
  /** The day on which the source was read, as YYYY-MM-DD. */
  readonly asOf: string;
  readonly note?: string;
  /** Why the row is not that of the model itself, if it is another model's. Only in results of `priceForModel`. */
  readonly assumed?: string;
}

/** The day on which all sources of the table were read. */
export const asOf = "2026-11-22";

/**
 * Rates in the order of most price lists. Default of `cacheWrite`: the rate of input, because most providers
 * charge no fee.
 */
export function rates(input: number, cacheRead: number, output: number, cacheWrite = input): TokenRates {
  return { input, cacheRead, cacheWrite, output };
}

/** Rounds a product of rates to six digits, to remove floating-point noise. */
export function exact(rate: number): number {
  return Math.round(rate * 1_000_000) / 1_000_000;
}
