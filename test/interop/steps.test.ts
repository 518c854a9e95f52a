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

describe("stepsOf", () => {
  it("has each message of a context once, results behind their calls", () => {
    fc.assert(
      fc.property(conversation(16), ({ entries, leafId }) => {
        const path = editedPath(pathTo(entries, leafId) as readonly SessionEntry[]).path;
        const steps = written(stepsOf(sourceOf(path)));
        const expected = shown(entries, leafId);
        const inOrder = (list: Shown) => list.filter(([, role]) => role !== "toolResult");
        expect(inOrder(steps)).toEqual(inOrder(expected));
        const ids = new Set(steps.map(([id]) => id));
        expect(expected.filter(([id]) => !ids.has(id))).toEqual([]);
        expect(ids.size).toBe(steps.length);
      }),
      { numRuns: 300 },
    );
  });
});
