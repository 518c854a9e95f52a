import fc from "fast-check";
import {
  assistantMessage,
  memorySessionStore,
  type Session,
  toolResult,
  type Usage,
  userMessage,
} from "sessile";
import { type ModelPrice, sessionCost, usageCost } from "sessile/cost";
import { expect, test } from "vitest";

const tokens: Usage = { input: 1_000, output: 200, cacheRead: 5_000, cacheWrite: 300 };
const model = "claude-opus-5-5";
const reply = (usage: Usage, name = model) =>
  assistantMessage({ provider: "anthropic", model: name, usage }, "ok");
const price = usageCost(tokens, model)?.total ?? Number.NaN;

async function opened(): Promise<Session> {
  return memorySessionStore().create({ cwd: "/p" });
}

test("sums assistant messages, usage entries and what a compaction's model cost", async () => {
  await using session = await opened();
  const first = await session.appendMessage(userMessage("a"));
  await session.appendMessage(reply(tokens));
  await session.append([{ type: "usage", kind: "title", provider: "anthropic", model, usage: tokens }]);
  await session.append([
    { type: "compaction", summary: "s", firstKeptEntryId: first.id, tokensBefore: 1, usage: tokens },
  ]);
  await session.append([
    {
      type: "compaction",
      ...{ summary: "s", firstKeptEntryId: first.id, tokensBefore: 1, usage: tokens },
      model: { provider: "anthropic", modelId: "claude-haiku-4-5" },
    },
  ]);
  const { cost, summaries, models, unknown } = await sessionCost(session);
  const small = usageCost(tokens, "claude-haiku-4-5")?.total ?? Number.NaN;
  expect(cost.total).toBeCloseTo(3 * price + small, 12);
  expect(summaries.total).toBeCloseTo(price + small, 12);
  expect(models.map(({ model: name, calls, tokens: all }) => [name, calls, all])).toEqual([
    [model, 3, 3 * 6_500],
    ["claude-haiku-4-5", 1, 6_500],
  ]);
  expect(unknown).toEqual([]);
});

test("counts all branches, or one path; a branch's summary by the model in force there", async () => {
  await using session = await opened();
  const root = await session.appendMessage(userMessage("a"));
  await session.append([{ type: "model_change", provider: "anthropic", modelId: model }]);
  const left = await session.appendMessage(reply(tokens));
  await session.branch(root.id);
  const right = await session.appendMessage(reply(tokens));
  const summary = await session.branchWithSummary(left.id, "s", { usage: tokens });
  expect((await sessionCost(session)).cost.total).toBeCloseTo(3 * price, 12);
  expect((await sessionCost(session, { leafId: right.id })).cost.total).toBeCloseTo(price, 12);
  const path = await sessionCost(session, { leafId: summary.id });
  expect(path.cost.total).toBeCloseTo(2 * price, 12);
  expect(path.summaries.total).toBeCloseTo(price, 12);
  expect((await sessionCost(session, { leafId: null })).models).toEqual([]);
  await expect(sessionCost(session, { leafId: "none" })).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
});

test("marks models whose price is that of the newest of their family", async () => {
  await using session = await opened();
  await session.appendMessage(userMessage("a"));
  await session.appendMessage(reply(tokens));
  await session.appendMessage(reply(tokens, "claude-opus-9"));
  const { models, unknown } = await sessionCost(session);
  expect(models.map(({ model: name, assumed }) => [name, assumed?.includes("claude-opus-5-5")])).toEqual([
    [model, undefined],
    ["claude-opus-9", true],
  ]);
  expect(unknown).toEqual([]);
});

test("lists models without a price, and gives what is known", async () => {
  await using session = await opened();
  await session.appendMessage(userMessage("a"));
  await session.appendMessage(reply(tokens));
  await session.appendMessage(reply(tokens, "secret-1"));
  // Made by hand: no tokens, so no call.
  await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, "x"));
  const { cost, unknown } = await sessionCost(session);
  expect(cost.total).toBeCloseTo(price, 12);
  expect(unknown).toMatchObject([
    { provider: "anthropic", model: "secret-1", calls: 1, unpriced: 1, tokens: 6_500 },
  ]);
  const own: ModelPrice = {
    model: "secret-1",
    ...{ input: 1, cacheRead: 1, cacheWrite: 1, output: 1, source: "contract", asOf: "2026-11-22" },
  };
  const told = await sessionCost(session, { prices: [own] });
  expect(told.unknown).toEqual([]);
  expect(told.cost.total).toBeCloseTo(price + 0.0065, 12);
});

test("a recorded cost goes before the table and behind the caller's; zeros for tokens are none", async () => {
  await using session = await opened();
  const recorded = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10 };
  const zeros = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  await session.appendMessage(userMessage("a"));
  await session.appendMessage(reply({ ...tokens, cost: recorded }));
  await session.appendMessage(reply({ ...tokens, cost: zeros }));
  expect((await sessionCost(session)).cost.total).toBeCloseTo(10 + price, 12);
  const own: ModelPrice = {
    model,
    ...{ input: 1, cacheRead: 1, cacheWrite: 1, output: 1, source: "contract", asOf: "2026-11-22" },
  };
  expect((await sessionCost(session, { prices: [own] })).cost.total).toBeCloseTo(0.013, 12);
});

