/** The part of PDF's syntax that its structure needs: dictionaries, numbers, strings. */

/** Bounds the bytes of dictionaries that are read in one file, since hostile ones can overlap. */
export class PdfBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }
}

/** The value of an entry, as far as the structure of a file needs it. */
export interface PdfValue {
  /** The offset of the value. */
  readonly at: number;
  /** Of a name, or of an array the first name in it. */
  name?: string;
  /** Of a number one, of a reference two, of an array all. */
  readonly numbers: number[];
  isArray?: true;
  isNull?: true;
  isTrue?: true;
}

export interface PdfDictionary {
  readonly source: Uint8Array;
  readonly entries: ReadonlyMap<string, PdfValue>;
  /** The offset after it. */
  readonly end: number;
}

/** Numbers of an array at most: two for each page. */
const maxNumbers = 1 << 20;

/** Entries of other names are skipped. */
const wanted: ReadonlySet<string> = /* @__PURE__ */ new Set(
  "Type Kids Count Pages Root Encrypt ID Length Filter N First O U P R V EncryptMetadata CF StmF StrF".split(
    " ",
  ),
);

/**
 * Reads the dictionary that begins at `from`, after white space and comments; undefined if none does, or if
 * it does not end. Keeps the entries of its first level alone, so nesting needs no memory.
 */
export function dictionaryAt(source: Uint8Array, from: number, budget: PdfBudget): PdfDictionary | undefined {
  if (budget.isSpent) return undefined;
  let at = skipSpace(source, from);
  // A comment can be long, and each object can begin with the same one.
  budget.spend(at - from);
  if (source[at] !== 0x3c || source[at + 1] !== 0x3c) return undefined;
  const start = at;
  const entries = new Map<string, PdfValue>();
  let depth = 0;
  let arrays = 0;
  let current: PdfValue | undefined;
  let needsValue = false;
  /** Begins the value of the current key, if it has none yet. */
  let key: string | undefined;
  const begin = (): PdfValue | undefined => {
    if (depth !== 1 || arrays > 0 || !needsValue) return current;
    needsValue = false;
    current = key === undefined ? undefined : { at, numbers: [] };
    if (key !== undefined && current !== undefined) entries.set(key, current);
    return current;
  };
  while (at < source.length && !budget.isSpent) {
    const byte = source[at] as number;
    if (isSpace(byte)) at++;
    else if (byte === 0x3c && source[at + 1] === 0x3c) {
      if (depth > 0) begin();
      depth++;
      at += 2;
    } else if (byte === 0x3e && source[at + 1] === 0x3e) {
      depth--;
      at += 2;
      if (depth === 0) {
        budget.spend(at - start);
        return { source, entries, end: at };
      }
    } else if (byte === 0x5b) {
      const value = begin();
      if (depth === 1) {
        if (arrays === 0 && value !== undefined && value.at === at) value.isArray = true;
        arrays++;
      }
      at++;
    } else if (byte === 0x5d) {
      if (depth === 1 && arrays > 0) arrays--;
      at++;
    } else if (byte === 0x28 || byte === 0x3c) {
      begin();
      at = byte === 0x28 ? literalEnd(source, at) : hexEnd(source, at);
    } else if (byte === 0x25) at = skipSpace(source, at);
    else if (byte === 0x2f) {
      const end = wordEnd(source, at + 1);
      if (depth === 1) {
        const name = sourceName(source, at + 1, end);
        if (arrays === 0 && !needsValue) {
          key = wanted.has(name) ? name : undefined;
          current = undefined;
          needsValue = true;
        } else {
          const value = begin();
          if (value !== undefined) value.name ??= name;
        }
      }
      at = end;
    } else {
      const end = Math.max(wordEnd(source, at), at + 1);
      if (depth === 1) {
        const value = begin();
        const number = value && numberAt(source, at);
        if (value !== undefined && number !== undefined) {
          if (value.numbers.push(number.value) > maxNumbers) budget.spend(Number.POSITIVE_INFINITY);
        }
        // The keywords null and true.
        else if (value?.at === at && byte === 0x6e) value.isNull = true;
        else if (value?.at === at && byte === 0x74) value.isTrue = true;
      }
      at = end;
    }
  }
  budget.spend(at - start);
  return undefined;
}

