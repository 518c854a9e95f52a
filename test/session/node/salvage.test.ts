import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { encodeEntry, parseSession, type SessionEntry } from "sessile/session";
import { openSessionFile, salvageSession } from "sessile/session/node";
import { describe, expect, test } from "vitest";
import type { FileSystem } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import { salvageSessionOn } from "../../../src/session/node/repair/salvage.js";
import { plainHeader } from "../../arbitraries/entries.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

const header = JSON.stringify(plainHeader);
const timestamp = "2025-11-20T23:33:50.805Z";
const place = (id: string, parentId: string | null) => ({ id, parentId, timestamp });
const user = (id: string, parentId: string | null, content = id): SessionEntry => ({
  type: "message",
  ...place(id, parentId),
  message: { role: "user", content, timestamp: 0 },
});
const line = (id: string, parentId: string | null = null, content = id) =>
  encodeEntry(user(id, parentId, content));
const file = (...lines: readonly string[]) => lines.map((one) => `${one}\n`).join("");

function written(content: string | Uint8Array, name = "t_broken.jsonl"): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  return path;
}

/** Salvages a file with this content, and gives the report and the new text. */
async function salvaged(
  content: string | Uint8Array,
  options: Partial<Parameters<typeof salvageSession>[1]> = {},
) {
  const path = written(content);
  const to = join(dirname(path), "t_whole.jsonl");
  const report = await salvageSession(path, { to, ...options });
  expect(readdirSync(dirname(path)).sort()).toEqual(["t_broken.jsonl", "t_whole.jsonl"]);
  return { report, text: readFileSync(to, "utf8"), to };
}

const standIn = (id: string, parentId: string | null, data: object) =>
  encodeEntry({ type: "custom", ...place(id, parentId), customType: "sessile.lost", data } as SessionEntry);

