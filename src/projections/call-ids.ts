import { encodeUtf8 } from "../internal/bytes.js";
import { crc32Hex } from "../internal/crc32.js";
import type { CallIdRule } from "./target.js";

/** What most providers take: letters, digits, `_` and `-`, at most 64. */
const defaultRule: CallIdRule = { character: /[A-Za-z0-9_-]/, maxLength: 64 };

/**
 * Gives each call of a request an id that its target takes. The stored id where it is one; else what of it can stay, with
 * a checksum of the whole, so that the same id of another provider always becomes the same. An id that is taken already gets
 * a number.
 */
export class CallIds {
  readonly #rule: CallIdRule;
  readonly #valid: RegExp;
  readonly #used = new Set<string>();
  /** The number that the next call with this base may get. */
  readonly #next = new Map<string, number>();

  constructor(rule: CallIdRule = defaultRule) {
    this.#rule = rule;
    this.#valid = new RegExp(`^(?:${rule.character.source})+$`, rule.character.flags.replace(/[gy]/g, ""));
  }

  /** The id in this request of the next call, by its stored id. */
  idFor(storedId: string): string {
    const base = this.#fitting(this.#own(storedId));
    let id = base;
    let n = this.#next.get(base) ?? 2;
    for (; this.#used.has(id); n++) {
      const number = `_${n}`;
      id = base.slice(0, this.#rule.maxLength - number.length) + number;
    }
    this.#next.set(base, n);
    this.#used.add(id);
    return id;
  }

  /** Whether an id is a part of the stored one that the target knows as the call's own. */
  isWithin(storedId: string, id: string): boolean {
    return this.#rule.of !== undefined && this.#own(storedId) === id;
  }

  #own(storedId: string): string {
    return this.#rule.of?.(storedId) ?? storedId;
  }

  #fitting(id: string): string {
    const { maxLength, character } = this.#rule;
    if (id.length <= maxLength && this.#valid.test(id)) return id;
    const kept = Array.from(id, (c) => (character.test(c) ? c : "_")).join("");
    const sum = crc32Hex(encodeUtf8(id.toWellFormed()));
    return `${kept.slice(0, maxLength - sum.length - 1)}_${sum}`;
  }
}
