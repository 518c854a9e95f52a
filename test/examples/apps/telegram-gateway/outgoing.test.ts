import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TelegramError } from "../../../../examples/apps/telegram-gateway/bot-api.js";
import {
  type Chat,
  type ChatImage,
  isBlank,
  type OutgoingImage,
  planOutgoing,
  sendAnswer,
} from "../../../../examples/apps/telegram-gateway/outgoing.js";

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

/** What is in a chat, in order; stale is what was shown before the answer was whole. */
type Item = { id: number; text?: string; image?: ChatImage; caption?: string; stale?: boolean };

/** A chat that refuses what it is told to, and keeps the rest. */
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
