/** The target of Amazon Bedrock's Converse API, and the facts about its model families. */

import type { LimitProfile } from "../../content/limits/index.js";
import { bedrockConverse as bedrockConverseLimits } from "../../content/limits/internal.js";
import { stringArgument } from "../../core/arguments.js";
import { modelFacts } from "../models/internal.js";
import { mediaFor, type Target } from "../target.js";
import {
  acceptedResultTypes,
  acceptedTypes,
  type BedrockFamily,
  type BedrockModelFacts,
  type BedrockRequest,
  renderConverse,
} from "./render.js";
import { converseApi, opaqueBlock } from "./reply.js";

/** Options of {@link bedrockConverse}. */
export interface BedrockConverseOptions {
  /**
   * The model of the request: a model id, or that of an inference profile. The model's name in it selects the
   * family.
   */
  readonly model: string;
  /** The id of the model behind an ARN that does not name it. Default `model`. */
  readonly baseModel?: string;
  /**
   * The provider, as messages of the session name it. Reasoning is sent back only to the same provider.
   * Default `amazon-bedrock`.
   */
  readonly provider?: string;
  /** The account, if the harness has several. */
  readonly account?: string;
  /** Default `limitProfiles.bedrockConverse`. */
  readonly profile?: LimitProfile;
}

/**
 * Projects to Amazon Bedrock's `Converse`: `messages`, and `system` if there are instructions.
 *
 * Results come first in their message, each with its status. Images and documents are placed within a result,
 * after the results, or in a following message after a short assistant message, as the model's family
 * accepts them. Documents have neutral names. Media is sent as bytes, references as S3 URIs. Reasoning is
 * sent back with its signature, redacted reasoning unchanged. Only Claude gets cache points.
 *
 * A request with tool calls needs `toolConfig` beside the projection, even if no more tools are to be called.
 *
 * @throws TypeError if `model` is no string, and from `project` if a reference is no S3 URI.
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
  const facts = bedrockFacts(baseModel);
  const { family, caches, isClaude } = facts;
  const { image = "anthropicLarge", bindsReasoning } = modelFacts(baseModel);
  const { profile = bedrockConverseLimits } = options;
  return {
    name: "bedrock-converse",
    model: { provider, model, api: converseApi, ...(account === undefined ? {} : { account }) },
    accepts: mediaFor(baseModel, "amazon-bedrock", {
      user: acceptedTypes,
      toolResult: acceptedResultTypes(family.inResults),
      references: ["file", "url"],
    }),
    rules: {
      trimsAssistant: true,
      bindsReasoning: bindsReasoning === true,
      ...(isClaude ? {} : { callId }),
      // Images and documents are the user's alone:
      // https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html (2026-11-28).
      opaqueMedia: (data) => (opaqueBlock(data) === undefined ? "never" : "replayed"),
    },
    // The ARN of a profile does not name its model, which is assumed to be Claude.
    limits: { profile, model: isClaude ? "claude" : baseModel },
    estimate: { image, pdf: "anthropic" },
    ...(caches ? { maxCacheMarkers: 4 } : {}),
    render: (request, tools) => renderConverse(request, facts, tools),
  };
}

/**
 * The id rule of all models but Claude, which has Anthropic's own. Kimi's ids, such as `functions.read:0`,
 * are sent unchanged.
 *
 * @see https://github.com/run-llama/llama_index/pull/22775 (stored copy, 2026-11-22): `[a-zA-Z0-9_.:-]+`, at
 *   most 64
 */
const callId = { character: /[A-Za-z0-9_.:-]/, maxLength: 64 };

const asOf = "2026-11-22";
const measured = { evidence: "measured", asOf } as const;
const pydantic = "https://github.com/pydantic/pydantic-ai";
const ohMyPi = "https://github.com/can1357/oh-my-pi";

/** The first row that fits counts. */
export const bedrockFamilies: readonly BedrockFamily[] = [
  {
    pattern: /anthropic|claude/,
    inResults: { images: true, pdf: true, texts: true },
    besideResults: "noTextDocuments",
    failedAsText: true,
    ...measured,
    source: `${pydantic}/pull/6098, ${pydantic}/pull/6254 and ${ohMyPi}/issues/12809`,
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
 * Facts by the model's id or that of an inference profile. The ARN of an application's own profile does not
 * name its model: Claude is then assumed, but without cache points.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (stored copy, 2026-11-21)
 */
export function bedrockFacts(model: string): BedrockModelFacts {
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
