/** Limits of the Gemini API. */

import type { LimitProfile } from "../profile.js";

/** The Gemini API, with bytes inline or uploaded to the Files API before. */
export const gemini: LimitProfile = /* @__PURE__ */ (() => {
  const asOf = "2026-11-21";
  const images = {
    evidence: "documented",
    asOf,
    source: "https://ai.google.dev/gemini-api/docs/image-understanding",
  } as const;
  const inputs = { ...images, source: "https://ai.google.dev/gemini-api/docs/file-input-methods" } as const;
  const inline = { transport: ["inline"] };
  return {
    name: "gemini",
    transports: ["inline", "files"],
    rows: [
      {
        rule: "imageTypes",
        value: ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
        unit: "mediaType",
        scope: "item",
        ...images,
        note: "no GIF",
      },
      {
        rule: "imageSide",
        value: 8000,
        unit: "pixels",
        scope: "item",
        evidence: "measured",
        asOf,
        source: "https://github.com/earendil-works/pi/pull/120",
        note: "with gemini-2.5-flash; the provider's pages name none",
      },
      { rule: "imageCount", value: 3600, unit: "count", scope: "request", ...images },
      {
        rule: "bodyBytes",
        value: 20_000_000,
        unit: "bodyBytes",
        scope: "request",
        when: inline,
        ...images,
        note: "100 MB since January 2026, varying with the type, by https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits",
      },
      { rule: "documentBytes", value: 50_000_000, unit: "decodedBytes", scope: "item", ...inputs },
      {
        rule: "documentPages",
        value: 1000,
        unit: "pages",
        scope: "item",
        ...inputs,
        source: "https://ai.google.dev/gemini-api/docs/document-processing",
      },
      {
        rule: "fileBytes",
        value: 2_000_000_000,
        unit: "decodedBytes",
        scope: "item",
        when: { transport: ["files"] },
        ...inputs,
        note: "kept for 48 hours",
      },
    ],
  };
})();
