/** How Gemini CLI classifies the texts of its users, and how a text keeps out of its classes. */

import { type Part, shownText } from "../shared/gemini-parts.js";
import { readText } from "../shared/values.js";
import { isEnvironment } from "./agent.js";

/** A summary that replaces the history. The agent's prompt for summaries asks for this tag. */
export function isSnapshot(parts: readonly Part[]): boolean {
  return shownText(parts).trimStart().startsWith("<state_snapshot>");
}

/** A command to the agent, which is never sent to the model after a resume. */
export function isCommand(text: string): boolean {
  return /^[/?]/.test(text.trimStart());
}

/**
 * Version 0.26 records function responses a second time, as these words. They are sent to the model, but are
 * none of the user's.
 */
export function isTextResponse(content: unknown): boolean {
  if (typeof content !== "string" || content === "") return false;
  for (let at = 0; at < content.length; ) {
    if (!content.startsWith("[Function Response: ", at)) return false;
    at = content.indexOf("]", at) + 1;
    if (at === 0) return false;
    while (content[at] === "<") {
      const end = content.indexOf(">", at);
      const inner = content.indexOf("<", at + 1);
      if (end < 0 || (inner > 0 && inner < end)) return false;
      at = end + 1;
    }
  }
  return true;
}

/** A zero-width space. Unlike white space it is not trimmed before a message is classified. */
const guard = "\u200b";

function isGuarded(text: string): boolean {
  if (!text.startsWith(guard)) return false;
  let at = 0;
  while (text[at] === guard) at++;
  const rest = text.slice(at).trimStart();
  return isCommand(rest) || isEnvironment(rest) || rest.startsWith("<state_snapshot>");
}

/**
 * The parts of a user message so that the agent reads them as one: after a resume it drops messages that
 * begin like a command or a context of its own. Inverse to {@link withoutGuard}.
 */
export function withGuard(parts: readonly Part[]): readonly Part[] {
  const text = shownText(parts);
  const needsGuard = isCommand(text) || isEnvironment(text) || isSnapshot(parts) || isGuarded(text);
  const [first, ...rest] = parts;
  return needsGuard ? [{ text: `${guard}${readText(first?.text) ?? ""}` }, ...rest] : parts;
}

/** The parts of a message without the guard of {@link withGuard}. */
export function withoutGuard(parts: readonly Part[]): readonly Part[] {
  const [first, ...rest] = parts;
  const text = readText(first?.text);
  return text?.startsWith(guard) && isGuarded(shownText(parts)) ? [{ text: text.slice(1) }, ...rest] : parts;
}
