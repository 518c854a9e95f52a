import { basename } from "node:path";
import { type BlobStore, type MessagePart, type UserMessage, userMessage } from "sessile";
import { ingest } from "sessile/attachments";
import {
  type AgentPrompt,
  type AttachmentContentBlock,
  type AttachmentError,
  resolveAttachmentsToContentBlocks,
  selectPromptMode,
} from "sessile/claude-agent";
import { HttpFailure } from "../support/http.js";

/** A turn whose attachments were read. */
export interface TurnPrompt {
  /** The prompt for the Claude Agent SDK: a string if there is no file. */
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
 * Reads the attachments of a turn, each once, so the stored and the sent bytes are the same. A file that
 * changes during the read is refused. A path that is given twice is attached once.
 *
 * @throws SessileError ATTACHMENT_FAILURE if no attachment is readable and there is no text
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

/**
 * Converts a prompt to a message of a session: its files become resources whose bytes are in the blob store.
 */
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

/** The body of `POST /api/harness/turn`. */
export interface TurnRequest {
  readonly message: string;
  /** Absolute paths. Other claims of the client about a file are ignored. */
  readonly attachments: readonly string[];
  /** No message: the leaf is one of the user, which gets another reply. */
  readonly again?: true;
}

/**
 * Reads a body as a turn: text, files, or both; or none of them, for another reply.
 *
 * @throws HttpFailure 400 for anything else
 */
export function asTurnRequest(body: unknown, maxAttachments: number): TurnRequest {
  const { message, attachments = [], again } = recordOf(body);
  if (again === true && message === undefined) return { message: "", attachments: [], again };
  if (typeof message !== "string") throw invalid("message: expected a string");
  if (!Array.isArray(attachments)) throw invalid("attachments: expected an array");
  if (attachments.length > maxAttachments) throw invalid(`attachments: expected at most ${maxAttachments}`);
  const paths = attachments.map((path: unknown, at) => {
    if (typeof path !== "string") throw invalid(`attachments[${at}]: expected a string`);
    return path;
  });
  if (message.trim() === "" && paths.length === 0) throw invalid("there is neither text nor an attachment");
  return { message, attachments: paths };
}

/**
 * Reads a body as the entry to be the leaf; null for before the first.
 *
 * @throws HttpFailure 400 for anything else
 */
export function asEntryId(body: unknown): string | null {
  const { entryId } = recordOf(body);
  if (entryId === null || typeof entryId === "string") return entryId;
  throw invalid("entryId: expected a string or null");
}

function recordOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw invalid("the body: expected an object");
  }
  return body as Readonly<Record<string, unknown>>;
}

function invalid(message: string): HttpFailure {
  return new HttpFailure(400, { code: "INVALID_BODY", message });
}

/** The bytes of a block's file. Text keeps its byte order mark. */
export function blockBytes({ source }: Exclude<AttachmentContentBlock, { type: "text" }>): Uint8Array {
  return Buffer.from(source.data, source.type === "base64" ? "base64" : "utf8");
}
