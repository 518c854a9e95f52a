import { describe, integerArgument } from "../internal/arguments.js";
import { unreachable } from "../internal/unreachable.js";
import { type ImageFamily, type ImageTokenRule, imageTokenRules } from "./image-rules.js";

/** An image's pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** A computed side may miss a whole number by this much. */
const roundingError = 1e-9;
const cells = (side: number, cell: number): number => Math.max(1, Math.ceil(side / cell - roundingError));

/**
 * The tokens that an image costs, by its size alone, a whole number.
 *
 * @param rule a family's name, or a rule of your own
 * @throws RangeError when a side is no integer >= 1; TypeError for a family that is not known, or no size.
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

/** The most that any image costs by a rule, for one whose size is not known; crops have no bound, so 16 of them. */
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

/** Cells of the image, or of the largest smaller one of its shape that fits. The short side rounds half to even. */
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

/** Patches of the image, shrunk by the square root of what it is over, then so that one side is whole patches. */
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
  // A side under one patch stays one.
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
