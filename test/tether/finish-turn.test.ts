import { ingest } from "sessile/attachments";
import { memoryBlobStore } from "sessile/blobs";
import {
  assistantMessage,
  type ContextMessage,
  contextOf,
  type StoredResource,
  type ToolResultMessage,
  toolResult,
  userMessage,
} from "sessile/content";
import { finishTurn, producedImages, readFrame, tetherLimits } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { base64, gif, image, pdf, png } from "../attachments/samples.js";
import { pngOf, to } from "./samples.js";

const model = { provider: "p", model: "m" };
const blobs = memoryBlobStore();
const call = (id: string) => ({ type: "toolCall", id, name: "plot", arguments: {} }) as const;
const asked = (id: string) => assistantMessage(model, call(id));
const gave = (id: string, ...parts: Parameters<typeof toolResult>[1][]) => toolResult(call(id), ...parts);
const finish = (...messages: readonly ContextMessage[]) => finishTurn(to, contextOf(messages), { blobs });

const chart = await ingest({ bytes: png(4, 5) }, { blobs, source: "tool" });
const older = await ingest({ bytes: gif }, { blobs, source: "tool" });
const inline = { type: "image", data: base64(png(6, 7)), mimeType: "image/png" } as const;
const withInline: ToolResultMessage = {
  ...gave("c9", "see"),
  content: [{ type: "text", text: "see" }, inline],
};

describe("producedImages", () => {
  test("are those of the current turn's results, oldest first, inline ones too", () => {
    const context = contextOf([
      userMessage("before"),
      asked("c1"),
      gave("c1", older),
      assistantMessage(model, "There."),
      userMessage("now", image(7)),
      asked("c2"),
      gave("c2", "Drawn.", chart),
      asked("c9"),
      withInline,
      assistantMessage(model, "Here."),
    ]);
    expect(producedImages(context)).toEqual([chart, inline]);
  });

  test("are what the model itself drew, too, and never what the user showed", () => {
    const drew = { type: "text", text: "[image]", resource: chart } as const;
    const context = contextOf([userMessage(image(7)), assistantMessage(model, "So:", drew)]);
    expect(producedImages(context)).toEqual([chart]);
  });

  test("are not what a view of the turn shows again, unless a tool made it before in the turn", () => {
    const old = [userMessage("look", image(7)), assistantMessage(model, "Seen.")];
    const messages = [...old, userMessage("again"), asked("c1"), gave("c1", chart)];
    const context = contextOf([
      ...messages,
      asked("c2"),
      gave("c2", image(7)),
      asked("c3"),
      gave("c3", chart),
    ]);
    const { resourceId } = image(7);
    const viewOf = (id: string, item: number) => ({ entryId: `v${item}`, resourceId: id, item });
    expect(producedImages(context)).toEqual([chart, image(7), chart]);
    const views = [viewOf(resourceId, 6), viewOf(chart.resourceId, 8)];
    expect(producedImages({ ...context, views })).toEqual([chart]);
    // Of an earlier turn, as a program may ask for it.
    expect(producedImages({ ...context, views: [viewOf(resourceId, 1)] })).toEqual([chart, image(7), chart]);
  });

  test("are no files and no links", async () => {
    const file = await ingest({ bytes: pdf }, { blobs });
    const link = ingest({ link: "https://example.com/a.png" });
    expect(producedImages(contextOf([userMessage("go"), asked("c1"), gave("c1", file, link)]))).toEqual([]);
  });

  test("are none without messages", () => {
    expect(producedImages(contextOf([]))).toEqual([]);
  });
});

