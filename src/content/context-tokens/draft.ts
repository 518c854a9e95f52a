/** Inserts planned attachments into a draft, and completes their placeholders. */

import { integerOption } from "../../core/arguments.js";
import { oneLine } from "../../core/text.js";
import { closer, escapeOpeners, failedMark, opener, parseContextTokens, pendingMark } from "./parse.js";
import type { ComposeStep } from "./plan.js";
import { printContextToken, writeToken } from "./print.js";

const maxNoteLength = 200;

/**
 * Inserts planned steps into a draft: text as planned, a placeholder for each import, nothing for a refusal.
 * Existing tokens and placeholders stay intact, and no text at the seams becomes a new one. An offset within
 * a token means its end.
 *
 * A draft is a string. Once nothing in it is pending, it is the message to store.
 *
 * @param at offset in code units; by default the end
 * @throws RangeError if `at` is outside the draft
 * @example
 * ```ts
 * const steps = planPaste([{ type: "text", text: "context:image:/etc/x>>>" }]);
 * extractImagePaths(insertSteps("<<", steps)); // []
 * ```
 */
export function insertSteps(draft: string, steps: readonly ComposeStep[], at?: number): string {
  const place = outsideTokens(draft, integerOption("at", at, draft.length, 0, draft.length));
  const inserted = steps.flatMap((step) => {
    if (step.type === "refused") return [];
    return step.type === "import" ? [step.placeholder] : [step.text];
  });
  if (inserted.length === 0) return draft;
  return joined([shutOpeners(draft.slice(0, place)), ...inserted, draft.slice(place)]);
}

/**
 * The outcome of an import: the absolute path of the stored file, or a message for people about the failure.
 */
export type ImportOutcome = { readonly path: string } | { readonly failed: string };

/**
 * Replaces the placeholder of an import by its token, or by a broken token with the failure. Returns the
 * draft unchanged if the placeholder was deleted.
 *
 * @throws SessileError INVALID_CONTEXT_TOKEN for a path that cannot be printed; then complete the import as
 *   failed
 * @example
 * ```ts
 * const newId = () => "1";
 * const draft = insertSteps("", planPaste([{ type: "path", path: "/a.md" }], { newId }));
 * completeImport(draft, "1", { path: "/ctx/blobs/ab.md" }); // "<<context:text:/ctx/blobs/ab.md>>>"
 * completeImport(draft, "1", { failed: "no such file" }); // "<<context:text:failed:no such file>>>"
 * ```
 */
export function completeImport(draft: string, id: string, outcome: ImportOutcome): string {
  return parseContextTokens(draft)
    .map((segment) => {
      if (segment.type !== "broken" || segment.path !== pendingMark + id) return segment.raw;
      return "path" in outcome
        ? printContextToken({ kind: segment.kind, path: outcome.path })
        : writeToken(segment.kind, failedMark + shortLine(outcome.failed));
    })
    .join("");
}

/** Removes everything from a text that could end a token or a line, and limits its length. */
function shortLine(text: string): string {
  // Bounds the work: text far beyond the end of the note is cut anyway.
  const clean = oneLine(text.slice(0, 8 * maxNoteLength)).replace(/[<>]/g, "_");
  const characters = Array.from(clean);
  if (characters.length <= maxNoteLength) return clean;
  return `${characters.slice(0, maxNoteLength - 1).join("")}…`;
}

/** The offset, or the end of the token around it. */
function outsideTokens(draft: string, place: number): number {
  let end = 0;
  for (const { type, raw } of parseContextTokens(draft)) {
    const start = end;
    end += raw.length;
    if (place <= end) return type === "text" || place === start ? place : end;
  }
  return place;
}

/** Escapes openers without an end: they would read the inserted text as their path. */
function shutOpeners(text: string): string {
  const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\0"), text.lastIndexOf(closer)) + 1;
  return text.slice(0, end) + text.slice(end).replaceAll(opener, `<<\\${opener.slice(2)}`);
}

/** Joins the pieces. Escapes each opener, escaped or not, that spans a seam. */
function joined(pieces: readonly string[]): string {
  let end = 0;
  const seams = pieces.map((piece) => {
    end += piece.length;
    return end;
  });
  let next = 0;
  return escapeOpeners(pieces.join(""), (at, stop) => {
    while (next < seams.length && (seams[next] as number) <= at) next += 1;
    return (seams[next] as number) < stop;
  });
}
