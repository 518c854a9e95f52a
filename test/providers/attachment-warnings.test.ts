import {
  assistantMessage,
  type Context,
  contextFrom,
  memoryBlobStore,
  type ProjectOptions,
  project,
  toBody,
  toolResult,
  userMessage,
} from "sessile";
import { ingest, replayAlways, resourcesIn } from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { checkedTargets } from "../support/checked-targets.js";

/** A pixel, and a text behind its end, which decoders skip. */
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const png = (name: string) => Buffer.concat([Buffer.from(pixel, "base64"), Buffer.from(name)]);

/** Two images of the user, the second one twice, and two of a tool. */
async function imagesEverywhere() {
  const blobs = memoryBlobStore();
  const image = (name: string) => ingest({ bytes: png(name), name: `${name}.png` }, { blobs });
  const [one, two, three, four] = [
    await image("one"),
    await image("two"),
    await image("three"),
    await image("four"),
  ];
  const call = { type: "toolCall", id: "c1", name: "look", arguments: {} } as const;
  const context = contextFrom([
    userMessage("Look", one, two),
    assistantMessage({ provider: "p", model: "m" }, call),
    toolResult(call, "here", three, four, two),
  ]);
  return { blobs, context, bytes: ["one", "two", "three", "four"].map(png) };
}

const rejections: ReadonlySet<string> = new Set([
  "missing",
  "corrupt",
  "invalid",
  "unsupported",
  "overLimit",
]);

describe.each(checkedTargets)("$name", ({ name, target }) => {
  test("as JSON has the value alone, no byte as a number, and no base64 twice", async () => {
    const { blobs, context, bytes } = await imagesEverywhere();
    const projection = await project(context, target, { blobs, replay: replayAlways });
    const json = JSON.stringify(projection);
    expect(json).toBe(new TextDecoder().decode(Buffer.concat([...toBody(projection)])));
    expect(JSON.stringify([projection])).toBe(`[${json}]`);
    for (const text of [json, JSON.stringify(projection.request)]) {
      expect(text).not.toMatch(/"0":\d+,"1":|\[137,80,/);
      // The value for Codex has paths, which the test makes of base64.
      const most = text === json && name.startsWith("codex") ? 2 : 1;
      for (const each of bytes)
        expect(text.split(each.toString("base64")).length - 1).toBeLessThanOrEqual(most);
    }
    const isSent = projection.attachments.some(({ sent }) => sent === "bytes");
    expect(JSON.stringify(projection.request).includes(pixel.slice(0, 60))).toBe(isSent);
  });

  /** The warnings of attachments, of which each names what was rejected, once, and nothing else. */
  async function warned(context: Context, options: ProjectOptions) {
    const { warnings, attachments } = await project(context, target, { replay: replayAlways, ...options });
    const own = warnings.filter(({ code }) => code === "noBlobs" || code === "notSent");
    const text = own.map(({ message }) => message).join("\n");
    const resources = resourcesIn(context.items.map(({ message }) => message));
    expect(resources).toHaveLength(4);
    for (const { resourceId: id } of resources) {
      const reports = attachments.filter(({ resourceId }) => resourceId === id);
      const isRejected = reports.some(({ reason }) => rejections.has(reason));
      expect(text.split(id).length - 1, id).toBe(isRejected ? 1 : 0);
    }
    return { codes: own.map(({ code }) => code), attachments };
  }

  test("warns once of each image that is described and not sent", async () => {
    const { blobs, context } = await imagesEverywhere();
    await warned(context, { blobs });
    const lost = await warned(context, { blobs: memoryBlobStore() });
    const without = await warned(context, {});
    expect(lost.codes).not.toContain("noBlobs");
    const isUnread = without.attachments.some(({ reason }) => reason === "missing");
    expect(without.codes.includes("noBlobs")).toBe(isUnread);
  });
});

const image = { type: "image", data: png("inline").toString("base64"), mimeType: "image/png" } as const;

test.each(["anthropic", "openai"])("names an inline image by its place: %s", async (name) => {
  const { target } = checkedTargets.find((each) => each.name.startsWith(name)) ?? {};
  if (target === undefined) throw new Error(`no target ${name}`);
  const { warnings } = await project(
    contextFrom([{ role: "user", content: [image, image], timestamp: 0 }]),
    { ...target, accepts: { user: [], toolResult: [] } },
    {},
  );
  expect(warnings).toMatchObject([
    {
      code: "notSent",
      message: expect.stringMatching(/: the image of m0, block 0, the image of m0, block 1$/),
    },
  ]);
});
