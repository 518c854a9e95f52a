import { describe, expect, it } from "vitest";
import { EntryHash } from "../../src/agents/shared/ids.js";

const hash = new EntryHash("claude-code", "session");
const idOf = (content: unknown) => hash.textId(["record", "", "parent"], content);

describe("the id of an entry", () => {
  it("is the same for equal places and equal content, whatever was hashed before", () => {
    const first = idOf({ a: [1, "two"] });
    idOf({ another: "content" });
    expect(idOf({ a: [1, "two"] })).toBe(first);
    expect(new EntryHash("claude-code", "session").textId(["record", "", "parent"], { a: [1, "two"] })).toBe(
      first,
    );
    expect(first).toMatch(/^[0-9a-f]{8}$/);
  });

  it("depends on each text, however long, and on where one ends", () => {
    const long = "x".repeat(100);
    const ids = [
      hash.textId(["record", "", "parent"]),
      hash.textId(["record", "parent", ""]),
      hash.textId(["record", "parent"]),
      hash.textId(["recordparent"]),
      hash.textId(["record", "", "parenu"]),
      hash.textId([`${long}a${long}`]),
      hash.textId([`${long}b${long}`]),
      new EntryHash("claude-code", "session2").textId(["record", "", "parent"]),
      new EntryHash("claude-codes", "ession").textId(["record", "", "parent"]),
      idOf({}),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("depends on members, items, and both ends of texts, but not on times nor the middle of a long text", () => {
    const text = (middle: string, end = "z") => ({
      text: `${"a".repeat(64)}${middle}${"b".repeat(64)}${end}`,
    });
    const contents = [
      text("1"),
      text("1", "y"),
      text("12"),
      { texts: text("1").text },
      { text: [text("1").text] },
      { text: 1 },
      { text: 2 },
      { text: "\u0001" },
      { text: "\u0001\u0000" },
      { a: { b: 1 }, c: 2 },
      { a: { b: 1, c: 2 } },
    ];
    expect(new Set(contents.map(idOf)).size).toBe(contents.length);
    expect(idOf(text("2"))).toBe(idOf(text("1")));
    expect(idOf({ text: 1, timestamp: 5 })).toBe(idOf({ text: 1, timestamp: 6 }));
  });

  it("collides no more often than chance, for contents that differ by a character", () => {
    const ids = new Set<string>();
    for (let at = 0; at < 60_000; at++) ids.add(idOf({ text: `line ${at}` }));
    // By chance 0.4 of them: two have the same with a probability of one in 2 ** 32.
    expect(60_000 - ids.size).toBeLessThanOrEqual(3);
  });
});
