import fc from "fast-check";
import { asUserMessage, type TextBlock } from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { messagesByRole, resource } from "../arbitraries/messages.js";
import { jsonValue } from "../arbitraries/values.js";

/** The details of the error, or the message where there was none. */
function outcome(json: unknown, trusted = false): unknown {
  try {
    return asUserMessage(json, { trusted });
  } catch (error) {
    if (SessileError.is(error, "INVALID_MESSAGE")) return error.details;
    throw error;
  }
}

describe("asUserMessage", () => {
  test("takes every user message, and drops its descriptors and its name unless trusted", () => {
    fc.assert(
      fc.property(messagesByRole.user, ({ name, model, variant, path, ...message }) => {
        const { content } = message;
        const bare =
          typeof content === "string"
            ? content
            : content.map((block) => (block.type === "text" ? { type: "text", text: block.text } : block));
        const named = Object.fromEntries(
          Object.entries({ ...message, name, model, variant, path }).filter(
            ([, value]) => value !== undefined,
          ),
        );
        expect(asUserMessage(named)).toEqual({ ...message, content: bare });
        const { content: _, ...trusted } = asUserMessage(named, { trusted: true });
        expect({ ...trusted, content }).toEqual(named);
      }),
    );
  });

  test.each([
    [{ variant: 1 }, "message.variant"],
    [{ model: "m" }, "message.model.provider"],
    [{ model: { provider: "p" } }, "message.model.modelId"],
    [{ path: "/p" }, "message.path.cwd"],
    [{ path: { cwd: "/p", root: 1 } }, "message.path.root"],
  ])("refuses %j of a trusted source, by its place", (fields, path) => {
    const act = () => asUserMessage({ content: "x", ...fields }, { trusted: true });
    expect(act).toThrow(
      expect.objectContaining({ code: "INVALID_MESSAGE", details: expect.objectContaining({ path }) }),
    );
    expect(asUserMessage({ content: "x", timestamp: 1, ...fields })).toEqual({
      role: "user",
      content: "x",
      timestamp: 1,
    });
  });

  test("keeps descriptors from a trusted source", () => {
    fc.assert(
      fc.property(resource, (resource) => {
        const content = [{ type: "text", text: "[x]", resource }];
        expect(asUserMessage({ content, timestamp: 1 }, { trusted: true }).content).toEqual(content);
      }),
    );
  });

  test("takes known fields only", () => {
    const block = { type: "text", text: "x", textSignature: "s", cache: true };
    const json = { role: "user", content: [block], timestamp: 1, admin: true };
    expect(asUserMessage(json)).toStrictEqual({
      role: "user",
      content: [{ type: "text", text: "x" }],
      timestamp: 1,
    });
  });

  test("gives fresh objects, descriptors included", () => {
    const stored = {
      resourceId: "res_0123456789abcdef",
      kind: "link",
      source: "link",
      uri: "https://example.com",
      declared: { size: 1 },
      secret: "x",
    };
    const json = { content: [{ type: "text", text: "x", resource: stored }], timestamp: 1 };
    const [block] = asUserMessage(json, { trusted: true }).content as readonly TextBlock[];
    const { secret: _secret, ...known } = stored;
    expect(block?.resource).toStrictEqual(known);
    stored.declared.size = 2;
    expect(block?.resource).toStrictEqual({ ...known, declared: { size: 1 } });
  });

  test("supplies the role and the time", () => {
    const before = Date.now();
    const message = asUserMessage({ content: "hi" });
    expect(message.role).toBe("user");
    expect(message.timestamp).toBeGreaterThanOrEqual(before);
  });

  const invalid: readonly (readonly [string, unknown, string])[] = [
    ["no object", "hi", "message"],
    ["a list", [], "message"],
    ["null", null, "message"],
    ["another role", { role: "system", content: "x" }, "message.role"],
    ["a time in text", { content: "x", timestamp: "1" }, "message.timestamp"],
    ["an endless time", { content: "x", timestamp: Number.POSITIVE_INFINITY }, "message.timestamp"],
    ["no content", {}, "message.content"],
    ["a block in place of blocks", { content: { type: "text", text: "x" } }, "message.content"],
    ["a block that is none", { content: ["x"] }, "message.content[0]"],
    ["a text block without text", { content: [{ type: "text" }] }, "message.content[0].text"],
    ["an image without data", { content: [{ type: "image", mimeType: "x" }] }, "message.content[0].data"],
    ["an image without its type", { content: [{ type: "image", data: "" }] }, "message.content[0].mimeType"],
    [
      "a tool call",
      { content: [{ type: "text", text: "" }, { type: "toolCall" }] },
      "message.content[1].type",
    ],
  ];

  test.each(invalid)("names the place of %s", (_, json, path) => {
    expect(outcome(json)).toMatchObject({ path });
  });

  test("names the place of a descriptor that is none, where it would be believed", () => {
    const json = { content: [{ type: "text", text: "x", resource: { kind: "link" } }] };
    expect(outcome(json, true)).toMatchObject({ path: "message.content[0].resource" });
    expect(outcome(json)).toMatchObject({ role: "user" });
  });

  test("says what came", () => {
    expect(() => asUserMessage({ content: [5] })).toThrow("message.content[0]: expected an object, got 5");
  });

  test("never throws anything else", () => {
    fc.assert(
      fc.property(jsonValue, fc.boolean(), (json, trusted) => {
        outcome({ content: json }, trusted);
        outcome({ content: [json] }, trusted);
        outcome(json, trusted);
      }),
    );
  });
});
