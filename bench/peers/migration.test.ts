import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { openSessionFile } from "sessile/node";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { type ContextView, ourView, piView, type View, withNumbers } from "./compare.js";
import {
  inDirectory,
  migrateSessionEntries,
  type PiEntry,
  parseSessionEntries,
  SessionManager,
} from "./pi.js";
import { type Step, scriptWithAssistant } from "./scripts.js";
import { carryOut, piHand } from "./writers.js";

const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures");
const large = join(fixtures, "pi/large-session.v1.jsonl");

/** Both libraries' views of one file, each of its own copy, since pi writes an older version anew when it opens it. */
async function viewsOf(
  file: string,
  dir: string,
  every?: number,
): Promise<{ readonly ours: View; readonly pi: View }> {
  const copy = join(dir, "of-pi.jsonl");
  copyFileSync(file, copy);
  const before = readFileSync(file);
  const session = await openSessionFile(file);
  const ours = await ourView(session, every);
  await session.close();
  expect(readFileSync(file).equals(before)).toBe(true);
  return { ours, pi: piView(SessionManager.open(copy), every) };
}

/** A view with numbers for ids: pi gives random ones to a file of version 1. */
function numbered(view: View) {
  const entries = view.entries as readonly PiEntry[];
  const leaf = entries.findIndex(({ id }) => id === view.leafId);
  const contexts = entries.map(({ id }) => view.contexts[id]);
  const children = entries.map(({ id }) => view.children[id]?.length);
  return { entries: withNumbers(entries), leaf, contexts, children, name: view.name };
}

describe.skipIf(!existsSync(large))(
  "a real session of version 1 (skipped where SESSILE_FIXTURES, by default ../shared/fixtures, has no pi/large-session.v1.jsonl)",
  () => {
    test("both read the same entries, tip, context, model and thinking level", async () => {
      await inDirectory(async (dir) => {
        const file = join(dir, "session.jsonl");
        copyFileSync(large, file);
        const views = await viewsOf(file, dir, 100);
        const ours = numbered(views.ours);
        expect(ours).toEqual(numbered(views.pi));
        // pi's random ids are 32 bits, and now and then two are equal.
        let lines: ReturnType<typeof parseSessionEntries>;
        do {
          lines = parseSessionEntries(readFileSync(large, "utf8"));
          migrateSessionEntries(lines);
        } while (new Set(lines.map(({ id }) => id)).size < lines.length);
        expect(ours.entries).toEqual(withNumbers(lines.filter((line) => line.type !== "session")));
        expect(ours.leaf).toBe(1017);
        const { messages, model, thinkingLevel } = ours.contexts[1017] as ContextView;
        expect(messages).toHaveLength(914);
        expect({ model, thinkingLevel }).toEqual({
          model: { provider: "anthropic", modelId: "claude-sonnet-4-5" },
          thinkingLevel: "off",
        });
      });
    });
  },
);

/** What version 1 and 2 had: the fields of an entry without its place. */
function asVersion(version: 1 | 2, lines: readonly string[]): string {
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const lineOf = new Map(entries.map((entry, index) => [entry.id, index]));
  const older = entries.map(({ id, parentId, firstKeptEntryId, ...entry }) => {
    if (entry.type === "session") {
      const { version: _version, ...header } = entry;
      return version === 1 ? { ...header, id } : { ...header, id, version };
    }
    if (entry.type === "message" && isCustom(entry.message))
      entry.message = { ...entry.message, role: "hookMessage" };
    if (version === 2)
      return { ...entry, id, parentId, ...(firstKeptEntryId === undefined ? {} : { firstKeptEntryId }) };
    const index = lineOf.get(firstKeptEntryId);
    return { ...entry, ...(entry.type === "compaction" ? { firstKeptEntryIndex: index ?? 99_999 } : {}) };
  });
  return `${older.map((entry) => JSON.stringify(entry)).join("\n")}\n`;
}

function isCustom(message: unknown): message is { readonly role: string } {
  return (message as { readonly role?: unknown }).role === "custom";
}

describe.each([1, 2] as const)("generated sessions of version %i", (version) => {
  test("both read the same", { timeout: 240_000 }, async () => {
    // Version 1 knows no tree; labels name entries by id, which it has none of.
    const isOld = (step: Step) => version === 2 || step.type !== "label";
    const asOld = (step: Step): Step => (version === 2 ? step : { ...step, jump: "stay" });
    await fc.assert(
      fc.asyncProperty(scriptWithAssistant, async (steps) => {
        await inDirectory(async (dir) => {
          const written = SessionManager.create("/work/project", dir);
          await carryOut(piHand(written), steps.filter(isOld).map(asOld));
          const lines = readFileSync(written.getSessionFile() as string, "utf8")
            .trimEnd()
            .split("\n");
          const file = join(dir, "older.jsonl");
          writeFileSync(file, asVersion(version, lines));
          const views = await viewsOf(file, dir);
          if (version === 2) expect(views.ours).toEqual(views.pi);
          else expect(withoutUnmatched(numbered(views.ours))).toEqual(withoutUnmatched(numbered(views.pi)));
        });
      }),
      { numRuns: 150 },
    );
  });
});

/** An index that points at no entry: pi leaves the compaction without a first kept entry, here it names itself. */
function withoutUnmatched(view: ReturnType<typeof numbered>) {
  const entries = view.entries.map((entry, index) => {
    const { firstKeptEntryId, ...rest } = entry as Record<string, unknown>;
    return firstKeptEntryId === `#${index}` ? rest : entry;
  });
  return { ...view, entries };
}
