import fc from "fast-check";
import {
  type AssistantMessage,
  assistantMessage,
  type Context,
  type ContextItem,
  type ContextMessage,
  contextFrom,
  type Message,
  memorySessionStore,
  toolPairs,
  toolResult,
  type UserMessage,
  userMessage,
} from "sessile";
import { type CompactionTrigger, type PruneOptions, planPrune, pruneThenSummarize } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { prunedOutput } from "../../src/compaction/strategies.js";
import {
  attachment,
  compactNow,
  gave,
  lengthOf,
  saidIn,
  scripted,
  sessionOf,
  told,
  user,
} from "./scripted.js";

const empty = contextFrom([]);

describe("when", () => {
  const asks = (tokens: number, window: number, options = {}) =>
    pruneThenSummarize(options).shouldCompact(empty, { tokens, window });

  test("a context exceeds the window without the answer, or the input limit without the reserve", () => {
    expect([asks(168_000, 200_000), asks(168_001, 200_000)]).toEqual([false, true]);
    const output = { output: 50_000 };
    expect([asks(150_000, 200_000, output), asks(150_001, 200_000, output)]).toEqual([false, true]);
    const input = { input: 180_000, output: 50_000 };
    expect([asks(160_000, 200_000, input), asks(160_001, 200_000, input)]).toEqual([false, true]);
    const reserved = { ...input, reserved: 10_000 };
    expect([asks(170_000, 200_000, reserved), asks(170_001, 200_000, reserved)]).toEqual([false, true]);
  });

  // @covers R150
  test("never where it is off, and half of a small window is left", () => {
    expect(asks(1_000_000, 200_000, { auto: false })).toBe(false);
    expect([asks(10_000, 20_000), asks(10_001, 20_000)]).toEqual([false, true]);
    expect(pruneThenSummarize().limit?.(200_000)).toBe(168_000);
    expect(pruneThenSummarize().limit?.(20_000)).toBe(10_000);
  });
});

const output = "x".repeat(1000);
const talk: readonly Message[] = [
  user("first"),
  told("", ["1", "2"]),
  gave("1", output),
  gave("2", output),
  user("second"),
  told("", ["3"]),
  gave("3", "short"),
  user("third"),
];
/** A window that the talk exceeds, and that it no longer does when its old output is cleared. */
const settings = { output: 500, skipTurns: 2, protectTokens: 0, minimumTokens: 100 };
const strategy = pruneThenSummarize(settings);
const run = (
  session: Awaited<ReturnType<typeof sessionOf>>,
  trigger: CompactionTrigger,
  window: number,
  model = scripted("SUMMARY"),
) => compactNow(session, { ...model, strategy, trigger, window });

