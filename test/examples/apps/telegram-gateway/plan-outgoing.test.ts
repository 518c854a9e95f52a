import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isBlank } from "../../../../examples/apps/telegram-gateway/pieces.js";
import {
  type OutgoingImage,
  planOutgoing,
} from "../../../../examples/apps/telegram-gateway/plan-outgoing.js";

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
