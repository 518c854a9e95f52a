/**
 * The known limit profiles by name. Each file computes in a pure function what it has to, spreads too: a bundler
 * drops a profile that nobody uses.
 */

import { acp } from "./data/acp.js";
import { anthropic } from "./data/anthropic.js";
import { bedrockConverse } from "./data/bedrock.js";
import { chirality } from "./data/chirality.js";
import { gemini } from "./data/gemini.js";
import { groq } from "./data/groq.js";
import { mcp } from "./data/mcp.js";
import { mistral } from "./data/mistral.js";
import { openai } from "./data/openai.js";
import { telegram } from "./data/telegram.js";
import { tether } from "./data/tether.js";
import { xai } from "./data/xai.js";

/**
 * The limits of each known target, by name. A profile is plain data: write your own for other targets.
 *
 * @example
 * ```ts
 * limitProfiles.anthropic.transports; // ["api", "bedrock", "vertex"]
 * ```
 */
export const limitProfiles = {
  anthropic,
  bedrockConverse,
  openai,
  gemini,
  mistral,
  xai,
  groq,
  telegram,
  tether,
  chirality,
  mcp,
  acp,
} as const;
