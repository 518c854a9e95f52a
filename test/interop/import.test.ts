import { memoryBlobStore } from "sessile/blobs";
import { SessileError } from "sessile/errors";
import { importSession } from "sessile/interop";
import { encodeEntry, parseSession } from "sessile/session";
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

  it("refuses files that no format knows", async () => {
    const found = importSession([{ path: "x", bytes: lines([{ a: 1 }]) }], { from: [plain] });
    await expect(found).rejects.toSatisfy((error) => SessileError.is(error, "NO_HEADER"));
  });
});
