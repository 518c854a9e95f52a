import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { type LogBatch, type LogPosition, userMessage } from "sessile";
import { sessionStoreConformance } from "sessile/conformance";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { DurableDirectories, type FileSystem } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { logBatchLines } from "../../../src/session/runtime/log-lines.js";
import {
  type DescriptorHolder,
  DescriptorPool,
  descriptorPool,
} from "../../../src/storage/files/file-descriptors.js";
import { FileLock } from "../../../src/storage/files/file-lock.js";
import { FileLog, type FileLogOptions } from "../../../src/storage/files/file-log.js";
import { absentPosition } from "../../../src/storage/files/read-lines.js";
import { fileSessionStoreOn } from "../../../src/storage/files/session-store.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

const path = "/dir/project/log.jsonl";
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const header = '{"header":1}\n';

function lockOn(disk: SimulatedDisk): FileLock {
  return new FileLock(disk, `${path}.lock`, { waitMs: 60_000, idleMs: 5, remoteLeaseMs: 30_000 });
}

function logOn(disk: SimulatedDisk, options: Partial<FileLogOptions> = {}): FileLog {
  return new FileLog({
    fs: disk,
    path,
    lock: () => lockOn(disk),
    durability: "disk",
    maxLineBytes: 1 << 20,
    id: "a",
    now: () => 0,
    directories: new DurableDirectories(disk, "/dir", { everyTime: true }),
    ...options,
  });
}

/** From now on a new file takes less than it says. */
function loseBytes(disk: SimulatedDisk): void {
  const open = disk.open.bind(disk);
  disk.open = (at, mode) => {
    const file = open(at, mode);
    if (file === undefined || !at.includes(".tmp-")) return file;
    const append = file.append.bind(file);
    return Object.assign(file, { append: (bytes: Uint8Array) => append(bytes.subarray(1)) + 1 });
  };
}

async function created(...lines: readonly string[]) {
  const disk = new SimulatedDisk();
  const log = logOn(disk);
  const { position } = await log.append([header, ...lines].map(utf8), absentPosition);
  return { disk, log, position };
}

async function read(log: FileLog, from?: LogPosition): Promise<{ lines: string[]; batches: LogBatch[] }> {
  const lines: string[] = [];
  const batches: LogBatch[] = [];
  for await (const batch of log.read(from)) {
    lines.push(...logBatchLines(batch).map((line) => new TextDecoder().decode(line)));
    batches.push(batch);
  }
  return { lines, batches };
}

function text(disk: SimulatedDisk, name = path): string {
  return Buffer.from(disk.bytes(name) ?? []).toString();
}

/** Files beside the log, but for locks. */
function beside(disk: SimulatedDisk): string[] {
  return disk.paths().filter((name) => name !== path && !name.includes(".lock"));
}

afterEach(() => {
  vi.useRealTimers();
});

