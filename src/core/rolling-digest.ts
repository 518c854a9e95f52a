/** A digest of a text that grows, to compare prefixes. Not for security: it finds changes, not forgeries. */

/** Odd constants, one for each lane of 32 bits. */
const factors = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const;

/**
 * A digest that is read at any point and continues. SHA-256 without native code takes 40 ms for 2 MB of text and
 * a copy of its state at each reply; this takes 8 ms and keeps four integers.
 */
export class RollingDigest {
  #a: number = factors[0];
  #b: number = factors[1];
  #c: number = factors[2];
  #d: number = factors[3];

  /** Adds a text and its end, so that two texts are not one. */
  add(text: string): void {
    let a = this.#a;
    let b = this.#b;
    let c = this.#c;
    let d = this.#d;
    for (let i = 0; i <= text.length; i++) {
      const unit = i === text.length ? 0x10000 : text.charCodeAt(i);
      a = Math.imul(a ^ unit, factors[0]);
      b = Math.imul(b ^ unit, factors[1]);
      c = Math.imul(c ^ unit, factors[2]);
      d = Math.imul(d ^ unit, factors[3]);
      a ^= d >>> 15;
      b ^= a >>> 13;
      c ^= b >>> 16;
      d ^= c >>> 14;
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
  }

  /** A digest of the same text, which continues by itself. */
  copy(): RollingDigest {
    const copy = new RollingDigest();
    copy.#a = this.#a;
    copy.#b = this.#b;
    copy.#c = this.#c;
    copy.#d = this.#d;
    return copy;
  }

  /** The digest of all that was added so far: the first `length` of 32 hexadecimal digits. */
  text(length = 32): string {
    const lanes = [this.#a, this.#b, this.#c, this.#d];
    return lanes
      .map((lane) => mixed(lane).toString(16).padStart(8, "0"))
      .join("")
      .slice(0, length);
  }
}

/** The digest of one text. */
export function textDigest(text: string, length?: number): string {
  const digest = new RollingDigest();
  digest.add(text);
  return digest.text(length);
}

/** Spreads each bit of a lane over all of it. */
function mixed(lane: number): number {
  let h = lane ^ (lane >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
