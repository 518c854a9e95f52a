import fc from "fast-check";
import type { LogBatch, LogPosition } from "sessile";
import { describe, expect, test } from "vitest";
import type { OpenFile } from "../../../src/core/node/file-system.js";
import { logBatchLines } from "../../../src/session/runtime/log-lines.js";
import { readHeadTail } from "../../../src/storage/files/read-ends.js";
import { absentPosition, readLines, readRanges } from "../../../src/storage/files/read-lines.js";
import { LogWatch } from "../../../src/storage/files/session-backend.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

interface ReadResult {
  readonly lines: string[];
  readonly at: number[];
  readonly tooLong: { readonly at: number; readonly length: number }[];
  readonly tail: string | undefined;
  readonly next: LogPosition;
  readonly restarted: boolean;
  readonly batches: number;
}

async function read(
  disk: SimulatedDisk,
  from?: LogPosition,
  maxLineBytes = 1 << 20,
  chunkBytes?: number,
): Promise<ReadResult> {
  const file = disk.open("/log", "read") as OpenFile;
  const lines: string[] = [];
  const batches: LogBatch[] = [];
  for await (const batch of readLines(file, file.stat(), from, { maxLineBytes, chunkBytes })) {
    // The bytes hold only until the next batch.
    lines.push(...logBatchLines(batch).map((line) => Buffer.from(line).toString("latin1")));
    batches.push(batch);
  }
  const last = batches.at(-1) as LogBatch;
  return {
    lines,
    at: batches.flatMap((batch) => batch.at),
    tooLong: batches.flatMap((batch) => batch.tooLong ?? []),
    tail: last.tail === undefined ? undefined : Buffer.from(last.tail.bytes).toString("latin1"),
    next: last.next,
    restarted: batches.some((batch) => batch.restarted === true),
    batches: batches.length,
  };
}

function diskOf(text: string): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put("/log", text);
  return disk;
}

const pieces = fc.array(fc.constantFrom("a", "bc", "\n", "\n", "x".repeat(70), "y".repeat(200)), {
  maxLength: 40,
});

test("lines, places and tail are those of the text, and reading on from any line gives the rest", async () => {
  await fc.assert(
    fc.asyncProperty(pieces, pieces, fc.option(fc.nat(300)), async (first, more, chunk) => {
      const chunkBytes = chunk === null ? undefined : chunk + 1;
      const disk = diskOf(first.join(""));
      const before = await read(disk, undefined, 1 << 20, chunkBytes);
      const all = first.join("") + more.join("");
      const file = disk.open("/log", "append") as OpenFile;
      file.append(Buffer.from(more.join("")));
      const after = await read(disk, before.next, 1 << 20, chunkBytes);
      const whole = all.slice(0, all.lastIndexOf("\n") + 1);
      expect([...before.lines, ...after.lines]).toEqual(whole.split("\n").slice(0, -1));
      expect(after.tail ?? "").toBe(all.slice(whole.length));
      expect(after.restarted).toBe(false);
      for (const [index, at] of [...before.at, ...after.at].entries()) {
        expect(all.indexOf("\n", at)).toBe(at + ([...before.lines, ...after.lines][index]?.length ?? -1));
      }
      expect((await read(disk)).next).toBe(after.next);
    }),
  );
});

test("a log of many chunks is read a chunk at a time, and its end marks it as one read does", async () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `${at}:${"z".repeat(at % 300)}`);
  const disk = diskOf(`${lines.join("\n")}\n`);
  const whole = await read(disk, undefined, 1 << 20, 1 << 20);
  expect(whole.batches).toBeGreaterThan(3);
  expect(whole.lines).toEqual(lines);
  const half = whole.at[20_000] as number;
  expect((await read(disk, whole.next)).lines).toEqual([]);
  const cut = diskOf(`${lines.slice(0, 20_000).join("\n")}\n`);
  const position = (await read(cut)).next;
  const file = cut.open("/log", "append") as OpenFile;
  file.append(Buffer.from(`${lines.slice(20_000).join("\n")}\n`));
  const rest = await read(cut, position);
  expect(rest.lines).toEqual(lines.slice(20_000));
  expect(rest.at[0]).toBe(half);
});

