import type { ImageFamily } from "../../estimate/index.js";
import { stringArgument } from "../../internal/arguments.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import type { ModelRef, Target } from "../target.js";

/** Options of both OpenAI targets. */
export interface OpenaiOptions {
  /** The model of the request, such as `gpt-5.4`. */
  readonly model: string;
  /**
   * The provider, as messages of the session name it. Reasoning and ids are sent back only to the same
   * provider. Default `openai`.
   */
  readonly provider?: string;
  /** The account, if the harness has several. Encrypted reasoning of another account is left out. */
  readonly account?: string;
  /** Default the limits of OpenAI itself. */
  readonly profile?: LimitProfile;
  /** The model's context window in tokens. */
  readonly contextWindow?: number;
  /** The role of the instructions. */
  readonly instructions?: "system" | "developer";
  /** Whether the model takes cache breakpoints, as those from GPT-5.6 on do. Default false. */
  readonly cacheBreakpoints?: boolean;
  /** How images are counted in `usage`; default `openaiHigh`. */
  readonly imageTokens?: ImageFamily;
}

/** The types of images that OpenAI takes. A GIF has to be still, which its limits say. */
export const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/**
 * A request has at most four breakpoints. The API uses one itself unless the request disables that.
 *
 * @see https://docs.rs/async-openai/0.42.0/async_openai/types/responses/struct.PromptCacheOptionsParam.html,
 *   generated from the API's own description (read as a stored copy, 2026-11-21)
 */
const maxBreakpoints = 3;

/**
 * The call id of a stored id: the text before the first `|`. After it comes the id of the item, which
 * Responses has beside the call id.
 */
export function callIdOf(storedId: string): string {
  const bar = storedId.indexOf("|");
  return bar === -1 ? storedId : storedId.slice(0, bar);
}

/** The item id of a stored id: the text after the first `|`. pi writes `undefined` for an absent one. */
export function itemIdOf(storedId: string): string | undefined {
  const bar = storedId.indexOf("|");
  return bar === -1 ? undefined : storedId.slice(bar + 1);
}

/** The members that the two targets share. */
export function openaiTarget(
  options: OpenaiOptions,
  api: string,
): Pick<Target<unknown>, "limits" | "estimate" | "maxCacheMarkers" | "embedsBase64"> & {
  readonly model: ModelRef;
} {
  const { provider = "openai", account, profile = limitProfiles.openai, contextWindow } = options;
  return {
    model: {
      provider,
      model: stringArgument("model", options.model),
      api,
      ...(account === undefined ? {} : { account }),
    },
    limits: { profile, ...(contextWindow === undefined ? {} : { contextWindow }) },
    embedsBase64: true,
    estimate: { image: options.imageTokens ?? "openaiHigh" },
    maxCacheMarkers: options.cacheBreakpoints === true ? maxBreakpoints : 0,
  };
}
