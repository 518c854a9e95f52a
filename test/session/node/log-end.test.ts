import { afterEach, describe, expect, test, vi } from "vitest";
import { DurableDirectories } from "../../../src/internal/node/durable-directories.js";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import type { LogPosition } from "../../../src/session/api/backend.js";
import { LogEnd, type LogEndOptions } from "../../../src/session/node/log-writer.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const path = "/dir/log.jsonl";
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function endOf(disk: SimulatedDisk, options: Partial<LogEndOptions> = {}): LogEnd {
  return new LogEnd({
    disk,
    path,
    durability: "disk",
    maxLineBytes: 1 << 20,
    id: "a",
    directories: new DurableDirectories(disk, "/dir", { everyTime: true }),
    ...options,
  });
}

async function create(disk: SimulatedDisk, text = '{"header":1}\n') {
  const end = endOf(disk);
  end.mkdir();
  const { position } = await end.write(end.create(), utf8(text), true);
  return { end, position };
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

test("batches go one behind the other, each synced, and tell where they lie", async () => {
  const disk = new SimulatedDisk();
  const { end, position } = await create(disk);
  const first = await end.write(await end.at(position), utf8('{"one":1}\n'), false);
  expect(first).toMatchObject({ at: 13, interleaved: false });
  const second = await end.write(await end.at(first.position), utf8('{"two":2}\n{"three":3}\n'), false);
  expect(second.at).toBe(23);
  expect(text(disk)).toBe('{"header":1}\n{"one":1}\n{"two":2}\n{"three":3}\n');
  expect(disk.counts.sync).toBe(3);
  expect(disk.counts.syncDirectory).toBe(2);
  expect(disk.counts.open).toBe(1);
  end.close();
  await end.at(second.position);
  expect(disk.counts.open).toBe(2);
});

test("a batch under durability os is not synced", async () => {
  const disk = new SimulatedDisk();
  const { position } = await create(disk);
  const { sync } = disk.counts;
  const end = endOf(disk, { durability: "os" });
  await end.write(await end.at(position), utf8("{}\n"), false);
  expect(disk.counts.sync).toBe(sync);
});

test("whatever another program did to the file, CONCURRENT_WRITER says where it ends now, and nothing is written", async () => {
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
      const disk = new SimulatedDisk();
      const { end: writer, position } = await create(disk);
      const { position: expected } = await writer.write(
        await writer.at(position),
        utf8('{"one":1}\n'),
        false,
      );
      const end = remembers ? writer : endOf(disk);
      change(disk);
      const before = text(disk);
      const error = await end.at(expected).catch((reason: unknown) => reason);
      expect({ name, error }).toMatchObject({ error: { code: "CONCURRENT_WRITER", details: { expected } } });
      expect(end.isStill(expected)).toBe(false);
      expect(text(disk)).toBe(before);
      const { actual } = (error as { details: { actual: LogPosition } }).details;
      expect(actual).toBe(endOf(disk).position());
      expect(await end.at(actual)).toBeDefined();
    }
  }
});

test("a file that was touched and not changed is the same", async () => {
  const disk = new SimulatedDisk();
  const { end, position } = await create(disk);
  disk.touch(path);
  expect(end.isStill(position)).toBe(true);
  disk.touch(path);
  expect(end.isStill(position)).toBe(false);
  await end.at(position);
  expect(end.isStill(position)).toBe(true);
});

