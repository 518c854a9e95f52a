import { describe, expect, test } from "vitest";
import { setMedia, setResized } from "../../src/providers/attachments.js";
import { LossList } from "../../src/providers/losses.js";
import { gif, image, png } from "../attachments/samples.js";
import { attaching, plainTarget, pngOf, work } from "./samples.js";

const facts = { kind: "image", mediaType: "image/png", width: 2, height: 3, animated: false } as const;
const picture = png();
const small = pngOf({ width: 1, height: 2 });

describe("placeMedia", () => {
  test("puts bytes in their place, with what is known of them", () => {
    const one = work(image(1, { name: "a\0.png" }), 3, "user", 2);
    setMedia(one, picture, facts, attaching({ target: plainTarget({ rules: { refusesNul: true } }) }));
    expect(one.draft.media).toMatchObject({
      ...facts,
      type: "media",
      bytes: picture,
      name: "a\ufffd.png",
      resource: one.decided.resource,
      origin: { entryId: "m3", item: 3, block: 2 },
    });
  });

  test("takes the base64 that an inline image came with for the bytes that it came with, and no others", () => {
    const inline = { bytes: picture, base64: "as it came", declared: "image/png" };
    const one = { ...work(image(1)), inline };
    setMedia(one, picture, facts, attaching());
    expect(one.draft.media).toMatchObject({ base64: "as it came" });
    expect(one.draft.media?.resource).toBe(undefined);
    setMedia(one, small, facts, attaching());
    expect(one.draft.media).toMatchObject({ base64: Buffer.from(small).toString("base64") });
  });
});

describe("placeResized", () => {
  test("puts what came in place of what was there, with a loss", async () => {
    const one = work(image(1));
    const losses = new LossList();
    const asked: unknown[] = [];
    const resize = async (...given: unknown[]) => {
      asked.push(...given);
      return small;
    };
    const bounds = { maxSide: 2 };
    expect(await setResized(one, { bytes: picture, ...facts }, bounds, attaching({ losses, resize }))).toBe(
      undefined,
    );
    expect(asked).toEqual([{ bytes: picture, mediaType: "image/png", width: 2, height: 3 }, bounds]);
    expect(one.draft.media).toMatchObject({ bytes: small, width: 1, height: 2 });
    expect(losses.inOrder()).toMatchObject([
      { code: "resized", by: "limit", resourceId: image(1).resourceId },
    ]);
  });

  test("takes in a result what can be moved behind it", async () => {
    const one = work(image(1), 0, "toolResult");
    const target = plainTarget({ accepts: { user: ["image/gif"], toolResult: ["image/png"] } });
    const gave = (bytes: Uint8Array) =>
      setResized(one, { bytes: picture, ...facts }, {}, attaching({ target, resize: () => bytes }));
    expect(await gave(gif)).toBe(undefined);
    expect(one.draft.media?.mediaType).toBe("image/gif");
    expect(await gave(small)).toBe(undefined);
    expect(one.draft.media?.mediaType).toBe("image/png");
  });

  test("leaves all as it is where nothing came, and says why", async () => {
    const one = work(image(1));
    setMedia(one, picture, facts, attaching());
    const before = one.draft.media;
    const losses = new LossList();
    expect(await setResized(one, { bytes: picture, ...facts }, {}, attaching({ losses }))).toBe(
      "nobody can resize it",
    );
    const resize = () => gif;
    expect(await setResized(one, { bytes: picture, ...facts }, {}, attaching({ losses, resize }))).toBe(
      "it was resized to image/gif",
    );
    expect([one.draft.media, losses.inOrder()]).toEqual([before, []]);
  });
});
