import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { SessileError } from "sessile/errors";
import {
  buildSessionContext,
  type ParsedSession,
  parseSession,
  type SessionEntry,
  type UnknownEntry,
} from "sessile/session";
import { diagnoseSession, openSessionFile, type SalvageReport } from "sessile/session/node";
import { describe, expect, test, vi } from "vitest";
import type { FileSystem } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import { salvageSessionOn } from "../../../src/session/node/repair/salvage.js";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { conversation } from "../../arbitraries/conversations.js";
import { entryTree, sessionOf } from "../../arbitraries/entries.js";
import { temporaryDirectory } from "./temporary-directory.js";

// On a machine with other work to do.
vi.setConfig({ testTimeout: 60_000 });

const encoder = new TextEncoder();

const broken = fc
  .record({
    text: fc.oneof(
      entryTree().map((entries) => sessionOf(entries).text),
      conversation(24).map(({ entries }) => sessionOf(entries).text),
    ),
    change: breakage,
  })
  .map(({ text, change }) => change(encoder.encode(text)));

/** A thousand files need not reach the disk. */
const unsynced: FileSystem = {
  ...nodeFileSystem,
  open(path, mode) {
    const file = nodeFileSystem.open(path, mode);
    if (file !== undefined) file.sync = () => Promise.resolve();
    return file;
  },
  syncDirectory: () => Promise.resolve(),
};

/** Problems of lines that were kept as they are. */
const ofKeptLines = ["MODIFIED", "INVALID_FIELDS", "UNSAFE_KEY"];

const latin = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
const linesOf = (bytes: Uint8Array) =>
  latin(bytes)
    .replace(/^\xef\xbb\xbf/, "")
    .split("\n");
const entryOf = (line: string) => parseSession(Buffer.from(line, "latin1")).entries[0];

interface Salvaged {
  readonly source: Uint8Array;
  readonly before: ParsedSession;
  readonly bytes: Uint8Array;
  readonly after: ParsedSession;
  readonly report: SalvageReport;
}

