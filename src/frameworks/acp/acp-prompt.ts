/** The target of prompts for ACP agents. */

import type { LimitProfile } from "../../content/limits/index.js";
import { acp as acpLimits } from "../../content/limits/internal.js";
import { oneOfOption } from "../../core/arguments.js";
import type { RenderTools, Target } from "../../providers/index.js";
import {
  type ContentBlock,
  contentBlock,
  documentTypes,
  imageTypes,
  textCallRules,
  toTranscript,
} from "../../providers/internal.js";

/**
 * The agent's `agentCapabilities.promptCapabilities`. An absent member means that the agent does not accept
 * that content.
 */
export interface PromptCapabilities {
  /** It takes images. */
  readonly image?: boolean;
  /** It takes documents. */
  readonly embeddedContext?: boolean;
}

/** The part of a `session/prompt` that a projection makes. */
export type AcpPrompt = { prompt: ContentBlock[] };

/** Options of {@link acpPrompt}. */
export interface AcpPromptOptions {
  /** The agent's answer to `initialize`. Default text and links only. */
  readonly capabilities?: PromptCapabilities;
  /**
   * `latest`: the user's content since the agent's last message, for a session that the agent itself has.
   * `transcript`: the whole conversation as text, for a session that is new to the agent. Default `latest`.
   */
  readonly history?: "latest" | "transcript";
  /** Limits that replace those of the official SDK. */
  readonly profile?: LimitProfile;
}

/**
 * Projects to the prompt of an ACP agent. The agent keeps its own history and instructions: by default
 * earlier entries are left out, with a loss each. A transcript has all entries: instructions, calls and
 * results as text, attachments in their places.
 *
 * @throws TypeError if `history` is not one of the two
 * @see https://agentclientprotocol.com/protocol/content and
 *   https://agentclientprotocol.com/protocol/initialization#prompt-capabilities (stored copies, read
 *   2026-11-21)
 * @example
 * ```ts
 * const target = acpPrompt({ capabilities: { image: true, embeddedContext: true } });
 * const { value } = await project(contextFrom([userMessage("hi")]), target);
 * value.prompt; // [{ type: "text", text: "hi" }]
 * ```
 */
export function acpPrompt(options: AcpPromptOptions = {}): Target<AcpPrompt> {
  const { capabilities = {}, profile = acpLimits } = options;
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  const media = [
    ...(capabilities.image === true ? imageTypes : []),
    ...(capabilities.embeddedContext === true ? documentTypes : []),
  ];
  return {
    name: "acp-prompt",
    model: { provider: "acp", model: "none" },
    accepts: { user: media, toolResult: media },
    rules: { ...(history === "latest" ? { history } : {}), ...textCallRules },
    limits: { profile },
    embedsBase64: true,
    render: (request, tools) => ({
      prompt: [...pieceBlocks(toTranscript(request, history === "transcript"), tools)],
    }),
  };
}

function* pieceBlocks(
  pieces: ReturnType<typeof toTranscript>,
  { trace }: RenderTools,
): Iterable<ContentBlock> {
  for (const { part, text } of pieces) {
    const block = text === undefined ? contentBlock(part) : { type: "text" as const, text };
    yield part === undefined ? block : trace(block, part);
  }
}
