import fc from "fast-check";
import { memoryBlobStore, memorySessionStore } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import {
  detectSession,
  exportSession,
  type ForeignFormat,
  type ImportedSession,
  importSession,
} from "sessile/interop";
import { kimiCode } from "sessile/kimi-code";
import { opencode } from "sessile/opencode";
import { qwenCode } from "sessile/qwen-code";
import { describe, expect, it } from "vitest";
import { soupFile } from "../arbitraries/foreign-records.js";
import { rounds } from "../support/rounds.js";
import { plain } from "./plain-format.js";

/** A path of each format's files. */
const formats: readonly (readonly [string, ForeignFormat, string])[] = [
  ["a plain format", plain, "a.jsonl"],
  ["Claude Code", claudeCode, "projects/-w/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl"],
  [
    "Codex",
    codex,
    "sessions/2026/01/01/rollout-2026-01-01T00-00-00-0f8fad5b-d9cb-469f-a165-70867728950e.jsonl",
  ],
  ["Gemini CLI", gemini, ".gemini/tmp/w/chats/session-2026-01-01T00-00-0f8fad5b.jsonl"],
  ["opencode", opencode, "export.json"],
  ["Kimi Code", kimiCode, "sessions/wd_w/session_1/agents/main/wire.jsonl"],
  ["Qwen Code", qwenCode, "projects/-w/chats/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl"],
];

/** Fails unless a store takes the session, whole. */
async function isAdoptable({ header, entries, leafId, children }: ImportedSession): Promise<void> {
  const sessions = memorySessionStore({ inline: "allow" });
  const session = await sessions.adopt({ header, entries, leafId });
  expect(session.leafId).toBe(leafId);
  expect(session.diagnostics).toEqual([]);
  for (const child of children) await isAdoptable(child);
}

describe.each(formats)("%s", (_, format, path) => {
  it("reads whatever records a file has, the same each time, and gives its bytes back", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(soupFile, { minLength: 1, maxLength: 2 }), async (contents) => {
        const files = contents.map((bytes, at) => ({ path: at === 0 ? path : `${at}-${path}`, bytes }));
        const blobs = memoryBlobStore();
        const imported = await importSession(files, { from: format, blobs });
        await isAdoptable(imported);
        expect(await importSession(files, { from: format, blobs })).toEqual(imported);
        const exported = await exportSession(imported, { to: format, blobs });
        expect(exported.report.exact).toBe(true);
        expect(exported.files).toEqual(files);
      }),
      { numRuns: rounds(40, 400) },
    );
  });

  it("keeps the records without a home as lines, and adds nothing to what is there", async () => {
    await fc.assert(
      fc.asyncProperty(soupFile, async (bytes) => {
        const imported = await importSession([{ path, bytes }], { from: format, keep: "lines" });
        await isAdoptable(imported);
        const sessions = memorySessionStore({ inline: "allow" });
        const { size } = await (await sessions.adopt(imported)).tree();
        expect((await (await sessions.adopt(imported, { existing: "append" })).tree()).size).toBe(size);
      }),
      { numRuns: rounds(20, 200) },
    );
  });
});

describe("detectSession", () => {
  it("never throws", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.uint8Array(), soupFile),
        fc.option(fc.string(), { nil: undefined }),
        (head, path) => {
          detectSession(head, path);
        },
      ),
      { numRuns: rounds(200, 5000) },
    );
    expect(detectSession(undefined as never, 3 as never)).toBeUndefined();
  });
});
