/**
 * The words of texts and of queries. A word is a run of letters, marks and digits, in NFKC and case-folded.
 * In scripts without spaces each character is a word.
 */

/** A word of a text. */
export interface Word {
  /** Folded. */
  readonly text: string;
  /** Its range in the normalized text. */
  readonly start: number;
  readonly end: number;
  /** Whether it is one character of a script without spaces. */
  readonly isUnit: boolean;
  /** Folded endings that begin at a capital within it: `name` for `userName`. */
  readonly humps: readonly string[];
}

/** Words that stand next to each other in a text. */
export interface SearchPhrase {
  readonly words: readonly Pick<Word, "text" | "isUnit">[];
  /** Whether the last word is matched in whole; else a word that begins with it matches. */
  readonly isWhole: boolean;
}

/** Characters of scripts without spaces. */
const unspaced = new RegExp(
  `[${["Han", "Hira", "Kana", "Bopo", "Thai", "Lao", "Khmr", "Mymr"].map((script) => `\\p{scx=${script}}`).join("")}]`,
  "u",
);
const wordCharacter = /[\p{L}\p{M}\p{N}]/u;
const beyondAscii = /[^\0-\x7f]/;

/** In no word, within a word, a word by itself. */
const [noWord, inWord, isWord] = [1, 2, 3] as const;
/** The class of each code point; 0 if it is not yet known. */
let classes: Uint8Array | undefined;

function codePointClass(codePoint: number): number {
  classes ??= new Uint8Array(0x11_0000);
  const known = classes[codePoint] as number;
  if (known !== 0) return known;
  const character = String.fromCodePoint(codePoint);
  const found = !wordCharacter.test(character) ? noWord : unspaced.test(character) ? isWord : inWord;
  classes[codePoint] = found;
  return found;
}

/**
 * UTF-16 units that are normalized at once: a character may become 18, and a text may have 60 million. Where a
 * window ends, its text has the normal form that it has in the whole; only within a long run of marks it may not.
 */
const windowLength = 1 << 16;
/** Units in which the end of a window is sought. */
const endLength = 1 << 12;

/** The parts of a text that are normalized one by one. */
function* textWindows(text: string): Generator<string, void, undefined> {
  for (let from = 0; from < text.length; ) {
    const to = text.length - from <= windowLength ? text.length : windowEnd(text, from + windowLength);
    yield text.slice(from, to);
    from = to;
  }
}

/** Begins with a mark, or with a letter that becomes one. */
const mark = /^[\p{M}\uff9e\uff9f]/u;
/** More marks in a row take time by their square: https://unicode.org/reports/tr15/#Stream_Safe_Text_Format */
const manyMarks = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu;

/** A place up to `limit` before which a window may end. */
function windowEnd(text: string, limit: number): number {
  // Characters of ASCII never join with the one before.
  for (let at = limit; at > limit - endLength; at--) {
    const code = text.charCodeAt(at);
    if (code < 0x80 && codePointClass(code) === noWord) return at;
  }
  for (let at = limit; at > limit - endLength; at--) {
    if (isLow(text, at) || mark.test(text.slice(at, at + 2))) continue;
    const around = text.slice(at - 8, at + 8);
    const [before, after] = [normalizedText(around.slice(0, 8)), normalizedText(around.slice(8))];
    if (normalizedText(around) === before + after) return at;
  }
  return isLow(text, limit) ? limit - 1 : limit;
}

