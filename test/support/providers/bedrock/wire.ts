import { isRecord } from "../../plain-values.js";
import type { ReceivedRequest } from "../local-server.js";

/** A call of `Converse` as it came over the wire, bytes as base64. */
export interface BedrockRequest {
  /** As in the address, such as `us.anthropic.claude-sonnet-4-5-20250929-v1:0`. */
  readonly model: string;
  readonly body: WireRecord;
}

export type WireRecord = Readonly<Record<string, unknown>>;

/** One of `messages`. */
export interface WireMessage {
  /** Such as `messages.3`. */
  readonly path: string;
  readonly role: unknown;
  readonly content: readonly WireBlock[];
}

/** A block of a message, or of a tool result in it. */
export interface WireBlock {
  /** Such as `messages.3.content.1`, or `messages.3.content.1.toolResult.content.0`. */
  readonly path: string;
  /** The one key that it has, such as `text`; empty where it has none or several. */
  readonly kind: string;
  /** What stands under that key. */
  readonly value: unknown;
  readonly fields: WireRecord;
}

/** What was asked, or undefined for another address. */
export function bedrockRequest({ path, body }: ReceivedRequest): BedrockRequest | undefined {
  const model = /^\/model\/([^/]+)\/converse(?:-stream)?$/.exec(path)?.[1];
  return model === undefined || !isRecord(body) ? undefined : { model: decodeURIComponent(model), body };
}

export function messagesOf({ body }: BedrockRequest): readonly WireMessage[] {
  return list(body.messages).map((message, at) => {
    const path = `messages.${at}`;
    const { role, content } = record(message);
    return { path, role, content: blocksOf(content, `${path}.content`) };
  });
}

/** Blocks of a list, which stands at a path. */
export function blocksOf(content: unknown, path: string): readonly WireBlock[] {
  return list(content).map((block, at) => {
    const fields = record(block);
    const [kind = "", ...others] = Object.keys(fields);
    const alone = others.length === 0 ? kind : "";
    return { path: `${path}.${at}`, kind: alone, value: fields[alone], fields };
  });
}

/** Every block of every message, those within tool results behind the result that has them. */
export function allBlocks(request: BedrockRequest): readonly WireBlock[] {
  return messagesOf(request).flatMap(({ content }) => content.flatMap((block) => [block, ...within(block)]));
}

/** The blocks of a tool result. */
export function within({ kind, value, path }: WireBlock): readonly WireBlock[] {
  return kind === "toolResult" ? blocksOf(record(value).content, `${path}.toolResult.content`) : [];
}

export function isClaude(model: string): boolean {
  return /anthropic|claude/.test(model);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function record(value: unknown): WireRecord {
  return isRecord(value) ? value : {};
}

/** A path as the first look at a request writes it: members of lists are counted from 1. */
function smithyPath(path: string): string {
  return path.replace(/\.(\d+)/g, (_, at: string) => `.${Number(at) + 1}.member`);
}

/** What the first look at a request says, before any model sees it. */
export function constraint(path: string, what: string): { readonly path: string; readonly problem: string } {
  return {
    path,
    problem: `1 validation error detected: Value at '${smithyPath(path)}' failed to satisfy constraint: ${what}`,
  };
}
