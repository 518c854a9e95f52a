import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import fc from "fast-check";
import {
  type BlobRef,
  buildSessionContext,
  encodeEntry,
  type ParsedSession,
  parseSession,
  type SessionEntry,
  type UnknownEntry,
} from "sessile";
import { SessileError } from "sessile/errors";
import { diagnoseSession, openSessionFile, type SalvageReport, salvageSession } from "sessile/node";
import { describe, expect, test } from "vitest";
import type { FileSystem } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { ownIdentity } from "../../../src/core/node/process-identity.js";
import { salvageSessionOn } from "../../../src/storage/files/repair/salvage.js";
import { breakage } from "../../arbitraries/broken-sessions.js";
import { conversation } from "../../arbitraries/conversations.js";
import { entryTree, plainHeader, sessionOf } from "../../arbitraries/entries.js";
import { isFull, rounds } from "../../support/rounds.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

describe("diagnoseSession", () => {
  const header = JSON.stringify(plainHeader);
  const timestamp = "2025-11-20T23:33:50.805Z";
  const line = (id: string, parentId: string | null = null, data?: string) =>
    encodeEntry({
      type: "custom",
      id,
      parentId,
      timestamp,
      customType: "c",
      ...(data === undefined ? {} : { data }),
    });
  const file = (...lines: readonly string[]) => lines.map((one) => `${one}\n`).join("");

  function written(content: string | Uint8Array): string {
    const path = join(temporaryDirectory(), "t_session.jsonl");
    writeFileSync(path, content);
    return path;
  }

  /** What lies in a directory, with its bytes. */
  function everything(directory: string): unknown {
    return readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), "latin1")]);
  }

  const lock = (fields: object) =>
    JSON.stringify({ ...ownIdentity(), nonce: "n", since: Date.UTC(2026, 0, 1), ...fields });

  /** A lock file with a sign of life of now, by the clock of this process, by which a diagnosis goes. */
  function putLock(path: string, content: string): void {
    const now = Date.now() / 1000;
    writeFileSync(`${path}.lock`, content);
    utimesSync(`${path}.lock`, now, now);
  }

  describe("diagnoseSession", () => {
    test("calls a session sound that is", async () => {
      expect(await diagnoseSession(written(file(header, line("a"), line("b", "a"))))).toMatchObject({
        verdict: "sound",
        summary: "sound: 3 lines",
        lines: 3,
        entries: { total: 2, readable: 2 },
        header: plainHeader,
        leafId: "b",
        counts: {},
        findings: [],
        omitted: 0,
      });
    });

    // @covers durability:bit-rot
    test("reports offset, length and entry of damaged lines", async () => {
      const bad = `${line("b", "a").slice(0, -30)}\u0001"}`;
      const path = written(file(header, line("a"), bad, "{", line("c", "gone"), line("a", "c"), line("a")));
      const found = await diagnoseSession(path);
      const at = (index: number) =>
        file(header, line("a"), bad, "{", line("c", "gone")).split("\n", index).join("\n").length + 1;
      expect(found.findings).toMatchObject([
        { code: "INVALID_JSON", severity: "error", line: 3, offset: at(2), bytes: bad.length, entryId: "b" },
        { code: "INVALID_JSON", severity: "error", line: 4, offset: at(3), bytes: 1 },
        { code: "DUPLICATE_ID", severity: "warning", line: 6, entryId: "a" },
        { code: "DUPLICATE_ID", severity: "info", line: 7, entryId: "a" },
        { code: "ORPHAN", severity: "error", line: 5, entryId: "c", bytes: line("c", "gone").length },
      ]);
      expect(found).toMatchObject({ verdict: "damaged", entries: { total: 3, readable: 2 } });
      expect(found.summary).toBe(
        `damaged: 2 of 7 lines (${bad.length + 1} bytes) cannot be read, 1 entry has lost its parent, 2 lines have the id of an earlier one`,
      );
    });

    test("needs no header, and no lines", async () => {
      expect(await diagnoseSession(written(file(line("a"))))).toMatchObject({
        verdict: "unopenable",
        summary: "unopenable: no line is a header",
        entries: { total: 1, readable: 1 },
        findings: [{ code: "NO_HEADER", severity: "error" }],
      });
      expect(await diagnoseSession(written(""))).toMatchObject({
        verdict: "unopenable",
        summary: "unopenable: the file is empty",
        counts: { EMPTY: 1 },
        leafId: null,
      });
    });

    test("counts findings that it does not list", async () => {
      const path = written(file(header, "{", "{", "{"));
      expect(await diagnoseSession(path, { maxFindings: 1 })).toMatchObject({
        counts: { INVALID_JSON: 3 },
        findings: [{ line: 2 }],
        omitted: 2,
      });
    });

    test("names the holder of a lock, and tells whether it is alive, without touching anything", async () => {
      const { pid } = spawnSync(process.execPath, ["-e", ""]);
      const states: readonly (readonly [string, object])[] = [
        [
          lock({}),
          {
            code: "LOCK_LIVE",
            holder: { pid: process.pid, host: ownIdentity().host, since: Date.UTC(2026, 0, 1) },
          },
        ],
        [lock({ pid, startTime: "1" }), { code: "LOCK_STALE", holder: { pid } }],
        [lock({ startTime: "1" }), { code: ownIdentity().startTime === "" ? "LOCK_LIVE" : "LOCK_STALE" }],
        [lock({ host: "elsewhere" }), { code: "LOCK_LIVE", holder: { host: "elsewhere" } }],
        ["", { code: "LOCK_UNREADABLE" }],
      ];
      for (const [content, finding] of states) {
        const path = written(file(header));
        putLock(path, content);
        const before = everything(dirname(path));
        const { verdict, findings } = await diagnoseSession(path);
        expect(findings).toMatchObject([
          { ...finding, severity: "info", path: `${path}.lock`, bytes: content.length },
        ]);
        expect(verdict).toBe("sound");
        expect(everything(dirname(path))).toEqual(before);
      }
    });

    test("takes a torn end for a line on its way while a process holds the lock", async () => {
      const path = written(`${file(header)}{"type":`);
      expect(await diagnoseSession(path)).toMatchObject({
        verdict: "usable",
        findings: [{ code: "TORN_TAIL", severity: "warning", line: 2, offset: header.length + 1, bytes: 8 }],
      });
      putLock(path, lock({}));
      expect(await diagnoseSession(path)).toMatchObject({
        verdict: "sound",
        findings: [{ code: "TORN_TAIL", severity: "info" }, { code: "LOCK_LIVE" }],
      });
    });

    // @covers durability:stopped-breaker
    test("finds the leftovers of writers beside it, and none of other sessions", async () => {
      const path = written(file(header));
      const uuid = crypto.randomUUID();
      const left = ["old-1", "torn-1", `tmp-${uuid}`, "lock.wait", `lock.stale-${uuid}`, `lock.${uuid}`];
      for (const suffix of [...left, "mine", "jsonl"]) writeFileSync(`${path}.${suffix}`, "");
      writeFileSync(join(dirname(path), "t_other.jsonl.lock"), lock({}));
      const { findings, counts } = await diagnoseSession(path);
      expect(findings.map(({ path }) => path)).toEqual(left.map((suffix) => `${path}.${suffix}`).sort());
      expect(counts).toEqual({ OLD_FILE: 1, TORN_FILE: 1, LEFTOVER_FILE: 4 });
    });

    test("asks once for each blob that an entry names, and names the entries of those that are lost", async () => {
      const ref = (digit: string): BlobRef => `sha256:${digit.repeat(64)}`;
      const asked: string[] = [];
      const path = written(
        file(
          header,
          line("a", null, `${ref("1")} ${ref("2")}`),
          line("b", "a", ref("2")),
          line("c", "b", ref("3")),
          `{${ref("4")}`,
        ),
      );
      const found = await diagnoseSession(path, {
        blobs: async (blob) => {
          asked.push(blob);
          return blob === ref("2") ? "missing" : blob === ref("3") ? "corrupt" : "ok";
        },
      });
      expect(asked.sort()).toEqual([ref("1"), ref("2"), ref("3")]);
      expect(found.blobs).toEqual({ ok: 1, missing: 1, corrupt: 1 });
      expect(found.findings.filter(({ blob }) => blob !== undefined)).toMatchObject([
        {
          code: "BLOB_MISSING",
          severity: "error",
          blob: ref("2"),
          entryId: "a",
          line: 2,
          offset: header.length + 1,
        },
        { code: "BLOB_MISSING", severity: "error", blob: ref("2"), entryId: "b", line: 3 },
        { code: "BLOB_CORRUPT", severity: "error", blob: ref("3"), entryId: "c", line: 4 },
      ]);
      asked.length = 0;
      const far = file(
        header,
        line("a", null, ref("1")),
        line("b", "a", "x".repeat(3 << 20)),
        line("c", "b", ref("1")),
      );
      await diagnoseSession(written(far), {
        blobs: (blob) => {
          asked.push(blob);
          return "ok";
        },
      });
      expect(asked).toEqual([ref("1")]);
      const failure = new Error("no store");
      await expect(diagnoseSession(path, { blobs: () => Promise.reject(failure) })).rejects.toBe(failure);
    });

    test("rejects a path that is not a file, and aborts with its signal", async () => {
      const directory = temporaryDirectory();
      mkdirSync(join(directory, "folder"));
      await expect(diagnoseSession(join(directory, "folder"))).rejects.toMatchObject({ code: "NOT_A_FILE" });
      await expect(diagnoseSession(join(directory, "none"))).rejects.toMatchObject({
        code: "SESSION_NOT_FOUND",
      });
      await expect(diagnoseSession("")).rejects.toThrow(TypeError);
      if (process.platform !== "win32") {
        execFileSync("mkfifo", [join(directory, "pipe")]);
        await expect(diagnoseSession(join(directory, "pipe"))).rejects.toMatchObject({ code: "NOT_A_FILE" });
        const server = createServer().listen(join(directory, "socket"));
        await once(server, "listening");
        await expect(diagnoseSession(join(directory, "socket"))).rejects.toMatchObject({
          code: "NOT_A_FILE",
        });
        server.close();
      }
      const signal = AbortSignal.abort(new Error("enough"));
      await expect(diagnoseSession(written(file(header)), { signal })).rejects.toThrow("enough");
    });
  });
});

