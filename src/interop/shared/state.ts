/**
 * The state of an entry as a short text: equal for equal content. An agent goes on writing a reply that was
 * imported before it was complete, and changes records by later ones; then the entry is another one.
 */

/** The state of a value of JSON. Times do not count, nor the middle of a long text beside its length. */
export function stateOf(value: unknown): string {
  const state = new State();
  state.add(value, 0);
  return state.text;
}

/** More of a text at both ends is as good as all of it: texts of agents grow, and have their length. */
const textEnd = 32;
const maxDepth = 512;

/** A hash of 64 bits. It need not be safe: two states that are taken for one lose only an update. */
class State {
  #a = 0x9e3779b9;
  #b = 0x85ebca6b;

  get text(): string {
    return `${(this.#a >>> 0).toString(36)}.${(this.#b >>> 0).toString(36)}`;
  }

  add(value: unknown, depth: number): void {
    if (typeof value === "string") this.#text(value);
    else if (typeof value === "object" && value !== null && depth < maxDepth) this.#members(value, depth);
    else this.#text(String(value));
  }

  #members(value: object, depth: number): void {
    if (Array.isArray(value)) {
      this.#text(`[${value.length}`);
      for (const item of value) this.add(item, depth + 1);
      return;
    }
    for (const name in value) {
      const member = (value as Readonly<Record<string, unknown>>)[name];
      if (name === "timestamp" || member === undefined) continue;
      this.#text(name);
      this.add(member, depth + 1);
    }
    this.#text("}");
  }

  /** Locals make this twice as fast as members would. */
  #text(text: string): void {
    const { length } = text;
    let a = Math.imul(this.#a ^ length, 0x9e3779b1);
    let b = Math.imul(this.#b ^ length, 0x85ebca77);
    const head = length <= 2 * textEnd ? length : textEnd;
    for (let at = 0; at < length; at++) {
      if (at === head) at = length - textEnd;
      const code = text.charCodeAt(at);
      a = Math.imul(a ^ code, 0x9e3779b1);
      b = Math.imul((b << 13) | (b >>> 19), 0x85ebca77) ^ code;
    }
    this.#a = a;
    this.#b = b;
  }
}
