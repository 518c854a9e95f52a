import type { Context } from "../content/index.js";

/** What an image counts for in {@link windowContext}, in characters. */
export const imageCharacters = 2000;

/**
 * The newest part of a context that a number of characters holds: text by its length, an image by a fixed cost. Of what is kept, the
 * oldest items go until it begins with something a model can be given first: no tool results, and no calls
 * without all of theirs. The newest user message always stays, even alone over the limit.
 *
 * @param maxCharacters at least 0
 * @example
 * ```ts
 * const { items } = windowContext(await session.context(), 100_000);
 * ```
 */
export declare function windowContext(context: Context, maxCharacters: number): Context;