describe("append and read", () => {
  test("a batch is one write, and its lines are found again by place", async () => {
    const { disk, log, position } = await created('{"one":1}\n');
    const { write } = disk.counts;
    const appended = await log.append([utf8('{"two":2}\n'), utf8('{"three":"é"}\n')], position);
    expect(disk.counts.write - write).toBe(1);
    expect(appended.at).toEqual([23, 33]);
    expect(appended.interleaved).toBeUndefined();
    const places = [
      { at: 33, length: 14 },
      { at: 13, length: 9 },
      { at: 40, length: 100 },
    ];
    const found = await log.readAt(places);
    expect(found.map((bytes) => bytes && new TextDecoder().decode(bytes))).toEqual([
      '{"three":"é"}',
      '{"one":1}',
      undefined,
    ]);
    expect((await read(log)).lines).toEqual(['{"header":1}', '{"one":1}', '{"two":2}', '{"three":"é"}']);
    expect((await read(log, position)).lines).toEqual(['{"two":2}', '{"three":"é"}']);
    expect((await read(log)).batches.at(-1)?.next).toBe(appended.position);
    await log.close();
  });

  test("a read that finds nothing new opens nothing", async () => {
    const { disk, log, position } = await created();
    await read(log);
    const { open } = disk.counts;
    expect((await read(log, position)).batches).toEqual([]);
    expect(disk.counts.open).toBe(open);
    await log.close();
  });

  test("a position is of one writer and one reader alike", async () => {
    const { disk, log, position } = await created();
    const other = logOn(disk);
    const { batches } = await read(other);
    expect(batches.at(-1)?.next).toBe(position);
    log.close();
    const { position: next } = await other.append([utf8("{}\n")], position);
    await expect(log.append([utf8("{}\n")], position)).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
      details: { expected: position, actual: next },
    });
    expect(text(disk)).toBe(`${header}{}\n`);
    await other.close();
  });

  test("a writer that lost the lock and met another's lines waits for that one from then on", async () => {
    // All in one millisecond, in which a run of appends looks at the lock once.
    const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now());
    onTestFinished(() => clock.mockRestore());
    const { disk, log, position } = await created();
    disk.unlink(`${path}.lock`);
    const other = logOn(disk);
    await read(other);
    const { position: next } = await other.append([utf8("{}\n")], position);
    await expect(log.append([utf8("{}\n")], position)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    const before = disk.bytes(`${path}.lock`);
    const appended = log.append([utf8("[]\n")], next);
    clock.mockRestore();
    await appended;
    expect(disk.bytes(`${path}.lock`)).not.toEqual(before);
    expect(text(disk)).toBe(`${header}{}\n[]\n`);
    await other.close();
    await log.close();
  });

  test("a batch has the bytes of the log if they are asked for, and its lines otherwise", async () => {
    const { log } = await created(`{"one":1}\n`.repeat(100));
    const batchesOf = async (options: Parameters<typeof log.read>[1]) => {
      const found: [number | undefined, number, boolean | undefined][] = [];
      for await (const batch of log.read(undefined, options))
        found.push([batch.kept?.at, batch.at.length, batch.skipped]);
      return found;
    };
    expect(await batchesOf({})).toEqual([[undefined, 101, undefined]]);
    expect(await batchesOf({ kept: true })).toEqual([[0, 0, undefined]]);
    expect((await batchesOf({ batchBytes: 256 })).length).toBeGreaterThan(2);
    const last = header.length + 90 * 10;
    expect(await batchesOf({ lastBytes: 105, kept: true })).toEqual([[last, 0, true]]);
    expect(await batchesOf({ lastBytes: 105 })).toEqual([[undefined, 10, true]]);
    await log.close();
  });

  test("places mean the file that was read, also after another has its name", async () => {
    const { disk, log } = await created('{"one":1}\n');
    await read(log);
    disk.put("/dir/new", "something else of the same length, and more");
    disk.rename("/dir/new", path);
    const place = { at: 13, length: 9 };
    expect(new TextDecoder().decode((await log.readAt([place]))[0])).toBe('{"one":1}');
    await read(log, "1-1-1-x" as LogPosition);
    expect(new TextDecoder().decode((await log.readAt([place]))[0])).toBe("e of the ");
    await log.close();
    disk.unlink(path);
    expect(await logOn(disk).readAt([place])).toEqual([undefined]);
  });

  test("lines of another program at the moment of a write are reported", async () => {
    const { disk, log, position } = await created();
    const open = disk.open.bind(disk);
    const other = logOn(disk);
    disk.open = (name, mode) => {
      const file = open(name, mode);
      if (file === undefined || name !== path || mode !== "append") return file;
      return {
        ...file,
        append: (bytes) => {
          open(path, "append")?.append(utf8('{"foreign":1}\n'));
          return file.append(bytes);
        },
      };
    };
    const appended = await other.append([utf8("{}\n")], position);
    expect(appended).toMatchObject({ at: [27], interleaved: true });
    expect((await read(log, position)).lines).toEqual(['{"foreign":1}', "{}"]);
    expect((await read(log)).batches.at(-1)?.next).toBe(appended.position);
    await other.close();
    await log.close();
  });

  test("a second file for the id is refused, before it is made and in the moment after", async () => {
    for (const refused of [1, 2]) {
      const disk = new SimulatedDisk();
      let asked = 0;
      const assertNotExists = async () => {
        if (++asked === refused) throw new Error("taken");
      };
      const log = logOn(disk, { assertNotExists });
      await expect(log.append([utf8(header)], absentPosition)).rejects.toThrow("taken");
      expect(disk.bytes(path)).toBeUndefined();
      await log.close();
      expect(disk.paths()).toEqual([]);
    }
  });
});

