import fc from "fast-check";
import { buildSessionContext, memoryBlobStore, memorySessionStore, messageText, parseSession } from "sessile";
import { ingest } from "sessile/attachments";
import { usageCost } from "sessile/cost";
import type { ExportableSession } from "sessile/interop";
import { type AtifContent, type AtifTrajectory, toAtif } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { rounds } from "../../support/rounds.js";
import {
  anthropic,
  called,
  chain,
  compacted,
  google,
  replied,
  resulted,
  rich,
  said,
  words,
} from "../gemini-cli/written-session.js";
import { atifProblems } from "./schema.js";

const textOf = (content: AtifContent) =>
  typeof content === "string"
    ? content
    : content.map((part) => (part.type === "text" ? part.text : `<${part.type}>`)).join("\n");

/** The steps as rows in the order of a context: a message, its calls, their results. */
function rowsOf({ steps }: AtifTrajectory, from = 0): readonly string[] {
  return steps
    .slice(from)
    .flatMap(({ source, message, tool_calls = [], observation }) => [
      `${source}: ${textOf(message)}`,
      ...tool_calls.map(({ tool_call_id, function_name }) => `call ${tool_call_id} of ${function_name}`),
      ...(observation?.results ?? []).map(
        ({ source_call_id, content }) => `result ${source_call_id}: ${textOf(content)}`,
      ),
    ]);
}

const wavBytes = new TextEncoder().encode(
  "RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x44\xac\0\0\x88\x58\x01\0\x02\0\x10\0data\0\0\0\0",
);

