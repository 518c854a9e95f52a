import { type ChildProcess, fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { planCompaction, rollingSummary } from "sessile/compaction";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { messagesByRole } from "../../test/arbitraries/messages.js";
import { pis } from "../support/runner.js";
import { branchOf, conversation, estimateAsPi, fileLists } from "./branches.js";
import { asPi, contextView } from "./compare.js";
import { inDirectory, plain } from "./pi.js";
import { type Step, script } from "./scripts.js";
import { carryOut, ourHand } from "./writers.js";

/** pi 1.6.0 in a process of the Node that it needs, which answers one question after another. */
class Pi {
  readonly #process: ChildProcess;

  constructor(node: string) {
    this.#process = fork(fileURLToPath(new URL("pi-1.6.mjs", import.meta.url)), {
      execPath: node,
      execArgv: [],
    });
  }

  ask<T>(kind: string, question: object): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`pi 1.6.0 ended at the question ${kind}`));
      this.#process.once("exit", ended);
      this.#process.once("message", (message: { readonly answer: T }) => {
        this.#process.off("exit", ended);
        resolve(message.answer);
      });
      this.#process.send({ kind, ...question });
    });
  }

  close(): void {
    this.#process.disconnect();
  }
}

interface View {
  readonly id: string;
  readonly leafId: string | null;
  readonly name?: string;
  readonly entries: readonly string[];
  readonly labels: readonly (string | null)[];
  readonly contexts: readonly (readonly [string, unknown])[];
}

interface Plan {
  readonly firstKeptEntryId: string;
  readonly previousSummary?: string;
  readonly tokensBefore: number;
  readonly messagesToSummarize: readonly unknown[];
  readonly turnPrefixMessages: readonly unknown[];
  readonly fileOps: unknown;
}

const current = pis.find(({ version }) => version === "1.6.0");

