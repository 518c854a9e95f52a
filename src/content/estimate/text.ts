/** Estimates the tokens of a text. */

import { describe } from "../../core/arguments.js";
import { modelFacts } from "../../providers/models/internal.js";
import { type RunWeights, runEstimator } from "./runs.js";

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
