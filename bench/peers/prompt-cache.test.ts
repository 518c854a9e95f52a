import { expect, test } from "vitest";
import { PromptCache, type Unit } from "../support/prompt-cache.js";

const unit = (id: number, tokens = 1000, blocks = 1): Unit => ({ id, tokens, bytes: tokens * 4, blocks });
const list = (...ids: readonly number[]) => ids.map((id) => unit(id));
const claude = { minimumTokens: 1024, granularity: "ends", lookback: 20, countsWrites: true } as const;
const five = { ...claude, lifetimeSeconds: 300 };

test("a request that goes on reads what the one before it wrote", () => {
  const cache = new PromptCache(five);
  expect(cache.send(list(1, 2), 0).prompt).toEqual({ input: 0, cacheRead: 0, cacheWrite: 2000 });
  expect(cache.send(list(1, 2, 3), 300).prompt).toEqual({ input: 0, cacheRead: 2000, cacheWrite: 1000 });
  // A read renews it; a second past its lifetime it is gone.
  expect(cache.send(list(1, 2, 3, 4), 600).prompt.cacheRead).toBe(3000);
  expect(cache.send(list(1, 2, 3, 4, 5), 901).prompt.cacheRead).toBe(0);
});

test("a change reads up to a breakpoint before it, and no further than twenty blocks back", () => {
  const cache = new PromptCache(five);
  cache.send(list(1, 2, 3), 0);
  cache.send(list(1, 2, 3, 4), 10);
  expect(cache.send(list(1, 2, 3, 9), 20).prompt.cacheRead).toBe(3000);
  const far = Array.from({ length: 30 }, (_, at) => 100 + at);
  expect(cache.send(list(1, 2, 3, ...far), 30).prompt.cacheRead).toBe(0);
  const anywhere = new PromptCache({ ...five, granularity: "anywhere" });
  anywhere.send(list(1, 2, 3, 4, 5), 0);
  expect(anywhere.send(list(1, 2, 3, 4, 9), 1).prompt.cacheRead).toBe(4000);
});

test("short prompts are not kept; the hour's writes are counted apart; a provider without a fee counts none", () => {
  const cache = new PromptCache(five);
  expect(cache.send(list(1), 0).prompt).toEqual({ input: 1000, cacheRead: 0, cacheWrite: 0 });
  expect(cache.send(list(1), 1).prompt.cacheRead).toBe(0);
  const hour = new PromptCache({ ...claude, lifetimeSeconds: 3600, hour: true });
  expect(hour.send(list(1, 2), 0).prompt).toMatchObject({ cacheWrite: 2000, cacheWrite1h: 2000 });
  const free = new PromptCache({ ...five, countsWrites: false });
  expect(free.send(list(1, 2), 0).prompt).toEqual({ input: 2000, cacheRead: 0, cacheWrite: 0 });
});