class Bench {
  readonly #directory = temporaryDirectory();
  readonly from = join(this.#directory, "t_broken.jsonl");
  readonly to = join(this.#directory, "t_whole.jsonl");

  /** undefined where there is nothing to salvage, which has to be said by a typed error. */
  async salvage(
    source: Uint8Array,
    options: { readonly orphans?: "chain" | "root" } = {},
  ): Promise<Salvaged | undefined> {
    writeFileSync(this.from, source);
    rmSync(this.to, { force: true });
    const before = parseSession(source);
    const report = await salvageSessionOn(unsynced, this.from, { to: this.to, ...options }).catch(
      (error: unknown) => error,
    );
    expect(readFileSync(this.from)).toEqual(Buffer.from(source));
    if (report instanceof Error) {
      expect(report).toBeInstanceOf(SessileError);
      const isNewer = before.diagnostics.some(({ code }) => code === "NEWER_VERSION");
      const isNothing = before.header === undefined && before.entries.length === 0;
      const code = source.length === 0 ? "EMPTY" : isNewer ? "SESSION_READ_ONLY" : "NO_HEADER";
      expect(report).toMatchObject({ code });
      expect(source.length === 0 || isNewer || isNothing).toBe(true);
      return undefined;
    }
    const bytes = Uint8Array.from(readFileSync(this.to));
    return { source, before, bytes, after: parseSession(bytes), report: report as SalvageReport };
  }
}

const isCurrent = ({ before }: Salvaged) => before.header === undefined || before.header.version === 3;

describe("whatever became of a session", () => {
  // @covers R94 durability:salvage
  test("its salvage has every line that can be read, byte for byte, in order, and says what else it has", async () => {
    const bench = new Bench();
    await fc.assert(
      fc.asyncProperty(broken, async (source) => {
        const salvaged = await bench.salvage(source);
        if (salvaged === undefined || !isCurrent(salvaged)) return;
        const { before, bytes, report } = salvaged;
        const [first, ...lines] = linesOf(bytes).slice(0, -1);
        const stored = new Set(linesOf(source));
        if (report.header === "kept") expect(latin(source)).toContain(first);
        if (before.header !== undefined) expect(stored).toContain(first);
        if (before.header !== undefined) expect(report.header).toBe("kept");
        const places = new Map(report.places.map((place) => [place.entryId, place]));
        const kept: string[] = [];
        for (const line of lines) {
          const entry = entryOf(line) as SessionEntry;
          const place = places.get(entry.id);
          if (place === undefined || place.reason === "circle" || place.reason === "nameless") {
            // What no reader finds in the damaged file may be there as well.
            if (before.entry(entry.id) !== undefined) kept.push(entry.id);
            if (place === undefined && before.entry(entry.id) !== undefined) expect(stored).toContain(line);
            // It was joined to another line, or is a whole copy of one that is damaged.
            if (place === undefined) expect(latin(source)).toContain(line);
          } else {
            expect(entry).toMatchObject({
              type: "custom",
              customType: "sessile.lost",
              parentId: place.parentId,
            });
            expect(before.entry(entry.id)).toBeUndefined();
          }
          if (place === undefined && before.entry(entry.id) !== undefined)
            expect(entry).toEqual(before.entry(entry.id));
        }
        expect(kept).toEqual(before.entries.map(({ id }) => id));
        expect(report.kept.lines).toBe(
          lines.length + 1 - standIns(report) - (report.header === "made" ? 1 : 0),
        );
      }),
      { numRuns: 30 },
    );
  });

  test("its salvage opens for writing, with nothing wrong but what lines say of themselves", async () => {
    const bench = new Bench();
    await fc.assert(
      fc.asyncProperty(broken, async (source) => {
        const salvaged = await bench.salvage(source);
        if (salvaged === undefined) return;
        expect(codesBut(salvaged.after, ofKeptLines)).toEqual([]);
        const session = await openSessionFile(bench.to, { mode: "write", durability: "os" });
        expect(session.writable).toBe(true);
        expect(session.diagnostics.filter(({ code }) => !ofKeptLines.includes(code))).toEqual([]);
        expect([session.tree.size, session.leafId]).toEqual([
          salvaged.after.tree.size,
          salvaged.after.leafId,
        ]);
        await session.close();
        expect((await diagnoseSession(bench.to)).verdict).not.toBe("damaged");
      }),
      { numRuns: 30 },
    );
  });

  test("its salvage has the history that each entry had, before which lost parents follow what was written before", async () => {
    const bench = new Bench();
    await fc.assert(
      fc.asyncProperty(broken, async (source) => {
        const salvaged = await bench.salvage(source);
        if (salvaged === undefined || !isCurrent(salvaged)) return;
        const { before, after, report } = salvaged;
        const missing = new Set(missingOf(report));
        for (const { node } of before.tree.walk()) {
          const path = after.tree.path(node.id).map(({ id }) => id);
          const then = before.tree.path(node.id).map(({ id }) => id);
          expect(path.slice(path.length - then.length)).toEqual(then);
          // A parent that was in no line follows what was before it; one that was joined to another line is found.
          if (path.length > then.length) {
            const above = path[path.length - then.length - 1] as string;
            expect(missing.has(above) || after.entry(above) !== undefined).toBe(true);
            expect(before.tree.has(above)).toBe(false);
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  test("its salvage with lost parents as roots has the context that each entry had", async () => {
    const bench = new Bench();
    await fc.assert(
      fc.asyncProperty(broken, async (source) => {
        const salvaged = await bench.salvage(source, { orphans: "root" });
        if (salvaged === undefined || !isCurrent(salvaged)) return;
        const { before, after, report } = salvaged;
        const missing = new Set(missingOf(report));
        // Whole copies of damaged lines bring back what the damaged file does not have.
        if (after.entries.length > before.entries.length + standIns(report)) return;
        for (const { node } of before.tree.walk()) {
          const path = before.tree.path(node.id).map(({ id }) => before.entry(id));
          // What was kept from on, or pinned, has a place again.
          if (path.some((entry) => entry !== undefined && missing.has(namedBy(entry) ?? ""))) continue;
          expect(buildSessionContext(after, node.id)).toEqual(buildSessionContext(before, node.id));
        }
        if (after.leafId === null || !missing.has(after.leafId)) expect(after.leafId).toBe(before.leafId);
        expect(after.info).toEqual(before.info);
        expect([...after.tree.labels()]).toEqual([...before.tree.labels()]);
      }),
      { numRuns: 30 },
    );
  });

  test("its salvage, salvaged again, is the same", async () => {
    const bench = new Bench();
    await fc.assert(
      fc.asyncProperty(broken, fc.constantFrom("chain", "root"), async (source, orphans) => {
        const salvaged = await bench.salvage(source, { orphans });
        if (salvaged === undefined) return;
        const again = await bench.salvage(salvaged.bytes, { orphans });
        expect(again?.bytes).toEqual(salvaged.bytes);
        expect(again?.report).toMatchObject({ lost: { lines: 0, bytes: 0 }, losses: [], placed: 0 });
      }),
      { numRuns: 30 },
    );
  });

  // @covers durability:no-checksum
  test("a diagnosis says what a parse says, and changes nothing", async () => {
    const bench = new Bench();
    await fc.assert(
      fc.asyncProperty(broken, async (source) => {
        writeFileSync(bench.from, source);
        const { diagnostics, header, leafId, tree, entries } = parseSession(source);
        const found = await diagnoseSession(bench.from);
        expect(JSON.parse(JSON.stringify(found))).toEqual(found);
        expect(found.findings.map(({ code, line = 0, offset = 0 }) => [code, line, offset])).toEqual(
          diagnostics.map(({ code, line, offset }) => [code, line, offset]),
        );
        expect([found.header, found.leafId]).toEqual([header, leafId]);
        expect(found.entries).toEqual({ total: tree.size, readable: entries.length });
        expect(found.verdict === "sound").toBe(found.findings.every(({ severity }) => severity === "info"));
        expect(readFileSync(bench.from)).toEqual(Buffer.from(source));
      }),
      { numRuns: 30 },
    );
  });
});

/** The entry that another says something of which shows in a context though the entry itself does not. */
function namedBy(entry: SessionEntry | UnknownEntry): string | undefined {
  if (entry.type === "compaction") return entry.firstKeptEntryId;
  return entry.type === "context_pin" ? entry.targetId : undefined;
}

function missingOf({ places }: SalvageReport): readonly string[] {
  return places.filter(({ reason }) => reason === "missing").map(({ entryId }) => entryId);
}

function standIns({ places }: SalvageReport): number {
  return places.filter(({ reason }) => reason === "missing" || reason === "unreadable").length;
}

function codesBut({ diagnostics }: ParsedSession, allowed: readonly string[]): readonly string[] {
  return diagnostics.map(({ code }) => code).filter((code) => !allowed.includes(code));
}
