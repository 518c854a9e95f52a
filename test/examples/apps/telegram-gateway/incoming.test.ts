import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planIncoming } from "../../../../examples/apps/telegram-gateway/incoming.js";

const none: ReadonlySet<string> = new Set();
const ada = { id: 7, is_bot: false, first_name: "Ada", last_name: "Byron" };

function update(message: object) {
  return {
    update_id: 1,
    message: { message_id: 5, date: 1_790_000_000, chat: { id: 42 }, from: ada, ...message },
  };
}

const plan = (message: object, albums = none) => planIncoming(update(message), albums);
const size = (file_id: string, width: number, height: number, file_size?: number) => ({
  file_id,
  width,
  height,
  file_size,
});

describe("planIncoming", () => {
  it("takes anything at all, and gives what can be kept as JSON", () => {
    const odd = fc.record(
      {
        chat: fc.oneof(fc.constant({ id: 42 }), fc.anything()),
        from: fc.anything(),
        text: fc.anything(),
        caption: fc.anything(),
        photo: fc.oneof(fc.array(fc.oneof(fc.anything(), fc.constant(size("a", 1, 1)))), fc.anything()),
        document: fc.anything(),
        media_group_id: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), odd.map(update)), (value) => {
        const made = planIncoming(value, none);
        expect(JSON.parse(JSON.stringify(made))).toEqual(made);
      }),
    );
  });

  it("takes a text with who wrote it", () => {
    const user = { id: "7", name: "Ada Byron" };
    expect(plan({ text: "Hi" })).toEqual({ kind: "message", chatId: 42, text: "Hi", user });
    expect(plan({ text: "Hi", from: undefined })).toEqual({ kind: "message", chatId: 42, text: "Hi" });
  });

  // @covers R72
  it("R72 takes the largest photo by its area, wherever it stands", () => {
    const sizes = fc.uniqueArray(
      fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 5000 })),
      {
        minLength: 1,
        selector: ([width, height]) => width * height,
      },
    );
    fc.assert(
      fc.property(sizes, (all) => {
        const made = plan({
          photo: all.map(([width, height]) => size(`${width}x${height}`, width, height, 1000)),
        });
        const [width, height] = all.reduce((most, one) => (one[0] * one[1] > most[0] * most[1] ? one : most));
        expect(made).toMatchObject({ kind: "message", photo: { fileId: `${width}x${height}`, size: 1000 } });
      }),
    );
  });

  // @covers R73
  it.each(["image/png", "image/jpeg", "image/gif", "image/webp", "IMAGE/PNG"])(
    "R73 takes a document that is said to be %s as a photo",
    (mime_type) => {
      const made = plan({ document: { file_id: "d", file_size: 9, mime_type }, caption: "This" });
      expect(made).toMatchObject({ kind: "message", text: "This", photo: { fileId: "d", size: 9 } });
    },
  );

  it("says which images it takes to who sends another", () => {
    const made = plan({ document: { file_id: "d", mime_type: "image/heic" } });
    expect(made).toEqual({
      kind: "reply",
      chatId: 42,
      text: "I can look at PNG, JPEG, GIF and WebP images.",
    });
  });

  // @covers R74
  it("R74 makes the caption the text, and a photo without one has none", () => {
    expect(plan({ photo: [size("a", 1, 1)], caption: "What is it?" })).toMatchObject({ text: "What is it?" });
    expect(plan({ photo: [size("a", 1, 1)] })).toMatchObject({ text: "", photo: { fileId: "a" } });
  });

  // @covers R75
  it("R75 takes the first photo of an album alone", () => {
    const albums = new Set<string>();
    const plans = ["a", "b", "c"].map((id) => {
      const made = plan({ photo: [size(id, 1, 1)], media_group_id: "99" }, albums);
      if (made.kind === "message" && made.album !== undefined) albums.add(made.album);
      return made;
    });
    expect(plans[0]).toMatchObject({ kind: "message", photo: { fileId: "a" } });
    expect(plans.slice(1)).toEqual([1, 2].map(() => ({ kind: "ignore", why: "album" })));
    const elsewhere = plan({ photo: [size("a", 1, 1)], media_group_id: "99", chat: { id: 43 } }, albums);
    expect(elsewhere.kind).toBe("message");
  });

  // @covers R76
  it("R76 refuses what is said to be too large before it is fetched", () => {
    const limit = 10 * 2 ** 20;
    expect(plan({ photo: [size("a", 1, 1, limit)] })).toMatchObject({ kind: "message" });
    expect(plan({ photo: [size("a", 1, 1, 15 * 2 ** 20)] })).toEqual({
      kind: "reply",
      chatId: 42,
      text: "That image is too large: 15 MiB (max 10 MiB).",
    });
    expect(plan({ photo: [size("a", 1, 1, limit + 1)] })).toMatchObject({
      text: "That image is too large: 10.1 MiB (max 10 MiB).",
    });
  });

  // @covers R77
  it.each(["sticker", "video", "audio", "voice", "animation", "video_note", "location", "new_chat_title"])(
    "R77 ignores a message with %s",
    (kind) => {
      expect(plan({ [kind]: { file_id: "x" }, caption: "See" })).toEqual({ kind: "ignore", why: "kind" });
    },
  );

  it("ignores documents that are no images, other updates, and bots", () => {
    const pdf = { file_id: "d", mime_type: "application/pdf" };
    expect(plan({ document: pdf, caption: "Read" })).toEqual({ kind: "ignore", why: "kind" });
    expect(planIncoming({ update_id: 1, edited_message: {} }, none)).toEqual({
      kind: "ignore",
      why: "notAMessage",
    });
    expect(plan({ text: "Hi", from: { ...ada, is_bot: true } })).toEqual({ kind: "ignore", why: "bot" });
  });
});
