import fc from "fast-check";
import { type ContextMessage, contextFrom, type SystemMessage, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import { BlockReader } from "../../src/providers/block-reader.js";
import { LossList } from "../../src/providers/losses.js";
import { systemParts } from "../../src/providers/select-messages.js";
import { image } from "../attachments/samples.js";

const system = (content: SystemMessage["content"], sections?: SystemMessage["sections"]): ContextMessage => ({
  role: "system",
  content,
  ...(sections === undefined ? {} : { sections }),
  timestamp: 0,
});

function parts(...messages: readonly ContextMessage[]) {
  const reader = new BlockReader({ losses: new LossList(), rules: {} });
  return systemParts(contextFrom(messages).items, reader);
}
const texts = (...messages: readonly ContextMessage[]) => parts(...messages).map(({ text }) => text);

describe("systemParts", () => {
  test("says what system messages say, in order", () => {
    const blocks = [
      { type: "text", text: "b" },
      { type: "text", text: " " },
      { type: "text", text: "c" },
    ] as const;
    expect(texts(system("a"), userMessage("x"), system(blocks))).toEqual(["a", "b", "c"]);
    expect(parts(system("a"), system(blocks)).map(({ origin }) => origin)).toEqual([
      { entryId: "m0", item: 0 },
      { entryId: "m1", item: 1, block: 0 },
      { entryId: "m1", item: 1, block: 2 },
    ]);
  });

  test("a section stands where it was first named, as it was last said", () => {
    expect(
      texts(
        system("a", { one: "1", two: "2" }),
        system("b", { two: "II", three: "3" }),
        system("", { one: null }),
      ),
    ).toEqual(["a", "II", "b", "3"]);
    expect(texts(system("", { one: "1" }), system("", { one: null }), system("c", { one: "I" }))).toEqual([
      "I",
      "c",
    ]);
  });

  test("names of sections that mean something to objects are names", () => {
    const sections = JSON.parse('{"__proto__":"p","constructor":"c"}') as Record<string, string>;
    expect(texts(system("", sections), system("", JSON.parse('{"__proto__":"q"}')))).toEqual(["q", "c"]);
  });

  test("an attachment in it is a place where nothing but text can stand", () => {
    const block = { type: "text", text: "anything", resource: image(1) } as const;
    expect(parts(system([block]))).toMatchObject([{ type: "attachment", place: "textOnly", text: "" }]);
  });

  test("is the last of each section, whatever was said before", () => {
    const patch = fc.dictionary(
      fc.constantFrom("a", "b", "__proto__"),
      fc.option(fc.constantFrom("1", "2")),
      {
        noNullPrototype: true,
      },
    );
    fc.assert(
      fc.property(fc.array(patch, { maxLength: 5 }), (patches) => {
        const now = new Map<string, string | null>();
        for (const one of patches) for (const [name, text] of Object.entries(one)) now.set(name, text);
        const expected = [...now.values()].filter((text) => text !== null);
        expect(texts(...patches.map((sections) => system("", sections)))).toEqual(expected);
      }),
    );
  });
});