describe("salvageSession", () => {
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

    test("keeps the conversation in one piece if lines were lost", async () => {
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

    test("leaves missing parents as roots on request", async () => {
      const text = file(header, line("a"), line("b", "a"), "{", line("d", "c"));
      const { text: after } = await salvaged(text, { orphans: "root" });
      const missing = standIn("c", null, { reason: "missing" });
      expect(after).toBe(file(header, line("a"), line("b", "a"), missing, line("d", "c")));
    });

    test("gives one place to a parent that several lost, behind the leaf that a leaf entry names", async () => {
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

    test("keeps the leaf if the last entry is unreadable", async () => {
      const bad = line("c", "a").replace('"content"', '"content\u0001');
      const { text } = await salvaged(file(header, line("a"), line("b", "a"), bad));
      const data = { reason: "unreadable", type: "message", bytes: bad.length };
      expect(text).toBe(file(header, line("a"), standIn("c", "a", data), line("b", "a")));
    });

    // @covers durability:same-id
    test("takes a later whole copy of a line that is damaged", async () => {
      const bad = line("b", "a").replace('"content"', '"content\u0001');
      const { report, text } = await salvaged(file(header, line("a"), bad, line("b", "a"), line("c", "b")));
      expect(text).toBe(file(header, line("a"), line("b", "a"), line("c", "b")));
      expect(report).toMatchObject({ placed: 0, lost: { lines: 1, bytes: bad.length } });
    });

    test.runIf(isFull)("reads any number of lines that were joined to one", async () => {
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
        losses: [{ code: "INVALID_JSON", line: 2, bytes: 40 }],
        places: [{ reason: "missing", entryId: "c", parentId: "b" }],
      });
      // With heads of their own before, and a torn end.
      expect((await salvaged(`${header}\n${a}${b}\n${c}${d}${e}`)).text).toBe(file(header, ...whole));
      // One that has a line of its own is not taken from another, and a line in a line's text is none.
      const quoted = line("b", "a", c);
      const inner = `{"type":"later","id":"f","parentId":"b","timestamp":"t","data":[${d}],}`;
      const other = line("z");
      const { text: alone } = await salvaged(`${header}\n{${other}\n${a}\n${quoted}\n${inner}\n`);
      expect(parseSession(alone).entries.map(({ id }) => id)).toEqual(["z", "a", "f", "b"]);
      expect(alone).toContain(`${quoted}\n`);
      const cut = `{"type":"later","id":"f","parentId":"b","timestamp":"t","data":${d}`;
      expect((await salvaged(file(header, a, b, `${cut}\t`))).text).toBe(file(header, a, b));
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

    test("makes a header if none is readable", async () => {
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

    test("rejects files that are not sessions, and newer versions", async () => {
      const directory = temporaryDirectory();
      const to = join(directory, "to.jsonl");
      mkdirSync(join(directory, "folder"));
      const refusal = (path: string) => salvageSession(path, { to }).catch((error: unknown) => error);
      expect(await refusal(join(directory, "folder"))).toMatchObject({ code: "NOT_A_FILE" });
      expect(await refusal(join(directory, "none"))).toMatchObject({ code: "SESSION_NOT_FOUND" });
      expect(await refusal(written(""))).toMatchObject({ code: "EMPTY" });
      expect(await refusal(written("GIF89a\n\n"))).toMatchObject({
        code: "NO_HEADER",
        details: { lines: 2 },
      });
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

    test("copies the file as of its start, and rejects one that is truncated or rewritten meanwhile", async () => {
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
});

describe("salvageSession of any damage", () => {
  // On a machine with other work to do.

  const encoder = new TextEncoder();

  const broken = fc
    .record({
      text: fc.oneof(
        entryTree().map((entries) => sessionOf(entries).text),
        conversation(24).map(({ entries }) => sessionOf(entries).text),
      ),
      change: breakage,
    })
    .map(({ text, change }) => change(encoder.encode(text)));

  /** A thousand files need not reach the disk. */
  const unsynced: FileSystem = {
    ...nodeFileSystem,
    open(path, mode) {
      const file = nodeFileSystem.open(path, mode);
      if (file !== undefined) file.sync = () => Promise.resolve();
      return file;
    },
    syncDirectory: () => Promise.resolve(),
  };

  /** Problems of lines that were kept as they are. */
  const ofKeptLines = ["MODIFIED", "INVALID_FIELDS", "UNSAFE_KEY"];

  const latin = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");
  const linesOf = (bytes: Uint8Array) =>
    latin(bytes)
      .replace(/^\xef\xbb\xbf/, "")
      .split("\n");
  const entryOf = (line: string) => parseSession(Buffer.from(line, "latin1")).entries[0];

  interface Salvaged {
    readonly source: Uint8Array;
    readonly before: ParsedSession;
    readonly bytes: Uint8Array;
    readonly after: ParsedSession;
    readonly report: SalvageReport;
  }

  class Bench {
    readonly #directory = temporaryDirectory();
    readonly from = join(this.#directory, "t_broken.jsonl");
    readonly to = join(this.#directory, "t_whole.jsonl");

    /** undefined where there is nothing to salvage, which has to be said by a typed error. */
    async salvage(
      source: Uint8Array,
      options: { readonly orphans?: "chain" | "root" } = {},
    ): Promise<Salvaged | undefined> {
      writeFileSync(this.from, source);
      rmSync(this.to, { force: true });
      const before = parseSession(source);
      const report = await salvageSessionOn(unsynced, this.from, { to: this.to, ...options }).catch(
        (error: unknown) => error,
      );
      expect(readFileSync(this.from)).toEqual(Buffer.from(source));
      if (report instanceof Error) {
        expect(report).toBeInstanceOf(SessileError);
        const isNewer = before.diagnostics.some(({ code }) => code === "NEWER_VERSION");
        const isNothing = before.header === undefined && before.entries.length === 0;
        const code = source.length === 0 ? "EMPTY" : isNewer ? "SESSION_READ_ONLY" : "NO_HEADER";
        expect(report).toMatchObject({ code });
        expect(source.length === 0 || isNewer || isNothing).toBe(true);
        return undefined;
      }
      const bytes = Uint8Array.from(readFileSync(this.to));
      return { source, before, bytes, after: parseSession(bytes), report: report as SalvageReport };
    }
  }

  const isCurrent = ({ before }: Salvaged) => before.header === undefined || before.header.version === 3;

  describe("whatever became of a session", () => {
    // @covers R94 durability:salvage
    test("its salvage has every readable line, byte for byte, in order, and reports every other line", async () => {
      const bench = new Bench();
      await fc.assert(
        fc.asyncProperty(broken, async (source) => {
          const salvaged = await bench.salvage(source);
          if (salvaged === undefined || !isCurrent(salvaged)) return;
          const { before, bytes, report } = salvaged;
          const [first, ...lines] = linesOf(bytes).slice(0, -1);
          const clean = source.filter((byte) => byte !== 0);
          if (report.header === "kept") expect(latin(clean)).toContain(first);
          if (before.header !== undefined) expect(report.header).toBe("kept");
          const places = new Map(report.places.map((place) => [place.entryId, place]));
          const kept: string[] = [];
          for (const line of lines) {
            const entry = entryOf(line) as SessionEntry;
            const place = places.get(entry.id);
            if (place === undefined || place.reason === "circle" || place.reason === "nameless") {
              // What no reader finds in the damaged file may be there as well.
              if (before.entry(entry.id) !== undefined) kept.push(entry.id);
              if (place === undefined) expect(latin(clean)).toContain(line);
            } else {
              expect(entry).toMatchObject({
                type: "custom",
                customType: "sessile.lost",
                parentId: place.parentId,
              });
              expect(before.entry(entry.id)).toBeUndefined();
            }
            if (place === undefined && before.entry(entry.id) !== undefined)
              expect(entry).toEqual(before.entry(entry.id));
          }
          expect(kept).toEqual(before.entries.map(({ id }) => id));
          expect(report.kept.lines).toBe(
            lines.length + 1 - standIns(report) - (report.header === "made" ? 1 : 0),
          );
        }),
        { numRuns: rounds(8, 30) },
      );
    });

    test("its salvage opens for writing, with no findings but those of single lines", async () => {
      const bench = new Bench();
      await fc.assert(
        fc.asyncProperty(broken, async (source) => {
          const salvaged = await bench.salvage(source);
          if (salvaged === undefined) return;
          expect(codesBut(salvaged.after, ofKeptLines)).toEqual([]);
          const session = await openSessionFile(bench.to, { mode: "write", durability: "os" });
          expect(session.writable).toBe(true);
          expect(session.diagnostics.filter(({ code }) => !ofKeptLines.includes(code))).toEqual([]);
          expect([(await session.tree()).size, session.leafId]).toEqual([
            salvaged.after.tree.size,
            salvaged.after.leafId,
          ]);
          await session.close();
          expect((await diagnoseSession(bench.to)).verdict).not.toBe("damaged");
        }),
        { numRuns: rounds(8, 30) },
      );
    });

    test("its salvage keeps the history of each entry, and missing parents follow the entry written before", async () => {
      const bench = new Bench();
      await fc.assert(
        fc.asyncProperty(broken, async (source) => {
          const salvaged = await bench.salvage(source);
          if (salvaged === undefined || !isCurrent(salvaged)) return;
          const { before, after, report } = salvaged;
          const missing = new Set(missingOf(report));
          for (const { node } of before.tree.walk()) {
            const path = after.tree.path(node.id).map(({ id }) => id);
            const then = before.tree.path(node.id).map(({ id }) => id);
            expect(path.filter((id) => !missing.has(id))).toEqual(then);
          }
        }),
        { numRuns: rounds(8, 30) },
      );
    });

    test("its salvage has the context that each entry had", async () => {
      const bench = new Bench();
      await fc.assert(
        fc.asyncProperty(broken, async (source) => {
          const salvaged = await bench.salvage(source);
          if (salvaged === undefined || !isCurrent(salvaged)) return;
          const { before, after, report } = salvaged;
          const missing = new Set(missingOf(report));
          expect(after.entries.length).toBe(before.entries.length + standIns(report));
          for (const { node } of before.tree.walk()) {
            const path = before.tree.path(node.id).map(({ id }) => before.entry(id));
            // What was kept from on, or pinned, has a place again.
            if (path.some((entry) => entry !== undefined && missing.has(namedBy(entry) ?? ""))) continue;
            expect(buildSessionContext(after, node.id)).toEqual(buildSessionContext(before, node.id));
          }
          // Without a readable entry the leaf is a placeholder, and its context is empty.
          // The target of a last leaf entry has a place again.
          const isNew = before.entries.length === 0 || missing.has(after.leafId ?? "");
          if (!isNew) expect(after.leafId).toBe(before.leafId);
          expect(after.info).toEqual(before.info);
          expect([...after.tree.labels()]).toEqual([...before.tree.labels()]);
        }),
        { numRuns: rounds(8, 30) },
      );
    });

    test("its salvage, salvaged again, is the same", async () => {
      const bench = new Bench();
      await fc.assert(
        fc.asyncProperty(broken, fc.constantFrom("chain", "root"), async (source, orphans) => {
          const salvaged = await bench.salvage(source, { orphans });
          if (salvaged === undefined) return;
          const again = await bench.salvage(salvaged.bytes, { orphans });
          expect(again?.bytes).toEqual(salvaged.bytes);
          expect(again?.report).toMatchObject({ lost: { lines: 0, bytes: 0 }, losses: [], placed: 0 });
        }),
        { numRuns: rounds(8, 30) },
      );
    });

    // @covers durability:no-checksum
    test("a diagnosis has the findings of a parse, and changes nothing", async () => {
      const bench = new Bench();
      await fc.assert(
        fc.asyncProperty(broken, async (source) => {
          writeFileSync(bench.from, source);
          const { diagnostics, header, leafId, tree, entries } = parseSession(source);
          const found = await diagnoseSession(bench.from);
          expect(JSON.parse(JSON.stringify(found))).toEqual(found);
          expect(found.findings.map(({ code, line = 0, offset = 0 }) => [code, line, offset])).toEqual(
            diagnostics.map(({ code, line, offset }) => [code, line, offset]),
          );
          expect([found.header, found.leafId]).toEqual([header, leafId]);
          expect(found.entries).toEqual({ total: tree.size, readable: entries.length });
          expect(found.verdict === "sound").toBe(found.findings.every(({ severity }) => severity === "info"));
          expect(readFileSync(bench.from)).toEqual(Buffer.from(source));
        }),
        { numRuns: rounds(8, 30) },
      );
    });
  });

  /** The entry that another says something of which shows in a context though the entry itself does not. */
  function namedBy(entry: SessionEntry | UnknownEntry): string | undefined {
    if (entry.type === "compaction") return entry.firstKeptEntryId;
    return entry.type === "context_pin" ? entry.targetId : undefined;
  }

  function missingOf({ places }: SalvageReport): readonly string[] {
    return places.filter(({ reason }) => reason === "missing").map(({ entryId }) => entryId);
  }

  function standIns({ places }: SalvageReport): number {
    return places.filter(({ reason }) => reason === "missing" || reason === "unreadable").length;
  }

  function codesBut({ diagnostics }: ParsedSession, allowed: readonly string[]): readonly string[] {
    return diagnostics.map(({ code }) => code).filter((code) => !allowed.includes(code));
  }
});
