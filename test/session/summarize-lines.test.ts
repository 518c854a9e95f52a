import fc from "fast-check";
import { expect, test } from "vitest";
import { LogReader, summarizeLines } from "../../src/session/internal.js";
import { storedSummary } from "../../src/session/store/list.js";
import { breakage } from "../arbitraries/broken-sessions.js";
import { entryTree, header, sessionOf } from "../arbitraries/entries.js";

const encode = (text: string) => new TextEncoder().encode(text);

/** What a backend keeps of a log that is appended batch by batch. */
function cached(lines: readonly Uint8Array[], sizes: readonly number[], knows: boolean) {
  let header: Uint8Array | undefined;
  let preview: Uint8Array | undefined;
  let info: Uint8Array | undefined;
  let counts: { readonly entries: number; readonly messages: number } | undefined = {
    entries: 0,
    messages: 0,
  };
  for (let from = 0, batch = 0; from < lines.length; batch++) {
    const size = sizes.length === 0 ? lines.length : (sizes[batch % sizes.length] as number);
    const found = summarizeLines(lines.slice(from, from + size), { head: knows && preview !== undefined });
    header ??= found.header?.line;
    preview ??= found.preview?.line;
    info = found.info?.line ?? info;
    counts = counts &&
      found.counts && {
        entries: counts.entries + found.counts.entries,
        messages: counts.messages + found.counts.messages,
      };
    from += size;
  }
  return { head: [header, preview].filter((line) => line !== undefined), tail: info ? [info] : [], counts };
}

const stored = { id: "x", modifiedAt: 0, size: 1 };
const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 5 });

/** The entries and messages of a log as an open session has them, which reads the prefix of each line. */
function countsOf(lines: readonly Uint8Array[]) {
  const reader = new LogReader({ maxDepth: 256, full: false });
  for (const [at, line] of lines.entries()) reader.line(line, at);
  reader.finish();
  let messages = 0;
  for (const { node } of reader.tree.walk()) if (node.type === "message") messages++;
  return { entries: reader.tree.size, messages };
}

function linesOf(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    if (end < 0) return lines;
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

const log = fc.record({ header, entries: entryTree({ maxLength: 20 }), checksum: fc.boolean() });

test("a cache of appended lines gives the summary and the counts of the whole log", () => {
  fc.assert(
    fc.property(log, sizes, fc.boolean(), ({ entries, ...options }, batches, knows) => {
      const lines = linesOf(encode(sessionOf(entries, options).text));
      const { counts, ...cache } = cached(lines, batches, knows);
      expect(storedSummary({ ...stored, ...cache })).toEqual(
        storedSummary({ ...stored, head: lines, tail: lines }),
      );
      expect(counts).toEqual(countsOf(lines));
    }),
    { numRuns: 120 },
  );
});

test("of a damaged log it gives the same summary, and counts only if they are right", () => {
  let counted = 0;
  fc.assert(
    fc.property(log, breakage, ({ entries, ...options }, damage) => {
      const lines = linesOf(damage(encode(sessionOf(entries, options).text)));
      const { counts, ...cache } = cached(lines, [], false);
      expect(storedSummary({ ...stored, ...cache })).toEqual(
        storedSummary({ ...stored, head: lines, tail: lines }),
      );
      // A log without a header is no session.
      if (counts === undefined || storedSummary({ ...stored, ...cache }) === undefined) return;
      counted++;
      expect(counts).toEqual(countsOf(lines));
    }),
    { numRuns: 400 },
  );
  expect(counted).toBeGreaterThan(10);
});

test("a repeated id leaves the count to a reader of the whole log", () => {
  const message = { role: "user" as const, content: "said", timestamp: 0 };
  const entry = { type: "message" as const, id: "a", parentId: null, timestamp: "", message };
  const [first, line] = linesOf(encode(sessionOf([entry]).text)) as [Uint8Array, Uint8Array];
  expect(summarizeLines([first, line], { head: false }).counts).toEqual({ entries: 1, messages: 1 });
  expect(summarizeLines([first, line, line], { head: false }).counts).toBeUndefined();
});

test("a preview that was cut keeps the white space at its end", () => {
  const text = `${"x".repeat(199)} ${"y".repeat(50)}`;
  for (const said of [text, "é ".repeat(300), `${"🙂".repeat(199)} z`, " short "]) {
    const message = { role: "user" as const, content: said, timestamp: 0 };
    const entry = { type: "message" as const, id: "a", parentId: null, timestamp: "", message };
    const lines = linesOf(encode(sessionOf([entry]).text));
    const { head } = cached(lines, [], false);
    expect(storedSummary({ ...stored, head, tail: [] })).toEqual(
      storedSummary({ ...stored, head: lines, tail: [] }),
    );
  }
});