test("a line over the limit is reported and not kept, also at the end", async () => {
  const long = "x".repeat(2000);
  const disk = diskOf(`a\n${long}\nb\n${long}`);
  const { lines, tooLong, tail, next } = await read(disk, undefined, 1024);
  expect(lines).toEqual(["a", "b"]);
  expect(tooLong).toEqual([
    { at: 2, length: 2000 },
    { at: 2005, length: 2000 },
  ]);
  expect(tail).toBeUndefined();
  expect(next).toMatch(/^1-\d+-2005-/);
});

test("lines longer than a chunk are read whole, one after the other and up to the limit", async () => {
  const text = ["a", "b".repeat(3 << 20), "c", "d".repeat(1 << 20), "e".repeat((4 << 20) + 1), "f"].join(
    "\n",
  );
  const { lines, tooLong, tail, at } = await read(diskOf(text), undefined, 4 << 20);
  expect(lines.map((line) => [line[0], line.length])).toEqual([
    ["a", 1],
    ["b", 3 << 20],
    ["c", 1],
    ["d", 1 << 20],
  ]);
  expect(at).toEqual([0, 2, (3 << 20) + 3, (3 << 20) + 5]);
  expect(tooLong).toEqual([{ at: (4 << 20) + 6, length: (4 << 20) + 1 }]);
  expect(tail).toBe("f");
});

test("a log that was cut, rewritten or replaced is read from its start", async () => {
  const text = "header\none\ntwo\n";
  const changes: Record<string, (disk: SimulatedDisk) => void> = {
    cut: (disk) => (disk.open("/log", "append") as OpenFile).truncate(7),
    "rewritten to the same size": (disk) => disk.put("/log", "header\none\n2wo\n"),
    "rewritten longer": (disk) => disk.put("/log", "header\nonly\nthese lines\n"),
    replaced: (disk) => {
      disk.put("/new", `${text}three\n`);
      disk.rename("/new", "/log");
    },
    emptied: (disk) => disk.put("/log", ""),
  };
  for (const [name, change] of Object.entries(changes)) {
    const disk = diskOf(text);
    const { next } = await read(disk);
    change(disk);
    const again = await read(disk, next);
    expect({ name, restarted: again.restarted }).toEqual({ name, restarted: true });
    expect(again.lines).toEqual((await read(disk)).lines);
  }
  const disk = diskOf(text);
  expect((await read(disk, "nonsense" as LogPosition)).restarted).toBe(true);
  expect((await read(disk, absentPosition)).lines).toEqual(["header", "one", "two"]);
});

test("a file that shrinks while it is read ends there", async () => {
  const disk = diskOf("a\nb\nc\n");
  const file = disk.open("/log", "read") as OpenFile;
  const stat = file.stat();
  (disk.open("/log", "append") as OpenFile).truncate(4);
  const lines: number[] = [];
  for await (const batch of readLines(file, stat, undefined, { maxLineBytes: 100 })) lines.push(...batch.at);
  expect(lines).toEqual([0, 2]);
});

test("an aborted read stops", async () => {
  const disk = diskOf("a\nb\n");
  const file = disk.open("/log", "read") as OpenFile;
  const reading = readLines(file, file.stat(), undefined, {
    maxLineBytes: 100,
    signal: AbortSignal.abort("why"),
  });
  expect(() => reading.next()).toThrow("why");
});

