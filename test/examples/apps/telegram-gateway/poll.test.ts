import { describe, expect, it } from "vitest";
import type { BotApi } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { TelegramError } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { pollUpdates } from "../../../../examples/apps/telegram-gateway/poll.js";
import { instantClock } from "./clocks.js";

/** Polls against these answers, one a poll, until there are no more. */
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
