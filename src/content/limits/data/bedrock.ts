/** Limits of Amazon Bedrock's Converse API. */

import type { LimitProfile } from "../profile.js";

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
