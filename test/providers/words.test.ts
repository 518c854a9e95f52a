import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bashText, branchSummaryText, namePrefix } from "../../src/providers/internal.js";
import { placeholderText, summaryText } from "../../src/providers/placeholders.js";
import { text } from "../arbitraries/values.js";

describe("namePrefix", () => {
  // @covers R56
  test("is one line in brackets that its name cannot close, well-formed and bounded", () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.constantFrom("]: a", `${"x".repeat(79)} y`)), (name) => {
        const prefix = namePrefix(name);
        if (prefix === "") return;
        expect(prefix).toMatch(/^\[[^\n\r[\]\p{Cc}\p{Cf}]*\S\]: $/u);
        expect(prefix.isWellFormed()).toBe(true);
        expect(Array.from(prefix).length).toBeLessThanOrEqual(84);
      }),
    );
  });

  test.each([
    ["Alice", "[Alice]: "],
    ["  Al\tice\n", "[Al ice]: "],
    ["a]b[c", "[a_b_c]: "],
    ["\u202e evil", "[evil]: "],
    ["", ""],
    [" \u200b\n", ""],
  ])("%j is %j", (name, expected) => {
    expect(namePrefix(name)).toBe(expected);
  });
});

describe("bashText", () => {
  const ran = {
    role: "bashExecution",
    command: "ls",
    output: "a",
    cancelled: false,
    truncated: false,
    timestamp: 0,
  } as const;

  test.each<[object, string]>([
    [{}, "$ ls\na\n</command>"],
    [{ exitCode: 0 }, "$ ls\na\n</command>"],
    [{ exitCode: 2 }, "$ ls\na\n[exit code 2]\n</command>"],
    [{ exitCode: null, cancelled: true }, "$ ls\na\n[cancelled]\n</command>"],
    [{ exitCode: 1, truncated: true }, "$ ls\na\n[output cut short; exit code 1]\n</command>"],
  ])("%j", (more, expected) => {
    expect(bashText({ ...ran, ...more })).toBe(`The user ran a command:\n\n<command>\n${expected}`);
  });
});

describe("summaries", () => {
  const notes = (words: string) =>
    `Done.\n\n<covered-resources>\n${words}\n- res_0123456789abcdef, image\n</covered-resources>`;
  const summary = notes(
    "image is not the image. Ask to view one again, by its id, before relying on details:",
  );

  test("of older versions lose the invitation to view, which stands in their notes", () => {
    const shown = notes("image is not the image. These are their ids:");
    expect(summaryText({ role: "compactionSummary", summary, tokensBefore: 1, timestamp: 1 })).toContain(
      shown,
    );
    expect(branchSummaryText({ role: "branchSummary", summary, fromId: "a", timestamp: 1 })).toContain(shown);
  });
});

describe("descriptors", () => {
  test("say why there is no more", () => {
    expect(placeholderText("[x]", "it is gone")).toBe("[x] (not shown: it is gone)");
  });
});
