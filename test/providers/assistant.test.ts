import {
  type AssistantMessage,
  type AssistantPart,
  assistantMessage,
  type Loss,
  type TargetRules,
  type ToolCall,
} from "sessile";
import { describe, expect, test } from "vitest";
import { assistantParts, toolName } from "../../src/providers/assistant-turn.js";
import { BlockReader } from "../../src/providers/block-reader.js";
import { LossList } from "../../src/providers/losses.js";
import { image } from "../attachments/samples.js";

const maker = { provider: "p", model: "m" };
const origin = { entryId: "e", item: 3 };
type Block = AssistantMessage["content"][number];

/** What becomes of a message, each part by what it says, and the losses. */
function drafted(message: AssistantMessage, rules: TargetRules = {}) {
  const losses = new LossList();
  const options = { model: maker, rules, losses };
  const parts = assistantParts(message, origin, new BlockReader(options), options);
  return { parts, losses: losses.inOrder() };
}

function said(content: readonly (string | Block)[], more: object = {}, rules: TargetRules = {}) {
  const { parts, losses } = drafted({ ...assistantMessage(maker, ...content), ...more }, rules);
  return { parts: parts.map(brief), losses: losses.map(({ code, by, block }) => `${code} ${by} ${block}`) };
}

function brief(part: AssistantPart | { readonly type: "attachment" | "opaqueMedia" }): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return `${part.type} ${JSON.stringify(part.text)} ${part.signature ?? ""}`.trimEnd();
    case "call":
      return `call ${part.name} ${JSON.stringify(part.arguments)} ${part.signature ?? ""}`.trimEnd();
    case "opaque":
      return `opaque ${JSON.stringify(part.data)}`;
    default:
      return part.type;
  }
}

const call = (more: Partial<ToolCall> = {}): ToolCall => ({
  type: "toolCall",
  id: "c",
  name: "read",
  arguments: {},
  ...more,
});
const thinking = (thinking: string, thinkingSignature?: string): Block => ({
  type: "thinking",
  thinking,
  ...(thinkingSignature === undefined ? {} : { thinkingSignature }),
});
const opaque = (data: unknown): Block => ({ type: "opaque", data });
const signedText = (text: string, textSignature: string): Block => ({ type: "text", text, textSignature });
const everything: readonly (string | Block)[] = [
  thinking("hm", "s1"),
  signedText("a", "s2"),
  opaque({ o: 1 }),
  call({ thoughtSignature: "s3" }),
];

describe("assistantDraft, of the target's own model", () => {
  test("takes reasoning, signatures and opaque blocks as they are, with their places", () => {
    expect(said(everything)).toEqual({
      parts: ['reasoning "hm" s1', 'text "a" s2', 'opaque {"o":1}', "call read {} s3"],
      losses: [],
    });
    const { parts } = drafted(assistantMessage(maker, ...everything));
    expect(parts.map((part) => part.origin)).toEqual([0, 1, 2, 3].map((block) => ({ ...origin, block })));
  });

  test("takes signed reasoning that says nothing, and what is withheld", () => {
    expect(said([thinking("", "s"), "a"]).parts).toEqual(['reasoning "" s', 'text "a"']);
    const withheld: Block = { type: "thinking", thinking: "", thinkingSignature: "s", redacted: true };
    expect(drafted(assistantMessage(maker, withheld, "a")).parts[0]).toMatchObject({ redacted: true });
  });

  test("leaves reasoning without a signature out, and reasoning at the end of the message", () => {
    expect(said([thinking("hm"), thinking("ha", ""), "a"])).toEqual({
      parts: ['text "a"'],
      losses: ["reasoning history 0", "reasoning history 1"],
    });
    expect(said(["a", thinking("hm", "s"), thinking("ha", "t")])).toEqual({
      parts: ['text "a"'],
      losses: ["reasoning target 1", "reasoning target 2"],
    });
  });

  test("leaves out in silence only what says nothing", () => {
    expect(said([thinking(" "), "\n", " a "])).toEqual({ parts: ['text " a "'], losses: [] });
    expect(said([signedText(" ", "s"), "a"])).toEqual({
      parts: ['text "a"'],
      losses: ["reasoning target 0"],
    });
  });

  test.each(["aborted", "error"] as const)("takes words alone of what was %s", (stopReason) => {
    expect(said(everything, { stopReason })).toEqual({
      parts: ['text "a"', "call read {}"],
      losses: ["reasoning history 0", "opaque history 2"],
    });
  });

  test("leaves out reasoning and opaque blocks that are no well-formed JSON: a change would make them another's", () => {
    expect(
      said(
        [thinking("\ud800", "s"), thinking("a\0", "t"), thinking("b", "\udc00"), "a"],
        {},
        { refusesNul: true },
      ),
    ).toEqual({
      parts: ['text "a"'],
      losses: ["reasoning history 0", "reasoning history 1", "reasoning history 2"],
    });
    const circle: unknown[] = [];
    circle.push(circle);
    let deep: unknown = 1;
    for (let depth = 0; depth < 20_000; depth++) deep = { deep };
    expect(said([opaque({ a: "\ud800" }), opaque({ n: 1n }), opaque(circle), opaque(deep), "a"])).toEqual({
      parts: ['text "a"'],
      losses: [0, 1, 2, 3].map((block) => `opaque history ${block}`),
    });
  });

  test("leaves a signature out that is no well-formed text", () => {
    expect(said([signedText("a", "\ud800"), call({ thoughtSignature: "\ud800" })])).toEqual({
      parts: ['text "a"', "call read {}"],
      losses: ["reasoning history 0", "reasoning history 1"],
    });
  });
});

