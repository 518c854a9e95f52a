/** Finds the row of a model among prices, by any form of its name. */

import { hostAsksPrice, type ModelName, readModelName, readProviderName } from "../models/internal.js";
import type { ModelPrice } from "./price.js";

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
