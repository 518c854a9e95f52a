import { type Claim, type Row, type Target, timesTable } from "./support/claim.js";

const sides = { ours: "ring", peer: "array" };
const rounds = 1000;
const times = 3;

/** Both sides are given the same frames, which are there before; each that goes to a ring is measured, and may let others go. */
export const ring: Claim = {
  name: "ring",
  title:
    "Append a million frames, pieces of answers and every 25th with an image of 1 MB, beside array pushes",
  async measure(runner) {
    const row = (what: string, task: string, held: number) =>
      runner.compare(what, task, () => ({ rounds, held }), sides);
    const empty = await row(
      "a ring that holds none at first and all at the end, beside one array",
      "append",
      0,
    );
    const full = await row("a ring of 1,000 frames that is full, beside one array", "append", 1000);
    const fuller = await row("a ring of 100,000 frames that is full, beside one array", "append", 100_000);
    const small = await row("for comparison: 1,000 rings of 1,000 frames, beside 1,000 arrays", "fill", 0);
    const beside = (one: Omit<Row, "targets">): Target => ({
      text: `within ${times} times of a push`,
      met: one.ratio !== undefined && one.ratio.median >= 1 / times,
    });
    return timesTable("array", [
      { ...empty, targets: [beside(empty)] },
      { ...full, targets: [beside(full), asLongAs(full, "from empty", empty)] },
      { ...fuller, targets: [beside(fuller), asLongAs(fuller, "of 1,000", full)] },
      { ...small, targets: [] },
    ]);
  },
};

/** The target of an append that takes no longer, whatever the ring holds; by the pushes beside each, since rows are not run in turns. */
function asLongAs(row: Omit<Row, "targets">, other: string, before: Omit<Row, "targets">): Target {
  const part = (before.ratio?.median ?? Number.NaN) / (row.ratio?.median ?? Number.NaN);
  return { text: `at most 1.5 times as long as ${other}: ${part.toFixed(1)}`, met: part <= 1.5 };
}
