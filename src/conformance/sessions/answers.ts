/** Appends whose answer was lost: their lines are stored, and the caller does not know. */

import type { Session, SessionEntry } from "../../session/index.js";
import { equal, rejects } from "../expect.js";
import { conformanceCase, type Harness, say } from "./harness.js";

const drafts = [say("one", "lost0001"), say("two", "lost0002")];

/**
 * The entries of an append, or undefined if its outcome is unknown. Any other code would mean that nothing
 * was written.
 */
async function unlessUnknown(
  act: () => Promise<readonly SessionEntry[]>,
  subject: string,
): Promise<readonly SessionEntry[] | undefined> {
  try {
    return await act();
  } catch (error) {
    await rejects(() => Promise.reject(error), "WRITER_POISONED", subject);
    return undefined;
  }
}

/** Sessions before the append: one without a line yet, and one with an entry. */
const beginnings: Readonly<Record<string, (harness: Harness) => Promise<Session>>> = {
  "the first append": (harness) => harness.create(),
  "a later append": (harness) => harness.start(),
};

const skipped = { skipped: "this storage has no answers to lose" };

export const answerCases = [
  conformanceCase(
    "an append whose answer is lost is acknowledged, or fails, and is stored once after a retry",
    async (harness) => {
      const { fixture } = harness;
      if (fixture.loseAnswer === undefined) return skipped;
      for (const [which, begin] of Object.entries(beginnings)) {
        const session = await begin(harness);
        const before = session.leafId === null ? [] : [session.leafId];
        await fixture.loseAnswer();
        const entries = await unlessUnknown(() => session.append(drafts), which);
        const again = await harness.open(session.id);
        const retried = await again.append(drafts);
        if (entries !== undefined) equal(retried, entries, `entries that a retry of ${which} gives`);
        // The handle may be poisoned; if it is not, its retry is idempotent too.
        const own = await unlessUnknown(() => session.append(drafts), `a retry of ${which} on its handle`);
        if (own !== undefined) equal(own, retried, `entries that a retry of ${which} on its handle gives`);
        const back = await harness.readBack(session.id);
        equal(back.ids, [...before, "lost0001", "lost0002"], `entries read back after ${which}`);
        equal(back.codes, [], `diagnostics after ${which}`);
        const [next] = await again.append([say("next")]);
        equal(next?.parentId, "lost0002", `parent of the next entry after ${which}`);
      }
      return undefined;
    },
  ),

  conformanceCase("an append without ids whose answer is lost is stored at most once", async (harness) => {
    const { fixture } = harness;
    if (fixture.loseAnswer === undefined) return skipped;
    for (const [which, begin] of Object.entries(beginnings)) {
      const session = await begin(harness);
      const before = session.leafId === null ? 0 : 1;
      await fixture.loseAnswer();
      const entries = await unlessUnknown(() => session.append([say("once")]), which);
      const back = await harness.readBack(session.id);
      equal(back.ids.length - before, 1, `new entries after ${which}, whose lines were committed`);
      if (entries !== undefined)
        equal(back.entries.slice(before), entries, `entries read back after ${which}`);
      equal(back.codes, [], `diagnostics after ${which}`);
    }
    return undefined;
  }),
];
