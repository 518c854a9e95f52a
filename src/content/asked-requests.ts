/** What was asked with the contexts of a session, so that a recorded reply names the request that it answered. */

import { textDigest } from "../core/rolling-digest.js";
import { isRecord } from "../core/shape.js";
import type { AssistantMessage } from "./message.js";
import { withNewIds, withReferences } from "./opaque-blocks.js";

/** A request made from a context. */
interface AskedRequest {
  /** The model that it is for, as text. */
  readonly model: string;
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
  /** The last item of the newest context, by which a context that a caller made of it is known. */
  newest?: object | undefined;
}

/** The requests of the session of a context, and of the last items of its contexts. */
const askedOf = new WeakMap<object, AskedRequests>();

/** More different requests without a reply than a loop makes. Beyond them, nothing is recorded with the next reply. */
const maxRequests = 16;
/** Requests with all that they were made from. Beyond them, each digest is kept once. */
const maxWhole = 4;

/** Notes the context of a session, and who asks with it. */
export function noteContext(context: { readonly items: readonly object[] }, asked: AskedRequests): void {
  askedOf.set(context, asked);
  const newest = context.items.at(-1);
  asked.newest = newest;
  if (newest !== undefined) askedOf.set(newest, asked);
}

/** Notes a request that was made from a context. Of a context without a session, nothing is noted. */
export function noteRequest(context: { readonly items: readonly object[] }, request: AskedRequest): void {
  const asked = askedOf.get(context) ?? askedByItem(context.items);
  if (asked === undefined) return;
  const open = asked.isAnswered ? [] : asked.requests;
  const kept = open.length < maxWhole ? open : distinct(open);
  asked.requests = kept.length <= maxRequests ? [...kept, request] : kept;
  asked.isAnswered = false;
}

/** The requests of the session whose newest message a context of the caller's has. */
function askedByItem(items: readonly object[]): AskedRequests | undefined {
  const item = items.findLast((one) => askedOf.get(one)?.newest === one);
  return item === undefined ? undefined : askedOf.get(item);
}

function distinct(requests: readonly AskedRequest[]): readonly AskedRequest[] {
  const found = new Map<string, AskedRequest>();
  for (const request of requests) {
    const known = digested(request);
    found.set(`${known.model} ${known.digest()}`, known);
  }
  return [...found.values()];
}

/** The request as its digest alone; an empty one if it has none. */
function digested({ model, answers, digest }: AskedRequest): AskedRequest {
  const text = digestOf(digest);
  return { model, answers, digest: () => text };
}

/** Tools that are no JSON have no digest: a reply to them is recorded without one. */
function digestOf(digest: () => string): string {
  try {
    return digest();
  } catch {
    return "";
  }
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
    if (!isRecord(draft) || draft.type !== "message" || !isReply(draft.message)) return draft;
    return { ...draft, message: recorded(asked, draft.message) };
  });
}

function recorded(asked: AskedRequests, message: AssistantMessage): AssistantMessage {
  if (message.prefix !== undefined) return message;
  const meant = asked.requests.filter((request) => request.answers(message));
  if (meant.length === 0) return message;
  const isFew = asked.requests.length <= maxRequests;
  asked.requests = asked.requests.map((request) => (meant.includes(request) ? digested(request) : request));
  asked.isAnswered = true;
  const digests = new Set(
    asked.requests.flatMap((request) => (request.answers(message) ? [request.digest()] : [])),
  );
  const [digest = ""] = digests;
  if (digests.size !== 1 || digest === "" || !isFew) return message;
  const content = digestOf(() => contentDigest(message));
  return content === "" ? message : { ...message, prefix: digest + content };
}

/** Whether a value can be recorded as a reply. The append checks it in whole. */
function isReply(message: unknown): message is AssistantMessage {
  return isRecord(message) && message.role === "assistant" && Array.isArray(message.content);
}

/**
 * The digest of what an edit or an update of a reply can change. Media of opaque blocks are stored elsewhere
 * after the append, so that they count by their place.
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
      case "opaque":
        return [block.type, withNewIds(withReferences(block.data, noId), noId)];
      default:
        return [block.type];
    }
  });
  return textDigest(JSON.stringify(blocks), contentDigits);
}

/**
 * The record of a reply after more of it came: with the digest of the new content if that only adds to the recorded
 * one, since reasoning counts by what precedes it. As it was for any other change.
 */
export function grownPrefix(before: AssistantMessage, after: AssistantMessage, prefix: string): string {
  // A log of another program can have anything there.
  if (typeof prefix !== "string" || !adds(before.content, after.content)) return prefix;
  const digest = contentDigest(before);
  return prefix.endsWith(digest) ? prefix.slice(0, -digest.length) + contentDigest(after) : prefix;
}

type Content = AssistantMessage["content"];

/** Whether content has all blocks of another, of which the last one may have grown. */
function adds(before: Content, after: Content): boolean {
  return before.every((block, at) => {
    const now = after[at];
    if (now === undefined) return false;
    return (
      (at === before.length - 1 && hasGrown(block, now)) || JSON.stringify(block) === JSON.stringify(now)
    );
  });
}

function hasGrown(block: Content[number], now: Content[number]): boolean {
  switch (block.type) {
    case "text":
      return now.type === "text" && block.resource === undefined && now.text.startsWith(block.text);
    case "thinking":
      return now.type === "thinking" && now.thinking.startsWith(block.thinking);
    case "toolCall":
      return now.type === "toolCall" && now.id === block.id;
    default:
      return false;
  }
}

const noId = () => "";

/** Of 16 values each. */
const contentDigits = 8;
