import type { StoredResource } from "../content/index.js";
import { estimatePdfTokens, type PdfFamily } from "./document.js";
import { estimateImageTokens, mostImageTokens } from "./image.js";
import type { ImageFamily, ImageTokenRule } from "./image-rules.js";

/** A guess, where the pages of a PDF are not known. */
const bytesPerPage = 50_000;
/** Between prose and compact JSON. */
const bytesPerToken = 3;

/**
 * About how many tokens an attachment costs whose bytes are sent, beside its description. An image whose size is not known
 * costs the most that one can; a file that is neither PDF nor text costs nothing.
 * The rule for images is a family's name or a rule, and that for PDF a family's; both are `anthropic` by default.
 *
 * @example
 * ```ts
 * const tokens = estimateResourceTokens(screenshot, { image: "gemini3" });
 * ```
 */
export function estimateResourceTokens(
  { mediaType, size, width, height }: StoredResource,
  {
    image = "anthropic",
    pdf = "anthropic",
  }: { readonly image?: ImageFamily | ImageTokenRule; readonly pdf?: PdfFamily } = {},
): number {
  if (mediaType.startsWith("image/")) {
    const isKnown = isSide(width) && isSide(height);
    return isKnown ? estimateImageTokens({ width, height }, image) : mostImageTokens(image);
  }
  if (mediaType === "application/pdf") {
    return estimatePdfTokens(Math.max(1, Math.ceil(size / bytesPerPage)), pdf);
  }
  return mediaType.startsWith("text/") ? Math.ceil(size / bytesPerToken) : 0;
}

function isSide(side: number | undefined): side is number {
  return Number.isSafeInteger(side) && (side as number) >= 1;
}
