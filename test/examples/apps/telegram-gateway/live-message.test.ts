import { describe, expect, it } from "vitest";
import { TelegramError } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { LiveMessage } from "../../../../examples/apps/telegram-gateway/live-message.js";
import { manualClock } from "./clocks.js";

/** A chat that keeps what it was told and when. */
function recorder(failures: readonly (TelegramError | undefined)[] = []) {
  const clock = manualClock();
  const calls: (readonly [number, string])[] = [];
  const left = [...failures];
  function took(text: string): void {
    calls.push([clock.now(), text]);
    const failure = left.shift();
    if (failure !== undefined) throw failure;
  }
  const chat = {
    async sendText(text: string) {
      took(`send ${text}`);
      return 5;
    },
    async editText(messageId: number, text: string) {
      took(`edit ${messageId} ${text}`);
    },
  };
  return { clock, calls, live: new LiveMessage(chat, clock) };
}

describe("LiveMessage", () => {
  it("is sent with the first text, and edited to the newest once a second", async () => {
    const { clock, calls, live } = recorder();
    live.show("a");
    await clock.advance(0);
    for (let at = 0; at < 25; at++) {
      live.show(`a${at}`);
      await clock.advance(100);
    }
    expect(calls).toEqual([
      [0, "send a"],
      [1000, "edit 5 a9"],
      [2000, "edit 5 a19"],
    ]);
    expect(await live.end()).toEqual({ messageId: 5, text: "a19" });
  });

  it("ends at once while it waits, and shows nothing afterwards", async () => {
    const { clock, calls, live } = recorder();
    live.show("a");
    await clock.advance(0);
    live.show("ab");
    expect(await live.end()).toEqual({ messageId: 5, text: "a" });
    live.show("abc");
    await clock.advance(5000);
    expect(calls).toHaveLength(1);
  });

  it("is not there when nothing was shown, or only white space", async () => {
    const { clock, calls, live } = recorder();
    live.show(" \n");
    await clock.advance(5000);
    expect(await live.end()).toBeUndefined();
    expect(calls).toEqual([]);
  });

  it("shows the beginning of a long text", async () => {
    const { clock, calls, live } = recorder();
    live.show("x".repeat(5000));
    await clock.advance(0);
    live.show("x".repeat(6000));
    await clock.advance(5000);
    expect(calls).toEqual([[0, `send ${"x".repeat(4096)}`]]);
  });

  it("waits as long as a 429 says", async () => {
    const slow = new TelegramError("editMessageText", "Too Many Requests", { code: 429, retryAfter: 7 });
    const { clock, calls, live } = recorder([undefined, slow]);
    live.show("a");
    await clock.advance(0);
    live.show("ab");
    await clock.advance(1000);
    live.show("abc");
    await clock.advance(6999);
    expect(calls).toHaveLength(2);
    await clock.advance(1);
    expect(calls.at(-1)).toEqual([8000, "edit 5 abc"]);
  });

  it("ends no sooner than a 429 says, so that what follows is not too soon either", async () => {
    const slow = new TelegramError("sendMessage", "Too Many Requests", { code: 429, retryAfter: 7 });
    const { clock, live } = recorder([slow]);
    live.show("a");
    await clock.advance(0);
    let ended = false;
    const ending = live.end().then(() => {
      ended = true;
    });
    await clock.advance(6999);
    expect(ended).toBe(false);
    await clock.advance(1);
    await ending;
    expect(ended).toBe(true);
  });

  it("gives up quietly where it is refused", async () => {
    const { clock, calls, live } = recorder([new TelegramError("sendMessage", "Forbidden", { code: 403 })]);
    live.show("a");
    await clock.advance(0);
    live.show("ab");
    await clock.advance(5000);
    expect(calls).toHaveLength(1);
    expect(await live.end()).toBeUndefined();
  });
});
