import fc from "fast-check";
import type { LogPosition } from "sessile";
import { afterEach, describe, expect, test, vi } from "vitest";
import { DurableDirectories, type OpenFile, type OpenMode } from "../../../src/core/node/file-system.js";
import { LogWriter, type LogWriterOptions } from "../../../src/storage/files/log-writer.js";
import {
  absentPosition,
  endsWith,
  findFingerprint,
  fingerprintBytes,
  isSameFile,
  isUnchanged,
  lineEnding,
  parsePosition,
  printPosition,
  readEnding,
} from "../../../src/storage/files/read-lines.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const path = "/dir/log.jsonl";
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A disk on which `race` takes the place of the next append to the log. */
class RacingDisk extends SimulatedDisk {
  race: ((append: () => number) => number) | undefined;

  override open(at: string, mode: OpenMode): OpenFile | undefined {
    const file = super.open(at, mode);
    if (file === undefined || at !== path) return file;
    return {
      ...file,
      append: (bytes) => {
        const { race } = this;
        this.race = undefined;
        return race === undefined ? file.append(bytes) : race(() => file.append(bytes));
      },
    };
  }
}

function writerOn(disk: SimulatedDisk, options: Partial<LogWriterOptions> = {}): LogWriter {
  return new LogWriter({
    fs: disk,
    path,
    durability: "disk",
    maxLineBytes: 1 << 20,
    id: "a",
    directories: new DurableDirectories(disk, "/dir", { everyTime: true }),
    ...options,
  });
}

async function create(disk: SimulatedDisk, text = '{"header":1}\n') {
  const writer = writerOn(disk);
  writer.mkdir();
  const { position } = await writer.append(utf8(text), absentPosition, 1);
  return { writer, position };
}

function text(disk: SimulatedDisk): string {
  return Buffer.from(disk.bytes(path) ?? []).toString();
}

/** What another program does to the file, without a lock. */
function foreign(disk: SimulatedDisk, added: string): void {
  const file = disk.open(path, "append") as OpenFile;
  file.append(utf8(added));
  file.close();
}

test("batches follow each other, each fsynced, with the offsets of their lines", async () => {
  const disk = new RacingDisk();
  const { writer, position } = await create(disk);
  const first = await writer.append(utf8('{"one":1}\n'), position, 1);
  expect(first).toMatchObject({ at: 13, interleaved: false });
  const second = await writer.append(utf8('{"two":2}\n{"three":3}\n'), first.position, 1);
  expect(second.at).toBe(23);
  expect(text(disk)).toBe('{"header":1}\n{"one":1}\n{"two":2}\n{"three":3}\n');
  expect(disk.counts.sync).toBe(3);
  expect(disk.counts.syncDirectory).toBe(2);
  expect(disk.counts.open).toBe(1);
  writer.close();
  await writer.assertEndsAt(second.position);
  expect(disk.counts.open).toBe(2);
});

test("a batch under durability os is not fsynced", async () => {
  const disk = new RacingDisk();
  const { position } = await create(disk);
  const { sync } = disk.counts;
  const writer = writerOn(disk, { durability: "os" });
  await writer.append(utf8("{}\n"), position, 1);
  expect(disk.counts.sync).toBe(sync);
});

