/** Text for people: numbers with units, first lines, and hidden characters made visible. */

import { messageText, type UserMessage } from "../../content/index.js";

/**
 * Characters that change how the text around them is shown: bidirectional embeddings, overrides and isolates,
 * and control characters but for tab, line feed and carriage return.
 */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Replaces characters that could disguise a text by their code, such as `[U+202E]`. */
export function visibleText(text: string): string {
  return text.replace(hidden, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}

const maxLineLength = 160;

/** The first line with content, shortened. */
export function firstLine(text: string): string {
  // A huge text is cut first: only its start is looked at.
  const line = /\S[^\n]{0,4000}/.exec(text.slice(0, 4000))?.[0] ?? "";
  return visibleText(line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line);
}

/** The words of a user's message, else the names of its attachments. */
export function promptText(message: UserMessage): string {
  const { content } = message;
  if (typeof content === "string") return content;
  const words = content.filter((block) => block.type === "text" && block.resource === undefined);
  const text = messageText({ ...message, content: words });
  return text.trim() === "" ? messageText(message) : text;
}

/** `14 kB` */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `1.2k`, for tokens and other counts. */
export function countText(count: number): string {
  if (count < 1000) return String(count);
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(2)}M`;
}

/** `$0.0123`: more digits for small amounts. */
export function costText(dollars: number): string {
  if (dollars === 0) return "$0";
  return `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}`;
}

/** `1.4 s`, `3 min 20 s`, `2 h 5 min`, `3 days` */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds) % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

/** `2026-11-23 08:10`, in the reader's time zone. */
export function timeText(time: number): string {
  if (!Number.isFinite(time)) return "unknown time";
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