const timestamp = 1;
const text = fc.nat(60).map((length) => "x".repeat(length));
const path = fc.constantFrom("a.ts", "src/b.ts", "docs/d.md");
const usage = {
  ...{ input: 5, output: 1, cacheRead: 2, cacheWrite: 3, totalTokens: 11 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const system = text.map((content) => ({
  ...{ role: "system", content, sections: { cwd: content }, timestamp },
  toolsAdded: [{ name: "read", description: "", parameters: {} }],
}));
const nestedCalls = fc
  .array(fc.record({ name: fc.constantFrom("read", "edit", "write"), path }), { maxLength: 3 })
  .map((calls) => ({
    calls: calls.map(({ name, path }, at) => ({
      id: `n/${at}`,
      name,
      arguments: { path },
      status: "ok",
      durationMs: 1,
    })),
    complete: true,
  }));

/** A line of a file as pi 1.6.0 writes them, with what came after 0.73.1; `to` and `from` are numbers of earlier lines. */
const body = fc.oneof(
  text.map((content) => ({ type: "message", message: { role: "user", content, timestamp } })),
  fc
    .tuple(text, fc.constantFrom("stop", "deferred", "pending", "aborted", "error", "length"))
    .map(([words, stopReason]) => ({
      type: "message",
      message: {
        ...{
          role: "assistant",
          content: [{ type: "text", text: words }],
          api: "a",
          provider: "p",
          model: words,
        },
        ...{ usage, stopReason, thinkingLevel: "low", endTurn: true, durationMs: 3, timestamp },
      },
    })),
  system.map((message) => ({ type: "message", message })),
  fc.record({ summary: text, own: fc.boolean(), back: fc.nat(8), systemMessage: system }).map((fields) => ({
    type: "compaction",
    tokensBefore: 1,
    usage,
    ...fields,
  })),
  fc.record({ back: fc.nat(8), text }).map(({ back, text }) => ({
    ...{ type: "context_edit", back },
    replacement: text.length % 2 === 0 ? null : { content: text },
  })),
  fc.constant({ type: "usage", kind: "cache_warm", provider: "p", model: "m", usage }),
  text.map((summary) => ({ type: "branch_summary", summary, fromId: "root", usage })),
  text.map((content) => ({ type: "custom_message", customType: "c", content, display: true })),
  fc.constantFrom(
    { type: "custom", customType: "codemode-store", data: { set: {} } },
    { type: "session_info", name: "name" },
    { type: "thinking_level_change", thinkingLevel: "max" },
    { type: "model_change", provider: "virtual", modelId: "router" },
  ),
);

/** Whether what an edit names is one of those that both libraries let it change. */
const isEditable = (entry: Readonly<Record<string, unknown>>) =>
  entry.type === "custom_message" ||
  (entry.type === "message" && (entry.message as { readonly role: string }).role !== "system");

const tree = fc
  .array(fc.record({ body, up: fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.nat(12)) }), {
    minLength: 1,
    maxLength: 30,
  })
  .map((all) => {
    const id = (at: number) => `0000${(at + 16).toString(16).padStart(4, "0")}`;
    const entries: (Readonly<Record<string, unknown>> & { readonly id: string })[] = [];
    all.forEach(({ body, up }, at) => {
      const parent = at - Math.max(1, up);
      const parentId = parent < 0 ? null : id(parent);
      const base = { id: id(at), parentId, timestamp: new Date(at * 1000).toISOString() };
      const { back = 0, own, ...fields } = body as typeof body & { back?: number; own?: boolean };
      const target = entries[at - 1 - back];
      if (fields.type === "compaction") {
        const kept = own === true || target === undefined ? base.id : target.id;
        entries.push({ ...fields, ...base, firstKeptEntryId: kept });
      } else if (fields.type === "context_edit") {
        const other = { type: "custom", customType: "nothing to edit" };
        const edits = target !== undefined && isEditable(target);
        entries.push({ ...(edits ? { ...fields, targetId: target.id } : other), ...base });
      } else entries.push({ ...fields, ...base });
    });
    return entries;
  });

describe.skipIf(current === undefined)("pi 1.6.0 (skipped where its Node is not to be had)", () => {
  let pi: Pi;
  beforeAll(() => {
    pi = new Pi(current?.node ?? "");
  });
  afterAll(() => pi.close());

  // @covers R123
  test("has the same tip and the same contexts in files of its own vocabulary", {
    timeout: 240_000,
  }, async () => {
    await inDirectory(async (dir) => {
      let file = 0;
      await fc.assert(
        fc.asyncProperty(tree, async (entries) => {
          const header = {
            type: "session",
            version: 3,
            id: "s",
            timestamp: "2026-01-01T00:00:00.000Z",
            cwd: "/w",
          };
          const at = join(dir, `${file++}.jsonl`);
          writeFileSync(at, [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
          const session = await openSessionFile(at);
          expect(session.diagnostics).toEqual([]);
          const view = await pi.ask<View>("open", { path: at, every: 1 });
          expect(view.leafId).toBe(session.leafId);
          expect(view.entries).toEqual(entries.map(({ id }) => id));
          for (const [id, context] of view.contexts)
            expect([id, contextView(await session.context(id))]).toEqual([id, context]);
          await session.close();
        }),
        { numRuns: 300 },
      );
    });
  });

  test("counts the same tokens of any message", async () => {
    const { user, toolResult, custom, system } = messagesByRole;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(user, toolResult, custom, system), { maxLength: 20 }),
        async (messages) => {
          const tokens = await pi.ask<readonly number[]>("tokens", { messages });
          expect(messages.map(estimateAsPi)).toEqual(tokens);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("plans the same: what is kept, summarised and counted, and the files, nested calls among them", {
    timeout: 240_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        conversation,
        fc.array(nestedCalls),
        fc.integer({ min: 1, max: 400 }),
        async (steps, nested, keep) => {
          let result = 0;
          const withNested = steps.map((step): Step => {
            if (step.type !== "message" || step.message.role !== "toolResult") return step;
            const nestedCalls = nested[result++];
            return nestedCalls === undefined ? step : { ...step, message: { ...step.message, nestedCalls } };
          });
          const { path, context } = await branchOf(withNested);
          const theirs = await pi.ask<Plan | null>("plan", { path, keepRecentTokens: keep });
          const ours = planCompaction(context, {
            strategy: rollingSummary({ keepRecentTokens: keep }),
            window: 1_000_000,
            estimate: estimateAsPi,
          });
          // Differences that compaction-differences.test.ts shows.
          if (path.at(-1)?.type === "compaction") return;
          if (theirs === null || ours === undefined) {
            expect([theirs, ours]).toEqual([null, undefined]);
            return;
          }
          expect(theirs.tokensBefore).toBe(ours.tokensBefore);
          const items = ours.parts.flatMap((part) => part.items.map(({ message }) => asPi(message)));
          expect([...theirs.messagesToSummarize, ...theirs.turnPrefixMessages]).toEqual(plain(items));
          const { readFiles, modifiedFiles } = fileLists(ours.files);
          expect(theirs.fileOps).toEqual({ readFiles, modifiedFiles });
          const previous = ours.parts.find((part) => part.previous !== undefined)?.previous;
          expect(theirs.previousSummary).toBe(previous);
          const shown = new Set(context.items.map(({ entryId }) => entryId));
          const first = path.findIndex(({ id }) => id === theirs.firstKeptEntryId);
          const firstShown = path.slice(first).find(({ id, type }) => shown.has(id) && type !== "compaction");
          expect(firstShown?.id).toBe(context.items[ours.keepFrom]?.entryId);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("ends a torn line where it lies, and loses nothing but it", async () => {
    await inDirectory(async (dir) => {
      const at = join(dir, "torn.jsonl");
      const header = {
        type: "session",
        version: 3,
        id: "s",
        timestamp: "2026-01-01T00:00:00.000Z",
        cwd: "/w",
      };
      const first = { type: "message", id: "00000001", parentId: null, timestamp: header.timestamp };
      const user = { role: "user", content: "first", timestamp };
      writeFileSync(
        at,
        `${JSON.stringify(header)}\n${JSON.stringify({ ...first, message: user })}\n{"type":"mess`,
      );
      const [id] = await pi.ask<readonly string[]>("append", { path: at, messages: [user, user] });
      const session = await openSessionFile(at);
      expect(session.diagnostics.map(({ code, line }) => [code, line])).toEqual([["INVALID_JSON", 3]]);
      expect((await session.context()).items).toHaveLength(3);
      expect((await session.tree()).path(session.leafId)[1]?.id).toBe(id);
      await session.close();
    });
  });

  test("keeps the instructions in a compaction's entry, from which both libraries tell them again", async () => {
    await inDirectory(async (dir) => {
      const store = fileSessionStore({ dir, durability: "os" });
      const session = await store.create({ cwd: "/work/project" });
      const instructions = { role: "system", content: "Be brief.", timestamp } as const;
      const user = { role: "user", content: "Go", timestamp } as const;
      for (const message of [instructions, user]) await session.appendMessage(message);
      await session.close();
      const at = session.location as string;
      await pi.ask("compact", { path: at });
      const reopened = await openSessionFile(at);
      const context = contextView(await reopened.context());
      expect(context.messages[0]).toMatchObject({ role: "system", content: "Be brief." });
      expect(context.messages[1]).toMatchObject({ role: "compactionSummary", summary: "what was" });
      const { contexts } = await pi.ask<View>("open", { path: at, every: 1 });
      expect(contexts.at(-1)?.[1]).toEqual(context);
      await reopened.close();
    });
  });

  test("opens what this library wrote, and sees the same", { timeout: 240_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        await inDirectory(async (dir) => {
          const store = fileSessionStore({ dir, durability: "os" });
          const session = await store.create({ cwd: "/work/project" });
          await carryOut(ourHand(session), steps);
          // A tip that is moved at the very end is a leaf entry, which pi takes for a tip: a difference.
          await session.append([{ type: "custom", customType: "end" }]);
          const at = session.location as string;
          await session.close();
          const reopened = await openSessionFile(at);
          const view = await pi.ask<View>("open", { path: at, every: 7 });
          expect([view.id, view.leafId, view.name]).toEqual([
            reopened.id,
            reopened.leafId,
            reopened.info.name,
          ]);
          const labels = new Map(
            [...(await reopened.tree()).labels()].map(({ targetId, label }) => [targetId, label]),
          );
          expect(view.labels).toEqual(view.entries.map((id) => labels.get(id) ?? null));
          for (const [id, context] of view.contexts)
            expect(contextView(await reopened.context(id))).toEqual(context);
          await reopened.close();
        });
      }),
      { numRuns: 150 },
    );
  });
});
