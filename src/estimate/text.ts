import { describe } from "../internal/arguments.js";
import { type RunWeights, runCounter } from "./runs.js";

/**
 * Estimates the tokens of a text. Need not be whole: what a message comes to is rounded up once. Wrap a tokenizer as one
 * where its time is bounded: several take seconds for 100,000 spaces.
 */
export type TextEstimator = (text: string) => number;

/** Fitted to o200k_base in November 2026; rounded. */
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

const cautious: RunWeights = {
  ...fitted,
  scripts: { ...fitted.scripts, han: 1, kana: 1, hangul: 1, wide: 1 },
};

const cautiously = runCounter(cautious);

/** The default: runs of letters, digits, marks and white space, each at what they cost on average. */
export const byRuns: TextEstimator = runCounter(fitted);

/** For a gate that must not let too much through: a token for each character of Chinese, Japanese and Korean, and 15 % on top. */
export const byRunsCautiously: TextEstimator = (text) => cautiously(text) * 1.15;

/** A quarter of the UTF-16 code units. English prose comes out right; other text can cost three times as much. */
export const byLength: TextEstimator = (text) => text.length / 4;

/**
 * About how many tokens a text costs, a whole number. One pass in constant memory and without regular expressions,
 * so that no text takes longer than its length. Counts are o200k_base's; other vocabularies differ.
 *
 * @param estimator by default {@link byRuns}
 * @throws TypeError when `text` is no string.
 * @example
 * ```ts
 * estimateTextTokens("How many tokens is this?"); // 6
 * estimateTextTokens("How many tokens is this?", byLength); // 6
 * ```
 */
export function estimateTextTokens(text: string, estimator: TextEstimator = byRuns): number {
  if (typeof text !== "string") throw new TypeError(`text: expected a string, got ${describe(text)}`);
  return Math.ceil(estimator(text));
}