describe("assistantDraft, of another model", () => {
  test("takes words and calls, and says what it left out", () => {
    expect(said(everything, { model: "other" })).toEqual({
      parts: ['text "a"', "call read {}"],
      losses: ["reasoning target 0", "opaque target 2"],
    });
  });

  test("tells a target that takes no reasoning from another's reasoning", () => {
    const reasons = (losses: readonly Loss[]) => losses.map(({ reason }) => reason);
    const own = drafted(assistantMessage(maker, ...everything), { takesReasoning: false });
    expect(own.parts.map(brief)).toEqual(['text "a"', "call read {}"]);
    const foreign = drafted(assistantMessage({ ...maker, model: "x" }, ...everything));
    expect(reasons(own.losses)).not.toEqual(reasons(foreign.losses));
    expect(own.losses.map(({ code, by }) => `${code} ${by}`)).toEqual(["reasoning target", "opaque target"]);
  });
});

describe("assistantDraft, calls", () => {
  test("takes each id once in a message, the first", () => {
    expect(said([call(), call({ name: "write" }), call({ id: "d" }), call()])).toEqual({
      parts: ["call read {}", "call read {}"],
      losses: ["duplicateCall history 1", "duplicateCall history 3"],
    });
  });

  test("knows the first call, and whose it is", () => {
    const facts = (message: AssistantMessage) =>
      drafted(message).parts.map((part) => part.type === "call" && [part.first, part.own]);
    const calls = [call({ id: "a" }), call({ id: "b" })];
    expect(facts(assistantMessage(maker, ...calls))).toEqual([
      [true, true],
      [false, true],
    ]);
    expect(facts(assistantMessage({ ...maker, provider: "x" }, ...calls))).toEqual([
      [true, false],
      [false, false],
    ]);
  });

  test("ids that mean something to objects are ids", () => {
    const ids = ["__proto__", "constructor", ""];
    expect(said(ids.map((id) => call({ id }))).parts).toHaveLength(3);
  });

  test.each<[string, unknown, string, readonly string[]]>([
    ["an object", { a: [1] }, '{"a":[1]}', []],
    ["nothing", undefined, "{}", []],
    ["null", null, "{}", []],
    ["a string", "x", '{"value":"x"}', ["arguments target 0"]],
    ["a list", [1], '{"value":[1]}', ["arguments target 0"]],
    ["lone surrogates", { a: "\ud800" }, '{"a":"\ufffd"}', ["malformed target 0"]],
    ["a bigint", { n: 5n }, '{"n":"5"}', ["malformed target 0"]],
    ["a bigint alone", 5n, '{"value":"5"}', ["malformed target 0", "arguments target 0"]],
  ])("makes arguments an object: %s", (_, args, expected, losses) => {
    expect(said([call({ arguments: args })])).toEqual({ parts: [`call read ${expected}`], losses });
  });

  test("leaves arguments as they are where the target takes any", () => {
    const parts = [null, "x", [1]].map((args) =>
      said([call({ arguments: args })], {}, { objectArguments: false }),
    );
    expect(parts.flatMap(({ parts }) => parts)).toEqual(["call read null", 'call read "x"', "call read [1]"]);
    expect(parts.flatMap(({ losses }) => losses)).toEqual([]);
  });

  test("makes arguments that hold themselves an empty object, with a loss", () => {
    const circle: Record<string, unknown> = { a: 1 };
    circle.self = circle;
    circle.again = [circle, circle];
    expect(said([call({ arguments: circle })])).toEqual({
      parts: ["call read {}"],
      losses: ["malformed target 0"],
    });
  });

  test("names of tools are rewritten where they must be", () => {
    expect(said([call({ name: "a b/é" }), call({ id: "d", name: "" })])).toEqual({
      parts: ["call a_b__ {}", "call unnamed_tool {}"],
      losses: ["toolName target 0", "toolName target 1"],
    });
    expect(toolName("x".repeat(70))).toBe("x".repeat(64));
    expect(toolName("😀\n]")).toMatch(/^[A-Za-z0-9_-]+$/);
    const rule = { maxLength: 4, character: /[\w.]/, first: /[A-Za-z_]/ };
    expect(["a.b", "a-b", "1", "12345", ".b", ""].map((name) => toolName(name, rule))).toEqual([
      "a.b",
      "a_b",
      "_1",
      "_123",
      "_.b",
      "unna",
    ]);
  });
});

describe("assistantDraft, rules of a target", () => {
  test("white space at the end of a message goes where it is refused", () => {
    const rules = { trimsAssistant: true };
    expect(said(["a ", "b \n\u001f"], {}, rules)).toEqual({
      parts: ['text "a "', 'text "b"'],
      losses: ["trailingSpace target 1"],
    });
    expect(said(["a "]).parts).toEqual(['text "a "']);
    expect(said(["a ", call()], {}, rules).losses).toEqual([]);
    expect(said(["a ", thinking("hm", "s")], {}, rules).parts).toEqual(['text "a"']);
  });

  test("and before attachments of which nothing may be left", () => {
    const shot: Block = { type: "text", text: "x", resource: image(1) };
    expect(said(["a ", shot], {}, { trimsAssistant: true }).parts).toEqual(['text "a"', "attachment"]);
  });

  test("text is cleaned", () => {
    expect(said(["a\0\ud800"], {}, { refusesNul: true })).toEqual({
      parts: ['text "a\ufffd\ufffd"'],
      losses: ["malformed target 0"],
    });
    expect(said(["a\0"])).toEqual({ parts: ['text "a\\u0000"'], losses: [] });
  });
});