describe("prepare", () => {
  test("ends a torn line once, and removes nothing", async () => {
    const { disk, log } = await created();
    await log.close();
    disk.put(path, `${header}{"half":`);
    const opening = logOn(disk);
    await opening.prepare(true);
    await opening.prepare(true);
    await logOn(disk).prepare(true);
    expect(text(disk)).toBe(`${header}{"half":\t\n`);
    await opening.close();
    expect(beside(disk)).toEqual([]);
  });

  test("leaves the end to another writer that is at work", async () => {
    const { disk, log } = await created();
    disk.put(path, `${header}{"half":`);
    const lock = lockOn(disk);
    await log.close();
    await lock.with(async () => {
      await logOn(disk).prepare(true);
    });
    expect(text(disk)).toBe(`${header}{"half":`);
    lock.release();
  });
});

describe("replace", () => {
  const lines = () => [utf8('{"header":2}\n'), utf8('{"new":1}\n')];

  test.each(["links", "copies"])(
    "puts other lines in the place of all, and keeps the old file (%s)",
    async (way) => {
      const { disk, log, position } = await created('{"one":1}\n');
      disk.refuseLinks = way === "copies";
      await read(log);
      const next = await log.replace(lines(), position);
      expect(text(disk)).toBe('{"header":2}\n{"new":1}\n');
      expect(beside(disk)).toEqual([`${path}.old-1970-01-01T00-00-00-000Z`]);
      expect(text(disk, beside(disk)[0])).toBe(`${header}{"one":1}\n`);
      expect(new TextDecoder().decode((await log.readAt([{ at: 13, length: 9 }]))[0])).toBe('{"new":1}');
      await log.append([utf8("{}\n")], next);
      await log.close();
      expect(text(disk)).toBe('{"header":2}\n{"new":1}\n{}\n');
    },
  );

  test("changes nothing if another writer appended before or during the replacement", async () => {
    for (const moment of ["before", "meanwhile"]) {
      const { disk, log, position } = await created();
      const other = () => disk.open(path, "append")?.append(utf8('{"foreign":1}\n'));
      async function* slowly() {
        yield* lines();
        if (moment === "meanwhile") other();
      }
      if (moment === "before") other();
      await expect(log.replace(slowly(), position)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
      expect(text(disk)).toBe(`${header}{"foreign":1}\n`);
      expect(beside(disk)).toEqual([]);
      await log.close();
    }
  });

  test.each([
    ["a full disk", (disk: SimulatedDisk) => (disk.capacityBytes = disk.usedBytes + 300), "ENOSPC"],
    ["a failed sync", (disk: SimulatedDisk) => disk.failNext("sync", "EIO"), "EIO"],
    ["a failed rename", (disk: SimulatedDisk) => disk.failNext("rename", "EACCES"), "EACCES"],
    ["a write that lost bytes", loseBytes, "EIO"],
    ["lines that cannot be read", undefined, undefined],
  ])("leaves everything as it was after %s", async (_name, fail, errno) => {
    const { disk, log, position } = await created();
    await log.close();
    fail?.(disk);
    async function* source() {
      yield utf8("x".repeat(400));
      if (fail === undefined) throw new Error("no more");
    }
    const again = logOn(disk);
    const failing = expect(again.replace(source(), position)).rejects;
    if (errno === undefined) await failing.toThrow("no more");
    else
      await failing.toMatchObject({ code: "STORAGE_FAILED", details: { operation: "replace", path, errno } });
    expect(text(disk)).toBe(header);
    expect(beside(disk)).toEqual([]);
    await again.close();
  });
});

describe("changed", () => {
  test("resolves on a change, on an abort, and when the log is closed", async () => {
    const { disk, log, position } = await created();
    const never = new AbortController().signal;
    const since = { pollMs: 60_000 };
    const first = log.changed(never, since);
    const second = log.changed(never, since);
    const other = logOn(disk);
    await other.append([utf8("{}\n")], position).catch(() => undefined);
    await log.close();
    await Promise.all([first, second]);

    const reader = logOn(disk);
    const controller = new AbortController();
    const aborted = reader.changed(controller.signal, since);
    controller.abort();
    await aborted;
    const waiting = reader.changed(never, since);
    await reader.close();
    await waiting;
    await other.close();
  });
});

describe("the bytes that opening read", () => {
  const line = '{"one":"é"}\n';

  async function keptOf(log: FileLog, from?: LogPosition) {
    const found: LogBatch["kept"][] = [];
    for await (const { kept } of log.read(from, { kept: true })) found.push(kept);
    return found;
  }

  test("give the text of lines as long as the file stays as it is", async () => {
    const { disk, log } = await created(line);
    const [kept] = await keptOf(log);
    expect(kept?.isCurrent()).toBe(true);
    expect([kept?.at, kept?.text(0, 12), kept?.text(13, 25)]).toEqual([0, '{"header":1}', line.trim()]);
    disk.open(path, "append")?.append(utf8(line));
    expect(kept?.isCurrent()).toBe(false);
    await log.close();
  });

  test("are those of the file after an append of this handle, unless another file has the name", async () => {
    const { disk, log, position } = await created(line);
    const [kept] = await keptOf(log);
    const { position: end } = await log.append([utf8(line)], position);
    expect(kept?.isCurrent()).toBe(true);
    await log.replace([utf8(header)], end);
    expect(kept?.isCurrent()).toBe(false);
    expect(disk.paths()).toContain(path);
    await log.close();
  });

  test("have no text if they are not UTF-8, and are none of a part of the file", async () => {
    const { disk, log, position } = await created();
    await log.append([utf8(line)], position);
    expect(await keptOf(log, position)).toEqual([undefined]);
    const textOf = async (content: string) => {
      disk.put(path, Buffer.from(content, "latin1"));
      const [kept] = await keptOf(log);
      return kept?.text(0, 12);
    };
    expect(await textOf(`${header}"\xff"\n`)).toBeUndefined();
    expect(await textOf(header)).toBe('{"header":1}');
    await log.close();
  });
});

describe("an error of the system", () => {
  test.each([
    ["open", "read", (log: FileLog) => read(log)],
    ["stat", "repair", (log: FileLog) => log.prepare(true)],
    ["open", "read", (log: FileLog) => log.readAt([{ at: 0, length: 1 }])],
    ["readSync", "read", (log: FileLog) => read(log)],
    ["open", "append to", (log: FileLog, position: LogPosition) => log.append([utf8("{}\n")], position)],
    ["open", "replace", (log: FileLog, position: LogPosition) => log.replace([], position)],
  ] as const)("in %s is STORAGE_FAILED of %s", async (operation, name, act) => {
    const { disk, log, position } = await created();
    await log.close();
    const again = logOn(disk);
    disk.failNext(operation, "EACCES", (refused) => refused.startsWith(path));
    await expect(act(again, position)).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: name, path, errno: "EACCES" },
    });
    await again.close();
  });

  test("a file that is gone is SESSION_NOT_FOUND, and so is one whose directory is", async () => {
    for (const gone of [path, "/dir/project"]) {
      const { disk, log, position } = await created();
      await log.close();
      disk.unlink(gone);
      const code = { code: "SESSION_NOT_FOUND", details: { id: "a" } };
      await expect(read(log)).rejects.toMatchObject(code);
      await expect(log.append([utf8("{}\n")], position)).rejects.toMatchObject(code);
      await expect(log.replace([], position)).rejects.toMatchObject(code);
      await expect(log.prepare(true)).rejects.toMatchObject(code);
      await log.close();
    }
  });
});

