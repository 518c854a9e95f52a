import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { importSession } from "sessile/interop";
import { afterAll, describe, expect, it } from "vitest";
import { formats } from "../../src/agents/internal.js";
import { filesTest } from "../../src/cli/commands/search.js";
import { matchTexts, parseQuery, searchTexts } from "../../src/log/internal.js";
import { normalizedText, textWords } from "../../src/log/search-words.js";
import { transcripts } from "../arbitraries/claude-code.js";
import { soupFile } from "../arbitraries/foreign-records.js";
import { rounds } from "../support/rounds.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-bytes-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const path = join(dir, "log.jsonl");
const { signal } = new AbortController();

/** Whether files with these contents may have the words. */
async function mayHave(text: string, contents: readonly (string | Uint8Array)[]) {
  const paths = contents.map((content, at) => {
    writeFileSync(`${path}${at}`, content);
    return `${path}${at}`;
  });
  return filesTest(text)(paths, signal);
}

describe("the test of a file's bytes", () => {
  const part = fc.oneof(
    fc.constantFrom("rate", "LIMIT", "ﬁ", "ﬁsh", "Köln", "K", "①", "e\u0301", "\n", "\\", '"', " "),
    fc.constantFrom("\u001b[1m", "東京", "½", "\u2028", "𝐛old", "😀", "\ud800", "ſt"),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(""));
  const escaped = (json: string, every: number) =>
    json.replace(/[^\\"]/g, (character, at: number) =>
      at % every === 0 && json[at - 1] !== "\\" && !/\\u[0-9a-f]{0,3}$/.test(json.slice(0, at))
        ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
        : character,
    );
  // The border of the first read, and of the blocks in it.
  const border = fc.constantFrom(0, 64 * 1024, 512 * 1024 + 256);
  const nearBorder = fc
    .tuple(border, fc.integer({ min: -40, max: 8 }))
    .map(([at, by]) => Math.max(0, at + by));

  it("misses no text that matches, wherever it is and however it is escaped", async () => {
    let matches = 0;
    await fc.assert(
      fc.asyncProperty(
        ...([
          text,
          fc.nat(),
          fc.integer({ min: 1, max: 6 }),
          nearBorder,
          fc.integer({ min: 1, max: 9 }),
        ] as const),
        async (source, from, length, place, every) => {
          const start = from % (source.length + 1);
          const query = source.slice(start, start + length);
          const phrases = parseQuery(query);
          if (phrases.length === 0 || matchTexts([source], phrases) === undefined) return;
          matches++;
          const json = JSON.stringify(source);
          const nested = JSON.stringify(JSON.stringify({ text: source }));
          for (const stored of [json, nested, escaped(json, every)])
            expect([stored, await mayHave(query, [" ".repeat(place) + stored])]).toEqual([stored, true]);
        },
      ),
      { numRuns: rounds(60, 1000) },
    );
    expect(matches).toBeGreaterThan(3);
  });

  it("misses no word of an import", async () => {
    const lines = transcripts.map((all) => all.map((line) => `${JSON.stringify(line)}\n`).join(""));
    let words = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          soupFile,
          lines.map((each) => new TextEncoder().encode(each)),
        ),
        fc.nat(),
        async (bytes, seed) => {
          const from = await Promise.all(Object.values(formats).map((load) => load()));
          const imported = await importSession([{ path: "a.jsonl", bytes }], { from, keep: "none" }).catch(
            () => undefined,
          );
          if (imported === undefined) return;
          const texts = [imported, ...imported.children].flatMap(({ entries }) =>
            entries.flatMap(searchTexts),
          );
          const found = [
            ...new Set(
              texts.flatMap((each) => [...textWords(normalizedText(each))].map((word) => word.text)),
            ),
          ];
          for (let at = 0; at < Math.min(8, found.length); at++) {
            const word = found[(seed + at * 7919) % found.length] as string;
            words++;
            expect([word, await mayHave(word, [bytes])]).toEqual([word, true]);
          }
        },
      ),
      { numRuns: rounds(60, 500) },
    );
    expect(words).toBeGreaterThan(5);
  });

  it("sees a word across the border of two reads, and of two blocks of one", async () => {
    for (const border of [64 * 1024, 512 * 1024 + 256, 512 * 1024 + 264]) {
      for (const before of [0, 1, 2, 4, 5, 9, 10]) {
        const content = `${" ".repeat(border - before)}straddling`;
        expect([border, before, await mayHave("straddling", [content])]).toEqual([border, before, true]);
        const written = `${" ".repeat(border - before)}\\u0073`;
        expect([border, before, await mayHave("st", [written])]).toEqual([border, before, true]);
        expect([border, before, await mayHave("st", [`${" ".repeat(border - before)}\u017f`])]).toEqual([
          border,
          before,
          true,
        ]);
      }
    }
  });

  it("refuses files without the words, whatever else they have", async () => {
    const hay = JSON.stringify("hay: Köln — … ✓ \u001b[1m漢字，Привет 😀 `x` don't".repeat(9000));
    expect(await mayHave("needle", [hay, "{}"])).toBe(false);
    expect(await mayHave("hay needle", [hay])).toBe(false);
    expect(await mayHave("hay needle", [hay, '"NEEDLE"'])).toBe(true);
    expect(await mayHave("Köln", [])).toBe(true);
    expect(await mayHave("base64 needle", ["{}"])).toBe(false);
  });

  it("looks for a word of any length", async () => {
    const long = "x".repeat(100_000);
    expect(await mayHave(long, [JSON.stringify({ text: long })])).toBe(true);
    expect(await mayHave(long, [JSON.stringify({ text: "x x x" })])).toBe(false);
  });

  it("passes what it cannot read", async () => {
    expect(await filesTest("needle")([join(dir, "absent.jsonl")], signal)).toBe(true);
    expect(await filesTest("needle")([join(dir, "absent.db")], signal)).toBe(true);
  });
});
