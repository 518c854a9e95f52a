import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { type Context, type Message, memorySessionStore, type Session, toolCalls, toolPairs } from "sessile";
import { type CompactionPlan, fileLedger } from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { estimateTextTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { previewItems } from "../../src/compaction/plan.js";
import { rounds } from "../support/rounds.js";
import { brokenPairs, type Compacted, estimateOf, newestUser, play } from "./play.js";
import { callStep, type Step, step } from "./sequences.js";

const sequences = rounds(500, 10_000);

/** Mostly short ones, which meet odd things soon; some long ones, in which compactions follow each other. */
const steps = fc.oneof(
  { weight: 24, arbitrary: fc.array(step, { minLength: 4, maxLength: 30 }) },
  { weight: 1, arbitrary: fc.array(step, { minLength: 20, maxLength: 60, size: "max" }) },
);

describe("any sequence of appends, branches, edits, pins, prunes and compactions", () => {
  // @covers R30
  test("leaves tool pairs whole, the newest user message and pins in context, and less than there was; or nothing written", async () => {
    const seen = new Map<string, number>();
    const note = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const session = await memorySessionStore().create({ cwd: "/w" });
        await play(session, steps, async (compacted) => void note(await holds(compacted)));
        await session.close();
      }),
      { numRuns: sequences, examples: [[littleToSummarize], [pruneSuffices]] },
    );
    // The rarest one that no example has comes up fifteen times in five hundred sequences.
    for (const what of ["compacted", "nothingToDo", "IRREDUCIBLE", "SUMMARY_FAILED", "pruned"])
      expect([...seen.keys()]).toContain(what);
  });
});

describe("the file ledger", () => {
  // @covers R132
  test("is what a replay of every call on the path gives, however often the context was compacted", async () => {
    const numRuns = rounds(300, 1_000);
    let compactions = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(callStep, { minLength: 6, maxLength: 40 }), async (steps) => {
        const session = await memorySessionStore().create({ cwd: "/w" });
        await play(session, steps, ({ result }) => {
          if (result?.status === "compacted") compactions++;
        });
        const { files } = fileLedger(await session.context(), { cwd: "/w" });
        const told = files.map(({ path, operations }) => `${path} ${[...operations].sort().join()}`);
        expect(told).toEqual(await replayed(session));
        await session.close();
      }),
      { numRuns },
    );
    expect(compactions).toBeGreaterThan(numRuns / 5);
  });
});

/** The strategy's first choice summarises less than a summary needs: the minimum has to be asked for. */
const littleToSummarize: readonly Step[] = [
  { do: "say", size: 99 },
  { do: "say", size: 27 },
  { do: "answer", size: 17, calls: [{ name: "read", file: 0 }], usage: false },
  { do: "result", size: 893, isError: false, which: 0 },
  { do: "say", size: 599 },
  { do: "answer", size: 801, calls: [], usage: false },
  {
    do: "compact",
    strategy: 4,
    window: 2723,
    model: ["good"],
    trigger: 0,
    reinject: false,
  },
];

/** A prune that suffices comes up a few times in a thousand sequences. */
const pruneSuffices: readonly Step[] = [
  { do: "answer", size: 0, calls: [{ name: "read", file: 0 }], usage: false },
  { do: "result", size: 19, isError: false, which: 0 },
  { do: "say", size: 0 },
  { do: "compact", strategy: 9, window: 60, model: ["good"], trigger: 1, reinject: false },
];

/** What the calls on the path did to files, one after the other. */
async function replayed(session: Session): Promise<readonly string[]> {
  const messages: Message[] = [];
  for (const { id } of (await session.tree()).path(session.leafId)) {
    const entry = await session.entry(id);
    if (entry?.type === "message") messages.push(entry.message);
  }
  const done = new Map<string, Set<string>>();
  for (const { call, result } of toolPairs(messages).pairs) {
    if (result?.isError === true) continue;
    const { path } = call.arguments as { readonly path: string };
    const deeds = done.get(path) ?? new Set();
    done.set(path, deeds.add(call.name === "read" ? "read" : "modified"));
  }
  return [...done].map(([path, deeds]) => `${path} ${[...deeds].sort().join()}`).sort();
}

/** What a context says, in order, whatever the ids and times of what was just written. */
function said(items: Context["items"]): readonly unknown[] {
  return items.map(({ message }) => {
    const {
      timestamp: _timestamp,
      details: _details,
      ...rest
    } = message as typeof message & { details?: unknown };
    return "customType" in rest ? rest.content : rest;
  });
}

/** Whether an item need not stay: it is neither pinned nor a user's newest, belongs to no pair, and is no compaction's own. */
function isFree(context: Context): (item: Context["items"][number]) => boolean {
  const newest = newestUser(context);
  const pinned = new Set(context.pins);
  return ({ entryId, origin, message }) => {
    if (origin === "summary" || origin === "system" || origin === "retained") return false;
    if (pinned.has(entryId) || entryId === newest || message.role === "system") return false;
    if (message.role === "custom" && message.customType === "sessile.initial_context") return false;
    return message.role !== "toolResult" && (message.role !== "assistant" || toolCalls(message).length === 0);
  };
}

/** Vitest's own comparison says more of what differs, and takes ten times as long where nothing does. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

/** Checks what is promised of a compaction, and says how it ended. */
async function holds(compacted: Compacted): Promise<string> {
  const { before, after, result, error, entriesBefore, leafBefore } = compacted;
  if (result === undefined || result.status === "nothingToDo" || result.status === "cancelled") {
    if (result === undefined && !(error instanceof SessileError)) throw error;
    expectSame(after, before);
    expect((await compacted.session.tree()).size).toBe(entriesBefore);
    expect(compacted.session.leafId).toBe(leafBefore);
    if (SessileError.is(error, "IRREDUCIBLE") && error.details.reason === "nothing-to-summarize") {
      const kept = estimateOf({ ...before, items: before.items.filter((item) => !isFree(before)(item)) });
      // After an overflow the result must be a tenth smaller.
      const most = estimateOf(before) * (compacted.trigger === "overflow" ? 0.9 : 1);
      const added = compacted.reinject ? Math.ceil(estimateTextTokens("the rules")) : 0;
      expect(most - kept).toBeLessThanOrEqual(256 + added);
    }
    return result?.status ?? (error as SessileError).code;
  }
  expect(brokenPairs(after)).toBeLessThanOrEqual(brokenPairs(before));
  const shown = new Set(after.items.map(({ entryId }) => entryId));
  const newest = newestUser(before);
  if (newest !== undefined) expect([newest, shown.has(newest)]).toEqual([newest, true]);
  const had = new Set(
    before.items.map(({ entryId, origin }) => (origin === "summary" || origin === "system" ? "" : entryId)),
  );
  const kept = before.pins.filter((pinned) => had.has(pinned));
  expectSame(
    kept.filter((pinned) => shown.has(pinned)),
    kept,
  );
  expect(estimateOf(after)).toBeLessThan(estimateOf(before));
  expect(estimateOf(after) + (compacted.plan?.overhead ?? 0)).toBe(result.tokensAfter);
  const summary = result.status === "compacted" ? result.entry.summary : undefined;
  expectSame(said(after.items), said(previewItems(before, compacted.plan as CompactionPlan, summary)));
  expect(after.model).toEqual(before.model);
  expect(after.usageSince).toBe(after.items.length);
  return result.status;
}
