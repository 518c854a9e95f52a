import type { SummaryPrompt } from "./strategy.js";

/** What {@link summaryRequest} lays out. */
export interface SummaryRequestParts {
  readonly prompt: SummaryPrompt;
  /** As {@link serializeItems} gives it. */
  readonly conversation: string;
  /** An earlier summary to bring up to date. */
  readonly previous?: string;
  /** What the summary is to look at above all. */
  readonly focus?: string;
  /** Texts that the caller adds. */
  readonly context?: readonly string[];
  /** How many of the oldest messages were left out. By default none. */
  readonly leftOut?: number;
  /** The length to ask for, in tokens. By default the prompt's. */
  readonly maxTokens?: number;
}

/** What to ask a model for a summary: its system prompt, and one message of a user. */
export function summaryRequest({ prompt, conversation }: SummaryRequestParts): {
  readonly system: string;
  readonly text: string;
} {
  return { system: prompt.system, text: conversation };
}
