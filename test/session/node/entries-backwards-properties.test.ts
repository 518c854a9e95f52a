import fc from "fast-check";
import { encodeEntry, parseSession } from "sessile/session";
import { expect, test } from "vitest";
import { readEntriesBackwardsOn } from "../../../src/session/node/pages/read-entries-backwards.js";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { conversation } from "../../arbitraries/conversations.js";
import { entryTree, plainHeader, sessionOf } from "../../arbitraries/entries.js";
import { message } from "../../arbitraries/messages.js";
import { custom, diskOf, type Entry, pagesOf, path } from "./paged.js";

/** The lines of a file and where each begins. */
function linesOf(bytes: Uint8Array): { readonly line: Uint8Array; readonly at: number }[] {
  const lines: { line: Uint8Array; at: number }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const feed = bytes.indexOf(10, at);
    const end = feed < 0 ? bytes.length : feed;
    lines.push({ line: bytes.subarray(at, end), at });
    at = end + 1;
  }
  return lines;
}

const ofTheWhole = new Set(["DUPLICATE_ID", "ORPHAN", "CYCLE"]);

/** What pages should have: what a parse has, and besides each entry whose id an earlier line has. */
function wanted(bytes: Uint8Array, maxLineBytes: number) {
  const session = parseSession(bytes, { maxLineBytes });
  const repeated = new Set(
    session.diagnostics.filter(({ code }) => code === "DUPLICATE_ID").map(({ offset }) => offset),
  );
  const parsed = [...session.entries];
  const entries: Entry[] = [];
  let header = "";
  for (const { line, at } of linesOf(bytes)) {
    const alone = parseSession(Buffer.concat([Buffer.from(header), line]), { maxLineBytes });
    if (header === "" && alone.header !== undefined) header = `${Buffer.from(line).toString()}\n`;
    const [entry] = alone.entries;
    if (entry === undefined) continue;
    entries.push(repeated.has(at) ? entry : (parsed.shift() as Entry));
  }
  expect(parsed).toEqual([]);
  const diagnostics = session.diagnostics
    .filter(({ code }) => !ofTheWhole.has(code))
    .map(({ line: _, ...told }) => told);
  return { session, entries, diagnostics };
}

const version1 = fc
  .array(message, { maxLength: 8 })
  .map((messages) =>
    [
      '{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}',
      ...messages.map((message) => JSON.stringify({ type: "message", timestamp: "t", message })),
      '{"type":"compaction","timestamp":"t","summary":"s","tokensBefore":1,"firstKeptEntryIndex":2}',
      "",
    ].join("\n"),
  );

const texts = fc.oneof(
  entryTree({ maxLength: 12 }).map((entries) => sessionOf(entries).text),
  conversation(16).map(({ entries }) => sessionOf(entries).text),
  entryTree().map((entries) => sessionOf(entries, { header: { ...plainHeader, version: 2 } }).text),
  entryTree().map((entries) => sessionOf(entries, { header: { ...plainHeader, version: 9 } }).text),
  version1,
);

/** Ways in which files differ that are no damage. */
const shape = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => `\ufeff${text}`,
  (text) => text.replaceAll("\n", "\r\n"),
  (text) => text.replaceAll("\n", "\n\n"),
  (text) => text.replace(/\n$/, ""),
  (text) => `${text}{"type":"custom","id":"torn`,
  (text) =>
    `${text}${encodeEntry(custom("long", null, "é".repeat(50_000)))}\n${encodeEntry(custom("end"))}\n`,
  (text) => text.split("\n").toReversed().join("\n"),
);

const size = fc.record({
  limit: fc.integer({ min: 1, max: 6 }),
  maxBytes: fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.constant(1 << 22)),
});

// @covers durability:paging
test("the pages of any session, one before the other, have the entries and the problems of lines that a parse gives, whatever is appended in between", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ text: texts, shape, change: fc.option(breakage) }),
      fc.array(size, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(1024, 64 << 20),
      async ({ text, shape, change }, sizes, maxLineBytes) => {
        const whole = new TextEncoder().encode(shape(text));
        const bytes = change === null ? whole : change(whole);
        const { session, entries, diagnostics } = wanted(bytes, maxLineBytes);
        const disk = diskOf(bytes);
        if (session.header === undefined) {
          const code = session.diagnostics.at(-1)?.code;
          await expect(readEntriesBackwardsOn(disk, path, { maxLineBytes })).rejects.toMatchObject({
            code,
          });
          return;
        }
        const options = (page: number) => ({ maxLineBytes, ...sizes[page % sizes.length] });
        const appended = new TextEncoder().encode(`\n${encodeEntry(custom("new"))}\n`);
        const pages = await pagesOf(disk, options, () => void disk.open(path, "append")?.append(appended));
        expect(pages.flatMap((page) => page.entries)).toEqual(entries);
        expect(pages.flatMap((page) => page.diagnostics)).toEqual(diagnostics);
      },
    ),
    { numRuns: 400 },
  );
});
