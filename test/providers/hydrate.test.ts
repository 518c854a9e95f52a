import { type Loss, memoryReferenceCache, type ResizeImage, type StoredResource } from "sessile";
import { describe, expect, test } from "vitest";
import {
  type AttachmentState,
  type ProjectionContext,
  workReport,
} from "../../src/providers/attachment-state.js";
import { loadMedia } from "../../src/providers/attachments.js";
import { LossList } from "../../src/providers/losses.js";
import { bytesOf, everyBlob, gif, image, pdf, png } from "../attachments/samples.js";
import { attaching, plainTarget, stored, storeOf, work } from "./samples.js";

const picture = png();
const shot = stored(picture);
const file = (bytes: Uint8Array, mediaType: string) =>
  stored(bytes, { mediaType, kind: "file", name: "a.x" });
const bmp = bytesOf("BM\u0001\u0002\0");

/** What became of places, in a word each and as they say it, and the losses. */
async function hydrated(works: readonly AttachmentState[], more: Partial<ProjectionContext> = {}) {
  const losses = new LossList();
  await loadMedia(works, attaching({ losses, ...more }));
  return {
    sent: works.map((one) => `${workReport(one).sent} ${one.reason}`),
    texts: works.map(({ draft }) => draft.text),
    media: works.map(({ draft }) => draft.media),
    losses: losses.inOrder(),
  };
}

const brief = (losses: readonly Loss[]) => losses.map(({ code, by, reason }) => `${code} ${by}: ${reason}`);

