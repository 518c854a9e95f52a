/** Limits of Claude's Messages API. */

import type { LimitProfile } from "../profile.js";

/** Claude by the Messages API: Anthropic's own, or on Bedrock (InvokeModel) or Vertex. */
export const anthropic: LimitProfile = /* @__PURE__ */ (() => {
  const asOf = "2026-11-21";
  const vision = {
    evidence: "documented",
    asOf,
    source: "https://platform.claude.com/docs/en/build-with-claude/vision",
  } as const;
  const pdf = {
    ...vision,
    source: "https://platform.claude.com/docs/en/build-with-claude/pdf-support",
  } as const;
  const partners = ["bedrock", "vertex"];
  return {
    name: "anthropic",
    transports: ["api", "bedrock", "vertex"],
    rows: [
      {
        rule: "imageTypes",
        value: ["image/jpeg", "image/png", "image/gif", "image/webp"],
        unit: "mediaType",
        scope: "item",
        ...vision,
        note: "of an animation only the first frame is seen",
      },
      {
        rule: "imageBytes",
        value: 10_000_000,
        unit: "base64Bytes",
        scope: "item",
        ...vision,
        note: "10 MB; 5 MB until early 2026",
      },
      {
        rule: "imageBytes",
        value: 5_000_000,
        unit: "base64Bytes",
        scope: "item",
        when: { transport: partners },
        ...vision,
        note: "5 MB; refusals speak of 5242880 bytes of base64, https://github.com/earendil-works/pi/issues/824",
      },
      { rule: "imageSide", value: 8000, unit: "pixels", scope: "item", ...vision },
      {
        rule: "imageSide",
        value: 2000,
        unit: "pixels",
        scope: "item",
        when: { imagesOver: 20 },
        ...vision,
        note: "holds for every image of the request; refused so in https://github.com/anthropics/claude-code/issues/24630",
      },
      {
        rule: "imageSide",
        value: 2000,
        unit: "pixels",
        scope: "item",
        when: { imagesOver: 20, withDocuments: true, transport: partners },
        evidence: "inferred",
        asOf,
        source: "https://github.com/cline/cline/issues/1844",
        note: "Bedrock counts images and documents together: 21 + 0 > 20",
      },
      { rule: "imageCount", value: 600, unit: "count", scope: "request", ...vision },
      {
        rule: "imageCount",
        value: 100,
        unit: "count",
        scope: "request",
        when: { contextWindowBelow: 1_000_000 },
        ...vision,
        note: "the page says 100 for models with a window of 200k tokens, 600 for all other",
      },
      { rule: "documentPages", value: 600, unit: "pages", scope: "request", ...pdf },
      {
        rule: "documentPages",
        value: 100,
        unit: "pages",
        scope: "request",
        when: { contextWindowBelow: 1_000_000 },
        ...pdf,
        note: "the page says 100 for models with a window of 200k tokens",
      },
      { rule: "encryption", value: false, unit: "presence", scope: "item", ...pdf },
      { rule: "bodyBytes", value: 32_000_000, unit: "bodyBytes", scope: "request", ...pdf },
      {
        rule: "bodyBytes",
        value: 20_000_000,
        unit: "bodyBytes",
        scope: "request",
        when: { transport: ["bedrock"] },
        ...vision,
        source: "https://platform.claude.com/docs/en/api/overview",
        note: "20 MB; the vision page only says that it is lower than 32 MB",
      },
      {
        rule: "bodyBytes",
        value: 30_000_000,
        unit: "bodyBytes",
        scope: "request",
        when: { transport: ["vertex"] },
        ...vision,
        source: "https://platform.claude.com/docs/en/api/overview",
        note: "30 MB; the vision page only says that it is lower than 32 MB",
      },
    ],
  };
})();
