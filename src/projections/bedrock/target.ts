import { stringArgument } from "../../internal/arguments.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import type { Target } from "../target.js";
import {
  type BedrockFamily,
  type BedrockModelFacts,
  renderConverse,
  resultTypes,
  takenTypes,
} from "./render.js";
import { converseApi } from "./reply.js";
import type { BedrockRequest } from "./types.js";

/** Options of {@link bedrockConverse}. */
export interface BedrockConverseOptions {
  /** As in the request: a model's id, or an inference profile's. What the model takes goes by the name in it. */
  readonly model: string;
  /** The id of the model behind an ARN that does not name it. Default `model`. */
  readonly baseModel?: string;
  /** Whose signatures are the model's own: the provider of messages that it made. Default `amazon-bedrock`. */
  readonly provider?: string;
  /** Of those messages, where the harness has several accounts. */
  readonly account?: string;
  /** Default `limitProfiles.bedrockConverse`, for Claude with images and documents counted together as well. */
  readonly profile?: LimitProfile;
}

/**
 * Projects to Amazon Bedrock's `Converse`: `messages`, and `system` where there are instructions.
 *
 * Results come first in their message, each with its status; images and documents stand within them or behind them, as the model's
 * family takes them, and in a message of their own behind a short one of the model if it takes them beside no result. Bytes go as they are. Documents have neutral names. Reasoning goes back with its signature, withheld
 * reasoning as it was. Cache points are for Claude. References are addresses in S3.
 *
 * A request with calls wants `toolConfig` beside the projection, even where no tool is to be called any more.
 *
 * @throws TypeError when `model` is no text, and from `project` when a reference is no address in S3.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html and
 *   https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use.html (stored copies, 2026-11-21)
 * @example
 * ```ts
 * import { ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
 *
 * const { value } = await project(await session.context(), bedrockConverse({ model }), { blobs });
 * const tools = [{ toolSpec: { name: "read", inputSchema: { json: { type: "object" } } } }];
 * const command = new ConverseCommand({ modelId: model, ...value, toolConfig: { tools } });
 * const reply = await client.send(command);
 * ```
 */
export function bedrockConverse(options: BedrockConverseOptions): Target<BedrockRequest> {
  const model = stringArgument("model", options?.model);
  const { baseModel = model, provider = "amazon-bedrock", account } = options;
  const facts = modelFacts(baseModel);
  const { family, caches, isClaude } = facts;
  const { profile = isClaude ? claudeLimits : limitProfiles.bedrockConverse } = options;
  return {
    name: "bedrock-converse",
    maker: { provider, model, api: converseApi, ...(account === undefined ? {} : { account }) },
    accepts: { user: takenTypes, toolResult: resultTypes(family.inResults), references: ["file", "url"] },
    rules: { trimsAssistant: true, ...(isClaude ? {} : { callId }) },
    limits: { profile },
    estimate: { image: "anthropic", pdf: "anthropic" },
    ...(caches ? { maxCacheMarkers: 4 } : {}),
    render: (request, tools) => renderConverse(request, facts, tools),
  };
}

/**
 * Ids of Kimi's calls, such as `functions.read:0`, go as they are. Claude behind the API takes Anthropic's own pattern.
 *
 * @see https://github.com/run-llama/llama_index/pull/22775 (stored copy, 2026-11-22): `[a-zA-Z0-9_.:-]+`, at most 64
 */
const callId = { character: /[A-Za-z0-9_.:-]/, maxLength: 64 };

/**
 * Converse's limits, and the one that Claude has besides: images and documents count together, and are 20 at most. Documents
 * are five at most, so that 15 images always have room.
 *
 * @see https://github.com/boto/boto3/issues/4632 (stored copy, 2026-11-21): "too many images and documents: 19 + 5 > 20"
 */
const claudeLimits: LimitProfile = {
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
