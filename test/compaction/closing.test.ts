import fc from "fast-check";
import type { CoveredResource } from "sessile/compaction";
import { compact, rollingSummary } from "sessile/compaction";
import { estimateTextTokens } from "sessile/estimate";
import { memorySessionStore } from "sessile/session";
import { expect, test } from "vitest";
import type { FileLedger } from "../../src/compaction/file-ledger/details.js";
import { footerText, withFooter, withoutFooter } from "../../src/compaction/summary-footer.js";

const resources: fc.Arbitrary<readonly CoveredResource[]> = fc.array(
  fc.record({ resourceId: fc.uuid().map((id) => `res_${id}`), kind: fc.constant("image" as const) }),
  { maxLength: 3 },
);
const files: fc.Arbitrary<FileLedger> = fc
  .uniqueArray(fc.constantFrom("a.ts", "b/c.ts", "d e"), { maxLength: 3 })
  .map((paths) => ({
    files: paths.map((path, at) => ({ path, operations: [at % 2 === 0 ? "read" : "modified"], step: at })),
  }));
const text = fc.lorem({ maxCount: 5, mode: "sentences" });

test("what closes a summary stands on lines of its own, and comes off again", () => {
  fc.assert(
    fc.property(text, resources, files, (text, resources, files) => {
      const whole = withFooter(text, footerText({ resources, files }, Number.POSITIVE_INFINITY));
      expect(whole.startsWith(text)).toBe(true);
      expect(whole.slice(text.length)).toMatch(/^(\n\n|$)/);
      expect(withoutFooter(whole)).toBe(text);
    }),
  );
});

test("what closes a summary has room, and says how much it leaves out", () => {
  const files: FileLedger = {
    files: Array.from({ length: 220 }, (_, at) => ({
      path: `packages/some/long/directory/of/a/java/project/Class${at}.java`,
      operations: ["modified"],
      step: at,
    })),
  };
  for (const room of [0, 100, 1000, 5000]) {
    const text = footerText({ resources: [], files }, room);
    expect(estimateTextTokens(text)).toBeLessThanOrEqual(room);
    if (room > 0) expect(text).toMatch(/\(\d+ files touched earlier left out\)/);
  }
  expect(footerText({ resources: [], files }, 5000)).toContain("Class219.java");
});

test("an earlier summary is shown to the model without its lists, however often it is brought up to date", async () => {
  const session = await memorySessionStore().create({ cwd: "/work/project" });
  const earlier: string[] = [];
  for (let turn = 0; turn < 3; turn++) {
    await session.appendMessage({ role: "user", content: "x".repeat(20_000), timestamp: turn });
    const toolCall = {
      type: "toolCall",
      id: `c${turn}`,
      name: "edit",
      arguments: { path: `${turn}.ts` },
    } as const;
    await session.appendMessage({
      role: "assistant",
      content: [toolCall],
      provider: "p",
      model: "m",
      timestamp: turn,
    });
    await session.appendMessage({
      role: "toolResult",
      toolCallId: toolCall.id,
      toolName: "edit",
      content: [],
      isError: false,
      timestamp: turn,
    });
    await session.appendMessage({ role: "user", content: "go on", timestamp: turn });
    const done = await compact(session, {
      strategy: rollingSummary({ keepRecentTokens: 1 }),
      window: 100_000,
      generate: async ({ text }) => {
        earlier.push(text);
        return { text: `summary ${turn}` };
      },
    });
    expect(done).toMatchObject({
      entry: { summary: expect.stringContaining(`\n${turn}.ts\n</modified-files>`) },
    });
  }
  expect(earlier).toHaveLength(3);
  for (const text of earlier) expect(text).not.toContain("<modified-files>");
});
