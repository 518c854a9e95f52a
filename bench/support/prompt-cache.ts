import type { Usage } from "sessile";

/** A piece of a request between which a provider can divide: a message, or the system's text. */
export interface Unit {
  readonly id: number;
  readonly tokens: number;
  readonly bytes: number;
  /** Content blocks, by which Anthropic counts. */
  readonly blocks: number;
}

/** How a provider caches the beginnings of prompts. */
export interface CachingRules {
  readonly lifetimeSeconds: number;
  /** Shorter prefixes are not kept. */
  readonly minimumTokens: number;
  /** `anywhere`: any prefix that two requests share. `ends`: only one that ends at a breakpoint. */
  readonly granularity: "anywhere" | "ends";
  /** How many blocks before a breakpoint are looked at for a kept prefix. Default all. */
  readonly lookback?: number;
  /** Whether writes are counted as such. */
  readonly countsWrites: boolean;
  /** Whether they are kept for an hour. */
  readonly hour?: boolean;
}

/**
 * The counts of a provider for requests in their order. A trie of all prefixes that were sent holds the time
 * at which each was last written or read. A read renews a prefix.
 */
export class PromptCache {
  readonly #rules: CachingRules;
  readonly #nodes = new Map<string, number>();
  readonly #usedAt = new Map<number, number>();

  constructor(rules: CachingRules) {
    this.#rules = rules;
  }

  /** The counts of a request's prompt, and how many of its bytes were read. */
  send(
    units: readonly Unit[],
    at: number,
  ): { readonly prompt: Omit<Usage, "output">; readonly readBytes: number } {
    const { lifetimeSeconds, minimumTokens, granularity, lookback, countsWrites, hour } = this.#rules;
    const path = this.#path(units);
    const alive = (place: number) => {
      const used = this.#usedAt.get(path[place] as number);
      return used !== undefined && at - used <= lifetimeSeconds;
    };
    // cacheConversation's breakpoints: the last turn, the last but two, and the system's text.
    const breakpoints = [units.length - 1, units.length - 3, 0].filter((place) => place >= 0);
    const candidates =
      lookback === undefined
        ? units.map((_, place) => place)
        : breakpoints.flatMap((from) => placesBefore(units, from, lookback));
    const readTo = candidates.filter(alive).reduce((most, place) => Math.max(most, place + 1), 0);
    const total = (part: readonly Unit[], of: "tokens" | "bytes") =>
      part.reduce((sum, unit) => sum + unit[of], 0);
    const read = total(units.slice(0, readTo), "tokens");
    const hit = read >= minimumTokens;
    const all = total(units, "tokens");
    const cacheRead = hit ? read : 0;
    const kept = granularity === "anywhere" ? units.map((_, place) => place) : breakpoints;
    if (all >= minimumTokens) for (const place of kept) this.#usedAt.set(path[place] as number, at);
    if (hit) this.#usedAt.set(path[readTo - 1] as number, at);
    const rest = all - cacheRead;
    const cacheWrite = countsWrites && all >= minimumTokens ? rest : 0;
    return {
      prompt: {
        input: rest - cacheWrite,
        cacheRead,
        cacheWrite,
        ...(hour ? { cacheWrite1h: cacheWrite } : {}),
      },
      readBytes: hit ? total(units.slice(0, readTo), "bytes") : 0,
    };
  }

  /** The node of every beginning. */
  #path(units: readonly Unit[]): readonly number[] {
    let node = -1;
    return units.map(({ id }) => {
      const key = `${node},${id}`;
      node = this.#nodes.get(key) ?? this.#nodes.size;
      this.#nodes.set(key, node);
      return node;
    });
  }
}

function placesBefore(units: readonly Unit[], from: number, lookback: number): readonly number[] {
  const places: number[] = [];
  let blocks = 0;
  for (let place = from; place >= 0 && blocks < lookback; place--) {
    places.push(place);
    blocks += units[place]?.blocks ?? 0;
  }
  return places;
}
