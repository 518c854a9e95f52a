import type { CompactionPlan, CompactOptions, PlanAnswer } from "sessile/compaction";
import type { Message } from "sessile/content";
import { describe, expect, test } from "vitest";
import { compactNow, gave, keepLast, scripted, sessionOf, told, user } from "./scripted.js";

const long = "x".repeat(400);
const talk: readonly Message[] = [user(long), told(long, ["1"]), gave("1", long), user("now this")];

describe("hooks", () => {
  const hooked = async (
    answer: PlanAnswer | undefined,
    model = scripted("SUMMARY"),
    more: Partial<CompactOptions> = {},
  ) => {
    const session = await sessionOf(talk);
    const result = await compactNow(session, { ...model, before: async () => answer, ...more });
    return { session, result, model };
  };

  test("are shown the plan and the context before, and the result after", async () => {
    const seen: unknown[] = [];
    const session = await sessionOf(talk);
    const context = await session.context();
    const before = (plan: CompactionPlan, of: unknown) => {
      seen.push([plan.keepFrom, plan.tokensBefore, of]);
      return undefined;
    };
    const result = await compactNow(session, {
      ...scripted("S"),
      before,
      after: async (of) => void seen.push(of),
    });
    expect(seen).toEqual([[3, 1208, context], result]);
  });

  test("bring context, or a prompt in the place of the strategy's", async () => {
    const { model } = await hooked({ context: ["THE PLAN"], prompt: "Write a poem." });
    expect(model.prompts[0]?.text).toContain(
      "<injected-context>\nTHE PLAN\n</injected-context>\n\nWrite a poem.",
    );
    expect(model.prompts[0]?.text).not.toContain("INSTRUCTIONS");
  });

  test("bring a summary: no model is asked, and the entry says where it is from", async () => {
    const { model, result } = await hooked({ summary: "MINE" });
    expect(model.prompts).toEqual([]);
    expect(result).toMatchObject({ status: "compacted", calls: 0, entry: { fromHook: true } });
    expect(result.status === "compacted" && result.entry.summary).toMatch(/^MINE\n\n<read-files>/);
  });

  test("a hook's summary that is too long is IRREDUCIBLE, and asked for once", async () => {
    const session = await sessionOf(talk);
    let asked = 0;
    const before = () => {
      asked++;
      return { summary: "y".repeat(2000) };
    };
    const error = { code: "IRREDUCIBLE", details: { reason: "longer" } };
    await expect(compactNow(session, { ...scripted("S"), before })).rejects.toMatchObject(error);
    expect([asked, session.tree.size]).toEqual([1, 4]);
  });

  test.each(["", " \n"])("a hook's summary that says nothing is refused: %j", async (summary) => {
    const session = await sessionOf(talk);
    const compacting = compactNow(session, { ...scripted("S"), before: () => ({ summary }) });
    await expect(compacting).rejects.toThrow(
      new TypeError("summary: expected a non-empty string, got an empty string"),
    );
    expect(session.tree.size).toBe(4);
  });

  test("cancel", async () => {
    const { session, result, model } = await hooked({ cancel: true });
    expect([result, model.prompts, session.tree.size]).toEqual([{ status: "cancelled" }, [], 4]);
  });

  test("after is not called where nothing was done", async () => {
    const after = () => {
      throw new Error("called");
    };
    expect((await hooked({ cancel: true }, scripted("S"), { after })).result.status).toBe("cancelled");
    expect(
      await compactNow(await sessionOf([user("a")]), { ...scripted("S"), strategy: keepLast(5), after }),
    ).toEqual({ status: "nothingToDo" });
  });
});
