import { assistantMessage, type Context, contextFrom, toolResult, userMessage } from "sessile";
import { cutGain } from "sessile/compaction";
import { modelPrices } from "sessile/cost";
import { estimateMessageTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { image } from "../attachments/samples.js";

const price = { input: 5, cacheRead: 0.5, cacheWrite: 6.25 };
const model = { provider: "anthropic", model: "claude-opus-5-5" } as const;

/** Turns with a picture and an output of so many tokens. */
function turns(count: number, words: number): Context {
  return contextFrom(
    Array.from({ length: count }, (_, at) => {
      const call = { type: "toolCall", id: `call_${at}`, name: "read", arguments: {} } as const;
      return [
        userMessage("Look.", image(at, { width: 1280, height: 800 })),
        assistantMessage(model, call),
        toolResult(call, "word ".repeat(words)),
        assistantMessage(model, { type: "text", text: "Seen." }),
      ];
    }).flat(),
  );
}

describe("cutGain", () => {
  test("counts what stays in each request: attachments of finished turns, and old output", () => {
    const context = turns(12, 10_000);
    const { attachments, attachmentTokens, outputs, outputTokens } = cutGain(context, { price });
    expect({ attachments, outputs }).toEqual({ attachments: 11, outputs: 6 });
    const old = context.items.slice(0, 6 * 4).filter(({ message }) => message.role === "toolResult");
    expect(outputTokens).toBe(old.reduce((sum, { message }) => sum + estimateMessageTokens(message), 0));
    const [first] = context.items;
    const inFull = estimateMessageTokens(first?.message as never, { replay: () => "full" });
    expect(attachmentTokens).toBe(11 * (inFull - estimateMessageTokens(first?.message as never)));
  });

  test("is worth it if the requests to come save more than the rest costs once", () => {
    const { cost, saved, paidAfter, isWorth } = cutGain(turns(12, 10_000), { price });
    expect(paidAfter).toBe(Math.ceil(cost / saved));
    expect(isWorth).toBe(true);
    const few = { price, requests: (paidAfter ?? 0) - 1 };
    expect(cutGain(turns(12, 10_000), few).isWorth).toBe(false);
    const { items, ...rest } = turns(2, 100);
    const [long] = contextFrom([userMessage("word ".repeat(50_000))]).items;
    const mostlyText = { ...rest, items: [long as (typeof items)[number], ...items] };
    expect(cutGain(mostlyText, { price }).isWorth).toBe(false);
  });

  test("is never worth it without anything to remove, and has no number then", () => {
    const gain = cutGain(contextFrom([userMessage("Hi.")]), { price });
    expect(gain).toEqual({
      ...{ attachments: 0, attachmentTokens: 0, outputs: 0, outputTokens: 0 },
      ...{ cost: expect.any(Number), saved: 0, isWorth: false },
    });
  });

  test("takes a row of prices, and refuses a price below 0", () => {
    const row = modelPrices.find((one) => one.provider === "anthropic");
    expect(cutGain(turns(12, 10_000), { price: row as never }).cost).toBeGreaterThan(0);
    expect(() => cutGain(turns(1, 1), { price: { ...price, input: -1 } })).toThrow(
      /input: expected a number/,
    );
  });
});
