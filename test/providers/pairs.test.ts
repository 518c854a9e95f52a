import fc from "fast-check";
import {
  assistantMessage,
  type ContextMessage,
  contextFrom,
  type TargetRules,
  type ToolCall,
  toolResult,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";
import { LossList } from "../../src/providers/losses.js";
import { pairTurns } from "../../src/providers/pair-tool-calls.js";
import { selectMessages } from "../../src/providers/select-messages.js";

const maker = { provider: "p", model: "m" };
const opening = "[The conversation goes on from here.]";
const interrupted = "[This call was interrupted: there is no result.]";

const call = (id: string): ToolCall => ({ type: "toolCall", id, name: "t", arguments: {} });
const said = (...content: readonly (string | ToolCall)[]) => assistantMessage(maker, ...content);
const result = (id: string, text: string) => toolResult({ id, name: "t" }, text);

/** Turns in a few words: what was said, `call id`, and `id: what came back`. */
function paired(messages: readonly ContextMessage[], rules: TargetRules = {}) {
  const losses = new LossList();
  const { items } = contextFrom(messages);
  const { messages: drafts } = selectMessages(items, { model: maker, rules, losses });
  const turns = pairTurns(items, drafts, { rules, losses });
  return {
    turns: turns.map((turn) => {
      const results =
        turn.role === "user"
          ? turn.results.map(({ callId, parts }) => `${callId}: ${parts.map(textOf).join()}`)
          : [];
      return [turn.role, ...results, ...turn.parts.map(textOf)];
    }),
    losses: losses
      .inOrder()
      .map(({ code, entryId, block }) => `${code} ${entryId}${block === undefined ? "" : ` ${block}`}`),
    reasons: losses.inOrder().map(({ reason }) => reason),
    full: turns,
  };
}

const textOf = (part: { readonly type: string; readonly text?: string; readonly id?: string }) =>
  part.type === "call" ? `call ${part.id}` : (part.text ?? part.type);

describe("pairTurns", () => {
  test("parallel calls are answered together, in their order, however their results came", () => {
    const { turns, losses } = paired([
      userMessage("go"),
      said("ok", call("a"), call("b")),
      result("b", "B"),
      userMessage("wait"),
      result("a", "A"),
    ]);
    expect(turns).toEqual([
      ["user", "go"],
      ["assistant", "ok", "call a", "call b"],
      ["user", "a: A", "b: B", "wait"],
    ]);
    expect(losses).toEqual([]);
  });

  test("a call without a result gets one that says so, an error with the call's place", () => {
    const { turns, losses, full } = paired([
      userMessage("go"),
      said(call("a"), call("b")),
      result("b", "B"),
      said("on"),
    ]);
    expect(turns).toEqual([
      ["user", "go"],
      ["assistant", "call a", "call b"],
      ["user", `a: ${interrupted}`, "b: B"],
      ["assistant", "on"],
    ]);
    expect(losses).toEqual(["interrupted m1 0"]);
    expect(full[2]).toMatchObject({
      results: [{ isError: true, origin: { entryId: "m1", block: 0 } }, { isError: false }],
    });
  });

  test("a result that nothing called goes, and a second one, each with a loss", () => {
    const { turns, losses } = paired([
      result("a", "early"),
      userMessage("go"),
      said(call("a")),
      result("a", "A"),
      result("a", "again"),
      result("z", "Z"),
    ]);
    expect(turns).toEqual([
      ["user", "go"],
      ["assistant", "call a"],
      ["user", "a: A"],
    ]);
    expect(losses).toEqual(["orphanResult m0", "duplicateResult m4", "orphanResult m5"]);
  });

  test("an id that is used again is two calls, told apart", () => {
    const { turns, losses } = paired([
      userMessage("go"),
      said(call("a")),
      result("a", "first"),
      said(call("a")),
      result("a", "second"),
    ]);
    expect(turns.slice(1)).toEqual([
      ["assistant", "call a"],
      ["user", "a: first"],
      ["assistant", "call a_2"],
      ["user", "a_2: second"],
    ]);
    expect(losses).toEqual(["callId m3 0"]);
  });

  test.each([
    ["characters", ["c d"], "it has characters that the target does not take"],
    ["a lone surrogate", ["c\ud83d"], "it has characters that the target does not take"],
    ["nothing", [""], "it is empty"],
    ["length", ["c".repeat(21)], "it is longer than the target's 20 characters"],
    [
      "characters and length",
      [" ".repeat(21)],
      "it has characters that the target does not take; it is longer than the target's 20 characters",
    ],
    ["an earlier call", ["c", "c"], "an earlier call of the request has it"],
    [
      "characters and an earlier call",
      ["c d", "c d"],
      "it has characters that the target does not take; an earlier call of the request has it",
    ],
  ])("a rewritten id says why: %s", (_, storedIds, reason) => {
    const callId = { character: /\w/, maxLength: 20 };
    const calls = storedIds.flatMap((id) => [said(call(id)), result(id, "r")]);
    const { losses, reasons } = paired([userMessage("go"), ...calls], { callId });
    expect(losses.at(-1)).toMatch(/^callId/);
    expect(reasons.at(-1)).toBe(reason);
  });

  test("what the model said twice in a row is one turn, and what the user said", () => {
    expect(paired([userMessage("a"), userMessage("b"), said("c"), said(""), said("d")]).turns).toEqual([
      ["user", "a", "b"],
      ["assistant", "c", "d"],
    ]);
  });

  test("a history that begins with the model gets an opening, where the target wants one", () => {
    expect(paired([said("hi")]).turns).toEqual([
      ["user", opening],
      ["assistant", "hi"],
    ]);
    expect(paired([said("hi")], { userFirst: false }).turns).toEqual([["assistant", "hi"]]);
    expect(paired([]).turns).toEqual([]);
  });

  test("an id of which the target knows a part costs no loss", () => {
    const callId = { character: /\w/, maxLength: 64, of: (id: string) => id.split("|")[0] ?? "" };
    const { turns, losses } = paired([userMessage("go"), said(call("a|1")), result("a|1", "A")], { callId });
    expect([turns[1], losses]).toEqual([["assistant", "call a"], []]);
  });

  test("ids of others that are not sent cost no loss either", () => {
    const callId = { character: /\w/, maxLength: 64, ownOnly: true };
    const foreign = assistantMessage({ provider: "x", model: "x" }, call("a b"));
    expect(paired([userMessage("go"), foreign, said(call("c d"))], { callId }).losses).toEqual([
      "interrupted m1 0",
      "callId m2 0",
      "interrupted m2 0",
    ]);
  });

  test("ids that mean something to objects are ids", () => {
    const ids = ["__proto__", "constructor", "hasOwnProperty"];
    const { turns, losses } = paired([
      userMessage("go"),
      said(...ids.map(call)),
      ...ids.map((id) => result(id, id)),
    ]);
    expect(turns[2]).toEqual(["user", ...ids.map((id) => `${id}: ${id}`)]);
    expect(losses).toEqual([]);
  });

  test("a message of very many blocks is one like any other", () => {
    const content = Array.from({ length: 200_000 }, () => ({ type: "text", text: "x" }) as const);
    const messages = [
      { ...userMessage(""), content },
      { ...said(""), content },
    ];
    expect(paired(messages).turns.map(({ length }) => length)).toEqual([200_001, 200_001]);
  });
});

interface Step {
  readonly role: "user" | "blank" | "said" | "result";
  readonly ids: readonly string[];
}

/** The same as it is described: for each result all that came before is looked at anew. */
function naively(messages: readonly ContextMessage[]) {
  const answered = new Map<string, number>();
  const taken = new Set<number>();
  messages.forEach((message, at) => {
    if (message.role !== "toolResult") return;
    const callers = messages.flatMap((one, callAt) =>
      one.role === "assistant" && callAt < at
        ? one.content.flatMap((block, index) =>
            block.type === "toolCall" && block.id === message.toolCallId ? [{ callAt, index }] : [],
          )
        : [],
    );
    const open = callers.filter(({ callAt, index }) => !answered.has(`${callAt} ${index}`));
    const latest = Math.max(...open.map(({ callAt }) => callAt));
    const place = open.find(({ callAt }) => callAt === latest);
    if (place !== undefined) answered.set(`${place.callAt} ${place.index}`, at);
  });
  const turns: string[][] = [];
  const turn = (role: "user" | "assistant") => {
    if (turns.at(-1)?.[0] !== role) {
      if (role === "assistant" && turns.length === 0) turns.push(["user", opening]);
      turns.push([role]);
    }
    return turns.at(-1) as string[];
  };
  messages.forEach((message, at) => {
    if (message.role === "user" && message.content !== "") turn("user").push(message.content as string);
    if (message.role !== "assistant") return;
    const seen = new Set<string>();
    const calls = message.content.flatMap((block, index) => {
      if (block.type !== "toolCall" || seen.has(block.id)) return [];
      seen.add(block.id);
      return [{ id: block.id, index }];
    });
    if (message.content.length === 0) return;
    for (const block of message.content) if (block.type === "text") turn("assistant").push(block.text);
    for (const { id } of calls) turn("assistant").push(`call ${id}`);
    for (const { id, index } of calls) {
      const resultAt = answered.get(`${at} ${index}`);
      const given = resultAt === undefined ? undefined : messages[resultAt];
      if (resultAt !== undefined) taken.add(resultAt);
      const text = given?.role === "toolResult" ? given.content.map(textOf).join() : interrupted;
      turn("user").push(`${id}: ${text}`);
    }
  });
  const dropped = messages.flatMap(({ role }, at) =>
    role === "toolResult" && !taken.has(at) ? [`m${at}`] : [],
  );
  return { turns, dropped };
}

describe("pairTurns, of anything", () => {
  const id = fc.constantFrom("a", "b", "c");
  const step: fc.Arbitrary<Step> = fc.record({
    role: fc.constantFrom("user" as const, "blank", "said", "said", "result", "result"),
    ids: fc.array(id, { maxLength: 3 }),
  });
  const messages = fc.array(step, { maxLength: 12 }).map((steps) =>
    steps.flatMap((one, at): ContextMessage[] => {
      if (one.role === "user") return [userMessage(`u${at}`)];
      if (one.role === "blank") return [userMessage("")];
      if (one.role === "result") return one.ids.map((result_, index) => result(result_, `r${at}.${index}`));
      return [said(...(one.ids.length % 2 === 0 ? [`s${at}`] : []), ...one.ids.map(call))];
    }),
  );
  /** An id as it is stored: the numbers of later calls with it taken away. */
  const storedId = (words: string) => words.replace(/^(call )?([abc])(_\d+)+/, "$1$2");

  test("is what the description says, and names every result that it drops", () => {
    fc.assert(
      fc.property(messages, (all) => {
        const { turns, losses } = paired(all);
        const expected = naively(all);
        expect(turns.map((turn) => turn.map(storedId))).toEqual(expected.turns);
        const dropped = losses.filter((loss) => /^(?:orphan|duplicate)Result /.test(loss));
        expect(dropped.map((loss) => loss.split(" ")[1])).toEqual(expected.dropped);
      }),
      { numRuns: 600 },
    );
  });

  // @covers R30
  test("gives each call an id of its own, with its answer in the turn right after it", () => {
    fc.assert(
      fc.property(messages, (all) => {
        const { full } = paired(all);
        const ids = full.flatMap((turn) =>
          turn.role === "assistant"
            ? turn.parts.flatMap((part) => (part.type === "call" ? [part.id] : []))
            : [],
        );
        expect(new Set(ids).size).toBe(ids.length);
        full.forEach((turn, at) => {
          expect(turn.role).not.toBe(full[at - 1]?.role);
          const before = full[at - 1];
          const called =
            before?.role === "assistant"
              ? before.parts.flatMap((part) => (part.type === "call" ? [part.id] : []))
              : [];
          if (turn.role === "user") expect(turn.results.map(({ callId }) => callId)).toEqual(called);
        });
      }),
    );
  });
});
