import type {
  BashExecutionMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
} from "../content/index.js";
import { withoutInvitation } from "../internal/covered-notes.js";

/**
 * What a projection says in its own words. Prompt caches live on these bytes: a change here is a change of
 * every request.
 */

/** A compaction's summary, in a marked block. */
export function summaryText({ summary }: CompactionSummaryMessage): string {
  return `What came before in this conversation, as a summary of it:\n\n<summary>\n${withoutInvitation(summary)}\n</summary>`;
}

/** A left branch's summary, in a marked block. */
export function branchSummaryText({ summary }: BranchSummaryMessage): string {
  return `A line of work that was tried and left, as a summary of it:\n\n<branch_summary>\n${withoutInvitation(summary)}\n</branch_summary>`;
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
/** Nobody looks through a book for a name. */
const maxReadLength = 1000;

/**
 * What stands before the words of a user who has a name: `[Alice]: `. Empty for a name that is nothing but
 * space.
 */
export function namePrefix(name: string): string {
  const safe = name
    .slice(0, maxReadLength)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[[\]]/g, "_")
    .trim();
  const short = Array.from(safe).slice(0, maxNameLength).join("").trimEnd();
  return short === "" ? "" : `[${short}]: `;
}

/** A descriptor with a reason why there is no more. */
export function placeholderText(descriptor: string, why: string): string {
  return `${descriptor} (not shown: ${why})`;
}

/** The result of a call that never had one. */
export const interruptedText = "[This call was interrupted: there is no result.]";

/** The result of a call that gave nothing back. */
export const noOutputText = "[no output]";

/** In place of a message whose every part was left out. */
export const nothingShownText = "[a message with nothing that can be shown]";

/** Before a history that begins with what the model said. */
export const openingText = "[The conversation goes on from here.]";

/** Between a tool's result and the user's words, for a server that refuses these two in a row. */
export const resultsReadText = "[The results are read.]";

/** A request of which nothing is left. */
export const emptyText = "[There is nothing to show yet.]";
