/** Estimates the tokens of a text: runs of characters by script, with the weights of a model's tokenizer. */

import { describe } from "../../core/arguments.js";
import { modelFacts } from "../../providers/models/internal.js";

/**
 * Counts the tokens of a text: a built-in estimator by its name, or a function. Its result need not be whole.
 *
 * - `fitted`: runs of letters, digits, marks and white space, each at its average cost. The default.
 * - `upperBound`: for a gate. Counts a token for each CJK character, and 15 % more than `fitted` in all.
 * - `{ model }`: `fitted`, times the tokens that the model's vocabulary has for one of o200k_base.
 * - `chars/4`: a quarter of the UTF-16 code units, as pi 0.73.1 counts. Wrong by a factor of 3 for some
 *   scripts.
 *
 * Wrap a tokenizer only if its time is bounded: several take seconds for 100,000 spaces.
 */
export type TextEstimator =
  | "fitted"
  | "upperBound"
  | "chars/4"
  | { readonly model: string }
  | ((text: string) => number);

/** Fitted to o200k_base in November 2026, and rounded. */
const fitted: RunWeights = {
  attached: [0.86, 1.13, 1.8],
  bare: [0.88, 1.14, 1.52],
  tail: 0.24,
  capitals: [0.94, 0.5],
  digits: 1.03,
  diacritic: 0.59,
  noise: [0.7, 0.57],
  spaceBeforeDigit: 1.12,
  spaces: 0.83,
  lineEnd: [0.2, 1.28],
  mark: [0.31, 1],
  marks: [1.04, 0.34, 0.1],
  cyrillicWord: 0.48,
  repeatedSymbol: 0.07,
  scripts: {
    cyrillic: 0.2,
    greek: 0.36,
    hebrew: 0.39,
    arabic: 0.34,
    indic: 0.38,
    thai: 0.37,
    han: 0.75,
    kana: 0.74,
    hangul: 0.72,
    wide: 0.77,
    symbol: 0.81,
    surrogate: 0.9,
    other: 0.8,
  },
};

/**
 * The class of a UTF-16 code unit for the estimator: letter, digit, mark or script. The order matters: words
 * consist of classes up to `digit`, and classes from `symbol` on cost by the character.
 */
export const kinds = {
  lower: 1,
  upper: 2,
  digit: 3,
  space: 4,
  lineEnd: 5,
  mark: 6,
  /** Dashes, quotes, arrows, lines. */
  symbol: 7,
  cyrillic: 8,
  greek: 9,
  hebrew: 10,
  arabic: 11,
  indic: 12,
  thai: 13,
  han: 14,
  kana: 15,
  hangul: 16,
  /** Full-width punctuation and letters. */
  wide: 17,
  /** Either half of a surrogate pair. */
  surrogate: 18,
  other: 19,
} as const;

const upperBound = runEstimator({
  ...fitted,
  scripts: { ...fitted.scripts, han: 1, kana: 1, hangul: 1, wide: 1 },
});

/** The built-in estimators. Their results are not rounded. */
export const textEstimators = {
  fitted: runEstimator(fitted),
  upperBound: (text: string) => upperBound(text) * 1.15,
  "chars/4": (text: string) => text.length / 4,
} as const;

/** @throws TypeError for an unknown name */
export function textEstimator(estimator: TextEstimator = "fitted"): (text: string) => number {
  if (typeof estimator === "function") return estimator;
  if (typeof estimator === "object" && typeof estimator?.model === "string") {
    const { text: factor } = modelFacts(estimator.model).tokens;
    return (text) => textEstimators.fitted(text) * factor;
  }
  if (typeof estimator === "string" && Object.hasOwn(textEstimators, estimator))
    return textEstimators[estimator];
  const names = Object.keys(textEstimators).join(", ");
  throw new TypeError(
    `estimator: expected a function, { model } or one of ${names}, got ${describe(estimator)}`,
  );
}

/**
 * Estimates the tokens of a text, rounded up. Runs in one pass, in constant memory and without regular
 * expressions. Approximates o200k_base; other vocabularies differ.
 *
 * @throws TypeError if `text` is not a string, or for an unknown estimator
 * @example
 * ```ts
 * estimateTextTokens("How many tokens is this?"); // 6
 * estimateTextTokens("How many tokens is this?", "chars/4"); // 6
 * ```
 */
export function estimateTextTokens(text: string, estimator?: TextEstimator): number {
  if (typeof text !== "string") throw new TypeError(`text: expected a string, got ${describe(text)}`);
  return Math.ceil(textEstimator(estimator)(text));
}

