/** Search over all text of a session, also text that the page shows folded or not at all. */

import { isRecord } from "../../core/shape.js";
import type { PageEntry } from "../page-data.js";

/** Members of entries, messages and blocks that are no text for readers. */
const skipped: ReadonlySet<string> = new Set([
  ...["textSignature", "thinkingSignature", "thoughtSignature", "providerFields", "viewerKey"],
  ...["id", "parentId", "timestamp", "type", "role", "usage", "contentSha256", "blob"],
]);
/** Members whose content is of other programs, so that all of it is text. */
const foreign: ReadonlySet<string> = new Set(["arguments", "details", "data"]);
const maxDepth = 60;

/** The texts of an entry, in the order in which it holds them. Iterative: JSON may be deep. */
export function* entryTexts(entry: PageEntry): Generator<string, void, undefined> {
  if (entry.type === "unknown") {
    yield entry.raw;
    return;
  }
  const stack: Part[] = [{ value: entry, depth: 0, isForeign: false }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, depth, isForeign } = next;
    if (typeof value === "string") yield value;
    else if (typeof value === "number" && isForeign) yield String(value);
    if (depth > maxDepth) continue;
    const inner = depth + 1;
    // Pushed in reverse, so that the first member is looked at first.
    if (Array.isArray(value)) {
      for (let at = value.length - 1; at >= 0; at--)
        stack.push({ value: value[at], depth: inner, isForeign });
    } else if (isRecord(value)) {
      for (const name of Object.keys(value).reverse()) {
        if (!isForeign && skipped.has(name)) continue;
        stack.push({ value: value[name], depth: inner, isForeign: isForeign || foreign.has(name) });
      }
    }
  }
}

interface Part {
  readonly value: unknown;
  readonly depth: number;
  readonly isForeign: boolean;
}

/** Whether a text of the entry contains the words, in any case. */
function entryContains(entry: PageEntry, wanted: RegExp): boolean {
  for (const text of entryTexts(entry)) if (wanted.test(text)) return true;
  return false;
}

/** The pattern of a search: the literal text, in any case. Undefined for an empty one. */
export function searchPattern(words: string, flags = "iu"): RegExp | undefined {
  const trimmed = words.trim();
  if (trimmed === "") return undefined;
  return new RegExp(trimmed.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"), flags);
}

/**
 * Searches entries in slices of a few milliseconds.
 *
 * @returns the ids of the entries that contain the words, in the given order
 */
export async function searchEntries(
  entries: readonly PageEntry[],
  words: string,
  { pause, signal, sliceMs = 12 }: SearchOptions,
): Promise<readonly string[]> {
  const wanted = searchPattern(words);
  if (wanted === undefined) return [];
  const found: string[] = [];
  let until = performance.now() + sliceMs;
  for (const entry of entries) {
    if (entryContains(entry, wanted)) found.push(entry.id);
    if (performance.now() < until) continue;
    await pause();
    if (signal.aborted) return found;
    until = performance.now() + sliceMs;
  }
  return found;
}

/** Options of {@link searchEntries}. */
export interface SearchOptions {
  /** Lets the page handle events. */
  pause(): Promise<void>;
  readonly signal: AbortSignal;
  readonly sliceMs?: number;
}
