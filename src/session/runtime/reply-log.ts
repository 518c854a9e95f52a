/**
 * Replies in the side log `reply`. An object begins a reply, or a block of one; a string is a piece of the last block,
 * so that a piece costs its characters and three bytes. A reply ends when its message is an entry of its id.
 */

import { type AssistantMessage, assistantMessage } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import { parseJson } from "../../core/json.js";
import { RollingDigest } from "../../core/rolling-digest.js";
import { isRecord } from "../../core/shape.js";
import type { ReplyDelta } from "../api/turn.js";

/** Who makes a reply, for the message of one that is interrupted. */
export type ReplyMaker = Pick<AssistantMessage, "provider" | "model" | "api">;

/** A block of a reply while it arrives. */
export interface ReplyBlock {
  readonly type: ReplyDelta["type"];
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly pieces: string[];
  /** UTF-16 units of the pieces. */
  length: number;
}

/** A reply as its log has it. */
export interface StoredReply extends ReplyMaker {
  readonly id: string;
  /** The leaf that it follows. */
  readonly after: string | null;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The claim of its turn. */
  claimId: string;
  hasEnded: boolean;
  readonly blocks: (ReplyBlock | undefined)[];
}

/** A piece of a reply that was read, and its place in its block. */
export interface ReplyPiece {
  readonly reply: StoredReply;
  readonly index: number;
  readonly start: number;
  readonly text: string;
}

/** The replies of a log, from its lines. */
export class StoredReplies {
  readonly byId = new Map<string, StoredReply>();
  #reply: StoredReply | undefined;
  #index = 0;

  /** Applies a line. Returns the piece that it has. A line of another shape is none. */
  apply(value: unknown): ReplyPiece | undefined {
    if (typeof value === "string") return this.#add(value);
    if (!isRecord(value)) return undefined;
    if (typeof value.reply === "string") this.#begin(value.reply, value);
    const ended = typeof value.ended === "string" ? this.byId.get(value.ended) : undefined;
    if (ended !== undefined) ended.hasEnded = true;
    const resumed = typeof value.resumed === "string" ? this.byId.get(value.resumed) : undefined;
    if (resumed !== undefined) resumed.claimId = String(value.claim);
    if (typeof value.on === "string") this.#reply = this.byId.get(value.on);
    return this.#beginBlock(value);
  }

  #begin(id: string, value: Readonly<Record<string, unknown>>): void {
    const { after, at, claim, provider, model, api } = value;
    this.#reply = {
      id,
      after: typeof after === "string" ? after : null,
      at: typeof at === "number" ? at : 0,
      claimId: String(claim),
      provider: String(provider),
      model: String(model),
      ...(typeof api === "string" ? { api } : {}),
      hasEnded: false,
      blocks: [],
    };
    this.byId.set(id, this.#reply);
  }

  #beginBlock({ block, type, id, name }: Readonly<Record<string, unknown>>): ReplyPiece | undefined {
    const reply = this.#reply;
    if (reply === undefined || typeof block !== "number" || !isIndex(block)) return undefined;
    this.#index = block;
    if (reply.blocks[block] !== undefined || !isBlockType(type)) return undefined;
    reply.blocks[block] = {
      type,
      ...(typeof id === "string" ? { id } : {}),
      ...(typeof name === "string" ? { name } : {}),
      pieces: [],
      length: 0,
    };
    return { reply, index: block, start: 0, text: "" };
  }

  #add(text: string): ReplyPiece | undefined {
    const reply = this.#reply;
    const index = this.#index;
    const block = reply?.blocks[index];
    if (reply === undefined || block === undefined) return undefined;
    const start = block.length;
    block.pieces.push(text);
    block.length += text.length;
    return { reply, index, start, text };
  }
}

/** Blocks that a reply may have: an index from a damaged line must not make an array of gigabytes. */
const maxBlocks = 100_000;

/** Whether a number is the index of a block. */
export function isIndex(index: number): boolean {
  return Number.isSafeInteger(index) && index >= 0 && index < maxBlocks;
}

function isBlockType(type: unknown): type is ReplyDelta["type"] {
  return type === "text" || type === "thinking" || type === "toolCall";
}

