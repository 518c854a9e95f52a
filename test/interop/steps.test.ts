import fc from "fast-check";
import { toolPairs } from "sessile/content";
import { buildSessionContext, parseSession, type SessionEntry } from "sessile/session";
import { describe, expect, it } from "vitest";
import { editedPath } from "../../src/interop/edited-path.js";
import { stepsOf, type WriteStep } from "../../src/interop/shared/write-steps.js";
import type { InteropFinding, WriteSource } from "../../src/interop/types.js";
import { conversation, pathTo } from "../arbitraries/conversations.js";
import { sessionOf } from "../arbitraries/entries.js";

function sourceOf(path: readonly SessionEntry[]): WriteSource & { readonly findings: InteropFinding[] } {
  const findings: InteropFinding[] = [];
  return {
    header: { type: "session", id: "s", timestamp: "", cwd: "/" },
    path,
    leafId: path.at(-1)?.id ?? null,
    children: [],
    cwd: "/",
    now: () => 0,
    modelFor: () => undefined,
    media: async () => undefined,
    find: (finding) => findings.push(finding),
    findings,
  };
}

type Shown = readonly (readonly [entryId: string, role: string])[];

/** The messages of a context by their entries: without results that have no call, and what no other agent sees. */
function shown(entries: readonly SessionEntry[], leafId: string | null): Shown {
  const { items } = buildSessionContext(parseSession(sessionOf(entries).text), leafId);
  const orphans = new Set(toolPairs(items.map(({ message }) => message)).orphans);
  return items.flatMap(({ entryId, origin, message }, at) => {
    if (origin === "system" || message.role === "system" || orphans.has(at)) return [];
    if (message.role === "bashExecution" && message.excludeFromContext === true) return [];
    if (message.role === "compactionSummary" && message.summary === "") return [];
    return [[entryId, roles[message.role] ?? message.role] as const];
  });
}

const roles: Readonly<Record<string, string>> = {
  compactionSummary: "summary",
  custom: "user",
  bashExecution: "user",
  branchSummary: "user",
};

/** The same of steps: those behind the last compaction, and what it keeps. */
function written(steps: readonly WriteStep[]): Shown {
  const at = steps.findLastIndex(({ kind }) => kind === "compaction");
  const compaction = steps[at];
  const rest = steps.slice(at + 1);
  const head = compaction?.kind === "compaction" ? compaction.kept : [];
  const all = [...head, ...rest].flatMap((step): Shown => {
    if (step.kind === "other" || step.kind === "compaction") return [];
    if (step.kind === "user") return [[step.entryId, "user"] as const];
    const results = step.results.map(({ entryId }) => [entryId, "toolResult"] as const);
    return [[step.entryId, "assistant"] as const, ...results.filter(([id]) => id !== step.entryId)];
  });
  if (compaction?.kind !== "compaction" || compaction.summary === "") return all;
  return [[compaction.entryId, "summary"], ...all];
}

function expectOnce({ entries, leafId }: { entries: readonly SessionEntry[]; leafId: string | null }): void {
  const path = editedPath(pathTo(entries, leafId) as readonly SessionEntry[]).path;
  const steps = written(stepsOf(sourceOf(path)));
  const expected = shown(entries, leafId);
  const inOrder = (list: Shown) => list.filter(([, role]) => role !== "toolResult");
  expect(inOrder(steps)).toEqual(inOrder(expected));
  const ids = new Set(steps.map(([id]) => id));
  expect(expected.filter(([id]) => !ids.has(id))).toEqual([]);
  expect(ids.size).toBe(steps.length);
}

describe("stepsOf", () => {
  it("has each message of a context once, results behind their calls", () => {
    fc.assert(
      fc.property(conversation(16), (session) => expectOnce(session as Parameters<typeof expectOnce>[0])),
      { numRuns: 300 },
    );
  });

  it("has a result that the path has before its call, and the context behind it", () => {
    const result = {
      role: "toolResult",
      toolCallId: "c",
      toolName: "t",
      content: [],
      isError: false,
    } as const;
    const call = { type: "toolCall", id: "c", name: "t", arguments: {} } as const;
    const reply = { role: "assistant", content: [call], provider: "p", model: "m" } as const;
    const place = { timestamp: new Date(0).toISOString() };
    const entries: readonly SessionEntry[] = [
      { type: "message", id: "r", parentId: null, ...place, message: { ...result, timestamp: 0 } },
      { type: "message", id: "a", parentId: "r", ...place, message: { ...reply, timestamp: 0 } },
      {
        ...{ type: "compaction", id: "x", parentId: "a", ...place, summary: "s", tokensBefore: 0 },
        ...{ firstKeptEntryId: "r", retain: ["a"] },
      },
    ];
    expectOnce({ entries, leafId: "x" });
    // Without the compaction the result has no call.
    const [step] = stepsOf(sourceOf(entries.slice(0, 2)));
    expect(step).toMatchObject({ kind: "reply", results: [{ interrupted: true }] });
  });

  it("repeats what many compactions keep for the last ones alone", () => {
    const entries: SessionEntry[] = [];
    for (let at = 0; at < 200; at++) {
      const place = { parentId: entries.at(-1)?.id ?? null, timestamp: new Date(0).toISOString() };
      const message = { role: "user", content: "x", timestamp: 0 } as const;
      entries.push({ type: "message", id: `q${at}`, ...place, message });
      const kept = { summary: "s", firstKeptEntryId: "q0", tokensBefore: 0 };
      entries.push({ type: "compaction", id: `c${at}`, ...place, parentId: `q${at}`, ...kept });
    }
    const source = sourceOf(entries);
    const sizes = stepsOf(source).flatMap((step) => (step.kind === "compaction" ? [step.kept.length] : []));
    expect(sizes.slice(-2)).toEqual([199, 200]);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2_000);
    expect(source.findings).toMatchObject([{ code: "entry", entryId: "c0" }]);
    expect(
      stepsOf(sourceOf(entries.slice(0, 40))).every(
        (step) => step.kind !== "compaction" || step.kept.length > 0,
      ),
    ).toBe(true);
    expectOnce({ entries, leafId: "c199" });
  });
});
