import { assistantMessage, contextFrom, type ImageBlock, userMessage } from "sessile";
import type { LeakageBoundary, Transfer } from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { dropRefusedAttachments, dropRefusedNotes } from "../../src/attachments/internal.js";
import { base64, image, png } from "./samples.js";

const inline: ImageBlock = { type: "image", data: base64(png()), mimeType: "image/png" };
const summary = {
  role: "compactionSummary",
  summary: `Done.\n\n<covered-resources>\n- ${image(9).resourceId}, image\n</covered-resources>`,
  details: { resources: [{ resourceId: image(9).resourceId, resource: image(9) }] },
  tokensBefore: 1,
  timestamp: 0,
} as const;
const answer = assistantMessage({ provider: "p", model: "m" }, "ok");
const { items } = contextFrom([
  summary,
  userMessage("see", image(1)),
  answer,
  { ...userMessage(""), content: [inline, { type: "text", text: "x", resource: image(2) }] },
]);

function recording(verdict: (id: string) => "allow" | "refuse") {
  const asked: (Transfer & { readonly id: string })[] = [];
  const boundary: LeakageBoundary = (resource, transfer) => {
    asked.push({ id: resource.resourceId, ...transfer });
    return verdict(resource.resourceId);
  };
  return { boundary, asked };
}

describe("dropRefusedAttachments", () => {
  test("asks about each occurrence in order, with its position among all items", async () => {
    const { boundary, asked } = recording(() => "allow");
    const some = [items[0], items[3]].filter((item) => item !== undefined);
    expect(await dropRefusedAttachments(some, { target: "t", boundary, among: items })).toEqual(some);
    const two = image(2).size;
    expect(asked.map(({ place }) => place)).toEqual([
      {
        entryId: "m0",
        item: 0,
        currentTurn: false,
        viewed: false,
        newer: { count: 2, bytes: image(1).size + two },
      },
      { entryId: "m3", item: 3, currentTurn: true, viewed: false, newer: { count: 1, bytes: two } },
      { entryId: "m3", item: 3, currentTurn: true, viewed: false, newer: { count: 0, bytes: 0 } },
    ]);
    expect(asked.map(({ id, target, wanted, intent }) => [id, target, wanted, intent])).toEqual([
      [image(9).resourceId, "t", "describe", "replay"],
      ["inline_1_0", "t", "describe", "replay"],
      [image(2).resourceId, "t", "describe", "replay"],
    ]);
  });

  test("removes refused attachments and nothing else", async () => {
    const { boundary } = recording((id) => (id === image(2).resourceId ? "allow" : "refuse"));
    const shown = await dropRefusedAttachments(items, { target: "t", boundary });
    expect(
      shown.map(({ message }) =>
        "summary" in message ? message.summary : "content" in message && message.content,
      ),
    ).toEqual([
      "Done.",
      [{ type: "text", text: "see" }],
      answer.content,
      [{ type: "text", text: "x", resource: image(2) }],
    ]);
    expect(items[3]?.message).toMatchObject({ content: [inline, {}] });
  });

  test("aborts between two calls of the boundary", async () => {
    const reason = new Error("enough");
    const controller = new AbortController();
    let asked = 0;
    const boundary: LeakageBoundary = () => {
      asked++;
      controller.abort(reason);
      return "allow";
    };
    const options = { target: "t", boundary, signal: controller.signal };
    await expect(dropRefusedAttachments(items, options)).rejects.toBe(reason);
    await expect(dropRefusedNotes(items, options)).rejects.toBe(reason);
    expect(asked).toBe(1);
  });
});
