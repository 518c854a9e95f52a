import fc from "fast-check";
import { buildSessionContext, parseSession, type SessionEntry, toolPairs } from "sessile";
import type { InteropFinding, WriteSource } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { editedPath } from "../../src/agents/edited-path.js";
import { type WriteStep, writeSteps } from "../../src/agents/shared/write-steps.js";
import { conversation, pathTo } from "../arbitraries/conversations.js";
import { sessionOf } from "../arbitraries/entries.js";
import { all, shownSteps, sourceEntries } from "./support/written-steps.js";

function sourceOf(path: readonly SessionEntry[]): WriteSource & { readonly findings: InteropFinding[] } {
  const findings: InteropFinding[] = [];
  return {
    header: { type: "session", id: "s", timestamp: "", cwd: "/" },
    ...sourceEntries(path),
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
async function written(steps: readonly WriteStep[]): Promise<Shown> {
  const { compaction, shown: last } = await shownSteps(steps);
  const messages = last.flatMap((step): Shown => {
    if (step.kind === "other" || step.kind === "compaction") return [];
    if (step.kind === "user") return [[step.entryId, "user"] as const];
    const results = step.results.map(({ entryId }) => [entryId, "toolResult"] as const);
    return [[step.entryId, "assistant"] as const, ...results.filter(([id]) => id !== step.entryId)];
  });
  if (compaction === undefined || compaction.summary === "") return messages;
  return [[compaction.entryId, "summary"], ...messages];
}

async function expectOnce({
  entries,
  leafId,
}: {
  entries: readonly SessionEntry[];
  leafId: string | null;
}): Promise<void> {
  const path = editedPath(pathTo(entries, leafId) as readonly SessionEntry[]).path;
  const steps = await written(await all(writeSteps(sourceOf(path))));
  const expected = shown(entries, leafId);
  const inOrder = (list: Shown) => list.filter(([, role]) => role !== "toolResult");
  expect(inOrder(steps)).toEqual(inOrder(expected));
  const ids = new Set(steps.map(([id]) => id));
  expect(expected.filter(([id]) => !ids.has(id))).toEqual([]);
  expect(ids.size).toBe(steps.length);
}

describe("stepsOf", () => {
  it("has each message of a context once, results behind their calls", async () => {
    await fc.assert(
      fc.asyncProperty(conversation(16), (session) =>
        expectOnce(session as Parameters<typeof expectOnce>[0]),
      ),
      { numRuns: 100 },
    );
  });

  it("has a result that the path has before its call, and the context behind it", async () => {
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
    await expectOnce({ entries, leafId: "x" });
    // Without the compaction the result has no call.
    const [step] = await all(writeSteps(sourceOf(entries.slice(0, 2))));
    expect(step).toMatchObject({ kind: "reply", results: [{ interrupted: true }] });
  });

  it("has every member of a message, and names that the agent accepts", async () => {
    const place = (id: string, parentId: string | null, second: number) => ({
      ...{ id, parentId, timestamp: new Date(second * 1000).toISOString() },
    });
    const text = (value: string) => ({ type: "text", text: value });
    const image = { type: "image", data: "AA==", mimeType: "image/png" };
    const call = (id: string, name: string) => ({ type: "toolCall", id, name, arguments: {} });
    const reply = {
      role: "assistant",
      content: [call("c.1", "fs/read"), call("c2", "")],
      provider: "p",
      model: "m",
    };
    const result = {
      role: "toolResult",
      toolCallId: "c.1",
      toolName: "fs/read",
      isError: true,
      details: { a: 1 },
    };
    const entries = [
      { type: "message", ...place("u", null, 1), message: { role: "user", content: "hi", name: "Ann" } },
      { type: "message", ...place("v", "u", 2), message: { role: "user", content: [image], name: "Ann" } },
      { type: "branch_summary", ...place("b", "v", 3), summary: "They tried.", fromId: "u" },
      { type: "custom_message", ...place("n", "b", 4), customType: "acme", content: "note", display: false },
      { type: "message", ...place("a", "n", 5), message: reply },
      { type: "message", ...place("r", "a", 6), message: { ...result, content: [text("no")] } },
      { type: "model_change", ...place("m", "r", 7), provider: "p", modelId: "m2" },
      { type: "branch_summary", ...place("e", "m", 8), summary: "", fromId: "u" },
    ] as unknown as readonly SessionEntry[];
    const source = sourceOf(entries);
    const [user, picture, branch, note, asked, other, ...more] = await all(writeSteps(source));
    expect(more).toEqual([]);
    expect(user).toEqual({
      kind: "user",
      entryId: "u",
      time: 1000,
      content: [text("[Ann]: hi")],
      display: true,
    });
    expect(picture).toMatchObject({ content: [text("[Ann]:"), image] });
    expect(branch).toEqual({
      ...{ kind: "user", entryId: "b", time: 3000, customType: "branch_summary", display: true },
      content: [text(expect.stringContaining("They tried.") as never)],
    });
    expect(note).toEqual({
      ...{ kind: "user", entryId: "n", time: 4000, customType: "acme", display: false },
      content: [text("note")],
    });
    const [one, two] = asked?.kind === "reply" ? asked.message.content : [];
    expect([one, two]).toMatchObject([{ name: "fs_read" }, { id: "c2", name: "unnamed" }]);
    const callId = one?.type === "toolCall" ? one.id : "";
    expect(callId).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(asked).toMatchObject({ kind: "reply", entryId: "a", time: 5000 });
    expect(asked?.kind === "reply" && asked.results).toEqual([
      {
        ...{ entryId: "r", time: 6000, callId, toolName: "fs_read", isError: true, details: { a: 1 } },
        content: [text("no")],
      },
      {
        ...{ entryId: "a", time: 5000, callId: "c2", toolName: "unnamed", isError: true, interrupted: true },
        content: [text(expect.stringContaining("interrupted") as never)],
      },
    ]);
    expect(other).toMatchObject({ kind: "other", entryId: "m", entry: { modelId: "m2" } });
    expect(source.findings.map(({ code, entryId, text: found }) => [code, entryId, found])).toEqual([
      ["callId", "a", `call c.1 has the id ${callId}`],
      ["toolName", "a", "tool fs/read has the name fs_read"],
      ["toolName", "a", "tool  has the name unnamed"],
      ["interrupted", "a", "call c2 has no result"],
    ]);
  });

  it("repeats what many compactions keep for the last ones alone", async () => {
    const entries: SessionEntry[] = [];
    for (let at = 0; at < 200; at++) {
      const place = { parentId: entries.at(-1)?.id ?? null, timestamp: new Date(0).toISOString() };
      const message = { role: "user", content: "x", timestamp: 0 } as const;
      entries.push({ type: "message", id: `q${at}`, ...place, message });
      const kept = { summary: "s", firstKeptEntryId: "q0", tokensBefore: 0 };
      entries.push({ type: "compaction", id: `c${at}`, ...place, parentId: `q${at}`, ...kept });
    }
    const source = sourceOf(entries);
    const keptBy = async (steps: AsyncIterable<WriteStep>) => {
      const compactions = (await all(steps)).flatMap((step) => (step.kind === "compaction" ? [step] : []));
      return Promise.all(compactions.map(async ({ kept }) => (await all(kept)).length));
    };
    const sizes = await keptBy(writeSteps(source));
    expect(sizes.slice(-2)).toEqual([199, 200]);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2_000);
    expect(source.findings).toMatchObject([{ code: "entry", entryId: "c0" }]);
    const few = await keptBy(writeSteps(sourceOf(entries.slice(0, 40))));
    expect(few.every((size) => size > 0)).toBe(true);
    await expectOnce({ entries, leafId: "c199" });
  });
});