/** The integer at an offset, after white space; a fraction is cut off. */
export function numberAt(
  source: Uint8Array,
  from: number,
): { readonly value: number; readonly end: number } | undefined {
  let at = skipSpace(source, from);
  const sign = source[at] === 0x2d ? -1 : 1;
  if (source[at] === 0x2d || source[at] === 0x2b) at++;
  if (!isDigit(source[at])) return undefined;
  let value = 0;
  for (; isDigit(source[at]); at++) value = value * 10 + (source[at] as number) - 0x30;
  return Number.isSafeInteger(value) ? { value: sign * value, end: at } : undefined;
}

/** The bytes of the literal or hexadecimal string at an offset, at most so many; undefined for anything else. */
export function stringAt(source: Uint8Array, from: number, most: number): Uint8Array | undefined {
  let at = skipSpace(source, from);
  const out: number[] = [];
  if (source[at] === 0x3c) {
    const digits: number[] = [];
    for (at++; at < source.length && source[at] !== 0x3e && digits.length < 2 * most; at++) {
      const digit = Number.parseInt(String.fromCharCode(source[at] as number), 16);
      if (!Number.isNaN(digit)) digits.push(digit);
    }
    for (let place = 0; place < digits.length; place += 2) {
      out.push((digits[place] as number) * 16 + (digits[place + 1] ?? 0));
    }
    return Uint8Array.from(out);
  }
  if (source[at] !== 0x28) return undefined;
  let depth = 1;
  for (at++; at < source.length && out.length < most; at++) {
    let byte = source[at] as number;
    if (byte === 0x28) depth++;
    else if (byte === 0x29 && --depth === 0) break;
    else if (byte === 0x5c) {
      byte = source[++at] as number;
      if (byte >= 0x30 && byte <= 0x37) {
        let value = byte - 0x30;
        for (let digits = 1; digits < 3; digits++) {
          const digit = source[at + 1] as number;
          if (!(digit >= 0x30 && digit <= 0x37)) break;
          value = value * 8 + digit - 0x30;
          at++;
        }
        byte = value & 0xff;
      } else if (byte === 0x0d || byte === 0x0a) {
        if (byte === 0x0d && source[at + 1] === 0x0a) at++;
        continue;
      } else byte = escapes.get(byte) ?? byte;
    }
    out.push(byte);
  }
  return Uint8Array.from(out);
}

/** n, r, t, b and f. */
const escapes: ReadonlyMap<number, number> = /* @__PURE__ */ new Map([
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
  [0x62, 0x08],
  [0x66, 0x0c],
]);

function literalEnd(source: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < source.length; at++) {
    const byte = source[at];
    if (byte === 0x5c) at++;
    else if (byte === 0x28) depth++;
    else if (byte === 0x29 && --depth === 0) return at + 1;
  }
  return source.length;
}

function hexEnd(source: Uint8Array, from: number): number {
  for (let at = from; at < source.length; at++) if (source[at] === 0x3e) return at + 1;
  return source.length;
}

/** Skips white space and comments. */
function skipSpace(source: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    while (isSpace(source[at])) at++;
    if (source[at] !== 0x25) return at;
    while (at < source.length && source[at] !== 0x0a && source[at] !== 0x0d) at++;
  }
}

function wordEnd(source: Uint8Array, from: number): number {
  let at = from;
  while (at < source.length && !isSpace(source[at]) && !isDelimiter(source[at] as number)) at++;
  return at;
}

/** Escapes as `#2F` are rare, and none is needed in a name that matters here, but they are allowed. */
function sourceName(source: Uint8Array, from: number, to: number): string {
  let text = "";
  for (const byte of source.subarray(from, Math.min(to, from + 64))) text += String.fromCharCode(byte);
  return text.includes("#")
    ? text.replace(/#([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : text;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0x0c || byte === 0;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** One of `()<>[]{}/%`. */
function isDelimiter(byte: number): boolean {
  return (
    byte === 0x28 ||
    byte === 0x29 ||
    byte === 0x3c ||
    byte === 0x3e ||
    byte === 0x5b ||
    byte === 0x5d ||
    byte === 0x7b ||
    byte === 0x7d ||
    byte === 0x2f ||
    byte === 0x25
  );
}
