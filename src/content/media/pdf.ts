/** Reads the objects of a PDF: the number of its pages, and whether it is encrypted. Then the syntax of its objects. */

import { inflate } from "./inflate.js";
import type { PdfMedia } from "./types.js";

/** Bytes of object streams that are inflated at most. */
const maxInflatedBytes = 16 << 20;
const maxObjects = 1 << 20;
/** Streams of objects: writers put a hundred objects or more into each. */
const maxStreams = 1 << 14;

/** Requires `%PDF-` at offset 0, though PDF readers accept it anywhere in the first kilobyte. */
export function isPdf(bytes: Uint8Array): boolean {
  return startsWith(bytes, 0, "%PDF-");
}

/**
 * Reads the objects of a PDF from its start to its end, without its index, which may be damaged: the last
 * object of a number counts. Counts the leaves of the page tree. Object streams are inflated up to a bound.
 * Takes time in proportion to the bytes: dictionaries have a budget. Pages stay unknown if it does not
 * suffice, or if the objects are encrypted.
 *
 * @see https://opensource.adobe.com/dc-acrobat-sdk-docs/pdfstandards/PDF32000_2008.pdf sections 7.3, 7.5 and
 *   7.7 (read 2026-11-28)
 */
export function readPdf(bytes: Uint8Array): PdfMedia {
  const file = new PdfFile(bytes);
  const pages = file.pages();
  return {
    kind: "pdf",
    mediaType: "application/pdf",
    ...(pages === undefined ? {} : { pages }),
    ...(file.encryption === undefined ? {} : { encrypted: true }),
  };
}

/** The encryption dictionary of a file, and the offset of its id. */
interface PdfEncryption {
  readonly encrypt?: PdfDictionary;
  readonly id?: number;
}

/** Undefined for a file that is not encrypted. */
export function readEncryption(bytes: Uint8Array): PdfEncryption | undefined {
  return new PdfFile(bytes).encryption;
}

/** An object: its place in the file, or in an inflated stream. */
interface Place {
  readonly source: Uint8Array;
  readonly at: number;
  /** The offset of the object, or of its stream, in the file. */
  readonly order: number;
}

interface ObjectStream extends PdfDictionary {
  readonly from: number;
  readonly to: number;
}

class PdfFile {
  readonly #bytes: Uint8Array;
  readonly #budget: PdfBudget;
  readonly #objects = new Map<number, Place>();
  readonly #streams: ObjectStream[] = [];
  #trailer: PdfDictionary | undefined;
  #encrypted: PdfDictionary | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#budget = new PdfBudget(8 * bytes.length);
    this.#scan();
    if (this.#encrypted === undefined) this.#openStreams();
  }

  /** The dictionaries that describe the encryption; undefined without one. */
  get encryption(): PdfEncryption | undefined {
    const trailer = this.#encrypted;
    const encrypt = trailer?.entries.get("Encrypt");
    if (trailer === undefined || encrypt === undefined) return undefined;
    const [number] = encrypt.numbers;
    const place = number === undefined ? { source: this.#bytes, at: encrypt.at } : this.#objects.get(number);
    const dictionary = place && this.#dictionary(place);
    const id = (trailer.entries.get("ID") ?? this.#trailer?.entries.get("ID"))?.at;
    return {
      ...(dictionary === undefined ? {} : { encrypt: dictionary }),
      ...(id === undefined ? {} : { id }),
    };
  }

  /** The leaves of the page tree; if it is damaged, its own count or the number of pages that are there. */
  pages(): number | undefined {
    const tree = this.#entry(this.#trailer?.entries.get("Root")?.numbers[0], "Pages")?.numbers[0];
    const leaves = tree === undefined ? undefined : this.#leaves(tree);
    const claimed = this.#entry(tree, "Count")?.numbers[0] ?? 0;
    const pages = leaves || Math.max(this.#pagesOutside(), claimed);
    return this.#budget.isSpent || pages < 1 ? undefined : pages;
  }

  /** The objects that call themselves a page, in no tree. */
  #pagesOutside(): number {
    let pages = 0;
    for (const place of this.#objects.values()) {
      if (this.#dictionary(place)?.entries.get("Type")?.name === "Page") pages++;
    }
    return pages;
  }

  /** Undefined if a part of the tree is missing. */
  #leaves(tree: number): number | undefined {
    const visited = new Set<number>();
    const waiting = [tree];
    let leaves = 0;
    for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
      if (visited.has(number)) continue;
      visited.add(number);
      const dictionary = this.#readDictionary(number);
      if (dictionary === undefined) return undefined;
      const kids = dictionary.entries.get("Kids");
      if (kids === undefined) leaves++;
      else if (kids.isArray)
        for (let at = 0; at < kids.numbers.length; at += 2) waiting.push(kids.numbers[at] as number);
      else return undefined;
      if (waiting.length > maxObjects) this.#giveUp();
    }
    return leaves;
  }

  #entry(number: number | undefined, key: string) {
    return number === undefined ? undefined : this.#readDictionary(number)?.entries.get(key);
  }