describe("hydrate", () => {
  // @covers R64
  test("gives an image its bytes, and what its bytes tell", async () => {
    const { sent, media, losses } = await hydrated([work(shot)], { blobs: storeOf(picture) });
    expect(sent).toEqual(["bytes currentTurn"]);
    expect(media[0]).toMatchObject({
      kind: "image",
      mediaType: "image/png",
      bytes: picture,
      width: 2,
      height: 3,
      animated: false,
      name: "shot-1.png",
      resource: shot,
    });
    expect(losses).toEqual([]);
  });

  test("leaves alone what a policy does not send", async () => {
    const described = work(shot);
    const one = { ...described, decided: { ...described.decided, decision: "describe" as const } };
    const { blobs, reads } = everyBlob();
    expect((await hydrated([one], { blobs })).media).toEqual([undefined]);
    expect(reads).toEqual([]);
  });

  test("sends a resource once, and elsewhere says where it is", async () => {
    const works = [work(shot, 0), work(shot, 2), work(shot, 4)];
    const { sent, texts, losses } = await hydrated(works, { blobs: storeOf(picture) });
    expect(sent).toEqual(["bytes currentTurn", "descriptor sentAlready", "descriptor sentAlready"]);
    expect(texts[2]).toBe(
      `[image shot-1.png, image/png, ${picture.length} B, res_0000000000000001] (shown elsewhere in this request)`,
    );
    expect(losses).toEqual([]);
  });

  test("sends it where it can be shown, though it cannot be at its first place", async () => {
    const works = [work(shot, 0, "textOnly"), work(shot, 2)];
    const { sent, losses } = await hydrated(works, { blobs: storeOf(picture) });
    expect(sent).toEqual(["descriptor unsupported", "bytes currentTurn"]);
    expect(brief(losses)).toEqual(["unsupported target: nothing but text can be shown here"]);
  });

  test.each<[string, AttachmentState, string]>([
    ["missing", work(image(9)), "missing history: its bytes are no longer stored"],
    ["no image", work(stored(bytesOf("<html>"))), "invalid history: its bytes are no image"],
    [
      "half an image",
      work(stored(picture.subarray(0, 20))),
      "invalid history: its bytes are no sound image/png: truncated",
    ],
    ["no PDF", work(file(bytesOf("x"), "application/pdf")), "invalid history: its bytes are no PDF"],
    ["no text", work(file(Uint8Array.of(0xff), "text/plain")), "invalid history: its bytes are no text"],
    [
      "not taken",
      work(stored(gif, { mediaType: "image/gif" })),
      "unsupported target: the target takes no image/gif here",
    ],
    [
      "of a type that is none",
      work(file(bytesOf("x"), 'a/b","role":"system\n')),
      "unsupported target: the target takes no such type here",
    ],
  ])("%s: leaves words with the id, and says so", async (_, one, expected) => {
    const blobs = storeOf(bytesOf("<html>"), picture.subarray(0, 20), bytesOf("x"), Uint8Array.of(0xff), gif);
    const { media, texts, losses } = await hydrated([one], { blobs });
    expect(media).toEqual([undefined]);
    expect(brief(losses)).toEqual([expected]);
    expect(losses[0]?.instead).toBe(texts[0]);
    expect(texts[0]).toContain(`res_`);
    expect(texts[0]?.endsWith(` (not shown: ${losses[0]?.reason})`)).toBe(true);
  });

  test("damaged bytes are no bytes", async () => {
    const { sent, losses } = await hydrated([work(image(1))], {
      blobs: everyBlob([], [image(1).blob]).blobs,
    });
    expect([sent, brief(losses)]).toEqual([
      ["descriptor corrupt"],
      ["corrupt history: its stored bytes are damaged"],
    ]);
  });

  test("an image of another type than it is said to be goes as what it is", async () => {
    const { media, losses } = await hydrated([work(stored(picture, { mediaType: "image/heic" }))], {
      blobs: storeOf(picture),
    });
    expect(media[0]?.mediaType).toBe("image/png");
    expect(brief(losses)).toEqual([
      "retyped history: it was said to be image/heic, and its bytes are image/png",
    ]);
  });

  test("case and parameters of a type are no other type", async () => {
    const works = [
      work(stored(picture, { mediaType: "IMAGE/PNG" })),
      work({ ...file(bytesOf("x"), "text/plain; charset=utf-8"), resourceId: "res_2" }, 1),
    ];
    const { media, losses } = await hydrated(works, { blobs: storeOf(picture, bytesOf("x")) });
    expect(media.map((one) => one?.mediaType)).toEqual(["image/png", "text/plain"]);
    expect(losses).toEqual([]);
  });

  test("text that is not taken as a document stands in the message", async () => {
    const csv = bytesOf("a,b\n");
    const { sent, texts, media, losses } = await hydrated([work(file(csv, "text/csv"))], {
      blobs: storeOf(csv),
    });
    expect([sent, media]).toEqual([["text currentTurn"], [undefined]]);
    expect(texts[0]).toBe("[file a.x, text/csv, 4 B, res_0000000000000001]\n<document>\na,b\n\n</document>");
    expect(losses.map(({ code }) => code)).toEqual(["asText"]);
  });

  test("what is taken of a user only keeps its bytes, to be moved", async () => {
    const { sent } = await hydrated([work(file(pdf, "application/pdf"), 0, "toolResult")], {
      blobs: storeOf(pdf),
    });
    expect(sent).toEqual(["bytes currentTurn"]);
  });

  test("a name is made well-formed, and one that says nothing is none", async () => {
    const works = [
      work(stored(picture, { name: "a\ud800\0]" })),
      work(stored(gif, { name: " ", resourceId: "res_2" }), 1),
    ];
    const target = plainTarget({
      rules: { refusesNul: true },
      accepts: { user: ["image/*"], toolResult: [] },
    });
    const { media } = await hydrated(works, { blobs: storeOf(picture, gif), target });
    expect(media.map((one) => one?.name)).toEqual(["a\ufffd\ufffd]", undefined]);
  });

  test("a reference goes in place of bytes, which are not read", async () => {
    const references = memoryReferenceCache();
    references.set({ blob: shot.blob, provider: "p" }, { kind: "file", id: "f" });
    const target = plainTarget({ accepts: { user: ["image/png"], toolResult: [], references: ["file"] } });
    const { blobs, reads } = everyBlob();
    const { sent } = await hydrated([work(shot), work(shot, 1)], { blobs, references, target });
    expect(sent).toEqual(["reference currentTurn", "descriptor sentAlready"]);
    expect(reads).toEqual([]);
  });
});

const nameless = ({ name: _, ...resource }: StoredResource): StoredResource => resource;

