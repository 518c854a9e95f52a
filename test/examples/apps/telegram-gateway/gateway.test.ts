import { describe, expect, it } from "vitest";
import { makePng } from "../../../../examples/apps/support/make-media.js";
import { botApi } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { startLocalBotApi } from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import { badRequest, tooManyRequests } from "../../../../examples/apps/telegram-gateway/local-chats.js";
import { instantClock } from "./clocks.js";
import { ada, agentOf, methods, said, scratch, startGateway } from "./gateway-fixture.js";

const png = makePng(320, 200);

/** Generous: none takes a second where nothing else runs. */
const timeout = 120_000;

describe("when Telegram does not answer well", { timeout }, () => {
  it("waits as long as a 429 says, and sends once", async () => {
    const clock = instantClock();
    await using gateway = await startGateway({ clock });
    gateway.telegram.fail("sendMessage", tooManyRequests(3), tooManyRequests(7));
    await gateway.finished(gateway.telegram.post(ada, { text: "Hi" }));
    expect(clock.pauses).toEqual([3000, 7000]);
    expect(said(gateway.telegram)).toEqual(["You said: Hi"]);
  });

  it("waits as long as a 429 says also where it came while the answer was being written", async () => {
    const clock = instantClock();
    const agent = agentOf(() => ({ deltas: ["Hel"], text: "Hello" }));
    await using gateway = await startGateway({ agent, clock });
    gateway.telegram.fail("sendMessage", tooManyRequests(3));
    await gateway.finished(gateway.telegram.post(ada, { text: "Hi" }));
    expect(clock.now()).toBe(3000);
    expect(said(gateway.telegram)).toEqual(["Hello"]);
    expect(methods(gateway.telegram).filter((method) => method === "sendMessage")).toHaveLength(2);
  });

  it("asks for a photo again that could not be fetched, and tells the log why", async () => {
    await using gateway = await startGateway();
    const { telegram } = gateway;
    telegram.fail("getFile", badRequest("wrong file_id or the file is temporarily unavailable").facts);
    await gateway.finished(telegram.post(ada, { photo: png }));
    expect(said(telegram)).toEqual(["That image could not be fetched. Please send it again."]);
    expect(gateway.problems).toEqual([
      "getFile: Bad Request: wrong file_id or the file is temporarily unavailable",
    ]);
  });

  it("gives up on a message where a 429 says to wait for longer than five minutes, and goes on", async () => {
    const clock = instantClock();
    await using gateway = await startGateway({ clock });
    gateway.telegram.fail("sendMessage", tooManyRequests(301), tooManyRequests(301));
    await gateway.finished(gateway.telegram.post(ada, { text: "One" }));
    await gateway.finished(gateway.telegram.post(ada, { text: "Two" }));
    expect(clock.pauses).toEqual([]);
    expect(said(gateway.telegram)).toEqual(["You said: Two"]);
  });

  it("tries again after broken connections and 5xx, each time later", async () => {
    const clock = instantClock();
    await using gateway = await startGateway({ clock });
    const { telegram } = gateway;
    telegram.fail("sendMessage", "drop", { error_code: 502, description: "Bad Gateway" });
    telegram.fail("download", "drop");
    await gateway.finished(telegram.post(ada, { text: "Hi", photo: png }));
    expect(clock.pauses).toEqual([500, 500, 1000]);
    expect(said(telegram)).toEqual(["You said: Hi"]);
  });

  it("goes on polling after broken connections, 5xx, 429 and another poller", async () => {
    const clock = instantClock();
    await using telegram = await startLocalBotApi();
    const conflict = { error_code: 409, description: "Conflict: terminated by other getUpdates request" };
    telegram.fail("getUpdates", "drop", { error_code: 500, description: "x" }, tooManyRequests(9), conflict);
    await using gateway = await startGateway({ clock, telegram });
    await gateway.finished(telegram.post(ada, { text: "Hi" }));
    expect(clock.pauses).toEqual([500, 1000, 9000, 4000]);
    expect(gateway.problems).toHaveLength(4);
    expect(said(telegram)).toEqual(["You said: Hi"]);
  });

  it("ends where the token is not known", async () => {
    await using telegram = await startLocalBotApi();
    const api = { root: telegram.root, token: "1:wrong" };
    await using gateway = await startGateway({ telegram, api: botApi(api) });
    await expect(gateway.ended).rejects.toMatchObject({ code: 401, message: "getUpdates: Unauthorized" });
  });
});

describe("chats", { timeout }, () => {
  it("do not wait for each other, and each keeps its order", async () => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const agent = agentOf(async ({ frame: { session, payload } }) => {
      if (session.id === "1" && payload.text === "a") await held;
      return { text: payload.text };
    });
    await using gateway = await startGateway({ agent });
    const { telegram } = gateway;
    const slow = ["a", "b", "c"].map((text) => telegram.post(1, { text }));
    await gateway.finished(...["a", "b"].map((text) => telegram.post(2, { text })));
    expect([said(telegram, 1), said(telegram, 2)]).toEqual([[], ["a", "b"]]);
    letGo();
    await gateway.finished(...slow);
    expect(said(telegram, 1)).toEqual(["a", "b", "c"]);
  });
});

describe("an update", { timeout }, () => {
  it("is not answered twice when it is repeated", async () => {
    await using gateway = await startGateway();
    const { telegram } = gateway;
    const message = { message_id: 1, chat: { id: ada }, text: "Hi" };
    telegram.post(ada, { fields: {} });
    const id = telegram.push({ update_id: 900, ...{ message } });
    await gateway.finished(id);
    telegram.push({ update_id: 900, ...{ message } });
    await gateway.finished(telegram.post(ada, { text: "Bye" }));
    expect(said(telegram)).toEqual(["You said: Hi", "You said: Bye"]);
  });

  it("is answered when its id is smaller than those before, as after a week of silence", async () => {
    await using gateway = await startGateway();
    const { telegram } = gateway;
    await gateway.finished(telegram.post(ada, { text: "Hi" }));
    const message = { message_id: 1, chat: { id: ada }, text: "Bye" };
    await gateway.finished(telegram.push({ update_id: 5, ...{ message } }));
    expect(said(telegram)).toEqual(["You said: Hi", "You said: Bye"]);
  });

  it("that had begun is finished at an end, and one that waited is answered at the next start", async () => {
    const dir = scratch();
    await using telegram = await startLocalBotApi();
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const agent = agentOf(async ({ frame }) => {
      begun();
      await held;
      return { text: frame.payload.text };
    });
    const first = await startGateway({ agent, telegram, dir });
    const ids = ["one", "two"].map((text) => telegram.post(ada, { text }));
    await hasBegun;
    while (!ids.every((id) => first.inbox.has(id))) await new Promise((resolve) => setTimeout(resolve, 5));
    const stopped = first.stop();
    letGo();
    await stopped;
    expect(said(telegram)).toEqual(["one"]);
    await using second = await startGateway({ agent, telegram, dir });
    await second.finished(...ids);
    expect(said(telegram)).toEqual(["one", "two"]);
  });
});
