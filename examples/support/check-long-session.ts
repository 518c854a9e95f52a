import { appendFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type FileLedger, staleFiles } from "sessile/compaction";
import { check } from "./check.js";
import type { Attempt } from "./compacting-agent.js";
import { changesBetween, changesInLedger, type Files, fileHash, filesOnDisk } from "./files-on-disk.js";

/** What has to be true of the attempts to compact of the long session. */
export function checkAttempts(attempts: readonly Attempt[]): void {
  const outcomes = attempts.map(({ outcome }) => outcome);
  const errors = outcomes.filter((outcome) => typeof outcome === "string");
  const results = outcomes.filter((outcome) => typeof outcome !== "string");
  const compacted = results.filter((result) => result.status === "compacted");
  const summaries = compacted.map(({ entry }) => entry);
  const isMidTurn = summaries.some(({ summary }) => summary.includes("## Turn in Progress"));
  const told = compacted.flatMap(({ entries }) => entries).filter(({ type }) => type === "custom_message");
  const refused = attempts.filter(({ trigger }) => trigger === "overflow");
  check("it was pruned", results.map(({ status }) => status).includes("pruned"));
  check("it was compacted four times and more", compacted.length >= 4);
  check("by each strategy", new Set(summaries.map(({ strategy }) => strategy)).size, 3);
  check("a turn was split", isMidTurn);
  check("instructions were told again in the middle of a turn", told.length > 0);
  check("the agent's own model refused once", refused.length, 1);
  check("twice so often that there was no summary", errors, ["SUMMARY_FAILED", "IRREDUCIBLE"]);
  check("nothing was written before there was one", Math.max(...attempts.map(({ tooEarly }) => tooEarly)), 0);
}

/** Holds a ledger against the disk, and prints its head. */
export async function checkFiles(ledger: FileLedger, workspace: string, before: Files): Promise<void> {
  const after = await filesOnDisk(workspace);
  const there = ledger.files.filter(({ gone }) => !gone);
  const hashes = there.map(({ path, contentSha256 }) => [path, contentSha256]);
  const probe = (path: string) => fileHash(resolve(workspace, path));
  check(
    "the ledger has what happened on disk",
    changesInLedger(ledger, before),
    changesBetween(before, after),
  );
  check(
    "and every content",
    hashes,
    there.map(({ path }) => [path, after.get(path) ?? "not there"]),
  );
  check("no file is stale", await staleFiles(ledger, probe), []);
  const path = there[0]?.path ?? "";
  await appendFile(resolve(workspace, path), "// Behind the agent's back.\n");
  const stale = (await staleFiles(ledger, probe)).map(({ record, reason }) => [record.path, reason]);
  check("one that is changed behind the agent's back is", stale, [[path, "changed"]]);
  console.log(`\nThe ledger: ${ledger.files.length} files`);
  const latest = ledger.files.toSorted((a, b) => b.step - a.step).slice(0, 6);
  for (const { path, operations } of latest) console.log(`  ${path} (${operations.join(", ")})`);
}