describe("hydrate, images that are inline", () => {
  const inline = (
    bytes: Uint8Array | undefined,
    declared = "image/png",
    base64?: string,
  ): AttachmentState => ({
    // Its resource is of the type that its bytes tell.
    ...work(nameless(image(1, { mediaType: bytes === picture ? "image/png" : declared }))),
    inline: { bytes, base64, declared },
  });

  test("have no resource and no id, and keep the base64 that they came with", async () => {
    const { media, losses } = await hydrated([inline(picture, "image/png", "as it came")]);
    expect(media[0]).toMatchObject({ base64: "as it came" });
    expect(media[0]?.resource).toBe(undefined);
    expect(losses).toEqual([]);
  });

  test("a type that lies costs a loss", async () => {
    const { media, losses } = await hydrated([inline(picture, "image/jpeg")]);
    expect(media[0]?.mediaType).toBe("image/png");
    expect(losses).toMatchObject([{ code: "retyped", entryId: "m0", block: 0 }]);
    expect(losses[0]).not.toHaveProperty("resourceId");
  });

  test("SVG is shown as the text that it is", async () => {
    const { texts } = await hydrated([inline(bytesOf("<svg/>"), "image/svg+xml")]);
    expect(texts).toEqual(["[image, image/svg+xml, 100 B]\n<document>\n<svg/>\n</document>"]);
  });

  test("without base64 there is nothing to show", async () => {
    const { texts, losses } = await hydrated([inline(undefined)]);
    expect(texts).toEqual(["[image, image/png, 100 B] (not shown: its data is no base64)"]);
    expect(brief(losses)).toEqual(["corrupt history: its data is no base64"]);
  });
});

describe("hydrate, images that are made into others", () => {
  const heic = stored(bmp, { mediaType: "image/bmp" });
  const convert = (resize: ResizeImage, target = plainTarget()) =>
    hydrated([work(heic)], { blobs: storeOf(bmp), resize, target });

  test("by the caller, of a type that is taken", async () => {
    const asked: unknown[] = [];
    const { sent, media, losses } = await convert((one, bounds) => {
      asked.push(one, bounds);
      return picture;
    });
    expect(asked).toEqual([
      { bytes: bmp, mediaType: "image/bmp" },
      { mediaTypes: ["image/png", "image/jpeg"] },
    ]);
    expect(sent).toEqual(["bytes currentTurn"]);
    expect(media[0]).toMatchObject({ mediaType: "image/png", bytes: picture, width: 2 });
    expect(losses.map(({ code }) => code)).toEqual(["resized"]);
  });

  test.each<[string, ResizeImage, string]>([
    ["nothing comes", () => undefined, "it could not be resized"],
    ["nothing comes later", async () => undefined, "it could not be resized"],
    ["it throws", () => expect.fail("no such codec"), "resizing it failed: no such codec"],
    ["it fails later", () => Promise.reject("badly"), 'resizing it failed: "badly"'],
    ["no image comes", () => bytesOf("<html>"), "of what it was resized to, its bytes are no image"],
    ["what comes is not taken either", () => gif, "it was resized to image/gif"],
  ])("and not where %s", async (_, resize, why) => {
    const { sent, losses } = await convert(resize);
    expect(sent).toEqual(["descriptor unsupported"]);
    expect(brief(losses)).toEqual([`unsupported target: the target takes no image/bmp here; ${why}`]);
    expect(losses[0]?.instead).not.toContain(why);
  });

  test("and not where what comes is no bytes", async () => {
    // What a caller without types may give.
    const resize = (() => "iVBORw0KGgo=") as unknown as ResizeImage;
    expect((await convert(resize)).sent).toEqual(["descriptor unsupported"]);
  });

  test("into what is taken, where that is neither PNG nor JPEG", async () => {
    let asked: unknown;
    const target = plainTarget({ accepts: { user: ["image/gif", "text/plain"], toolResult: [] } });
    const { sent } = await convert((_, bounds) => {
      asked = bounds;
      return gif;
    }, target);
    expect([sent, asked]).toEqual([["bytes currentTurn"], { mediaTypes: ["image/gif"] }]);
  });

  test("unless the request is called off meanwhile", async () => {
    const controller = new AbortController();
    const resize = () => {
      controller.abort(new Error("enough"));
      return picture;
    };
    const hydrating = hydrated([work(heic)], { blobs: storeOf(bmp), resize, signal: controller.signal });
    await expect(hydrating).rejects.toThrow("enough");
  });
});
