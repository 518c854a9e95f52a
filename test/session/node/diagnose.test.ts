import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import type { BlobRef } from "sessile/content";
import { encodeEntry } from "sessile/session";
import { diagnoseSession } from "sessile/session/node";
import { describe, expect, test } from "vitest";
import { ownIdentity } from "../../../src/internal/node/process-identity.js";
import { plainHeader } from "../../arbitraries/entries.js";
import { temporaryDirectory } from "./temporary-directory.js";

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
  test("says where lines are damaged, how long they are and which entries they are of", async () => {
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

  test("counts what it does not list", async () => {
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
      writeFileSync(`${path}.lock`, content);
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
    writeFileSync(`${path}.lock`, lock({}));
    expect(await diagnoseSession(path)).toMatchObject({
      verdict: "sound",
      findings: [{ code: "TORN_TAIL", severity: "info" }, { code: "LOCK_LIVE" }],
    });
  });

  // @covers durability:stopped-breaker
  test("finds what writers left beside it, and nothing of other sessions", async () => {
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

  test("refuses what is no file, and ends with its signal", async () => {
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
      await expect(diagnoseSession(join(directory, "socket"))).rejects.toMatchObject({ code: "NOT_A_FILE" });
      server.close();
    }
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(diagnoseSession(written(file(header)), { signal })).rejects.toThrow("enough");
  });
});
