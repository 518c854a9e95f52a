import { estimateTokens } from "@mariozechner/pi-coding-agent";
import fc from "fast-check";
import type { Message } from "sessile";
import { estimateMessageTokens } from "sessile/estimate";
import { expect, test } from "vitest";
import { message } from "../../test/arbitraries/messages.js";

const asPi = { text: "chars/4", image: { kind: "flat", tokens: 1200 } } as const;

/** The same without what pi counts as nothing: images of users, opaque blocks; and what it counts that no model sees. */
function inPi(message: Message): Message | undefined {
  switch (message.role) {
    case "user": {
      const { content } = message;
      return typeof content === "string"
        ? message
        : { ...message, content: content.filter(({ type }) => type !== "image") };
    }
    case "assistant":
      return { ...message, content: message.content.filter(({ type }) => type !== "opaque") };
    case "bashExecution":
      return { ...message, excludeFromContext: false };
    case "system":
      return undefined;
    default:
      return message;
  }
}

test("a quarter of the length, and 1200 tokens an image, is what pi counts", () => {
  fc.assert(
    fc.property(message, (any) => {
      const shared = inPi(any);
      if (shared === undefined) return;
      expect(estimateMessageTokens(shared, asPi)).toBe(estimateTokens(shared as never));
    }),
    { numRuns: 1000 },
  );
});
