/** The history of a block: its writes on the path, and the write that brought each line of its text. */
import { type MemoryWriter, memoryEntry } from "./entries.js";
import { type MemorySession, readEntries, upwards } from "./path-state.js";
import { cleanText } from "./text.js";

/** A write of a block. */
export interface MemoryWrite {
  readonly entryId: string;
  /** ISO 8601. */
  readonly at: string;
  readonly by: MemoryWriter;
  /** The text after it. */
  readonly text: string;
  /**
   * The message that the text comes from: the newest user message before the write, or the entry that a
   * program named. null without one.
   */
  readonly messageId: string | null;
  /** The call of the model, and the message with it. */
  readonly call?: { readonly id: string; readonly entryId?: string };
}

/** A line of a block's present text, and the write that brought it. */
export interface MemoryFact extends Omit<MemoryWrite, "text"> {
  readonly text: string;
}

/** The history of a block on a path, oldest first. */
export interface MemoryHistory {
  readonly facts: readonly MemoryFact[];
  readonly writes: readonly MemoryWrite[];
}

/** Reads the history of a label on the path to a leaf. */
export async function blockHistory(
  session: MemorySession,
  label: string,
  leafId: string | null,
): Promise<MemoryHistory> {
  const path = Array.from(upwards(await session.tree(), leafId)).reverse();
  const custom = path.filter(({ type }) => type === "custom").map(({ id }) => id);
  const bodies = await readEntries(session, custom);
  const readBody = new Map(custom.map((id, at) => [id, bodies[at]]));
  const writes: MemoryWrite[] = [];
  let userId: string | null = null;
  for (const { id, role } of path) {
    if (role === "user") userId = id;
    const body = readBody.get(id);
    const data = body && memoryEntry.read(body);
    if (body === undefined || data?.label !== label) continue;
    const { text, by, from, call } = data;
    const origin = { at: body.timestamp, by, messageId: from ?? userId };
    writes.push({ entryId: id, ...origin, text: cleanText(text), ...(call === undefined ? {} : { call }) });
  }
  return { facts: blockFacts(writes), writes };
}

/** Follows each line of the last text back to the write that brought it. */
function blockFacts(writes: readonly MemoryWrite[]): readonly MemoryFact[] {
  let facts: readonly MemoryFact[] = [];
  for (const write of writes) {
    // A line that was there before is the same fact, at any position; equal lines in their order.
    const known = new Map<string, MemoryFact[]>();
    for (const fact of facts) {
      const same = known.get(fact.text);
      if (same === undefined) known.set(fact.text, [fact]);
      else same.push(fact);
    }
    facts = write.text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => known.get(line)?.shift() ?? { ...write, text: line });
  }
  return facts;
}
