/** Estimates the tokens of an image by the rules of a model family. */

import { describe, integerArgument, unreachable } from "../../core/arguments.js";

/**
 * How a family of models counts an image.
 *
 * - `grid`: 28-px cells of the image, scaled down to a longest side and a number of cells.
 * - `patches`: 32-px patches, shrunk to a budget, times the model's multiplier.
 * - `tiles`: a base, and 512-px tiles of the image with a short side of at most 768. Low detail is the base
 *   alone.
 * - `crops`: tiles as large as the shorter side allows.
 * - `flat`: a constant.
 */
export type ImageTokenRule =
  | { readonly kind: "grid"; readonly maxSide: number; readonly maxTokens: number }
  | {
      readonly kind: "patches";
      readonly budget: number;
      readonly multiplier: number;
      readonly maxSide?: number;
    }
  | { readonly kind: "tiles"; readonly base: number; readonly tile: number; readonly detail?: "low" }
  | { readonly kind: "crops"; readonly tile: number }
  | { readonly kind: "flat"; readonly tokens: number };

/**
 * The known families of models, by name.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision (stored copy, 2026-11-21): `anthropic`,
 *   and `anthropicLarge` for models from 4.7
 * @see https://developers.openai.com/api/docs/guides/images-vision (stored copy, 2026-11-21). `openaiPatches`
 *   is 5.2, `openaiHigh` and `openaiOriginal` the details of that name on 5.4 and 5.5. Users measured 1.2
 *   instead of 1.62 for `openaiMini` in June 2026; this table keeps the larger figure of the guide.
 * @see https://ai.google.dev/gemini-api/docs/media-resolution (stored copy, 2026-11-21): `gemini3` is its
 *   default, high
 */
export const imageTokenRules = {
  anthropic: { kind: "grid", maxSide: 1568, maxTokens: 1568 },
  anthropicLarge: { kind: "grid", maxSide: 2576, maxTokens: 4784 },
  openaiPatches: { kind: "patches", budget: 1536, multiplier: 1 },
  openaiMini: { kind: "patches", budget: 1536, multiplier: 1.62 },
  openaiNano: { kind: "patches", budget: 1536, multiplier: 2.46 },
  openaiO4Mini: { kind: "patches", budget: 1536, multiplier: 1.72 },
  openaiHigh: { kind: "patches", budget: 2500, multiplier: 1 },
  openaiOriginal: { kind: "patches", budget: 10_000, multiplier: 1, maxSide: 6000 },
  openai4o: { kind: "tiles", base: 85, tile: 170 },
  openai5: { kind: "tiles", base: 70, tile: 140 },
  openai4oMini: { kind: "tiles", base: 2833, tile: 5667 },
  openaiO: { kind: "tiles", base: 75, tile: 150 },
  gemini2: { kind: "crops", tile: 258 },
  gemini3Low: { kind: "flat", tokens: 280 },
  gemini3Medium: { kind: "flat", tokens: 560 },
  gemini3: { kind: "flat", tokens: 1120 },
  gemini3Ultra: { kind: "flat", tokens: 2240 },
} as const satisfies Readonly<Record<string, ImageTokenRule>>;

/** The name of a family of {@link imageTokenRules}. */
export type ImageFamily = keyof typeof imageTokenRules;

/** The size of an image in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The tolerance for a computed side that should be whole. */
const roundingError = 1e-9;
const cells = (side: number, cell: number): number => Math.max(1, Math.ceil(side / cell - roundingError));

/**
 * The tokens of an image by its size, a whole number.
 *
 * @param rule a family's name, or a rule of your own
 * @throws RangeError if a side is not an integer >= 1; TypeError for an unknown family, or if `size` is not
 *   an object
 * @example
 * ```ts
 * estimateImageTokens({ width: 1920, height: 1080 }, "anthropic"); // 1560
 * estimateImageTokens({ width: 1024, height: 1024 }, "openai4o"); // 765
 * estimateImageTokens({ width: 960, height: 540 }, { kind: "flat", tokens: 100 }); // 100
 * ```
 */
