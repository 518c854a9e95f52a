/** What messages of this protocol are marked with: the name under which pi keeps what Converse gives, streamed or not. */
export const converseApi = "bedrock-converse-stream";

/** What a model takes besides what Converse takes for every model. */
export interface BedrockModelFacts {
  /** Images and documents in what a tool gives back. */
  readonly mediaInResults: boolean;
  /** Cache points. */
  readonly caches: boolean;
  /** It is Claude, or taken for it: it signs its reasoning, where others refuse a signature, and counts documents among images. */
  readonly isClaude: boolean;
}

/**
 * Facts by the model's id, which may be an inference profile's. An ARN of an application's own profile does not name its model;
 * those of Claude are assumed then, but for cache points.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html (images: Nova, and Claude 3 and
 *   4), https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (stored copies, 2026-11-21)
 */
export function modelFacts(model: string): BedrockModelFacts {
  const claude = /anthropic|claude/.test(model);
  const nova = /\bnova\b/.test(model);
  const unnamed = !claude && model.startsWith("arn:");
  return {
    mediaInResults: claude || nova || unnamed,
    // From Claude 3.5 Haiku and 3.7 Sonnet on; Nova caches by itself.
    caches: claude && !/claude-(?:v2|instant|3-(?:haiku|sonnet|opus|5-sonnet))/.test(model),
    isClaude: claude || unnamed,
  };
}
