import fc from "fast-check";
import { grantResources, resourcesIn } from "sessile/attachments";
import { assistantMessage, type ContextMessage, toolResult, userMessage } from "sessile/content";
import { describe, expect, test } from "vitest";
import { message } from "../arbitraries/messages.js";
import { image } from "./samples.js";

describe("grantResources", () => {
  const messages: readonly ContextMessage[] = [
    userMessage("see", image(1), image(2)),
    assistantMessage({ provider: "p", model: "m" }, "ok", {
      type: "toolCall",
      id: "c",
      name: "t",
      arguments: {},
    }),
    toolResult({ id: "c", name: "t" }, image(3)),
    { role: "user", content: [{ type: "image", data: "Zg==", mimeType: "image/png" }], timestamp: 0 },
  ];

  test("passes on nothing unless it is granted, not even a name", () => {
    const given = grantResources(messages);
    expect(resourcesIn(given)).toEqual([]);
    expect(JSON.stringify(given)).not.toMatch(/res_0|shot-|sha256|Zg==/);
    expect(given[0]).toMatchObject({ content: [{ type: "text", text: "see" }, {}, {}] });
    expect(given[1]).toEqual(messages[1]);
  });

  test("passes on what is granted by its id", () => {
    expect(resourcesIn(grantResources(messages, [image(2).resourceId]))).toEqual([image(2)]);
  });

  test("passes on no details, which may have anything in them, of a text alone either", () => {
    const details = { resource: image(3) };
    const result = { ...toolResult({ id: "c", name: "t" }, "ok"), details };
    const custom = { role: "custom", customType: "x", display: true, details, timestamp: 0 } as const;
    const given = grantResources([result, { ...custom, content: "ok" }, { ...custom, content: [] }]);
    expect(JSON.stringify(given)).not.toMatch(/res_0|shot-|sha256|details/);
    expect(given).toMatchObject([
      { role: "toolResult", toolCallId: "c" },
      { content: "ok" },
      { content: [] },
    ]);
  });

  test("never passes on another, in any messages, and leaves all else", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), fc.nat({ max: 3 }), (any, count) => {
        const granted = resourcesIn(any).slice(0, count);
        const ids = granted.map(({ resourceId }) => resourceId);
        const given = grantResources(any, ids);
        expect(resourcesIn(given)).toEqual(granted);
        const blocks = (list: readonly ContextMessage[]) =>
          list.map((one) => ("content" in one ? one.content.length : 0));
        expect(blocks(given)).toEqual(blocks(any));
        expect(grantResources(given, ids)).toEqual(given);
      }),
    );
  });
});
