import { type Context, type ContextItem, toolPairs } from "../../content/index.js";
import { type LedgerStep, playSteps } from "./book.js";
import { nestedSteps, stepsOfCall } from "./calls.js";
import { carriedStep } from "./details.js";
import type { FileToolTable } from "./operations.js";
import { pathsFrom } from "./paths.js";
import type { FileLedger } from "./records.js";
import { fileTools } from "./tools.js";

/** How calls are read. */
export interface FileLedgerOptions {
  /**
   * The absolute directory that relative paths start from; on Windows with its drive or share. Without it paths are only
   * tidied, and a relative one and an absolute one never meet.
   */
  readonly cwd?: string;
  /** By default {@link fileTools}. */
  readonly tools?: FileToolTable;
}

/**
 * What the calls of a context did to which files, in their order, on top of what its summaries carry in `details`. A call
 * that failed did nothing; one without a result is `unconfirmed`. Calls that a tool made while it ran, which pi records in
 * the `nestedCalls` of its result, count as calls of their own. A deleted or moved directory takes the files below it
 * along. The ledger sees what the model sees: a message that a context edit took out is not in it, so its paths reach no
 * summary. Retained messages are skipped, since the summary before them has them already.
 *
 * Paths are one however they are spelled: `a`, `./a`, `/cwd/a`, `b/../a` and `file:///cwd/a`. What no file can be called
 * is skipped: an empty path, one with a NUL, or of more than 4096 characters. Arguments of any JSON shape are taken; only
 * a reader of your own `tools` can throw.
 *
 * @example
 * ```ts
 * const call = { type: "toolCall", id: "c1", name: "save", arguments: { target: "/repo/src/a.ts" } } as const;
 * const asked = assistantMessage({ provider: "p", model: "m" }, call);
 * const ledger = fileLedger(contextOf([asked, toolResult(call, "saved")]), {
 *   cwd: "/repo",
 *   tools: { ...fileTools, save: { operation: "write", path: "target" } },
 * });
 * ledger.files; // [{ path: "src/a.ts", operations: ["modified"], step: 1 }]
 * ```
 */
export function fileLedger(context: Pick<Context, "items">, options: FileLedgerOptions = {}): FileLedger {
  const { items } = context;
  const tools = options.tools ?? fileTools;
  const paths = pathsFrom(options.cwd);
  const steps: LedgerStep[] = [];
  const { pairs, orphans } = toolPairs(items.map(({ message }) => message));
  const orphaned = new Set(orphans);
  let next = 0;
  for (let at = 0; at < items.length; at++) {
    const { message, origin } = items[at] as ContextItem;
    if (message.role === "compactionSummary" || message.role === "branchSummary") {
      if (origin !== "retained") {
        steps.push(carriedStep(message.details, paths));
      }
    }
    if (message.role === "toolResult" && orphaned.has(at) && origin !== "retained") {
      for (const step of nestedSteps(message, tools, paths)) steps.push(step);
    }
    for (let pair = pairs[next]; pair?.callAt === at; pair = pairs[++next]) {
      // What a compaction retained it has in its details, but for calls that had no result there yet.
      if (pair.resultAt !== undefined && items[pair.resultAt]?.origin === "retained") continue;
      for (const step of stepsOfCall(pair.call, pair.result, tools, paths)) steps.push(step);
    }
  }
  return playSteps(steps, paths);
}
