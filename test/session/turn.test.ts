import fc from "fast-check";
import {
  assistantMessage,
  buildSessionContext,
  type EntryDraft,
  memorySessionStore,
  parseSession,
  type Session,
  type SessionEntry,
  type ToolCall,
  type TurnContext,
  type TurnSettings,
  toolCalls,
  toolResult,
  toolStarted,
  turnSettings,
  userMessage,
} from "sessile";
import { describe, expect, it } from "vitest";
import { runInMemory } from "../../src/session/context/build-context.js";
import { noRow, treeRows } from "../../src/session/internal.js";
import { toolStateSteps, turnSteps } from "../../src/session/runtime/turn-settings.js";
import { conversation, pathTo } from "../arbitraries/conversations.js";
import { sessionOf } from "../arbitraries/entries.js";
import { jsonValue } from "../arbitraries/values.js";
import { processorMs } from "../support/processor-time.js";

const newSession = (): Promise<Session> => memorySessionStore().create({ cwd: "/work" });
const say = (text: string, id?: string): EntryDraft => ({
  type: "message",
  message: userMessage(text),
  ...(id === undefined ? {} : { id }),
});
const callOf = (id: string): ToolCall => ({ type: "toolCall", id, name: "read", arguments: {} });
const ask = (id: string, ...calls: readonly string[]): EntryDraft => ({
  type: "message",
  id,
  message: { ...assistantMessage({ provider: "anthropic", model: "m" }), content: calls.map(callOf) },
});
const answer = (id: string, call: string, isError = false): EntryDraft => ({
  type: "message",
  id,
  message: { ...toolResult(callOf(call), "text"), isError },
});
const started = (toolCallId: string): EntryDraft => toolStarted.draft({ toolCallId });

/** The states as `call: state`, with the result's entry where there is one. */
const statesOf = async (session: Session, leafId?: string): Promise<readonly string[]> =>
  (await session.toolStates(leafId)).map(
    ({ call, state, resultEntryId }) => `${call.id}: ${state}${resultEntryId ? ` by ${resultEntryId}` : ""}`,
  );

