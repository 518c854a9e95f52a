import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  calculateContextTokens,
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  findCutPoint as piCutPoint,
  shouldCompact as piShouldCompact,
} from "@mariozechner/pi-coding-agent";
import fc from "fast-check";
import { type ContextItem, type ContextMessage, contextFrom, parseSession } from "sessile";
import {
  contextTokens,
  findCutPoint,
  planCompaction,
  prompts,
  rollingSummary,
  shouldCompact,
} from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/entries.mjs";
import {
  type Branch,
  branchAt,
  branchOf,
  conversation,
  conversationWithAsides,
  estimateAsPi,
  fileLists,
} from "./branches.js";
import { asPi } from "./compare.js";
import { computeFileLists, estimateContextTokens, type PiEntry, plain, prepareCompaction } from "./pi.js";
import { type Step, script } from "./scripts.js";

const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures");
const large = join(fixtures, "pi/large-session.v1.jsonl");

/** So large that nothing is cut to fit. */
const window = 1_000_000;

/** Where pi begins to look for a cut: the first entry that the latest compaction kept. */
function boundary(path: readonly PiEntry[]): number {
  const at = path.findLastIndex(({ type }) => type === "compaction");
  const latest = path[at];
  if (latest?.type !== "compaction") return 0;
  const kept = path.findIndex(({ id }) => id === latest.firstKeptEntryId);
  return kept >= 0 ? kept : at + 1;
}

/** The path's index of an item of the context, and back over what pi takes along with it: all but messages and compactions. */
function placeOf(path: readonly PiEntry[], item: ContextItem | undefined) {
  const start = boundary(path);
  const own = path.findIndex(({ id }) => id === item?.entryId);
  let at = own < 0 ? start : own;
  while (at > start && path[at - 1]?.type !== "message" && path[at - 1]?.type !== "compaction") at--;
  return { own, at, taken: path.slice(at, own) };
}

const isAside = ({ type }: PiEntry) => type === "custom_message" || type === "branch_summary";

/** What pi does not count in its walk costs nothing. */
const withoutAsides = (branch: Branch) => {
  const asides = new Set(branch.path.filter(isAside).map(({ id }) => id));
  const counted = new Map(branch.context.items.map(({ entryId, message }) => [message, asides.has(entryId)]));
  return (message: ContextMessage) =>
    counted.get(message) ? 0 : estimateTokens(message as Parameters<typeof estimateTokens>[0]);
};

/** Whether nothing behind the point where the budget is reached may begin a context: pi takes the first candidate then. */
function fallsBack({ context }: Branch, keepFrom: number, keepTokens: number, estimate: Estimate): boolean {
  const kept = context.items.slice(keepFrom).map(({ message }) => message);
  const results = kept.slice(kept.findLastIndex(({ role }) => role !== "toolResult") + 1);
  return sum(results, estimate) >= keepTokens;
}

type Estimate = (message: ContextMessage) => number;
const sum = (messages: readonly ContextMessage[], estimate: Estimate) =>
  messages.reduce((total, message) => total + estimate(message), 0);

/** Holds both cut points of a branch against each other. */
function compareCuts(branch: Branch, keepTokens: number): void {
  const { path, context } = branch;
  const estimate = withoutAsides(branch);
  const pi = piCutPoint(path, boundary(path), path.length, keepTokens);
  const { keepFrom, turnStart } = findCutPoint(context.items, { keepTokens, estimate });
  if (fallsBack(branch, keepFrom, keepTokens, estimate)) return;
  if (context.items[keepFrom]?.message.role === "toolResult") {
    // Nothing may begin a context.
    expect(pi).toEqual({ firstKeptEntryIndex: boundary(path), turnStartIndex: -1, isSplitTurn: false });
    return;
  }
  const { own, at, taken } = placeOf(path, context.items[keepFrom]);
  expect(pi.firstKeptEntryIndex).toBe(at);
  const startsTurn =
    turnStart === undefined && own >= 0 && context.items[keepFrom]?.message.role !== "assistant";
  // Differences that compaction-differences.test.ts shows.
  if (taken.some(isAside) || (startsTurn && taken.length > 0)) return;
  if (path.some((entry) => entry.type === "message" && entry.message.role === "custom")) return;
  const start = turnStart === undefined ? undefined : placeOf(path, context.items[turnStart]).own;
  const begun = pi.isSplitTurn && pi.turnStartIndex < pi.firstKeptEntryIndex ? pi.turnStartIndex : undefined;
  expect(begun).toBe(start);
}

