import fc from "fast-check";
import type { ImageBlock, TextBlock } from "sessile";
import { describe, expect, test } from "vitest";
import { BlockReader, cleanText } from "../../src/providers/block-reader.js";
import { isBlank } from "../../src/providers/internal.js";
import { LossList } from "../../src/providers/losses.js";
import { imageBlock, textBlock } from "../arbitraries/messages.js";

const origin = { entryId: "e", item: 2 };

function read(content: string | readonly (TextBlock | ImageBlock)[], refusesNul: boolean) {
  const losses = new LossList();
  const parts = new BlockReader({ losses, rules: { refusesNul } }).userParts(content, origin, "user");
  return { parts, losses: losses.inOrder() };
}

describe("BlockReader", () => {
  test("reads each block in its place: text cleaned, with a loss where that changed it, and a place for each attachment", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(textBlock, imageBlock), { maxLength: 5 }),
        fc.boolean(),
        (blocks, refusesNul) => {
          const { parts, losses } = read(blocks, refusesNul);
          const expected = blocks.flatMap((block, at) => {
            const place = { ...origin, block: at };
            if (block.type === "image" || block.resource !== undefined) {
              return [{ type: "attachment", place: "user", origin: place, text: "" }];
            }
            const text = cleanText(block.text, refusesNul);
            return isBlank(block.text) ? [] : [{ type: "text", text, origin: place }];
          });
          expect(parts).toEqual(expected);
          const changed = blocks.flatMap((block, at) =>
            block.type === "text" &&
            block.resource === undefined &&
            cleanText(block.text, refusesNul) !== block.text
              ? [at]
              : [],
          );
          expect(losses.map(({ code, block }) => [code, block])).toEqual(
            changed.map((at) => ["malformed", at]),
          );
        },
      ),
    );
  });

  // @covers R59
  test("a text stands for the whole message, which has no blocks", () => {
    expect(read("a", false).parts).toEqual([{ type: "text", text: "a", origin }]);
    expect(read(" \n", false).parts).toEqual([]);
    expect(read("\ud800", false).losses).toMatchObject([{ code: "malformed", by: "target", entryId: "e" }]);
  });
});
