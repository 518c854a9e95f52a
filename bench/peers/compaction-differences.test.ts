import { fauxAssistantMessage, registerFauxProvider } from "@mariozechner/pi-ai";
import {
  DEFAULT_COMPACTION_SETTINGS,
  estimateTokens,
  compact as piCompact,
  findCutPoint as piCutPoint,
} from "@mariozechner/pi-coding-agent";
import { type ContextMessage, type Message, memorySessionStore } from "sessile";
import { compact, contextTokens, findCutPoint, planCompaction, rollingSummary } from "sessile/compaction";
import { expect, test } from "vitest";
import { type Branch, branchAt, estimateAsPi, fileLists } from "./branches.js";
import { type CompactionDifferenceName, compactionDifferences } from "./compaction-differences.js";
import { computeFileLists, estimateContextTokens, prepareCompaction } from "./pi.js";

const window = 1_000_000;
const time = "2026-01-01T00:00:00.000Z";

const ofTokens = (tokens: number) => "x".repeat(4 * tokens);
const message = (message: object) => ({ type: "message", message: { timestamp: 1, ...message } });
const user = (tokens: number) => message({ role: "user", content: ofTokens(tokens) });
const bash = (tokens: number, fields: object = {}) => {
  const base = { role: "bashExecution", command: "", cancelled: false, truncated: false };
  return message({ ...base, output: ofTokens(tokens), ...fields });
};
const usage = (totalTokens: number) => ({
  input: totalTokens,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens,
});
const answer = (tokens: number, fields: object = {}) =>
  message({
    role: "assistant",
    content: [{ type: "text", text: ofTokens(tokens) }],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "m",
    stopReason: "stop",
    ...fields,
  });
const call = (id: string, name: string, args: object) =>
  answer(0, { content: [{ type: "toolCall", id, name, arguments: args }], stopReason: "toolUse" });
const result = (toolCallId: string, tokens: number, isError = false) =>
  message({
    role: "toolResult",
    toolCallId,
    toolName: "t",
    content: [{ type: "text", text: ofTokens(tokens) }],
    isError,
  });
const note = (tokens: number, customType = "note") => ({
  type: "custom_message",
  customType,
  content: ofTokens(tokens),
  display: true,
});
const branchSummary = (summary: string, details?: object) => ({
  type: "branch_summary",
  fromId: "e0",
  summary,
  ...(details === undefined ? {} : { details }),
});
const setting = { type: "thinking_level_change", thinkingLevel: "high" };
const compaction = (firstKeptEntryId: string, fields: object = {}) => ({
  type: "compaction",
  summary: "earlier",
  firstKeptEntryId,
  tokensBefore: 1,
  ...fields,
});

/** Entries one after the other: `e0`, `e1` and so on. */
function branch(...entries: readonly object[]): Branch {
  const placed = entries.map((entry, at) => ({
    ...entry,
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: time,
  }));
  return branchAt(placed, `e${entries.length - 1}`);
}

/** Both cuts, by ids: what is kept first, and where the turn began that is split. */
function cuts({ path, context }: Branch, keepTokens: number) {
  const { firstKeptEntryIndex, turnStartIndex, isSplitTurn } = piCutPoint(path, 0, path.length, keepTokens);
  const { keepFrom, turnStart } = findCutPoint(context.items, { keepTokens, estimate: estimateAsPi });
  const idOf = (at: number | undefined) => context.items[at ?? -1]?.entryId;
  return {
    ours: [idOf(keepFrom), idOf(turnStart)],
    pi: [path[firstKeptEntryIndex]?.id, isSplitTurn ? path[turnStartIndex]?.id : undefined],
  };
}

/** Both plans; `said` are the summarised messages, by their index in the path. */
function plans({ path, context }: Branch, keepRecentTokens: number) {
  const pi = prepareCompaction(path, { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens });
  const strategy = rollingSummary({ keepRecentTokens });
  const ours = planCompaction(context, { strategy, window, estimate: estimateAsPi });
  const { readFiles = [], modifiedFiles = [] } = ours === undefined ? {} : fileLists(ours.files);
  const piFiles = pi && computeFileLists(pi.fileOps);
  return {
    ours,
    pi,
    covered: ours?.parts.flatMap(({ items }) => items.map(({ entryId }) => entryId)),
    piCovered: [...(pi?.messagesToSummarize ?? []), ...(pi?.turnPrefixMessages ?? [])],
    files: { read: readFiles, modified: modifiedFiles },
    piFiles: { read: piFiles?.readFiles, modified: piFiles?.modifiedFiles },
  };
}

type PiMessages = Parameters<typeof estimateContextTokens>[0];
const piTokens = ({ context }: Branch) =>
  estimateContextTokens(context.items.map(({ message }) => message) as unknown as PiMessages).tokens;
const ourTokens = ({ context }: Branch) => contextTokens(context, { estimate: estimateAsPi });

