/** A price of a model: its row, and the row that applies to a message. */

import { hostAsksPrice, type ModelName, readModelName, readProviderName } from "../models/internal.js";

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

// Finds the row of a model among prices, by any form of its name.

/** A model and its provider, as in a message. */
export interface PricedName {
  readonly provider?: string | undefined;
  readonly model: string;
}

/** Makers that alone serve their models or set their price: under an unknown provider their price holds. */
const closedMakers: ReadonlySet<string> = new Set(["anthropic", "openai", "google", "xai"]);

/** Rows by provider and model, in the order of the table. */
export class PriceIndex {
  readonly #rows = new Map<string, ModelPrice[]>();
  /** The newest version of each family. */
  readonly #newest = new Map<string, { readonly name: string; readonly version: number }>();

  constructor(rows: readonly ModelPrice[]) {
    for (const row of rows) {
      const host = row.provider ?? "";
      const name = readModelName(row.model);
      const [key = ""] = keysByName(name);
      for (const one of new Set([row.model.toLowerCase(), key])) {
        const same = this.#rows.get(`${host} ${one}`);
        if (same === undefined) this.#rows.set(`${host} ${one}`, [row]);
        else same.push(row);
      }
      this.#addFamily(host, name);
    }
  }

  #addFamily(host: string, { name, family, version, variant, bedrock, snapshot }: ModelName): void {
    if (version === undefined || variant !== undefined || snapshot.length === 4) return;
    const key = `${host} ${bedrock ?? ""} ${family}`;
    if (version > (this.#newest.get(key)?.version ?? -1)) this.#newest.set(key, { name, version });
  }

  /**
   * The row of a model on a day. A version newer than all rows of its family is priced as the newest of them,
   * and the row is marked `assumed`. An older one that no row has is unknown.
   */
  find(asked: PricedName, day: string | undefined): ModelPrice | undefined {
    const name = readModelName(asked.model);
    const hosts = providerHosts(asked.provider, name);
    for (const host of hosts) {
      const exact = [asked.model.toLowerCase(), ...keysByName(name)];
      const found = exact.flatMap((key) => this.#rows.get(`${host} ${key}`) ?? []);
      const inForce = found.find((row) => isInForce(row, day ?? row.asOf));
      // A known model without a price on that day has none.
      if (inForce !== undefined || found.length > 0) return inForce;
    }
    for (const host of hosts) {
      const row = this.#newestPrice(host, name, day);
      if (row !== undefined)
        return { ...row, assumed: `the price of ${row.model}, the newest of its family` };
    }
    return undefined;
  }

  #newestPrice(host: string, asked: ModelName, day: string | undefined): ModelPrice | undefined {
    if (asked.version === undefined || asked.variant !== undefined) return undefined;
    for (const area of modelAreas(asked)) {
      const newest = this.#newest.get(`${host} ${area ?? ""} ${asked.family}`);
      if (newest === undefined || asked.version <= newest.version) continue;
      const rows = this.#rows.get(`${host} ${keyByName(newest.name, area)}`) ?? [];
      const row = rows.find((one) => isInForce(one, day ?? one.asOf));
      if (row !== undefined) return row;
    }
    return undefined;
  }
}

/** The keys of a model, the most exact first. A month and day, as in `-0905`, has a price of its own. */
function keysByName(name: ModelName): readonly string[] {
  const names = name.snapshot === "" ? [name.name] : [`${name.name}@${name.snapshot}`];
  if (name.snapshot !== "" && name.snapshot.length !== 4) names.push(name.name);
  const variant = name.variant === undefined || name.variant === "thinking" ? "" : `:${name.variant}`;
  return names.flatMap((one) => modelAreas(name).map((area) => keyByName(one + variant, area)));
}

const keyByName = (name: string, area: string | undefined): string =>
  area === undefined ? name : `${area}.${name}`;

/** The areas whose rows have the price of an id: its own, and that of all geographic profiles. */
function modelAreas({ bedrock }: ModelName): readonly (string | undefined)[] {
  if (bedrock === undefined || ["global", "geo", "region", "us-gov"].includes(bedrock)) return [bedrock];
  return [bedrock, "geo"];
}

/** The providers whose rows have the price: the provider itself, the maker if its price is asked. */
function providerHosts(provider: string | undefined, { maker, bedrock }: ModelName): readonly string[] {
  const host = provider === undefined ? undefined : readProviderName(provider);
  const isKnown = host !== undefined && host !== "anthropic" && host !== "amazon-bedrock";
  if (bedrock !== undefined) return isKnown ? [host] : ["amazon-bedrock"];
  if (host !== undefined) return maker !== undefined && hostAsksPrice(host, maker) ? [host, maker] : [host];
  if (maker === undefined) return [];
  return provider === undefined || closedMakers.has(maker) ? [maker] : [];
}

export function isInForce({ from, until }: ModelPrice, day: string): boolean {
  return (from === undefined || from <= day) && (until === undefined || day <= until);
}
