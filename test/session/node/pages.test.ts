import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { encodeEntry, parseSession } from "sessile";
import { SessileError } from "sessile/errors";
import { type EntriesPage, fileSessionStore, openSessionFile, readEntriesBackwards } from "sessile/node";
import { describe, expect, test } from "vitest";
import type { FileSystem, OpenFile } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { readEntriesBackwardsOn } from "../../../src/storage/files/read-ends.js";
import { linesBackwards } from "../../../src/storage/files/read-lines.js";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { conversation } from "../../arbitraries/conversations.js";
import { entryTree, plainHeader, sessionOf } from "../../arbitraries/entries.js";
import { message } from "../../arbitraries/messages.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { custom, diskOf, type Entry, pagesOf, path } from "./paged.js";
import { temporaryDirectory } from "./temporary-directory.js";

const idsOf = ({ entries }: { readonly entries: readonly Entry[] }) => entries.map(({ id }) => id);
const codesOf = ({ diagnostics }: EntriesPage) => diagnostics.map(({ code, offset }) => [code, offset]);

test("pages are as long as asked for, and the last one is no empty one", async () => {
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

describe("a page of a long file", () => {
  /** A disk that adds up the bytes that are read from it. */
  function counted(disk: FileSystem): { readonly disk: FileSystem; readonly read: () => number } {
    let read = 0;
    const open: FileSystem["open"] = (name, mode) => {
      const file = disk.open(name, mode);
      if (file === undefined) return undefined;
      return Object.assign(Object.create(file) as typeof file, {
        stat: () => file.stat(),
        close: () => file.close(),
        async read(into: Uint8Array, at: number) {
          const count = await file.read(into, at);
          read += count;
          return count;
        },
        readSync(into: Uint8Array, at: number) {
          const count = file.readSync(into, at);
          read += count;
          return count;
        },
      });
    };
    return { disk: { ...disk, open }, read: () => read };
  }

  test("costs its own bytes, a step and the header, at any offset", async () => {
    const directory = temporaryDirectory();
    const file = join(directory, "log.jsonl");
    const filler = "x".repeat(900);
    const line = (at: number) => `${encodeEntry(custom(`e${at}`, at === 0 ? null : `e${at - 1}`, filler))}\n`;
    writeFileSync(
      file,
      `${JSON.stringify(plainHeader)}\n${Array.from({ length: 30_000 }, (_, at) => line(at)).join("")}`,
    );
    const { disk, read } = counted(nodeFileSystem);
    let before: string | undefined;
    for (const newest of [29_999, 29_949, 29_899]) {
      const from = read();
      const page = await readEntriesBackwardsOn(disk, file, {
        limit: 50,
        ...(before === undefined ? {} : { before }),
      });
      expect(idsOf(page)).toEqual(Array.from({ length: 50 }, (_, at) => `e${newest - 49 + at}`));
      expect(read() - from).toBeLessThan(50 * line(30_000).length + (64 + 2 * 16 + 1) * 1024);
      before = page.before;
    }
  });

  test("ends early after many bytes of lines, and skips lines that are too long", async () => {
    const wide = "x".repeat(100_000);
    const entries = [
      custom("a"),
      custom("b", "a", wide),
      custom("c", "b", wide.repeat(4)),
      custom("d", "c", wide),
    ];
    const disk = diskOf(sessionOf(entries).text);
    const pages = await pagesOf(disk, () => ({ maxBytes: 90_000, maxLineBytes: 200_000 }));
    expect(pages.map(idsOf)).toEqual([["a"], ["b"], [], ["d"]]);
    expect(pages.flatMap(codesOf)).toEqual([["LINE_TOO_LONG", expect.any(Number)]]);
  });
});

test("a page ends with the line that brings it to its bytes, line feeds among them", async () => {
  const { text, lines } = sessionOf(["a", "b", "c"].map((id) => custom(id)));
  const length = (lines[1] as string).length + 1;
  for (const [maxBytes, ids] of [
    [length, ["c"]],
    [length + 1, ["b", "c"]],
    [2 * length, ["b", "c"]],
    [2 * length + 1, ["a", "b", "c"]],
  ] as const)
    expect(idsOf(await readEntriesBackwardsOn(diskOf(text), path, { maxBytes }))).toEqual(ids);
});

test("a second header is reported with all that is wrong with it", async () => {
  const { text } = sessionOf([custom("a")]);
  const second = JSON.stringify(plainHeader).replace("{", '{"__proto__":1,');
  const disk = diskOf(`${text}${second}\n`);
  const page = await readEntriesBackwardsOn(disk, path);
  expect(codesOf(page)).toEqual([
    ["UNSAFE_KEY", text.length],
    ["EXTRA_HEADER", text.length],
  ]);
  expect(parseSession(`${text}${second}\n`).diagnostics.map(({ code }) => code)).toEqual(
    page.diagnostics.map(({ code }) => code),
  );
});

test.each([
  ["", "EMPTY"],
  [" ", "EMPTY"],
  ["x", "NO_HEADER"],
  [" \n", "NO_HEADER"],
])("of a file of %j alone it says what opening it says: %s", async (text, code) => {
  const file = join(temporaryDirectory(), "log.jsonl");
  writeFileSync(file, text);
  await expect(readEntriesBackwards(file)).rejects.toMatchObject({ code });
  await expect(openSessionFile(file)).rejects.toMatchObject({ code });
});

describe("a cursor", () => {
  const entries = ["a", "b", "c", "d"].map((id) => custom(id));
  const { text, lines } = sessionOf(entries);
  const upTo = (count: number) =>
    lines
      .slice(0, count)
      .map((line) => `${line}\n`)
      .join("");

  async function newest(disk: FileSystem): Promise<{ readonly limit: number; readonly before: string }> {
    const { before = "" } = await readEntriesBackwardsOn(disk, path, { limit: 2 });
    return { limit: 2, before };
  }

  // @covers durability:paging
  test("stays valid while lines after it are truncated, repaired or written", async () => {
    const changes: Record<string, (disk: SimulatedDisk) => void> = {
      nothing: () => undefined,
      append: (disk) => void disk.open(path, "append")?.append(Buffer.from("\n{}\n")),
      "cut to it": (disk) => disk.open(path, "append")?.truncate(upTo(3).length),
      moved: (disk) => {
        disk.rename(path, "/s/other.jsonl");
        disk.rename("/s/other.jsonl", path);
      },
    };
    for (const [name, change] of Object.entries(changes)) {
      const disk = diskOf(text);
      const options = await newest(disk);
      change(disk);
      expect({ name, ids: idsOf(await readEntriesBackwardsOn(disk, path, options)) }).toEqual({
        name,
        ids: ["a", "b"],
      });
    }
  });

  // @covers durability:paging
  test("is rejected if the file was truncated below it, rewritten or replaced", async () => {
    const changes: Record<string, (disk: SimulatedDisk) => void> = {
      cut: (disk) => disk.open(path, "append")?.truncate(upTo(3).length - 1),
      "cut and written on": (disk) => {
        disk.put(path, upTo(2));
        disk.open(path, "append")?.append(Buffer.from(`${encodeEntry(custom("z"))}\n`));
      },
      emptied: (disk) => disk.put(path, `${lines[0]}\n`),
      replaced: (disk) => {
        disk.put("/s/new", text);
        disk.rename("/s/new", path);
      },
    };
    for (const [name, change] of Object.entries(changes)) {
      const disk = diskOf(text);
      const options = await newest(disk);
      change(disk);
      const refusal = await readEntriesBackwardsOn(disk, path, options).catch((error: unknown) => error);
      expect({ name, is: SessileError.is(refusal, "LOG_CHANGED") && refusal.details }).toEqual({
        name,
        is: { id: path },
      });
    }
  });

  // @covers durability:paging
  test("is rejected if the file is truncated while the page is being read", async () => {
    const disk = diskOf(text);
    const options = await newest(disk);
    const resume = disk.pause();
    const reading = readEntriesBackwardsOn(disk, path, options);
    disk.open(path, "append")?.truncate(upTo(1).length);
    resume();
    await expect(reading).rejects.toMatchObject({ code: "LOG_CHANGED" });
  });

  test("of another session, or no cursor at all, is refused", async () => {
    const disk = diskOf(text);
    disk.put("/s/other.jsonl", text);
    const options = await newest(disk);
    await expect(readEntriesBackwardsOn(disk, "/s/other.jsonl", options)).rejects.toMatchObject({
      code: "LOG_CHANGED",
    });
    for (const before of ["", "absent", "1-2-3", 5, null]) {
      const bad = { before: before as string };
      await expect(readEntriesBackwardsOn(disk, path, bad)).rejects.toThrow(
        /^before: expected the "before" of a page, got /,
      );
    }
  });
});

test("a store's sessions are paged by the location that it gives, while they are written", async () => {
  const sessions = fileSessionStore({ dir: temporaryDirectory(), durability: "os" });
  await using session = await sessions.create({ cwd: "/work" });
  for (let at = 0; at < 7; at++)
    await session.appendMessage({ role: "user", content: `${at}`, timestamp: at });
  const wanted = [...(await session.tree()).walk()].map(({ node }) => node.id);
  const { location = "" } = (await sessions.latest()) ?? {};
  expect(location).toBe(session.location);
  const ids: string[][] = [];
  for (let before: string | undefined, more = true; more; more = before !== undefined) {
    const page = await readEntriesBackwards(location, {
      limit: 3,
      ...(before === undefined ? {} : { before }),
    });
    ids.unshift(idsOf(page));
    before = page.before;
    await session.appendMessage({ role: "user", content: "later", timestamp: 8 });
  }
  expect(ids.flat()).toEqual(wanted);
  expect(ids.map(({ length }) => length)).toEqual([1, 3, 3]);
});

test("version 1 is numbered from its start, past lines that are damaged or blank", async () => {
  const line = (customType: string) => JSON.stringify({ type: "custom", timestamp: "t", customType });
  const header = '{"type":"session","id":"s","timestamp":"t","cwd":"/"}';
  const text = [header, line("a"), "{torn", "", "[]", line("b"), line("c"), ""].join("\n");
  const { entries } = parseSession(text);
  expect(entries.map(({ id, parentId }) => [id, parentId])).toEqual([
    ["00000001", null],
    ["00000003", "00000001"],
    ["00000004", "00000003"],
  ]);
  const pages = await pagesOf(diskOf(text), () => ({ limit: 1 }));
  expect(pages.flatMap((page) => page.entries)).toEqual(entries);
});

test("files that are not sessions, and wrong arguments, are named in the error", async () => {
  const directory = temporaryDirectory();
  const file = join(directory, "log.jsonl");
  await expect(readEntriesBackwards(file)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await expect(readEntriesBackwards(directory)).rejects.toMatchObject({ code: "NOT_A_FILE" });
  writeFileSync(file, "");
  await expect(readEntriesBackwards(file)).rejects.toMatchObject({ code: "EMPTY", details: { path: file } });
  writeFileSync(file, "{}\nno header");
  await expect(readEntriesBackwards(file)).rejects.toMatchObject({
    code: "NO_HEADER",
    details: { path: file, lines: 2 },
  });
  await expect(readEntriesBackwards("")).rejects.toThrow(/^path: expected a non-empty string/);
  await expect(readEntriesBackwards(file, { limit: 0 })).rejects.toThrow(
    /^limit: expected an integer >= 1, got 0/,
  );
  await expect(readEntriesBackwards(file, { maxBytes: 0 })).rejects.toThrow(
    /^maxBytes: expected an integer >= 1/,
  );
  await expect(readEntriesBackwards(file, { maxLineBytes: 1 })).rejects.toThrow(/^maxLineBytes: /);
  writeFileSync(file, sessionOf([custom("a")]).text);
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(readEntriesBackwards(file, { signal })).rejects.toThrow("enough");
});

describe("pages of any file", () => {
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
      if (header === "" && alone.header !== undefined) header = `${JSON.stringify(alone.header)}\n`;
      for (const entry of alone.entries) {
        const index = parsed.findIndex(({ id }) => id === entry.id);
        // Version 1 has no ids, so that lines are compared in order.
        const isRepeated = repeated.has(at) && (session.header?.version !== 1 || parsed.length === 0);
        if (isRepeated) entries.push(entry);
        else entries.push(parsed.shift() as Entry);
        if (isRepeated && index >= 0) parsed.splice(index, 1);
        // A line that is joined to a copy of itself has the entry twice.
        const copies = alone.diagnostics.filter(
          ({ code, entryId }) => code === "DUPLICATE_ID" && entryId === entry.id,
        );
        for (const _ of copies) entries.push(entry);
      }
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
      { numRuns: 100 },
    );
  });
});

