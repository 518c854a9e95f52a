/** Blocks of a streamed reply by the index that the wire names, and deltas of unknown kinds merged into them. */

import { concatBytes } from "../core/bytes.js";
import { isRecord } from "../core/shape.js";

/** A block while it arrives. */
interface OpenBlock {
  /** Whether its end has not come. */
  isOpen: boolean;
}

/** A block, and its place in the order of arrival, which deltas name. */
export interface PlacedBlock<B> {
  readonly block: B;
  readonly place: number;
}

/**
 * The blocks of a reply. Gateways leave indexes out, use one twice, or name another one for the pieces of a
 * block: no piece is lost for that.
 */
export class OpenBlocks<B extends OpenBlock> {
  readonly #blocks: B[] = [];
  readonly #indexes: number[] = [];
  /** The latest block with an index. */
  readonly #latest = new Map<number, number>();
  #next = 0;

  /** Adds a block. A block that still has the index is closed. */
  begin(index: unknown, block: B): PlacedBlock<B> {
    const key = isIndex(index) ? index : this.#next;
    this.#next = Math.max(this.#next, key + 1);
    const before = this.at(key);
    if (before !== undefined) before.block.isOpen = false;
    const place = this.#blocks.push(block) - 1;
    this.#indexes.push(key);
    this.#latest.set(key, place);
    return { block, place };
  }

  /** The latest block with an index; without an index the latest block of all. */
  at(index: unknown): PlacedBlock<B> | undefined {
    const place = isIndex(index) ? this.#latest.get(index) : this.#blocks.length - 1;
    const block = place === undefined ? undefined : this.#blocks[place];
    return block === undefined ? undefined : { block, place: place as number };
  }

  /** The block that a piece belongs to: that of its index if it fits, otherwise the latest open one that fits. */
  for(index: unknown, fits: (block: B) => boolean): PlacedBlock<B> | undefined {
    const named = this.at(index);
    if (named !== undefined && fits(named.block)) return named;
    const place = this.#blocks.findLastIndex((block) => block.isOpen && fits(block));
    return place < 0 ? undefined : { block: this.#blocks[place] as B, place };
  }

  /** All blocks, by index. */
  inOrder(): readonly B[] {
    return this.#blocks
      .map((block, place) => ({ block, index: this.#indexes[place] as number }))
      .sort((a, b) => a.index - b.index)
      .map(({ block }) => block);
  }
}

function isIndex(index: unknown): index is number {
  return Number.isSafeInteger(index) && (index as number) >= 0;
}

/**
 * Merges a delta of an unknown kind into a block: texts, lists and bytes go on, objects are merged, and any
 * other value replaces the one before. Null changes nothing.
 */
export function mergeDelta(into: Record<string, unknown>, delta: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(delta)) {
    if (value === undefined || name === "__proto__") continue;
    if (value !== null || into[name] === undefined) into[name] = merged(into[name], value);
  }
}

function merged(before: unknown, value: unknown): unknown {
  if (typeof value === "string") return typeof before === "string" ? before + value : value;
  if (value instanceof Uint8Array) return before instanceof Uint8Array ? concatBytes([before, value]) : value;
  if (Array.isArray(value)) return Array.isArray(before) ? [...(before as unknown[]), ...value] : value;
  if (!isRecord(value)) return value;
  const copy = isRecord(before) ? { ...before } : {};
  mergeDelta(copy, value);
  return copy;
}
