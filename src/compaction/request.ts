import { integerArgument, integerOption } from "../internal/arguments.js";
import type { SummaryPrompt } from "./strategy.js";
import { requestTags, withoutTags } from "./tags.js";

/** What {@link summaryRequest} lays out. */
export interface SummaryRequestParts {
  readonly prompt: SummaryPrompt;
  /** As {@link serializeItems} gives it; what else would open or close a tag here is defused. */
  readonly conversation: string;
  /** An earlier summary to bring up to date. */
  readonly previous?: string;
  /** What the summary is to dwell on, as the user says it. */
  readonly focus?: string;
  /** Texts that the caller adds, such as a plan. */
  readonly context?: readonly string[];
  /** How many older messages had no room in `conversation`. By default none. */
  readonly leftOut?: number;
  /** The length to ask for, in tokens; at least 1. By default the prompt's. */
  readonly maxTokens?: number;
}

/** What to ask a model for. */
export interface SummaryRequest {
  /** The system prompt. */
  readonly system: string;
  /** The one message of a user. */
  readonly text: string;
}

/** A word is more than a token. */
const wordsPerToken = 0.7;

/**
 * What to ask a model for a summary: material first, each in its tags, then what to write. `update` instead of
 * `instructions` where there is an earlier summary. Nothing in the material can close its tag or open another one.
 *
 * @throws RangeError when `leftOut` or `maxTokens` is out of range.
 * @example
 * ```ts
 * const { text } = summaryRequest({ prompt: checkpointPrompt, conversation: "[User]: Hello" });
 * text.startsWith("<conversation>\n[User]: Hello\n</conversation>"); // true
 * ```
 */
export function summaryRequest(parts: SummaryRequestParts): SummaryRequest {
  const { prompt, previous, focus = "", context = [] } = parts;
  const leftOut = integerOption("leftOut", parts.leftOut, 0, 0);
  const maxTokens = integerArgument("maxTokens", parts.maxTokens ?? prompt.maxTokens, 1);
  const hasPrevious = previous !== undefined && previous.trim() !== "";
  const gap =
    leftOut === 0
      ? ""
      : `(${leftOut} older messages had no room here. Say in the summary that they are missing.)\n\n`;
  const pieces = [
    hasPrevious ? between(requestTags.previous, withoutTags(previous)) : "",
    between(requestTags.conversation, gap + withoutTags(parts.conversation)),
    ...context
      .filter((text) => text.trim() !== "")
      .map((text) => between(requestTags.context, withoutTags(text))),
    hasPrevious ? prompt.update : prompt.instructions,
    focus.trim() === ""
      ? ""
      : `The person asks you to dwell on this, below the same headings:\n${between(requestTags.focus, withoutTags(focus))}`,
    `Write at most ${Math.max(1, Math.floor(maxTokens * wordsPerToken))} words.`,
  ];
  return { system: prompt.system, text: pieces.filter((piece) => piece !== "").join("\n\n") };
}

function between(tag: string, text: string): string {
  return `<${tag}>\n${text}\n</${tag}>`;
}
