import { parseSession, type Session, type SessionEntry, type UnknownEntry } from "sessile";
import { SessileError } from "sessile/errors";
import { beforeAll, describe, expect, test } from "vitest";
import { SimulatedDisk } from "../support/simulated-disk.js";

const path = "/sessions/2026-01-01T00-00-00-000Z_damaged.jsonl";
let whole: Uint8Array = new Uint8Array();
let entries: readonly (SessionEntry | UnknownEntry)[] = [];

const storeOn = (disk: SimulatedDisk) => disk.sessions({ dir: "/sessions" });

function diskOf(bytes: Uint8Array): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put(path, bytes);
  return disk;
}

const idsOf = async (session: Session) => Array.from((await session.tree()).walk(), ({ node }) => node.id);
const codesOf = (session: Session) => session.diagnostics.map(({ code }) => code);

/** Where each line of the file begins, and where it ends. */
function linesOf(bytes: Uint8Array): readonly (readonly [number, number])[] {
  const lines: [number, number][] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    lines.push([start, end]);
    start = end + 1;
  }
  return lines;
}

/** Where what a line says ends. */
function textEnd([start, end]: readonly [number, number]): number {
  let at = end;
  while (at > start && whole[at - 1] === 32) at--;
  return at;
}

beforeAll(async () => {
  const disk = new SimulatedDisk();
  let last = 0;
  // No change of one byte makes one of another: of two lines with one id the first counts.
  const newEntryId = () => String(++last).repeat(8);
  const store = disk.sessions({ dir: "/sessions", newEntryId, now: () => 0 });
  const session = await store.create({ cwd: "/work", id: "damaged" });
  const user = (content: string) =>
    ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;
  await session.append([
    user("one ü 字 🧷"),
    { type: "custom", customType: "c", data: { deep: [1, "\n", null] } },
  ]);
  await session.append([user('three "quoted" \\ and so on'), user("four")]);
  await session.close();
  whole = disk.bytes(disk.paths()[0] ?? "") ?? whole;
  entries = parseSession(whole).entries;
  expect(entries).toHaveLength(4);
});

describe("row 5: the log cut at every byte", () => {
  // @covers durability:cut-file
  test("opens for reading with every whole line, and stays as it is; without a header it says so", async () => {
    const lines = linesOf(whole);
    for (let cut = 0; cut <= whole.length; cut++) {
      const disk = diskOf(whole.slice(0, cut));
      // A last line needs no line feed, nor the spaces that leave a fork's header room.
      const count = lines.filter((line) => textEnd(line) <= cut).length;
      const session = await storeOn(disk)
        .open("damaged")
        .catch((error: unknown) => error);
      if (count === 0) {
        expect(session).toBeInstanceOf(SessileError);
        expect(session).toMatchObject({ code: cut === 0 ? "EMPTY" : "NO_HEADER" });
      } else {
        const opened = session as Session;
        expect(await idsOf(opened)).toEqual(entries.slice(0, count - 1).map(({ id }) => id));
        for (const entry of entries.slice(0, count - 1)) expect(await opened.entry(entry.id)).toEqual(entry);
        const isTorn = !lines.some((line) => cut >= textEnd(line) && cut <= line[1] + 1);
        expect(codesOf(opened)).toEqual(isTorn ? ["TORN_TAIL"] : []);
        await opened.close();
      }
      expect(disk.paths()).toEqual([path]);
      expect(disk.bytes(path)).toEqual(whole.slice(0, cut));
    }
  });

  // @covers durability:cut-file
  test("opens for writing with the same entries, the torn bytes ended where they are, and goes on behind the last whole one", async () => {
    const lines = linesOf(whole);
    for (let cut = (lines[0]?.[1] ?? 0) + 1; cut <= whole.length; cut++) {
      const disk = diskOf(whole.slice(0, cut));
      // A last line needs no line feed.
      const count = lines.filter((line) => textEnd(line) <= cut).length;
      const session = await storeOn(disk).open("damaged", { mode: "write" });
      const end = textEnd(lines[count - 1] as readonly [number, number]);
      const isTorn = !lines.some((line) => cut >= textEnd(line) && cut <= line[1] + 1);
      const isEnded = whole[cut - 1] === 10;
      const ending = isEnded ? "" : isTorn ? "\t\n" : "\n";
      expect(end).toBeLessThanOrEqual(cut);
      expect(disk.bytes(path)).toEqual(new Uint8Array([...whole.slice(0, cut), ...Buffer.from(ending)]));
      expect(disk.paths().filter((name) => name.includes(".torn-"))).toEqual([]);
      expect(codesOf(session)).toEqual(isTorn ? ["TORN_LINE"] : []);
      expect(await idsOf(session)).toEqual(entries.slice(0, count - 1).map(({ id }) => id));
      const added = await session.appendMessage({ role: "user", content: "after", timestamp: 0 });
      expect(added.parentId).toBe(entries[count - 2]?.id ?? null);
      // What was torn may be appended again, under its own id.
      const again = await session.append([
        { type: "custom", customType: "c", id: entries[count - 1]?.id ?? "x" },
      ]);
      await session.close();
      const parsed = parseSession(disk.bytes(path) ?? new Uint8Array());
      expect(parsed.entries).toEqual([...entries.slice(0, count - 1), added, ...again]);
      expect(parsed.diagnostics.map(({ code }) => code)).toEqual(isTorn ? ["TORN_LINE"] : []);
      expect((await storeOn(disk).open("damaged")).leafId).toBe(parsed.leafId);
    }
  });
});