describe("finishTurn", () => {
  test("of text alone is what it always was", async () => {
    const { frame, left } = await finish(userMessage("hi"), assistantMessage(model, "Hello."));
    expect(left).toEqual([]);
    expect(frame).toMatchObject({ v: 1, type: "assistant.done", session: to });
    expect(frame.payload).toEqual({ text: "Hello." });
  });

  test("sends what tools made in this turn along with the answer", async () => {
    const { frame } = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", "Drawn.", chart),
      asked("c9"),
      withInline,
      assistantMessage(model, "Here."),
    );
    expect(frame.payload).toEqual({
      text: "Here.",
      images: [
        { media_type: "image/png", data: base64(png(4, 5)) },
        { media_type: "image/png", data: inline.data },
      ],
    });
    expect(readFrame(JSON.stringify(frame)).kind).toBe("assistantDone");
  });

  test("sends what it is told to in place of that, as an agent attaches one by itself", async () => {
    const context = contextOf([
      userMessage("draw"),
      asked("c1"),
      gave("c1", chart),
      assistantMessage(model, "Here."),
    ]);
    const { frame } = await finishTurn(to, context, { blobs, images: [older], msgId: "m1" });
    expect(frame).toMatchObject({ msg_id: "m1", payload: { images: [{ media_type: "image/gif" }] } });
    expect((await finishTurn(to, context, { blobs, images: [] })).frame.payload).toEqual({ text: "Here." });
  });

  test("tells of an image that is gone, and keeps the answer", async () => {
    const gone = image(1);
    const { frame, left } = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", gone),
      assistantMessage(model, "Here."),
    );
    expect(frame.payload).toEqual({ text: "Here." });
    expect(left).toEqual([{ image: gone, reason: "missing" }]);
  });

  test.each([
    [
      "a turn without an answer",
      [userMessage("a"), assistantMessage(model, "Earlier."), userMessage("b")],
      "",
    ],
    [
      "a turn that ended with a result",
      [userMessage("a"), assistantMessage(model, "I look.", call("c1")), gave("c1", "x")],
      "I look.",
    ],
    ["no messages", [], ""],
    ["text in pieces", [userMessage("a"), assistantMessage(model, "One ", "piece.")], "One piece."],
    [
      "text around something else",
      [
        userMessage("a"),
        assistantMessage(model, "Before.", { type: "thinking", thinking: "hm" }, "", "After."),
      ],
      "Before.\n\nAfter.",
    ],
    [
      "an answer that an error ended",
      [
        userMessage("a"),
        assistantMessage({ ...model, stopReason: "error", errorMessage: "Overloaded." }, "It is"),
      ],
      "It is\n\nOverloaded.",
    ],
    [
      "an answer that never began",
      [userMessage("a"), assistantMessage({ ...model, stopReason: "aborted", errorMessage: "Stopped." })],
      "Stopped.",
    ],
    [
      "a whole answer with an error of before",
      [userMessage("a"), assistantMessage({ ...model, errorMessage: "Once." }, "Fine.")],
      "Fine.",
    ],
  ] as const)("of %s has its text", async (_what, messages, text) => {
    expect((await finish(...messages)).frame.payload).toEqual({ text });
  });

  test("leaves images out that would be too long for the wire beside the text", {
    timeout: 60_000,
  }, async () => {
    const large: StoredResource[] = await Promise.all(
      [1, 2].map((grey) => ingest({ bytes: pngOf(10 * 2 ** 20, grey) }, { blobs, source: "tool" })),
    );
    const text = "\u0001".repeat(400_000);
    const { frame, left } = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", ...large),
      assistantMessage(model, text),
    );
    expect(left).toEqual([{ image: large[1], reason: "frameBytes" }]);
    expect(JSON.stringify(frame).length).toBeLessThan(tetherLimits.maxWireBytes);
    const short = await finish(
      userMessage("draw"),
      asked("c1"),
      gave("c1", ...large),
      assistantMessage(model, "Both."),
    );
    expect(short.left).toEqual([]);
    expect(JSON.stringify(short.frame).length).toBeLessThan(tetherLimits.maxWireBytes);
  });

  test("counts what a conversation is called: an answer is not lost for an image beside a long name", {
    timeout: 60_000,
  }, async () => {
    const large = await ingest({ bytes: pngOf(10 * 2 ** 20, 3) }, { blobs, source: "tool" });
    const context = contextOf([userMessage("draw"), assistantMessage(model, "Here.")]);
    const id = "i".repeat(15 * 2 ** 20);
    const { frame, left } = await finishTurn({ channel: "mcp", id }, context, { blobs, images: [large] });
    expect(left).toEqual([{ image: large, reason: "frameBytes" }]);
    expect(frame.payload).toEqual({ text: "Here." });
  });

  test("is never too long for the wire beside its images, to the byte", { timeout: 60_000 }, async () => {
    const options = { blobs, images: [chart], msgId: "m" };
    const bytesOf = (frame: object) => Buffer.byteLength(JSON.stringify(frame));
    const withText = (length: number) =>
      finishTurn(to, contextOf([userMessage("draw"), assistantMessage(model, "x".repeat(length))]), options);
    const { frame } = await withText(1);
    const most = tetherLimits.maxWireBytes - bytesOf(frame) + 1;
    const over = await withText(most + 1);
    expect(over.left).toEqual([{ image: chart, reason: "frameBytes" }]);
    expect(bytesOf((await withText(most - 512)).frame)).toBe(tetherLimits.maxWireBytes - 512);
  });

  test("refuses a text that is too long for the wire by itself, before it reads an image", {
    timeout: 60_000,
  }, async () => {
    const read: string[] = [];
    const get: typeof blobs.get = (ref) => {
      read.push(ref);
      return blobs.get(ref);
    };
    const context = contextOf([userMessage("draw"), assistantMessage(model, "\u0001".repeat(2 ** 27))]);
    await expect(finishTurn(to, context, { blobs: { get }, images: [chart] })).rejects.toThrow(
      /^frame too large: /,
    );
    expect(read).toEqual([]);
  });
});
