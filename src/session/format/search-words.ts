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

const unspaced = ["Han", "Hira", "Kana", "Bopo", "Thai", "Lao", "Khmr", "Mymr"]
  .map((script) => `\\p{scx=${script}}`)
  .join("");
const wordOfAscii = /[A-Za-z0-9]+/g;
const wordOfAny = new RegExp(
  `(?=[\\p{L}\\p{M}\\p{N}])[${unspaced}]|(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}])+`,
  "gu",
);
const unit = new RegExp(`^[${unspaced}]`, "u");
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
const ascii = /^[\x00-\x7f]*$/;

/** The text that {@link wordsOf} gives ranges of. */
export function normalizedText(text: string): string {
  return ascii.test(text) ? text : text.toWellFormed().normalize("NFKC");
}

/** Folds the case of normalized text, without regard to language. */
export function foldCase(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  // The final sigma of Greek depends on its place in a word.
  return text.toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/** The words of a text of ASCII as they stand there; undefined for another text. */
export function asciiWords(text: string): readonly string[] | undefined {
  return ascii.test(text) ? (text.match(wordOfAscii) ?? []) : undefined;
}

/** The words of a normalized text in order. */
export function* wordsOf(text: string): Generator<Word, void, undefined> {
  const isAscii = ascii.test(text);
  for (const { 0: raw, index } of text.matchAll(isAscii ? wordOfAscii : wordOfAny)) {
    const isUnit = !isAscii && unit.test(raw);
    const folded = isAscii ? raw.toLowerCase() : foldCase(raw);
    yield {
      text: folded,
      start: index,
      end: index + raw.length,
      isUnit,
      // A word that is folded already has no capitals.
      humps: isUnit || folded === raw ? noHumps : humpsOf(raw),
    };
  }
}

const noHumps: readonly string[] = [];
/** Longer words, and words with more capitals, are hashes or keys: they count as one word. */
const maxHumpedLength = 64;
const maxHumps = 8;
const hump = /(?<=[\p{Ll}\p{N}])\p{Lu}|(?<=\p{Lu})\p{Lu}(?=\p{Ll})/gu;

/** The folded endings of a word that begin at a capital within it. */
export function humpsOf(word: string): readonly string[] {
  if (word.length < 3 || word.length > maxHumpedLength) return noHumps;
  const humps = Array.from(word.matchAll(hump), ({ index }) => foldCase(word.slice(index)));
  return humps.length > maxHumps ? noHumps : humps;
}

/**
 * The phrases of a query; all of them are required. White space separates them. One in quotation marks may
 * have spaces, and is matched in whole words; a quotation without an end is still being typed.
 */
export function parseQuery(text: string): readonly SearchPhrase[] {
  return Array.from(text.matchAll(/"([^"]*)("?)|[^\s"]+/g), ([raw, quoted, end]) => ({
    words: Array.from(wordsOf(normalizedText(quoted ?? raw))),
    isWhole: end === '"',
  })).filter(({ words }) => words.length > 0);
}

/** A place in normalized text. */
export interface TextMatch {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Looks for all phrases in texts, each within one of them. Returns the place of the first phrase; undefined
 * if one is missing.
 */
export function matchTexts(
  texts: readonly string[],
  phrases: readonly SearchPhrase[],
): TextMatch | undefined {
  const normalized = texts.map(normalizedText);
  const folded = normalized.map(foldCase);
  const words = new Map<number, readonly Word[]>();
  let first: TextMatch | undefined;
  for (const phrase of phrases) {
    let found: TextMatch | undefined;
    for (let at = 0; at < folded.length && found === undefined; at++) {
      // Cheaper than words, and true of most texts that have the phrase.
      if (!phrase.words.every((word) => folded[at]?.includes(word.text))) continue;
      const text = normalized[at] as string;
      const own = words.get(at) ?? Array.from(wordsOf(text));
      words.set(at, own);
      const range = findPhrase(own, phrase);
      if (range !== undefined) found = { text, ...range };
    }
    if (found === undefined) return undefined;
    first ??= found;
  }
  return first;
}

function findPhrase(
  words: readonly Word[],
  { words: wanted, isWhole }: SearchPhrase,
): Pick<TextMatch, "start" | "end"> | undefined {
  const last = wanted.length - 1;
  for (let at = 0; at + last < words.length; at++) {
    const matches = wanted.every(({ text }, index) => {
      const word = words[at + index] as Word;
      const fits = (ending: string) => (index < last || isWhole ? ending === text : ending.startsWith(text));
      // A phrase may begin within a word, at a capital.
      return fits(word.text) || (index === 0 && !isWhole && word.humps.some(fits));
    });
    if (matches) return { start: (words[at] as Word).start, end: (words[at + last] as Word).end };
  }
  return undefined;
}