/** Holds both plans of a branch against each other. */
function comparePlans(branch: Branch, keepRecentTokens: number): void {
  const { path, context } = branch;
  const settings = { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens };
  const pi = prepareCompaction(path, settings);
  const strategy = rollingSummary({ keepRecentTokens });
  const plan = planCompaction(context, { strategy, window, estimate: estimateAsPi });
  if (pi === undefined) return;
  const { keepFrom } = findCutPoint(context.items, { keepTokens: keepRecentTokens, estimate: estimateAsPi });
  if (fallsBack(branch, keepFrom, keepRecentTokens, estimateAsPi)) return;
  if (plan === undefined) {
    expect([...pi.messagesToSummarize, ...pi.turnPrefixMessages]).toEqual([]);
    return;
  }
  const { at, taken } = placeOf(path, context.items[plan.keepFrom]);
  expect(pi.firstKeptEntryId).toBe(path[at]?.id);
  expect(pi.previousSummary).toBe(plan.parts.find(({ previous }) => previous !== undefined)?.previous);
  expect(pi.tokensBefore).toBe(plan.tokensBefore);
  const of = (prompt: object) =>
    plan.parts.flatMap((part) =>
      part.prompt === prompt ? part.items.map(({ message }) => asPi(message)) : [],
    );
  const [history, prefix] = [of(prompts.checkpoint), of(prompts.turnPrefix)];
  const both = [...pi.messagesToSummarize, ...pi.turnPrefixMessages];
  expect(plain(both)).toEqual(plain([...history, ...prefix]));
  const isSettingsFirst = taken.length > 0 && context.items[plan.keepFrom]?.message.role !== "assistant";
  if (!isSettingsFirst) expect(plain(pi.turnPrefixMessages)).toEqual(plain(prefix));
  const { readFiles, modifiedFiles } = fileLists(plan.files);
  expect(computeFileLists(pi.fileOps)).toEqual({ readFiles, modifiedFiles });
}

/** Whether the last count of a provider's stands before the latest compaction, which is a difference. */
function isCountStale({ context }: Branch): boolean {
  const messages = context.items.map(({ message }) => message) as Parameters<typeof estimateContextTokens>[0];
  const { lastUsageIndex } = estimateContextTokens(messages);
  return lastUsageIndex !== null && lastUsageIndex < context.usageSince;
}

/** An empty branch summary is in no context, and pi begins one with it all the same: a difference. */
function withSummaries(steps: readonly Step[]): readonly Step[] {
  return steps.map((step) =>
    step.type === "branch_summary" ? { ...step, summary: `s${step.summary}` } : step,
  );
}

const budget = fc.integer({ min: 1, max: 400 });

describe("cut points", () => {
  test.each([
    ["conversations", conversation],
    ["conversations with custom messages and branch summaries", conversationWithAsides],
    ["sessions of any shape", script.map(withSummaries)],
  ])("%s: the same entry and the same turn", async (_, steps) => {
    await fc.assert(
      fc.asyncProperty(steps, budget, async (steps, keepTokens) => {
        compareCuts(await branchOf(steps), keepTokens);
      }),
      { numRuns: 500 },
    );
  });
});

describe("plans", () => {
  test("the same entry kept, the same messages and files summarised, the same count", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, budget, async (steps, keep) => {
        const branch = await branchOf(steps);
        if (!isCountStale(branch)) comparePlans(branch, keep);
      }),
      { numRuns: 500 },
    );
  });
});

