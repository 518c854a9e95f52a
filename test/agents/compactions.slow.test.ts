import type { SessionEntry } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { exportSession, type ForeignFormat, toAtif } from "sessile/interop";
import { opencode } from "sessile/opencode";
import { expect, test } from "vitest";
import { plainHeader } from "../arbitraries/entries.js";
import { exponentOfAsync, maxExponent } from "../support/growth.js";

/** A question and a compaction, again and again; each compaction keeps all that came before it. */
function session(count: number) {
  const entries: SessionEntry[] = [];
  const timestamp = new Date(0).toISOString();
  for (let at = 0; at < count; at++) {
    const place = { parentId: entries.at(-1)?.id ?? null, timestamp };
    const message = { role: "user", content: `question ${at}`, timestamp: at } as const;
    entries.push({ type: "message", id: `q${at}`, ...place, message });
    const kept = { summary: `summary ${at}`, firstKeptEntryId: "q0", tokensBefore: 9 };
    entries.push({ type: "compaction", id: `c${at}`, parentId: `q${at}`, timestamp, ...kept });
  }
  return { header: plainHeader, entries, leafId: entries.at(-1)?.id ?? null };
}

const to = (format: ForeignFormat) => (source: ReturnType<typeof session>) =>
  exportSession(source, { to: format, now: () => 0 });

test.each([
  ["Claude Code", to(claudeCode)],
  ["Codex", to(codex)],
  ["Gemini CLI", to(gemini)],
  ["opencode", to(opencode)],
  ["ATIF", (source: ReturnType<typeof session>) => toAtif(source)],
] as const)("compactions that keep everything take time in proportion: %s", async (_, write) => {
  expect(await exponentOfAsync([1_250, 2_500, 5_000], session, write)).toBeLessThan(maxExponent);
});
