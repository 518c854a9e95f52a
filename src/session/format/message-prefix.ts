import { parseIsoTime } from "./entry-prefix.js";

/**
 * The head of a message's line in the form that nearly all lines have: canonical, with eight digits for its id and its
 * parent's, and a time as toISOString gives it, so that each part has its place.
 */
const layout =
  '{"type":"message","id":"········","parentId":"········","timestamp":"························","message":{"role":"';
/** Where the parts of such a line begin, from its start. */
const idAt: number = layout.indexOf("·");
const parentAt: number = idAt + 8 + '","parentId":"'.length;
const timeAt: number = parentAt + 8 + '","timestamp":"'.length;
const roleAt = layout.length;
/** The longest role, its quote, and what ends a line at the least. */
const minLength = roleAt + 16;

/**
 * Text that stands at a place of a line, as words of eight bytes, the last of which overlaps the one before. A word is a
 * double, the only number of eight bytes that takes no memory; those of ASCII are equal where their bytes are.
 */
interface Words {
  readonly at: readonly number[];
  readonly are: readonly number[];
}

function wordsOf(parts: readonly (readonly [at: number, text: string])[]): Words {
  const at: number[] = [];
  const are: number[] = [];
  for (const [place, text] of parts) {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    for (let next = 0; next < text.length; next += 8) {
      const start = Math.min(next, text.length - 8);
      at.push(place + start);
      are.push(new DataView(bytes.buffer).getFloat64(start));
    }
  }
  return { at, are };
}

const fixed = wordsOf(Array.from(layout.matchAll(/[^·]+/g), ({ index, 0: text }) => [index, text] as const));

/** With what stands before it, so that each has a word. */
const roles = ["user", "assistant", "toolResult"].map((role) => ({
  role,
  words: wordsOf([[roleAt - 3, `":"${role}"`]]),
}));

/** Values of hexadecimal digits by byte; negative for others. */
const digits = Int8Array.from({ length: 256 }, (_, byte) =>
  "0123456789abcdef".indexOf(String.fromCharCode(byte)),
);

/**
 * Reads heads of messages, line after line of the same bytes, into its own fields: no object a line. What a line has in
 * common with the one before it is compared as words and not read again.
 */
export class MessagePrefixReader {
  id = 0;
  parentId = 0;
  /** Milliseconds since 1970. */
  time = 0;
  role = "";
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#bytes.buffer);
  /** The word of the last id, which the next line mostly has as its parent's. No word equals NaN. */
  #idWord = Number.NaN;
  /** The words of the last time up to its minute, and that minute. */
  #hourWord = Number.NaN;
  #minuteWord = Number.NaN;
  #minute = 0;

  /** Whether the line has that form, and was read. For any other, {@link sliceHead} tells. */
  read(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start < minLength || bytes[end - 1] !== 0x7d) return false;
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    const view = this.#view;
    return (
      stands(fixed, view, start) &&
      this.#readRole(view, start) &&
      this.#readTime(bytes, view, start + timeAt) &&
      this.#readIds(bytes, view, start)
    );
  }

  #readRole(view: DataView, start: number): boolean {
    for (const { role, words } of roles) {
      if (!stands(words, view, start)) continue;
      this.role = role;
      return true;
    }
    return false;
  }

  #readTime(bytes: Uint8Array, view: DataView, at: number): boolean {
    const seconds = 10_000 * digit(bytes, at + 17) + 1000 * digit(bytes, at + 18);
    const millis = 100 * digit(bytes, at + 20) + 10 * digit(bytes, at + 21) + digit(bytes, at + 22);
    const hourWord = view.getFloat64(at);
    const minuteWord = view.getFloat64(at + 8);
    if (
      hourWord === this.#hourWord &&
      minuteWord === this.#minuteWord &&
      bytes[at + 16] === 0x3a &&
      bytes[at + 19] === 0x2e &&
      bytes[at + 23] === 0x5a &&
      seconds >= 0 &&
      seconds < 60_000 &&
      millis >= 0
    ) {
      this.time = this.#minute + seconds + millis;
      return true;
    }
    const time = parseIsoTime(bytes, at);
    if (Number.isNaN(time)) return false;
    this.time = time;
    this.#minute = time - seconds - millis;
    this.#hourWord = hourWord;
    this.#minuteWord = minuteWord;
    return true;
  }

  #readIds(bytes: Uint8Array, view: DataView, start: number): boolean {
    const follows = view.getFloat64(start + parentAt) === this.#idWord;
    const parentId = follows ? this.id : keyAt(bytes, start + parentAt);
    const id = keyAt(bytes, start + idAt);
    if (parentId < 0 || id < 0) return false;
    this.parentId = parentId;
    this.id = id;
    this.#idWord = view.getFloat64(start + idAt);
    return true;
  }
}

function stands({ at, are }: Words, view: DataView, start: number): boolean {
  for (let i = 0; i < at.length; i++)
    if (view.getFloat64(start + (at[i] as number)) !== (are[i] as number)) return false;
  return true;
}

/** Far below zero for what is no digit, whatever is added to it. */
function digit(bytes: Uint8Array, at: number): number {
  const value = (bytes[at] as number) - 0x30;
  return value >= 0 && value <= 9 ? value : -1e6;
}

/** The key of eight digits, or -1. */
function keyAt(bytes: Uint8Array, at: number): number {
  let key = 0;
  let all = 0;
  for (let i = at; i < at + 8; i++) {
    const value = digits[bytes[i] as number] as number;
    key = (key << 4) | value;
    all |= value;
  }
  return all < 0 ? -1 : key >>> 0;
}
