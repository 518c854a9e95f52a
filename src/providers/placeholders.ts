/** The texts that a projection adds. They are part of prompt caches: a change here changes every request. */

import { withoutInvitation } from "../attachments/internal.js";
import type { BashExecutionMessage } from "../content/index.js";
import type { BranchSummaryMessage, CompactionSummaryMessage } from "../content/internal.js";
import { oneLine } from "../core/text.js";

/** A compaction summary, in a tagged block. */
export function summaryText({ summary }: CompactionSummaryMessage): string {
  return `What came before in this conversation, as a summary of it:\n\n<summary>\n${withoutInvitation(summary)}\n</summary>`;
}

/** The summary of an abandoned branch, in a tagged block. */
export function branchSummaryText({ summary }: BranchSummaryMessage): string {
  return `A line of work that was tried and left, as a summary of it:\n\n<branch_summary>\n${withoutInvitation(summary)}\n</branch_summary>`;
}

/** Instructions of mid-conversation, for a target without a role for them. */
export function laterInstructionsText(text: string): string {
  return `The instructions were changed or extended at this point:\n\n<instructions>\n${text}\n</instructions>`;
}

/** A change of the tools in mid-conversation. */
export function toolChangeText(added: readonly string[], removed: readonly string[]): string {
  const lines = [
    ...(added.length === 0 ? [] : [`New tools: ${added.join(", ")}.`]),
    ...(removed.length === 0 ? [] : [`No longer available: ${removed.join(", ")}.`]),
  ];
  return `[The tools changed. ${lines.join(" ")}]`;
}

/** A command that the user ran, with its output. */
export function bashText(message: BashExecutionMessage): string {
  const { command, output, exitCode, cancelled, truncated } = message;
  const notes = [
    truncated ? "output cut short" : "",
    cancelled ? "cancelled" : typeof exitCode === "number" && exitCode !== 0 ? `exit code ${exitCode}` : "",
  ].filter((note) => note !== "");
  const end = notes.length === 0 ? "" : `\n[${notes.join("; ")}]`;
  return `The user ran a command:\n\n<command>\n$ ${command}\n${output}${end}\n</command>`;
}

const maxNameLength = 80;
/** Bounds the work for very long names. */
const maxReadLength = 1000;

/** The prefix for the text of a named user: `[Alice]: `. Empty for a blank name. */
export function namePrefix(name: string): string {
  const safe = oneLine(name.slice(0, maxReadLength)).replace(/[[\]]/g, "_");
  const short = Array.from(safe).slice(0, maxNameLength).join("").trimEnd();
  return short === "" ? "" : `[${short}]: `;
}

/** A description of an attachment with the reason why it is not shown. */
export function placeholderText(descriptor: string, why: string): string {
  return `${descriptor} (not shown: ${why})`;
}

/** The result of a call without one. */
export const interruptedText = "[This call was interrupted: there is no result.]";

/** The result of a call without output. */
export const noOutputText = "[no output]";

/** Replaces a message without remaining parts. */
export const nothingShownText = "[a message with nothing that can be shown]";

/** The first user turn of a history that begins with the assistant. */
export const openingText = "[The conversation goes on from here.]";

/** The text between a tool result and a user message, for a server that refuses the two in a row. */
export const resultsReadText = "[The results are read.]";

/** The request of an empty context. */
export const emptyText = "[There is nothing to show yet.]";
