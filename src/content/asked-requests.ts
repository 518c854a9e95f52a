/** What was asked with the contexts of a session, so that a recorded reply names the request that it answered. */

import { textDigest } from "../core/rolling-digest.js";
import { isRecord } from "../core/shape.js";
import type { AssistantMessage } from "./message.js";

/** A request made from a context. */
interface AskedRequest {
  /** Whether a message can be the reply: it names the model that the request is for. */
  answers(message: AssistantMessage): boolean;
  /** The digest of the request. */
  digest(): string;
}

/** The requests made from the contexts of one session since the last reply. */
export interface AskedRequests {
  requests: readonly AskedRequest[];
  /** Whether a reply was recorded. It can be appended again after a failure, until the next request. */
  isAnswered: boolean;
}

/** The requests of the session of a context. */
export const askedOf = new WeakMap<object, AskedRequests>();

/** More requests without a reply than a loop makes. Beyond them, nothing is recorded with the next reply. */
const maxRequests = 16;

/** Notes a request that was made from a context. Of a context without a session, nothing is noted. */
export function noteRequest(context: object, request: AskedRequest): void {
  const asked = askedOf.get(context);
  if (asked === undefined) return;
  const open = asked.isAnswered ? [] : asked.requests;
  if (open.length <= maxRequests) asked.requests = [...open, request];
  asked.isAnswered = false;
}

/**
 * Drafts of entries in which each reply has the digest of the request that it answers, and of its own content. A
 * reply is unchanged if it has one, or if requests with different digests can be meant.
 */
export function withRequests<D extends { readonly type?: unknown }>(
  asked: AskedRequests,
  drafts: readonly D[],
): readonly D[] {
  if (!Array.isArray(drafts)) return drafts;
  return drafts.map((draft) => {
    const { type, message } = draft as { readonly type?: unknown; readonly message?: unknown };
    return type === "message" && isReply(message) ? { ...draft, message: recorded(asked, message) } : draft;
  });
}

function recorded(asked: AskedRequests, message: AssistantMessage): AssistantMessage {
  if (message.prefix !== undefined) return message;
  const meant = asked.requests.filter((request) => request.answers(message));
  if (meant.length === 0) return message;
  const digests = new Set(meant.map((request) => request.digest()));
  asked.isAnswered = true;
  const [digest = ""] = digests;
  const isClear = digests.size === 1 && asked.requests.length <= maxRequests;
  return isClear ? { ...message, prefix: digest + contentDigest(message) } : message;
}

/** Whether a value can be recorded as a reply. The append checks it in whole. */
function isReply(message: unknown): message is AssistantMessage {
  return isRecord(message) && message.role === "assistant" && Array.isArray(message.content);
}

/**
 * The digest of what an edit or an update of a reply can change. Media of opaque blocks are stored elsewhere
 * after the append, so that such a block counts by its place.
 */
export function contentDigest({ content }: Pick<AssistantMessage, "content">): string {
  const blocks = content.map((block) => {
    switch (block.type) {
      case "text":
        return block.resource === undefined ? [block.type, block.text] : ["image"];
      case "thinking":
        return [block.type, block.thinking, block.thinkingSignature];
      case "toolCall":
        return [block.type, block.id, block.name, block.arguments];
      default:
        return [block.type];
    }
  });
  return textDigest(JSON.stringify(blocks), contentDigits);
}

/** Of 16 values each. */
const contentDigits = 8;
