import type { AnyEntry } from "../../arbitraries/entries.js";

/** A tree by looking through all entries at every question: slow, and hard to get wrong. */
export interface NaiveTree {
  /** Those that count: of two with one id the first. */
  readonly entries: readonly AnyEntry[];
  /** The parent of each id, after orphans got the place of their parent, and what closes a cycle became a root. */
  readonly parentOf: ReadonlyMap<string, string | null>;
  readonly orphans: readonly string[];
  readonly cycles: readonly string[];
}

/** Entries whose parent comes before them are placed as they come; the others after all, in file order. */
export function naiveTree(all: readonly AnyEntry[]): NaiveTree {
  const entries = all.filter((entry, at) => all.findIndex(({ id }) => id === entry.id) === at);
  const parentOf = new Map<string, string | null>();
  const late: AnyEntry[] = [];
  for (const entry of entries) {
    const isThere = entry.parentId !== null && parentOf.has(entry.parentId);
    if (entry.parentId !== null && !isThere) late.push(entry);
    parentOf.set(entry.id, isThere ? entry.parentId : null);
  }
  const orphans: string[] = [];
  const cycles: string[] = [];
  for (const { id, parentId } of late) {
    if (parentId === null || !parentOf.has(parentId)) orphans.push(id);
    else if (naivePath(parentOf, parentId).includes(id)) cycles.push(id);
    else parentOf.set(id, parentId);
  }
  const missing = entries.filter(({ id }) => orphans.includes(id));
  for (const first of missing) {
    // An empty text is no id that entries may have in common.
    const others = missing.filter(({ parentId }) => parentId === first.parentId && parentId !== "");
    const group = others.length === 0 ? [first] : others;
    if (group[0] !== first) continue;
    const before = entries[entries.indexOf(first) - 1];
    const place = before?.type === "leaf" ? (parentOf.get(before.id) ?? null) : (before?.id ?? null);
    const isBelow = naivePath(parentOf, place).some((id) => group.some((one) => one.id === id));
    if (place !== null && !isBelow) for (const { id } of group) parentOf.set(id, place);
  }
  return { entries, parentOf, orphans, cycles };
}

/** From the root to an entry. */
export function naivePath(
  parentOf: ReadonlyMap<string, string | null>,
  id: string | null,
): readonly string[] {
  const path: string[] = [];
  for (let at = id; at !== null; at = parentOf.get(at) ?? null) path.unshift(at);
  return path;
}

/** The ids of the entries below one, or of the roots, in file order. */
export function naiveChildren(tree: NaiveTree, id: string | null): readonly string[] {
  return tree.entries.filter((entry) => tree.parentOf.get(entry.id) === id).map((entry) => entry.id);
}

/** Every id with its depth, each before its children. */
export function naiveWalk(tree: NaiveTree): readonly (readonly [id: string, depth: number])[] {
  const out: (readonly [string, number])[] = [];
  const waiting = naiveChildren(tree, null).map((id): readonly [string, number] => [id, 0]);
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [id, depth] = next;
    out.push(next);
    waiting.unshift(...naiveChildren(tree, id).map((child): readonly [string, number] => [child, depth + 1]));
  }
  return out;
}
