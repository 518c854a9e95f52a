import type { LimitViolation } from "../limits/index.js";
import type { ImageBounds } from "./resize.js";

/** What an image has to become to keep limits of single images; undefined where no resizing helps. */
export function boundsOf(violations: readonly LimitViolation[]): ImageBounds | undefined {
  const bounds: { -readonly [K in keyof ImageBounds]: ImageBounds[K] } = {};
  for (const { rule, limit, unit, scope } of violations) {
    if (scope !== "item") return undefined;
    if (rule === "imageTypes" && Array.isArray(limit)) bounds.mediaTypes = limit;
    else if (rule === "animation") bounds.still = true;
    else if (typeof limit !== "number") return undefined;
    else if (rule === "imageSide") bounds.maxSide = Math.min(bounds.maxSide ?? limit, limit);
    else if (rule === "imageArea") bounds.maxArea = Math.min(bounds.maxArea ?? limit, limit);
    else if (rule === "imageBytes" || rule === "fileBytes") {
      const bytes = unit === "base64Bytes" ? Math.floor(limit / 4) * 3 : limit;
      bounds.maxBytes = Math.min(bounds.maxBytes ?? bytes, bytes);
    } else return undefined;
  }
  return bounds;
}