  #readDictionary(number: number): PdfDictionary | undefined {
    const place = this.#objects.get(number);
    return place && this.#dictionary(place);
  }

  #dictionary({ source, at }: Pick<Place, "source" | "at">): PdfDictionary | undefined {
    return dictionaryAt(source, at, this.#budget);
  }

  #add(number: number, place: Place): void {
    const known = this.#objects.get(number);
    if (known === undefined && this.#objects.size >= maxObjects) this.#giveUp();
    else if (known === undefined || known.order <= place.order) this.#objects.set(number, place);
  }

  /** Leaves the pages unknown. */
  #giveUp(): void {
    this.#budget.spend(Number.POSITIVE_INFINITY);
  }

  /** Finds objects and trailers, and skips streams. Each step moves forward. */
  #scan(): void {
    const bytes = this.#bytes;
    let at = 0;
    while (at < bytes.length && !this.#budget.isSpent) {
      const byte = bytes[at];
      if (byte === 0x6f && startsWith(bytes, at, "obj") && bytes[at - 1] !== 0x64) at = this.#readObject(at);
      else if (byte === 0x74 && startsWith(bytes, at, "trailer")) at = this.#readTrailer(at + 7);
      else at++;
    }
  }

  #readTrailer(at: number): number {
    const trailer = dictionaryAt(this.#bytes, at, this.#budget);
    if (trailer !== undefined) this.#keepTrailer(trailer);
    return trailer?.end ?? at;
  }

  #keepTrailer(trailer: PdfDictionary): void {
    if (trailer.entries.has("Root")) this.#trailer = trailer;
    const encrypt = trailer.entries.get("Encrypt");
    if (encrypt !== undefined && !encrypt.isNull) this.#encrypted = trailer;
  }

  /** @returns the offset to go on from */
  #readObject(keyword: number): number {
    const bytes = this.#bytes;
    const at = keyword + 3;
    const number = numberBefore(bytes, keyword);
    const dictionary = dictionaryAt(bytes, at, this.#budget);
    if (number !== undefined) this.#add(number, { source: bytes, at, order: keyword });
    if (dictionary === undefined) return at;
    let from = dictionary.end;
    while (isSpace(bytes[from])) from++;
    if (!startsWith(bytes, from, "stream")) return dictionary.end;
    from += 6;
    if (bytes[from] === 0x0d) from++;
    if (bytes[from] === 0x0a) from++;
    const to = this.#streamEnd(from, dictionary);
    const type = dictionary.entries.get("Type")?.name;
    if (type === "XRef") this.#keepTrailer(dictionary);
    if (type === "ObjStm" && this.#streams.push({ ...dictionary, from, to }) > maxStreams) this.#giveUp();
    return to;
  }

  /** The end by the stream's own length, if its keyword stands there; otherwise the next keyword. */
  #streamEnd(from: number, { entries }: PdfDictionary): number {
    const bytes = this.#bytes;
    const { numbers = [] } = entries.get("Length") ?? {};
    if (numbers.length === 1) {
      const end = from + Math.max(0, numbers[0] as number);
      for (let at = end; at < end + 4; at++) if (startsWith(bytes, at, "endstream")) return at;
    }
    for (let at = from; at < bytes.length; at++) {
      if (bytes[at] === 0x65 && startsWith(bytes, at, "endstream")) return at;
    }
    return bytes.length;
  }

  #openStreams(): void {
    let left = maxInflatedBytes;
    for (const { entries, from, to } of this.#streams) {
      const filter = entries.get("Filter")?.name;
      if (filter !== undefined && filter !== "FlateDecode" && filter !== "Fl") continue;
      const source =
        filter === undefined ? this.#bytes.subarray(from, to) : inflate(this.#bytes, from, to, left);
      left -= filter === undefined ? 0 : source.length;
      this.#budget.spend(-8 * source.length);
      if (left <= 0) this.#giveUp();
      if (this.#budget.isSpent) return;
      const count = entries.get("N")?.numbers[0] ?? 0;
      const first = entries.get("First")?.numbers[0] ?? 0;
      let at = 0;
      for (let index = 0; index < count && at < first && !this.#budget.isSpent; index++) {
        const number = numberAt(source, at);
        const offset = number && numberAt(source, number.end);
        if (number === undefined || offset === undefined) break;
        at = offset.end;
        this.#add(number.value, { source, at: first + offset.value, order: from });
      }
    }
  }
}

/** The number of the object whose keyword is at `at`: of `12 0 obj` the 12. */
function numberBefore(bytes: Uint8Array, at: number): number | undefined {
  let end = at;
  const back = (is: (byte: number | undefined) => boolean, most: number): void => {
    for (let left = most; left > 0 && is(bytes[end - 1]); left--) end--;
  };
  back(isSpace, 8);
  back(isDigit, 5);
  back(isSpace, 8);
  const last = end;
  back(isDigit, 10);
  return last === end ? undefined : numberAt(bytes, end)?.value;
}

function startsWith(bytes: Uint8Array, at: number, word: string): boolean {
  for (let place = 0; place < word.length; place++) {
    if (bytes[at + place] !== word.charCodeAt(place)) return false;
  }
  return true;
}

// The part of PDF's syntax that its structure needs: dictionaries, numbers, strings.

/** Bounds the bytes of dictionaries that are read in one file, since hostile ones can overlap. */
class PdfBudget {
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
interface PdfValue {
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

interface PdfDictionary {
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
function dictionaryAt(source: Uint8Array, from: number, budget: PdfBudget): PdfDictionary | undefined {
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
function numberAt(
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

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0x0c || byte === 0;
}

function isDigit(byte: number | undefined): boolean {
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
