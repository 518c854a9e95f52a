import { describe, expect, test } from "vitest";
import { descriptor, knownId, shownName, workReport } from "../../src/providers/attachment-state.js";
import { mediaPart } from "../../src/providers/media-part.js";
import { image, png } from "../attachments/samples.js";
import { work } from "./samples.js";

const inline = { bytes: png(), base64: undefined, declared: "image/png" };

describe("reportOf", () => {
  test("tells what of it is in the request", () => {
    const one = work(image(1), 4, "user", 2);
    const facts = { entryId: "m4", block: 2, resourceId: image(1).resourceId, reason: "currentTurn" };
    expect(workReport(one)).toEqual({ ...facts, sent: "nothing" });
    one.draft.text = "[shot]";
    expect(workReport(one)).toEqual({ ...facts, sent: "descriptor" });
    expect(workReport({ ...one, asText: true })).toEqual({ ...facts, sent: "text" });
    const { origin } = one.draft;
    one.draft.media = mediaPart({ kind: "image", mediaType: "image/png", bytes: png(), origin });
    expect(workReport(one)).toEqual({ ...facts, sent: "bytes" });
    const reference = { kind: "file", id: "f" } as const;
    const resource = image(1);
    one.draft.media = {
      type: "reference",
      kind: "image",
      mediaType: "image/png",
      reference,
      resource,
      origin,
    };
    expect(workReport(one)).toEqual({ ...facts, sent: "reference" });
  });

  test("names no resource for what is inline", () => {
    const one = { ...work(image(1)), inline };
    expect(workReport(one)).not.toHaveProperty("resourceId");
    expect(knownId(one)).toEqual({});
  });
});

describe("names", () => {
  test("an inline image's descriptor has no id", () => {
    expect(descriptor(work(image(1)))).toBe("[image shot-1.png, image/png, 100 B, res_0000000000000001]");
    expect(descriptor({ ...work(image(1)), inline })).toBe("[image, image/png, 100 B]");
  });

  test("a name is told as a target takes text, or not at all", () => {
    expect(shownName(work(image(1, { name: "a]\n\0\ud800" })), true)).toEqual({ name: "a]\n\ufffd\ufffd" });
    expect(shownName(work(image(1, { name: " " })), false)).toEqual({});
  });
});
