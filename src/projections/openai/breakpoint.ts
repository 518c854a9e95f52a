import type { Part } from "../request.js";
import type { RenderTools } from "../target.js";

/** A mark that the prompt up to here is to be kept. */
export interface OpenaiBreakpoint {
  prompt_cache_breakpoint?: { mode: "explicit" };
}

/** A fresh mark where one belongs behind one of these parts, and nothing elsewhere. */
export function breakpointBehind(tools: RenderTools, ...parts: readonly Part[]): OpenaiBreakpoint {
  return parts.some((part) => tools.endsCache(part)) ? { prompt_cache_breakpoint: { mode: "explicit" } } : {};
}
