/** Limits of Tether frames. */

import type { LimitProfile } from "../profile.js";

/** The limits of the Tether transport, in bytes and counts. The only copy of these numbers. */
export const tetherLimits = {
  /** Decoded bytes of an image. */
  maxImageBytes: 10_485_760,
  /** Decoded bytes of all images of a frame. */
  maxFrameBytes: 20_971_520,
  maxImages: 4,
  /** Bytes of a frame on the wire. */
  maxWireBytes: 29_360_128,
  imageTypes: ["image/png", "image/jpeg", "image/gif", "image/webp"],
} as const;

/** Tether frames; a frame is a message. */
export const tether: LimitProfile = /* @__PURE__ */ (() => {
  const seed = {
    evidence: "documented",
    asOf: "2026-11-21",
    source: "docs/requirements.md R39, R41 to R48",
  } as const;
  return {
    name: "tether",
    transports: ["frame"],
    rows: [
      { rule: "imageTypes", value: tetherLimits.imageTypes, unit: "mediaType", scope: "item", ...seed },
      { rule: "imageBytes", value: tetherLimits.maxImageBytes, unit: "decodedBytes", scope: "item", ...seed },
      {
        rule: "imageBytes",
        value: tetherLimits.maxFrameBytes,
        unit: "decodedBytes",
        scope: "message",
        ...seed,
      },
      { rule: "imageCount", value: tetherLimits.maxImages, unit: "count", scope: "message", ...seed },
      { rule: "bodyBytes", value: tetherLimits.maxWireBytes, unit: "bodyBytes", scope: "message", ...seed },
    ],
  };
})();
