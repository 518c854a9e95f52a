import { integerOption } from "../internal/arguments.js";
import { anyOpener, closer, opener } from "./escape.js";
import { failedMark, parseContextTokens, pendingMark } from "./parse.js";
import type { ComposeStep } from "./plan.js";
import { printContextToken, writeToken } from "./print.js";

const maxNoteLength = 200;

/**
 * A draft with planned steps put in: text as planned, a placeholder for each import, nothing for what was refused. Tokens and
 * placeholders around the place stay what they are, and nothing else becomes one, whatever text meets at the seams; a place
 * within a token means its end.
 *
 * A draft is a string. What it holds when nothing in it is pending is the message to store, as it is.
 *
 * @param at - Code units before the place; the end by default.
 * @throws RangeError for an `at` outside the draft.
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

/** How an import ended: the absolute path of the stored file, or, for people, what failed and why. */
export type ImportOutcome = { readonly path: string } | { readonly failed: string };

/**
 * A draft in which the placeholder of an import has become its token, or a broken one that says what failed. A draft whose
 * placeholder was deleted meanwhile comes back as it is.
 *
 * @throws SessileError INVALID_CONTEXT_TOKEN for a path that no token can hold; the placeholder is still there to fail.
 * @example
 * ```ts
 * const newId = () => "1";
 * const draft = insertSteps("", planPaste([{ type: "path", path: "/a.md" }], { newId }));
 * settleImport(draft, "1", { path: "/ctx/blobs/ab.md" }); // "<<context:text:/ctx/blobs/ab.md>>>"
 * settleImport(draft, "1", { failed: "a.md: no such file" }); // "<<context:text:failed:a.md: no such file>>>"
 * ```
 */
export function settleImport(draft: string, id: string, outcome: ImportOutcome): string {
  return parseContextTokens(draft)
    .map((segment) => {
      if (segment.type !== "broken" || segment.path !== pendingMark + id) return segment.raw;
      return "path" in outcome
        ? printContextToken({ kind: segment.kind, path: outcome.path })
        : writeToken(segment.kind, failedMark + oneLine(outcome.failed));
    })
    .join("");
}

/** Text from anywhere, without what could end a token or a line. */
function oneLine(text: string): string {
  // What is far behind the end of the note need not be looked at.
  const clean = text
    .slice(0, 8 * maxNoteLength)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[<>]/g, "_")
    .trim();
  const characters = Array.from(clean);
  if (characters.length <= maxNoteLength) return clean;
  return `${characters.slice(0, maxNoteLength - 1).join("")}…`;
}

/** The place, or the end of the token that it lies within. */
function outsideTokens(draft: string, place: number): number {
  let end = 0;
  for (const { type, raw } of parseContextTokens(draft)) {
    const start = end;
    end += raw.length;
    if (place <= end) return type === "text" || place === start ? place : end;
  }
  return place;
}

/** Openers that nothing has ended yet would take what is put behind them for their path: they are escaped. */
function shutOpeners(text: string): string {
  const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\0"), text.lastIndexOf(closer)) + 1;
  return text.slice(0, end) + text.slice(end).replaceAll(opener, escapedOnce);
}

/** The pieces as one text. An opener that two or more of them make together, escaped or not, is escaped once more. */
function joined(pieces: readonly string[]): string {
  let end = 0;
  const seams = pieces.map((piece) => {
    end += piece.length;
    return end;
  });
  let next = 0;
  return pieces.join("").replace(anyOpener, (found: string, _slashes: string, at: number) => {
    while (next < seams.length && (seams[next] as number) <= at) next += 1;
    return (seams[next] as number) < at + found.length ? escapedOnce(found) : found;
  });
}

function escapedOnce(found: string): string {
  return `<<\\${found.slice(2)}`;
}
