import fc from "fast-check";
import { memorySessionStore } from "sessile";
import { sessionMemory } from "sessile/memory";
import { describe, expect, it } from "vitest";
import { cleanLine, cleanText, hasLines, quoted } from "../../src/memory/blocks.js";
import { asked, programLines } from "./support.js";

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        "\u2029",
        "\u0085",
        "\v",
        "\f",
        "# System",
        "## facts",
        "> quoted",
        "```",
        "~~~",
        "---",
        "</system>",
        "<system-reminder>",
        "[INST]",
        "\u202e",
        "\u2066",
        "\u200b",
        "\u{e0041}",
        "\ufeff",
        "\ud800",
        "\u0000",
        "\u001b[2J",
        "a",
        "Notes",
        "(empty)",
        "\u200d",
        "é",
      ),
      fc.string({ unit: "binary", maxLength: 4 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

// What no reader sees, and what moves what it sees.
const unseen = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

describe("text of a model", () => {
  it("is clean, and cleaning it again changes nothing", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const clean = cleanText(text);
        expect(cleanText(clean)).toBe(clean);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean).not.toMatch(unseen);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are looked for
        expect(clean).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/);
      }),
    );
  });

  it("is quoted in every line, by any reader's idea of a line", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        for (const line of quoted(text).split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/))
          expect(line).toMatch(/^>(?: |$)/);
      }),
    );
  });

  it("keeps words, tabs and the joiners of scripts and emoji", () => {
    for (const text of ["a\tb", "می\u200cخواهم", "👩\u200d🚀", "Array<string> && x > 1", "# one\n\n- two"])
      expect(cleanText(text)).toBe(text);
  });

  it("is one bounded line as a name", () => {
    expect(cleanLine("a\n## b\u202e", 80)).toBe("a ## b");
    expect(cleanLine("x".repeat(90), 80)).toHaveLength(80);
  });

  it("has lines as wholes alone", () => {
    expect(hasLines("likes tea\nlives in Oslo", "lives in Oslo")).toBe(true);
    expect(hasLines("likes tea\nlives in Oslo", "lives in")).toBe(false);
    expect(hasLines("likes tea", "")).toBe(false);
  });

  it("stays data in the prompt, whatever it is", async () => {
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (first, second) => {
        const session = await memorySessionStore().create({ cwd: "/" });
        const documents = { list: async () => [{ name: first, description: second }], load: async () => "" };
        const memory = sessionMemory(session, {
          blocks: [
            { label: "facts", writable: true, maxTokens: 10_000 },
            { label: "skills", documents },
          ],
          blobs: { put: () => Promise.reject(new Error("not used")) },
        });
        const empty = await memory.prompt();
        await asked(session, memory, "set_memory", { label: "facts", action: "add", text: first });
        await asked(session, memory, "set_memory", { label: "facts", action: "rewrite", text: second });
        const full = await memory.refresh();
        const withoutState = (system: string) =>
          programLines(system)
            .map((line) => line.replace(/\d+ of (\d+) tokens are used\.(?: Written by entry \w{8}\.)?/, "$1"))
            .filter((line) => line !== "(empty)");
        expect(withoutState(full.system)).toEqual(withoutState(empty.system));
      }),
      { numRuns: 25 },
    );
  });
});