describe("salvageSession", () => {
  test("leaves a sound file as it is", async () => {
    const unknown = `{"type":"later", "id":"c","parentId":"b","timestamp":"t","n":12345678901234567890}`;
    const text = file(header, line("a"), line("b", "a"), unknown, line("d", "c"));
    const { report, text: after } = await salvaged(text);
    expect(after).toBe(text);
    expect(report).toMatchObject({
      id: plainHeader.id,
      header: "kept",
      kept: { lines: 5, bytes: text.length - 5 },
      lost: { lines: 0, bytes: 0 },
      losses: [],
      placed: 0,
      places: [],
    });
  });

  test("puts the conversation together again where lines were lost", async () => {
    const lost = line("c", "b").replace('"type"', '"ty\0e"');
    const text = file(header, line("a"), line("b", "a"), lost, line("d", "c"), line("e", "d"));
    const { report, text: after, to } = await salvaged(text);
    const missing = standIn("c", "b", { reason: "missing" });
    expect(after).toBe(file(header, line("a"), line("b", "a"), missing, line("d", "c"), line("e", "d")));
    expect(report.lost).toEqual({ lines: 1, bytes: lost.length });
    expect(report.losses).toMatchObject([{ code: "INVALID_JSON", line: 4, bytes: lost.length }]);
    expect(report.places).toEqual([
      { reason: "missing", entryId: "c", parentId: "b", offset: text.indexOf(line("d", "c")) },
    ]);
    const session = await openSessionFile(to, { mode: "write", durability: "os" });
    const { items } = await session.context();
    expect(items.map(({ entryId }) => entryId)).toEqual(["a", "b", "d", "e"]);
    expect((await session.appendMessage({ role: "user", content: "on", timestamp: 0 })).parentId).toBe("e");
    await session.close();
  });

  test("leaves lost parents as roots where it is asked to", async () => {
    const text = file(header, line("a"), line("b", "a"), "{", line("d", "c"));
    const { text: after } = await salvaged(text, { orphans: "root" });
    const missing = standIn("c", null, { reason: "missing" });
    expect(after).toBe(file(header, line("a"), line("b", "a"), missing, line("d", "c")));
  });

  test("gives one place to a parent that several lost, behind the tip that a leaf entry names", async () => {
    const leaf = encodeEntry({ type: "leaf", ...place("l", "a"), targetId: "a" });
    const text = file(header, line("a"), line("b", "a"), leaf, line("d", "c"), line("e", "c"));
    const { report } = await salvaged(text);
    expect(report.places).toMatchObject([{ reason: "missing", entryId: "c", parentId: "a" }]);
  });

  test("chains no parent below its own child", async () => {
    const { report, text } = await salvaged(
      file(header, line("b", "a"), line("c", "gone"), line("a", "gone")),
    );
    expect(report.places).toMatchObject([{ reason: "missing", entryId: "gone", parentId: null }]);
    expect(parseSession(text).diagnostics).toEqual([]);
  });

  test("keeps the place of an entry whose body is lost", async () => {
    const bad = line("b", "a").replace('"content"', '"content\u0001');
    const { report, text } = await salvaged(file(header, line("a"), bad, line("c", "b")));
    const data = { reason: "unreadable", type: "message", bytes: bad.length };
    expect(text).toBe(file(header, line("a"), standIn("b", "a", data), line("c", "b")));
    expect(report.places).toMatchObject([{ reason: "unreadable", entryId: "b", parentId: "a" }]);
  });

  // @covers durability:same-id
  test("takes a later whole copy of a line that is damaged", async () => {
    const bad = line("b", "a").replace('"content"', '"content\u0001');
    const { report, text } = await salvaged(file(header, line("a"), bad, line("b", "a"), line("c", "b")));
    expect(text).toBe(file(header, line("a"), line("b", "a"), line("c", "b")));
    expect(report).toMatchObject({ placed: 0, lost: { lines: 1, bytes: bad.length } });
  });

  test("reads any number of lines that were joined to one", { timeout: 60_000 }, async () => {
    const count = 215_000;
    const joined = Array.from(
      { length: count },
      (_, at) => `{"type":"custom","id":"i${at}","parentId":null,"timestamp":"","customType":"c"}`,
    );
    const { report } = await salvaged(`${header}\n${joined.join("")}\n`);
    expect(report).toMatchObject({ kept: { lines: count + 1 }, lost: { lines: 0 } });
  });

  test("reads lines that were joined, to another or to half of one", async () => {
    const whole = [line("a"), line("b", "a"), line("c", "b"), line("d", "c"), line("e", "d")];
    const [a = "", b = "", c = "", d = "", e = ""] = whole;
    const half = `${c.slice(0, 40)}${d}`;
    const { report, text } = await salvaged(`${header}\0${a}${b}\n${half}\n${e}\n`);
    const missing = standIn("c", "b", { reason: "missing" });
    expect(text).toBe(file(header, a, b, missing, d, e));
    expect(report).toMatchObject({
      header: "kept",
      kept: { lines: 5, bytes: [header, a, b, d, e].join("").length },
      lost: { lines: 1, bytes: 40 },
      losses: [
        { code: "INVALID_JSON", line: 1 },
        { code: "INVALID_JSON", line: 2, bytes: half.length },
      ],
      places: [{ reason: "missing", entryId: "c", parentId: "b" }],
    });
    // With heads of their own before, and a torn end.
    expect((await salvaged(`${header}\n${a}${b}\n${c}${d}${e}`)).text).toBe(file(header, ...whole));
    // One that has a line of its own is not taken from another, and a line in a line's text is none.
    const quoted = line("b", "a", c);
    const inner = `{"type":"later","id":"f","parentId":"b","timestamp":"t","data":[${d}],}`;
    const other = line("a", null, "z");
    const { text: alone } = await salvaged(`${header}\n{${other}\n${a}\n${quoted}\n${inner}\n`);
    expect(parseSession(alone).entries.map(({ id }) => id)).toEqual(["a", "b", "f"]);
    expect(alone).toContain(`${a}\n${quoted}\n`);
    const cut = `{"type":"later","id":"f","parentId":"b","timestamp":"t","data":${d}`;
    const places = [{ reason: "unreadable", entryId: "f", parentId: "b" }];
    expect((await salvaged(file(header, a, b, cut))).report.places).toMatchObject(places);
  });

  test("drops lines whose id is taken, and counts those that say something else", async () => {
    const other = line("a", null, "z");
    const text = file(header, line("a"), line("a"), other, line("b", "a"));
    const { report, text: after } = await salvaged(text);
    expect(after).toBe(file(header, line("a"), line("b", "a")));
    expect(report.lost).toEqual({ lines: 1, bytes: other.length });
    expect(report.losses).toMatchObject([
      { code: "DUPLICATE_ID", severity: "info", line: 3 },
      { code: "DUPLICATE_ID", severity: "warning", line: 4 },
    ]);
  });

  test("gives a last line its line feed, and drops a torn one", async () => {
    const whole = file(header, line("a"), line("b", "a"));
    expect((await salvaged(whole.slice(0, -1))).text).toBe(whole);
    const { report, text } = await salvaged(`${whole}${line("c", "b").slice(0, 20)}`);
    expect(text).toBe(whole);
    expect(report).toMatchObject({ lost: { lines: 1, bytes: 20 }, losses: [{ code: "TORN_TAIL" }] });
  });

  test("puts the first header first, without a byte order mark, and no other", async () => {
    const other = header.replace("/work", "/other");
    const { report, text } = await salvaged(file(`\ufeff${line("a")}`, "", header, line("b", "a"), other));
    expect(text).toBe(file(header, line("a"), line("b", "a")));
    expect(report.losses).toMatchObject([{ code: "EXTRA_HEADER", line: 5 }]);
  });

  test("makes a header where none can be read", async () => {
    const text = file(header.slice(1), line("a"), line("b", "a"));
    const made = { type: "session", version: 3, timestamp, sessile: 1 };
    const { report, text: after } = await salvaged(text);
    expect(JSON.parse(after.split("\n")[0] as string)).toEqual({ ...made, id: "whole", cwd: "/unknown" });
    expect(after.slice(after.indexOf("\n") + 1)).toBe(file(line("a"), line("b", "a")));
    expect(report).toMatchObject({ header: "made", id: "whole", kept: { lines: 2 } });
    const named = await salvaged(text, { id: "mine", cwd: "/work" });
    expect(JSON.parse(named.text.split("\n")[0] as string)).toEqual({ ...made, id: "mine", cwd: "/work" });
  });

  test("takes lines out of a circle, without their checksum", async () => {
    const { report, text } = await salvaged(file(header, line("a", "b"), line("b", "a"), line("c", "c")));
    expect(report.places).toMatchObject([
      { reason: "circle", entryId: expect.any(String), parentId: null },
      { reason: "circle", entryId: "c", parentId: null },
    ]);
    const { diagnostics, entries } = parseSession(text);
    expect([diagnostics, entries.length]).toEqual([[], 3]);
    expect(text).toContain(`${line("c").replace(/,"crc.*/, "")}}\n`);
  });

  test("gives a line with an empty parent the place before it", async () => {
    const nameless = `{"id":"b","parentId":"","type":"later","timestamp":"t","x":1}`;
    const { report, text } = await salvaged(file(header, line("a"), nameless));
    expect(report.places).toMatchObject([{ reason: "nameless", entryId: "b", parentId: "a" }]);
    expect(text).toBe(
      file(header, line("a"), `{"type":"later","id":"b","parentId":"a","timestamp":"t","x":1}`),
    );
  });

  test("writes an older version in the current one", async () => {
    const v1 = file(
      `{"type":"session","id":"old","timestamp":"${timestamp}","cwd":"/w"}`,
      `{"type":"message","timestamp":"t","message":{"role":"user","content":"one","timestamp":0}}`,
      "{",
      `{"type":"message","timestamp":"t","message":{"role":"hookMessage","customType":"c","content":"two","display":true,"timestamp":0}}`,
    );
    const { report, text } = await salvaged(v1);
    const [before, after] = [parseSession(v1), parseSession(text)];
    expect(after.header).toEqual({ ...before.header, version: 3 });
    expect(after.entries).toEqual(before.entries);
    expect([after.diagnostics, report.header]).toEqual([[], "migrated"]);
  });

  test("refuses what is no session file of a version that it knows", async () => {
    const directory = temporaryDirectory();
    const to = join(directory, "to.jsonl");
    mkdirSync(join(directory, "folder"));
    const refusal = (path: string) => salvageSession(path, { to }).catch((error: unknown) => error);
    expect(await refusal(join(directory, "folder"))).toMatchObject({ code: "NOT_A_FILE" });
    expect(await refusal(join(directory, "none"))).toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await refusal(written(""))).toMatchObject({ code: "EMPTY" });
    expect(await refusal(written("GIF89a\n\n"))).toMatchObject({ code: "NO_HEADER", details: { lines: 2 } });
    const newer = file(JSON.stringify({ ...plainHeader, version: 4 }), line("a"));
    expect(await refusal(written(newer))).toMatchObject({
      code: "SESSION_READ_ONLY",
      details: { reason: "version" },
    });
    if (process.platform !== "win32") {
      execFileSync("mkfifo", [join(directory, "pipe")]);
      expect(await refusal(join(directory, "pipe"))).toMatchObject({ code: "NOT_A_FILE" });
    }
    expect(existsSync(to)).toBe(false);
    await expect(
      salvageSession(written(file(header)), { to: join(directory, "no", "to") }),
    ).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { errno: "ENOENT" },
    });
    await expect(salvageSession("x", { to: "" })).rejects.toThrow(TypeError);
    await expect(salvageSession("x", { to, id: "../x" })).rejects.toThrow(TypeError);
  });

  test("never writes over a file, itself least of all", async () => {
    const path = written(file(header, "{"));
    await expect(salvageSession(path, { to: path })).rejects.toMatchObject({ code: "SESSION_EXISTS" });
    // One that comes while the new file is written.
    const to = join(dirname(path), "to.jsonl");
    const late: FileSystem = {
      ...nodeFileSystem,
      link: (from, name) => {
        writeFileSync(name, "somebody's");
        return nodeFileSystem.link(from, name);
      },
    };
    await expect(salvageSessionOn(late, path, { to })).rejects.toMatchObject({ code: "SESSION_EXISTS" });
    expect(readFileSync(to, "utf8")).toBe("somebody's");
    expect(readFileSync(path, "utf8")).toBe(file(header, "{"));
    expect(readdirSync(dirname(path)).sort()).toEqual(["t_broken.jsonl", "to.jsonl"]);
  });

  test("takes what a file had when it began, and no file that is cut or rewritten meanwhile", async () => {
    const text = file(header, line("a"), line("b", "a"));
    const during = (act: (path: string) => void, content = text) => {
      const path = written(content);
      const to = join(dirname(path), "to.jsonl");
      const disk: FileSystem = {
        ...nodeFileSystem,
        open: (name, mode) => {
          if (mode === "create") act(path);
          return nodeFileSystem.open(name, mode);
        },
      };
      return salvageSessionOn(disk, path, { to }).then(() => readFileSync(to, "utf8"));
    };
    expect(await during((path) => appendFileSync(path, file(line("c", "b"))))).toBe(text);
    await expect(during((path) => truncateSync(path, header.length + 1))).rejects.toMatchObject({
      code: "LOG_CHANGED",
    });
    // Whatever was cut off: the rest may have been rewritten as well.
    const cut = during((path) => truncateSync(path, text.length), `${text}{`);
    await expect(cut).rejects.toMatchObject({ code: "LOG_CHANGED" });
    await expect(during((path) => writeFileSync(path, text.replaceAll("a", "z")))).rejects.toMatchObject({
      code: "LOG_CHANGED",
    });
  });

  test("leaves nothing when its signal ends it, or the disk is full", async () => {
    const path = written(file(header, line("a")));
    const to = join(dirname(path), "to.jsonl");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(salvageSession(path, { to, signal })).rejects.toThrow("enough");
    expect(readdirSync(dirname(path))).toEqual(["t_broken.jsonl"]);
    const disk = simulated(file(header, line("a")));
    disk.capacityBytes = 2 * file(header, line("a")).length - 5;
    await expect(salvageSessionOn(disk, "/s/from.jsonl", { to: "/s/to.jsonl" })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { errno: "ENOSPC" },
    });
    expect((await disk.list("/s")).map(({ name }) => name)).toEqual(["from.jsonl"]);
  });

  // @covers durability:no-hard-links durability:salvage
  test.each([false, true])(
    "is whole on the disk when it resolves, and before that whole or absent (no links: %s)",
    async (noLinks) => {
      const text = file(header, line("a"), "{", line("c", "b"));
      const disk = simulated(text);
      disk.refuseLinks = noLinks;
      const disks: SimulatedDisk[] = [];
      disk.onChange = () => disks.push(...disk.afterPowerCut({ limit: 40 }));
      await salvageSessionOn(disk, "/s/from.jsonl", { to: "/s/to.jsonl" });
      disk.onChange = undefined;
      const whole = Buffer.from(disk.bytes("/s/to.jsonl") as Uint8Array).toString();
      expect(whole).toBe(file(header, line("a"), standIn("b", "a", { reason: "missing" }), line("c", "b")));
      for (const after of disk.afterPowerCut()) expect(textAt(after, "/s/to.jsonl")).toBe(whole);
      expect(disks.length).toBeGreaterThan(5);
      for (const during of disks) {
        expect([undefined, whole]).toContain(textAt(during, "/s/to.jsonl"));
        expect(textAt(during, "/s/from.jsonl")).toBe(text);
      }
    },
  );
});

function textAt(disk: SimulatedDisk, path: string): string | undefined {
  const bytes = disk.bytes(path);
  return bytes && Buffer.from(bytes).toString();
}

/** A disk with this file in it. */
function simulated(text: string): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put("/s/from.jsonl", text);
  return disk;
}
