/** Steps of a path in memory, for tests of writers. */

import type { SessionEntry } from "sessile";
import type { WriteSource } from "sessile/interop";
import type { WriteStep } from "../../../src/agents/shared/write-steps.js";

/** The entries of a source that are in memory. */
export function sourceEntries(path: readonly SessionEntry[]): Pick<WriteSource, "outline" | "entry"> {
  const byId = new Map(path.map((entry) => [entry.id, entry]));
  return { outline: path, entry: async (id) => byId.get(id) as SessionEntry };
}

/** All values of a stream. */
export async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of stream) values.push(value);
  return values;
}

/** The messages that the last compaction keeps, and the steps behind it. */
export async function shownSteps(steps: readonly WriteStep[]): Promise<{
  readonly compaction: (WriteStep & { readonly kind: "compaction" }) | undefined;
  readonly shown: readonly WriteStep[];
}> {
  const at = steps.findLastIndex(({ kind }) => kind === "compaction");
  const last = steps[at];
  const compaction = last?.kind === "compaction" ? last : undefined;
  const kept = compaction === undefined ? [] : await all(compaction.kept);
  return { compaction, shown: [...kept, ...steps.slice(at + 1)] };
}