describe("tokens", () => {
  test("a count of a provider's, and an estimate of what followed it", async () => {
    await fc.assert(
      fc.asyncProperty(conversationWithAsides, async (steps) => {
        const branch = await branchOf(steps);
        if (isCountStale(branch)) return;
        const messages = branch.context.items.map(({ message }) => message);
        const { tokens } = estimateContextTokens(messages as Parameters<typeof estimateContextTokens>[0]);
        expect(contextTokens(branch.context, { estimate: estimateAsPi })).toBe(tokens);
      }),
      { numRuns: 300 },
    );
  });

  test("one usage", () => {
    const count = fc.nat(1_000_000);
    const counts = { input: count, output: count, cacheRead: count, cacheWrite: count, totalTokens: count };
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    fc.assert(
      fc.property(fc.record(counts), (usage) => {
        const message: ContextMessage = {
          role: "assistant",
          content: [],
          provider: "p",
          model: "m",
          usage,
          timestamp: 0,
        };
        expect(contextTokens(contextFrom([message]))).toBe(calculateContextTokens({ ...usage, cost }));
      }),
    );
  });

  test("when a window is full", () => {
    const count = fc.nat(300_000);
    const near = fc.tuple(count, count, fc.integer({ min: -2, max: 2 }));
    fc.assert(
      fc.property(near, fc.boolean(), ([window, reserveTokens, off], enabled) => {
        const tokens = Math.max(0, window - reserveTokens + off);
        const settings = { ...DEFAULT_COMPACTION_SETTINGS, enabled, reserveTokens };
        expect(shouldCompact(tokens, window, { enabled, reserveTokens })).toBe(
          piShouldCompact(tokens, window, settings),
        );
      }),
    );
  });

  test("the same defaults", () => {
    const talk = Array.from(
      { length: 300 },
      () => ({ role: "user", content: "x".repeat(1600), timestamp: 1 }) as const,
    );
    const context = contextFrom(talk);
    const budget = { window: 100_000, tokens: 83_617, estimate: estimateAsPi };
    const [ours, theirs] = [rollingSummary(), rollingSummary(DEFAULT_COMPACTION_SETTINGS)];
    expect(ours.limit?.(100_000)).toBe(theirs.limit?.(100_000));
    expect(ours.shouldCompact(context, budget)).toBe(theirs.shouldCompact(context, budget));
    expect(ours.choose(context, budget)).toEqual(theirs.choose(context, budget));
  });
});

describe.skipIf(!existsSync(large))(
  "a real session (skipped where SESSILE_FIXTURES, by default ../shared/fixtures, has no pi/large-session.v1.jsonl)",
  () => {
    const parsed = () => {
      const session = parseSession(readFileSync(large));
      return session.tree.path(session.leafId).map(({ id }) => session.entry(id) as PiEntry);
    };

    test.each([1, 1000, 20_000, 60_000, 500_000])("cuts and plans with %d tokens kept", (keep) => {
      const entries = parsed();
      for (let end = entries.length; end > 0; end -= 97) {
        const branch = branchAt(entries.slice(0, end), entries[end - 1]?.id ?? null);
        compareCuts(branch, keep);
        comparePlans(branch, keep);
      }
    });

    test("plans after an earlier compaction", () => {
      const entries = parsed();
      const at = 600;
      const { parentId, timestamp } = entries[at] as PiEntry;
      const compaction = {
        type: "compaction",
        id: "c",
        parentId,
        timestamp,
        summary: "what was",
        firstKeptEntryId: entries[500]?.id,
        tokensBefore: 1,
        details: { readFiles: ["read.ts"], modifiedFiles: ["changed.ts"] },
      };
      const all = [
        ...entries.slice(0, at),
        compaction,
        { ...entries[at], parentId: "c" },
        ...entries.slice(at + 1),
      ];
      for (const keep of [1000, 20_000, 60_000]) {
        const branch = branchAt(all, entries.at(-1)?.id ?? null);
        compareCuts(branch, keep);
        comparePlans(branch, keep);
      }
    });
  },
);
