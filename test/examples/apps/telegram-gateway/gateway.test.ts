import { tetherLimits } from "sessile/limits";
import { type AssistantDoneFrame, assistantDone, type TetherImage, tetherImage } from "sessile/tether";
import { describe, expect, it } from "vitest";
import { makePng } from "../../../../examples/apps/support/make-media.js";
import type { TetherAgent } from "../../../../examples/apps/support/tether-agent.js";
import { botApi } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import {
  type LocalBotApi,
  startLocalBotApi,
} from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import { badRequest, tooManyRequests } from "../../../../examples/apps/telegram-gateway/local-chats.js";
import { instantClock } from "./clocks.js";
import {
  ada,
  agentOf,
  isSame,
  listener,
  methods,
  type Said,
  said,
  scratch,
  startGateway,
} from "./gateway-fixture.js";

const png = makePng(320, 200);

/** Each takes less than a second on an idle machine. */
const timeout = 180_000;

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

describe("from Telegram to the agent", () => {
  const png = makePng(320, 200);

  /** Each takes less than a second on an idle machine. */
  const timeout = 180_000;

  describe("what comes in", { timeout }, () => {
    it("is a frame with the text, who wrote it, and a session for the chat", async () => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      const id = gateway.telegram.post(ada, { text: "Hi" });
      await gateway.finished(id);
      expect(heard.map(({ frame }) => frame)).toMatchObject([
        {
          type: "user.message",
          session: { channel: "telegram", id: "7" },
          msg_id: `telegram-${id}`,
          payload: { text: "Hi", user: { id: "7", name: "Ada Byron" } },
        },
      ]);
      expect(said(gateway.telegram)).toEqual(["Seen."]);
    });

    // @covers R72 R74
    it("R72 R74 is the largest photo byte for byte, with its caption, and of the type that its bytes have", async () => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      await gateway.finished(gateway.telegram.post(ada, { photo: png, text: "What is it?" }));
      expect(heard[0]?.frame.payload.text).toBe("What is it?");
      expect(heard[0]?.images).toMatchObject([{ mediaType: "image/png", width: 320, height: 200 }]);
      expect(isSame(heard[0]?.images[0]?.bytes, png)).toBe(true);
    });

    // @covers R73
    it("R73 is an image document byte for byte, whatever its sender says of the type", async () => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      await gateway.finished(
        gateway.telegram.post(ada, { document: { bytes: png, mediaType: "image/jpeg" } }),
      );
      expect(heard[0]?.images[0]?.mediaType).toBe("image/png");
      expect(isSame(heard[0]?.images[0]?.bytes, png)).toBe(true);
    });

    // @covers R75
    it("R75 is the first photo of an album, also when the next one comes after a restart", async () => {
      const { agent, heard } = listener();
      const dir = scratch();
      await using telegram = await startLocalBotApi();
      const album = { photo: png, text: "Mine", fields: { media_group_id: "9" } };
      const first = await startGateway({ agent, telegram, dir });
      await first.finished(telegram.post(ada, album), telegram.post(ada, album));
      await first.stop();
      await using second = await startGateway({ agent, telegram, dir });
      await second.finished(telegram.post(ada, album));
      expect(heard).toHaveLength(1);
      expect(said(telegram)).toEqual(["Seen."]);
    });

    // @covers R76
    it("R76 is refused when getFile says that it is too large, before it is fetched", async () => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      const { telegram } = gateway;
      await gateway.finished(telegram.post(ada, { photo: png, toldSize: 15 * 2 ** 20 }));
      const photo = [{ file_id: "file1", width: 320, height: 200 }];
      await gateway.finished(telegram.post(ada, { fields: { photo } }));
      const refusal = "That image is too large: 15 MiB (max 10 MiB).";
      expect(said(telegram)).toEqual([refusal, refusal]);
      expect(methods(telegram).filter((method) => method !== "sendMessage")).toEqual([
        "sendChatAction",
        "getFile",
      ]);
      expect(heard).toEqual([]);
    });

    it("R76 is refused when getFile does not give it at all", async () => {
      await using gateway = await startGateway();
      const { telegram } = gateway;
      await gateway.finished(telegram.post(ada, { photo: png, toldSize: 21e6 }));
      const photo = [{ file_id: "file1", width: 320, height: 200 }];
      await gateway.finished(telegram.post(ada, { fields: { photo } }));
      expect(said(telegram).at(-1)).toBe("That image is too large (max 10 MiB).");
    });

    // @covers R76
    it("R76 is read no further than the limit, whatever was told", async () => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      const { telegram } = gateway;
      telegram.beforeCall = ({ method }) => {
        if (method === "download") telegram.swapFile(new Uint8Array(tetherLimits.maxImageBytes + 1));
      };
      await gateway.finished(telegram.post(ada, { photo: png }));
      expect(said(telegram)).toEqual(["That image is too large (max 10 MiB)."]);
      expect(heard).toEqual([]);
    });

    it("may be exactly as large as the limit", async () => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      const bytes = new Uint8Array(tetherLimits.maxImageBytes);
      bytes.set(png);
      await gateway.finished(gateway.telegram.post(ada, { photo: bytes }));
      expect(heard[0]?.images[0]?.bytes.length).toBe(tetherLimits.maxImageBytes);
    });

    it.each([
      [
        "a page",
        Buffer.from("<!doctype html>"),
        "That is no image. I can look at PNG, JPEG, GIF and WebP images.",
      ],
      [
        "half of a header",
        png.subarray(0, 20),
        "That is no image. I can look at PNG, JPEG, GIF and WebP images.",
      ],
    ])("is refused when it is %s", async (_, photo, text) => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      await gateway.finished(gateway.telegram.post(ada, { photo }));
      expect(said(gateway.telegram)).toEqual([text]);
      expect(heard).toEqual([]);
      expect(gateway.problems).toEqual([]);
    });

    // @covers R77
    it("R77 is not touched where it is a sticker, a video, audio or a voice", async () => {
      const { agent, heard } = listener();
      await using gateway = await startGateway({ agent });
      const { telegram } = gateway;
      for (const kind of ["sticker", "video", "audio", "voice"]) {
        await gateway.finished(telegram.post(ada, { fields: { [kind]: { file_id: "x" }, caption: "See" } }));
      }
      expect(methods(telegram)).toEqual([]);
      expect(heard).toEqual([]);
    });

    it("is not answered where the chat may not write", async () => {
      await using gateway = await startGateway({ mayWrite: (chatId) => chatId === ada });
      const { telegram } = gateway;
      await gateway.finished(telegram.post(8, { text: "Hi" }), telegram.post(ada, { text: "Hi" }));
      expect([said(telegram, 8), said(telegram)]).toEqual([[], ["You said: Hi"]]);
      expect(gateway.problems).toEqual(["chat 8 may not write"]);
    });
  });
});

