/** The words in a provider's own block, for readers to which the block itself says nothing. */

import { isRecord } from "../core/shape.js";

/** Members that hold words of a model or of a person. */
const spoken = ["text", "refusal", "transcript"] as const;
/** Members that hold parts with words. */
const nested = ["content", "parts", "source", "document"] as const;
/** Blocks whose text is no answer: reasoning, calls and their results. */
const unspoken = /reason|think|thought|tool|call|function|redacted/i;
/** Providers nest the text of a block at most five levels deep. */
const maxDepth = 16;

/**
 * The text of a provider's block that people read, with a line feed between its pieces: that of a cited
 * answer, of a document, of a part of an unknown type. Not reasoning, calls, results of tools, addresses and
 * names. Empty for none.
 */
export function opaqueWords(data: unknown): string {
  const words: string[] = [];
  collect(data, words, maxDepth);
  return words.join("\n");
}

function collect(value: unknown, words: string[], depth: number): void {
  if (depth === 0) return;
  if (Array.isArray(value)) {
    for (const each of value) add(each, words, depth);
    return;
  }
  if (!isRecord(value) || value.thought === true) return;
  const { type, content } = value;
  if (typeof type === "string" && unspoken.test(type)) return;
  for (const name of spoken) add(value[name], words, depth);
  for (const name of nested) if (typeof value[name] !== "string") collect(value[name], words, depth - 1);
  // A summary by Anthropic's API; text in place of parts.
  if (typeof content === "string") add(content, words, depth);
  // Anthropic's source of plain text.
  if (type === "text") add(value.data, words, depth);
  // A part that is named by its only member, as those of Gemini and Bedrock are.
  const [[name, only] = [], ...others] = Object.entries(value);
  const isUnion = name !== undefined && others.length === 0 && isRecord(only) && !apart.has(name);
  if (isUnion && !unspoken.test(name)) collect(only, words, depth - 1);
}

/** Members that are looked at already, and `message`: it is of fields beside those that are blocks. */
const apart: ReadonlySet<string> = new Set([...spoken, ...nested, "message"]);

function add(value: unknown, words: string[], depth: number): void {
  if (typeof value !== "string") collect(value, words, depth - 1);
  else if (/\S/.test(value)) words.push(value);
}
