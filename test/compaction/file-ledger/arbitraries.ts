import fc from "fast-check";
import { assistantMessage, type ContextItem, type ContextMessage, toolResult } from "sessile";
import type { FileToolTable } from "sessile/compaction";
import type { Act } from "./naive.js";

/** Where the acts take place. */
export const cwd = "/w";

/** A tool for each operation. */
export const actTools: FileToolTable = {
  read: { operation: "read", path: "path" },
  write: { operation: "write", path: "path" },
  create: { operation: "create", path: "path" },
  modify: { operation: "modify", path: "path" },
  delete: { operation: "delete", path: "path" },
  move: { operation: "move", path: "path", to: "to" },
};

export const hashes = ["a", "b", "c"].map((each) => each.repeat(64));

/** Few paths, so that they meet; some are directories of others. */
const path = fc.constantFrom("a", "b", "a.b", "d", "d/x", "d/y", "d/e", "d/e/z", "d.x", "e/x");

export const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    operation: fc.constantFrom("read", "write", "create", "modify", "delete", "move"),
    path,
    to: path,
    hash: fc.option(fc.constantFrom(...hashes), { nil: undefined }),
    outcome: fc.constantFrom("done", "done", "done", "failed", "unanswered"),
  }),
  { maxLength: 24 },
);

/** The messages of acts, a call and its result for each; `spell` gives each path as a call has it. */
export function messagesOf(all: readonly Act[], spell = (each: string) => each): ContextMessage[] {
  return all.flatMap(({ operation, path, to, hash, outcome }, at): ContextMessage[] => {
    const id = `c${at}`;
    const args = { path: spell(path), ...(operation === "move" && { to: spell(to) }) };
    const call = { type: "toolCall", id, name: operation, arguments: args } as const;
    const asked = assistantMessage({ provider: "p", model: "m" }, call);
    if (outcome === "unanswered") return [asked];
    const details = hash === undefined ? {} : { details: { contentSha256: hash } };
    return [asked, { ...toolResult(call, ""), ...details, isError: outcome === "failed" }];
  });
}

/** A summary that carries `details`. */
export function summaryItem(details: unknown): ContextItem {
  const message = { role: "compactionSummary", summary: "", tokensBefore: 0, timestamp: 0, details } as const;
  return { entryId: "s", origin: "summary", message };
}