describe("what", () => {
  test.each<CompactionTrigger>(["pre-turn", "mid-turn"])(
    "%s, old output is cleared and no model is asked where that is enough",
    async (trigger) => {
      const session = await sessionOf(talk);
      const model = scripted("SUMMARY");
      const result = await run(session, trigger, 1500, model);
      expect(result).toMatchObject({ status: "pruned", tokensBefore: 2021 });
      expect(model.prompts).toEqual([]);
      expect(result.status === "pruned" && result.entries.map(({ type }) => type)).toEqual([
        "context_edit",
        "context_edit",
      ]);
      expect((await saidIn(session)).filter((line) => line.includes(prunedOutput))).toHaveLength(2);
      const kept = (await session.tree()).path(session.leafId)[2]?.id as string;
      expect(JSON.stringify(await session.entry(kept))).toContain(output);
    },
  );

  test("the protected output is an option; by default at most a quarter of the limit, for at least an eighth", () => {
    const cleared = (options: PruneOptions) =>
      pruneThenSummarize({ output: 500, ...options }).choose(contextFrom(talk), {
        window: 8000,
        tokens: 0,
        trigger: "pre-turn",
        estimate: lengthOf,
      })?.edits?.length;
    // The limit is 7,500: 1,875 and 937.
    expect(cleared({})).toBe(1);
    expect(cleared({ protectTokens: undefined, minimumTokens: undefined })).toBe(1);
    expect([cleared({ protectTokens: 0 }), cleared({ protectTokens: 2000 })]).toEqual([2, 0]);
    expect([cleared({ minimumTokens: 999 }), cleared({ minimumTokens: 1000 })]).toEqual([1, 0]);
  });

  test("all is summarised where that is not enough, with the output cleared; the newest message of the user stays", async () => {
    const session = await sessionOf([...talk, told("y".repeat(2000)), user("fourth")]);
    const model = scripted("SUMMARY");
    expect(await run(session, "pre-turn", 1500, model)).toMatchObject({ status: "compacted", calls: 1 });
    expect(model.prompts[0]?.text).toContain(prunedOutput);
    expect(model.prompts[0]?.text).not.toContain("xxxx");
    expect(model.prompts[0]?.text).toContain("## Relevant files / directories");
    expect((await saidIn(session)).slice(1)).toEqual(["user: fourth"]);
  });

  // @covers R100
  test.each<CompactionTrigger>(["manual", "overflow"])(
    "%s, all is summarised though clearing were enough",
    async (trigger) => {
      const session = await sessionOf(talk);
      expect(await run(session, trigger, 1500)).toMatchObject({ status: "compacted" });
      expect((await saidIn(session)).slice(1)).toEqual(["user: third"]);
    },
  );

  test("nothing to clear: a summary", async () => {
    const session = await sessionOf([user("a"), told("y".repeat(2000)), user("b")]);
    expect(await run(session, "pre-turn", 1500)).toMatchObject({ status: "compacted" });
  });

  // @covers R145
  test("what stays out of a prune is passed on: protected tools", async () => {
    const careful = pruneThenSummarize({ ...settings, protectedTools: ["read"] });
    const made = careful.choose(contextFrom(talk), { window: 1500, tokens: 2021, trigger: "pre-turn" });
    expect(made?.edits).toEqual([]);
    expect(made?.parts).toHaveLength(1);
  });
});

describe("after an overflow", () => {
  const last: UserMessage = {
    role: "user",
    content: [
      { type: "text", text: "look at these" },
      { type: "image", data: "A".repeat(4000), mimeType: "image/png" },
      { type: "text", text: "[image a.png]", resource: attachment },
    ],
    timestamp: 1,
  };
  const shown = async (trigger: CompactionTrigger) => {
    const session = await sessionOf([user("a"), told("y".repeat(2000)), last]);
    await run(session, trigger, 1500);
    return (await session.context()).items.at(-1)?.message;
  };

  test("the last message of the user stands again as text alone", async () => {
    expect(await shown("overflow")).toEqual({
      ...last,
      content: [
        { type: "text", text: "look at these" },
        { type: "text", text: "[image] (left out: the request was too large)" },
        { type: "text", text: "[image] (left out: the request was too large)" },
      ],
    });
  });

  test("otherwise it stays as it was", async () => {
    expect(await shown("manual")).toEqual(last);
    const made = strategy.choose(
      contextFrom([user("a"), { ...last, content: [{ type: "text", text: "only text" }] }]),
      { window: 1500, tokens: 5, trigger: "overflow" },
    );
    expect(made?.edits).toEqual([]);
  });
});

