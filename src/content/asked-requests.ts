/** What was asked with the contexts of a session, so that a recorded reply names the request that it answered. */

import { textDigest } from "../core/rolling-digest.js";
import { isRecord } from "../core/shape.js";
import type { AssistantMessage } from "./message.js";

/** A request made from a context. */
export interface AskedRequest {
  /** Whether a message can be the reply: it names the model that the request is for. */
  answers(message: AssistantMessage): boolean;
  /** The digest of the request. */
  digest(): string;
}

/** More requests without a reply than a loop makes. Beyond them, nothing is recorded with the next reply. */
const maxRequests = 16;

/** The requests made from the contexts of one session since the last reply. */
export class AskedRequests {
  #requests: AskedRequest[] = [];
  /** Whether a reply was recorded. It can be appended again after a failure, until the next request. */
  #isAnswered = false;

  /** Adds a request. */
  add(request: AskedRequest): void {
    if (this.#isAnswered) this.#requests = [];
    this.#isAnswered = false;
    if (this.#requests.length <= maxRequests) this.#requests.push(request);
  }

  /**
   * Drafts of entries in which each reply has the digest of the request that it answers, and of its own content.
   * A reply is unchanged if it has one, or if requests with different digests can be meant.
   */
  recordedIn<D extends { readonly type?: unknown }>(drafts: readonly D[]): readonly D[] {
    if (this.#requests.length === 0 || !Array.isArray(drafts)) return drafts;
    return drafts.map((draft) => {
      const { type, message } = draft as { readonly type?: unknown; readonly message?: unknown };
      return type === "message" && isReply(message) ? { ...draft, message: this.#recorded(message) } : draft;
    });
  }

  #recorded(message: AssistantMessage): AssistantMessage {
    if (message.prefix !== undefined) return message;
    const meant = this.#requests.filter((request) => request.answers(message));
    if (meant.length === 0) return message;
    const digests = new Set(meant.map((request) => request.digest()));
    const isClear = digests.size === 1 && this.#requests.length <= maxRequests;
    this.#isAnswered = true;
    const [digest = ""] = digests;
    return isClear ? { ...message, prefix: digest + contentDigest(message) } : message;
  }
}

/** Whether a value can be recorded as a reply. The append checks it in whole. */
function isReply(message: unknown): message is AssistantMessage {
  return isRecord(message) && message.role === "assistant" && Array.isArray(message.content);
}

const askedOf = new WeakMap<object, AskedRequests>();

/** Connects a context with the requests of its session. */
export function tellRequests(context: object, requests: AskedRequests): void {
  askedOf.set(context, requests);
}

/** Notes a request that was made from a context. Of a context without a session, nothing is noted. */
export function noteRequest(context: object, request: AskedRequest): void {
  askedOf.get(context)?.add(request);
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
