import fc from "fast-check";
import { buildSessionContext, type Context, parseSession } from "sessile";
import type { FileLedger, FileRecord } from "sessile/compaction";
import { estimateMessageTokens } from "sessile/estimate";
import { type PiEntry, plain, SessionManager } from "./pi.js";
import type { Step } from "./scripts.js";
import { carryOut, piHand } from "./writers.js";

/** A branch as each library has it. */
export interface Branch {
  /** From the root to the tip, as pi's `getBranch` gives it. */
  readonly path: PiEntry[];
  readonly context: Context;
}

/** Has pi write the steps, and both read them. */
export async function branchOf(steps: readonly Step[]): Promise<Branch> {
  const manager = SessionManager.inMemory("/work/project");
  await carryOut(piHand(manager), steps);
  return branchAt(manager.getEntries(), manager.getLeafId());
}

/** The branch of these entries that ends there. */
export function branchAt(entries: readonly object[], leafId: string | null): Branch {
  const header = { type: "session", version: 3, id: "s", timestamp: new Date(0).toISOString(), cwd: "/w" };
  const lines = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`);
  const session = parseSession(new TextEncoder().encode(lines.join("")));
  const byId = new Map(plain(entries as readonly PiEntry[]).map((entry) => [entry.id, entry]));
  const path = session.tree.path(leafId).map(({ id }) => byId.get(id) as PiEntry);
  return { path, context: buildSessionContext(session, leafId) };
}

/** Estimates as pi makes them. */
export const estimateAsPi = (message: Parameters<typeof estimateMessageTokens>[0]): number =>
  estimateMessageTokens(message, { text: "chars/4", image: { kind: "flat", tokens: 1200 } });

/** The two lists that pi keeps of a file ledger. */
export function fileLists({ files }: FileLedger): { readFiles: string[]; modifiedFiles: string[] } {
  const isRead = ({ operations }: FileRecord) => operations.every((action) => action === "read");
  return {
    readFiles: files.filter(isRead).map(({ path }) => path),
    modifiedFiles: files.filter((file) => !isRead(file)).map(({ path }) => path),
  };
}

const length = fc.nat(200);
const text = length.map((count) => "x".repeat(count));
const path = fc.constantFrom("a.ts", "src/b.ts", "src/c.ts", "docs/d.md", "e");
const paths = fc.uniqueArray(path, { maxLength: 3 });
const stay = { jump: "stay" } as const;
const timestamp = 1;

const user = text.map((content): readonly Step[] => [
  { ...stay, type: "message", message: { role: "user", content, timestamp } },
]);

/** An answer with calls, and the results that follow it. */
const round = fc
  .record({
    says: text,
    calls: fc.array(
      fc.record({
        id: fc.uuid(),
        name: fc.constantFrom("read", "edit", "write", "bash"),
        path,
        output: text,
      }),
      { maxLength: 3 },
    ),
    tokens: fc.integer({ min: 1, max: 100_000 }),
    stopReason: fc.constantFrom("stop", "stop", "stop", "aborted", "error"),
  })
  .map(({ says, calls, tokens, stopReason }): readonly Step[] => [
    {
      ...stay,
      type: "message",
      message: {
        role: "assistant",
        content: [
          { type: "text", text: says },
          ...calls.map(({ id, name, path }) => ({
            type: "toolCall" as const,
            id,
            name,
            arguments: { path },
          })),
        ],
        api: "anthropic-messages",
        provider: "anthropic",
        model: "m",
        usage: {
          input: tokens,
          output: 1,
          cacheRead: 2,
          cacheWrite: 3,
          totalTokens: tokens % 2 === 0 ? 0 : tokens + 6,
          cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
        },
        stopReason,
        timestamp,
      },
    },
    ...calls.map(
      ({ id, name, output }): Step => ({
        ...stay,
        type: "message",
        message: {
          role: "toolResult",
          toolCallId: id,
          toolName: name,
          content: [{ type: "text", text: output }],
          isError: false,
          timestamp,
        },
      }),
    ),
  ]);

const bash = fc.tuple(text, text).map(([command, output]): readonly Step[] => [
  {
    ...stay,
    type: "message",
    message: {
      role: "bashExecution",
      command,
      output,
      exitCode: 0,
      cancelled: false,
      truncated: false,
      timestamp,
    },
  },
]);

/** Entries that are in no context. */
const setting: fc.Arbitrary<readonly Step[]> = fc.constantFrom<readonly Step[]>(
  [{ ...stay, type: "thinking_level_change", thinkingLevel: "high" }],
  [{ ...stay, type: "model_change", provider: "p", modelId: "m" }],
  [{ ...stay, type: "custom", customType: "state", data: { some: 1 } }],
  [{ ...stay, type: "session_info", name: "name" }],
);

const compaction = fc
  .record({ summary: text, pick: fc.nat(200), own: fc.boolean(), readFiles: paths, modifiedFiles: paths })
  .map(({ summary, pick, own, readFiles, modifiedFiles }): readonly Step[] => [
    {
      ...stay,
      type: "compaction",
      summary,
      tokensBefore: 1,
      // pi names a file in one list only.
      details: { readFiles: readFiles.filter((each) => !modifiedFiles.includes(each)), modifiedFiles },
      kept: { where: own ? "own" : "path", pick },
    },
  ]);

const aside: fc.Arbitrary<readonly Step[]> = text.chain((content) =>
  fc.constantFrom<readonly Step[]>(
    [{ ...stay, type: "custom_message", customType: "note", content, display: true }],
    [{ ...stay, type: "branch_summary", summary: `s${content}` }],
  ),
);

const events = [
  { weight: 3, arbitrary: user },
  { weight: 5, arbitrary: round },
  { weight: 1, arbitrary: bash },
  { weight: 2, arbitrary: setting },
  { weight: 1, arbitrary: compaction },
];

const stepsOf = (...weighted: typeof events): fc.Arbitrary<readonly Step[]> =>
  fc.array(fc.oneof(...weighted), { minLength: 1, maxLength: 25, size: "max" }).map((each) => each.flat());

/** Conversations of calls with their results and of settings, compacted now and then. */
export const conversation = stepsOf(...events);

/** The same with custom messages and branch summaries. */
export const conversationWithAsides = stepsOf(...events, { weight: 2, arbitrary: aside });
