import { type ContextMessage, contextOf } from "sessile/content";
import { describe, expect, test } from "vitest";
import { keptTextTokens, shrinkingEdits } from "../../src/compaction/context-edits.js";
import { attachment, gave, lengthOf, told, user } from "./scripted.js";

const long = "line of text\n".repeat(5000);
const tokensOf = (messages: readonly ContextMessage[]) => messages.reduce((sum, of) => sum + lengthOf(of), 0);
function fitting(messages: readonly ContextMessage[], room: number, pinned: readonly number[] = []) {
  const { items } = contextOf(messages);
  return shrinkingEdits(items, new Set(pinned.map((at) => `m${at}`)), tokensOf(messages), room, lengthOf);
}
const targets = (...given: Parameters<typeof fitting>) => fitting(...given).map(({ targetId }) => targetId);

describe("what is cut so that what is kept fits", () => {
  const talk = [user(long), told("", ["1", "2"]), gave("1", long), gave("2", long), user(long)];
  const all = tokensOf(talk);
  const atMost = keptTextTokens * 4;

  test("is nothing where it fits", () => {
    expect(fitting(talk, all)).toEqual([]);
  });

  test("are tool results first, oldest first, then what users said, and no more than is needed", () => {
    expect(targets(talk, all - 1)).toEqual(["m2"]);
    expect(targets(talk, all - long.length)).toEqual(["m2", "m3"]);
    expect(targets(talk, all - 2 * long.length)).toEqual(["m2", "m3", "m0"]);
    expect(targets(talk, 0)).toEqual(["m2", "m3", "m0", "m4"]);
  });

  test("are never pinned items, what a model said, or what is short already", () => {
    expect(targets(talk, 0, [2, 0])).toEqual(["m3", "m4"]);
    expect(fitting([told(long), user("short"), gave("1", "short")], 0)).toEqual([]);
  });

  test("is cut to about 2,000 tokens and says how much went", () => {
    expect(keptTextTokens).toBe(2000);
    const [edit, other] = fitting([gave("1", long), user(long)], 0);
    for (const of of [edit, other]) {
      const content = of?.replacement?.content as string | readonly { readonly text: string }[];
      const text = typeof content === "string" ? content : (content[0]?.text ?? "");
      expect(text).toMatch(/\[… \d+ tokens left out …\]/);
      expect(text.length).toBeGreaterThan(atMost / 2);
      expect(text.length).toBeLessThanOrEqual(atMost);
    }
    // The role's own form of content stays.
    expect(typeof other?.replacement?.content).toBe("string");
    expect(Array.isArray(edit?.replacement?.content)).toBe(true);
  });

  test("attachments and images of a message stay", () => {
    const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
    const block = { type: "text" as const, text: "d", resource: attachment };
    const message = { ...user(""), content: [{ type: "text" as const, text: long }, block, image] };
    const [edit] = fitting([message], 0);
    expect(edit?.replacement?.content).toEqual([
      { type: "text", text: expect.stringContaining("left out") },
      block,
      image,
    ]);
  });
});
