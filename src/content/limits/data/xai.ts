/** Limits of xAI. */

import type { LimitProfile } from "../profile.js";

/** xAI. Its page gives no limit on the number of images. */
export const xai: LimitProfile = /* @__PURE__ */ (() => {
  const page = {
    evidence: "documented",
    asOf: "2026-11-21",
    source: "https://docs.x.ai/developers/model-capabilities/images/understanding",
  } as const;
  return {
    name: "xai",
    transports: ["api"],
    rows: [
      { rule: "imageTypes", value: ["image/jpeg", "image/png"], unit: "mediaType", scope: "item", ...page },
      {
        rule: "imageBytes",
        value: 20_971_520,
        unit: "decodedBytes",
        scope: "item",
        ...page,
        note: "20 MiB as the page writes it; measured 25 MB, https://github.com/earendil-works/pi/pull/120",
      },
      {
        rule: "imageSide",
        value: 8000,
        unit: "pixels",
        scope: "item",
        ...page,
        evidence: "measured",
        source: "https://github.com/earendil-works/pi/pull/120",
        note: "with grok-2-vision",
      },
      {
        rule: "bodyBytes",
        value: 20_000_000,
        unit: "bodyBytes",
        scope: "request",
        ...page,
        evidence: "inferred",
        note: "20 MB is reported by others; the page limits an image only",
      },
    ],
  };
})();
