import fc from "fast-check";
import { type BlobStore, type Message, memoryBlobStore, memorySessionStore } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import {
  type ExportableSession,
  exportSession,
  type ForeignFormat,
  type InteropReport,
  importSession,
  pi,
} from "sessile/interop";
import { kimiCode } from "sessile/kimi-code";
import { opencode } from "sessile/opencode";
import { qwenCode } from "sessile/qwen-code";
import { describe, expect, it } from "vitest";
import { plainHeader } from "../arbitraries/entries.js";
import { type HazardMaker, hazardousSession } from "../arbitraries/hazards.js";
import { png } from "../support/media-files.js";
import { rounds } from "../support/rounds.js";
import { plain } from "./plain-format.js";
import { type Token, tokensOf } from "./transcript-tokens.js";

const makers: readonly HazardMaker[] = [
  {
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    api: "anthropic-messages",
    signed: (word) => Buffer.from(word).toString("base64"),
    opaque: (word) => ({ type: "server_tool_use", id: word, name: "web_search", input: {} }),
  },
  { provider: "openai", model: "gpt-5", api: "openai-responses" },
  { provider: "google", model: "gemini-2.5-pro", api: "google-generative-ai" },
];

const formats: readonly (readonly [string, ForeignFormat])[] = [
  ["a plain format", { ...plain, name: "pi" }],
  ["Claude Code", claudeCode],
  ["Codex", codex],
  ["Gemini CLI", gemini],
  ["opencode", opencode],
  ["Qwen Code", qwenCode],
  ["Kimi Code", kimiCode],
  ["pi", pi],
];

/** A session through a format: what comes back, and the report of what was lost on the way. */
async function through(session: ExportableSession, to: ForeignFormat, blobs: BlobStore) {
  const { files, report } = await exportSession(session, { to, blobs, now: () => 1_767_225_600_000 });
  const back = memoryBlobStore();
  const imported = await importSession(files, { from: to, blobs: back });
  // A call that a compaction repeats from before an earlier one has its result twice, and the import says so.
  fc.pre(imported.report.findings.every(({ code }) => code !== "duplicateResult"));
  return { imported, report, blobs: back };
}

/** The tokens of entries that a report names. */
function reported(tokens: readonly Token[], { findings }: InteropReport): ReadonlySet<string> {
  const ids = new Set(findings.map(({ entryId }) => entryId));
  return new Set(tokens.filter(({ entryId }) => ids.has(entryId)).map(({ token }) => token));
}

/** Fails unless what came back is what was there, in order, but for what may be lost. */
function sameButFor(
  before: readonly Token[],
  after: readonly Token[],
  lost: ReadonlySet<string>,
  entries: ExportableSession["entries"],
): void {
  const there = new Set(after.map(({ token }) => token));
  const known = new Set(before.map(({ token }) => token));
  const needed = before.filter(({ optional }) => optional !== true);
  expect(needed.filter(({ token }) => !there.has(token) && !lost.has(token))).toEqual([]);
  // A compaction may keep more than before, but nothing is made up.
  const history = JSON.stringify(entries);
  const hasFiles = /"blob"|"image"/.test(history);
  const isMadeUp = ({ token }: Token) => !hasFiles && !known.has(token) && !history.includes(token);
  expect(after.filter(isMadeUp)).toEqual([]);
  // Within a reply and its results formats have orders of their own; repeated tokens have several places.
  const stepOf = new Map<string, number>();
  const repeated = new Set<string>();
  for (const { token, step } of before) {
    if (stepOf.has(token)) repeated.add(token);
    stepOf.set(token, step);
  }
  const order = after.flatMap(({ token }) =>
    lost.has(token) || repeated.has(token) ? [] : (stepOf.get(token) ?? []),
  );
  expect(order).toEqual(order.toSorted((a, b) => a - b));
}

const sessions = hazardousSession(12, makers).map(({ entries, blobs }) => ({
  session: { header: plainHeader, entries, leafId: entries.at(-1)?.id ?? null },
  blobs: blobs as BlobStore,
}));