const shown: { readonly [name in CompactionDifferenceName]: () => Promise<void> | void } = {
  userImage() {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    const { message: of } = message({ role: "user", content: [image, { type: "text", text: ofTokens(5) }] });
    expect(estimateAsPi(of as unknown as ContextMessage)).toBe(1205);
    expect(estimateTokens(of as never)).toBe(5);
  },

  zeroUsage() {
    const one = branch(user(10), answer(20, { usage: usage(0) }), user(5));
    expect([ourTokens(one), piTokens(one)]).toEqual([35, 5]);
  },

  staleUsage() {
    const one = branch(user(10), answer(20, { usage: usage(90_000) }), compaction("e1"), user(5));
    expect([ourTokens(one), piTokens(one)]).toEqual([Math.ceil("earlier".length / 4) + 25, 90_005]);
  },

  editedUsage() {
    const edit = { type: "context_edit", targetId: "e0", replacement: { content: ofTokens(1) } };
    const one = branch(user(10), answer(20, { usage: usage(90_000) }), edit, user(5));
    expect([ourTokens(one), piTokens(one)]).toEqual([26, 90_005]);
  },

  hiddenCommand() {
    const one = branch(user(10), answer(5), bash(100, { excludeFromContext: true }), user(5));
    expect(cuts(one, 50)).toMatchObject({ ours: ["e0", undefined], pi: ["e2", "e2"] });
  },

  fallback() {
    const one = branch(user(10), answer(10), user(10), call("c", "t", {}), result("c", 100));
    expect(cuts(one, 50)).toEqual({ ours: ["e3", "e2"], pi: ["e0", undefined] });
  },

  asidesCount() {
    const one = branch(user(10), answer(10), user(10), answer(10), note(100));
    expect(cuts(one, 50)).toEqual({ ours: ["e4", undefined], pi: ["e0", undefined] });
    const two = branch(user(10), answer(10), user(10), answer(10), branchSummary(ofTokens(100)));
    expect(cuts(two, 50)).toEqual({ ours: ["e4", undefined], pi: ["e0", undefined] });
  },

  asideBeforeCut() {
    for (const aside of [note(10), branchSummary(ofTokens(10))]) {
      const one = branch(user(10), answer(10), aside, answer(50));
      expect(cuts(one, 50)).toEqual({ ours: ["e3", "e2"], pi: ["e2", "e2"] });
      const { covered, piCovered } = plans(one, 50);
      expect([covered, piCovered.length]).toEqual([["e0", "e1", "e2"], 2]);
    }
  },

  emptyBranchSummary() {
    const one = branch(user(10), call("c", "t", {}), result("c", 50), branchSummary(""), user(10));
    expect(cuts(one, 60)).toEqual({ ours: ["e4", undefined], pi: ["e3", "e3"] });
  },

  storedCustom() {
    const custom = message({ role: "custom", customType: "note", content: "", display: true });
    const one = branch(user(10), answer(10), custom, answer(50));
    expect(cuts(one, 50)).toEqual({ ours: ["e3", "e2"], pi: ["e3", "e0"] });
  },

  turnAtCut() {
    const one = branch(user(10), answer(10), bash(50));
    expect(cuts(one, 50)).toEqual({ ours: ["e2", undefined], pi: ["e2", "e2"] });
    const { pi, ours } = plans(one, 50);
    expect([pi?.isSplitTurn, pi?.turnPrefixMessages, pi?.messagesToSummarize.length]).toEqual([true, [], 2]);
    expect(ours?.parts.map(({ items }) => items.length)).toEqual([2]);
  },

  settingBeforeTurn() {
    const one = branch(user(10), answer(10), user(10), answer(10), setting, user(50));
    expect(cuts(one, 50)).toEqual({ ours: ["e5", undefined], pi: ["e4", "e2"] });
    const { pi, ours } = plans(one, 50);
    expect([pi?.messagesToSummarize.length, pi?.turnPrefixMessages.length]).toEqual([2, 2]);
    expect(ours?.parts.map(({ items }) => items.length)).toEqual([4]);
  },

  nothingToSummarise() {
    const { pi, ours } = plans(branch(user(10), answer(10)), 100);
    expect(ours).toBeUndefined();
    expect(pi).toMatchObject({ firstKeptEntryId: "e0", messagesToSummarize: [], turnPrefixMessages: [] });
  },

  afterCompaction() {
    const one = branch(user(10), answer(10), user(10), answer(50), compaction("e2"));
    const { pi, covered } = plans(one, 50);
    expect([pi, covered]).toEqual([undefined, ["e2"]]);
  },

  async splitFirstTurn() {
    const one = branch(user(10), compaction("e2"), user(10), answer(10), answer(50));
    const { pi } = plans(one, 50);
    if (pi === undefined) throw new Error("expected a preparation");
    expect([pi.previousSummary, pi.messagesToSummarize.length]).toEqual(["earlier", 0]);
    const faux = registerFauxProvider();
    try {
      faux.setResponses([fauxAssistantMessage("the turn's beginning")]);
      const { summary } = await piCompact(pi, faux.getModel(), "key");
      expect(summary).toContain("No prior history.");
      expect(summary).not.toContain("earlier");
    } finally {
      faux.unregister();
    }
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/work/project" });
    const say = (fields: { readonly message: object }) => session.appendMessage(fields.message as Message);
    await say(user(10));
    const id = "c0000000";
    const draft = {
      type: "compaction",
      id,
      summary: "earlier",
      firstKeptEntryId: id,
      tokensBefore: 1,
    } as const;
    await session.append([draft]);
    for (const each of [user(10), answer(4000), answer(50)]) await say(each);
    const done = await compact(session, {
      strategy: rollingSummary({ keepRecentTokens: 50 }),
      window,
      estimate: estimateAsPi,
      generate: async () => ({ text: "the turn's beginning" }),
    });
    expect(done).toMatchObject({
      entry: { summary: expect.stringMatching(/^earlier\n+---\n.*the turn's beginning/s) },
    });
  },

  edited() {
    const edit = { type: "context_edit", targetId: "e0", replacement: { content: "now" } };
    const { ours, piCovered } = plans(branch(user(10), answer(10), edit, user(50)), 50);
    expect(ours?.parts[0]?.items[0]?.message).toMatchObject({ content: "now" });
    expect(piCovered[0]).toMatchObject({ content: ofTokens(10) });
  },

  modelSwitch() {
    const one = branch(user(10), note(10, "sessile.model_switch"), answer(10), user(50));
    const { covered, piCovered } = plans(one, 50);
    expect([covered, piCovered.length]).toEqual([["e0", "e2"], 3]);
  },

  ledgerBlocks() {
    const summary = "what was done\n\n<read-files>\na.ts\n</read-files>";
    const { ours, pi } = plans(
      branch(user(10), compaction("e2", { summary }), user(10), answer(10), user(50)),
      50,
    );
    expect(ours?.parts.map(({ previous }) => previous)).toEqual(["what was done"]);
    expect(pi?.previousSummary).toBe(summary);
  },

  pinned() {
    const pin = { type: "context_pin", targetId: "e0", pinned: true };
    const { ours, pi } = plans(branch(user(10), answer(10), pin, user(10), answer(10), user(50)), 50);
    expect([ours?.retain, pi?.firstKeptEntryId]).toEqual([["e0"], "e5"]);
  },

  newestUser() {
    const { ours, pi } = plans(branch(user(10), answer(10), answer(50)), 50);
    expect([ours?.retain, pi?.firstKeptEntryId]).toEqual([["e0"], "e2"]);
  },

  pairs() {
    const one = branch(user(10), call("c", "t", {}), bash(10), result("c", 50), user(1));
    const { ours, pi } = plans(one, 60);
    expect([ours?.keepFrom, ours?.retain, pi?.firstKeptEntryId]).toEqual([2, ["e1"], "e2"]);
  },

  failedCall() {
    const one = branch(user(1), call("c", "edit", { path: "a.ts" }), result("c", 1, true), user(50));
    const { files, piFiles } = plans(one, 50);
    expect(files).toEqual({ read: [], modified: [] });
    expect(piFiles).toEqual({ read: [], modified: ["a.ts"] });
  },

  spelledPath() {
    const calls = ["a.ts", "./a.ts"].flatMap((path, at) => [
      call(`c${at}`, "read", { path }),
      result(`c${at}`, 1),
    ]);
    const { files, piFiles } = plans(branch(user(1), ...calls, user(50)), 50);
    expect(files.read).toEqual(["a.ts"]);
    expect(piFiles.read).toEqual(["./a.ts", "a.ts"]);
  },

  otherTool() {
    const calls = [
      call("c0", "Edit", { file_path: "a.ts" }),
      result("c0", 1),
      call("c1", "delete_file", { path: "b.ts" }),
      result("c1", 1),
    ];
    const { files, piFiles } = plans(branch(user(1), ...calls, user(50)), 50);
    expect(files.modified).toEqual(["a.ts", "b.ts"]);
    expect(piFiles.modified).toEqual([]);
  },

  hookFiles() {
    const details = { readFiles: ["a.ts"], modifiedFiles: ["b.ts"] };
    const earlier = compaction("e2", { details, fromHook: true });
    const { files, piFiles } = plans(branch(user(1), earlier, user(10), user(50)), 50);
    expect(files).toEqual({ read: ["a.ts"], modified: ["b.ts"] });
    expect(piFiles).toEqual({ read: [], modified: [] });
  },

  branchFiles() {
    const details = { readFiles: ["a.ts"], modifiedFiles: ["b.ts"] };
    const { files, piFiles } = plans(branch(user(1), branchSummary("left", details), user(50)), 50);
    expect(files).toEqual({ read: ["a.ts"], modified: ["b.ts"] });
    expect(piFiles).toEqual({ read: [], modified: [] });
  },
};

for (const [name, title] of Object.entries(compactionDifferences)) {
  test(title, () => shown[name as CompactionDifferenceName]());
}
