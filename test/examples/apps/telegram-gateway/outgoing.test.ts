import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { botApi, TelegramError } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import { LiveMessage } from "../../../../examples/apps/telegram-gateway/live-message.js";
import { startLocalBotApi } from "../../../../examples/apps/telegram-gateway/local-bot-api.js";
import {
  type Chat,
  type ChatImage,
  chatOf,
  isBlank,
  type OutgoingImage,
  planOutgoing,
  sendAnswer,
  textPieces,
} from "../../../../examples/apps/telegram-gateway/outgoing.js";
import { instantClock, manualClock } from "./clocks.js";

const image = fc.record({
  mediaType: fc.constantFrom("image/png", "image/jpeg", "image/gif", "image/webp"),
  bytes: fc.nat(10 * 2 ** 20).map((length) => ({ length })),
  width: fc.integer({ min: 1, max: 12_000 }),
  height: fc.integer({ min: 1, max: 12_000 }),
}) satisfies fc.Arbitrary<OutgoingImage>;
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ minLength: 1000, maxLength: 1050 }),
  fc.string({ minLength: 4000, maxLength: 9000 }),
  fc.constant(" \n"),
);
const answer = fc.record({ text, images: fc.array(image, { maxLength: 4 }) });

const small: OutgoingImage = { mediaType: "image/png", bytes: { length: 70 }, width: 4, height: 3 };

