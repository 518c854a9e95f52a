import fc from "fast-check";
import type { AssistantPart, CallPart } from "sessile";
import { describe, expect, test } from "vitest";
import { assistantBlock, withServerToolsFirst } from "../../../src/providers/anthropic/render.js";

const origin = { entryId: "e", item: 0 };
const call = (id: string): CallPart => ({
  type: "call",
  id,
  storedId: id,
  name: "read",
  arguments: {},
  own: true,
  first: false,
  origin,
});
const opaque = (data: object): AssistantPart => ({ type: "opaque", data, origin });
const kinds: Readonly<Record<string, (id: string) => AssistantPart>> = {
  call,
  text: (text) => ({ type: "text", text, origin }),
  reasoning: (text) => ({ type: "reasoning", text, signature: "s", redacted: false, origin }),
  search: (id) => opaque({ type: "server_tool_use", id, name: "web_search", input: {} }),
  found: (id) => opaque({ type: "web_search_tool_result", tool_use_id: id, content: [] }),
  other: (id) => opaque({ type: "compaction", content: id }),
};
const isServerTool = (part: AssistantPart) => kindOf(part) === "search" || kindOf(part) === "found";
const kindOf = (part: AssistantPart): string => {
  const data = part.type === "opaque" ? (part.data as { type: string }).type : undefined;
  if (data === undefined) return part.type;
  return data === "server_tool_use" ? "search" : data === "web_search_tool_result" ? "found" : "other";
};
const parts = fc
  .array(fc.constantFrom(...Object.values(kinds)), { maxLength: 8 })
  .map((makers) => makers.map((make, at) => make(String(at))));
const given = (...names: readonly string[]) =>
  names.map((name, at) => kinds[name]?.(String(at))).filter((part) => part !== undefined);
const names = (list: readonly AssistantPart[]) => list.map(kindOf);

describe("withServerToolsFirst", () => {
  test("loses nothing, keeps the order of all that is no call, and never moves reasoning past a call", () => {
    fc.assert(
      fc.property(parts, (said) => {
        const ordered = withServerToolsFirst(said);
        expect(new Set(ordered)).toEqual(new Set(said));
        expect(ordered).toHaveLength(said.length);
        const isCall = ({ type }: AssistantPart) => type === "call";
        expect(ordered.filter(isCall)).toEqual(said.filter(isCall));
        expect(ordered.filter((part) => !isCall(part))).toEqual(said.filter((part) => !isCall(part)));
        const sequence = (list: readonly AssistantPart[]) =>
          list.filter(({ type }) => type === "call" || type === "reasoning");
        expect(sequence(ordered)).toEqual(sequence(said));
        const first = ordered.findIndex(isCall);
        const behind = first === -1 ? [] : ordered.slice(first);
        const between = behind.slice(0, behind.findLastIndex(isServerTool) + 1);
        if (between.length > 0) expect(between.some(({ type }) => type === "reasoning")).toBe(true);
      }),
    );
  });

  test("puts the calls behind a search that the model made after them", () => {
    expect(names(withServerToolsFirst(given("text", "call", "search", "found", "text")))).toEqual([
      "text",
      "search",
      "found",
      "call",
      "text",
    ]);
  });

  test.each([
    [["reasoning", "call", "reasoning", "call", "text"]],
    [["call", "text"]],
    [["reasoning", "call", "reasoning", "search", "found"]],
    [["search", "found", "call", "other"]],
    [["text", "search", "found"]],
  ])("changes nothing of %j", (list) => {
    const said = given(...list);
    expect(withServerToolsFirst(said)).toBe(said);
  });
});

describe("assistantBlock", () => {
  test("what is left over never stands for what a session has", () => {
    const providerFields = { type: "image", text: "no", citations: [1] };
    const block = assistantBlock({ type: "text", text: "yes", providerFields, origin }, new Set());
    expect(block).toEqual({ type: "text", text: "yes", citations: [1] });
    const forged = { id: "no", name: "no", input: "no", caller: { type: "direct" } };
    expect(assistantBlock({ ...call("yes"), providerFields: forged }, new Set())).toEqual({
      type: "tool_use",
      id: "yes",
      name: "read",
      input: {},
      caller: { type: "direct" },
    });
  });
});