// Token estimators that count runs of characters by script.

/** Tokens per character, by script. */
type ScriptWeights = Readonly<
  Record<Exclude<Kind, "lower" | "upper" | "digit" | "space" | "lineEnd" | "mark">, number>
>;

/**
 * The cost of runs of characters. Fitted to o200k_base by least squares of the relative error, on source
 * code, documents and noise. bench/estimate-error.ts measures the error on text outside the fit.
 */
export interface RunWeights {
  /** A piece of a word by length (up to 4, 8, more), if its token includes the space or mark before it. */
  readonly attached: readonly [number, number, number];
  /** A piece of a word after anything else. */
  readonly bare: readonly [number, number, number];
  /** Each letter of a piece beyond the 13th. */
  readonly tail: number;
  /** A run of capitals: the piece, and each letter beyond the second. */
  readonly capitals: readonly [number, number];
  /** Three digits. */
  readonly digits: number;
  /** A letter with a diacritic, in addition. */
  readonly diacritic: number;
  /** Each character of a run that is not a word, such as base64 or a digest: in mixed case, in one case. */
  readonly noise: readonly [number, number];
  /** White space before a digit, in addition: tokens of digits never include it. */
  readonly spaceBeforeDigit: number;
  /** Two spaces or more within a line. */
  readonly spaces: number;
  /** A line end: after a mark, whose token may include it, and after anything else. */
  readonly lineEnd: readonly [number, number];
  /** One mark: before a letter whose token includes it, and alone. */
  readonly mark: readonly [number, number];
  /** Several marks: the first two, each further one, each repeated one. */
  readonly marks: readonly [number, number, number];
  /** A Cyrillic word, in addition to its letters. */
  readonly cyrillicWord: number;
  /** A symbol that repeats the one before. */
  readonly repeatedSymbol: number;
  readonly scripts: ScriptWeights;
}

/** The longest run of one character with a token of its own in o200k_base. */
const longestSpaces = 128;
const longestLineEnds = 16;
const lower = kinds.lower;
const upper = kinds.upper;
const digit = kinds.digit;
const lineEnd = kinds.lineEnd;
const mark = kinds.mark;
const symbol = kinds.symbol;
const cyrillic = kinds.cyrillic;
const spaceCode = 0x20;

/** Returns an estimator: the tokens of a text, not rounded, in one pass and constant memory. */
export function runEstimator(weights: RunWeights): (text: string) => number {
  const scripts = Float64Array.from({ length: kinds.other + 1 });
  for (const [name, tokens] of Object.entries(weights.scripts)) scripts[kinds[name as Kind]] = tokens;

  return (text) => {
    const { length } = text;
    const word: Word = { end: 0, tokens: 0 };
    let tokens = 0;
    /** The previous character is a space or single mark that the token of a word would include. */
    let attachable = false;
    let previous = 0;
    let at = 0;
    while (at < length) {
      const start = at;
      const code = text.charCodeAt(at);
      const kind = readKind[code] as number;
      if (kind <= digit) {
        readWord(text, at, attachable, weights, word);
        tokens += word.tokens;
        at = word.end;
        attachable = false;
      } else if (kind >= symbol) {
        at++;
        if (kind === symbol && start > 0 && text.charCodeAt(start - 1) === code)
          tokens += weights.repeatedSymbol;
        else tokens += scripts[kind] as number;
        if (kind === cyrillic && previous !== cyrillic) tokens += weights.cyrillicWord;
        attachable = false;
      } else {
        let repeats = 0;
        let last = code;
        let next = 0;
        for (at++; at < length; at++) {
          next = text.charCodeAt(at);
          if (readKind[next] !== kind) break;
          if (next === last) repeats++;
          last = next;
        }
        const nextKind = at < length ? (readKind[next] as number) : lineEnd;
        const more = at - start - 2;
        if (kind === mark) {
          attachable =
            more < 0 && nextKind <= upper && !(start > 0 && text.charCodeAt(start - 1) === spaceCode);
          if (more < 0) tokens += weights.mark[attachable ? 0 : 1];
          else tokens += marksTokens(more, Math.min(repeats, more), weights);
        } else if (kind === lineEnd) {
          tokens += weights.lineEnd[previous === mark ? 0 : 1] + Math.floor((more + 1) / longestLineEnds);
          attachable = false;
        } else {
          if (more >= 0) tokens += weights.spaces + Math.floor((more + 1) / longestSpaces);
          if (nextKind === digit) tokens += weights.spaceBeforeDigit;
          attachable = true;
        }
      }
      previous = kind;
    }
    return tokens;
  };
}

