import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pathsIn, toRejection } from "../../src/providers/rejection.js";

const roots = ["messages", "input", "contents", "system"];
const keysIn = (error: unknown) => pathsIn(toRejection(error).texts, roots).map(({ keys }) => keys);

describe("pathsIn", () => {
  // As providers write them; stored copies of all pages read 2026-11-21.
  test.each<[string, string, readonly (string | number)[]]>([
    [
      "Anthropic",
      "messages.41.content.31.image.source.base64: image exceeds 5 MB maximum",
      ["messages", 41, "content", 31, "image", "source", "base64"],
    ],
    // https://github.com/aallam/openai-kotlin/issues/320
    [
      "OpenAI",
      "Invalid value: 'image'. See messages[0].content[1].type.",
      ["messages", 0, "content", 1, "type"],
    ],
    // https://github.com/felinics/Memoh/issues/744
    [
      "OpenAI, with a dot before brackets",
      "Invalid type for 'messages.[0].content': expected",
      ["messages", 0, "content"],
    ],
    // https://github.com/bobrware/bobrchat/issues/135
    [
      "Google",
      "Invalid value at 'contents[2].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed",
      ["contents", 2, "parts", 0, "inline_data", "data"],
    ],
    ["Google, from its root", "* GenerateContentRequest.contents[1]: bad", ["contents", 1]],
    // https://github.com/aws-samples/bedrock-engineer/issues/8
    ["Bedrock", "The text field at messages.15.content.0 is blank. Add text", ["messages", 15, "content", 0]],
    [
      "AWS, which counts from 1 where it says member",
      "1 validation error detected: Value '' at 'messages.2.member.content.1.member.text' failed",
      ["messages", 1, "content", 0, "text"],
    ],
  ])("reads %s's paths", (_, message, keys) => {
    expect(keysIn(message)).toEqual([keys]);
    expect(keysIn(new Error(message))).toEqual([keys]);
    expect(keysIn({ error: { message } })).toEqual([keys]);
  });

  test("reads back any path, written in any of these ways, wherever it stands", () => {
    const key = fc.oneof(fc.nat({ max: 99 }), fc.constantFrom("content", "parts", "x_1"));
    const path = fc.tuple(fc.constantFrom(...roots), fc.array(key, { minLength: 1, maxLength: 6 }));
    const index = fc.constantFrom(
      (at: number) => `.${at}`,
      (at: number) => `[${at}]`,
      (at: number) => `.[${at}]`,
    );
    const around = fc.constantFrom<readonly [string, string]>(
      ["", ""],
      ["at '", "'"],
      ["Bad (", "): no"],
      ["$.", "."],
      ["\n", ", "],
    );
    fc.assert(
      fc.property(path, index, around, ([root, keys], written, [before, after]) => {
        const text = keys.map((one) => (typeof one === "number" ? written(one) : `.${one}`)).join("");
        const [first] = pathsIn([`${before}${root}${text}${after}`], roots);
        expect(first?.keys).toEqual([root, ...keys]);
      }),
    );
  });

  test("finds none in words, in other members, or in names that only end so", () => {
    for (const text of [
      "messages",
      "the messages: bad",
      "tools.0.name",
      "my_messages.3",
      "messages[x]",
      "messages..1",
      "",
    ]) {
      expect(keysIn(text)).toEqual([]);
    }
    expect(pathsIn(["messages.1"], [])).toEqual([]);
    expect(pathsIn(["a.b.1 or a+b.1"], ["a+b"])).toEqual([{ path: "a+b.1", keys: ["a+b", 1] }]);
  });

  test("looks into whatever is nested, the message first, and tells what it says twice twice", () => {
    const error = Object.assign(new Error("messages.1 is bad", { cause: { text: "input[2]" } }), {
      param: "input[0].content",
      error: { details: [{ fieldViolations: [{ field: "contents[3].parts[0]" }] }] },
    });
    expect(keysIn(error)).toEqual([
      ["messages", 1],
      ["input", 0, "content"],
      ["contents", 3, "parts", 0],
      ["input", 2],
    ]);
  });

  test("ends on what holds itself, is deep, is long, or is none", () => {
    const circle: Record<string, unknown> = { a: "messages.1" };
    circle.self = circle;
    circle.list = [circle, circle];
    expect(keysIn(circle)).toEqual([["messages", 1]]);
    let deep: unknown = "messages.1";
    for (let depth = 0; depth < 10_000; depth++) deep = [deep];
    expect(keysIn(deep)).toEqual([]);
    expect(keysIn(`${" ".repeat(30_000)}messages.1`)).toEqual([]);
    expect(keysIn(Array.from({ length: 1000 }, () => "messages.1"))).toHaveLength(200);
    for (const none of [undefined, null, 1, Symbol("s"), () => 1]) expect(keysIn(none)).toEqual([]);
  });
});
