import { appendFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { SessileError } from "sessile/errors";
import { encodeEntry, parseSession, type SessionEntry, type UnknownEntry } from "sessile/session";
import { type EntriesPage, fileSessionStore, readEntriesBackwards } from "sessile/session/node";
import { describe, expect, test } from "vitest";
import { type Disk, nodeDisk } from "../../../src/session/node/disk.js";
import { readEntriesBackwardsOn } from "../../../src/session/node/entries-backwards.js";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { conversation } from "../../arbitraries/conversations.js";
import { entryTree, plainHeader, sessionOf } from "../../arbitraries/entries.js";
import { message } from "../../arbitraries/messages.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

type Entry = SessionEntry | UnknownEntry;

const path = "/s/log.jsonl";
const custom = (id: string, parentId: string | null = null, data: unknown = null): SessionEntry => {
  const place = { id, parentId, timestamp: "2025-11-20T23:33:50.805Z" };
  return { type: "custom", ...place, customType: "c", data };
};
const idsOf = ({ entries }: { readonly entries: readonly Entry[] }) => entries.map(({ id }) => id);
const codesOf = ({ diagnostics }: EntriesPage) => diagnostics.map(({ code, offset }) => [code, offset]);

function diskOf(content: string | Uint8Array): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put(path, content);
  return disk;
}

/** All pages, the oldest first. */
async function pagesOf(
  disk: Disk,
  options: (page: number) => Parameters<typeof readEntriesBackwardsOn>[2] = () => ({}),
  between: () => void = () => undefined,
): Promise<readonly EntriesPage[]> {
  const pages: EntriesPage[] = [];
  for (let before: string | undefined; ; ) {
    const cursor = before === undefined ? {} : { before };
    const page = await readEntriesBackwardsOn(disk, path, { ...options(pages.length), ...cursor });
    pages.unshift(page);
    if (page.before === undefined) return pages;
    // It goes through JSON, as to a browser and back.
    before = JSON.parse(JSON.stringify(page.before)) as string;
    between();
  }
}

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

describe("the pages of any session, one before the other,", () => {
  test("have the entries and the problems of lines that a parse gives, whatever is appended in between", async () => {
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

  test("are as long as asked for, and the last one is no empty one", async () => {
    const entries = Array.from({ length: 10 }, (_, at) => custom(`e${at}`));
    const disk = diskOf(sessionOf(entries).text);
    const pages = await pagesOf(disk, () => ({ limit: 5 }));
    expect(pages.map(idsOf)).toEqual([
      ["e0", "e1", "e2", "e3", "e4"],
      ["e5", "e6", "e7", "e8", "e9"],
    ]);
    expect((await pagesOf(disk, () => ({ limit: 4 }))).map(({ entries: { length } }) => length)).toEqual([
      2, 4, 4,
    ]);
    expect(await pagesOf(disk)).toEqual([{ entries, diagnostics: [] }]);
    expect(await pagesOf(diskOf(sessionOf([]).text))).toEqual([{ entries: [], diagnostics: [] }]);
    expect(await pagesOf(diskOf(sessionOf([]).text.trim()))).toEqual([{ entries: [], diagnostics: [] }]);
  });
});
