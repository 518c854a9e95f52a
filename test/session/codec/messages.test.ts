import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messageProblem, normalizeContent, normalizeMessage } from "../../../src/session/format/validate.js";
import { message } from "../../arbitraries/messages.js";
import { jsonValue } from "../../arbitraries/values.js";

/** What JSON can put in the place of a name, to the harm of who looks it up or prints it. */
const hostile = fc.constantFrom<unknown>(
  "constructor",
  "__proto__",
  "toString",
  "hasOwnProperty",
  "wizard",
  "",
  null,
  5,
  ["user"],
  [],
  {},
  { toString: 1 },
  { toString: null, valueOf: null },
);
const role = fc.oneof(
  hostile,
  fc.constantFrom("user", "assistant", "toolResult", "custom", "system", "bashExecution", "hookMessage"),
);
const content = fc.oneof(
  jsonValue,
  fc.array(
    fc.oneof(fc.record({ type: fc.oneof(hostile, fc.constant("text")), text: jsonValue }), jsonValue),
    {
      maxLength: 3,
    },
  ),
);

describe("knownMessage", () => {
  test("leaves alone what this version knows", () => {
    fc.assert(
      fc.property(message, (message) => {
        expect(normalizeMessage(message)).toBe(message);
        expect(messageProblem(message)).toBeUndefined();
      }),
    );
  });

  test("never throws, and neither does the check behind it", () => {
    fc.assert(
      fc.property(role, content, (role, content) => {
        const known = normalizeMessage({ role, content, timestamp: 1, customType: "c", display: true });
        const problem = messageProblem(known);
        if (problem === undefined) expect(typeof (known as { role: unknown }).role).toBe("string");
        else expect(problem.path).toMatch(/^message\b/);
      }),
      { numRuns: 500 },
    );
  });

  test("takes only names for roles", () => {
    expect(messageProblem({ role: ["user"], content: "x", timestamp: 1 })).toMatchObject({
      path: "message.role",
    });
  });

  test("renames the role of version 2", () => {
    const old = { role: "hookMessage", customType: "c", content: "x", display: true, timestamp: 1 };
    expect(normalizeMessage(old)).toEqual({ ...old, role: "custom" });
  });

  test("makes an unknown block of an assistant opaque, and any other a text that names it", () => {
    const block = { type: "video", data: "x" };
    const text = { type: "text", text: "a" };
    expect(normalizeMessage({ role: "assistant", content: [text, block] })).toEqual({
      role: "assistant",
      content: [text, { type: "opaque", data: block }],
    });
    for (const role of ["user", "custom", "toolResult"]) {
      expect(normalizeMessage({ role, content: [block, text] })).toEqual({
        role,
        content: [{ type: "text", text: "[video block that this version cannot read]" }, text],
      });
    }
  });

  test.each([5, undefined, { toString: 1 }])("names a block whose type is %j too", (type) => {
    const [block] = normalizeContent("user", [{ type }]) as readonly [{ readonly text: string }];
    expect(block.text).toMatch(/^\[.+ block that this version cannot read\]$/);
  });

  test("bounds the name of an unknown block", () => {
    const [block] = normalizeContent("user", [{ type: "x".repeat(1000) }]) as readonly [
      { readonly text: string },
    ];
    expect(block.text.length).toBeLessThan(100);
  });

  test("puts an empty content in the place of none", () => {
    for (const none of [undefined, null]) {
      expect(normalizeContent("user", none)).toEqual([]);
      expect(normalizeContent("assistant", none)).toEqual([]);
      expect(normalizeContent("system", none)).toBe("");
      expect(normalizeContent("bashExecution", none)).toBe(none);
    }
  });

  test("makes a block of text where the content has to be a list", () => {
    expect(normalizeContent("assistant", "x")).toEqual([{ type: "text", text: "x" }]);
    expect(normalizeContent("toolResult", "x")).toEqual([{ type: "text", text: "x" }]);
    expect(normalizeContent("user", "x")).toBe("x");
  });

  test.each([null, 5, "user", ["user"]])("gives back what is no message: %j", (value) => {
    expect(normalizeMessage(value)).toBe(value);
  });
});
