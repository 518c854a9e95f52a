import { createHash } from "node:crypto";
import fc from "fast-check";
import { buildSessionContext, parseSession, project } from "sessile";
import { replayAlways } from "sessile/attachments";
import { fileLedger, planCompaction, rollingSummary } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { breakage } from "../arbitraries/broken-sessions.js";
import { conversation } from "../arbitraries/conversations.js";
import { entryTree, sessionOf } from "../arbitraries/entries.js";
import { contextAt, hazardousSession } from "../arbitraries/hazards.js";
import { checkedTargets } from "../support/checked-targets.js";

/**
 * Digests of outputs over generated inputs with a fixed seed. A change of structure leaves them all as they are. A change of
 * behaviour writes them anew, with `vitest -u`, and its diff shows the targets and parts that it touches.
 */

const seed = 17;

function digestOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value) ?? "undefined")
    .digest("hex")
    .slice(0, 12);
}

/** Reports and losses without their words for people, which may change. */
const wordlessReport = (report: object) => ({ ...report, detail: undefined });
const wordlessLoss = (loss: object) => ({ ...loss, reason: undefined });

function samples<T>(arbitrary: fc.Arbitrary<T>, numRuns: number): readonly T[] {
  return fc.sample(arbitrary, { seed, numRuns });
}

/** Digests as text, a line per name. */
function listed(digests: readonly (readonly [string, string])[]): string {
  return digests.map(([name, digest]) => `${name} ${digest}\n`).join("");
}

test.each(checkedTargets)("requests of $name are as they were", async ({ name, target, makers }) => {
  const digests: [string, string][] = [];
  for (const [at, session] of samples(hazardousSession(30, makers), 12).entries()) {
    const context = contextAt(session);
    for (const replay of [undefined, replayAlways]) {
      const options = { blobs: session.blobs, ...(replay && { replay }) };
      const { value, losses, attachments } = await project(context, target, options);
      digests.push([
        `${at} ${replay ? "always" : "default"}`,
        digestOf([value, losses.map(wordlessLoss), attachments.map(wordlessReport)]),
      ]);
    }
  }
  await expect(listed(digests)).toMatchFileSnapshot(`./requests/${name}.txt`);
});

describe("session files", () => {
  test("written, read and damaged, give what they gave", async () => {
    const digests: [string, string][] = [];
    const damages = samples(breakage, 100);
    for (const [at, entries] of samples(entryTree(), 100).entries()) {
      const { text } = sessionOf(entries);
      digests.push([`${at} lines`, digestOf(text)]);
      const bytes = damages[at]?.(Buffer.from(text)) ?? Buffer.from(text);
      for (const [name, source] of [
        ["whole", Buffer.from(text)],
        ["damaged", bytes],
      ] as const) {
        const { header, entries: read, leafId, diagnostics } = parseSession(source);
        digests.push([
          `${at} ${name}`,
          digestOf([header, read, leafId, diagnostics.map(({ code, line }) => [code, line])]),
        ]);
      }
    }
    await expect(listed(digests)).toMatchFileSnapshot("./files.txt");
  });

  test("give the contexts, the file ledgers and the compaction plans that they gave", async () => {
    const strategy = rollingSummary({ keepRecentTokens: 50 });
    const digests = samples(conversation(40), 200).map(({ entries, leafId }, at) => {
      const context = buildSessionContext(parseSession(sessionOf(entries).text), leafId);
      return [
        `${at}`,
        digestOf([context, planCompaction(context, { strategy, window: 400 }), fileLedger(context)]),
      ] as const;
    });
    await expect(listed(digests)).toMatchFileSnapshot("./contexts.txt");
  });
});
