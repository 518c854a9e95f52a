/** Limits of Mistral. */

import type { LimitProfile } from "../profile.js";

/** Mistral. Its own pages name no limit of images. */
export const mistral: LimitProfile = /* @__PURE__ */ (() => {
  const measured = {
    evidence: "measured",
    asOf: "2026-11-21",
    source: "https://github.com/earendil-works/pi/pull/120",
  } as const;
  return {
    name: "mistral",
    transports: ["api"],
    rows: [
      {
        rule: "imageBytes",
        value: 15_000_000,
        unit: "decodedBytes",
        scope: "item",
        ...measured,
        note: "about 15 MB, with pixtral-12b",
      },
      { rule: "imageSide", value: 8000, unit: "pixels", scope: "item", ...measured },
      { rule: "imageCount", value: 8, unit: "count", scope: "request", ...measured },
      {
        rule: "bodyBytes",
        value: 40_000_000,
        unit: "bodyBytes",
        scope: "request",
        ...measured,
        evidence: "inferred",
        source: "https://docs.mistral.ai/resources/known-limitations",
        note: "40 MB is reported by others; the page of known limitations has no size of a request",
      },
    ],
  };
})();
