import fc from "fast-check";
import { assistantMessage, digest, type ImageBlock, toolResult, userMessage } from "sessile";
import { sniff } from "sessile/media";
import { describe, expect, test } from "vitest";
import { inlineAsResources } from "../../src/attachments/internal.js";
import { madeImage } from "../arbitraries/media.js";
import { base64, bytesOf, contextWith, gif, image, png } from "./samples.js";

const block = (data: string, mimeType = "image/png"): ImageBlock => ({ type: "image", data, mimeType });
const user = (...content: readonly ImageBlock[]) => ({ ...userMessage("x"), content });

/** What an image block is read as. */
function read(one: ImageBlock) {
  const { context, images } = inlineAsResources(contextWith([user(one)]), true);
  const { message } = context.items[0] as (typeof context.items)[number];
  const [first] = message.role === "user" && typeof message.content !== "string" ? message.content : [];
  const resource = first?.type === "text" ? first.resource : undefined;
  if (resource === undefined || resource.kind === "link") return expect.fail("no resource");
  return { resource, ...images.get(resource.resourceId) };
}

describe("inlineAsResources", () => {
  test("makes a resource of each image, as its bytes tell", () => {
    fc.assert(
      fc.property(
        madeImage,
        fc.constantFrom("image/png", "image/jpeg", "", "text/plain"),
        ({ bytes, media }, said) => {
          const { resource, ...inline } = read(block(base64(bytes), said));
          const { mediaType, width, height } = media;
          expect(resource).toMatchObject({ kind: "image", mediaType, width, height, size: bytes.length });
          expect(resource).toMatchObject({ blob: digest(bytes), contentSha256: digest(bytes).slice(7) });
          // Matching hundreds of thousands of numbers one by one takes seconds.
          expect(Buffer.from(inline.bytes ?? []).equals(bytes)).toBe(true);
          expect(inline.base64).toBe(base64(bytes));
        },
      ),
      { numRuns: 20 },
    );
  });

  test("reads base64 as other writers have it: without padding, in lines, of the URL's alphabet", () => {
    const loosely = [
      (text: string) => text.replace(/=+$/, ""),
      (text: string) => text.replace(/.{76}/g, "$&\r\n"),
      (text: string) => `\n ${text}\t\f`,
      (text: string) => text.replaceAll("+", "-").replaceAll("/", "_"),
    ];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.subarray(loosely), (bytes, changes) => {
        const strict = base64(bytes);
        const data = changes.reduce((text, change) => change(text), strict);
        const { bytes: decoded, base64: kept } = read(block(data));
        expect(decoded).toEqual(bytes);
        expect(kept).toBe(data === strict ? strict : undefined);
      }),
    );
  });

  test.each(["not base64!", "Zg==Zg==", "Z", "====", "é", "data:image/png;base64,Zm9v", "Zm\0v"])(
    "has no bytes where the data is %j",
    (data) => {
      expect(read(block(data))).toMatchObject({ bytes: undefined, base64: undefined, resource: { size: 0 } });
    },
  );

  test.each([
    ["image/heic", "image/heic"],
    ["IMAGE/JPG; q=1", "image/jpeg"],
    ["text/html", "image/png"],
    ['image/png","a":"', "image/png"],
    ["image/\n", "image/png"],
  ])("takes an image for what it is said to be where its bytes do not tell: %j is %s", (said, expected) => {
    const { resource, declared } = read(block(base64(Uint8Array.of(0, 1)), said));
    expect([resource.mediaType, declared]).toEqual([expected, expected]);
  });

  test("does not compute a digest that is not needed", () => {
    const { context } = inlineAsResources(contextWith([user(block(base64(gif)))]), false);
    expect(JSON.stringify(context.items)).toContain(`sha256:${"0".repeat(64)}`);
  });

  test("leaves all else as it is, and the context too", () => {
    const shown = contextWith([
      userMessage("a", image(1)),
      assistantMessage({ provider: "p", model: "m" }, "b"),
    ]);
    expect(inlineAsResources(shown, true).context).toBe(shown);
    const [first, second] = [block(base64(png())), block(base64(gif))];
    const mixed = contextWith([
      userMessage("a"),
      { ...toolResult({ id: "c", name: "t" }), content: [first, second] },
    ]);
    const before = structuredClone(mixed);
    const { context, images } = inlineAsResources(mixed, true);
    expect(mixed).toEqual(before);
    expect(context.items[0]).toBe(mixed.items[0]);
    expect([...images.keys()]).toEqual(["inline_1_0", "inline_1_1"]);
    expect([...images.values()].map(({ bytes }) => sniff(bytes ?? bytesOf(""))?.mediaType)).toEqual([
      "image/png",
      "image/gif",
    ]);
  });

  test("gives ids that nothing else in the context has", () => {
    const views = [{ item: 0, resourceId: "inline_0_0" }];
    const resource = image(1, { resourceId: "inline_0_0_" });
    const context = contextWith([user(block(base64(gif))), userMessage("x", resource)], views);
    expect([...inlineAsResources(context, true).images.keys()]).toEqual(["inline_0_0__"]);
  });
});
