/** Changes of a text as lines side by side. */

import { diffArrays } from "diff";

/** A line of a change. `changed` has both sides; `gap` stands for lines that are not shown. */
export type DiffLine =
  | { readonly kind: "same"; readonly text: string }
  | { readonly kind: "added"; readonly after: string }
  | { readonly kind: "removed"; readonly before: string }
  | { readonly kind: "changed"; readonly before: string; readonly after: string }
  | { readonly kind: "gap" };

/** A comparison that takes longer is given up: all lines are then removed and added. */
const compareMs = 40;
const maxLines = 4000;

/** Compares two texts by lines. */
export function changedLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const parts =
    old.length + now.length > maxLines ? undefined : diffArrays([...old], [...now], { timeout: compareMs });
  if (parts === undefined) return sideBySide(old, now);
  const lines: DiffLine[] = [];
  let removed: readonly string[] = [];
  for (const part of parts) {
    if (part.removed === true) removed = part.value;
    else if (part.added === true) {
      lines.push(...sideBySide(removed, part.value));
      removed = [];
    } else {
      lines.push(...sideBySide(removed, []), ...part.value.map((text) => ({ kind: "same" as const, text })));
      removed = [];
    }
  }
  lines.push(...sideBySide(removed, []));
  return lines;
}

/** Reads the lines of a hunk: each begins with a space, `+`, `-` or `@`. */
export function patchLines(hunk: readonly string[]): readonly DiffLine[] {
  const lines: DiffLine[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = () => {
    lines.push(...sideBySide(removed, added));
    [removed, added] = [[], []];
  };
  for (const line of hunk) {
    const rest = line.slice(1);
    if (line.startsWith("-")) {
      if (added.length > 0) flush();
      removed.push(rest);
    } else if (line.startsWith("+")) added.push(rest);
    else {
      flush();
      if (line.startsWith("@@")) {
        if (lines.length > 0) lines.push({ kind: "gap" });
      } else if (line.startsWith(" ")) lines.push({ kind: "same", text: rest });
    }
  }
  flush();
  return lines;
}

function sideBySide(removed: readonly string[], added: readonly string[]): readonly DiffLine[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, at): DiffLine => {
    const [before, after] = [removed[at], added[at]];
    if (before === undefined) return { kind: "added", after: after ?? "" };
    return after === undefined ? { kind: "removed", before } : { kind: "changed", before, after };
  });
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
