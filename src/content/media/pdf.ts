/** Reads the objects of a PDF: the number of its pages, and whether it is encrypted. */

import { inflate } from "./inflate.js";
import { dictionaryAt, isDigit, isSpace, numberAt, PdfBudget, type PdfDictionary } from "./pdf-syntax.js";
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
export interface PdfEncryption {
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
