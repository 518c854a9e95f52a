import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Chat, ChatImage } from "../../../../examples/apps/telegram-gateway/chat.js";
import { planOutgoing } from "../../../../examples/apps/telegram-gateway/plan-outgoing.js";
import { sendAnswer } from "../../../../examples/apps/telegram-gateway/send-answer.js";
import { TelegramError } from "../../../../examples/apps/telegram-gateway/telegram-error.js";

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
