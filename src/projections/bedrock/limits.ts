import { type LimitProfile, limitProfiles } from "../../limits/index.js";

/**
 * Converse's limits, and the one that Claude has besides: images and documents count together, and are 20 at most. Documents
 * are five at most, so that 15 images always have room.
 *
 * @see https://github.com/boto/boto3/issues/4632 (stored copy, 2026-11-21): "too many images and documents: 19 + 5 > 20"
 */
export const claudeLimits: LimitProfile = {
  ...limitProfiles.bedrockConverse,
  rows: [
    ...limitProfiles.bedrockConverse.rows,
    {
      rule: "imageCount",
      value: 15,
      unit: "count",
      scope: "request",
      when: { imagesOver: 20, withDocuments: true },
      evidence: "measured",
      asOf: "2026-11-21",
      source: "https://github.com/boto/boto3/issues/4632",
      note: "20 images and documents together",
    },
  ],
};