export function estimateImageTokens(size: ImageSize, rule: ImageFamily | ImageTokenRule): number {
  if (typeof size !== "object" || size === null) {
    throw new TypeError(`size: expected an object, got ${describe(size)}`);
  }
  const width = integerArgument("width", size.width, 1);
  const height = integerArgument("height", size.height, 1);
  const known = imageRule(rule);
  switch (known.kind) {
    case "grid":
      return gridTokens(width, height, known.maxSide, known.maxTokens);
    case "patches":
      return Math.ceil(
        patchCount(width, height, known.budget, known.maxSide) * known.multiplier - roundingError,
      );
    case "tiles":
      return known.detail === "low" ? known.base : known.base + known.tile * tileCount(width, height);
    case "crops":
      return known.tile * cropCount(width, height);
    case "flat":
      return known.tokens;
    default:
      return unreachable(known);
  }
}

/** The maximum cost of an image by a rule, for an image of unknown size. Crops are unbounded: counts 16. */
export function mostImageTokens(rule: ImageFamily | ImageTokenRule): number {
  const known = imageRule(rule);
  switch (known.kind) {
    case "grid":
      return known.maxTokens;
    case "patches":
      return Math.ceil(known.budget * known.multiplier);
    case "tiles":
      return known.detail === "low" ? known.base : known.base + known.tile * mostTiles;
    case "crops":
      return known.tile * unknownCrops;
    case "flat":
      return known.tokens;
    default:
      return unreachable(known);
  }
}

/** 2048 by 768 pixels. */
const mostTiles = 8;
const unknownCrops = 16;

function imageRule(rule: ImageFamily | ImageTokenRule): ImageTokenRule {
  if (typeof rule === "object" && rule !== null) return rule;
  if (!Object.hasOwn(imageTokenRules, rule)) {
    throw new TypeError(
      `rule: expected one of ${Object.keys(imageTokenRules).join(", ")}, got ${describe(rule)}`,
    );
  }
  return imageTokenRules[rule];
}

/** Cells of the image, scaled down to fit if necessary. The short side rounds half to even. */
function gridTokens(width: number, height: number, maxSide: number, maxTokens: number): number {
  const cell = 28;
  const [long, short] = width > height ? [width, height] : [height, width];
  const count = (side: number) => cells(side, cell) * cells(roundHalfEven((side * short) / long), cell);
  const fits = (side: number) => cells(side, cell) * cell <= maxSide && count(side) <= maxTokens;
  if (fits(long)) return count(long);
  let [least, most] = [1, Math.min(long, maxSide)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (fits(middle)) least = middle;
    else most = middle - 1;
  }
  return count(least);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Patches of the image, shrunk by the square root of its excess, then until one side is whole patches. */
function patchCount(
  width: number,
  height: number,
  budget: number,
  maxSide = Number.POSITIVE_INFINITY,
): number {
  const patch = 32;
  const fit = Math.min(1, maxSide / Math.max(width, height));
  const [w, h] = [width * fit, height * fit];
  const count = cells(w, patch) * cells(h, patch);
  if (count <= budget) return count;
  const shrink = Math.min(1, Math.sqrt((patch * patch * budget) / (w * h)));
  const [across, down] = [(w * shrink) / patch, (h * shrink) / patch];
  // A side below one patch counts as one.
  const whole = Math.min(Math.max(1, Math.floor(across)) / across, Math.max(1, Math.floor(down)) / down, 1);
  return Math.min(budget, cells(across * whole, 1) * cells(down * whole, 1));
}

function tileCount(width: number, height: number): number {
  const square = Math.min(1, 2048 / Math.max(width, height));
  const short = Math.min(1, 768 / (Math.min(width, height) * square));
  return cells(width * square * short, 512) * cells(height * square * short, 512);
}

function cropCount(width: number, height: number): number {
  if (width <= 384 && height <= 384) return 1;
  const unit = Math.max(1, Math.floor(Math.min(width, height) / 1.5));
  return cells(width, unit) * cells(height, unit);
}