describe("a trajectory", () => {
  it("has a step for each message, with calls, results, images and the ids of entries", async () => {
    const { trajectory, files, report } = await toAtif(rich);
    expect(atifProblems(trajectory)).toEqual([]);
    expect(trajectory).toMatchObject({
      schema_version: "ATIF-v1.8",
      session_id: rich.header?.id,
      agent: { name: "sessile", version: "unknown", model_name: "gemini-2.5-pro" },
      extra: { sessile: { cwd: "/srv/work", name: "Pixels" } },
    });
    expect(rowsOf(trajectory)).toEqual([
      "user: What is this?\n<image>",
      "agent: Let me look.",
      "call toolu_1 of look",
      "call toolu_2 of look",
      "result toolu_1: a picture\n<image>",
      "result toolu_2: no such file",
      "agent: A pixel.",
      "user: /etc/hosts: what is in it?",
      "agent: Both.",
      "call c3 of look",
      "call c4 of look",
      "result c3: first\nmore of it",
      "result c4: second",
      "agent: Hosts.",
      "user: <image>",
      "agent: Again a pixel.",
      "call c5 of look",
    ]);
    const [first, second] = trajectory.steps;
    expect(first).toMatchObject({
      step_id: 1,
      timestamp: "2026-11-20T09:00:00.000Z",
      extra: { sessile: { entry: "e1" } },
    });
    expect(second).toMatchObject({
      model_name: anthropic.model,
      metrics: { prompt_tokens: 100, completion_tokens: 25, cached_tokens: 40 },
      observation: {
        results: [
          { extra: { sessile: { entry: "e3" } } },
          { extra: { sessile: { entry: "e4", isError: true } } },
        ],
      },
    });
    expect(trajectory.steps[4]?.reasoning_content).toBe("I read it.");
    expect(files).toHaveLength(1);
    expect(files[0]?.path).toMatch(/^images\/[0-9a-f]{32}\.png$/);
    expect(JSON.stringify(first?.message)).toContain(files[0]?.path);
    expect(report).toMatchObject({ format: "atif", exact: false, findings: [] });
  });

  it("has costs by recorded usage, by the caller's prices and by published ones, and their sums", async () => {
    const usage = {
      input: 10.4,
      output: 5,
      cacheRead: 0,
      cacheWrite: 3,
      cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, total: 2 },
    };
    const paid = replied([words("paid")]);
    const source = chain([
      replied([words("published")]),
      { ...paid, message: { ...(paid as { message: object }).message, usage } } as typeof paid,
      replied([words("unknown")], { provider: "acme", model: "m" }),
    ]);
    const { trajectory } = await toAtif(source);
    const published = usageCost({ input: 60, output: 25, cacheRead: 40, cacheWrite: 0 }, google)?.total ?? 0;
    expect(published).toBeGreaterThan(0);
    expect(trajectory.steps.map(({ metrics }) => metrics?.cost_usd)).toEqual([published, 2, undefined]);
    expect(trajectory.steps[1]?.metrics).toMatchObject({
      prompt_tokens: 13,
      extra: { cache_write_tokens: 3 },
    });
    expect(trajectory.final_metrics).toMatchObject({
      total_prompt_tokens: 213,
      total_completion_tokens: 55,
      total_cached_tokens: 80,
      total_cost_usd: published + 2,
      total_steps: 3,
      extra: { sessile: { unpriced: 1 } },
    });
    const prices = [
      {
        model: "m",
        provider: "acme",
        input: 1,
        output: 1,
        cacheRead: 1,
        cacheWrite: 1,
        source: "me",
        asOf: "2026-11-23",
      },
    ];
    const own = await toAtif(source, { prices } as object);
    expect(own.trajectory.steps[2]?.metrics?.cost_usd).toBeCloseTo(125 / 1_000_000);
    expect(own.trajectory.final_metrics?.extra).toBe(undefined);
  });

  it("shows what a compaction kept once more, as copies", async () => {
    const { trajectory } = await toAtif(compacted);
    expect(atifProblems(trajectory)).toEqual([]);
    const at = trajectory.steps.findIndex(({ source }) => source === "system");
    expect(trajectory.steps[at]).toMatchObject({
      message: "They looked at a pixel.",
      extra: { sessile: { entry: "e7", compaction: { tokensBefore: 5000 } } },
    });
    const copies = trajectory.steps.filter(({ is_copied_context }) => is_copied_context === true);
    expect(copies.map(({ extra }) => extra?.sessile)).toMatchObject([
      { entry: "e1" },
      { entry: "e5" },
      { entry: "e6" },
    ]);
    for (const { metrics, llm_call_count } of copies)
      expect([metrics, llm_call_count]).toEqual([undefined, undefined]);
  });

  it("has media of its version as files, and describes others", async () => {
    const blobs = memoryBlobStore();
    const stored = await ingest({ bytes: wavBytes, name: "a.wav" }, { blobs });
    const sound = { ...stored, kind: "file", mediaType: "audio/wav" } as const;
    const text = await ingest({ bytes: new TextEncoder().encode("hello"), name: "a.txt" }, { blobs });
    const parts = [sound, text].map((resource) => ({ type: "text", text: "an attachment", resource }));
    const source = chain([said(parts)]);
    const newer = await toAtif(source, { blobs });
    const older = await toAtif(source, { blobs, version: "1.7" });
    expect(atifProblems(newer.trajectory, "1.8")).toEqual([]);
    expect(atifProblems(older.trajectory, "1.7")).toEqual([]);
    const without = await toAtif(source);
    expect(without.files).toEqual([]);
    expect(without.report.findings.map(({ code }) => code)).toContain("missing");
    expect(newer.files.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^audios\/[0-9a-f]{32}\.wav$/),
    ]);
    expect(older.files).toEqual([]);
    expect(older.report.findings.map(({ code }) => code)).toEqual(["described", "described"]);
    expect(newer.report.findings.map(({ code }) => code)).toEqual(["described"]);
  });

  it("embeds subagents, which results refer to, and names the agent of an import", async () => {
    const id = "0a1b2c3d-0000-4000-8000-000000000002";
    const child = chain([said("find it"), replied([words("found")])], id);
    const foreign = { v: 1, agent: "gemini", agentVersion: "0.61.0", files: [] };
    const source = chain([
      { type: "custom", customType: "sessile.foreign", data: foreign },
      replied([called("c1"), called("c2")]),
      resulted("c1", [words("found")]),
      resulted("c2", [words("lost")]),
      { type: "custom", customType: "sessile.subagent", data: { toolCallId: "c1", sessionId: id } },
      { type: "custom", customType: "sessile.subagent", data: { toolCallId: "c2", sessionId: "gone" } },
    ]);
    const { trajectory } = await toAtif(source, { children: [child] });
    expect(atifProblems(trajectory)).toEqual([]);
    expect(trajectory.agent).toMatchObject({ name: "gemini", version: "0.61.0" });
    expect(trajectory.subagent_trajectories?.map((each) => rowsOf(each))).toEqual([
      ["user: find it", "agent: found"],
    ]);
    const results = trajectory.steps[0]?.observation?.results;
    expect(results?.map((result) => result.subagent_trajectory_ref)).toEqual([
      [{ trajectory_id: id, session_id: id }],
      undefined,
    ]);
  });

  it("reports what it leaves out, and has a step for an empty session", async () => {
    const source = chain([
      replied([
        { type: "thinking", thinking: "", thinkingSignature: "x", redacted: true },
        { type: "opaque", data: {} },
        called("c1", [1]),
      ]),
      { type: "thinking_level_change", thinkingLevel: "high" },
      { type: "label", targetId: "e1", label: "here" },
    ]);
    const { trajectory, report } = await toAtif(source);
    expect(atifProblems(trajectory)).toEqual([]);
    expect(report.findings.map(({ code }) => code).sort()).toEqual([
      "entry",
      "entry",
      "entry",
      "opaque",
      "reasoning",
    ]);
    expect(trajectory.steps[0]?.tool_calls?.[0]?.arguments).toEqual({ input: [1] });
    const empty = await toAtif(chain([]));
    expect(atifProblems(empty.trajectory)).toEqual([]);
  });

  it("is of any source and leaf: an open session too", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/w" });
    await session.appendMessage({ role: "user", content: "one", timestamp: 0 });
    const first = session.leafId;
    await session.appendMessage({ role: "user", content: "two", timestamp: 0 });
    expect(rowsOf((await toAtif(session)).trajectory)).toEqual(["user: one", "user: two"]);
    const { trajectory, report } = await toAtif(session, { leafId: first });
    expect(rowsOf(trajectory)).toEqual(["user: one"]);
    expect(report.findings).toMatchObject([{ code: "branch" }]);
    await expect(toAtif(session, { version: "1.6" as "1.7" })).rejects.toThrow(/version/);
  });

  it("has every message, call and result of a context, in order, and is valid", async () => {
    const text = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom("\ud800", "a\u0000b", "\u{1f4ce}\n"));
    const block = fc.oneof(
      text.map(words),
      fc.constantFrom("c1", "c2", "").map((id) => called(id)),
      text.map((thinking) => ({ type: "thinking", thinking })),
    );
    const draft = fc.oneof(
      text.map((each) => said(each)),
      fc
        .uniqueArray(block, { minLength: 1, maxLength: 4, selector: (each) => ("id" in each ? each.id : {}) })
        .map((content) => replied(content)),
      fc
        .tuple(fc.constantFrom("c1", "c2", ""), text, fc.boolean())
        .map(([id, each, isError]) => resulted(id, [words(each)], isError)),
      fc
        .nat(3)
        .map(
          (kept) =>
            ({ type: "compaction", summary: "sum", firstKeptEntryId: `e${kept}`, tokensBefore: 1 }) as const,
        ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(draft, { minLength: 1, maxLength: 10 }),
        fc.constantFrom("1.7", "1.8"),
        async (drafts, version) => {
          const source = chain(drafts);
          const { trajectory } = await toAtif(source, { version });
          expect(atifProblems(trajectory, version)).toEqual([]);
          const from = trajectory.steps.findLastIndex(({ source: of }) => of === "system");
          const [actual, expected] = [
            shownBy(rowsOf(trajectory, Math.max(0, from))),
            shownBy(contextRows(source)),
          ];
          expect(actual.messages).toEqual(expected.messages);
          expect(actual.calls).toEqual(expected.calls);
          // A compaction may keep a call without its result, which the copy has all the same.
          for (const row of expected.results) {
            const at = actual.results.indexOf(row);
            expect(at).toBeGreaterThanOrEqual(0);
            actual.results.splice(at, 1);
          }
          if (from < 0) expect(actual.results).toEqual([]);
        },
      ),
      { numRuns: rounds(20, 3000) },
    );
  });
});