describe("turn", () => {
  it("is empty where nothing was said", async () => {
    const session = await newSession();
    const nothing = { model: null, thinkingLevel: "off", tools: [], policies: {} };
    expect(await session.turn()).toEqual(nothing);
    await session.append([say("hi")]);
    expect(await session.turn()).toEqual(nothing);
    expect(await session.turn(null)).toEqual(nothing);
  });

  // @covers R91
  it("has the latest of each setting on the path, field by field", async () => {
    const session = await newSession();
    await session.append([
      say("hi", "root"),
      turnSettings.draft({ tools: ["read", "bash"], policies: { approval: "never" } }),
      { type: "thinking_level_change", thinkingLevel: "high" },
      { type: "model_change", provider: "openai", modelId: "o" },
      turnSettings.draft({ tools: ["read"] }),
    ]);
    const left = session.leafId as string;
    expect(await session.turn()).toEqual({
      model: { provider: "openai", modelId: "o" },
      thinkingLevel: "high",
      tools: ["read"],
      policies: { approval: "never" },
    });
    await session.branch("root");
    await session.append([turnSettings.draft({ policies: { sandbox: "read-only" } }), ask("asked")]);
    expect(await session.turn()).toEqual({
      model: { provider: "anthropic", modelId: "m" },
      thinkingLevel: "off",
      tools: [],
      policies: { sandbox: "read-only" },
    });
    expect((await session.turn(left)).tools).toEqual(["read"]);
    expect((await session.turn("root")).model).toBeNull();
  });

  // @covers R155
  it("has the latest revert, until it is undone", async () => {
    const session = await newSession();
    await session.append([say("one", "one"), say("two", "two")]);
    await session.append([{ type: "revert", targetId: "one", snapshot: "abc", id: "first" }]);
    expect((await session.turn()).revert).toEqual({ entryId: "first", targetId: "one", snapshot: "abc" });
    await session.append([{ type: "revert", targetId: "two", partId: "p", diff: "--- a", id: "second" }]);
    expect((await session.turn()).revert).toEqual({
      entryId: "second",
      targetId: "two",
      partId: "p",
      diff: "--- a",
    });
    await session.append([{ type: "revert", targetId: "two", undone: true }]);
    expect(await session.turn()).not.toHaveProperty("revert");
    expect((await session.turn("second")).revert?.entryId).toBe("second");
  });

  it("keeps what a compaction summarised away", async () => {
    const session = await newSession();
    await session.append([
      say("one", "one"),
      turnSettings.draft({ tools: ["read"] }),
      { type: "thinking_level_change", thinkingLevel: "low" },
      { type: "compaction", summary: "s", firstKeptEntryId: "one", tokensBefore: 1, id: "compaction" },
      { type: "compaction", summary: "s", firstKeptEntryId: "compaction", tokensBefore: 1 },
    ]);
    expect(await session.turn()).toMatchObject({ tools: ["read"], thinkingLevel: "low" });
  });

  it("passes over settings that are none", () => {
    fc.assert(
      fc.property(jsonValue, (data) => {
        const entry = {
          type: "custom",
          customType: "sessile.turn",
          id: "a",
          parentId: null,
          timestamp: "",
          data,
        };
        const { turn } = turnOf([entry as SessionEntry], "a");
        expect(turn.tools.every((tool) => typeof tool === "string")).toBe(true);
        expect(Object.prototype.toString.call(turn.policies)).toBe("[object Object]");
      }),
    );
    const other = {
      type: "custom",
      customType: "acme",
      id: "a",
      parentId: null,
      timestamp: "",
      data: { tools: ["x"] },
    };
    expect(turnOf([other as SessionEntry], "a").turn.tools).toEqual([]);
  });

  it("agrees with the context on model and thinking level, and with a fold over the path", () => {
    fc.assert(
      fc.property(conversation(30), settingsAt, ({ entries, leafId }, settings) => {
        const all = withSettings(entries, settings);
        const { turn, context } = turnOf(all, leafId);
        expect([turn.model, turn.thinkingLevel]).toEqual([context.model, context.thinkingLevel]);
        expect(turn).toEqual(foldedTurn(pathTo(all, leafId) as readonly SessionEntry[]));
      }),
    );
  });
});