describe("lines of a range, backwards", () => {
  interface Found {
    readonly at: number;
    readonly length: number;
    readonly text: string | undefined;
  }

  async function read(text: string, range = { start: 0, end: text.length }, maxLineBytes = 1 << 20) {
    const disk = new SimulatedDisk();
    disk.put("/log", Buffer.from(text, "latin1"));
    const lines: Found[] = [];
    for await (const { at, length, bytes } of linesBackwards(disk.open("/log", "read") as OpenFile, range, {
      maxLineBytes,
    }))
      lines.push({ at, length, text: bytes && Buffer.from(bytes).toString("latin1") });
    return lines;
  }

  /** The same by splitting, in the order of the file. */
  function split(text: string): Found[] {
    let at = 0;
    return (text.endsWith("\n") || text === "" ? text.slice(0, -1) : text).split("\n").flatMap((line) => {
      const found = { at, length: line.length, text: line };
      at += line.length + 1;
      return text === "" ? [] : [found];
    });
  }

  const pieces = fc.array(
    fc.constantFrom(
      "a",
      "bc",
      "\n",
      "\n",
      "\r\n",
      "x".repeat(70),
      "y".repeat(64 * 1024 - 1),
      "z".repeat(150_000),
    ),
    { maxLength: 16 },
  );

  test("the lines are those of the text, the last one first, for any range that begins at a line", async () => {
    await fc.assert(
      fc.asyncProperty(pieces, fc.nat(), async (parts, pick) => {
        const text = parts.join("");
        const lines = split(text);
        expect(await read(text)).toEqual(lines.toReversed());
        const start = lines[pick % Math.max(1, lines.length)]?.at ?? 0;
        expect(await read(text, { start, end: text.length })).toEqual(
          lines.filter(({ at }) => at >= start).toReversed(),
        );
        expect(await read(text, { start: 0, end: start })).toEqual(
          lines.filter(({ at }) => at < start).toReversed(),
        );
      }),
    );
  });

  test("of a line over the limit there are the place and the length", async () => {
    const long = "x".repeat(200_000);
    expect(await read(`a\n${long}\nb\n${long}`, undefined, 1024)).toEqual([
      { at: 200_005, length: 200_000, text: undefined },
      { at: 200_003, length: 1, text: "b" },
      { at: 2, length: 200_000, text: undefined },
      { at: 0, length: 1, text: "a" },
    ]);
  });

  test("a line of the maximum length is read, one byte more is too long, also if it is read in steps", async () => {
    for (const length of [1024, 64 * 1024, 200_000]) {
      for (const text of [`${"x".repeat(length)}\n`, `a\n${"x".repeat(length)}`]) {
        const [line] = await read(text, undefined, length);
        expect(line?.text).toBe("x".repeat(length));
        expect((await read(text, undefined, length - 1))[0]).toMatchObject({ length, text: undefined });
      }
    }
  });

  test("ends with the reason of its signal, also between two steps", async () => {
    const disk = new SimulatedDisk();
    disk.put("/log", `${"x".repeat(100_000)}\nb\n`);
    const controller = new AbortController();
    const { signal } = controller;
    const seen: number[] = [];
    const reading = (async () => {
      const range = { start: 0, end: 100_003 };
      const file = disk.open("/log", "read") as OpenFile;
      for await (const { at } of linesBackwards(file, range, { maxLineBytes: 1 << 20, signal })) {
        seen.push(at);
        controller.abort(new Error("enough"));
      }
    })();
    await expect(reading).rejects.toThrow("enough");
    expect(seen).toEqual([100_001]);
  });

  test("a file that does not reach to the end of the part ends the reading", async () => {
    expect(await read("a\nb\n", { start: 0, end: 100 })).toEqual([]);
  });
});
