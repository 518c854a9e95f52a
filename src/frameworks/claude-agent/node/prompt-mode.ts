/** Chooses the form of a prompt: text alone, or a message with attachments. */

import { blockTexts } from "../../../content/internal.js";
import { describe } from "../../../core/arguments.js";
import { SessileError } from "../../../core/errors/index.js";
import { isBlank } from "../../../providers/internal.js";
import type { AttachmentContentBlock } from "./content.js";
import { plainName } from "./failure.js";
import type { ResolvedAttachments } from "./resolve.js";

/**
 * The message of a turn with attachments. Assignable to `SDKUserMessage` of @anthropic-ai/claude-agent-sdk.
 */
export interface AgentUserMessage {
  type: "user";
  message: { role: "user"; content: AttachmentContentBlock[] };
  parent_tool_use_id: null;
  session_id: string;
}

/** The `prompt` of the Claude Agent SDK's `query`. */
export type AgentPrompt = string | AsyncIterable<AgentUserMessage>;

/** Options of {@link selectPromptMode}. */
export interface PromptModeOptions {
  /** The agent's session id. Default "", as the SDK itself sends it if the prompt is a string. */
  readonly sessionId?: string;
}

/**
 * The prompt of a turn, once its attachments are resolved. Without files it is the text alone, after the
 * warning if some failed. With files it is one message of all blocks, which can be iterated again for another
 * attempt. A turn without text and attachments gives its blank text: the caller decides whether to send it.
 *
 * @param message the text that the attachments were resolved with
 * @throws SessileError ATTACHMENT_FAILURE if all attachments failed and there is no text: answer 400. Its
 *   details contain no paths, so they are safe to send to the client.
 * @throws TypeError if `message` or `sessionId` is no string
 * @example
 * ```ts
 * const message = "";
 * const attachments = ["/home/me/screen.png"];
 * const resolved = await resolveAttachmentsToContentBlocks(message, attachments);
 * const prompt = selectPromptMode(message, resolved, { sessionId: "5f0c" });
 * // for await (const event of query({ prompt })) …
 * ```
 */
export function selectPromptMode(
  message: string,
  { blocks, errors }: ResolvedAttachments,
  { sessionId = "" }: PromptModeOptions = {},
): AgentPrompt {
  for (const [name, value] of Object.entries({ message, sessionId })) {
    if (typeof value !== "string") throw new TypeError(`${name}: expected a string, got ${describe(value)}`);
  }
  if (blocks.some(({ type }) => type !== "text")) return onlyMessage(blocks, sessionId);
  if (errors.length === 0) return message.toWellFormed();
  if (isBlank(message)) throw allFailed(errors);
  return blockTexts(blocks).join("\n\n");
}

function onlyMessage(
  blocks: readonly AttachmentContentBlock[],
  session_id: string,
): AsyncIterable<AgentUserMessage> {
  return {
    async *[Symbol.asyncIterator]() {
      const message = { role: "user" as const, content: [...blocks] };
      yield { type: "user", message, parent_tool_use_id: null, session_id };
    },
  };
}

function allFailed(errors: ResolvedAttachments["errors"]): SessileError<"ATTACHMENT_FAILURE"> {
  const failed = errors.map(({ path, code, reason }) => ({ name: plainName(path), code, reason }));
  return new SessileError("ATTACHMENT_FAILURE", "there is no text, and all attachments failed", {
    details: { status: 400, category: "ALL_ATTACHMENTS_FAILED_NO_TEXT", errors: failed },
  });
}
