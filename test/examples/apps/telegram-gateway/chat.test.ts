import { describe, expect, it } from "vitest";
import { botApi } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { startLocalBotApi } from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import { chatOf } from "../../../../examples/apps/telegram-gateway/outgoing.js";
import { instantClock } from "./clocks.js";

const ada = 7;

describe("editText", () => {
  it("takes it for done where the message has that text already", async () => {
    await using telegram = await startLocalBotApi();
    telegram.post(ada, { text: "Hi" });
    const chat = chatOf(botApi(telegram), ada, instantClock());
    const id = await chat.sendText("a");
    // Telegram does not keep the space.
    await chat.editText(id, "a ");
    expect(telegram.messages(ada)).toMatchObject([{ text: "a" }]);
    expect(telegram.calls.map(({ method }) => method)).toEqual(["sendMessage", "editMessageText"]);
  });

  it("rejects where the message is not there", async () => {
    await using telegram = await startLocalBotApi();
    telegram.post(ada, { text: "Hi" });
    const chat = chatOf(botApi(telegram), ada, instantClock());
    await expect(chat.editText(99, "a")).rejects.toThrow(
      "editMessageText: Bad Request: message to edit not found",
    );
  });
});

describe("a chat that moved", () => {
  it("is written to under its new id, by the same call and the next ones", async () => {
    await using telegram = await startLocalBotApi();
    telegram.post(-200, { text: "Hi" });
    const parameters = { migrate_to_chat_id: -200 };
    telegram.fail("sendMessage", { error_code: 400, description: "Bad Request: moved", parameters });
    const chat = chatOf(botApi(telegram), -100, instantClock());
    await chat.sendText("a");
    await chat.sendText("b");
    expect(telegram.calls.map(({ params }) => params.chat_id)).toEqual([-100, -200, -200]);
  });
});
