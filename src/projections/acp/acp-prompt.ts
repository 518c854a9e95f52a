import { oneOfOption } from "../../internal/arguments.js";
import { type LimitProfile, limitProfiles } from "../../limits/index.js";
import { type ContentBlock, contentBlock, documentTypes, imageTypes } from "../content-blocks.js";
import type { RenderTools, Target } from "../target.js";
import { transcriptOf } from "../transcript.js";

/** What an agent says of itself in `agentCapabilities.promptCapabilities`. What it does not say it does not take. */
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
  /** What the agent answered to `initialize`; by default that it takes text and links alone. */
  readonly capabilities?: PromptCapabilities;
  /**
   * `latest`: what the user said since the agent spoke, for a session that the agent has itself. `transcript`: everything from
   * the beginning, told as a conversation, for a session that is new to the agent. Default `latest`.
   */
  readonly history?: "latest" | "transcript";
  /** Limits in place of those of the official SDK. */
  readonly profile?: LimitProfile;
}

/**
 * The prompt of an agent that speaks ACP. The agent keeps its own history and its own instructions, so that what it has been
 * told is not repeated, with a loss for each entry. In a transcript it is: instructions, calls and results become words, and what
 * is attached stands in its place.
 *
 * @throws TypeError for a `history` that is neither
 * @see https://agentclientprotocol.com/protocol/content and
 *   https://agentclientprotocol.com/protocol/initialization#prompt-capabilities (stored copies, read 2026-11-21)
 * @example
 * ```ts
 * const target = acpPrompt({ capabilities: { image: true, embeddedContext: true } });
 * const { value } = await project(contextOf([userMessage("hi")]), target);
 * value.prompt; // [{ type: "text", text: "hi" }]
 * ```
 */
export function acpPrompt(options: AcpPromptOptions = {}): Target<AcpPrompt> {
  const { capabilities = {}, profile = limitProfiles.acp } = options;
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  const media = [
    ...(capabilities.image === true ? imageTypes : []),
    ...(capabilities.embeddedContext === true ? documentTypes : []),
  ];
  return {
    name: "acp-prompt",
    maker: { provider: "acp", model: "none" },
    accepts: { user: media, toolResult: media },
    rules: {
      ...(history === "latest" ? { history } : {}),
      takesReasoning: false,
      // Ids and arguments are told in words: nothing needs to be changed in them.
      callId: { character: /[^\p{Cs}\p{Cc}]/u, maxLength: 1000 },
      objectArguments: false,
      userFirst: false,
    },
    limits: { profile },
    embedsBase64: true,
    render: (request, tools) => ({
      prompt: [...blocksOf(transcriptOf(request, history === "transcript"), tools)],
    }),
  };
}

function* blocksOf(pieces: ReturnType<typeof transcriptOf>, { mark }: RenderTools): Iterable<ContentBlock> {
  for (const { part, text } of pieces) {
    const block = text === undefined ? contentBlock(part) : { type: "text" as const, text };
    yield part === undefined ? block : mark(block, part);
  }
}