test("a message that was updated is one call", async () => {
  await using session = await opened();
  await session.appendMessage(userMessage("a"));
  const half = { input: 1_000, output: 1, cacheRead: 5_000, cacheWrite: 300 };
  const { id } = await session.appendMessage(reply(half));
  await session.append([{ type: "message_update", targetId: id, message: reply(tokens) }]);
  await session.appendMessage(toolResult({ id: "c", name: "t" }, "x"));
  const { cost, models } = await sessionCost(session);
  expect(cost.total).toBeCloseTo(price, 12);
  expect(models[0]?.calls).toBe(1);
});

const spent = (total: number) => ({ input: total, output: 0, cacheRead: 0, cacheWrite: 0, total });
const call = { id: "c", name: "agent" };

test("what a tool's models took counts once, beside the agent's own and by what is recorded", async () => {
  await using session = await opened();
  await session.appendMessage(userMessage("a"));
  await session.appendMessage(reply(tokens));
  const calls = { calls: [{ id: "n", name: "read", status: "ok", usage: tokens }], complete: true };
  const result = { ...toolResult(call, "x"), usage: { ...tokens, cost: spent(2) }, nestedCalls: calls };
  // The same calls in details are those of `usage`.
  const { id } = await session.appendMessage({
    ...result,
    details: { results: [{ usage: { ...tokens, cost: 2, turns: 3 }, model }] },
  });
  const { cost, tools, summaries, models, unknown } = await sessionCost(session);
  expect(cost.total).toBeCloseTo(price + 2, 12);
  expect(tools.total).toBe(2);
  expect(summaries.total).toBe(0);
  expect(models.map(({ model: name, calls, tokens: all }) => [name, calls, all])).toEqual([
    [model, 1, 6_500],
    ["unknown", 1, 6_500],
  ]);
  expect(unknown).toEqual([]);
  await session.append([
    { type: "message_update", targetId: id, message: { ...result, usage: { ...tokens, cost: spent(3) } } },
  ]);
  expect((await sessionCost(session)).tools.total).toBe(3);
});

test("usage in a result's details counts for each of its subagents; without a cost it is listed", async () => {
  await using session = await opened();
  await session.appendMessage(userMessage("a"));
  const cheap = { ...tokens, cost: 0.25, contextTokens: 9, turns: 2 };
  await session.appendMessage({
    ...toolResult(call, "x"),
    details: {
      mode: "parallel",
      results: [{ model: "m1", usage: cheap }, { usage: { ...cheap, cost: 0 } }, { usage: "?" }],
    },
  });
  await session.appendMessage({ ...toolResult(call, "x"), details: { usage: tokens, model: "m1" } });
  const { cost, tools, models, unknown } = await sessionCost(session);
  expect(cost).toEqual(tools);
  expect(tools.total).toBe(0.25);
  expect(models.map(({ model: name, calls, unpriced }) => [name, calls, unpriced])).toEqual([
    ["m1", 2, 1],
    ["unknown", 1, 1],
  ]);
  expect(unknown).toHaveLength(2);
});

test("details of any shape are no call, and never a wrong sum", async () => {
  const details = fc.oneof(
    fc.jsonValue(),
    fc.record({ usage: fc.jsonValue(), results: fc.jsonValue() }),
    fc.record({ results: fc.array(fc.record({ usage: fc.jsonValue(), model: fc.jsonValue() })) }),
  );
  await fc.assert(
    fc.asyncProperty(details, async (value) => {
      await using session = await opened();
      await session.appendMessage({ ...toolResult(call, "x"), details: value });
      const { cost, models } = await sessionCost(session);
      expect(cost.total).toBe(0);
      expect(models).toEqual([]);
    }),
    { numRuns: 30 },
  );
});

test("the time of a call and the model that answered decide its price", async () => {
  await using session = await opened();
  await session.appendMessage(userMessage("a"));
  const asked = reply(tokens, "deepseek-reasoner");
  const timestamp = Date.parse("2026-06-01T12:00:00Z");
  const answer = { ...asked, provider: "deepseek", responseModel: "deepseek-v4-flash", timestamp };
  await session.appendMessage(answer);
  const { cost, models } = await sessionCost(session);
  expect(cost).toEqual(usageCost(tokens, answer));
  expect(cost.total).toBeGreaterThan(0);
  expect(models).toMatchObject([{ provider: "deepseek", model: "deepseek-reasoner", unpriced: 0 }]);
  expect(Object.keys(models[0] ?? {}).sort()).toEqual([
    "calls",
    "cost",
    "model",
    "provider",
    "tokens",
    "unpriced",
  ]);
});

test("a result's usage is checked as a reply's", async () => {
  await using session = await opened();
  const usage = { ...tokens, input: "1" } as unknown as Usage;
  await expect(session.appendMessage({ ...toolResult(call, "x"), usage })).rejects.toMatchObject({
    code: "INVALID_ENTRY",
  });
});
