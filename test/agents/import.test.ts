import { encodeEntry, memoryBlobStore, parseSession } from "sessile";
import { SessileError } from "sessile/errors";
import { importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { lines, plain } from "./plain-format.js";

const record = (id: string, text: unknown, more: object = {}) => ({ kind: "say", id, text, ...more });

async function read(bytes: Uint8Array, options: object = {}) {
  return importSession([{ path: "a.jsonl", bytes }], { from: plain, ...options });
}

describe("importSession", () => {
  it("gives entries that a session can hold, with ids that follow from the input", async () => {
    const bytes = lines([{ kind: "start", id: "s1", cwd: "/w" }, record("a", "one"), record("b", "two")]);
    const first = await read(bytes, { keep: "none" });
    const second = await read(bytes, { keep: "none" });
    expect(second).toEqual(first);
    expect(first.header).toMatchObject({ id: "s1", cwd: "/w", version: 3 });
    expect(first.entries.map(({ parentId }) => parentId)).toEqual([null, first.entries[0]?.id]);
    expect(first.leafId).toBe(first.entries[1]?.id);
    const text = first.entries.map((entry) => encodeEntry(entry)).join("\n");
    expect(parseSession(`${JSON.stringify(first.header)}\n${text}\n`).entries).toEqual(first.entries);
  });

  it("gives a file that has grown the same ids, and adds only what is new", async () => {
    const start = [{ kind: "start", id: "s1", cwd: "/w" }, record("a", "one")];
    const before = await read(lines(start), { blobs: memoryBlobStore() });
    const after = await read(lines([...start, record("b", "two")]), { blobs: memoryBlobStore() });
    const known = new Set(before.entries.map(({ id }) => id));
    const added = after.entries.filter(({ id }) => !known.has(id));
    expect(added.map(({ type }) => type)).toEqual(["custom", "message"]);
    expect(added[0]).toMatchObject({ customType: "sessile.foreign", parentId: null });
  });

  it("names the files and keeps their bytes as blobs", async () => {
    const blobs = memoryBlobStore();
    const bytes = lines([{ kind: "start", id: "s1", cwd: "/w" }, record("a", "one")]);
    const { entries, report } = await read(bytes, { blobs });
    const [foreign] = entries;
    const data = (foreign as { data: { files: { blob: `sha256:${string}`; sha256: string }[] } }).data;
    expect(data).toMatchObject({ v: 1, agent: "codex", files: [{ path: "a.jsonl", bytes: bytes.length }] });
    expect(data.files[0]?.blob).toBe(`sha256:${data.files[0]?.sha256}`);
    expect(await blobs.get(data.files[0]?.blob ?? "sha256:")).toEqual(bytes);
    expect(report).toMatchObject({ exact: true, counts: { say: { read: 1, mapped: 1, kept: 1 } } });
  });

  it("keeps lines without a home as entries of their own branch", async () => {
    const bytes = lines([{ kind: "start", id: "s1" }, { kind: "noise", x: 1 }, record("a", "one")]);
    const { entries, report, leafId } = await read(bytes);
    const kept = entries.filter(
      (entry) => entry.type === "custom" && entry.customType === "sessile.foreign_line",
    );
    expect(kept).toMatchObject([{ parentId: null, data: { file: "a.jsonl", line: 2 } }]);
    expect((kept[0] as { data: { text: string } }).data.text).toBe('{"kind":"noise","x":1}');
    expect(entries.find(({ id }) => id === leafId)).toMatchObject({ type: "message", parentId: null });
    expect(report.findings).toEqual([
      { code: "unmapped", file: "a.jsonl", line: 2, text: "1 record of type noise" },
    ]);
    expect(report.counts.noise).toEqual({ read: 1, mapped: 0, kept: 1 });
  });

  it("reads bytes in parts, of which a buffer may be used again, up to a limit for all files", async () => {
    const bytes = lines([{ kind: "start", id: "s1" }, record("a", "one".repeat(500))]);
    async function* parts() {
      const buffer = new Uint8Array(700);
      for (let at = 0; at < bytes.length; at += buffer.length) {
        const part = bytes.subarray(at, at + buffer.length);
        buffer.set(part);
        yield buffer.subarray(0, part.length);
      }
    }
    const read = (maxBytes: number) =>
      importSession(
        [
          { path: "a.jsonl", bytes: parts() },
          { path: "b.jsonl", bytes },
        ],
        { from: plain, keep: "none", maxBytes },
      );
    expect((await read(2 * bytes.length)).report.findings).toEqual([]);
    const limited = await read(2 * bytes.length - 1);
    expect(limited.entries).toHaveLength(1);
    expect(limited.report.findings).toEqual([
      { code: "tooLong", file: "b.jsonl", text: `the files have more than ${2 * bytes.length - 1} bytes` },
    ]);
    const none = await read(bytes.length - 1);
    expect([none.entries, none.report.findings.map(({ file }) => file)]).toEqual([
      [],
      ["a.jsonl", "b.jsonl"],
    ]);
    for (const other of ["text", null, {}]) {
      const wrong = importSession([{ path: "a", bytes: other as never }], { from: plain });
      await expect(wrong).rejects.toThrow(/^files: expected bytes or an async iterable/);
    }
  });

  it("says why a compressed file or a database is not read", async () => {
    const packed = new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, 1]);
    const finding = async (bytes: Uint8Array, options: object) =>
      (await importSession([{ path: "a.zst", bytes }], { from: plain, ...options })).report.findings;
    const fail = () => {
      throw new Error("no");
    };
    const found = (code: string, text: string) => [{ code, file: "a.zst", text }];
    expect(await finding(packed, {})).toEqual(
      found("needsReader", "Zstandard, and there is no `decompress`"),
    );
    expect(await finding(packed, { decompress: fail })).toEqual(
      found("unreadable", "it cannot be decompressed: no"),
    );
    const bounds: number[] = [];
    for (const length of [4, 200_000]) {
      const bytes = new Uint8Array(length);
      bytes.set(packed.subarray(0, 4));
      const decompress = (_: Uint8Array, most: number): Uint8Array => {
        bounds.push(most);
        throw Object.assign(new Error("large"), { code: "ERR_BUFFER_TOO_LARGE" });
      };
      expect(await finding(bytes, { decompress })).toEqual(
        found("tooLong", `decompressed, it has more than ${bounds.at(-1)} bytes`),
      );
    }
    expect(bounds).toEqual([16 * 1024 * 1024, 40_000_000]);
    expect(await finding(packed, { decompress: () => new Uint8Array(1030), maxBytes: 1029 })).toEqual(
      found("tooLong", "decompressed, it has more than 1029 bytes"),
    );
    const database = new TextEncoder().encode("SQLite format 3\0".padEnd(512, "\0"));
    const rows = {
      ...plain,
      async read(source: Parameters<NonNullable<typeof plain.read>>[0]) {
        const reader = await source.sqlite("a.zst");
        expect(reader?.all("SELECT 1") ?? []).toEqual([]);
      },
    };
    const broken = found("unreadable", "the database cannot be read: no");
    expect(await finding(database, { from: rows, sqlite: fail })).toEqual(broken);
    expect(await finding(database, { from: rows, sqlite: () => ({ all: fail }) })).toEqual(broken);
  });

  it("keeps no text of a name that the redaction changes", async () => {
    const redact = (text: string) => text.replaceAll("secret", "x");
    const files = [{ path: "my-secret.jsonl", bytes: lines([record("a", "a secret")]) }];
    const { header, entries, report } = await importSession(files, { from: plain, redact });
    // The id is that of the file, which has no other one.
    expect(header.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.stringify([header, entries, report])).not.toContain("secret");
  });

  it("refuses files that no format knows", async () => {
    const found = importSession([{ path: "x", bytes: lines([{ a: 1 }]) }], { from: [plain] });
    await expect(found).rejects.toSatisfy((error) => SessileError.is(error, "NO_HEADER"));
  });
});
