import { describe, expect, it } from "vitest";
import { TelegramError } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { patiently, pauseAfter } from "../../../../examples/apps/telegram-gateway/retry.js";
import { instantClock } from "./clocks.js";

const failure = (code?: number, retryAfter?: number) =>
  new TelegramError("sendMessage", "no", {
    ...(code === undefined ? {} : { code }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });

describe("pauseAfter", () => {
  it.each([
    ["a 429, as long as it says", failure(429, 12), 12_000],
    ["a 429 of five minutes", failure(429, 300), 300_000],
    ["a longer one, never", failure(429, 301), undefined],
    ["no answer", failure(), 500],
    ["500", failure(500), 500],
    ["a refusal, never", failure(400), undefined],
    ["a wrong token, never", failure(401), undefined],
    ["an error of another kind, never", new Error("no"), undefined],
  ])("waits after %s", (_, error, pause) => {
    expect(pauseAfter(error, 1)).toBe(pause);
  });

  it("waits longer each time, up to half a minute", () => {
    const pauses = Array.from({ length: 9 }, (_, at) => pauseAfter(failure(502), at + 1));
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });
});

describe("patiently", () => {
  it("tries five times at most, and throws the last failure", async () => {
    const clock = instantClock();
    let calls = 0;
    const call = async () => {
      calls++;
      throw failure(500 + calls);
    };
    await expect(patiently(call, clock)).rejects.toMatchObject({ code: 505 });
    expect(clock.pauses).toHaveLength(4);
  });

  it("throws a refusal at once", async () => {
    const clock = instantClock();
    await expect(patiently(() => Promise.reject(failure(400)), clock)).rejects.toMatchObject({ code: 400 });
    expect(clock.pauses).toEqual([]);
  });
});