describe("pruning", () => {
  const init = { provider: "p", model: "m" };
  const call = (id: string, name: string) => ({ type: "toolCall" as const, id, name, arguments: {} });
  const summary = (role: "compactionSummary" | "branchSummary"): ContextMessage =>
    role === "branchSummary"
      ? { role, summary: "", fromId: "root", timestamp: 0 }
      : { role, summary: "", tokensBefore: 0, timestamp: 0 };
  /** The text of a result is as long as it is to count. */
  const estimate = (message: ContextMessage): number =>
    message.role === "toolResult" && message.content[0]?.type === "text"
      ? message.content[0].text.length
      : 1e9;

  interface Step {
    readonly kind: "user" | "answer" | "summary" | "written summary" | "branch" | "orphan";
    readonly results: readonly {
      readonly tool: string;
      readonly tokens: number;
      readonly state: "done" | "error" | "none" | "cleared" | "says cleared";
    }[];
    readonly pinned: readonly boolean[];
  }

  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.oneof(
      { weight: 8, arbitrary: fc.constant("answer" as const) },
      { weight: 3, arbitrary: fc.constant("user" as const) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          "summary" as const,
          "written summary" as const,
          "branch" as const,
          "orphan" as const,
        ),
      },
    ),
    results: fc.array(
      fc.record({
        tool: fc.constantFrom("bash", "bash", "read", "skill"),
        tokens: fc.nat({ max: 12 }),
        state: fc.oneof(
          { weight: 12, arbitrary: fc.constant("done" as const) },
          {
            weight: 1,
            arbitrary: fc.constantFrom(
              "error" as const,
              "none" as const,
              "cleared" as const,
              "says cleared" as const,
            ),
          },
        ),
      }),
      { maxLength: 3 },
    ),
    pinned: fc.array(fc.boolean(), { maxLength: 1 }),
  });

  /** The context that steps make: what an answer calls, and each result behind it. */
  function contextOfSteps(steps: readonly Step[]): Context {
    const items: ContextItem[] = [];
    const pins: string[] = [];
    const push = (message: ContextMessage, edited = false): string => {
      const entryId = `e${items.length}`;
      items.push({ entryId, origin: "message", message, ...(edited ? { edited: true as const } : {}) });
      return entryId;
    };
    steps.forEach(({ kind, results, pinned }, at) => {
      if (kind === "user") push(userMessage("go on"));
      else if (kind === "summary") push(summary("compactionSummary"));
      else if (kind === "written summary") push({ ...assistantMessage(init), summary: true });
      else if (kind === "branch") push(summary("branchSummary"));
      else if (kind === "orphan") push(toolResult(call(`none${at}`, "bash"), "x".repeat(9)));
      else {
        const ids = [push(assistantMessage(init, ...results.map(({ tool }, n) => call(`${at}.${n}`, tool))))];
        results.forEach(({ tool, tokens, state }, n) => {
          if (state === "none") return;
          const isCleared = state === "cleared" || state === "says cleared";
          const result = toolResult(call(`${at}.${n}`, tool), isCleared ? prunedOutput : "x".repeat(tokens));
          ids.push(push({ ...result, isError: state === "error" }, state === "cleared"));
        });
        pins.push(...ids.filter((_, n) => pinned[0] === true && n === at % ids.length && at % 5 === 0));
      }
    });
    return { ...contextFrom([]), items, pins };
  }

  /** The rule said without a walk: which part of the list is looked at, which results of it count, which are beyond the budget. */
  function naivePrune(
    { items, pins }: Context,
    options: {
      readonly skipTurns: number;
      readonly protectTokens: number;
      readonly minimumTokens: number;
      readonly protectedTools: readonly string[];
    },
  ) {
    const messages = items.map(({ message }) => message);
    const users = messages.flatMap(({ role }, at) => (role === "user" ? [at] : [])).reverse();
    const last = options.skipTurns === 0 ? items.length - 1 : (users[options.skipTurns - 1] ?? -1);
    const { pairs } = toolPairs(messages);
    const counting = pairs.flatMap(({ call: { name }, callAt, result, resultAt }) => {
      if (result === undefined || resultAt === undefined || resultAt > last || result.isError) return [];
      if (options.protectedTools.includes(name)) return [];
      if ([callAt, resultAt].some((at) => pins.includes(items[at]?.entryId ?? ""))) return [];
      return [resultAt];
    });
    const isCleared = (at: number) =>
      items[at]?.edited === true && estimate(messages[at] as ContextMessage) === prunedOutput.length;
    const summaries = messages.flatMap((message, at) =>
      at <= last && (message.role === "compactionSummary" || (message as AssistantMessage).summary === true)
        ? [at]
        : [],
    );
    const stop = Math.max(-1, ...summaries, ...counting.filter(isCleared));
    const sum = (ats: readonly number[]) =>
      ats.reduce((tokens, at) => tokens + estimate(messages[at] as ContextMessage), 0);
    const reached = counting.filter((at) => at > stop).sort((a, b) => a - b);
    const old = reached.filter((at) => sum(reached.filter((other) => other >= at)) > options.protectTokens);
    return sum(old) > options.minimumTokens
      ? { entryIds: old.map((at) => items[at]?.entryId), tokens: sum(old) }
      : undefined;
  }

  describe("planPrune", () => {
    // @covers R144 R145
    test("is the rule, over any context", () => {
      const options = fc.record({
        skipTurns: fc.nat({ max: 3 }),
        protectTokens: fc.nat({ max: 30 }),
        minimumTokens: fc.nat({ max: 20 }),
        protectedTools: fc.constantFrom([], ["skill"], ["skill", "read"]),
      });
      let plans = 0;
      fc.assert(
        fc.property(fc.array(step, { maxLength: 25 }), options, (steps, given) => {
          const context = contextOfSteps(steps);
          const plan = planPrune(context, { ...given, estimate });
          expect(plan && { entryIds: plan.entryIds, tokens: plan.tokens }).toEqual(
            naivePrune(context, given),
          );
          if (plan !== undefined) plans++;
        }),
        { numRuns: 1000 },
      );
      expect(plans).toBeGreaterThan(100);
    });

    /** An old turn with results of these sizes, and two turns after it. */
    const old = (...sizes: readonly number[]) =>
      contextFrom([
        userMessage("a"),
        assistantMessage(init, ...sizes.map((_, at) => call(`${at}`, "bash"))),
        ...sizes.map((size, at) => toolResult(call(`${at}`, "bash"), "x".repeat(size))),
        userMessage("b"),
        userMessage("c"),
      ]);

    test.each([
      ["20,000 beyond are too few", [20_000, 40_000], undefined],
      ["20,001 beyond are enough", [20_001, 40_000], ["m2"]],
      ["what passes 40,000 goes itself", [20_001, 20_001], ["m2"]],
      ["what passes 40,000 goes itself", [20_000, 20_001], undefined],
      ["what passes 40,000 goes itself", [20_001, 20_000, 20_000], ["m2"]],
      ["what passes 40,000 goes itself", [1, 20_001, 20_000], ["m2", "m3"]],
      ["one result alone", [40_001], ["m2"]],
      ["one result alone", [40_000], undefined],
    ])("by default: %s, of %j", (_, sizes, entryIds) => {
      expect(planPrune(old(...sizes), { estimate })?.entryIds).toEqual(entryIds);
    });

    // @covers R144
    test("its defaults are opencode's", () => {
      const defaults = {
        skipTurns: 2,
        protectTokens: 40_000,
        minimumTokens: 20_000,
        protectedTools: ["skill"],
      };
      const large = (message: ContextMessage) => 4_000 * estimate(message);
      let plans = 0;
      fc.assert(
        fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
          const context = contextOfSteps(steps);
          const plan = planPrune(context, { estimate: large });
          expect(plan).toEqual(planPrune(context, { ...defaults, estimate: large }));
          if (plan !== undefined) plans++;
        }),
        { numRuns: 500 },
      );
      expect(plans).toBeGreaterThan(20);
    });

    // @covers R146
    test("its drafts clear the output in a session, once, and the entry keeps it", async () => {
      const session = await memorySessionStore().create({ cwd: "/" });
      const output = "word ".repeat(50_000);
      const messages = [
        userMessage("a"),
        assistantMessage(init, call("c", "bash")),
        toolResult(call("c", "bash"), output),
        userMessage("b"),
        userMessage("c"),
      ];
      const entries = await session.append(messages.map((message) => ({ type: "message", message })));
      const id = entries[2]?.id ?? "";
      const plan = planPrune(await session.context());
      expect(plan?.drafts).toEqual([
        {
          type: "context_edit",
          targetId: id,
          replacement: { content: [{ type: "text", text: "[Old tool result content cleared]" }] },
        },
      ]);
      await session.append(plan?.drafts ?? []);
      const context = await session.context();
      expect(context.items[2]?.message).toMatchObject({
        role: "toolResult",
        content: [{ text: prunedOutput }],
      });
      expect(planPrune(context, { protectTokens: 0, minimumTokens: 0 })).toBeUndefined();
      expect(await session.entry(id)).toMatchObject({ message: { content: [{ text: output }] } });
    });

    test.each(["skipTurns", "protectTokens", "minimumTokens"])("refuses a %s that is no count", (name) => {
      expect(() => planPrune(contextFrom([]), { [name]: -1 })).toThrow(new RegExp(`^${name}: `));
    });
  });
});
