/**
 * How a family of models counts an image. `grid`: 28-px cells of the image as it is fitted to a longest side and a
 * number of cells. `patches`: 32-px patches shrunk to a budget, times the model's multiplier. `tiles`: 512-px tiles of
 * the image with a short side of at most 768, and a base; low detail is the base alone. `crops`: tiles as large as the
 * image's shorter side allows. `flat`: always the same.
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
 * The families that are known, by name.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision (stored copy, 2026-11-21): `anthropic`, and
 *   `anthropicLarge` for models from 4.7
 * @see https://developers.openai.com/api/docs/guides/images-vision (stored copy, 2026-11-21). `openaiPatches` is 5.2,
 *   `openaiHigh` and `openaiOriginal` the details of that name on 5.4 and 5.5. Users measured 1.2 instead of 1.62 for
 *   `openaiMini` in June 2026; the larger figure of the guide stands.
 * @see https://ai.google.dev/gemini-api/docs/media-resolution (stored copy, 2026-11-21): `gemini3` is its default, high
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