describe("from the agent to Telegram", () => {
  const png = makePng(320, 200);
  const refused = badRequest("IMAGE_PROCESS_FAILED").facts;

  /** Each takes less than a second on an idle machine. */
  const timeout = 180_000;

  describe("what goes out", { timeout }, () => {
    async function answered(answer: Said, prepare?: (telegram: LocalBotApi) => void) {
      const isShown = () => telegram.messages(ada).length > 0;
      await using gateway = await startGateway({ agent: agentOf(() => ({ isShown, ...answer })) });
      const { telegram, problems } = gateway;
      prepare?.(telegram);
      await gateway.finished(telegram.post(ada, { text: "Go" }));
      return { telegram, problems };
    }

    // @covers R78
    it("R78 R79 is the images byte for byte, the short text below the first one", async () => {
      const other = makePng(10, 20);
      const { telegram } = await answered({ text: "Two.", images: [png, other] });
      expect(said(telegram)).toEqual([
        ["photo", "Two."],
        ["photo", undefined],
      ]);
      const [first, second] = telegram.messages(ada);
      expect([isSame(first?.photo?.bytes, png), isSame(second?.photo?.bytes, other)]).toEqual([true, true]);
      expect(first?.photo).toMatchObject({ name: "image.png", mediaType: "image/png" });
    });

    // @covers R46
    it.each<[string, (image: TetherImage) => unknown, RegExp]>([
      ["too many images", (image) => Array(5).fill(image), /too many images: 5/],
      [
        "an image too large",
        (image) => [{ ...image, data: "A".repeat(14 * 2 ** 20) }],
        /images\[0\] too large/,
      ],
      [
        "an image of another type",
        (image) => [{ ...image, media_type: "image/gif" }],
        /MEDIA_TYPE_MISMATCH|is image\/png/,
      ],
    ])("is nothing of an answer with %s: the gateway checks it itself", async (_name, imagesOf, words) => {
      const frame = assistantDone({ channel: "telegram", id: String(ada) }, "Here.");
      const images = imagesOf(tetherImage(png));
      const agent: TetherAgent = {
        isBusy: () => false,
        async *answer() {
          yield { ...frame, payload: { text: "Here.", images } } as AssistantDoneFrame;
        },
      };
      await using gateway = await startGateway({ agent });
      const { telegram, problems } = gateway;
      await gateway.finished(telegram.post(ada, { text: "Go" }));
      expect(said(telegram)).toEqual(["Something went wrong. Please try again."]);
      expect(problems).toMatchObject([expect.stringMatching(words)]);
    });

    // @covers R79
    it("R78 R79 is the images, then a long text in pieces", async () => {
      const text = `${"word ".repeat(1000)}end`;
      const { telegram } = await answered({ text, images: [png] });
      const [photo, ...texts] = said(telegram);
      expect(photo).toEqual(["photo", undefined]);
      expect(texts.map((piece) => String(piece).length <= 4096)).toEqual([true, true]);
      expect(texts.join(" ")).toBe(text);
    });

    // @covers R80
    it("R80 is text alone as a message", async () => {
      const { telegram } = await answered({ text: "Hello" });
      expect(said(telegram)).toEqual(["Hello"]);
      expect(methods(telegram)).toEqual(["sendChatAction", "sendMessage"]);
    });

    // @covers R80
    it("R80 is text that grows in one message", async () => {
      const { telegram } = await answered({ deltas: ["Hel", "lo"], text: "Hello" });
      expect(said(telegram)).toEqual(["Hello"]);
      expect(methods(telegram).slice(1, 2)).toEqual(["sendMessage"]);
      expect(
        methods(telegram)
          .slice(2)
          .every((method) => method === "editMessageText"),
      ).toBe(true);
    });

    it("is behind its images also when it was shown before them", async () => {
      const { telegram } = await answered({ deltas: ["Here ", "it is"], text: "Here it is", images: [png] });
      expect(said(telegram)).toEqual([["photo", "Here it is"]]);
      const order = methods(telegram);
      expect(order.indexOf("deleteMessage")).toBeGreaterThan(order.indexOf("sendPhoto"));
    });

    it("is a document where a photo is refused, with the caption", async () => {
      const { telegram } = await answered({ text: "One.", images: [png] }, (api) =>
        api.fail("sendPhoto", refused),
      );
      expect(said(telegram)).toEqual([["document", "One."]]);
      expect(isSame(telegram.messages(ada)[0]?.document?.bytes, png)).toBe(true);
    });

    it("is a document where a photo would be refused, unasked", async () => {
      const { telegram } = await answered({ text: "Wide.", images: [makePng(2100, 100)] });
      expect(said(telegram)).toEqual([["document", "Wide."]]);
      expect(methods(telegram)).not.toContain("sendPhoto");
    });

    // @covers R79
    it("R79 is never without its text when the photo with the caption fails", async () => {
      const { telegram, problems } = await answered({ text: "Two.", images: [png, png] }, (api) => {
        api.fail("sendPhoto", refused);
        api.fail("sendDocument", refused);
      });
      expect(said(telegram)).toEqual([["photo", undefined], "Two."]);
      expect(problems).toEqual(["images that could not be sent: 1"]);
    });

    it("is sent again as a message where somebody deleted the one that grew", async () => {
      const { telegram } = await answered({ deltas: ["Hel"], text: "Hello" }, (api) =>
        api.fail("editMessageText", badRequest("message to edit not found").facts),
      );
      expect(said(telegram)).toContain("Hello");
    });

    it("follows a group that becomes a supergroup", async () => {
      const { telegram } = await answered({ text: "Hello" }, (api) => {
        api.post(-100, { fields: {} });
        const parameters = { migrate_to_chat_id: -100 };
        const description = "Bad Request: group chat was upgraded to a supergroup chat";
        api.fail("sendMessage", { error_code: 400, description, parameters });
      });
      expect(said(telegram, -100)).toEqual(["Hello"]);
    });

    it.each([
      ["the agent says nothing at all", { text: "" }, []],
      ["it says nothing in the end", { deltas: ["I look"], text: " " }, []],
      ["its only image cannot be sent", { text: "", images: [png] }, ["images that could not be sent: 1"]],
    ] satisfies [string, Said, string[]][])(
      "is never silence: where %s it is an apology",
      async (_, answer, before) => {
        const { telegram, problems } = await answered(answer, (api) => {
          api.fail("sendPhoto", refused);
          api.fail("sendDocument", refused);
        });
        expect(said(telegram)).toEqual(["Something went wrong. Please try again."]);
        expect(problems).toEqual([...before, "the agent gave no answer"]);
      },
    );

    it("is an apology where the agent fails, and the log has the reason", async () => {
      const agent = agentOf(() => {
        throw new Error("no model");
      });
      await using gateway = await startGateway({ agent });
      await gateway.finished(gateway.telegram.post(ada, { text: "Hi" }));
      expect(said(gateway.telegram)).toEqual(["Something went wrong. Please try again."]);
      expect(gateway.problems).toEqual(["no model"]);
    });
  });
});
