import { basename } from "node:path";
import { ingest } from "sessile/attachments";
import type { BlobStore } from "sessile/blobs";
import { type MessagePart, type UserMessage, userMessage } from "sessile/content";
import {
  type AgentPrompt,
  type AttachmentError,
  resolveAttachmentsToContentBlocks,
  selectPromptMode,
} from "sessile/projections/claude-agent/node";
import { blockBytes } from "./block-bytes.js";

/** A turn whose attachments were read. */
export interface TurnPrompt {
  /** What the Claude Agent SDK would be given: a string where there is no file to send. */
  readonly prompt: AgentPrompt;
  /** The names of the files in it, in order. */
  readonly names: readonly string[];
  readonly errors: readonly AttachmentError[];
}

/** Options of {@link readPrompt}. */
export interface ReadPromptOptions {
  /** Directories that attachments may lie in. */
  readonly roots: readonly string[];
  readonly sessionId: string;
  readonly signal: AbortSignal;
}

/**
 * Reads the attachments of a turn, each once: what is shown, what is stored and what is sent are the same bytes, so that a file
 * that changes afterwards makes no difference, and one that changes meanwhile is not taken. A path that is named twice
 * is attached once.
 *
 * @throws SessileError ATTACHMENT_FAILURE where none can be taken and there is no text
 */
export async function readPrompt(
  message: string,
  attachments: readonly string[],
  { roots, sessionId, signal }: ReadPromptOptions,
): Promise<TurnPrompt> {
  const paths = [...new Set(attachments)];
  const resolved = await resolveAttachmentsToContentBlocks(message, paths, { roots, signal });
  const failed = new Set(resolved.errors.map(({ path }) => path));
  return {
    prompt: selectPromptMode(message, resolved, { sessionId }),
    names: paths.filter((path) => !failed.has(path)).map((path) => basename(path)),
    errors: resolved.errors,
  };
}

/** A prompt as a message of a session: the same text, and the same files as resources whose bytes are in the blob store. */
export async function messageOf(
  { prompt, names }: Pick<TurnPrompt, "prompt" | "names">,
  options: { readonly blobs: Pick<BlobStore, "put">; readonly signal: AbortSignal },
): Promise<UserMessage> {
  if (typeof prompt === "string") return userMessage(prompt);
  const parts: MessagePart[] = [];
  let files = 0;
  for await (const { message } of prompt) {
    for (const block of message.content) {
      if (block.type === "text") parts.push(block.text);
      else parts.push(await ingest({ bytes: blockBytes(block), name: names[files++] ?? "" }, options));
    }
  }
  return userMessage(...parts);
}