describe("toolStates", () => {
  // @covers R142
  it("says of each call in context how far it came", async () => {
    const session = await newSession();
    await session.append([
      say("hi"),
      ask("asked", "a", "b", "c", "d"),
      answer("r1", "a"),
      answer("r2", "b", true),
    ]);
    await session.append([started("c")]);
    expect(await statesOf(session)).toEqual([
      "a: completed by r1",
      "b: error by r2",
      "c: running",
      "d: pending",
    ]);
    expect((await session.toolStates())[0]).toMatchObject({ call: callOf("a"), entryId: "asked" });
    expect(await statesOf(session, "asked")).toEqual([
      "a: pending",
      "b: pending",
      "c: pending",
      "d: pending",
    ]);
    await session.append([answer("r3", "c"), answer("r4", "d")]);
    expect((await statesOf(session)).slice(2)).toEqual(["c: completed by r3", "d: completed by r4"]);
  });

  // @covers R1 R28 R88
  it("survives closing and opening", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.append([ask("asked", "a", "b"), started("a")]);
    await session.close();
    expect(await statesOf(await sessions.open(session.id))).toEqual(["a: running", "b: pending"]);
  });

  it("does not take a start on another branch for one on this", async () => {
    const session = await newSession();
    await session.append([ask("asked", "a")]);
    await session.append([started("a")]);
    await session.branch("asked");
    await session.append([say("never mind")]);
    expect(await statesOf(session)).toEqual(["a: pending"]);
  });

  it("does not take the start of an earlier call for one of a later call with its id", async () => {
    const session = await newSession();
    await session.append([ask("first", "a"), started("a"), answer("r1", "a"), ask("second", "a")]);
    expect(await statesOf(session)).toEqual(["a: completed by r1", "a: pending"]);
    await session.append([started("a")]);
    expect(await statesOf(session)).toEqual(["a: completed by r1", "a: running"]);
  });

  it("calls what a reply asked for that was aborted an error", async () => {
    const session = await newSession();
    const reply = assistantMessage({ provider: "p", model: "m", stopReason: "aborted" }, callOf("a"));
    await session.append([{ type: "message", message: reply }]);
    expect(await statesOf(session)).toEqual(["a: error"]);
  });

  it("after a compaction has the calls that are still in context, with their starts", async () => {
    const session = await newSession();
    await session.append([
      say("one", "one"),
      ask("gone", "a"),
      answer("r1", "a"),
      ask("kept", "b", "c"),
      started("b"),
      { type: "compaction", summary: "s", firstKeptEntryId: "kept", tokensBefore: 1 },
    ]);
    expect(await statesOf(session)).toEqual(["b: running", "c: pending"]);
    await session.append([answer("r2", "b"), started("c")]);
    expect(await statesOf(session)).toEqual(["b: completed by r2", "c: running"]);
  });

  it("after a compaction that retains a call still knows that it was started", async () => {
    const session = await newSession();
    await session.append([
      say("one", "one"),
      ask("retained", "a"),
      started("a"),
      say("two", "two"),
      { type: "compaction", summary: "s", firstKeptEntryId: "two", tokensBefore: 1, retain: ["retained"] },
    ]);
    expect(await statesOf(session)).toEqual(["a: running"]);
  });

  it("leaves out a call that an edit took out of context", async () => {
    const session = await newSession();
    await session.append([ask("asked", "a"), answer("r1", "a"), ask("again", "b")]);
    await session.append([{ type: "context_edit", targetId: "asked", replacement: null }]);
    expect(await statesOf(session)).toEqual(["b: pending"]);
  });

  // @covers R152
  it("has one state for each call in the context, in its order, and names messages that are there", () => {
    fc.assert(
      fc.property(conversation(30), ({ entries, leafId }) => {
        const { states, context } = turnOf(entries, leafId);
        const calls = context.items.flatMap(({ message, entryId }) =>
          message.role === "assistant" ? toolCalls(message).map((call) => ({ call, entryId })) : [],
        );
        expect(states.map(({ call, entryId }) => ({ call, entryId }))).toEqual(calls);
        for (const { call, state, resultEntryId } of states) {
          const result = context.items.find(({ entryId }) => entryId === resultEntryId)?.message;
          if (resultEntryId === undefined) expect(["pending", "error"]).toContain(state);
          else {
            expect(result).toMatchObject({ role: "toolResult", toolCallId: call.id });
            expect(state).toBe(result?.role === "toolResult" && result.isError ? "error" : "completed");
          }
        }
      }),
    );
  });
});

/** Turn, tool states and context of entries in memory. */
function turnOf(entries: readonly SessionEntry[], leafId: string | null) {
  const session = parseSession(sessionOf(entries).text);
  const rows = treeRows(session.tree);
  const row = leafId === null ? noRow : rows.row(leafId);
  const bodyOf = (at: number) => session.entry(rows.id(at));
  return {
    turn: runInMemory(turnSteps(rows, row), bodyOf),
    states: runInMemory(toolStateSteps(rows, row), bodyOf),
    context: buildSessionContext(session, leafId),
  };
}

const key = fc.string({ maxLength: 3 });
/** Settings and reverts, and where to put them. */
const settingsAt = fc.array(
  fc.record({
    at: fc.nat({ max: 30 }),
    draft: fc.oneof(
      fc
        .record(
          { tools: fc.array(key), policies: fc.dictionary(key, fc.nat(), { noNullPrototype: true }) },
          { requiredKeys: [] },
        )
        .map((settings) => turnSettings.draft(settings)),
      fc.record(
        { type: fc.constant("revert" as const), targetId: key, undone: fc.boolean() },
        { requiredKeys: ["type", "targetId"] },
      ),
    ),
  }),
  { maxLength: 6 },
);

/** The entries, some of them replaced by settings. */
function withSettings(
  entries: readonly SessionEntry[],
  settings: readonly { readonly at: number; readonly draft: EntryDraft }[],
): readonly SessionEntry[] {
  const all = [...entries];
  for (const { at, draft } of settings) {
    const old = all[at];
    if (old === undefined) continue;
    const { id, parentId, timestamp } = old;
    all[at] = { ...draft, id, parentId, timestamp } as SessionEntry;
  }
  return all;
}

