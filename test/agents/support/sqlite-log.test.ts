import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withWriteAheadLog } from "../../../src/agents/shared/sqlite.js";
import { sqlite, withDatabase } from "./sqlite.js";

interface Frame {
  readonly page: number;
  readonly data: Uint8Array;
  /** The pages of the database after a commit; 0 within one. */
  readonly committed: number;
}

/** A log as SQLite writes it: https://www.sqlite.org/fileformat2.html section 4. */
function logOf(pageBytes: number, frames: readonly Frame[], isLittle = true): Uint8Array {
  const log = Buffer.alloc(32 + frames.length * (24 + pageBytes));
  const words = [isLittle ? 0x377f0682 : 0x377f0683, 3007000, pageBytes, 0, 0x1234, 0x5678];
  for (const [at, word] of words.entries()) log.writeUInt32BE(word, at * 4);
  let sums = [0, 0];
  const add = (from: number, to: number) => {
    let [a = 0, b = 0] = sums;
    for (let at = from; at < to; at += 8) {
      a = (a + b + (isLittle ? log.readUInt32LE(at) : log.readUInt32BE(at))) % 2 ** 32;
      b = (b + a + (isLittle ? log.readUInt32LE(at + 4) : log.readUInt32BE(at + 4))) % 2 ** 32;
    }
    sums = [a, b];
  };
  const put = (at: number) => {
    log.writeUInt32BE(sums[0] ?? 0, at);
    log.writeUInt32BE(sums[1] ?? 0, at + 4);
  };
  add(0, 24);
  put(24);
  for (const [index, { page, data, committed }] of frames.entries()) {
    const at = 32 + index * (24 + pageBytes);
    for (const [word, value] of [page, committed, 0x1234, 0x5678].entries())
      log.writeUInt32BE(value, at + word * 4);
    log.set(data, at + 24);
    add(at, at + 8);
    add(at + 24, at + 24 + pageBytes);
    put(at + 16);
  }
  return new Uint8Array(log);
}

/** A database before and after a change, and the pages that differ. */
function changed() {
  const { bytes: before } = withDatabase(undefined, (database) => {
    database.exec("CREATE TABLE t (x)");
    database.exec("INSERT INTO t VALUES ('old')");
  });
  const { bytes: after } = withDatabase(before, (database) => {
    const insert = database.prepare("INSERT INTO t VALUES (?)");
    database.exec("begin");
    for (let index = 0; index < 200; index++) insert.run(`${"new ".repeat(50)}${index}` as never);
    database.exec("commit");
  });
  const pageBytes = new DataView(after.buffer, after.byteOffset).getUint16(16);
  const count = after.length / pageBytes;
  const frames = Array.from({ length: count }, (_, index) => {
    const data = after.subarray(index * pageBytes, (index + 1) * pageBytes);
    return { page: index + 1, data, committed: index === count - 1 ? count : 0 };
  });
  return { before, after, pageBytes, frames };
}

const rowsIn = async (bytes: Uint8Array) => (await sqlite(bytes)).all("SELECT count(*) AS n FROM t")[0]?.n;

describe("withWriteAheadLog", () => {
  it.each([true, false])(
    "applies the pages of committed changes, little-endian sums: %s",
    async (isLittle) => {
      const { before, pageBytes, frames } = changed();
      const whole = withWriteAheadLog(before, logOf(pageBytes, frames, isLittle));
      expect([await rowsIn(before), await rowsIn(whole)]).toEqual([1, 201]);
    },
  );

  it("leaves out a change that was not committed, or not written whole", async () => {
    const { before, pageBytes, frames } = changed();
    const open = frames.map((frame) => ({ ...frame, committed: 0 }));
    expect(withWriteAheadLog(before, logOf(pageBytes, open))).toBe(before);
    const log = logOf(pageBytes, frames);
    expect(withWriteAheadLog(before, log.subarray(0, log.length - 1))).toBe(before);
    log[log.length - 5] = (log.at(-5) ?? 0) ^ 1;
    expect(withWriteAheadLog(before, log)).toBe(before);
    // A second change behind the first one, half written.
    const half = logOf(pageBytes, [...frames, { page: 2, data: new Uint8Array(pageBytes), committed: 0 }]);
    expect(await rowsIn(withWriteAheadLog(before, half))).toBe(201);
  });

  it("reserves no memory for pages that are nowhere", async () => {
    const { before, pageBytes, frames } = changed();
    const claimed = frames.map((frame) => ({ ...frame, committed: frame.committed && 0x7fffffff }));
    expect(withWriteAheadLog(before, logOf(pageBytes, claimed))).toBe(before);
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.uint8Array({ maxLength: 200 }), (log, database) => {
        withWriteAheadLog(database, log);
      }),
    );
  });
});
