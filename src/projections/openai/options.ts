import type { ImageFamily } from "../../estimate/index.js";
import { stringArgument } from "../../internal/arguments.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import type { Maker, Target } from "../target.js";

/** What both of OpenAI's targets are told. */
export interface OpenaiOptions {
  /** As in the request, such as `gpt-5.4`. */
  readonly model: string;
  /** Default `openai`; another for those that speak its protocol. Reasoning and ids go back to the same one only. */
  readonly provider?: string;
  /** Which of several accounts; encrypted reasoning of another is left out. */
  readonly account?: string;
  /** Default the limits of OpenAI itself. */
  readonly profile?: LimitProfile;
  /** Tokens of the model's context window. */
  readonly contextWindow?: number;
  /** Who the instructions are said to come from. */
  readonly instructions?: "system" | "developer";
  /** Whether the model takes cache breakpoints, as those from GPT-5.6 on do. Default false. */
  readonly cacheBreakpoints?: boolean;
  /** How images are counted in `usage`; default `openaiHigh`. */
  readonly imageTokens?: ImageFamily;
}

/** The types of images that OpenAI takes. A GIF has to be still, which its limits say. */
export const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/**
 * A request writes four breakpoints at most, of which the API takes one for itself unless it is told not to.
 *
 * @see https://docs.rs/async-openai/0.42.0/async_openai/types/responses/struct.PromptCacheOptionsParam.html, generated from
 *   the API's own description (read as a stored copy, 2026-11-21)
 */
const maxBreakpoints = 3;

/** What stands before the first `|` of a stored id: what follows is the item's own id, which Responses has beside it. */
export function callIdOf(storedId: string): string {
  const bar = storedId.indexOf("|");
  return bar === -1 ? storedId : storedId.slice(0, bar);
}

/** What stands behind the first `|` of a stored id: the id of the call's item. pi writes `undefined` where there was none. */
export function itemIdOf(storedId: string): string | undefined {
  const bar = storedId.indexOf("|");
  return bar === -1 ? undefined : storedId.slice(bar + 1);
}

/** What the two targets have in common. */
export function openaiTarget(
  options: OpenaiOptions,
  api: string,
): Pick<Target<unknown>, "limits" | "estimate" | "maxCacheMarkers"> & { readonly maker: Maker } {
  const { provider = "openai", account, profile = limitProfiles.openai, contextWindow } = options;
  return {
    maker: {
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
