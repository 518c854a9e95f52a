/** Changes of a text as lines side by side. */

import { type ChangeObject, diffArrays } from "diff";

/** A line of a change. `changed` has both sides; `gap` represents lines that are not shown. */
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
  const [old, now] = [textLines(before), textLines(after)];
  const parts =
    old.length + now.length > maxLines ? undefined : diffArrays([...old], [...now], { timeout: compareMs });
  if (parts === undefined) return sideBySide(old, now);
  return [...comparedLines(parts)];
}

function* comparedLines(parts: readonly ChangeObject<string[]>[]): Generator<DiffLine, void, undefined> {
  let removed: readonly string[] = [];
  for (const part of parts) {
    if (part.removed) {
      removed = part.value;
      continue;
    }
    yield* sideBySide(removed, part.added ? part.value : []);
    removed = [];
    if (!part.added) for (const text of part.value) yield { kind: "same", text };
  }
  yield* sideBySide(removed, []);
}

/** Reads the lines of a hunk: each begins with a space, `+`, `-` or `@`. */
export function patchLines(hunk: readonly string[]): readonly DiffLine[] {
  return [...hunkLines(hunk)];
}

function* hunkLines(hunk: readonly string[]): Generator<DiffLine, void, undefined> {
  let [removed, added]: [string[], string[]] = [[], []];
  let isFirst = true;
  for (const line of hunk) {
    const rest = line.slice(1);
    if (line.startsWith("-") && added.length === 0) removed.push(rest);
    else if (line.startsWith("+")) added.push(rest);
    else {
      yield* sideBySide(removed, added);
      [removed, added] = [line.startsWith("-") ? [rest] : [], []];
      if (line.startsWith("@@") && !isFirst) yield { kind: "gap" };
      if (line.startsWith(" ")) yield { kind: "same", text: rest };
    }
    isFirst = false;
  }
  yield* sideBySide(removed, added);
}

function sideBySide(removed: readonly string[], added: readonly string[]): readonly DiffLine[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, at): DiffLine => {
    const [before, after] = [removed[at], added[at]];
    if (before === undefined) return { kind: "added", after: after ?? "" };
    return after === undefined ? { kind: "removed", before } : { kind: "changed", before, after };
  });
}

function textLines(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}