describe("row 6: every byte of a line flipped, and ranges of NULs", () => {
  /** What is found of a file of which a range of bytes was changed; `hit` are the entries whose lines it touches. */
  async function damaged(bytes: Uint8Array, hit: readonly number[]): Promise<Session> {
    const session = await storeOn(diskOf(bytes)).open("damaged");
    const diagnostics = await session.diagnose();
    const { leafId } = session;
    await session.context(leafId);
    for (const [at, entry] of entries.entries()) {
      if (!hit.includes(at)) expect(await session.entry(entry.id)).toEqual(entry);
    }
    const parsed = parseSession(bytes);
    expect(diagnostics).toEqual(parsed.diagnostics);
    expect(Array.from(parsed.tree.walk(), ({ node }) => node.id)).toEqual(await idsOf(session));
    return session;
  }

  const isSealed = (at: number, [, end]: readonly [number, number]) => at < end - ',"crc":"00000000"}'.length;

  // @covers durability:changed-byte
  test.each([0x01, 0x20, 0x80, 0xff])(
    "each byte of a line and %i: it is reported, the neighbours load, and the tree keeps its shape",
    async (mask) => {
      const line = linesOf(whole)[2] as readonly [number, number];
      const [start, end] = line;
      // Type, id, parent and timestamp: without these a line has no place.
      const headEnd = start + Buffer.from(whole.subarray(start, end)).indexOf(',"customType"');
      let reported = 0;
      for (let at = start; at < end; at++) {
        const bytes = whole.slice();
        bytes[at] = (bytes[at] ?? 0) ^ mask;
        const session = await damaged(bytes, [1]);
        const codes = (await session.diagnose()).map((one) => one.code);
        if (isSealed(at, line)) expect(codes).not.toEqual([]);
        // A checksum that is itself hit may be none any more: then the line is as good as one without.
        else if (codes.length === 0)
          expect(await session.entry("22222222")).toMatchObject(entries[1] as object);
        if (codes.length > 0) reported++;
        if (at >= headEnd && at < end - 1) {
          expect(await idsOf(session)).toEqual(entries.map(({ id }) => id));
          expect((await session.tree()).path("44444444").map(({ id }) => id)).toEqual(
            entries.map(({ id }) => id),
          );
        }
        await session.close();
      }
      expect(reported).toBeGreaterThan(end - start - 20);
    },
  );

  test("a byte made a line feed, and a line feed made a byte", async () => {
    const [, hit, next] = linesOf(whole);
    const [start, end] = hit as readonly [number, number];
    for (let at = start; at < end; at++) {
      const bytes = whole.slice();
      bytes[at] = 10;
      const session = await damaged(bytes, [0]);
      expect(await session.diagnose()).not.toEqual([]);
      await session.close();
    }
    expect(next?.[0]).toBe(end + 1);
    const joined = whole.slice();
    joined[end] = 0x20;
    const session = await damaged(joined, []);
    expect((await session.diagnose()).map(({ code }) => code)).toEqual(["JOINED_LINE"]);
    await session.close();
  });

  // @covers durability:changed-byte
  test.each([1, 16, 512])(
    "NULs at every byte, %i of them: reported, all other lines load",
    async (length) => {
      const lines = linesOf(whole);
      const [start] = lines[1] as readonly [number, number];
      for (let at = start; at < whole.length; at++) {
        const bytes = whole.slice();
        const end = Math.min(bytes.length, at + length);
        bytes.fill(0, at, end);
        // A line whose line feed is gone is one with the next.
        const hit = lines.flatMap(([from, to], index) => {
          const before = lines[index - 1]?.[1] ?? -1;
          return (from < end && to >= at) || (before >= at && before < end) ? [index - 1] : [];
        });
        const session = await damaged(bytes, hit);
        const line = lines.find(([from, to]) => at >= from && at <= to) as readonly [number, number];
        if (isSealed(at, line)) expect(await session.diagnose()).not.toEqual([]);
        await session.close();
      }
    },
  );
});
