import type { TextBlock, ToolResultMessage } from "../content/index.js";
import { integerOption } from "../internal/arguments.js";
import { bytesPerToken, middleCut, type Room } from "./middle-cut.js";

/** How long a text may be. Where both bounds are given, both hold. */
export interface TruncateOptions {
  /** Tokens, a quarter of the UTF-8 bytes rounded up; at least 1. By default {@link defaultOutputTokens}. */
  readonly maxTokens?: number;
  /** UTF-16 code units; at least 1. By default without a bound. */
  readonly maxChars?: number;
}

/** What a tool's output may come to when it is recorded, in tokens; codex's since 0.60. */
export const defaultOutputTokens = 10_000;

/**
 * Cuts the middle out of a text that is over the bound, and says there how many tokens went. Head and tail get half of
 * the room each and end on whole lines where that costs little; a character is never cut in two. The result is within the
 * bound, so that truncating it again changes nothing. Where there is no room even for the note, the head alone stays.
 *
 * @throws RangeError for a bound that is no integer from 1 on.
 * @see https://github.com/openai/codex/issues/7867 for codex's default, read 2026-11-22
 * @example
 * ```ts
 * truncateText("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", { maxTokens: 12 });
 * // "one\ntwo\n[… 8 tokens left out …]\nnine\nten\n"
 * ```
 */
export function truncateText(text: string, options: TruncateOptions = {}): string {
  const cut = middleCut(text, roomOf(options));
  return cut === undefined ? text : text.slice(0, cut.start) + cut.note + text.slice(cut.end);
}

/**
 * {@link truncateText} for what a tool gave back, before it is recorded: all its texts together are held to the bound, as
 * if they were one. Images and attachments stay and count nothing. The same message where nothing is over.
 *
 * @throws RangeError for a bound that is no integer from 1 on.
 * @example
 * ```ts
 * const message = toolResult({ id: "c1", name: "bash" }, "line\n".repeat(100_000));
 * truncateToolResult(message); // 10,000 tokens of it
 * ```
 */
export function truncateToolResult(
  message: ToolResultMessage,
  options: TruncateOptions = {},
): ToolResultMessage {
  const room = roomOf(options);
  const cut = middleCut(message.content.map((block) => (isPlain(block) ? block.text : "")).join(""), room);
  if (cut === undefined) return message;
  const content: ToolResultMessage["content"][number][] = [];
  let at = 0;
  let note: string | undefined = cut.note;
  for (const block of message.content) {
    if (!isPlain(block)) {
      content.push(block);
      continue;
    }
    const { text, textSignature, ...rest } = block;
    const head = text.slice(0, Math.max(0, cut.start - at));
    const tail = text.slice(Math.max(0, cut.end - at));
    const hasCut = note !== undefined && at + text.length > cut.start;
    at += text.length;
    if (!hasCut && head.length + tail.length >= text.length) {
      content.push(block);
      continue;
    }
    const left = head + (hasCut ? note : "") + tail;
    if (hasCut) note = undefined;
    // A provider's mark is on the text that it was given for.
    if (left !== "") content.push({ ...rest, text: left });
  }
  return { ...message, content };
}

function isPlain(block: ToolResultMessage["content"][number]): block is TextBlock {
  return block.type === "text" && block.resource === undefined;
}

function roomOf(options: TruncateOptions): Room {
  return {
    bytes: integerOption("maxTokens", options.maxTokens, defaultOutputTokens, 1) * bytesPerToken,
    units: integerOption("maxChars", options.maxChars, Number.MAX_SAFE_INTEGER, 1),
  };
}
