/** Limits of Groq. */

import type { LimitProfile } from "../profile.js";

/** Groq's vision models. */
export const groq: LimitProfile = /* @__PURE__ */ (() => {
  const page = {
    evidence: "documented",
    asOf: "2026-11-21",
    source: "https://console.groq.com/docs/vision",
  } as const;
  return {
    name: "groq",
    transports: ["api"],
    rows: [
      {
        rule: "imageBytes",
        value: 5_000_000,
        unit: "decodedBytes",
        scope: "item",
        ...page,
        evidence: "measured",
        source: "https://github.com/earendil-works/pi/pull/120",
        note: "about 5 MB, with llama-4-scout-17b",
      },
      { rule: "imageCount", value: 5, unit: "count", scope: "request", ...page },
      {
        rule: "imageArea",
        value: 33_177_600,
        unit: "pixels",
        scope: "request",
        ...page,
        note: "the page says it of each image, others of all together",
      },
      {
        rule: "bodyBytes",
        value: 4_000_000,
        unit: "bodyBytes",
        scope: "request",
        ...page,
        note: "for images as base64; answered 413",
      },
    ],
  };
})();