/** The rows of a context, results behind their reply; those without a call are left out. */
function contextRows({ header, entries, leafId }: ExportableSession): readonly string[] {
  const lines = [header, ...entries].map((each) => JSON.stringify(each)).join("\n");
  const { items } = buildSessionContext(parseSession(`${lines}\n`), leafId);
  const called = new Map<string, number>();
  return items.flatMap(({ message }): readonly string[] => {
    if (message.role === "compactionSummary") return [`system: ${message.summary}`];
    if (message.role === "toolResult") {
      const open = called.get(message.toolCallId) ?? 0;
      called.set(message.toolCallId, Math.max(0, open - 1));
      return open > 0 ? [`result: ${messageText(message)}`] : [];
    }
    if (message.role !== "assistant") return [`user: ${messageText(message)}`];
    const calls = message.content.filter((block) => block.type === "toolCall");
    for (const { id } of calls) called.set(id, (called.get(id) ?? 0) + 1);
    return [`agent: ${messageText(message)}`, ...calls.map(({ name }) => `call: ${name}`)];
  });
}

/** Rows by kind: ids may change, and results stand with their call. */
function shownBy(rows: readonly string[]) {
  const plain = rows.map((row) =>
    row
      .toWellFormed()
      .replace(/^call .* of look$/, "call: look")
      .replace(/^result (?:[^:]*): /s, "result: "),
  );
  const messages = plain.filter((row) => /^(?:user: |agent: |system: .)/s.test(row));
  return {
    messages,
    calls: plain.filter((row) => row.startsWith("call: ")),
    results: plain.filter((row) => row.startsWith("result: ")).sort(),
  };
}