/** What is in force behind these entries, by going through all of them. */
function foldedTurn(path: readonly SessionEntry[]): TurnContext {
  let turn: TurnContext = { model: null, thinkingLevel: "off", tools: [], policies: {} };
  for (const entry of path) {
    if (entry.type === "model_change") {
      turn = { ...turn, model: { provider: entry.provider, modelId: entry.modelId } };
    } else if (entry.type === "message" && entry.message.role === "assistant") {
      turn = { ...turn, model: { provider: entry.message.provider, modelId: entry.message.model } };
    } else if (entry.type === "thinking_level_change") {
      turn = { ...turn, thinkingLevel: entry.thinkingLevel };
    } else if (entry.type === "revert") {
      const { revert: _, ...rest } = turn;
      const { targetId, undone } = entry;
      const revert = { entryId: entry.id, targetId, ...(undone === undefined ? {} : { undone }) };
      turn = undone === true ? rest : { ...rest, revert };
    } else if (entry.type === "custom" && entry.customType === "sessile.turn") {
      turn = { ...turn, ...(entry.data as TurnSettings) };
    }
  }
  return turn;
}

describe("turnState", () => {
  const aborted = (id: string, stopReason: "aborted" | "error", ...calls: readonly string[]): EntryDraft => {
    const draft = ask(id, ...calls) as EntryDraft & { readonly type: "message" };
    return { ...draft, message: { ...draft.message, stopReason } as never };
  };
  const ended = (
    id: string,
    stopReason: string,
    more: object,
    ...content: readonly (string | ToolCall | { readonly type: "text"; readonly text: string })[]
  ): EntryDraft => ({
    type: "message",
    id,
    message: { ...assistantMessage({ provider: "anthropic", model: "m", stopReason }, ...content), ...more },
  });
  const compaction = (firstKeptEntryId: string, more: object = {}): EntryDraft => ({
    type: "compaction",
    summary: "s",
    firstKeptEntryId,
    tokensBefore: 1,
    ...more,
  });
  const idle = { state: "idle" };
  const awaitingReply = (entryId: string) => ({ state: "awaitingReply", entryId });
  const calls = (entryId: string, ...states: readonly (readonly [id: string, state: string])[]) => ({
    state: "awaitingResults",
    entryId,
    calls: states.map(([id, state]) => ({ call: callOf(id), entryId, state })),
  });

  it.each<[string, readonly EntryDraft[], object]>([
    ["nothing", [], idle],
    ["settings alone", [turnSettings.draft({ tools: ["read"] })], idle],
    ["a user message", [say("hi", "u")], awaitingReply("u")],
    ["a reply", [say("hi", "u"), ask("a")], idle],
    ["calls", [say("hi"), ask("a", "c1", "c2")], calls("a", ["c1", "pending"], ["c2", "pending"])],
    [
      "two calls with one id, which a request has once",
      [ask("a", "c1", "c1")],
      calls("a", ["c1", "pending"]),
    ],
    [
      "two calls with one id and one result",
      [ask("a", "c1", "c1"), started("c1"), answer("r", "c1")],
      awaitingReply("r"),
    ],
    [
      "one result of two, the other call started",
      [say("hi"), ask("a", "c1", "c2"), started("c2"), answer("r", "c1")],
      calls("a", ["c2", "running"]),
    ],
    [
      "all results",
      [say("hi"), ask("a", "c1", "c2"), answer("r", "c1"), answer("s", "c2", true)],
      awaitingReply("s"),
    ],
    ["a reply to results", [say("hi"), ask("a", "c1"), answer("r", "c1"), ask("b")], idle],
    [
      "a reply that was aborted",
      [say("hi"), aborted("a", "aborted", "c1")],
      { state: "aborted", entryId: "a" },
    ],
    ["a reply that failed", [say("hi"), aborted("a", "error")], { state: "aborted", entryId: "a" }],
    [
      "an aborted reply and a user message",
      [say("hi"), aborted("a", "aborted", "c1"), say("go on", "v")],
      awaitingReply("v"),
    ],
    ["calls and a user message", [say("hi"), ask("a", "c1"), say("stop", "v")], awaitingReply("v")],
    [
      "an id of an earlier turn again",
      [say("hi"), ask("a", "c1"), answer("r", "c1"), ask("b", "c1")],
      calls("b", ["c1", "pending"]),
    ],
    [
      "a custom message, a summary, a label",
      [
        say("hi", "u"),
        ask("a"),
        { type: "custom_message", customType: "c", content: "note", display: true },
        { type: "branch_summary", fromId: "u", summary: "s" },
        { type: "label", targetId: "u", label: "l" },
      ],
      idle,
    ],
    [
      "a compaction of a finished turn that keeps its user message",
      [say("hi", "u"), ask("a"), compaction("a", { retain: ["u"] })],
      idle,
    ],
    ["a compaction of everything", [say("hi", "u"), ask("a"), compaction("c", { id: "c" })], idle],
    [
      "a compaction between results and a reply",
      [say("hi", "u"), ask("a", "c1"), answer("r", "c1"), compaction("c", { id: "c" })],
      awaitingReply("r"),
    ],
    [
      "two compactions behind a user message",
      [say("hi", "u"), compaction("c", { id: "c" }), compaction("d", { id: "d" })],
      awaitingReply("u"),
    ],
    ["a compaction and a reply", [say("hi", "u"), compaction("u"), ask("a")], idle],
    [
      "a reply that the provider continues",
      [say("hi", "u"), ended("a", "pause", {}, { type: "text", text: "I search." })],
      { state: "paused", entryId: "a" },
    ],
    [
      "a reply that a limit cut in its text",
      [say("hi", "u"), ended("a", "length", {}, { type: "text", text: "It is" })],
      { state: "cut", entryId: "a" },
    ],
    [
      "a call that was cut before its first byte",
      [ended("a", "length", {}, callOf("c1"))],
      { state: "cut", entryId: "a" },
    ],
    [
      "a call that was cut in the middle, behind a whole one",
      [ended("a", "length", {}, callOf("c1"), { ...callOf("c2"), arguments: '{"path":"a' })],
      calls("a", ["c1", "pending"]),
    ],
    [
      "the result of the whole one",
      [
        ended("a", "length", {}, callOf("c1"), { ...callOf("c2"), arguments: '{"path":"a' }),
        answer("r", "c1"),
      ],
      awaitingReply("r"),
    ],
    [
      "a limit behind whole arguments",
      [ended("a", "length", {}, { ...callOf("c1"), arguments: { path: "a" } })],
      {
        state: "awaitingResults",
        entryId: "a",
        calls: [{ call: { ...callOf("c1"), arguments: { path: "a" } }, entryId: "a", state: "pending" }],
      },
    ],
    [
      "a reply that the provider declined",
      [say("hi", "u"), ended("a", "error", { refused: true }, callOf("c1"))],
      { state: "refused", entryId: "a" },
    ],
    [
      "a user message behind a refusal",
      [ended("a", "error", { refused: true }), say("sorry", "u")],
      awaitingReply("u"),
    ],
    [
      "a user message that an edit removed",
      [ask("a"), say("hi", "u"), { type: "context_edit", targetId: "u", replacement: null }],
      idle,
    ],
  ])("after %s", async (_, drafts, state) => {
    const session = await newSession();
    await session.append(drafts);
    expect(await session.turnState()).toEqual(state);
  });

  it("looks at each of very many calls of one message once", async () => {
    const session = await newSession();
    const ids = Array.from({ length: 100_000 }, (_, index) => `c${index}`);
    await session.append([ask("a", ...ids)]);
    const started = processorMs();
    const state = await session.turnState();
    // To look through all calls for each of them would take minutes.
    expect(processorMs() - started).toBeLessThan(5_000);
    expect(state).toMatchObject({ state: "awaitingResults", entryId: "a" });
    expect("calls" in state ? state.calls.length : 0).toBe(ids.length);
  });

  it("is that of any entry, and an error for one that is not there", async () => {
    const session = await newSession();
    await session.append([say("hi", "u"), ask("a")]);
    expect(await session.turnState("u")).toEqual(awaitingReply("u"));
    expect(await session.turnState(null)).toEqual(idle);
    await expect(session.turnState("nowhere")).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
  });
});
