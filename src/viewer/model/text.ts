/** Text for people: numbers with units, first lines, and hidden characters made visible. */

import { isResource, messageText, type UserMessage } from "../../content/index.js";

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

/** The words of a user's message, else the names of its attachments. A command is as it was typed. */
export function promptText(message: UserMessage): string {
  const { content } = message;
  if (typeof content === "string") return typedText(content);
  const text = messageText(message);
  return text.trim() === "" ? attachmentNames(content) : typedText(text);
}

function attachmentNames(content: Exclude<UserMessage["content"], string>): string {
  return content
    .flatMap((block) => {
      if (block.type === "image") return "image";
      if (block.type !== "text" || !isResource(block.resource)) return [];
      const { name, kind } = block.resource;
      return name ?? kind;
    })
    .join(", ");
}

/** Whether a user's message has words, a command or an attachment: the output of a command alone is no prompt. */
export function isPrompt(message: UserMessage): boolean {
  return partKinds(message).some((kind) => kind === "text" || kind === "command");
}

/** Whether a user's message has nothing but what an agent's program told the model. */
export function isNote(message: UserMessage): boolean {
  const kinds = partKinds(message);
  return kinds.length > 0 && kinds.every((kind) => kind === "note");
}

/** The kinds of a message's parts; an attachment is as good as words. */
function partKinds({ content }: UserMessage): readonly PromptPart["kind"][] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  return blocks.flatMap((block) =>
    block.type === "text" && block.resource === undefined
      ? promptParts(block.text).map(({ kind }) => kind)
      : ["text" as const],
  );
}

function typedText(text: string): string {
  const parts = promptParts(text);
  const typed = parts.flatMap((part) =>
    part.kind === "command" ? `${part.name} ${part.args}` : part.kind === "text" ? part.text : [],
  );
  const words = typed.join("\n").trim();
  return words !== "" ? words : parts.flatMap((part) => ("text" in part ? part.text : [])).join("\n");
}

/** A part of a user's text: words, a command of the agent's program, its output, or a note for the model. */
export type PromptPart =
  | { readonly kind: "text" | "output" | "note"; readonly text: string }
  | { readonly kind: "command"; readonly name: string; readonly args: string };

/** Elements in which Claude Code writes commands, their output, and notes for the model. */
const promptElements: ReadonlyMap<string, "name" | "args" | "message" | "input" | "output" | "note"> =
  new Map([
    ["command-name", "name"],
    ["command-args", "args"],
    ["command-message", "message"],
    ["bash-input", "input"],
    ["local-command-stdout", "output"],
    ["local-command-stderr", "output"],
    ["bash-stdout", "output"],
    ["bash-stderr", "output"],
    ["local-command-caveat", "note"],
    ["system-reminder", "note"],
    ["task-notification", "note"],
  ]);

/** Splits a user's text at the elements of commands and notes. A text without any is one part. Linear. */
export function promptParts(source: string): readonly PromptPart[] {
  const parts: PromptPart[] = [];
  let words = "";
  let command: { name: string; args: string } | undefined;
  let message = "";
  const end = () => {
    if (command !== undefined) parts.push({ kind: "command", ...command });
    // Usually it only says that the command runs.
    const isKnown = command !== undefined && message.startsWith(command.name.replace(/^\//, ""));
    if (message !== "" && !isKnown) parts.push({ kind: "note", text: message });
    message = "";
    command = undefined;
    if (words.trim() !== "") parts.push({ kind: "text", text: words.trim() });
    words = "";
  };
  let at = 0;
  for (const { index, 0: open, 1: tag = "" } of source.matchAll(/<([a-z]{1,20}(?:-[a-z]{1,20}){1,2})>/g)) {
    const role = promptElements.get(tag);
    if (role === undefined || index < at) continue;
    const close = source.indexOf(`</${tag}>`, index);
    // Without an end, all others of its kind are without one too.
    if (close < 0) break;
    words += source.slice(at, index);
    const text = source.slice(index + open.length, close).trim();
    at = close + tag.length + 3;
    if (words.trim() !== "") end();
    if (role === "name" || role === "args") {
      if (command?.[role]) end();
      command = { name: "", args: "", ...command, [role]: text };
    } else if (role === "input") {
      end();
      parts.push({ kind: "command", name: "!", args: text });
    } else if (role === "message") message = text;
    else {
      end();
      if (text !== "") parts.push({ kind: role, text });
    }
  }
  words += source.slice(at);
  end();
  return parts.length === 0 ? [{ kind: "text", text: source }] : parts;
}

/** Types of entries with other words for readers than their names. */
const typeNames: ReadonlyMap<string, string> = new Map([
  ["meta_message", "note"],
  ["synthetic", "note"],
  ["api_error", "API error"],
  ["user_event", "event"],
  ["foreign", "source file"],
  ["foreign_line", "other record"],
]);

/** Names that this library gives to records of agents, and its own. */
const ownTypes = /^(?:sessile|claude-code|codex|gemini|opencode|qwen-code|kimi-code)\./;

/** The type of an extension's entry in words. Names of other programs stay as they are. */
export function typeName(customType: string): string {
  if (!ownTypes.test(customType)) return visibleText(customType);
  const own = customType.replace(ownTypes, "");
  return typeNames.get(own) ?? visibleText(own.replace(/[._]/g, " "));
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

/** `now`, `5 min ago`, `3 h ago`, `2 days ago`, `4 months ago`. A time to come is one of another clock: `now`. */
export function agoText(time: number, now: number): string {
  const minutes = (now - time) / 60_000;
  if (!(minutes >= 1)) return "now";
  if (minutes < 60) return `${Math.floor(minutes)} min ago`;
  const hours = minutes / 60;
  if (hours < 24) return `${Math.floor(hours)} h ago`;
  const days = hours / 24;
  if (days < 60) return Math.floor(days) === 1 ? "yesterday" : `${Math.floor(days)} days ago`;
  return days < 730 ? `${Math.floor(days / 30.44)} months ago` : `${Math.floor(days / 365.25)} years ago`;
}

/** `2026-11-23 08:10`, in the reader's time zone. */
export function timeText(time: number): string {
  if (!Number.isFinite(time)) return "unknown time";
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
