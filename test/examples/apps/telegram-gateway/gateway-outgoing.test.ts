import { type AssistantDoneFrame, assistantDone, type TetherImage, tetherImage } from "sessile/tether";
import { describe, expect, it } from "vitest";
import { makePng } from "../../../../examples/apps/support/make-media.js";
import type { TetherAgent } from "../../../../examples/apps/support/tether-agent.js";
import type { LocalBotApi } from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import { badRequest } from "../../../../examples/apps/telegram-gateway/local-chats.js";
import { ada, agentOf, isSame, methods, type Said, said, startGateway } from "./gateway-fixture.js";

const png = makePng(320, 200);
const refused = badRequest("IMAGE_PROCESS_FAILED").facts;

/** Generous: none takes a second where nothing else runs. */
const timeout = 120_000;

describe("what goes out", { timeout }, () => {
  async function answered(answer: Said, prepare?: (telegram: LocalBotApi) => void) {
    await using gateway = await startGateway({ agent: agentOf(() => answer) });
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
