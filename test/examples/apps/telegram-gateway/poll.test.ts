import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BotApi, TelegramError } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { chatQueues } from "../../../../examples/apps/telegram-gateway/chat-queues.js";
import { pollUpdates } from "../../../../examples/apps/telegram-gateway/poll.js";
import { pauseAfter, withRetries } from "../../../../examples/apps/telegram-gateway/retry.js";
import { instantClock } from "./clocks.js";

/** Polls against these responses, one for each poll. */
async function poll(...answers: readonly (unknown[] | TelegramError)[]) {
  const polls: Readonly<Record<string, unknown>>[] = [];
  const stop = new AbortController();
  const left = [...answers];
  const api: Pick<BotApi, "call"> = {
    async call(_, params) {
      polls.push(params);
      const answer = left.shift();
      if (left.length === 0) stop.abort();
      if (answer instanceof TelegramError) throw answer;
      return answer;
    },
  };
  const batches: (readonly number[])[] = [];
  const options = { clock: instantClock(), signal: stop.signal };
  for await (const updates of pollUpdates(api as BotApi, options)) {
    batches.push(updates.map(({ update_id: id }) => id));
  }
  return { polls, offsets: polls.map(({ offset }) => offset), batches };
}

const update = (update_id: number) => ({ update_id });

describe("pollUpdates", () => {
  it("asks for messages alone, and waits for them", async () => {
    const { polls } = await poll([]);
    expect(polls).toEqual([{ timeout: 30, allowed_updates: ["message"] }]);
  });

  it("acknowledges a batch with the next poll, by its highest id", async () => {
    const { offsets, batches } = await poll([update(5), update(7), update(6)], [update(8)], []);
    expect(offsets).toEqual([undefined, 8, 9]);
    expect(batches).toEqual([[5, 7, 6], [8]]);
  });

  it("acknowledges again until it is answered, and then no more", async () => {
    const lost = new TelegramError("getUpdates", "no answer");
    const { offsets } = await poll([update(5)], lost, lost, [], []);
    expect(offsets).toEqual([undefined, 6, 6, 6, undefined]);
  });

  it("passes over what is no update", async () => {
    const { batches } = await poll([null, 3, {}, { update_id: "4" }, update(5)], []);
    expect(batches).toEqual([[5]]);
  });

  it.each([401, 404])("ends with a %i, which no waiting mends", async (code) => {
    const wrong = new TelegramError("getUpdates", "Unauthorized", { code });
    await expect(poll(wrong, [])).rejects.toBe(wrong);
  });
});

describe("retries", () => {
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

  describe("withRetries", () => {
    it("tries five times at most, and throws the last failure", async () => {
      const clock = instantClock();
      let calls = 0;
      const call = async () => {
        calls++;
        throw failure(500 + calls);
      };
      await expect(withRetries(call, clock)).rejects.toMatchObject({ code: 505 });
      expect(clock.pauses).toHaveLength(4);
    });

    it("throws a refusal at once", async () => {
      const clock = instantClock();
      await expect(withRetries(() => Promise.reject(failure(400)), clock)).rejects.toMatchObject({
        code: 400,
      });
      expect(clock.pauses).toEqual([]);
    });
  });
});

describe("queues", () => {
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const never = new AbortController().signal;

  describe("chatQueues", () => {
    it("does everything once, each chat in order and one at a time, never more chats than it may", async () => {
      const tasks = fc.array(fc.record({ chat: fc.nat(4), turns: fc.nat(3) }), { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(tasks, fc.integer({ min: 1, max: 4 }), async (all, maxRunning) => {
          const done: number[] = [];
          const running: number[] = [];
          const queues = chatQueues(
            async (index: number) => {
              const { chat, turns } = all[index] as (typeof all)[number];
              expect(running).not.toContain(chat);
              running.push(chat);
              expect(running.length).toBeLessThanOrEqual(maxRunning);
              for (let at = 0; at < turns; at++) await turn();
              running.splice(running.indexOf(chat), 1);
              done.push(index);
            },
            { maxRunning, maxWaiting: 0 },
          );
          for (const [index, { chat }] of all.entries()) queues.add(chat, index);
          await queues.room(never);
          expect([...done].sort((a, b) => a - b)).toEqual(all.map((_, index) => index));
          for (const chat of [0, 1, 2, 3, 4]) {
            const order = done.filter((index) => all[index]?.chat === chat);
            expect(order).toEqual([...order].sort((a, b) => a - b));
          }
        }),
        { numRuns: 50 },
      );
    });

    it("has room again when enough is done, or the signal aborts", async () => {
      let letGo = () => {};
      const held = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const queues = chatQueues(() => held, { maxRunning: 1, maxWaiting: 1 });
      const rooms: string[] = [];
      queues.add(1, "a");
      await queues.room(never).then(() => rooms.push("one"));
      queues.add(2, "b");
      const stop = new AbortController();
      const waits = [
        queues.room(never).then(() => rooms.push("two")),
        queues.room(stop.signal).then(() => rooms.push("aborted")),
      ];
      await turn();
      expect(rooms).toEqual(["one"]);
      stop.abort();
      await turn();
      expect(rooms).toEqual(["one", "aborted"]);
      letGo();
      await Promise.all(waits);
      expect(rooms).toEqual(["one", "aborted", "two"]);
    });

    it("begins nothing after it was closed, and waits for what had begun", async () => {
      const done: string[] = [];
      const queues = chatQueues(
        async (task: string) => {
          await turn();
          done.push(task);
        },
        { maxRunning: 2, maxWaiting: 9 },
      );
      for (const [chat, task] of [
        [1, "a"],
        [1, "b"],
        [2, "c"],
        [3, "d"],
      ] as const) {
        queues.add(chat, task);
      }
      await queues.close();
      await turn();
      expect(done).toEqual(["a", "c"]);
    });
  });
});