describe("ranges of lines", () => {
  /** A file whose bytes tell where they lie, and how often it was read. */
  function counted(size: number, most = Number.POSITIVE_INFINITY) {
    const disk = new SimulatedDisk();
    const content = Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
    disk.put("/log", content);
    const file = disk.open("/log", "read") as OpenFile;
    const reads: number[] = [];
    const counting: OpenFile = {
      ...file,
      read: (into, at) => {
        reads.push(into.length);
        return file.read(into.subarray(0, most), at);
      },
    };
    return { content, file: counting, reads };
  }

  test("gives the bytes at any places in any order, undefined for those past the end", async () => {
    const place = fc.record({ at: fc.nat(120_000), length: fc.integer({ min: 1, max: 3000 }) });
    const { content, file } = counted(100_000);
    await fc.assert(
      fc.asyncProperty(fc.array(place, { maxLength: 20 }), async (places) => {
        const found = await readRanges(file, places);
        expect(found.length).toBe(places.length);
        for (const [index, { at, length }] of places.entries()) {
          const isThere = at + length <= content.length;
          expect(found[index] !== undefined).toBe(isThere);
          if (isThere)
            expect(Buffer.compare(found[index] as Uint8Array, content.subarray(at, at + length))).toBe(0);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("reads neighbours in one go, and leaves wide gaps out", async () => {
    const { file, reads } = counted(400_000);
    await readRanges(file, [
      { at: 0, length: 100 },
      { at: 20_000, length: 100 },
      { at: 300_000, length: 100 },
    ]);
    expect(reads).toEqual([20_100, 100]);
    expect(await readRanges(file, [])).toEqual([]);
  });

  test("continues after a short read", async () => {
    const { content, file, reads } = counted(10_000, 700);
    expect(await readRanges(file, [{ at: 5, length: 5000 }])).toEqual([content.slice(5, 5005)]);
    expect(reads.length).toBe(8);
  });

  test("a run of neighbours is bounded; a line that is longer than that is read all the same", async () => {
    const { content, file, reads } = counted(2_000_000);
    const places = Array.from({ length: 200 }, (_, at) => ({ at: at * 10_000, length: 9000 }));
    await readRanges(file, places);
    expect(Math.max(...reads)).toBeLessThanOrEqual(1024 * 1024);
    expect(reads.length).toBeLessThan(20);
    const [long] = await readRanges(file, [{ at: 1, length: 1_000_000 }]);
    expect(Buffer.from(long ?? []).equals(Buffer.from(content.subarray(1, 1_000_001)))).toBe(true);
  });
});

describe("head and tail of a log", () => {
  async function endsOf(text: string, size?: number) {
    const disk = new SimulatedDisk();
    disk.put("/log", text);
    const file = disk.open("/log", "read") as OpenFile;
    const { head, tail } = readHeadTail(file, size ?? file.stat().size);
    const decoded = (lines: readonly Uint8Array[]) => lines.map((line) => new TextDecoder().decode(line));
    return { head: decoded(head), tail: decoded(tail) };
  }

  const info = (at: number | string) => `{"type":"session_info","id":"${at}"}`;
  const user = '{"message":{"role":"user"}}';
  const filler = (count: number, length: number) =>
    Array.from({ length: count }, (_, at) => `${at}:${"x".repeat(length)}`);

  test("a short log is all in the head, and the tail has the lines that may be a session_info", async () => {
    const lines = [info("a"), "b", user, info("c")];
    const ends = { head: lines, tail: [info("a"), info("c")] };
    expect(await endsOf(`${lines.join("\n")}\n`)).toEqual(ends);
    expect(await endsOf(lines.join("\n\n"))).toEqual(ends);
    expect(await endsOf("")).toEqual({ head: [], tail: [] });
  });

  test("of a long log the head stops early, and the tail has whole lines", async () => {
    const lines = [
      "header",
      user,
      ...Array.from({ length: 3000 }, (_, at) => `${info(at)}${"x".repeat(70)}`),
    ];
    const { head, tail } = await endsOf(`${lines.join("\n")}\n`);
    expect(head.length).toBeLessThan(200);
    expect(head).toEqual(lines.slice(0, head.length));
    expect(tail.length).toBeGreaterThan(500);
    expect(tail.length).toBeLessThan(700);
    expect(tail).toEqual(lines.slice(-tail.length));
  });

  test("the head goes on to the first user message, up to a megabyte", async () => {
    const near = ["header", ...filler(900, 100), user, ...filler(3000, 100)];
    expect((await endsOf(near.join("\n"))).head).toContain(user);
    const far = ["header", ...filler(20_000, 100), user, "end"];
    const { head } = await endsOf(far.join("\n"));
    expect(head).not.toContain(user);
    expect(head).toEqual(far.slice(0, head.length));
  });

  test("a line longer than the tail leaves the tail empty, and a first one longer than the head is not cut", async () => {
    expect((await endsOf(`header\n${info(1)}${"x".repeat(300_000)}`)).tail).toEqual([]);
    expect((await endsOf(`${"x".repeat(2_000_000)}\n${user}\n`)).head).toEqual([]);
  });

  test("a log that was truncated meanwhile gives the lines that are left", async () => {
    expect(await endsOf(`a\n${info("b")}\n`, 500)).toEqual({ head: ["a", info("b")], tail: [info("b")] });
    const long = filler(300, 100).join("\n");
    expect((await endsOf(long, 5_000_000)).head).toHaveLength(299);
  });

  test("head and tail are whole lines from the two ends of any log", async () => {
    const line = fc
      .tuple(
        fc.constantFrom("a", "b", "é", "_info", "session_inf", info("é"), `session_info${info(1)}`),
        fc.nat(30_000),
      )
      .map(([c, length]) => c.repeat(Math.ceil((length + 1) / c.length)));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), async (lines, isWhole) => {
        const { head, tail } = await endsOf(lines.join("\n") + (isWhole && lines.length > 0 ? "\n" : ""));
        expect(head).toEqual(lines.slice(0, head.length));
        const infos = lines.filter((each) => each.includes("session_info"));
        expect(tail).toEqual(tail.length === 0 ? [] : infos.slice(-tail.length));
        if (Buffer.byteLength(lines.join("\n")) < 64_000) expect(tail).toEqual(infos);
        if (lines.join("\n").length < 8000) expect(head).toEqual(lines);
      }),
      { numRuns: 50 },
    );
  });
});

describe("a watch", () => {
  /** Whether a promise is settled by now. */
  async function isDone(promise: Promise<void>): Promise<boolean> {
    let done = false;
    void promise.then(() => {
      done = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    return done;
  }

  function watched() {
    const disk = new SimulatedDisk();
    disk.put("/log", "a");
    return { disk, watch: new LogWatch(disk, "/log"), never: new AbortController().signal };
  }

  test("a change wakes a waiting reader, and the next one to wait", async () => {
    const { disk, watch, never } = watched();
    // Before the watch began there may have been one.
    expect(await isDone(watch.changed(never))).toBe(true);
    const [first, second] = [watch.changed(never), watch.changed(never)];
    expect(await isDone(first)).toBe(false);
    disk.put("/log", "b");
    expect([await isDone(first), await isDone(second)]).toEqual([true, true]);
    disk.put("/log", "b");
    disk.put("/log", "b");
    expect(await isDone(watch.changed(never))).toBe(true);
    expect(await isDone(watch.changed(never))).toBe(false);
    watch.close();
  });

  test("an abort and the end of the watch resolve it too, and leave nothing", async () => {
    const { watch, never } = watched();
    await watch.changed(never);
    const controller = new AbortController();
    const aborted = watch.changed(controller.signal);
    controller.abort();
    expect(await isDone(aborted)).toBe(true);
    const waiting = watch.changed(never);
    watch.close();
    expect(await isDone(waiting)).toBe(true);
  });

  test("is of another file once it is renewed, which may have changed by then", async () => {
    const { disk, watch, never } = watched();
    watch.renew();
    expect(await isDone(watch.changed(never))).toBe(true);
    const waiting = watch.changed(never);
    watch.renew();
    expect(await isDone(waiting)).toBe(false);
    disk.put("/log", "b");
    expect(await isDone(waiting)).toBe(true);
    watch.close();
  });
});