/** The text of a delta. */
export function deltaText(delta: ReplyDelta): string {
  return delta.type === "toolCall" ? delta.arguments : delta.text;
}

/** A delta for a piece of a block. */
export function blockDelta(
  { type, id = "", name = "" }: Pick<ReplyBlock, "type" | "id" | "name">,
  index: number,
  text: string,
): ReplyDelta {
  return type === "toolCall" ? { type, index, id, name, arguments: text } : { type, index, text };
}

/** The error of a message that was left by a process that ended. */
export const interruptedWords = "the process that received the reply has ended";

/**
 * The message of what arrived of a reply, as an aborted one: texts and reasoning, and calls whose arguments arrived
 * whole. Undefined if nothing arrived.
 */
export function interruptedMessage(reply: StoredReply): AssistantMessage | undefined {
  const content = reply.blocks.flatMap(wholeBlock);
  if (content.length === 0) return undefined;
  const { provider, model, api, at } = reply;
  const maker = { provider, model, ...(api === undefined ? {} : { api }) };
  const message = assistantMessage(
    { ...maker, stopReason: "aborted", errorMessage: interruptedWords },
    ...content,
  );
  return { ...message, timestamp: at };
}

/** A block that arrived, as one of a message; none for a call whose arguments did not arrive whole, and for no text. */
export function wholeBlock(block: ReplyBlock | undefined): AssistantMessage["content"] {
  if (block === undefined) return [];
  const { type, id, name } = block;
  const text = block.pieces.join("");
  if (type === "text") return text === "" ? [] : [{ type, text }];
  if (type === "thinking") return text === "" ? [] : [{ type, thinking: text }];
  const parsed = parseJson(text);
  if (!isRecord(parsed) || id === undefined || name === undefined) return [];
  return [{ type, id, name, arguments: parsed }];
}

/** The message of a reply that continued an interrupted one: its first text goes on with the last text of that. */
export function continuedMessage(prefix: AssistantMessage, message: AssistantMessage): AssistantMessage {
  const last = prefix.content.at(-1);
  const [first, ...rest] = message.content;
  const isOneText = last?.type === "text" && first?.type === "text";
  if (!isOneText) return { ...message, content: [...prefix.content, ...message.content] };
  const joined = { ...first, text: last.text + first.text };
  return { ...message, content: [...prefix.content.slice(0, -1), joined, ...rest] };
}

// Offsets: how much of each block a reader has. They sort as text in the order of a reply.

const totalDigits = 12;
const letters = { text: "t", thinking: "h", toolCall: "c" } as const;

/** How much of each block a reader has; undefined for one that it has nothing of. */
export type ReplyOffset = (
  | {
      readonly type: ReplyBlock["type"];
      readonly length: number;
      /** Of a call, see {@link callTag}: a reply that is continued drops calls, so that their order does not tell them. */
      readonly tag?: string;
    }
  | undefined
)[];

/** Tells the calls of a reply apart in an offset. */
export function callTag(id: string): string {
  const digest = new RollingDigest();
  digest.add(id);
  return digest.text(8);
}

/** The text of an offset. */
export function printReplyOffset(blocks: ReplyOffset): string {
  let total = 0;
  const parts: string[] = [];
  for (const block of blocks) {
    total += block === undefined ? 0 : block.length + 1;
    const tag = block?.tag === undefined ? "" : `.${block.tag}`;
    parts.push(block === undefined ? "" : `${letters[block.type]}${block.length}${tag}`);
  }
  return [String(total).padStart(totalDigits, "0"), ...parts].join("_");
}

/** @throws TypeError for a text that is no offset */
export function parseReplyOffset(text: string | undefined): ReplyOffset {
  if (text === undefined) return [];
  const parts = text.split("_").slice(1);
  const blocks = parts.slice(0, maxBlocks).map((part) => {
    const type = blockTypes[part[0] as keyof typeof blockTypes];
    const [length, tag] = part.slice(1).split(".");
    return type && { type, length: Number(length), ...(tag === undefined ? {} : { tag }) };
  });
  if (printReplyOffset(blocks) !== text)
    throw new TypeError(`from: expected an offset of a reply, got ${SessileError.printable(text)}`);
  return blocks;
}

const blockTypes = { t: "text", h: "thinking", c: "toolCall" } as const;
