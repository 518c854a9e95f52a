/** The names that a mistyped one may mean. */

const maxShown = 3;

/** The nearest of some names: those with few other letters, or else those with a common word. */
function nearest(given: string, names: readonly string[]): readonly string[] {
  const most = Math.max(2, Math.floor(given.length / 4));
  const near = names
    .map((name) => ({ name, edits: distance(name, given) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits);
  if (near.length > 0) return near.slice(0, maxShown).map(({ name }) => name);
  const words = new Set(given.split("-").filter(({ length }) => length > 2));
  return names.filter((name) => name.split("-").some((word) => words.has(word))).slice(0, maxShown);
}

/** The end of a sentence: a question if there is a near name, else a stop. */
export function hintOf(given: string, names: readonly string[]): string {
  const near = nearest(given, names);
  return near.length === 0 ? "." : `; did you mean ${near.join(" or ")}?`;
}

/** The edit distance of two words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, change));
    }
    row = next;
  }
  return row[b.length] as number;
}
