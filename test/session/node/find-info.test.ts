// The newest session_info is in the list wherever it is in a file, and each byte is read once.

import fc from "fast-check";
import type { SessionSummary } from "sessile";
import { describe, expect, test } from "vitest";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const path = "/store/--p--/2026-01-02T03-04-05-678Z_a.jsonl";
const at = { timestamp: "2026-01-02T03:04:05.678Z" };
const header = JSON.stringify({ type: "session", version: 3, id: "a", ...at, cwd: "/p" });
let count = 0;
const entry = (type: string, fields: object) =>
  JSON.stringify({ type, id: `e${++count}`, parentId: null, ...at, ...fields });
const said = (length: number, text = "x") =>
  entry("message", { message: { role: "user", content: text.repeat(length / text.length), timestamp: 1 } });
const info = (title: string, more: object = {}) => entry("session_info", { title, ...more });

/** A store on a disk that counts the bytes it reads. */
function counted(disk: SimulatedDisk) {
  let bytes = 0;
  const open = disk.open.bind(disk);
  disk.open = (...args) => {
    const file = open(...args);
    if (file === undefined) return undefined;
    const readSync = (into: Uint8Array, from: number) => {
      const length = file.readSync(into, from);
      bytes += length;
      return length;
    };
    const read = (into: Uint8Array, from: number) => Promise.resolve(readSync(into, from));
    return Object.assign(Object.create(file) as typeof file, { readSync, read });
  };
  const store = disk.sessions({ dir: "/store", durability: "os" });
  return {
    store,
    async row(): Promise<{ readonly row: SessionSummary | undefined; readonly bytes: number }> {
      bytes = 0;
      let row: SessionSummary | undefined;
      for await (const each of store.list()) row = each;
      return { row, bytes };
    },
  };
}

function put(disk: SimulatedDisk, lines: readonly string[]): number {
  const text = `${lines.join("\n")}\n`;
  disk.put(path, text);
  return text.length;
}

const ends = 200_000;
const mega = 1 << 20;

test("a title, a name and an archiving are in the list wherever they are in the file", async () => {
  for (const [before, behind] of [
    [0, mega],
    [mega, mega],
    [100, 70_000],
    [3 * mega, 66_000],
  ] as const) {
    const disk = new SimulatedDisk();
    const fields = { name: "N", archivedAt: at.timestamp };
    put(disk, [header, said(10), said(before), info("old"), info("T", fields), said(behind), said(behind)]);
    const { store, row } = counted(disk);
    expect((await row()).row).toMatchObject({ title: "T", ...fields });
    expect(await store.latest()).toBeUndefined();
  }
});

test("the newest one counts, and one that removes the title too", async () => {
  const disk = new SimulatedDisk();
  put(disk, [header, said(10), info("old"), said(mega), info(""), said(mega)]);
  const { row } = await counted(disk).row();
  expect(row).toMatchObject({ firstMessage: "x".repeat(10) });
  expect(row?.title ?? "").toBe("");
});

describe("what is no session_info is passed over", () => {
  const quoted = JSON.stringify(info("quoted"));
  test.each([
    ["a text with one", entry("message", { message: { role: "user", content: quoted, timestamp: 1 } })],
    ["an object of a tool call", entry("custom", { customType: "c", data: { type: "session_info" } })],
    ["another order of members", JSON.stringify({ id: "x", type: "note", data: "session_info" })],
    ["a damaged line", '{"type":"session_info","id":"d","title":"damaged'],
    ["a long line of names", `{"x":[${'"session_info",'.repeat(100_000)}1]}`],
  ])("%s", async (_, line) => {
    const disk = new SimulatedDisk();
    const size = put(disk, [header, said(ends), info("T"), said(ends), line, line, said(ends)]);
    const { row, bytes } = await counted(disk).row();
    expect(row?.title).toBe("T");
    // Each line that may be one is read once more, from its start.
    expect(bytes).toBeLessThan(3 * size);
  });
});

test("another order of members is read", async () => {
  const disk = new SimulatedDisk();
  const { type, ...rest } = JSON.parse(info("T")) as Record<string, unknown>;
  put(disk, [header, said(ends), JSON.stringify({ ...rest, type }), said(ends)]);
  expect((await counted(disk).row()).row?.title).toBe("T");
});

test("a file is read once, and later only what it grew by", async () => {
  const disk = new SimulatedDisk();
  const lines = [header, said(10), said(mega), info("T"), said(mega)];
  const size = put(disk, lines);
  const { row } = counted(disk);
  const first = await row();
  expect(first.bytes).toBeLessThan(size + 200_000);
  const again = await row();
  expect(again.row).toEqual(first.row);
  expect(again.bytes).toBeLessThan(100_000);

  const added = [said(ends), said(ends)];
  const file = disk.open(path, "append");
  file?.append(new TextEncoder().encode(`${added.join("\n")}\n`));
  file?.close();
  const grown = await row();
  expect(grown.row?.title).toBe("T");
  expect(grown.bytes).toBeLessThan(2 * ends + 200_000);
  const retitled = disk.open(path, "append");
  retitled?.append(new TextEncoder().encode(`${info("U")}\n${said(ends)}\n`));
  retitled?.close();
  expect((await row()).row?.title).toBe("U");
});

test("a file that was replaced or changed in place is read again", async () => {
  const disk = new SimulatedDisk();
  const lines = (title: string) => [header, said(10), said(ends), info(title), said(ends)];
  put(disk, lines("T"));
  const { row } = counted(disk);
  expect((await row()).row?.title).toBe("T");
  put(disk, lines("U"));
  expect((await row()).row?.title).toBe("U");
  put(disk, [header, said(10), said(3 * ends)]);
  expect((await row()).row?.title).toBeUndefined();
});

test("a file that was changed in place is read again if it has its size and its time of change again", async () => {
  const disk = new SimulatedDisk();
  const note = entry("custom", { customType: "c", data: "x".repeat(200) });
  const title = info("T");
  const [before, behind] = [
    [header, said(10), said(ends)],
    [said(ends), said(ends)],
  ];
  put(disk, [...before, note, ...behind]);
  const setTime = () => {
    const file = disk.open(path, "append");
    file?.setTime(1000);
    file?.close();
  };
  setTime();
  const { row } = counted(disk);
  expect((await row()).row?.title).toBeUndefined();
  put(disk, [...before, title.padEnd(note.length), ...behind]);
  setTime();
  expect((await row()).row?.title).toBe("T");
});

test("the list has the title that the open session has", async () => {
  const line = fc.oneof(
    { weight: 3, arbitrary: fc.nat(300_000).map((length) => said(length + 1)) },
    { weight: 2, arbitrary: fc.string({ maxLength: 5 }).map((title) => info(`t${title}`)) },
    { weight: 1, arbitrary: fc.constant(said(5000, JSON.stringify(info("quoted")))) },
    { weight: 1, arbitrary: fc.constantFrom("", "{", '"session_info"', '{"type":"session_info"}') },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
      const disk = new SimulatedDisk();
      put(disk, [header, ...lines]);
      const { store, row } = counted(disk);
      const session = await store.open("a");
      expect((await row()).row?.title).toEqual(session.info.title);
      await session.close();
    }),
    { numRuns: 60 },
  );
});
