import { tetherLimits } from "sessile/limits";
import { describe, expect, it } from "vitest";
import { makePng } from "../../../../examples/apps/support/make-media.js";
import { startLocalBotApi } from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import { ada, isSame, listener, methods, said, scratch, startGateway } from "./gateway-fixture.js";

const png = makePng(320, 200);

/** Generous: none takes a second where nothing else runs. */
const timeout = 120_000;

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
    await gateway.finished(gateway.telegram.post(ada, { document: { bytes: png, mediaType: "image/jpeg" } }));
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