test("any change by another program is CONCURRENT_WRITER with the current end, and nothing is written", async () => {
  const changes: Record<string, (disk: SimulatedDisk) => void> = {
    appended: (disk) => foreign(disk, '{"foreign":1}\n'),
    "rewritten to the same size": (disk) => disk.put(path, '{"header":1}\n{"0ne":1}\n'),
    cut: (disk) => (disk.open(path, "append") as OpenFile).truncate(13),
    emptied: (disk) => disk.put(path, ""),
    replaced: (disk) => {
      disk.put("/dir/new", text(disk));
      disk.rename("/dir/new", path);
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    // With and without a look that it remembers.
    for (const remembers of [true, false]) {
      const disk = new RacingDisk();
      const { writer: first, position } = await create(disk);
      const { position: expected } = await first.append(utf8('{"one":1}\n'), position, 1);
      const writer = remembers ? first : writerOn(disk);
      change(disk);
      const before = text(disk);
      const error = await writer.append(utf8("{}\n"), expected, 1).catch((reason: unknown) => reason);
      expect({ name, error }).toMatchObject({ error: { code: "CONCURRENT_WRITER", details: { expected } } });
      expect(writer.isUnchangedSince(expected)).toBe(false);
      expect(text(disk)).toBe(before);
      const { actual } = (error as { details: { actual: LogPosition } }).details;
      expect(actual).toBe(writerOn(disk).position());
      await writer.assertEndsAt(actual);
    }
  }
});

test("a file that was touched and not changed is the same", async () => {
  const disk = new RacingDisk();
  const { writer, position } = await create(disk);
  disk.touch(path);
  expect(writer.isUnchangedSince(position)).toBe(true);
  disk.touch(path);
  expect(writer.isUnchangedSince(position)).toBe(false);
  await writer.assertEndsAt(position);
  expect(writer.isUnchangedSince(position)).toBe(true);
});

// @covers durability:foreign-mid-append
test("a torn tail of another program is repaired before a batch, and so is a whole line without a line feed", async () => {
  const disk = new RacingDisk();
  const { writer, position } = await create(disk);
  for (const [left, ending] of [
    ['{"half":', "\t\n"],
    ['{"whole":1}', "\n"],
  ] as const) {
    const before = text(disk);
    const here = left === '{"half":' ? position : writer.position();
    foreign(disk, left);
    await expect(writer.append(utf8("{}\n"), here, 1)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(text(disk)).toBe(`${before}${left}${ending}`);
  }
  const before = text(disk);
  await writer.append(utf8('{"one":1}\n'), writer.position(), 1);
  expect(text(disk)).toBe(`${before}{"one":1}\n`);
  expect(disk.paths()).toEqual([path]);
});

// @covers durability:foreign-half-line
test("a line that another program is in the middle of stays whole, with a blank one behind it", async () => {
  const disk = new RacingDisk();
  const { writer, position } = await create(disk);
  foreign(disk, '{"half":');
  const open = disk.open.bind(disk);
  const racing = writerOn(disk);
  disk.open = (name, mode) => {
    const file = open(name, mode);
    if (file === undefined) return undefined;
    const append = (bytes: Uint8Array) => {
      // Its write goes on while ours waits for the file: lines longer than a page come in pieces.
      disk.open = open;
      foreign(disk, "1}\n");
      return file.append(bytes);
    };
    return { ...file, append };
  };
  await expect(racing.append(utf8("{}\n"), position, 1)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  expect(text(disk)).toBe('{"header":1}\n{"half":1}\n\t\n');
  await writer.assertEndsAt(writer.position());
});

test("lines of another program at the moment of the write are before or after the batch", async () => {
  const around: [string, string][] = [
    ['{"foreign":1}\n', ""],
    ["", '{"foreign":1}\n{"foreign":2}\n'],
    ['{"foreign":1}\n', '{"foreign":2}\n'],
    // Another program's line is on its way; what is whole before it counts.
    ["", '{"fore'],
  ];
  for (const [before, behind] of around) {
    const disk = new RacingDisk();
    const { writer, position } = await create(disk);
    disk.race = (append) => {
      foreign(disk, before);
      const count = append();
      foreign(disk, behind);
      return count;
    };
    const written = await writer.append(utf8('{"one":1}\n'), position, 1);
    expect(written).toMatchObject({ at: 13 + before.length, interleaved: true });
    expect(text(disk)).toBe(`{"header":1}\n${before}{"one":1}\n${behind}`);
    expect(text(disk).slice(written.at)).toMatch(/^\{"one":1\}\n/);
  }
});

test("a batch that was joined to another program's half line, or is not there, poisons the writer", async () => {
  const races: ((disk: RacingDisk, append: () => number) => number)[] = [
    (disk, append) => {
      foreign(disk, '{"half":');
      return append();
    },
    (disk, append) => {
      const count = append();
      (disk.open(path, "append") as OpenFile).truncate(13);
      return count;
    },
    // A disk that says it wrote and lost the bytes.
    (_disk, _append) => 10,
  ];
  for (const race of races) {
    const disk = new RacingDisk();
    const { writer, position } = await create(disk);
    disk.race = (append) => race(disk, append);
    const code = { code: "WRITER_POISONED" };
    await expect(writer.append(utf8('{"one":1}\n'), position, 1)).rejects.toMatchObject(code);
    await expect(writer.assertEndsAt(position)).rejects.toMatchObject(code);
    await expect(writer.append(utf8("{}\n"), position, 1)).rejects.toMatchObject(code);
    expect(() => writer.position()).toThrow(expect.objectContaining(code));
  }
});

test("a failed write next to another program's bytes is not truncated, because those would be lost too", async () => {
  const disk = new RacingDisk();
  const { writer, position } = await create(disk);
  disk.race = () => {
    foreign(disk, '{"foreign":1}\n');
    throw Object.assign(new Error("no"), { code: "ENOSPC" });
  };
  await expect(writer.append(utf8("{}\n"), position, 1)).rejects.toMatchObject({ code: "WRITER_POISONED" });
  expect(text(disk)).toBe('{"header":1}\n{"foreign":1}\n');
});

test("an existing file is not created, a deleted one is not written, and a directory is not a file", async () => {
  const disk = new RacingDisk();
  const { writer, position } = await create(disk);
  await expect(writerOn(disk).append(utf8("{}\n"), absentPosition, 1)).rejects.toMatchObject({
    code: "SESSION_EXISTS",
  });
  disk.unlink(path);
  await expect(writer.append(utf8("{}\n"), position, 1)).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
    details: { id: "a" },
  });
  expect(() => writer.hasWholeTail()).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  disk.mkdir(path);
  expect(() => writer.hasWholeTail()).toThrow(
    expect.objectContaining({ code: "NOT_A_FILE", details: { path, kind: "directory" } }),
  );
});

test("every directory on the way to a file is fsynced with its first batch, and not later", async () => {
  const disk = new RacingDisk();
  const { writer, position } = await create(disk);
  expect(disk.counts.syncDirectory).toBe(2);
  await writer.append(utf8("{}\n"), position, 1);
  expect(disk.counts.syncDirectory).toBe(2);
  // Whoever made the file may not have come to it.
  const other = writerOn(disk);
  await other.append(utf8("{}\n"), other.position(), 1);
  expect(disk.counts.syncDirectory).toBe(4);
});

describe("a run of appends", () => {
  const line = (number: number) => utf8(`{"number":${number}}\n`);
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A writer that wrote so many lines within one millisecond. */
  async function afterLooks(disk: SimulatedDisk, count: number) {
    vi.useFakeTimers({ toFake: ["Date"], now: 1000 });
    const created = await create(disk);
    const writer = writerOn(disk, { durability: "os" });
    let { position } = created;
    for (let i = 0; i < count; i++) ({ position } = await writer.append(line(i), position, 1));
    return { writer, position };
  }

  // @covers durability:lost-name
  test("with durability disk the name is looked up after each sync", async () => {
    for (const change of ["deleted", "replaced"]) {
      const disk = new RacingDisk();
      const { writer, position } = await create(disk);
      const resume = disk.pause();
      const writing = writer.append(line(1), position, 1);
      if (change === "replaced") disk.put("/dir/new", text(disk));
      if (change === "replaced") disk.rename("/dir/new", path);
      else disk.unlink(path);
      resume();
      const code = change === "replaced" ? "CONCURRENT_WRITER" : "SESSION_NOT_FOUND";
      await expect(writing).rejects.toMatchObject({ code });
    }
  });

  test("asks for no size and no time: the kernel would write the time of each append down", async () => {
    const disk = new RacingDisk();
    const { writer, position } = await afterLooks(disk, 16);
    const before = disk.counts.stat;
    let at = position;
    for (let i = 16; i < 40; i++) ({ position: at } = await writer.append(line(i), at, 1));
    expect(disk.counts.stat).toBe(before);
  });

  test("finds a batch whose end cannot be read", async () => {
    const disk = new RacingDisk();
    const { writer, position } = await afterLooks(disk, 16);
    const before = text(disk).length;
    disk.race = (append) => {
      disk.failNext("readSync", "EIO");
      return append();
    };
    const written = await writer.append(line(16), position, 1);
    expect(written).toEqual({ position: writerOn(disk).position(), at: before, interleaved: false });
  });

  test("is poisoned if neither the end of a batch nor the size of the file can be read", async () => {
    const disk = new RacingDisk();
    const { writer, position } = await afterLooks(disk, 16);
    disk.race = (append) => {
      foreign(disk, '{"foreign":1}\n');
      disk.failNext("readSync", "EIO");
      disk.failNext("readSync", "EIO");
      return append();
    };
    const poisoned = expect.objectContaining({ code: "WRITER_POISONED", cause: expect.anything() });
    await expect(writer.append(line(16), position, 1)).rejects.toEqual(poisoned);
    expect(text(disk).endsWith('{"foreign":1}\n{"number":16}\n')).toBe(true);
    await expect(writer.assertEndsAt(position)).rejects.toEqual(poisoned);
  });

  test("looks the name up again after some time, when the clock was put back, and in another hold of the lock", async () => {
    for (const [ms, acquisition, looks] of [
      [2, 1, false],
      [3, 1, true],
      [-1, 1, true],
      [0, 2, true],
    ] as const) {
      const disk = new RacingDisk();
      const { writer, position } = await afterLooks(disk, 16);
      vi.setSystemTime(1000 + ms);
      const { stat } = disk.counts;
      await writer.append(line(16), position, acquisition);
      expect([ms, acquisition, disk.counts.stat > stat]).toEqual([ms, acquisition, looks]);
    }
  });

  // @covers durability:lost-name security:locks
  test("acknowledges nothing that was written after a stop to a file that had lost its name", async () => {
    for (const [lose, code] of [
      [(disk: SimulatedDisk) => void disk.unlink(path), "SESSION_NOT_FOUND"],
      [
        (disk: SimulatedDisk) => {
          disk.put("/dir/new", text(disk));
          disk.rename("/dir/new", path);
        },
        "CONCURRENT_WRITER",
      ],
    ] as const) {
      const disk = new RacingDisk();
      const { writer, position } = await afterLooks(disk, 16);
      const { write } = disk.counts;
      // The process is stopped between its look and its write, and goes on later.
      disk.onChange = () => {
        if (disk.counts.write === write) return;
        disk.onChange = undefined;
        vi.setSystemTime(5000);
        lose(disk);
      };
      const writing = writer.append(line(16), position, 1);
      await expect(writing).rejects.toMatchObject({ code });
    }
  });

  test("a name lookup that fails is not one that the next append may go by", async () => {
    const disk = new RacingDisk();
    const { writer, position } = await afterLooks(disk, 16);
    vi.setSystemTime(1100);
    disk.failNext("stat", "EIO");
    await expect(writer.append(line(16), position, 1)).rejects.toMatchObject({ code: "EIO" });
    disk.unlink(path);
    await expect(writer.append(line(16), position, 1)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  test.each(["disk", "os"] as const)(
    "with durability %s a batch whose name cannot be looked up poisons the writer, since it is in the file",
    async (durability) => {
      vi.useFakeTimers({ toFake: ["Date"], now: 1000 });
      const disk = new RacingDisk();
      const { position } = await create(disk);
      const writer = writerOn(disk, { durability });
      disk.race = (append) => {
        vi.setSystemTime(5000);
        disk.failNext("stat", "EIO");
        return append();
      };
      const poisoned = { code: "WRITER_POISONED", cause: { code: "EIO" } };
      await expect(writer.append(line(1), position, 1)).rejects.toMatchObject(poisoned);
      expect(text(disk)).toBe('{"header":1}\n{"number":1}\n');
      await expect(writer.append(line(1), position, 1)).rejects.toMatchObject(poisoned);
    },
  );

  test("detects that a file was rewritten to the same size", async () => {
    const disk = new RacingDisk();
    const { writer, position } = await afterLooks(disk, 16);
    disk.put(path, text(disk).replace('"number":15', '"number":51'));
    expect(writer.isUnchangedSince(position)).toBe(false);
    await expect(writer.append(line(16), position, 1)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  });

  test("truncates the file to its former size after a failed write", async () => {
    const disk = new RacingDisk();
    const { writer, position } = await afterLooks(disk, 16);
    const before = text(disk);
    disk.capacityBytes = disk.usedBytes + 5;
    await expect(writer.append(line(16), position, 1)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(text(disk)).toBe(before);
  });
});

describe("positions", () => {
  const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
  const lines = fc
    .array(
      fc.string({ maxLength: 150 }).map((text) => text.replaceAll("\n", " ")),
      { minLength: 1, maxLength: 4 },
    )
    .map((all) => utf8(`${all.join("\n")}\n`));

  test("a position prints and parses back", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), fc.maxSafeNat(), lines, (dev, ino, size, bytes) => {
        const position = { dev, ino, size, fingerprint: findFingerprint(bytes) };
        expect(parsePosition(printPosition(position))).toEqual(position);
      }),
    );
    for (const text of [absentPosition, "", "1-2-3", "1-2-3-", "a-2-3-4", "1-2-3-4-5"]) {
      expect(parsePosition(text)).toBeUndefined();
    }
  });

  test("the fingerprint of a last line is the same from the batch, from the file's end, and from the whole file", () => {
    fc.assert(
      fc.property(lines, lines, (before, batch) => {
        const file = Uint8Array.from([...before, ...batch]);
        expect(findFingerprint(batch)).toBe(findFingerprint(file));
        expect(findFingerprint(file.subarray(-2 * fingerprintBytes))).toBe(findFingerprint(file));
      }),
    );
  });

  test("another last line has another fingerprint", () => {
    expect(findFingerprint(utf8("a\nb\n"))).not.toBe(findFingerprint(utf8("a\nc\n")));
    expect(findFingerprint(utf8("a\nb\n"))).toBe(findFingerprint(utf8("x\nb\n")));
    expect(findFingerprint(new Uint8Array())).toBe("start");
  });

  test("a file is known by device and inode", () => {
    const position = { dev: 1, ino: 2, size: 3, fingerprint: "m" };
    const stat = { kind: "file", dev: 1, ino: 2, size: 9, mtimeMs: 0, ctimeMs: 0 } as const;
    expect(isSameFile(position, stat)).toBe(true);
    expect(isSameFile(position, { ...stat, ino: 3 })).toBe(false);
    expect(isSameFile(position, { ...stat, dev: 2 })).toBe(false);
  });

  const path = "/log.jsonl";

  function fileOf(text: string): { readonly disk: SimulatedDisk; readonly file: OpenFile } {
    const disk = new SimulatedDisk();
    disk.put(path, text);
    return { disk, file: disk.open(path, "read") as OpenFile };
  }

  test.each([
    ["at its last line feed", "{}\n", 3, true],
    ["not before another line", "{}\n[]\n", 3, false],
    ["not before half a line", "{}\n[", 3, false],
    ["not after it was truncated", "{}\n", 4, false],
    ["not without a line feed", "{}", 2, false],
    ["not if it is empty", "", 0, false],
  ])("a file ends at a size %s, told without its size", (_, text, size, expected) => {
    const { disk, file } = fileOf(text);
    expect(endsWith(file, size, utf8("\n"))).toBe(expected);
    expect(endsWith(file, size, lineEnding(utf8(`{}${"\n".repeat(size - 2 > 0 ? size - 2 : 1)}`)))).toBe(
      expected,
    );
    expect(endsWith(file, size, utf8("]\n"))).toBe(false);
    expect(disk.counts.stat).toBe(0);
  });

  test.each([1, 63, 64, 65, 127, 128, 129, 300])(
    "the ending of a line of %i bytes has its fingerprint",
    (length) => {
      const line = `${"x".repeat(length - 1)}\n`;
      const { file } = fileOf(`{}\n${line}`);
      const ending = readEnding(file, line.length + 3);
      expect(findFingerprint(ending)).toBe(findFingerprint(utf8(line)));
      expect(findFingerprint(lineEnding(utf8(line)))).toBe(findFingerprint(utf8(line)));
      expect(endsWith(file, line.length + 3, ending)).toBe(true);
      expect(endsWith(file, line.length + 3, lineEnding(utf8(line)))).toBe(true);
    },
  );

  test("a file that cannot be read does not end anywhere", () => {
    const { disk, file } = fileOf("{}\n");
    disk.failNext("readSync", "EIO");
    expect(endsWith(file, 3, utf8("\n"))).toBe(false);
    expect(endsWith(file, 3, utf8("\n"))).toBe(true);
  });

  test("a file is unchanged that is the same, as long, and not written to since", () => {
    const { disk, file } = fileOf("{}\n");
    const seen = file.stat();
    expect(isUnchanged(seen, file.stat())).toBe(true);
    expect(isUnchanged(undefined, seen)).toBe(false);
    expect(isUnchanged(seen, undefined)).toBe(false);
    disk.touch(path);
    expect(isUnchanged(seen, file.stat())).toBe(false);
  });
});
