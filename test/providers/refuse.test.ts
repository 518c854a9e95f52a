import { describe, expect, test } from "vitest";
import { rejectAttachment } from "../../src/providers/attachment-state.js";
import { LossList } from "../../src/providers/losses.js";
import { mediaPart } from "../../src/providers/media-part.js";
import { image, png } from "../attachments/samples.js";
import { work } from "./samples.js";

describe("refuse", () => {
  test("leaves words, and a loss that says more than they do", () => {
    const one = work(image(1), 4);
    one.draft.media = mediaPart({
      kind: "image",
      mediaType: "image/png",
      bytes: png(),
      origin: one.draft.origin,
    });
    const losses = new LossList();
    rejectAttachment(one, "overLimit", "too large", losses, "no codec");
    const instead = "[image shot-1.png, image/png, 100 B, res_0000000000000001] (not shown: too large)";
    expect([one.draft.text, one.draft.media, one.reason]).toEqual([instead, undefined, "overLimit"]);
    expect(losses.inOrder()).toEqual([
      {
        code: "overLimit",
        by: "limit",
        entryId: "m4",
        block: 0,
        resourceId: image(1).resourceId,
        reason: "too large; no codec",
        instead,
      },
    ]);
  });
});