function marksTokens(more: number, repeated: number, { marks }: RunWeights): number {
  return marks[0] + marks[1] * (more - repeated) + marks[2] * repeated;
}

/** The word read so far. */
interface Word {
  end: number;
  tokens: number;
}

/** Reads letters and digits piece by piece: `fileSize12` has three pieces. */
function readWord(text: string, start: number, attachable: boolean, weights: RunWeights, word: Word): void {
  const { length } = text;
  let tokens = 0;
  let digits = 0;
  let capitals = 0;
  let changes = 0;
  let piece = start;
  let attached = attachable;
  let previous = 0;
  let isCapital = false;
  let at = start;
  for (; at < length; at++) {
    const code = text.charCodeAt(at);
    const kind = readKind[code] as number;
    if (kind === previous && kind === lower && code < 128) continue;
    if (kind > digit) break;
    if (code > 127) tokens += weights.diacritic;
    if (kind === digit) digits++;
    else if (kind === upper) capitals++;
    if (kind === previous) continue;
    if (previous === 0) {
      isCapital = kind === upper;
    } else if (kind === lower && previous === upper) {
      // A capital at the start of a word is not a change; a run of capitals before lower case is.
      if (at - piece > 1) changes++;
      isCapital = false;
    } else {
      changes++;
      tokens += pieceTokens(at - piece, previous, isCapital, attached, weights);
      attached = false;
      piece = at;
      isCapital = kind === upper;
    }
    previous = kind;
  }
  const size = at - start;
  word.end = at;
  word.tokens = isNoise(size, digits, changes)
    ? size * weights.noise[capitals > 0 && size - digits > capitals ? 0 : 1]
    : tokens + pieceTokens(at - piece, previous, isCapital, attached, weights);
}

/** Whether a run changes between cases and digits too often for a word. */
function isNoise(size: number, digits: number, changes: number): boolean {
  if (size < 8 || changes < 3 || size === digits) return false;
  return digits > 0 || (size >= 24 && changes * 5 >= size);
}

function pieceTokens(
  length: number,
  kind: number,
  isCapital: boolean,
  attached: boolean,
  weights: RunWeights,
): number {
  if (kind === digit) return Math.ceil(length / 3) * weights.digits;
  if (isCapital && length > 1) return weights.capitals[0] + weights.capitals[1] * (length - 2);
  const byLength = attached ? weights.attached : weights.bare;
  if (length <= 4) return byLength[0];
  if (length <= 8) return byLength[1];
  return byLength[2] + weights.tail * Math.max(0, length - 13);
}

/** The name of a kind of character. */
type Kind = keyof typeof kinds;

/**
 * First and last code unit; later ranges override earlier ones. Latin letters with diacritics count as lower
 * case.
 */
const ranges: readonly (readonly [number, number, Kind])[] = [
  [0x00, 0x7f, "mark"],
  [0x09, 0x09, "space"],
  [0x0a, 0x0a, "lineEnd"],
  [0x0d, 0x0d, "lineEnd"],
  [0x20, 0x20, "space"],
  [0x30, 0x39, "digit"],
  [0x41, 0x5a, "upper"],
  [0x61, 0x7a, "lower"],
  [0x80, 0xbf, "symbol"],
  [0xc0, 0x24f, "lower"],
  [0xd7, 0xd7, "symbol"],
  [0xf7, 0xf7, "symbol"],
  [0x370, 0x3ff, "greek"],
  [0x400, 0x52f, "cyrillic"],
  [0x590, 0x5ff, "hebrew"],
  [0x600, 0x77f, "arabic"],
  [0x900, 0xdff, "indic"],
  [0xe00, 0xe7f, "thai"],
  [0x1e00, 0x1eff, "lower"],
  [0x2000, 0x2dff, "symbol"],
  [0x3000, 0x303f, "wide"],
  [0x3040, 0x30ff, "kana"],
  [0x3400, 0x4dbf, "han"],
  [0x4e00, 0x9fff, "han"],
  [0xac00, 0xd7af, "hangul"],
  [0xd800, 0xdfff, "surrogate"],
  [0xf900, 0xfaff, "han"],
  [0xff00, 0xffff, "wide"],
];

/** The kind of each code unit, as a table because it is read once per character. */
export const readKind: Uint8Array = ranges.reduce(
  (table, [first, last, kind]) => table.fill(kinds[kind], first, last + 1),
  new Uint8Array(2 ** 16).fill(kinds.other),
);
