import type { Part } from "../request.js";
import type { RenderTools } from "../target.js";

/** An explicit breakpoint of the prompt cache: the prefix up to here is cached. */
export interface OpenaiBreakpoint {
  prompt_cache_breakpoint?: { mode: "explicit" };
}

/** A new breakpoint if the cached prefix ends at one of these parts, else no members. */
export function breakpointBehind(tools: RenderTools, ...parts: readonly Part[]): OpenaiBreakpoint {
  return parts.some((part) => tools.endsCache(part)) ? { prompt_cache_breakpoint: { mode: "explicit" } } : {};
}
