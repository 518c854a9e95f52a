import { type CompactionTrigger, pruneThenSummarize } from "sessile/compaction";
import { contextOf, type Message, type UserMessage } from "sessile/content";
import { describe, expect, test } from "vitest";
import { prunedOutput } from "../../src/compaction/prune-then-summarize.js";
import { attachment, compactNow, gave, saidIn, scripted, sessionOf, told, user } from "./scripted.js";

const empty = contextOf([]);

describe("when", () => {
  const asks = (tokens: number, window: number, options = {}) =>
    pruneThenSummarize(options).shouldCompact(empty, { tokens, window });

  test("a context exceeds the window without the answer, or the input limit without the reserve", () => {
    expect([asks(168_000, 200_000), asks(168_001, 200_000)]).toEqual([false, true]);
    const output = { output: 50_000 };
    expect([asks(150_000, 200_000, output), asks(150_001, 200_000, output)]).toEqual([false, true]);
    const input = { input: 180_000, output: 50_000 };
    expect([asks(160_000, 200_000, input), asks(160_001, 200_000, input)]).toEqual([false, true]);
    const reserved = { ...input, reserved: 10_000 };
    expect([asks(170_000, 200_000, reserved), asks(170_001, 200_000, reserved)]).toEqual([false, true]);
  });

  test("never where it is off, and half of a small window is left", () => {
    expect(asks(1_000_000, 200_000, { auto: false })).toBe(false);
    expect([asks(10_000, 20_000), asks(10_001, 20_000)]).toEqual([false, true]);
    expect(pruneThenSummarize().limit?.(200_000)).toBe(168_000);
    expect(pruneThenSummarize().limit?.(20_000)).toBe(10_000);
  });
});

const output = "x".repeat(1000);
const talk: readonly Message[] = [
  user("first"),
  told("", ["1", "2"]),
  gave("1", output),
  gave("2", output),
  user("second"),
  told("", ["3"]),
  gave("3", "short"),
  user("third"),
];
/** A window that the talk exceeds, and that it no longer does when its old output is cleared. */
const settings = { output: 500, skipTurns: 2, protectTokens: 0, minimumTokens: 100 };
const strategy = pruneThenSummarize(settings);
const run = (
  session: Awaited<ReturnType<typeof sessionOf>>,
  trigger: CompactionTrigger,
  window: number,
  model = scripted("SUMMARY"),
) => compactNow(session, { ...model, strategy, trigger, window });

describe("what", () => {
  test.each<CompactionTrigger>(["pre-turn", "mid-turn"])(
    "%s, old output is cleared and no model is asked where that is enough",
    async (trigger) => {
      const session = await sessionOf(talk);
      const model = scripted("SUMMARY");
      const result = await run(session, trigger, 1500, model);
      expect(result).toMatchObject({ status: "pruned", tokensBefore: 2021 });
      expect(model.prompts).toEqual([]);
      expect(result.status === "pruned" && result.entries.map(({ type }) => type)).toEqual([
        "context_edit",
        "context_edit",
      ]);
      expect((await saidIn(session)).filter((line) => line.includes(prunedOutput))).toHaveLength(2);
      const kept = session.tree.path(session.leafId)[2]?.id as string;
      expect(JSON.stringify(await session.entry(kept))).toContain(output);
    },
  );

  test("all is summarised where that is not enough, with the output cleared; the newest message of the user stays", async () => {
    const session = await sessionOf([...talk, told("y".repeat(2000)), user("fourth")]);
    const model = scripted("SUMMARY");
    expect(await run(session, "pre-turn", 1500, model)).toMatchObject({ status: "compacted", calls: 1 });
    expect(model.prompts[0]?.text).toContain(prunedOutput);
    expect(model.prompts[0]?.text).not.toContain("xxxx");
    expect(model.prompts[0]?.text).toContain("## Relevant files / directories");
    expect((await saidIn(session)).slice(1)).toEqual(["user: fourth"]);
  });

  test.each<CompactionTrigger>(["manual", "overflow"])(
    "%s, all is summarised though clearing were enough",
    async (trigger) => {
      const session = await sessionOf(talk);
      expect(await run(session, trigger, 1500)).toMatchObject({ status: "compacted" });
      expect((await saidIn(session)).slice(1)).toEqual(["user: third"]);
    },
  );

  test("nothing to clear: a summary", async () => {
    const session = await sessionOf([user("a"), told("y".repeat(2000)), user("b")]);
    expect(await run(session, "pre-turn", 1500)).toMatchObject({ status: "compacted" });
  });

  test("what stays out of a prune is passed on: protected tools", async () => {
    const careful = pruneThenSummarize({ ...settings, protectedTools: ["read"] });
    const made = careful.choose(contextOf(talk), { window: 1500, tokens: 2021, trigger: "pre-turn" });
    expect(made?.edits).toEqual([]);
    expect(made?.parts).toHaveLength(1);
  });
});

describe("after an overflow", () => {
  const last: UserMessage = {
    role: "user",
    content: [
      { type: "text", text: "look at these" },
      { type: "image", data: "A".repeat(4000), mimeType: "image/png" },
      { type: "text", text: "[image a.png]", resource: attachment },
    ],
    timestamp: 1,
  };
  const shown = async (trigger: CompactionTrigger) => {
    const session = await sessionOf([user("a"), told("y".repeat(2000)), last]);
    await run(session, trigger, 1500);
    return (await session.context()).items.at(-1)?.message;
  };

  test("the last message of the user stands again as text alone", async () => {
    expect(await shown("overflow")).toEqual({
      ...last,
      content: [
        { type: "text", text: "look at these" },
        { type: "text", text: "[image] (left out: the request was too large)" },
        { type: "text", text: "[image] (left out: the request was too large)" },
      ],
    });
  });

  test("otherwise it stays as it was", async () => {
    expect(await shown("manual")).toEqual(last);
    const made = strategy.choose(
      contextOf([user("a"), { ...last, content: [{ type: "text", text: "only text" }] }]),
      { window: 1500, tokens: 5, trigger: "overflow" },
    );
    expect(made?.edits).toEqual([]);
  });
});