/** Whether the second half of a pair of surrogates is here. */
export function isLow(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

/** The NFKC of a text, which is short. */
export function normalizedText(text: string): string {
  return beyondAscii.test(text) ? text.toWellFormed().replace(manyMarks, "$&\u034f").normalize("NFKC") : text;
}

/** Folds the case of normalized text, without regard to language. */
export function foldCase(text: string): string {
  if (!beyondAscii.test(text)) return text.toLowerCase();
  // The final sigma of Greek depends on its place in a word.
  return text.toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/** Whether a text is of ASCII alone. */
export function isAscii(text: string): boolean {
  return !beyondAscii.test(text);
}

/** By code of ASCII: whether it is a letter or a digit. */
const isInWord = Uint8Array.from({ length: 128 }, (_, code) =>
  /[A-Za-z0-9]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** The words of a text of ASCII as they stand there. */
export function* asciiWords(text: string): Generator<string, void, undefined> {
  for (let at = 0; at < text.length; at++) {
    if (isInWord[text.charCodeAt(at)] === 0) continue;
    const start = at;
    do at++;
    while (isInWord[text.charCodeAt(at)] === 1);
    yield text.slice(start, at);
  }
}

/** The words of a text in order, with places in its normal form. */
export function* textWords(text: string): Generator<Word, void, undefined> {
  if (isAscii(text)) {
    let end = 0;
    for (const raw of asciiWords(text)) {
      const start = text.indexOf(raw, end);
      end = start + raw.length;
      const folded = raw.toLowerCase();
      yield { text: folded, start, end, isUnit: false, humps: folded === raw ? noHumps : wordHumps(raw) };
    }
    return;
  }
  let before = 0;
  let read = 0;
  /** The word that a window ended in. */
  let open = "";
  for (const window of textWindows(text)) {
    read += window.length;
    const normalized = open + normalizedText(window);
    const end = before + normalized.length;
    open = "";
    for (const word of wordsOfWindow(normalized, before)) {
      const mayGoOn = word.end === end && read < text.length && !word.isUnit;
      // A longer word is divided: most are no text.
      if (mayGoOn && end - word.start < windowLength) open = normalized.slice(word.start - before);
      else yield word;
    }
    before = end - open.length;
  }
}

function* wordsOfWindow(text: string, before: number): Generator<Word, void, undefined> {
  for (let at = 0; at < text.length; ) {
    const start = at;
    const first = text.codePointAt(at) as number;
    at += first > 0xffff ? 2 : 1;
    const found = codePointClass(first);
    if (found === noWord) continue;
    if (found === inWord) {
      for (let next = text.codePointAt(at); next !== undefined && codePointClass(next) === inWord; ) {
        at += next > 0xffff ? 2 : 1;
        next = text.codePointAt(at);
      }
    }
    const raw = text.slice(start, at);
    // Scripts without spaces have no case.
    const folded = found === isWord ? raw : foldCase(raw);
    yield {
      text: folded,
      start: before + start,
      end: before + at,
      isUnit: found === isWord,
      // A word that is folded already has no capitals.
      humps: folded === raw ? noHumps : wordHumps(raw),
    };
  }
}

const noHumps: readonly string[] = [];
/** Longer words, and words with more capitals, are hashes or keys: they count as one word. */
const maxHumpedLength = 64;
const maxHumps = 8;
const hump = /(?<=[\p{Ll}\p{N}])\p{Lu}|(?<=\p{Lu})\p{Lu}(?=\p{Ll})/gu;

/** The folded endings of a word that begin at a capital within it. */
export function wordHumps(word: string): readonly string[] {
  if (word.length < 3 || word.length > maxHumpedLength) return noHumps;
  const humps = Array.from(word.matchAll(hump), ({ index }) => foldCase(word.slice(index)));
  return humps.length > maxHumps ? noHumps : humps;
}

/** A query has at most so many UTF-16 units, and so many words and quotations. */
const maxQueryLength = 10_000;
const maxPhrases = 100;

/**
 * The phrases of a query; all of them are required. White space separates them. One in quotation marks may
 * have spaces, and is matched in whole words; a quotation without an end is still being typed.
 */
export function parseQuery(text: string): readonly SearchPhrase[] {
  const phrases: SearchPhrase[] = [];
  const add = (part: string, isWhole: boolean) => {
    const words = Array.from(textWords(part));
    if (words.length > 0) phrases.push({ words, isWhole });
  };
  for (let at = 0; at < text.length; at++) {
    const start = at;
    if (text[at] === '"') {
      const end = text.indexOf('"', at + 1);
      at = end < 0 ? text.length : end;
      add(text.slice(start + 1, at), end >= 0);
      continue;
    }
    while (at < text.length && text[at] !== '"' && text[at]?.trim() !== "") at++;
    if (at === start) continue;
    add(text.slice(start, at), false);
    // A quotation may begin here.
    at--;
  }
  return phrases;
}

/** What is expected of a query that is too long to be searched for; undefined if it is not. */
export function queryProblem(text: string): string | undefined {
  if (text.length > maxQueryLength) return `at most ${maxQueryLength} characters, got ${text.length}`;
  const { length } = parseQuery(text);
  return length > maxPhrases ? `at most ${maxPhrases} words and quotations, got ${length}` : undefined;
}

/** A place in normalized text. */
export interface TextMatch {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Looks for all phrases in texts, each within one of them. Returns the place of the first phrase; undefined
 * if one is missing. The time is linear in the texts: each word is read once, by each phrase that is missing.
 */
export function matchTexts(
  texts: readonly string[],
  phrases: readonly SearchPhrase[],
): TextMatch | undefined {
  let missing = phrases;
  let first: TextMatch | undefined;
  for (const text of texts) {
    const likely = missing.filter(mayHave(text));
    if (likely.length === 0) continue;
    const found = findPhrases(text, likely);
    const place = found.get(phrases[0] as SearchPhrase);
    if (place !== undefined) first = matchAt(text, place);
    missing = missing.filter((phrase) => !found.has(phrase));
    if (missing.length === 0) break;
  }
  return missing.length > 0 ? undefined : first;
}

/** The engine searches for longer texts by their last characters, in time that may be their product. */
export const maxSoughtLength = 64;

/** A test that is cheaper than words, and true of most texts that have the phrase. */
function mayHave(text: string): (phrase: SearchPhrase) => boolean {
  if (text.length > windowLength && !isAscii(text)) return () => true;
  const folded = foldCase(normalizedText(text));
  return ({ words }) => {
    const longest = words.reduce((one, { text: word }) => (word.length > one.length ? word : one), "");
    return folded.includes(longest.slice(0, maxSoughtLength));
  };
}

type Place = Pick<TextMatch, "start" | "end">;

function findPhrases(text: string, phrases: readonly SearchPhrase[]): ReadonlyMap<SearchPhrase, Place> {
  const found = new Map<SearchPhrase, Place>();
  let finders = phrases.map((phrase) => ({ phrase, next: phraseFinder(phrase) }));
  for (const word of textWords(text)) {
    let isFound = false;
    for (const { phrase, next } of finders) {
      const start = next(word);
      if (start === undefined) continue;
      found.set(phrase, { start, end: word.end });
      isFound = true;
    }
    if (!isFound) continue;
    finders = finders.filter(({ phrase }) => !found.has(phrase));
    if (finders.length === 0) break;
  }
  return found;
}

/**
 * Looks for a phrase in words that are given one by one, and returns its start at its last word. The words
 * between the first and the last are compared as Knuth, Morris and Pratt do; the first and the last may match
 * in part.
 */
function phraseFinder({ words, isWhole }: SearchPhrase): (word: Word) => number | undefined {
  const last = words.length - 1;
  const [head, tail] = [words[0]?.text as string, words[last]?.text as string];
  // A phrase may begin within a word, at a capital.
  const begins = (word: Word, fits: (ending: string) => boolean) =>
    fits(word.text) || (!isWhole && word.humps.some(fits));
  const ends = (ending: string) => (isWhole ? ending === tail : ending.startsWith(tail));
  if (last === 0) return (word) => (begins(word, ends) ? word.start : undefined);
  const middle = words.slice(1, last).map(({ text }) => text);
  const borders = wordBorders(middle);
  /** The starts of the words that may be the first one, in a ring. */
  const starts: (number | undefined)[] = new Array(middle.length + 2);
  let matched = 0;
  let at = 0;
  return (word) => {
    const start = starts[(at + 1) % starts.length];
    if (matched === middle.length && start !== undefined && ends(word.text)) return start;
    if (middle.length > 0) {
      while (matched > 0 && middle[matched] !== word.text) matched = borders[matched - 1] as number;
      if (middle[matched] === word.text) matched++;
    }
    starts[at] = begins(word, (ending) => ending === head) ? word.start : undefined;
    at = (at + 1) % starts.length;
    return undefined;
  };
}

/** By the length of a beginning of words: that of the longest shorter beginning that it ends with. */
function wordBorders(words: readonly string[]): readonly number[] {
  const borders: number[] = [];
  let length = 0;
  for (const [index, word] of words.entries()) {
    if (index > 0) {
      while (length > 0 && words[length] !== word) length = borders[length - 1] as number;
      if (words[length] === word) length++;
    }
    borders.push(length);
  }
  return borders;
}

/** Units around a match that a result may show. */
const contextLength = 256;

/** A place in the normal form of a text, with the text around it. */
function matchAt(text: string, { start, end }: Place): TextMatch {
  if (text.length <= windowLength || isAscii(text)) return { text: normalizedText(text), start, end };
  let before = 0;
  let from = 0;
  for (const window of textWindows(text)) {
    const normalized = normalizedText(window);
    if (start < before + normalized.length) {
      const left = normalizedText(text.slice(Math.max(0, from - contextLength), from));
      const right = normalizedText(text.slice(from + window.length, from + window.length + contextLength));
      const shift = left.length - before;
      return { text: left + normalized + right, start: start + shift, end: end + shift };
    }
    before += normalized.length;
    from += window.length;
  }
  return { text: "", start: 0, end: 0 };
}
