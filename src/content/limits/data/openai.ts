/** Limits of OpenAI's APIs. */

import type { LimitProfile } from "../profile.js";

/** OpenAI's Chat Completions and Responses. Excess gives 400, never 413. The API resizes large images. */
export const openai: LimitProfile = /* @__PURE__ */ (() => {
  const asOf = "2026-11-21";
  const images = {
    evidence: "documented",
    asOf,
    source: "https://developers.openai.com/api/docs/guides/images-vision",
  } as const;
  const files = { ...images, source: "https://developers.openai.com/api/docs/guides/file-inputs" } as const;

  const schema = {
    ...images,
    asOf: "2026-11-22",
    source: "https://github.com/openai/openai-openapi/blob/master/openapi.yaml",
  } as const;
  return {
    name: "openai",
    transports: ["api"],
    rows: [
      {
        rule: "imageTypes",
        value: ["image/png", "image/jpeg", "image/webp", "image/gif"],
        unit: "mediaType",
        scope: "item",
        ...images,
      },
      { rule: "animation", value: false, unit: "presence", scope: "item", ...images },
      {
        rule: "imageCount",
        value: 500,
        unit: "count",
        scope: "request",
        evidence: "measured",
        asOf,
        source: "https://github.com/earendil-works/pi/pull/120",
        note: "the guide said 500 and later 1500",
      },
      {
        rule: "bodyBytes",
        value: 50_000_000,
        unit: "bodyBytes",
        scope: "request",
        evidence: "measured",
        asOf,
        source: "https://developers.openai.com/api/docs/guides/images-vision",
        note: "an older copy of the guide says 50 MB of image bytes a request, and 20 MB an image, which is gone since",
      },
      {
        rule: "imageBytes",
        value: 20_971_496,
        unit: "base64Bytes",
        scope: "item",
        when: { inToolResult: true },
        ...schema,
        note: "image_url of a function_call_output has at most 20971520 characters, 23 of them for data:image/jpeg;base64,",
      },
      {
        rule: "textCharacters",
        value: 10_485_760,
        unit: "characters",
        scope: "item",
        ...schema,
        note: "of an output or one text in it; longer texts of Responses go as several",
      },
      { rule: "documentBytes", value: 50_000_000, unit: "decodedBytes", scope: "item", ...files },
      { rule: "documentBytes", value: 50_000_000, unit: "decodedBytes", scope: "request", ...files },
    ],
  };
})();
