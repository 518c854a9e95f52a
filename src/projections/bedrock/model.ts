/** What messages of this protocol are marked with: the name under which pi keeps what Converse gives, streamed or not. */
export const converseApi = "bedrock-converse-stream";

/** What the models of a family take in and beside results of tools. */
export interface BedrockFamily {
  /** A part of a model's id. */
  readonly pattern: RegExp;
  /** What a result holds; all else stands behind the results. */
  readonly inResults: { readonly images: boolean; readonly pdf: boolean; readonly texts: boolean };
  /** What stands beside results in their message; all else follows in a message of its own. */
  readonly besideResults: "all" | "noTextDocuments" | "nothing";
  /** A failed result holds text only. */
  readonly failedAsText: boolean;
  readonly evidence: "documented" | "measured" | "inferred";
  /** The day on which the source was read. */
  readonly asOf: string;
  readonly source: string;
}

const asOf = "2026-11-22";
const measured = { evidence: "measured", asOf } as const;
const pydantic = "https://github.com/pydantic/pydantic-ai";

/** The first row that fits counts. */
export const bedrockFamilies: readonly BedrockFamily[] = [
  {
    pattern: /anthropic|claude/,
    inResults: { images: true, pdf: true, texts: true },
    besideResults: "noTextDocuments",
    failedAsText: true,
    ...measured,
    source: `${pydantic}/pull/6098, ${pydantic}/pull/6254 and https://github.com/can1357/oh-my-pi/issues/12809`,
  },
  {
    pattern: /\bnova\b/,
    inResults: { images: true, pdf: false, texts: true },
    besideResults: "all",
    failedAsText: false,
    ...measured,
    source: `${pydantic}/pull/6254 and https://github.com/strands-agents/tools/issues/213`,
  },
  {
    pattern: /\bmeta\.|llama/,
    inResults: { images: true, pdf: true, texts: true },
    besideResults: "nothing",
    failedAsText: false,
    ...measured,
    source: `${pydantic}/pull/6098 and ${pydantic}/pull/6254`,
  },
  {
    pattern: /mistral|pixtral/,
    inResults: { images: false, pdf: true, texts: true },
    besideResults: "nothing",
    failedAsText: false,
    ...measured,
    source: `${pydantic}/pull/6098 and ${pydantic}/pull/6254`,
  },
  {
    pattern: /\bwriter\.|palmyra/,
    inResults: { images: false, pdf: true, texts: true },
    besideResults: "nothing",
    failedAsText: false,
    ...measured,
    source: `${pydantic}/pull/6318 and ${pydantic}/pull/6254`,
  },
  {
    pattern: /^/,
    inResults: { images: false, pdf: false, texts: false },
    besideResults: "all",
    failedAsText: false,
    evidence: "documented",
    asOf,
    source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html",
  },
];

/** What a model takes besides what Converse takes for every model. */
export interface BedrockModelFacts {
  readonly family: BedrockFamily;
  /** Cache points. */
  readonly caches: boolean;
  /** It is Claude, or taken for it: it signs its reasoning, where others refuse a signature, and counts documents among images. */
  readonly isClaude: boolean;
}

/**
 * Facts by the model's id, which may be an inference profile's. An ARN of an application's own profile does not name its model;
 * those of Claude are assumed then, but for cache points.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (stored copy, 2026-11-21)
 */
export function modelFacts(model: string): BedrockModelFacts {
  const [claudes] = bedrockFamilies;
  const named = bedrockFamilies.find(({ pattern }) => pattern.test(model)) as BedrockFamily;
  const isUnnamed = named === bedrockFamilies.at(-1) && model.startsWith("arn:");
  const family = isUnnamed ? (claudes as BedrockFamily) : named;
  return {
    family,
    // From Claude 3.5 Haiku and 3.7 Sonnet on; Nova caches by itself.
    caches: named === claudes && !/claude-(?:v2|instant|3-(?:haiku|sonnet|opus|5-sonnet))/.test(model),
    isClaude: family === claudes,
  };
}
