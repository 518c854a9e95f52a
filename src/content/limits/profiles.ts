/**
 * The known limit profiles, a constant each. A pure function computes what has to be computed, spreads too, so that
 * a bundler drops an unused profile.
 */

import type { LimitProfile } from "./check.js";

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

/** Amazon Bedrock's Converse API, for all models. No source states the size of a request. */
export const bedrockConverse: LimitProfile = /* @__PURE__ */ (() => {
  const asOf = "2026-11-21";
  const message = {
    evidence: "documented",
    asOf,
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html",
  } as const;
  const restrictions = "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-api-restrictions.html";
  return {
    name: "bedrockConverse",
    transports: ["converse"],
    rows: [
      {
        rule: "imageTypes",
        value: ["image/png", "image/jpeg", "image/gif", "image/webp"],
        unit: "mediaType",
        scope: "item",
        ...message,
        source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html",
      },
      {
        rule: "imageBytes",
        value: 3_750_000,
        unit: "decodedBytes",
        scope: "item",
        ...message,
        note: "measured 3932160 with Claude, https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/778",
      },
      { rule: "imageSide", value: 8000, unit: "pixels", scope: "item", ...message },
      {
        rule: "imageSide",
        value: 2000,
        unit: "pixels",
        scope: "item",
        when: { imagesOver: 20, withDocuments: true },
        evidence: "measured",
        asOf,
        source:
          "https://github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/pull/998",
        note: "with Claude, images alone; that documents count too is inferred from https://github.com/cline/cline/issues/1844",
      },
      {
        rule: "imageCount",
        value: 20,
        unit: "count",
        scope: "request",
        ...message,
        note: `written of a message, refused for a request in https://github.com/cline/cline/issues/1844; ${restrictions} has none`,
      },
      {
        rule: "imageCount",
        // With at most five documents, 15 images always fit.
        value: 15,
        unit: "count",
        scope: "request",
        when: { models: ["claude"], imagesOver: 20, withDocuments: true },
        evidence: "measured",
        asOf,
        source: "https://github.com/boto/boto3/issues/4632",
        note: "20 images and documents together",
      },
      {
        rule: "documentCount",
        value: 5,
        unit: "count",
        scope: "request",
        ...message,
        source: restrictions,
        note: "the reference of Message says it of a message",
      },
      {
        rule: "documentBytes",
        value: 4_500_000,
        unit: "decodedBytes",
        scope: "item",
        ...message,
        source: restrictions,
        note: "not for PDF with Claude 4 and later, nor for PDF and DOCX with Nova",
      },
    ],
  };
})();

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

/** Mistral. Its own pages name no limit of images. */
const mistral: LimitProfile = /* @__PURE__ */ (() => {
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

/** xAI. Its page gives no limit on the number of images. */
const xai: LimitProfile = /* @__PURE__ */ (() => {
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

/** Groq's vision models. */
const groq: LimitProfile = /* @__PURE__ */ (() => {
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

/** The Telegram Bot API: photos and documents that a bot sends, and files that it downloads. */
const telegram: LimitProfile = /* @__PURE__ */ (() => {
  const page = {
    evidence: "documented",
    asOf: "2026-11-21",
    source: "https://core.telegram.org/bots/api",
  } as const;
  const photo = { transport: ["photo"] };
  return {
    name: "telegram",
    transports: ["photo", "document", "download"],
    rows: [
      { rule: "imageBytes", value: 10_000_000, unit: "decodedBytes", scope: "item", when: photo, ...page },
      { rule: "imageSideSum", value: 10_000, unit: "pixels", scope: "item", when: photo, ...page },
      { rule: "imageRatio", value: 20, unit: "ratio", scope: "item", when: photo, ...page },
      {
        rule: "fileBytes",
        value: 50_000_000,
        unit: "decodedBytes",
        scope: "item",
        when: { transport: ["document"] },
        ...page,
      },
      {
        rule: "fileBytes",
        value: 20_000_000,
        unit: "decodedBytes",
        scope: "item",
        when: { transport: ["download"] },
        ...page,
        note: "getFile",
      },
      {
        rule: "textCharacters",
        value: 1024,
        unit: "characters",
        scope: "message",
        when: { transport: ["photo", "document"] },
        ...page,
        note: "the caption, after entities are parsed",
      },
    ],
  };
})();

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
const tether: LimitProfile = /* @__PURE__ */ (() => {
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

/** The limits of attachments of one turn, in bytes. The only copy of these numbers. */
export const chiralityLimits = {
  /** Bytes of a file; this many is allowed. */
  maxFileBytes: 10_485_760,
  /** Bytes of all files of a turn; this many is allowed. */
  maxTurnBytes: 18_874_368,
  fileTypes: [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "application/pdf",
    "text/plain",
    "text/markdown",
    "text/csv",
  ],
} as const;

/** Attachments by path; a turn is a message. The types are those of its nine extensions (jpg is jpeg). */
const chirality: LimitProfile = /* @__PURE__ */ (() => {
  const seed = {
    evidence: "documented",
    asOf: "2026-11-21",
    source: "docs/requirements.md R163, R165, R166",
  } as const;
  return {
    name: "chirality",
    transports: ["turn"],
    rows: [
      { rule: "fileTypes", value: chiralityLimits.fileTypes, unit: "mediaType", scope: "item", ...seed },
      {
        rule: "fileBytes",
        value: chiralityLimits.maxFileBytes,
        unit: "decodedBytes",
        scope: "item",
        ...seed,
      },
      {
        rule: "fileBytes",
        value: chiralityLimits.maxTurnBytes,
        unit: "decodedBytes",
        scope: "message",
        ...seed,
      },
    ],
  };
})();

/** A message of the Model Context Protocol, such as a prompt or a tool's result. */
export const mcp: LimitProfile = {
  name: "mcp",
  transports: ["stdio", "http"],
  rows: [
    {
      rule: "bodyBytes",
      value: 10_485_760,
      unit: "bodyBytes",
      scope: "request",
      when: { transport: ["stdio"] },
      evidence: "measured",
      asOf: "2026-11-21",
      source: "https://github.com/modelcontextprotocol/typescript-sdk/pull/2239",
      note: "what @modelcontextprotocol/sdk reads of one message by default, from 1.30 on; a larger one closes the connection",
    },
  ],
};

/** A prompt of the Agent Client Protocol. */
export const acp: LimitProfile = {
  name: "acp",
  transports: ["stdio"],
  rows: [
    {
      rule: "bodyBytes",
      value: 33_554_432,
      unit: "bodyBytes",
      scope: "request",
      evidence: "measured",
      asOf: "2026-11-21",
      source: "https://www.npmjs.com/package/@agentclientprotocol/sdk",
      note: "DEFAULT_MAX_MESSAGE_BYTES of @agentclientprotocol/sdk 2.4.0; a larger message closes the connection. Agents on other SDKs differ: 50 MB for the Python one, https://github.com/agentclientprotocol/python-sdk/pull/59",
    },
  ],
};

/**
 * The limits of each known target, by name. A profile is plain data: write your own for other targets.
 *
 * @example
 * ```ts
 * limitProfiles.anthropic.transports; // ["api", "bedrock", "vertex"]
 * ```
 */
export const limitProfiles = {
  anthropic,
  bedrockConverse,
  openai,
  gemini,
  mistral,
  xai,
  groq,
  telegram,
  tether,
  chirality,
  mcp,
  acp,
} as const;
