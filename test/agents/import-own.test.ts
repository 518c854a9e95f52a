import fc from "fast-check";
import { buildSessionContext, memorySessionStore, parseSession } from "sessile";
import { codex } from "sessile/codex";
import { importSession } from "sessile/interop";
import { describe, expect, it } from "vitest";
import { breakage } from "../arbitraries/broken-sessions.js";
import { entryTree, sessionOf } from "../arbitraries/entries.js";
import { encodeUtf8 } from "../support/plain-values.js";
import { rounds } from "../support/rounds.js";
import { lines } from "./plain-format.js";

const header = { type: "session", version: 3, id: "s1", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/w" };
const timestamp = header.timestamp;
const said = (id: string, parentId: string | null, content: unknown = id) => ({
  type: "message",
  id,
  parentId,
  timestamp,
  message: { role: "user", content, timestamp: 0 },
});

async function read(bytes: Uint8Array, options: object = {}) {
  return importSession([{ path: "pi.jsonl", bytes }], { from: [codex], ...options });
}

describe("a session of pi", () => {
  it("is read as parseSession reads it, and adopted", async () => {
    const bytes = lines([header, said("a", null), said("b", "a"), said("c", "a")]);
    const imported = await read(bytes);
    expect(imported).toMatchObject({ header: { id: "s1", cwd: "/w" }, leafId: "c", children: [] });
    expect(imported.entries).toEqual(parseSession(bytes).entries);
    expect(imported.report).toMatchObject({
      format: "pi",
      counts: { message: { read: 3, mapped: 3, kept: 0 } },
    });
    const session = await memorySessionStore().adopt(imported);
    expect((await session.context()).items).toEqual(buildSessionContext(parseSession(bytes)).items);
  });

  it("of version 1 gets ids", async () => {
    const { type: _t, version: _v, ...old } = header;
    const message = { role: "user", content: "hi", timestamp: 0 };
    const bytes = lines([
      { type: "session", ...old },
      { type: "message", timestamp, message },
    ]);
    const { entries, header: now } = await read(bytes);
    expect([now.version, entries.length]).toEqual([3, 1]);
    await memorySessionStore().adopt({ header: now, entries, leafId: null });
  });

  it("says where it is damaged, newer, or too long, and has a header of its own", async () => {
    const bytes = lines([{ ...header, version: 99 }, said("a", null), said("b", "a", "x".repeat(2000)), 7]);
    const { header: own, report } = await read(bytes, { maxLineBytes: 1024 });
    expect(own).toEqual({ ...header, version: 3, sessile: 1 });
    expect(report.findings.map(({ code, file, line }) => [code, file, line])).toEqual([
      ["newer", "pi.jsonl", 1],
      ["tooLong", "pi.jsonl", 3],
      ["unreadable", "pi.jsonl", 4],
    ]);
  });

  it("keeps what it does not know, and what hangs below it", async () => {
    const later = { type: "later", id: "b", parentId: "a", timestamp, x: 1 };
    const { entries, report } = await read(lines([header, said("a", null), later, said("c", "b")]));
    expect(entries[1]).toMatchObject({
      type: "custom",
      id: "b",
      customType: "sessile.foreign_line",
      data: { text: JSON.stringify(later) },
    });
    expect(entries[2]?.parentId).toBe("b");
    expect(report.findings).toMatchObject([{ code: "unmapped", entryId: "b" }]);
  });

  it("may have parents behind their children, missing ones and cycles", async () => {
    const imported = await read(
      lines([header, said("b", "a"), said("a", null), said("d", "e"), said("e", "d"), said("f", "gone")]),
    );
    const session = await memorySessionStore().adopt(imported);
    expect((await session.tree()).size).toBe(5);
    expect((await session.tree()).path("b").map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("may have numbers beyond a double", async () => {
    const line = `{"type":"custom","id":"a","parentId":null,"timestamp":"${timestamp}","customType":"x","data":[1e999]}\n`;
    const imported = await read(new Uint8Array([...lines([header]), ...encodeUtf8(line)]));
    const session = await memorySessionStore().adopt(imported);
    expect(await session.entry("a")).toMatchObject({ data: [null] });
  });

  it("is redacted", async () => {
    const redact = (text: string) => text.replaceAll("s3cr3t", "[redacted]");
    const imported = await read(lines([header, said("a", null, "it is s3cr3t")]), { redact });
    expect(JSON.stringify(imported)).not.toContain("s3cr3t");
  });

  it("is adopted however it is damaged", async () => {
    await fc.assert(
      fc.asyncProperty(entryTree(), breakage, async (entries, change) => {
        const bytes = new Uint8Array([...lines([header]), ...change(encodeUtf8(sessionOf(entries).text))]);
        const imported = await read(bytes);
        const session = await memorySessionStore({ inline: "allow" }).adopt(imported);
        expect(session.leafId).toBe(imported.leafId);
      }),
      { numRuns: rounds(60, 400) },
    );
  });
});
