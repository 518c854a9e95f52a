import { integerArgument } from "../internal/arguments.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { crc32 } from "../internal/crc32.js";
import type { CallIdRule } from "./target.js";

/** What most providers take: letters, digits, `_` and `-`, at most 64. */
const defaultRule: CallIdRule = { character: /[A-Za-z0-9_-]/, maxLength: 64 };

const lettersAndDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * Gives each call of a request an id that its target takes. The stored id where it is one; else what of it can stay, with
 * a checksum of the whole, so that the same id of another provider always becomes the same. An id that is taken already gets
 * a number.
 */
export class CallIds {
  readonly #maxLength: number;
  readonly #minLength: number;
  readonly #of: ((storedId: string) => string) | undefined;
  readonly #character: RegExp;
  readonly #valid: RegExp;
  /** In place of what is not allowed, and before what is added. */
  readonly #filler: string;
  /** What checksums and numbers are written with. */
  readonly #digits: string;
  readonly #sumLength: number;
  readonly #used = new Set<string>();
  /** The number that the next call with this base may get. */
  readonly #next = new Map<string, number>();

  /** @throws RangeError for a rule by which ids cannot be told apart */
  constructor({ character, maxLength, minLength = 1, of }: CallIdRule = defaultRule) {
    // A pattern that remembers where it stopped would not see the next character.
    const flags = character.flags.replace(/[gy]/g, "");
    this.#of = of;
    this.#character = new RegExp(character.source, flags);
    this.#valid = new RegExp(`^(?:${character.source})+$`, flags);
    this.#filler = ["_", "-"].find((one) => this.#character.test(one)) ?? "";
    const allowed = Array.from(lettersAndDigits).filter((one) => this.#character.test(one));
    if (allowed.length < 2) {
      const expected = "a pattern that takes two letters or digits of ASCII";
      throw new RangeError(`target.rules.callId.character: expected ${expected}, got ${String(character)}`);
    }
    this.#digits = allowed.slice(0, 16).join("");
    this.#sumLength = Math.ceil(32 / Math.log2(this.#digits.length));
    this.#maxLength = integerArgument("target.rules.callId.maxLength", maxLength, this.#sumLength + 1);
    this.#minLength = integerArgument("target.rules.callId.minLength", minLength, 1);
    if (this.#minLength > this.#maxLength) {
      throw new RangeError(`target.rules.callId.minLength: expected at most ${maxLength}, got ${minLength}`);
    }
  }

  /** The id in this request of the next call, by its stored id. */
  idFor(storedId: string): string {
    const base = this.#fitting(this.#own(storedId));
    let id = base;
    let n = this.#next.get(base) ?? 2;
    for (; this.#used.has(id); n++) id = this.#ending(base, this.#written(n));
    this.#next.set(base, n);
    this.#used.add(id);
    return id;
  }

  /** Why the id in this request is not the stored one: each reason that applies. */
  whyNot(storedId: string, id: string): string {
    const own = this.#own(storedId);
    const reasons: string[] = [];
    if (own === "") reasons.push("it is empty");
    else if (!this.#valid.test(own) || !own.isWellFormed())
      reasons.push("it has characters that the target does not take");
    if (own.length > this.#maxLength)
      reasons.push(`it is longer than the target's ${this.#maxLength} characters`);
    else if (own !== "" && own.length < this.#minLength)
      reasons.push(`it is shorter than the target's ${this.#minLength} characters`);
    if (id !== this.#fitting(own)) reasons.push("an earlier call of the request has it");
    return reasons.join("; ");
  }

  /** Whether an id is a part of the stored one that the target knows as the call's own. */
  isWithin(storedId: string, id: string): boolean {
    return this.#of !== undefined && this.#own(storedId) === id;
  }

  #own(storedId: string): string {
    return this.#of?.(storedId) ?? storedId;
  }

  #fitting(id: string): string {
    const { length } = id;
    if (length >= this.#minLength && length <= this.#maxLength && this.#valid.test(id) && id.isWellFormed())
      return id;
    const formed = id.toWellFormed();
    const kept = Array.from(formed, (c) => (this.#character.test(c) ? c : this.#filler)).join("");
    const sum = this.#written(crc32(encodeUtf8(formed))).padStart(this.#sumLength, this.#digits[0]);
    const fitting = this.#ending(kept, sum);
    return fitting.padEnd(this.#minLength, this.#digits[0]);
  }

  /** As much of a text as there is room for before its end. */
  #ending(text: string, end: string): string {
    const room = this.#maxLength - end.length;
    if (room < this.#filler.length) return end;
    // What a cut leaves of a character of two units is none.
    const kept = text.slice(0, room - this.#filler.length).replace(/[\ud800-\udbff]$/, "");
    return kept + this.#filler + end;
  }

  #written(n: number): string {
    const base = this.#digits.length;
    let text = "";
    for (let rest = n; rest > 0 || text === ""; rest = Math.floor(rest / base)) {
      text = this.#digits.charAt(rest % base) + text;
    }
    return text;
  }
}
