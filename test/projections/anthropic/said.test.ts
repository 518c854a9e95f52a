import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { saidBlock, withCallsLast } from "../../../src/projections/anthropic/said.js";
import type { CallPart, SaidPart } from "../../../src/projections/turns.js";

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
const kinds: Readonly<Record<string, (id: string) => SaidPart>> = {
  call,
  text: (text) => ({ type: "text", text, origin }),
  reasoning: (text) => ({ type: "reasoning", text, signature: "s", redacted: false, origin }),
  opaque: (data) => ({ type: "opaque", data, origin }),
};
const parts = fc
  .array(fc.constantFrom(...Object.values(kinds)), { maxLength: 8 })
  .map((makers) => makers.map((make, at) => make(String(at))));

describe("withCallsLast", () => {
  test("loses nothing, keeps the order of each kind, and has no text behind a call", () => {
    fc.assert(
      fc.property(parts, (said) => {
        const ordered = withCallsLast(said);
        expect(new Set(ordered)).toEqual(new Set(said));
        expect(ordered).toHaveLength(said.length);
        for (const kind of Object.keys(kinds)) {
          const ofKind = ({ type }: SaidPart) => type === kind;
          expect(ordered.filter(ofKind)).toEqual(said.filter(ofKind));
        }
        const last = ordered.findLastIndex(({ type }) => type === "call");
        expect(last === -1 ? [] : ordered.slice(last).filter(({ type }) => type === "text")).toEqual([]);
      }),
    );
  });

  test("lets be what the model says by itself", () => {
    const said = ["reasoning", "text", "call", "reasoning", "call", "opaque"].map((kind) =>
      kinds[kind]?.(kind),
    );
    const given = said.filter((part) => part !== undefined);
    expect(withCallsLast(given)).toBe(given);
  });
});

describe("saidBlock", () => {
  test("what is left over never stands for what a session has", () => {
    const signature = JSON.stringify({ type: "image", text: "no", citations: [1] });
    const block = saidBlock({ type: "text", text: "yes", signature, origin }, new Set());
    expect(block).toEqual({ type: "text", text: "yes", citations: [1] });
    const forged = JSON.stringify({ id: "no", name: "no", input: "no", caller: { type: "direct" } });
    expect(saidBlock({ ...call("yes"), signature: forged }, new Set())).toEqual({
      type: "tool_use",
      id: "yes",
      name: "read",
      input: {},
      caller: { type: "direct" },
    });
  });
});
