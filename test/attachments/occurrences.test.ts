import { assistantMessage, userMessage } from "sessile/content";
import { estimateResourceTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { placesIn } from "../../src/attachments/occurrences.js";
import { isSendable } from "../../src/attachments/resources.js";
import { contextWith, image } from "./samples.js";

const reply = assistantMessage({ provider: "p", model: "m" }, "ok");

describe("placesIn", () => {
  test("says where each stands, and what is newer", () => {
    const link = {
      resourceId: "res_00000000000000aa",
      kind: "link",
      source: "link",
      uri: "https://a.example/",
    } as const;
    const context = contextWith([
      userMessage("a", image(1, { size: 10 }), image(2, { size: 20 })),
      reply,
      userMessage(link, image(1, { size: 10 })),
    ]);
    const places = placesIn(context);
    const one = estimateResourceTokens(image(1));
    expect(one).toBe(414);
    const all = { tokens: 3 * one, images: 3, turns: 2 };
    expect(places.map(({ place }) => place.history)).toEqual([
      { before: { tokens: 0, images: 0, turns: 0 }, all },
      { before: { tokens: one, images: 1, turns: 0 }, all },
      { before: { tokens: 2 * one, images: 2, turns: 1 }, all },
      { before: { tokens: 2 * one, images: 2, turns: 1 }, all },
    ]);
    expect(places.map(({ block, place: { history: _, ...place } }) => ({ block, ...place }))).toEqual([
      { block: 1, entryId: "m0", item: 0, currentTurn: false, viewed: false, newer: { count: 1, bytes: 20 } },
      { block: 2, entryId: "m0", item: 0, currentTurn: false, viewed: false, newer: { count: 1, bytes: 10 } },
      { block: 0, entryId: "m2", item: 2, currentTurn: true, viewed: false, newer: { count: 1, bytes: 10 } },
      { block: 1, entryId: "m2", item: 2, currentTurn: true, viewed: false, newer: { count: 0, bytes: 0 } },
    ]);
  });
});

describe("a view", () => {
  const said = { ...reply, content: [{ type: "text" as const, text: "here", resource: image(1) }] };
  const viewedIn = (...messages: Parameters<typeof contextWith>[0]) => {
    const views = [{ entryId: "v", resourceId: image(1).resourceId, item: messages.length }];
    return placesIn({ ...contextWith(messages), views }).map(({ place }) => place.viewed);
  };

  test("is meant at the last place that can show anything", () => {
    expect(viewedIn(userMessage(image(1)), said, userMessage("again"))).toEqual([true, false]);
    expect(viewedIn(userMessage(image(1)), reply, userMessage("again"), said)).toEqual([true, false]);
    expect(viewedIn(userMessage(image(1)), reply, userMessage(image(1)), said)).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("is meant in what the model said where it stands nowhere else", () => {
    expect(viewedIn(userMessage("a"), said, userMessage("again"))).toEqual([true]);
  });
});

describe("isSendable", () => {
  test("takes what has bytes of a known type", () => {
    expect(isSendable(image(1))).toBe(true);
    expect(isSendable(image(1, { kind: "file", mediaType: "application/pdf" }))).toBe(true);
    expect(isSendable(image(1, { kind: "file", mediaType: "application/octet-stream" }))).toBe(false);
    expect(isSendable({ resourceId: "r", kind: "link", source: "link", uri: "https://a.example/" })).toBe(
      false,
    );
  });
});