describe("descriptors of open sessions", () => {
  /** A disk of which so many sessions keep their files open. */
  function diskOf(max: number): FileSystem {
    const disk = { ...nodeFileSystem };
    descriptorPool(disk, max);
    return disk;
  }

  // @covers durability:closed-file
  test("a session whose file was closed reads no other file's lines when that has its name, or even its number", async () => {
    const dir = temporaryDirectory();
    const disk = diskOf(0);
    const store = fileSessionStoreOn(disk, { dir });
    const session = await store.create({ cwd: "/p", id: "a" });
    const { id } = await session.appendMessage(userMessage("of the old file"));
    const reader = await store.open("a");
    const path = session.location as string;
    const text = readFileSync(path, "utf8");
    writeFileSync(`${path}.new`, text.replace("of the old file", "of the new file"));
    renameSync(`${path}.new`, path);
    expect(await reader.entry(id)).toBeUndefined();
    await reader.context();
    expect(reader.diagnostics.map(({ code }) => code)).toEqual(["LOG_REPLACED"]);
    await reader.refresh();
    expect(JSON.stringify(await reader.entry(id))).toContain("of the new file");
    // The same file, rewritten in its place.
    writeFileSync(path, text.replace("of the old file", "shorter"));
    const again = await store.open("a");
    writeFileSync(path, text.replace("of the old file", "another"));
    expect(await again.entry(id)).toBeUndefined();
    for (const each of [session, reader, again]) await each.close();
  });

  test("those used last stay open, and those in use do", () => {
    const pool = new DescriptorPool(2);
    const released: string[] = [];
    const holder = (name: string) => ({ releaseDescriptors: () => void released.push(name) });
    const [a, b, c, d] = [holder("a"), holder("b"), holder("c"), holder("d")];
    const use = (each: DescriptorHolder) => {
      pool.acquire(each);
      pool.release(each);
    };
    pool.acquire(a);
    for (const each of [b, c]) use(each);
    expect(released).toEqual(["b"]);
    use(b);
    expect(released).toEqual(["b", "c"]);
    use(b);
    pool.remove(b);
    use(d);
    expect(released).toEqual(["b", "c"]);
    pool.acquire(a);
    pool.release(a);
    for (const each of [b, c, d]) use(each);
    expect(released).toEqual(["b", "c", "d", "b", "c"]);
    pool.release(a);
    use(b);
    expect(released.at(-1)).toBe("a");
  });

  test("a poll that finds nothing new closes no files of another session", async () => {
    const disk = new SimulatedDisk();
    descriptorPool(disk, 1);
    const store = disk.sessions({ dir: "/sessions" });
    const idle = await store.create({ cwd: "/p", id: "idle" });
    await idle.appendMessage(userMessage("a"));
    await idle.refresh();
    const busy = await store.create({ cwd: "/p", id: "busy" });
    await busy.appendMessage(userMessage("b"));
    const { syncDirectory } = disk.counts;
    await idle.refresh();
    await busy.appendMessage(userMessage("c"));
    expect(disk.counts.syncDirectory).toBe(syncDirectory);
    await Promise.all([idle.close(), busy.close()]);
  });

  describe("a store that closes every file at once", () => {
    test.each(sessionStoreConformance.map((one) => [one.name, one] as const))("%s", async (_, one) => {
      const disk = new SimulatedDisk();
      disk.clock = Date.now;
      descriptorPool(disk, 0);
      await one.run({ open: () => disk.sessions({ dir: "/sessions", lockWaitMs: 60_000 }) });
    });
  });
});