// @covers durability:foreign-mid-append
test("half a line that another program left is ended before a batch, and so is a whole one", async () => {
  const disk = new SimulatedDisk();
  const { end, position } = await create(disk);
  for (const [left, ending] of [
    ['{"half":', "\t\n"],
    ['{"whole":1}', "\n"],
  ] as const) {
    const before = text(disk);
    const here = left === '{"half":' ? position : end.position();
    foreign(disk, left);
    await expect(end.at(here)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(text(disk)).toBe(`${before}${left}${ending}`);
  }
  const before = text(disk);
  await end.write(await end.at(end.position()), utf8('{"one":1}\n'), false);
  expect(text(disk)).toBe(`${before}{"one":1}\n`);
  expect(disk.paths()).toEqual([path]);
});

// @covers durability:foreign-half-line
test("a line that another program is in the middle of stays whole, with a blank one behind it", async () => {
  const disk = new SimulatedDisk();
  const { end, position } = await create(disk);
  foreign(disk, '{"half":');
  const open = disk.open.bind(disk);
  const racing = endOf(disk);
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
  await expect(racing.at(position)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  expect(text(disk)).toBe('{"header":1}\n{"half":1}\n\t\n');
  await end.at(end.position());
});

test("lines that come in at the moment of the write stand beside the batch, before or behind it", async () => {
  const around: [string, string][] = [
    ['{"foreign":1}\n', ""],
    ["", '{"foreign":1}\n{"foreign":2}\n'],
    ['{"foreign":1}\n', '{"foreign":2}\n'],
    // Another program's line is on its way; what is whole before it counts.
    ["", '{"fore'],
  ];
  for (const [before, behind] of around) {
    const disk = new SimulatedDisk();
    const { end, position } = await create(disk);
    const handle = await end.at(position);
    const racing: OpenFile = {
      ...handle,
      append: (bytes) => {
        foreign(disk, before);
        const count = handle.append(bytes);
        foreign(disk, behind);
        return count;
      },
    };
    const written = await end.write(racing, utf8('{"one":1}\n'), false);
    expect(written).toMatchObject({ at: 13 + before.length, interleaved: true });
    expect(text(disk)).toBe(`{"header":1}\n${before}{"one":1}\n${behind}`);
    expect(text(disk).slice(written.at)).toMatch(/^\{"one":1\}\n/);
  }
});

test("a batch that was joined to another program's half line, or is not there, poisons the writer", async () => {
  const races: ((disk: SimulatedDisk, append: () => number) => number)[] = [
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
    const disk = new SimulatedDisk();
    const { end, position } = await create(disk);
    const handle = await end.at(position);
    const racing: OpenFile = { ...handle, append: (bytes) => race(disk, () => handle.append(bytes)) };
    const code = { code: "WRITER_POISONED" };
    await expect(end.write(racing, utf8('{"one":1}\n'), false)).rejects.toMatchObject(code);
    await expect(end.at(position)).rejects.toMatchObject(code);
    await expect(end.write(handle, utf8("{}\n"), false)).rejects.toMatchObject(code);
    expect(() => end.position()).toThrow(expect.objectContaining(code));
  }
});

test("a failed write beside another program's bytes is not taken back, for those would go with it", async () => {
  const disk = new SimulatedDisk();
  const { end, position } = await create(disk);
  const handle = await end.at(position);
  const racing: OpenFile = {
    ...handle,
    append: () => {
      foreign(disk, '{"foreign":1}\n');
      throw Object.assign(new Error("no"), { code: "ENOSPC" });
    },
  };
  await expect(end.write(racing, utf8("{}\n"), false)).rejects.toMatchObject({ code: "WRITER_POISONED" });
  expect(text(disk)).toBe('{"header":1}\n{"foreign":1}\n');
});

test("a file that is there is not made, one that is gone is not written, and a directory is no file", async () => {
  const disk = new SimulatedDisk();
  const { end, position } = await create(disk);
  expect(() => endOf(disk).create()).toThrow(expect.objectContaining({ code: "SESSION_EXISTS" }));
  disk.unlink(path);
  await expect(end.at(position)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND", details: { id: "a" } });
  expect(() => end.isWhole()).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
  disk.mkdir(path);
  expect(() => end.isWhole()).toThrow(
    expect.objectContaining({ code: "NOT_A_FILE", details: { path, kind: "directory" } }),
  );
});

test("every directory on the way to a file is synced with its first batch, and no more", async () => {
  const disk = new SimulatedDisk();
  const { end, position } = await create(disk);
  expect(disk.counts.syncDirectory).toBe(2);
  await end.write(await end.at(position), utf8("{}\n"), false);
  expect(disk.counts.syncDirectory).toBe(2);
  // Whoever made the file may not have come to it.
  const other = endOf(disk);
  await other.write(await other.at(other.position()), utf8("{}\n"), false);
  expect(disk.counts.syncDirectory).toBe(4);
});

describe("a run of appends", () => {
  const line = (number: number) => utf8(`{"number":${number}}\n`);
  afterEach(() => {
    vi.useRealTimers();
  });

  /** An end that wrote so many lines within one millisecond, each after a look. */
  async function afterLooks(disk: SimulatedDisk, count: number) {
    vi.useFakeTimers({ toFake: ["Date"], now: 1000 });
    const created = await create(disk);
    const end = endOf(disk, { durability: "os" });
    let { position } = created;
    for (let i = 0; i < count; i++)
      ({ position } = await end.write(await end.at(position, 1), line(i), false));
    return { end, position };
  }

  // @covers durability:lost-name
  test("with durability disk the name is looked up after each sync", async () => {
    for (const change of ["deleted", "replaced"]) {
      const disk = new SimulatedDisk();
      const { end, position } = await create(disk);
      const resume = disk.pause();
      const writing = end.write(await end.at(position, 1), line(1), false);
      if (change === "replaced") disk.put("/dir/new", text(disk));
      if (change === "replaced") disk.rename("/dir/new", path);
      else disk.unlink(path);
      resume();
      const code = change === "replaced" ? "CONCURRENT_WRITER" : "SESSION_NOT_FOUND";
      await expect(writing).rejects.toMatchObject({ code });
    }
  });

  test("asks for no size and no time: the kernel would write the time of each append down", async () => {
    const disk = new SimulatedDisk();
    const { end, position } = await afterLooks(disk, 16);
    const before = disk.counts.stat;
    let at = position;
    for (let i = 16; i < 40; i++) ({ position: at } = await end.write(await end.at(at, 1), line(i), false));
    expect(disk.counts.stat).toBe(before);
  });

  test("a write whose end cannot be read is looked for, and found", async () => {
    const disk = new SimulatedDisk();
    const { end, position } = await afterLooks(disk, 16);
    const before = text(disk).length;
    const handle = await end.at(position, 1);
    disk.failNext("readSync", "EIO");
    const written = await end.write(handle, line(16), false);
    expect(written).toEqual({ position: endOf(disk).position(), at: before, interleaved: false });
  });

  test("where neither the end of a write can be read nor its size, the writer has to be opened again", async () => {
    const disk = new SimulatedDisk();
    const { end, position } = await afterLooks(disk, 16);
    const handle = await end.at(position, 1);
    foreign(disk, '{"foreign":1}\n');
    disk.failNext("readSync", "EIO");
    disk.failNext("readSync", "EIO");
    const poisoned = expect.objectContaining({ code: "WRITER_POISONED", cause: expect.anything() });
    await expect(end.write(handle, line(16), false)).rejects.toEqual(poisoned);
    expect(text(disk).endsWith('{"foreign":1}\n{"number":16}\n')).toBe(true);
    await expect(end.at(position, 1)).rejects.toEqual(poisoned);
  });

  test("looks the name up again after some time, when the clock was put back, and in another hold of the lock", async () => {
    for (const [ms, hold, looks] of [
      [2, 1, false],
      [3, 1, true],
      [-1, 1, true],
      [0, 2, true],
    ] as const) {
      const disk = new SimulatedDisk();
      const { end, position } = await afterLooks(disk, 16);
      vi.setSystemTime(1000 + ms);
      const { stat } = disk.counts;
      await end.at(position, hold);
      expect([ms, hold, disk.counts.stat > stat]).toEqual([ms, hold, looks]);
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
      const disk = new SimulatedDisk();
      const { end, position } = await afterLooks(disk, 16);
      const { write } = disk.counts;
      // The process is stopped between its look and its write, and goes on later.
      disk.onChange = () => {
        if (disk.counts.write === write) return;
        disk.onChange = undefined;
        vi.setSystemTime(5000);
        lose(disk);
      };
      const writing = end.at(position, 1).then((handle) => end.write(handle, line(16), false));
      await expect(writing).rejects.toMatchObject({ code });
    }
  });

  test("sees that a file was rewritten to the same size behind its last line", async () => {
    const disk = new SimulatedDisk();
    const { end, position } = await afterLooks(disk, 16);
    disk.put(path, text(disk).replace('"number":15', '"number":51'));
    expect(end.isStill(position)).toBe(false);
    await expect(end.at(position, 1)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  });

  test("puts the file back after a write that fails", async () => {
    const disk = new SimulatedDisk();
    const { end, position } = await afterLooks(disk, 16);
    const before = text(disk);
    const handle = await end.at(position, 1);
    disk.capacityBytes = disk.usedBytes + 5;
    await expect(end.write(handle, line(16), false)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    expect(text(disk)).toBe(before);
  });
});
