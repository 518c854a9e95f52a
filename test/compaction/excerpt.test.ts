import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { safeLabel, truncateCharacters, truncateJson } from "../../src/compaction/truncate.js";
import { jsonValue, text } from "../arbitraries/values.js";

const note = /\[… (\d+) characters left out …\]/;
const emoji = fc
  .array(fc.constantFrom("\ud83d\ude00", "a"), { maxLength: 30 })
  .map((parts) => parts.join(""));
const max = fc.nat({ max: 40 });

describe("truncateCharacters", () => {
  test("is the texts where they have room, else two ends of them and a count of the rest", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), max, (texts, most) => {
        const whole = texts.join("\n");
        const short = truncateCharacters(texts, most);
        if (whole.length <= most) {
          expect(short).toBe(whole);
          return;
        }
        const found = [...short.matchAll(new RegExp(note, "g"))].find(({ index, 0: mark, 1: count }) => {
          const [head, tail] = [short.slice(0, index), short.slice(index + mark.length)];
          const isWhole = head.length + tail.length + Number(count) === whole.length;
          return (
            isWhole && head.length + tail.length <= most && whole.startsWith(head) && whole.endsWith(tail)
          );
        });
        expect(found).toBeDefined();
      }),
    );
  });

  test("never splits a pair", () => {
    fc.assert(
      fc.property(emoji, max, (whole, most) => {
        expect(truncateCharacters([whole], most).isWellFormed()).toBe(true);
        expect(truncateJson(whole, most).isWellFormed()).toBe(true);
        expect(safeLabel(whole.repeat(8)).includes("\ufffd…")).toBe(false);
      }),
    );
  });
});

describe("truncateJson", () => {
  test("is JSON where it has room, else its start and a count of the rest", () => {
    fc.assert(
      fc.property(jsonValue, max, (value, most) => {
        const whole = JSON.stringify(value);
        const short = truncateJson(value, most);
        if (whole.length <= most) {
          expect(short).toBe(whole);
          return;
        }
        const at = short.lastIndexOf("[… ");
        expect(at).toBeLessThanOrEqual(most);
        expect(whole.startsWith(short.slice(0, at))).toBe(true);
        expect(short.slice(at)).toBe(`[… ${whole.length - at} characters left out …]`);
      }),
    );
  });
});

describe("safeLabel", () => {
  test("is a short line without brackets, and its own label", () => {
    fc.assert(
      fc.property(text, (name) => {
        const short = safeLabel(name);
        expect(short.length).toBeLessThanOrEqual(80);
        expect(short).not.toMatch(/[[\]<>\p{Cc}\p{Zl}\p{Zp}]/u);
        expect(short.isWellFormed()).toBe(true);
        expect(safeLabel(short)).toBe(short);
      }),
    );
    expect(safeLabel("a.png")).toBe("a.png");
    expect(safeLabel("x".repeat(81))).toBe(`${"x".repeat(79)}…`);
    expect(safeLabel(" ".repeat(200))).toBe("…");
  });
});