describe("planOutgoing", () => {
  it("sends every image once, in order, and says the text once: as a caption or behind them", () => {
    fc.assert(
      fc.property(answer, ({ text, images }) => {
        const plan = planOutgoing({ text, images });
        expect(plan.images.map(({ image }) => image)).toEqual(images.map((_, index) => index));
        const captions = plan.images.flatMap(({ caption }) => (caption === undefined ? [] : [caption]));
        const said = [...captions, ...plan.texts];
        expect(said.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
        expect(captions.length > 0 && plan.texts.length > 0).toBe(false);
      }),
    );
  });

  it("has the text whole for when the image with the caption fails", () => {
    fc.assert(
      fc.property(answer, ({ text, images }) => {
        const plan = planOutgoing({ text, images });
        expect(plan.textsWithoutCaption.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
        if (images.length === 0) expect(plan.textsWithoutCaption).toEqual(plan.texts);
      }),
    );
  });

  it("keeps to what Telegram takes", () => {
    fc.assert(
      fc.property(answer, ({ text, images }) => {
        const plan = planOutgoing({ text, images });
        for (const piece of [...plan.texts, ...plan.textsWithoutCaption]) {
          expect(piece.length).toBeLessThanOrEqual(4096);
          expect(isBlank(piece)).toBe(false);
        }
        for (const { image: index, methods, caption = "" } of plan.images) {
          expect(caption.length).toBeLessThanOrEqual(1024);
          const { bytes, width, height } = images[index] as OutgoingImage;
          const ratio = Math.max(width / height, height / width);
          const refused = bytes.length > 10_000_000 || width + height > 10_000 || ratio > 20;
          if (refused) expect(methods).toEqual(["sendDocument"]);
        }
      }),
    );
  });

  // @covers R78
  it("R78 sends images first", () => {
    const plan = planOutgoing({ text: "x".repeat(2000), images: [small, small] });
    expect(plan.images.map(({ image, methods }) => [image, methods[0]])).toEqual([
      [0, "sendPhoto"],
      [1, "sendPhoto"],
    ]);
    expect(plan.texts).toEqual(["x".repeat(2000)]);
  });

  // @covers R79
  it.each([
    ["1024 code units", "x".repeat(1024), true],
    ["1025", "x".repeat(1025), false],
    ["512 emoji, which are 1024", "😀".repeat(512), true],
    ["513 emoji, which are 1026", "😀".repeat(513), false],
  ])(
    "R79 puts at most 1024 code units below the first image, and more behind all: %s",
    (_, text, captioned) => {
      const plan = planOutgoing({ text, images: [small, small] });
      expect(plan.images.map(({ caption }) => caption)).toEqual([captioned ? text : undefined, undefined]);
      expect(plan.texts).toEqual(captioned ? [] : [text]);
    },
  );

  // @covers R80
  it("R80 sends text alone as text", () => {
    expect(planOutgoing({ text: "Hello", images: [] })).toEqual({
      images: [],
      texts: ["Hello"],
      textsWithoutCaption: ["Hello"],
    });
  });

  it("sends nothing for nothing", () => {
    const nothing = { images: [], texts: [], textsWithoutCaption: [] };
    expect(planOutgoing({ text: "", images: [] })).toEqual(nothing);
    expect(planOutgoing({ text: " \n\u200b", images: [] })).toEqual(nothing);
  });

  it.each([
    ["10 000 000 bytes as a photo", { bytes: { length: 10_000_000 } }, "sendPhoto"],
    ["more as a document", { bytes: { length: 10_000_001 } }, "sendDocument"],
    ["sides of 10 000 as a photo", { width: 6000, height: 4000 }, "sendPhoto"],
    ["longer ones as a document", { width: 6000, height: 4001 }, "sendDocument"],
    ["twenty times as wide as high as a photo", { width: 200, height: 10 }, "sendPhoto"],
    ["wider as a document", { width: 201, height: 10 }, "sendDocument"],
    ["a GIF as a document, since it may move", { mediaType: "image/gif" }, "sendDocument"],
  ] as const)("sends %s", (_, facts, method) => {
    const [send] = planOutgoing({ text: "", images: [{ ...small, ...facts }] }).images;
    expect(send?.methods).toEqual(method === "sendPhoto" ? ["sendPhoto", "sendDocument"] : ["sendDocument"]);
  });
});

/** The items of a chat, in order; `stale` marks a message that showed a partial answer. */
type Item = { id: number; text?: string; image?: ChatImage; caption?: string; stale?: boolean };

/** A chat that refuses some calls, and stores the rest. */
function fickleChat(refuses: (method: string, image?: ChatImage) => boolean, items: Item[]): Chat {
  let lastId = 100;
  const check = (method: string, image?: ChatImage) => {
    if (refuses(method, image)) throw new TelegramError(method, "no", { code: 400 });
  };
  return {
    async sendText(text) {
      items.push({ id: ++lastId, text });
      return lastId;
    },
    async editText(messageId, text) {
      check("editMessageText");
      const item = items.find(({ id }) => id === messageId);
      if (item !== undefined) Object.assign(item, { text, stale: false });
    },
    async sendImage(method, image, caption) {
      check(method, image);
      items.push({ id: ++lastId, image, ...(caption === undefined ? {} : { caption }) });
    },
    async deleteMessage(messageId) {
      check("deleteMessage");
      const at = items.findIndex(({ id }) => id === messageId);
      items.splice(at, 1);
    },
    async showTyping() {},
  };
}

const bare = (text: string) => text.replace(/\s/g, "");

const answers = fc.record({
  text: fc.oneof(fc.string(), fc.lorem({ maxCount: 2500 })),
  images: fc.array(fc.constantFrom("image/png", "image/gif"), { maxLength: 4 }),
  shown: fc.option(fc.lorem(), { nil: undefined }),
  refused: fc.uniqueArray(fc.nat(3)),
  refusedAsPhoto: fc.uniqueArray(fc.nat(3)),
  refusedMethods: fc.subarray(["editMessageText", "deleteMessage"]),
});

describe("sendAnswer", () => {
  // @covers R78
  it("says the text whole and once, behind all images that could be sent, whatever is refused", async () => {
    await fc.assert(
      fc.asyncProperty(answers, async ({ text, images, shown, ...refusals }) => {
        fc.pre(shown !== text);
        const sent = images.map((mediaType) => ({
          mediaType,
          bytes: new Uint8Array(5),
          width: 4,
          height: 3,
        }));
        const items: Item[] = shown === undefined ? [] : [{ id: 1, text: shown, stale: true }];
        const chat = fickleChat((method, image) => {
          if (image === undefined) return refusals.refusedMethods.includes(method);
          const index = sent.indexOf(image as (typeof sent)[number]);
          return (
            refusals.refused.includes(index) ||
            (method === "sendPhoto" && refusals.refusedAsPhoto.includes(index))
          );
        }, items);
        const plan = planOutgoing({ text, images: sent });
        const failed = await sendAnswer(
          chat,
          plan,
          sent,
          shown === undefined ? undefined : { messageId: 1, text: shown },
        );

        const stale = items.some((item) => item.stale);
        if (stale) expect(refusals.refusedMethods).toContain("deleteMessage");
        const kept = items.filter((item) => !item.stale);
        const got = kept.filter(({ image }) => image !== undefined);
        expect(failed).toEqual(sent.flatMap((_, at) => (refusals.refused.includes(at) ? [at] : [])));
        expect(got.map(({ image }) => image)).toEqual(sent.filter((_, at) => !refusals.refused.includes(at)));
        const firstText = kept.findIndex((item) => item.text !== undefined);
        if (firstText >= 0)
          expect(kept.slice(firstText).every(({ image }) => image === undefined)).toBe(true);
        const said = kept.map((item) => item.text ?? item.caption ?? "").join("");
        expect(bare(said)).toBe(bare(text));
      }),
    );
  });
});

describe("pieces of a text", () => {
  /** Texts with line ends, spaces, runs of white space and characters of two code units. */
  const text = fc
    .array(
      fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom(" ", "\n", "\n\n\n", "😀", "a".repeat(9))),
    )
    .map((parts) => parts.join(""));

  describe("textPieces", () => {
    it("gives the text whole and in order, but for pieces of white space", () => {
      fc.assert(
        fc.property(text, fc.integer({ min: 2, max: 40 }), (source, maxUnits) => {
          let at = 0;
          for (const piece of textPieces(source, maxUnits)) {
            const found = source.indexOf(piece, at);
            expect(isBlank(source.slice(at, found))).toBe(true);
            at = found + piece.length;
          }
          expect(isBlank(source.slice(at))).toBe(true);
        }),
      );
    });

    it("leaves nothing out of a text without white space", () => {
      const words = text.map((source) => source.replace(/[\s\u200b-\u200f\u2060-\u2064]/g, ""));
      fc.assert(
        fc.property(words, fc.integer({ min: 2, max: 40 }), (source, maxUnits) => {
          expect(textPieces(source, maxUnits).join("")).toBe(source);
        }),
      );
    });

    it("makes no piece empty, blank, too long, or half of a character", () => {
      fc.assert(
        fc.property(text, fc.integer({ min: 2, max: 40 }), (source, maxUnits) => {
          for (const piece of textPieces(source, maxUnits)) {
            expect(isBlank(piece)).toBe(false);
            expect(piece.length).toBeLessThanOrEqual(maxUnits);
            expect(piece.isWellFormed()).toBe(true);
          }
        }),
      );
    });

    it("prefers the end of a line, then a space, where half of a piece is left", () => {
      expect(textPieces("one two\nthree four", 12)).toEqual(["one two\n", "three four"]);
      expect(textPieces("one two three", 8)).toEqual(["one two ", "three"]);
      expect(textPieces("a\nbcdefghijkl", 8)).toEqual(["a\nbcdefg", "hijkl"]);
    });

    it("cuts before a pair of surrogates and never inside", () => {
      expect(textPieces("aaa😀bbb", 4)).toEqual(["aaa", "😀bb", "b"]);
    });
  });
});

describe("calls for one chat", () => {
  const ada = 7;

  describe("editText", () => {
    it("takes it for done where the message has that text already", async () => {
      await using telegram = await startLocalBotApi();
      telegram.post(ada, { text: "Hi" });
      const chat = chatOf(botApi(telegram), ada, instantClock());
      const id = await chat.sendText("a");
      // Telegram strips the space.
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
});

describe("the growing message", () => {
  /** A chat that records its calls and their times. */
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
});
