import fc from "fast-check";
import { assistantMessage, type ContextItem, contextFrom, toolResult, userMessage } from "sessile";
import { estimateResourceTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { occurrencesIn, turnNumbers } from "../../src/attachments/decide.js";
import { currentTurnStart } from "../../src/attachments/internal.js";
import { isSendable } from "../../src/attachments/resources.js";
import { contextWith, image } from "./samples.js";

const reply = assistantMessage({ provider: "p", model: "m" }, "ok");

describe("occurrencesIn", () => {
  test("gives the position of each occurrence and the newer ones", () => {
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
    const places = occurrencesIn(context);
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
    return occurrencesIn({ ...contextWith(messages), views }).map(({ place }) => place.viewed);
  };

  test("resolves to the last occurrence that can show it", () => {
    expect(viewedIn(userMessage(image(1)), said, userMessage("again"))).toEqual([true, false]);
    expect(viewedIn(userMessage(image(1)), reply, userMessage("again"), said)).toEqual([true, false]);
    expect(viewedIn(userMessage(image(1)), reply, userMessage(image(1)), said)).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("resolves to an assistant message only if the resource occurs nowhere else", () => {
    expect(viewedIn(userMessage("a"), said, userMessage("again"))).toEqual([true]);
  });
});

describe("isSendable", () => {
  test("accepts bytes of a known type", () => {
    expect(isSendable(image(1))).toBe(true);
    expect(isSendable(image(1, { kind: "file", mediaType: "application/pdf" }))).toBe(true);
    expect(isSendable(image(1, { kind: "file", mediaType: "application/octet-stream" }))).toBe(false);
    expect(isSendable({ resourceId: "r", kind: "link", source: "link", uri: "https://a.example/" })).toBe(
      false,
    );
  });
});

const user = userMessage("u");
const answer = assistantMessage({ provider: "p", model: "m" }, "a");
const result = toolResult({ id: "c", name: "t" }, "r");
const custom = { role: "custom", customType: "x", content: "c", display: false, timestamp: 0 } as const;
const summary = { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 0 } as const;
const bash = {
  role: "bashExecution",
  command: "c",
  output: "",
  cancelled: false,
  truncated: false,
  timestamp: 0,
} as const;

describe("currentTurnStart", () => {
  test.each([
    ["nothing", [], 0],
    ["one message", [user], 0],
    ["a question after an answer", [user, answer, user], 2],
    ["the rounds of its tools", [user, answer, user, answer, result, answer], 2],
    ["two messages that no answer separates", [user, answer, user, user], 2],
    ["what an extension or a shell put between them", [user, answer, user, custom, bash, user], 2],
    ["an extension's message before the user's", [user, answer, custom, user], 3],
    ["a tool's result in between", [user, answer, result, user], 3],
    ["a turn whose beginning was compacted", [summary, answer, result], 0],
    ["a turn behind a summary", [summary, user, answer], 1],
  ])("%s", (_, messages, start) => {
    expect(currentTurnStart(contextFrom(messages))).toBe(start);
  });

  const items = (
    ...origins: readonly ContextItem["origin"][]
  ): { readonly items: readonly ContextItem[] } => ({
    items: origins.map((origin, at) => ({ entryId: `m${at}`, origin, message: user })),
  });

  test("messages that a compaction retained are separate turns", () => {
    expect(currentTurnStart(items("retained", "retained", "message"))).toBe(2);
    expect(currentTurnStart(items("retained", "retained"))).toBe(1);
  });

  test("starts at the latest run of user messages, and each run is a turn", () => {
    const kinds = { u: user, a: answer, c: custom };
    fc.assert(
      fc.property(fc.array(fc.constantFrom("u", "a", "c"), { maxLength: 12 }), (roles) => {
        const runs = [...roles.join("").matchAll(/u(?:c*u)*/g)].map(({ index }) => index);
        const context = contextFrom(roles.map((role) => kinds[role]));
        expect(currentTurnStart(context)).toBe(runs.at(-1) ?? 0);
        expect(turnNumbers(context)).toEqual(
          roles.map((_, at) => runs.filter((start) => start <= at).length),
        );
      }),
    );
  });
});