describe.each(formats)("%s", (_, format) => {
  it("loses of a session what its report says, and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, async ({ session, blobs }) => {
        const { imported, report, blobs: back } = await through(session, format, blobs);
        const before = await tokensOf(session, blobs);
        sameButFor(before, await tokensOf(imported, back), reported(before, report), session.entries);
      }),
      { numRuns: rounds(40, 400) },
    );
  });
});

const pairs = formats.flatMap(([a, from]) =>
  formats.flatMap(([b, to]) =>
    from === to || from.name === "pi" || to.name === "pi" ? [] : [[a, b, from, to] as const],
  ),
);

/** A conversation of things that every agent has. */
const usual = (provider: string, model: string): readonly Message[] => {
  const timestamp = Date.parse("2026-01-01T00:00:00.000Z");
  const data = Buffer.from(png({ width: 2, height: 3 })).toString("base64");
  const image = { type: "image", data, mimeType: "image/png" } as const;
  const call = { type: "toolCall", id: "call_1", name: "read", arguments: { path: "w3w" } } as const;
  const result = { role: "toolResult", toolCallId: call.id, toolName: call.name, isError: false } as const;
  const reply = { role: "assistant", provider, model, timestamp } as const;
  return [
    { role: "user", content: [{ type: "text", text: "w1w" }, image], timestamp },
    { ...reply, content: [{ type: "text", text: "w2w" }, call], stopReason: "toolUse" },
    { ...result, content: [{ type: "text", text: "w4w" }], timestamp },
    { ...reply, content: [{ type: "text", text: "w5w" }], stopReason: "stop" },
    { role: "user", content: "w6w", timestamp },
    { ...reply, content: [{ type: "text", text: "w7w" }], stopReason: "stop" },
  ];
};

const agents = [
  ["Claude Code", claudeCode, "anthropic", "claude-sonnet-4-5"],
  ["Codex", codex, "openai", "gpt-5"],
  ["Gemini CLI", gemini, "google", "gemini-2.5-pro"],
  ["opencode", opencode, "anthropic", "claude-sonnet-4-5"],
  ["Qwen Code", qwenCode, "qwen", "qwen3-coder-plus"],
  ["Kimi Code", kimiCode, "kimi", "kimi-k2.7-code"],
] as const;

it.each(agents)(
  "%s loses nothing of a usual conversation, its summary included",
  async (_, format, provider, model) => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/w" });
    const entries: string[] = [];
    for (const message of usual(provider, model)) entries.push((await session.appendMessage(message)).id);
    const summary = { summary: "w8w", firstKeptEntryId: entries[4] as string, tokensBefore: 9 };
    for (const isCompacted of [false, true]) {
      if (isCompacted) await session.append([{ type: "compaction", ...summary }]);
      const { files, report } = await exportSession(session, { to: format, blobs });
      expect(report.findings.filter(({ code }) => code !== "id" && code !== "retimed")).toEqual([]);
      const back = memoryBlobStore();
      const imported = await importSession(files, { from: format, blobs: back });
      const before = await tokensOf(session, blobs);
      const after = await tokensOf(imported, back);
      expect(after.map(({ token }) => token)).toEqual(before.map(({ token }) => token));
      expect(before).toHaveLength(isCompacted ? 3 : 8);
    }
  },
);

describe.each(pairs)("%s to %s and back", (_a, _b, from, to) => {
  it("loses what the reports say, and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, async ({ session, blobs }) => {
        const first = await through(session, from, blobs);
        const there = await through(first.imported, to, first.blobs);
        const back = await through(there.imported, from, there.blobs);
        const before = await tokensOf(first.imported, first.blobs);
        const between = await tokensOf(there.imported, there.blobs);
        const lost = new Set([...reported(before, there.report), ...reported(between, back.report)]);
        sameButFor(before, await tokensOf(back.imported, back.blobs), lost, first.imported.entries);
      }),
      { numRuns: rounds(5, 60) },
    );
  });
});
