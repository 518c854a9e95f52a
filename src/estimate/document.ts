import { describe, integerArgument } from "../internal/arguments.js";

/**
 * The most tokens of a PDF's page: its text, and on Claude its picture beside it.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/pdf-support (stored copy, 2026-11-21): 1500 to 3000 of text
 *   a page, and the cost of an image; users measured 2750 to 3150 for both together
 * @see https://ai.google.dev/gemini-api/docs/document-processing (stored copy, 2026-11-21)
 */
const pageTokens: Readonly<Record<PdfFamily, number>> = { anthropic: 3000 + 1568, gemini: 258 };

/** A provider whose price for a page of PDF is known. */
export type PdfFamily = "anthropic" | "gemini";

/**
 * The tokens that a PDF costs at most, by its pages.
 *
 * @throws RangeError when `pages` is no integer >= 0; TypeError for a family that is not known.
 * @example
 * ```ts
 * estimatePdfTokens(10, "gemini"); // 2580
 * ```
 */
export function estimatePdfTokens(pages: number, family: PdfFamily): number {
  if (!Object.hasOwn(pageTokens, family)) {
    throw new TypeError(
      `family: expected one of ${Object.keys(pageTokens).join(", ")}, got ${describe(family)}`,
    );
  }
  return integerArgument("pages", pages, 0) * pageTokens[family];
}
