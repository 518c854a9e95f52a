import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SessileError } from "sessile/errors";
import { encodeEntry, parseSession } from "sessile/session";
import {
  type EntriesPage,
  fileSessionStore,
  openSessionFile,
  readEntriesBackwards,
} from "sessile/session/node";
import { describe, expect, test } from "vitest";
import type { FileSystem } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import { readEntriesBackwardsOn } from "../../../src/session/node/pages/read-entries-backwards.js";
import { plainHeader, sessionOf } from "../../arbitraries/entries.js";
import type { SimulatedDisk } from "../../support/simulated-disk.js";
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

  test("costs its own bytes, a step and the header, wherever it lies", async () => {
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

  test("ends early where its lines are many bytes, and passes over what is too long", async () => {
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
  test("holds while what comes after it is cut off, mended or written", async () => {
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
  test("is refused where the file was cut below it, rewritten or replaced", async () => {
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
  test("is refused where the file is cut while the page is being read", async () => {
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
  const wanted = [...session.tree.walk()].map(({ node }) => node.id);
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

test("what is no session file, and wrong arguments, are said by name", async () => {
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
