import { crc32 } from "node:zlib";
import { type Session, type SessionStore, type TextBlock, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import { SimulatedDisk } from "../support/simulated-disk.js";

const time = "2026-01-02T03:04:05.678Z";

/** A store in which a file with these lines is the session `source`. */
function storeWith(
  lines: readonly (string | Uint8Array)[],
  ending = "\n",
): { store: SessionStore; disk: SimulatedDisk } {
  const disk = new SimulatedDisk();
  const bytes = lines.flatMap((line) => [Buffer.from(line as string), Buffer.from("\n")]);
  disk.put("/s/x_source.jsonl", Buffer.concat(ending === "\n" ? bytes : bytes.slice(0, -1)));
  return { store: disk.sessions({ dir: "/s" }), disk };
}

function header(more: object = {}): string {
  return JSON.stringify({ type: "session", version: 3, id: "source", timestamp: time, cwd: "/p", ...more });
}

function line(id: string, parentId: string | null, more: object, type = "message"): string {
  return JSON.stringify({ type, id, parentId, timestamp: time, ...more });
}

const say = (text: string) => ({ message: { role: "user", content: text, timestamp: 1 } });

/** The lines of a session as they are stored, in Latin-1, so that every byte is told from every other. */
/** A line with the checksum of what stands before it. */
function sealed(line: string): string {
  const open = line.slice(0, -1);
  return `${open},"crc":"${crc32(open).toString(16).padStart(8, "0")}"}`;
}

function linesOf(disk: SimulatedDisk, session: Session): string[] {
  const text = Buffer.from(disk.bytes(session.location ?? "") ?? []).toString("latin1");
  expect(text.endsWith("\n")).toBe(true);
  return text.slice(0, -1).split("\n");
}

function latin(text: string): string {
  return Buffer.from(text).toString("latin1");
}

const big =
  '{"type":"custom","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"t","customType":"c","data":[12345678901234567890,1e999,-0,1.10]}';

describe("fork", () => {
  test("takes a session whose header has no directory, and none that is said to be empty", async () => {
    const { store } = storeWith([header({ cwd: undefined }), line("aaaaaaaa", null, say("a"))]);
    const fork = await store.fork("source");
    expect([fork.header.cwd, (await fork.tree()).size]).toEqual(["", 2]);
    await fork.close();
    await expect(store.fork("source", { cwd: "" })).rejects.toThrow(TypeError);
    const moved = await store.fork("source", { cwd: "/q" });
    expect(moved.header.cwd).toBe("/q");
    await moved.close();
  });

  // @covers R89
  test("copies every line byte for byte: digits, unknown fields and types, damage, carriage returns, no checksum", async () => {
    const lines: (string | Uint8Array)[] = [
      line("aaaaaaaa", null, { ofTheirs: { deep: [1] }, ...say("ü 字  ") }),
      big,
      line("cccccccc", "bbbbbbbb", { x: 1 }, "made_up"),
      `${line("dddddddd", "cccccccc", say("crlf"))}\r`,
      "not json at all",
      Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
      "",
      sealed(line("eeeeeeee", "dddddddd", say("checked"))).replace("checked", "CHANGED"),
      ' {"id": "ffffffff", "type": "message", "parentId": "eeeeeeee"}',
      header({ id: "a second header" }),
      '{"type":"message","id":"99999999","parentId":"eeeeeeee","timestamp":"","message":{"role":"user"}',
    ];
    for (const ending of ["\n", ""]) {
      const { store, disk } = storeWith([header(), ...lines], ending);
      const fork = await store.fork("source", { id: "fork" });
      const stored = linesOf(disk, fork);
      const wanted = lines.map((one) => Buffer.from(one as string).toString("latin1"));
      // Of two headers the first counts, and the copy has its own.
      expect(stored.slice(1, -1)).toEqual(wanted.filter((one) => !one.includes("a second header")));
      expect(JSON.parse(stored[0] as string)).toMatchObject({
        id: "fork",
        parentSession: "/s/x_source.jsonl",
        cwd: "/p",
      });
      expect(JSON.parse(stored.at(-1) as string)).toMatchObject({
        type: "session_info",
        title: latin("ü 字 (fork #1)"),
      });
      await fork.close();
    }
  });

  test("puts what a rewrite gives in the place of entries, and copies the lines of those that it leaves", async () => {
    const lines = [
      line("aaaaaaaa", null, say("one")),
      big,
      line("cccccccc", "bbbbbbbb", { x: 1 }, "made_up"),
      "not json at all",
      line("dddddddd", "cccccccc", say("two")),
    ];
    const { store, disk } = storeWith([header(), ...lines]);
    const asked: string[] = [];
    const fork = await store.fork("source", {
      rewrite: async (entry) => {
        asked.push(entry.id);
        if (entry.id !== "dddddddd") return entry;
        return { ...entry, id: "00000000", parentId: null, ...say("slim") };
      },
    });
    expect(asked).toEqual(["aaaaaaaa", "bbbbbbbb", "dddddddd"]);
    const stored = linesOf(disk, fork).slice(1, -1);
    expect(stored.slice(0, -1)).toEqual(lines.slice(0, -1).map(latin));
    expect(stored.at(-1)).toMatch(/"crc":"[0-9a-f]{8}"}$/);
    expect(await fork.entry("dddddddd")).toMatchObject({ parentId: "cccccccc", ...say("slim") });
    await fork.close();
  });

  test("keeps the words of what a rewrite leaves: digits, and blocks that this version cannot read", async () => {
    const blocks = '[{"type":"image","data":"QQ==","mimeType":"image/png"},{"type":"audio","data":"QUJD"}]';
    const stored = `{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"${time}","message":{"role":"user","content":${blocks},"timestamp":1,"details":{"n":12345678901234567890,"x":1.0}}}`;
    const { store, disk } = storeWith([header(), stored]);
    const slim = { type: "text", text: "moved" } as const;
    const fork = await store.fork("source", {
      rewrite: (entry) => {
        if (entry.type !== "message" || entry.message.role !== "user") return entry;
        const [, ...others] = entry.message.content as readonly TextBlock[];
        return { ...entry, message: { ...entry.message, content: [slim, ...others] } };
      },
    });
    const line1 = linesOf(disk, fork)[1] as string;
    expect(line1).toContain('[{"type":"text","text":"moved"},{"type":"audio","data":"QUJD"}]');
    expect(line1).toContain('{"n":12345678901234567890,"x":1.0}');
    expect(fork.diagnostics).toEqual([]);
    await fork.close();
  });

  test("makes no session where a rewrite gives no entry, or fails", async () => {
    const { store } = storeWith([header(), line("aaaaaaaa", null, say("one"))]);
    const bad = store.fork("source", { id: "bad", rewrite: (entry) => ({ ...entry, message: 1 }) });
    await expect(bad).rejects.toMatchObject({ code: "INVALID_ENTRY" });
    const failing = store.fork("source", { id: "bad", rewrite: () => Promise.reject(new Error("why")) });
    await expect(failing).rejects.toThrow("why");
    await expect(store.open("bad")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  test("up to an entry ends with its line, also where its body is damaged or its id stands twice", async () => {
    const lines = [
      line("aaaaaaaa", null, say("one")),
      '{"type":"message","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"","message":{"role":"user","content":"\\x"}}',
      line("cccccccc", "bbbbbbbb", say("three")),
      line("aaaaaaaa", null, say("again")),
      line("dddddddd", "cccccccc", say("four")),
    ];
    const { store, disk } = storeWith([header(), ...lines]);
    for (const [at, upTo] of ["aaaaaaaa", "bbbbbbbb", "cccccccc"].entries()) {
      const fork = await store.fork("source", { upTo });
      expect(linesOf(disk, fork).slice(1, -1)).toEqual(lines.slice(0, at + 1).map(latin));
      expect((await fork.tree()).size).toBe(at + 2);
      await fork.close();
    }
    const last = await store.fork("source", { upTo: "dddddddd" });
    expect(linesOf(disk, last).slice(1, -1)).toEqual(lines.map(latin));
  });

  test("copies lines that are too long to be read, and whatever is behind them", async () => {
    const long = line("bbbbbbbb", "aaaaaaaa", say("x".repeat(3000)));
    for (const version of [3, 1]) {
      const disk = new SimulatedDisk();
      const lines = [
        header({ version }),
        line("aaaaaaaa", null, say("one")),
        long,
        line("cccccccc", "aaaaaaaa", say("two")),
        long,
      ];
      disk.put("/s/x_source.jsonl", lines.join("\n"));
      const store = disk.sessions({ dir: "/s", maxLineBytes: 2000 });
      const source = await store.open("source");
      const fork = await store.fork("source");
      const stored = linesOf(disk, fork);
      expect([stored[2], stored[4], stored.length]).toEqual([long, long, 6]);
      expect((await fork.context()).items).toEqual((await source.context()).items);
      await fork.close();
      await source.close();
    }
  });

  // @covers R137
  test("goes where it is told, with a directory of its own", async () => {
    const { store } = storeWith([header(), line("aaaaaaaa", null, say("one"))]);
    const fork = await store.fork("source", { cwd: "/elsewhere" });
    expect(fork.header.cwd).toBe("/elsewhere");
    expect(fork.location).toContain("--elsewhere--");
    expect(fork.leafId).not.toBe("aaaaaaaa");
    expect((await fork.context()).items.map((item) => item.entryId)).toEqual(["aaaaaaaa"]);
    await expect(store.fork("source", { id: "source" })).rejects.toMatchObject({ code: "SESSION_EXISTS" });
    await expect(store.fork("none")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await expect(store.fork("source", { upTo: "none" })).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
  });

  test("of version 1 writes the current one, with the ids that it reads with", async () => {
    const { store, disk } = storeWith([
      JSON.stringify({ type: "session", id: "source", timestamp: time, cwd: "/p" }),
      JSON.stringify({ type: "message", timestamp: time, theirs: 1, ...say("one") }),
      "not json",
      JSON.stringify({ type: "message", timestamp: time, ...say("two") }),
      JSON.stringify({
        type: "compaction",
        timestamp: time,
        summary: "s",
        firstKeptEntryIndex: 2,
        tokensBefore: 1,
      }),
    ]);
    const source = await store.open("source");
    const fork = await store.fork("source", { upTo: source.leafId ?? "" });
    expect(fork.header.version).toBe(3);
    expect((await fork.context()).items).toEqual((await source.context()).items);
    const stored = linesOf(disk, fork);
    expect(stored.slice(1, -1).map((one) => (one === "not json" ? one : JSON.parse(one).id))).toEqual([
      "00000001",
      "not json",
      "00000002",
      "00000003",
    ]);
    expect(JSON.parse(stored[1] as string)).toMatchObject({ theirs: 1, parentId: null });
    expect(JSON.parse(stored[4] as string).firstKeptEntryId).toBe("00000002");
    await fork.close();
  });
});

describe("extract", () => {
  // @covers R122
  test("changes the parent and the checksum of a line, and not a byte else; the others stay as they are", async () => {
    const last =
      '{"type":"message","id":"dddddddd","parentId":"cccccccc","timestamp":"t","ofTheirs":98765432109876543210,"message":{"role":"user","content":"\\u00fc $& $1","timestamp":1.0}}';
    const checked = sealed(last);
    const { store, disk } = storeWith([
      header(),
      line("aaaaaaaa", null, say("one")),
      `${big}\r`,
      line("cccccccc", "bbbbbbbb", { targetId: "aaaaaaaa", label: "named" }, "label"),
      checked,
      line("11111111", "aaaaaaaa", say("another branch")),
    ]);
    const source = await store.open("source");
    const copy = await source.extract("dddddddd");
    const stored = linesOf(disk, copy);
    expect(stored.slice(1, 4)).toEqual([
      line("aaaaaaaa", null, say("one")),
      `${big}\r`,
      sealed(last.replace('"parentId":"cccccccc"', '"parentId":"bbbbbbbb"')),
    ]);
    expect(stored.length).toBe(5);
    expect(JSON.parse(stored[4] as string)).toMatchObject({
      type: "label",
      parentId: "dddddddd",
      targetId: "aaaaaaaa",
      label: "named",
      timestamp: time,
    });
    expect(copy.header.parentSession).toBe("/s/x_source.jsonl");
    expect(copy.diagnostics).toEqual([]);
    expect(await copy.diagnose()).toEqual([]);
    expect((await copy.context()).items).toEqual((await source.context("dddddddd")).items);
    await copy.close();
    await source.close();
  });

  test("moves a compaction's first kept entry from a label to what comes behind it, or to itself", async () => {
    const compaction = (id: string, parentId: string, firstKeptEntryId: string) =>
      line(id, parentId, { summary: "sum", firstKeptEntryId, tokensBefore: 1, theirs: "kept" }, "compaction");
    const { store, disk } = storeWith([
      header(),
      line("aaaaaaaa", null, say("old")),
      line("bbbbbbbb", "aaaaaaaa", { targetId: "aaaaaaaa", label: "l" }, "label"),
      line("cccccccc", "bbbbbbbb", say("kept")),
      compaction("dddddddd", "cccccccc", "bbbbbbbb"),
      line("eeeeeeee", "dddddddd", say("new")),
      line("ffffffff", "eeeeeeee", { targetId: "aaaaaaaa", label: "last" }, "label"),
      compaction("00000000", "ffffffff", "ffffffff"),
    ]);
    const source = await store.open("source");
    const first = await source.extract("eeeeeeee", { id: "first" });
    expect(JSON.parse(linesOf(disk, first)[3] as string)).toMatchObject({
      type: "compaction",
      parentId: "cccccccc",
      firstKeptEntryId: "cccccccc",
      theirs: "kept",
    });
    expect((await first.context()).items).toEqual((await source.context("eeeeeeee")).items);
    expect((await first.tree()).label("aaaaaaaa")).toBe("last");
    const second = await source.extract("00000000", { id: "second", cwd: "/q" });
    expect(second.header).toMatchObject({ id: "second", cwd: "/q" });
    const lines = linesOf(disk, second).map((one) => JSON.parse(one));
    expect(lines.map((one) => one.type)).toEqual([
      "session",
      "message",
      "message",
      "compaction",
      "message",
      "compaction",
      "label",
    ]);
    // Nothing was kept, and nothing is.
    expect(lines[5]).toMatchObject({ firstKeptEntryId: "00000000", parentId: "eeeeeeee" });
    expect((await second.context()).items.length).toBe(1);
    for (const session of [first, second]) {
      expect(await session.diagnose()).toEqual([]);
      await session.close();
    }
  });

  test("leaves moves of the leaf out, and takes entries that are only staged", async () => {
    const { store } = storeWith([
      header(),
      line("aaaaaaaa", null, say("one")),
      line("bbbbbbbb", "aaaaaaaa", say("two")),
      line("cccccccc", "aaaaaaaa", { targetId: "aaaaaaaa" }, "leaf"),
      // pi goes on below the leaf entry.
      line("dddddddd", "cccccccc", say("three")),
    ]);
    const source = await store.open("source", { mode: "write" });
    const [staged] = source.stage([{ type: "message", message: userMessage("staged") }]);
    const copy = await source.extract();
    expect((await copy.tree()).path(copy.leafId).map((node) => node.id)).toEqual([
      "aaaaaaaa",
      "dddddddd",
      staged?.id,
    ]);
    expect((await copy.tree()).size).toBe(3);
    expect(await copy.diagnose()).toEqual([]);
    await copy.close();
    await source.close();
  });

  test("of version 1 writes the current one", async () => {
    const { store, disk } = storeWith([
      JSON.stringify({ type: "session", id: "source", timestamp: time, cwd: "/p" }),
      JSON.stringify({ type: "message", timestamp: time, theirs: 1, ...say("one") }),
      JSON.stringify({
        type: "message",
        timestamp: time,
        message: { role: "hookMessage", customType: "c", content: "two", display: true, timestamp: 1 },
      }),
      JSON.stringify({ type: "message", timestamp: time, ...say("three") }),
    ]);
    const source = await store.open("source");
    const copy = await source.extract("00000002");
    expect((await copy.context()).items).toEqual((await source.context("00000002")).items);
    const stored = linesOf(disk, copy).map((one) => JSON.parse(one));
    expect(stored.map((one) => one.parentId)).toEqual([undefined, null, "00000001"]);
    expect(stored[1]).toMatchObject({ theirs: 1 });
    expect(stored[2].message.role).toBe("custom");
    await copy.close();
  });

  test("of lines that were cut off meanwhile is LOG_CHANGED, and makes nothing", async () => {
    const { store, disk } = storeWith([
      header(),
      line("aaaaaaaa", null, say("one")),
      line("bbbbbbbb", "aaaaaaaa", say("two")),
    ]);
    const source = await store.open("source");
    disk.open("/s/x_source.jsonl", "append")?.truncate(100);
    await expect(source.extract()).rejects.toMatchObject({ code: "LOG_CHANGED", details: { id: "source" } });
    expect(disk.paths()).toEqual(["/s/x_source.jsonl"]);
  });

  test("of lines that were exchanged meanwhile is LOG_CHANGED too, damaged or not", async () => {
    const one = line("aaaaaaaa", null, say("one"));
    const two = line("bbbbbbbb", null, say("two"));
    for (const other of [two, two.replace('"role"', "'role'")]) {
      const { store, disk } = storeWith([header(), one, two]);
      const source = await store.open("source");
      const at = (disk.bytes("/s/x_source.jsonl") as Uint8Array).indexOf(10) + 1;
      (disk.bytes("/s/x_source.jsonl") as Uint8Array).set(Buffer.from(other), at);
      disk.touch("/s/x_source.jsonl");
      await expect(source.extract("aaaaaaaa")).rejects.toMatchObject({ code: "LOG_CHANGED" });
    }
  });

  test("keeps a damaged line in its place, so that the history before it is still before it", async () => {
    const damaged =
      '{"type":"message","id":"cccccccc","parentId":"bbbbbbbb","timestamp":"","message":{"role":"user","content":"\\x"}}';
    const { store, disk } = storeWith([
      header(),
      line("aaaaaaaa", null, say("one")),
      line("bbbbbbbb", "aaaaaaaa", { targetId: "aaaaaaaa", label: "l" }, "label"),
      damaged,
      Buffer.concat([
        Buffer.from(
          '{"type":"message","id":"dddddddd","parentId":"cccccccc","timestamp":"","message":{"role":"user","content":"',
        ),
        Buffer.from([0xff]),
        Buffer.from('","timestamp":1}}'),
      ]),
      line("eeeeeeee", "dddddddd", say("last")),
    ]);
    const source = await store.open("source");
    const copy = await source.extract();
    expect((await copy.tree()).path("eeeeeeee").map((node) => node.id)).toEqual([
      "aaaaaaaa",
      "cccccccc",
      "dddddddd",
      "eeeeeeee",
    ]);
    expect((await copy.context("eeeeeeee")).items.map((item) => item.entryId)).toEqual([
      "aaaaaaaa",
      "eeeeeeee",
    ]);
    const stored = linesOf(disk, copy);
    expect(stored[2]).toContain('"content":"\\x"');
    expect(stored[3]).toContain("\xff");
    await copy.close();
    await source.close();
  });
});
