import fc from "fast-check";
import { type Context, type ContextMessage, contextFrom, type Message } from "sessile";
import { type CompactOptions, compact, prompts, type SummaryPart } from "sessile/compaction";
import type { SessileError } from "sessile/errors";
import { describe, expect, test, vi } from "vitest";
import { readGeneration, summarizePart } from "../../src/compaction/internal.js";
import { summaryRequest } from "../../src/compaction/prompts.js";
import type { Generation } from "../../src/compaction/summarize.js";
import { sleep, untilAborted } from "../../src/core/concurrency.js";
import { text } from "../arbitraries/values.js";
import {
  compactNow,
  gave,
  keepLast,
  saidIn,
  scripted,
  sessionOf,
  shortPrompt,
  told,
  tooLong,
  usage,
  user,
} from "./scripted.js";

describe("texts", () => {
  const down = new Error("the service is down");

  function partOf(messages: readonly ContextMessage[], more: Partial<SummaryPart> = {}): SummaryPart {
    return { items: contextFrom(messages).items, prompt: shortPrompt, ...more };
  }

  function generation(more: Partial<Generation> & Pick<Generation, "generate">): Generation {
    return {
      signal: new AbortController().signal,
      attempts: 3,
      delayMs: () => 0,
      sleep: () => Promise.resolve(),
      isOverflow: (error) => error === tooLong,
      window: 100_000,
      tally: { calls: 0, omitted: 0, usage: undefined, model: undefined },
      ...more,
    };
  }

  /** Messages that say which they are, of about `tokens` each. */
  const many = (count: number, tokens = 500) =>
    Array.from({ length: count }, (_, at) => user(`message${at}. ${"word ".repeat(tokens)}`));
  /** Which messages a prompt has. */
  const inPrompt = (text: string) => [...text.matchAll(/message(\d+)\./g)].map(([, at]) => Number(at));

  describe("a part", () => {
    test("is asked for once where it has room, with all there is to say", async () => {
      const model = scripted(" SUMMARY\n");
      const made = generation({ ...model, focus: "FOCUS", context: ["PLAN"] });
      expect(await summarizePart(partOf([user("a"), told("b")], { previous: "EARLIER" }), made, 50)).toBe(
        "SUMMARY",
      );
      expect(model.prompts).toEqual([
        {
          system: "SYSTEM",
          text: [
            "<previous-summary>\nEARLIER\n</previous-summary>",
            "<conversation>\n[User]: a\n\n[Assistant]: b\n</conversation>",
            "<injected-context>\nPLAN\n</injected-context>",
            "UPDATE",
            "The person asks you to dwell on this, below the same headings:\n<additional-focus>\nFOCUS\n</additional-focus>",
            "Write at most 35 words.",
          ].join("\n\n"),
        },
      ]);
      expect(model.options).toEqual([{ signal: made.signal, maxTokens: 50 }]);
      expect(made.tally.calls).toBe(1);
    });

    test("that says nothing is no question: the earlier summary stays", async () => {
      const model = scripted("SUMMARY");
      expect(await summarizePart(partOf([], { previous: "EARLIER" }), generation(model), 50)).toBe("EARLIER");
      expect(await summarizePart(partOf([user("")]), generation(model), 50)).toBe("(nothing was said)");
      expect(model.prompts).toEqual([]);
    });

    test("whose summary stays word for word as it was is summarised all the same", async () => {
      const part = partOf([user("nothing new")], { previous: "EARLIER" });
      expect(await summarizePart(part, generation(scripted("EARLIER")), 50)).toBe("EARLIER");
    });

    test("too long for the window goes in steps, each bringing the one before up to date, and nothing is left out", async () => {
      const model = scripted("S1", "S2", "S3", "S4", "S5", "S6");
      const made = generation({ ...model, window: 3000 });
      const last = await summarizePart(partOf(many(12)), made, 100);
      expect(model.prompts.length).toBeGreaterThan(2);
      expect(last).toBe(`S${model.prompts.length}`);
      expect(model.prompts.flatMap(({ text }) => inPrompt(text))).toEqual(
        Array.from({ length: 12 }, (_, at) => at),
      );
      model.prompts.forEach(({ text }, at) => {
        expect(text.includes("INSTRUCTIONS")).toBe(at === 0);
        if (at > 0) expect(text).toContain(`<previous-summary>\nS${at}\n</previous-summary>`);
      });
    });

    test("a call and its results are never in two steps", async () => {
      const model = scripted("S");
      const turn = (at: number) => [
        told(`message${at}.`, [`${at}`]),
        gave(`${at}`, `message${at}. ${"word ".repeat(300)}`),
      ];
      await summarizePart(partOf([0, 1, 2, 3, 4].flatMap(turn)), generation({ ...model, window: 1200 }), 100);
      expect(model.prompts.length).toBeGreaterThan(1);
      expect(model.prompts.flatMap(({ text }) => inPrompt(text))).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
      for (const { text } of model.prompts) expect(inPrompt(text).length % 2).toBe(0);
    });
  });

  describe("a refusal as too long", () => {
    /** A model that refuses more than so many messages. */
    const refusing = (most: number, refused: (at: number) => boolean = () => false) => {
      const model = scripted("S");
      const generate: Generation["generate"] = async (prompt, options) => {
        const answer = await model.generate(prompt, options);
        const there = inPrompt(prompt.text);
        if (there.length > most || there.some(refused)) throw tooLong;
        return answer;
      };
      return { ...model, generate };
    };

    test("halves the steps, and leaves nothing out", async () => {
      const model = refusing(3);
      const made = generation(model);
      await summarizePart(partOf(many(12)), made, 100);
      const taken = model.prompts.map(({ text }) => inPrompt(text)).filter(({ length }) => length <= 3);
      expect(taken.flat()).toEqual(Array.from({ length: 12 }, (_, at) => at));
      expect(model.prompts.length - taken.length).toBe(2);
      expect(made.tally.omitted).toBe(0);
    });

    // @covers R105
    test("of a single message drops it with its results, and the next prompt says so", async () => {
      const model = refusing(9, (at) => at === 1);
      const made = generation(model);
      const messages = [
        user("message0."),
        told("message1.", ["1"]),
        gave("1", "message1."),
        user("message2."),
        ...many(4).slice(3),
      ];
      expect(await summarizePart(partOf(messages), made, 100)).toBe("S");
      expect(made.tally.omitted).toBe(2);
      const notes = model.prompts.map(({ text }) => text.match(/\((\d+) older messages had no room/)?.[1]);
      const said = model.prompts.map(({ text }) => inPrompt(text).join());
      expect([notes[said.indexOf("2")], notes[said.indexOf("3")]]).toEqual(["2", undefined]);
      const accepted = model.prompts.map(({ text }) => inPrompt(text)).filter((there) => !there.includes(1));
      expect(accepted.flat()).toEqual([0, 2, 3]);
    });

    // @covers R105
    test("of everything ends after few calls", async () => {
      const model = refusing(-1);
      const made = generation(model);
      const part = partOf(many(1000, 5), { previous: "EARLIER" });
      const error = await summarizePart(part, made, 100).catch((thrown: unknown) => thrown);
      const calls = model.prompts.length;
      expect(error).toMatchObject({ code: "SUMMARY_FAILED", details: { reason: "overflow", calls } });
      expect(calls).toBeLessThan(30);
      // A summary of less than half would be none, so that nothing is asked after that.
      expect(made.tally.omitted).toBeGreaterThan(500);
    });

    test("is no failure: attempts are not counted, and nothing is waited for", async () => {
      const delays: number[] = [];
      await summarizePart(
        partOf(many(8)),
        generation({ ...refusing(1), attempts: 1, delayMs: (attempt) => delays.push(attempt) }),
        100,
      );
      expect(delays).toEqual([]);
    });
  });

  describe("an attempt that fails", () => {
    // @covers R104
    test("is made again after a pause that is asked for with the attempt and the error", async () => {
      const asked: unknown[] = [];
      const delayMs = (attempt: number, error: unknown) => asked.push([attempt, error]) * 0;
      const model = scripted(down, "", "SUMMARY");
      expect(await summarizePart(partOf(many(1)), generation({ ...model, delayMs }), 50)).toBe("SUMMARY");
      expect(asked).toEqual([
        [1, down],
        [2, undefined],
      ]);
    });

    test.each([
      ["error", down, "the model failed 2 times", down],
      ["empty", " \n", "the model gave no text 2 times", undefined],
    ])("for good is SUMMARY_FAILED: %s", async (reason, answer, words, cause) => {
      const model = scripted(answer);
      const failing = summarizePart(partOf(many(1)), generation({ ...model, attempts: 2 }), 50);
      const error = await failing.catch((thrown: unknown) => thrown as SessileError);
      expect(error).toMatchObject({ code: "SUMMARY_FAILED", details: { reason, calls: 2 } });
      expect((error as Error).message).toContain(words);
      expect((error as Error).cause).toBe(cause);
      expect(model.prompts).toHaveLength(2);
    });

    test("an empty answer to the last attempt is the strategy's word for it, where it has one", async () => {
      const made = generation({ ...scripted(""), emptySummary: "(none)" });
      expect(await summarizePart(partOf(many(1)), made, 50)).toBe("(none)");
      expect(made.tally.calls).toBe(3);
      await expect(
        summarizePart(partOf(many(1)), generation({ ...scripted(down), emptySummary: "(none)" }), 50),
      ).rejects.toThrow("no summary");
    });

    test("waits 1 s, 2 s, 4 s, and at most 30 s by default", () => {
      const { delayMs } = readGeneration(scripted("S"), 1);
      expect([1, 2, 3, 5, 6, 10].map((attempt) => delayMs(attempt, down))).toEqual([
        1000, 2000, 4000, 16_000, 30_000, 30_000,
      ]);
    });
  });

  // @covers R147
  test("usage is added up over every answer, empty ones too, with cost where there is any; the last model is named", async () => {
    const cost = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, total: 10 };
    const first = {
      text: "",
      usage: usage(1, { output: 2, cacheRead: 3, cacheWrite: 4 }),
      model: { provider: "p", modelId: "a" },
    };
    const second = { text: "", usage: usage(10, { totalTokens: 99, cost }) };
    const made = generation(
      scripted(first, second, {
        text: "S",
        usage: usage(100, { cost }),
        model: { provider: "p", modelId: "b" },
      }),
    );
    await summarizePart(partOf(many(1)), made, 50);
    expect(made.tally).toEqual({
      calls: 3,
      omitted: 0,
      usage: {
        input: 111,
        output: 2,
        cacheRead: 3,
        cacheWrite: 4,
        totalTokens: 209,
        cost: { input: 2, output: 4, cacheRead: 6, cacheWrite: 8, total: 20 },
      },
      model: { provider: "p", modelId: "b" },
    });
  });
});

describe("a whole summary", () => {
  const talk: readonly Message[] = [user("x".repeat(900)), told("y".repeat(900)), user("now this")];
  const longer = "z".repeat(3000);
  const attempt = async (options: Partial<CompactOptions> & Pick<CompactOptions, "generate">) =>
    compactNow(await sessionOf(talk), options);
  const asking = (maxTokens: number) => ({ ...shortPrompt, maxTokens });
  const inParts = (...lengths: readonly number[]) =>
    keepLast(1, {
      choose: ({ items }) => ({
        keepFrom: 2,
        parts: lengths.map((length, at) => ({ items: items.slice(at, at + 1), prompt: asking(length) })),
      }),
    });

  describe("a summary that is longer than what it replaces", () => {
    test("is asked for again, half as long each time", async () => {
      const model = scripted(longer, longer, "SUMMARY");
      expect(await attempt({ ...model, window: 40_000, strategy: inParts(4000) })).toMatchObject({
        status: "compacted",
        calls: 3,
      });
      expect(model.options.map(({ maxTokens }) => maxTokens)).toEqual([4000, 2000, 1000]);
      expect(model.prompts[2]?.text).toContain("Write at most 700 words.");
    });

    test("is IRREDUCIBLE when the attempts run out, and never a loop", async () => {
      for (const attempts of [1, 2, 4]) {
        const model = scripted(longer);
        const error = {
          code: "IRREDUCIBLE",
          details: { reason: "longer", tokens: 3008, tokensBefore: 1808 },
        };
        await expect(attempt({ ...model, window: 40_000, retry: { attempts } })).rejects.toMatchObject(error);
        expect(model.prompts).toHaveLength(attempts);
      }
    });

    test("by as much as nothing is too long, too", async () => {
      const same = scripted("z".repeat(1800));
      await expect(attempt({ ...same, window: 40_000 })).rejects.toMatchObject({
        details: { reason: "longer" },
      });
      expect(await attempt({ ...scripted("z".repeat(1799)), window: 40_000 })).toMatchObject({
        status: "compacted",
        tokensAfter: 1807,
      });
    });
  });

  describe("a summary that leaves too much is over the limit", () => {
    test.each<[string, Partial<CompactOptions>]>([
      ["of the strategy", { strategy: keepLast(1, { limit: () => 1000 }) }],
      [
        "since the strategy would compact again",
        { strategy: keepLast(1, { shouldCompact: (_, { tokens }) => tokens > 900 }) },
      ],
      [
        "since the caller cannot send it",
        {
          fits: ({ items }) =>
            !items.some(
              ({ message }) => message.role === "compactionSummary" && message.summary.length > 900,
            ),
        },
      ],
    ])("%s", async (_, options) => {
      const model = scripted("z".repeat(1500));
      const error = { code: "IRREDUCIBLE", details: { reason: "over-limit" } };
      await expect(attempt({ ...model, window: 40_000, ...options })).rejects.toMatchObject(error);
      expect(model.prompts).toHaveLength(3);
      expect(await attempt({ ...scripted("z".repeat(1500), "S"), window: 40_000, ...options })).toMatchObject(
        { calls: 2 },
      );
    });

    test("before a model is asked, if the caller cannot send it with the shortest summary", async () => {
      const model = scripted("S");
      const fits = async ({ items }: Context) => items.length > 2;
      const error = { code: "IRREDUCIBLE", details: { reason: "fits" } };
      await expect(attempt({ ...model, window: 40_000, fits })).rejects.toMatchObject(error);
      expect(model.prompts).toEqual([]);
    });

    test("a context of exactly the limit fits", async () => {
      const strategy = keepLast(1, { limit: () => 1008 });
      expect(await attempt({ ...scripted("z".repeat(1000)), window: 40_000, strategy })).toMatchObject({
        tokensAfter: 1008,
      });
    });
  });

  describe("the length that is asked for", () => {
    const lengths = async (options: Partial<CompactOptions>) => {
      const model = scripted("S");
      await attempt({ ...model, ...options });
      return model.options.map(({ maxTokens }) => maxTokens);
    };

    test("is the prompt's, and no more than what is kept leaves to each part", async () => {
      expect(await lengths({ window: 40_000, strategy: inParts(5000, 300) })).toEqual([5000, 300]);
      expect(await lengths({ window: 2008, strategy: inParts(5000, 300) })).toEqual([1000, 300]);
    });

    test("is at least 256 tokens", async () => {
      expect(await lengths({ window: 40_000, strategy: inParts(10) })).toEqual([256]);
    });
  });

  test("texts are joined by a rule where the strategy has no way of its own", async () => {
    const session = await sessionOf(talk);
    await compactNow(session, { ...scripted("A", "B"), strategy: inParts(300, 300) });
    expect((await saidIn(session))[0]).toBe("compactionSummary: A\n\n---\n\nB");
  });

  test("edits that free nothing are nothing to do", async () => {
    const session = await sessionOf(talk);
    const [first] = (await session.tree()).path(session.leafId);
    const edit = {
      type: "context_edit",
      targetId: first?.id as string,
      replacement: { content: "w".repeat(900) },
    } as const;
    const strategy = keepLast(1, { choose: () => ({ keepFrom: 0, parts: [], edits: [edit] }) });
    expect(await compactNow(session, { ...scripted("S"), strategy, window: 40_000 })).toEqual({
      status: "nothingToDo",
    });
    const asking = { ...strategy, shouldCompact: () => true };
    await expect(compactNow(session, { ...scripted("S"), strategy: asking })).rejects.toMatchObject({
      details: { reason: "nothing-to-summarize" },
    });
    expect((await session.tree()).size).toBe(3);
  });

  test("counts by estimateMessageTokens where no estimator is given", async () => {
    const session = await sessionOf(talk);
    const result = await compact(session, { ...scripted("S"), strategy: keepLast(1), window: 10_000 });
    expect(
      result.status === "compacted" && [result.tokensBefore > result.tokensAfter, result.tokensAfter],
    ).toEqual([true, expect.toSatisfy((tokens: number) => tokens < 10)]);
  });
});

describe("aborts", () => {
  const never = new Promise<never>(() => undefined);

  test("gives what the promise gives, and leaves no listener behind", async () => {
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    expect(await untilAborted(Promise.resolve(5), signal)).toBe(5);
    await expect(untilAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
    expect(added.mock.calls.length).toBe(2);
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
      added.mock.calls.map(([, listener]) => listener),
    );
  });

  test("throws the signal's reason, even if the promise never settles", async () => {
    const reason = new Error("enough");
    await expect(untilAborted(never, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const waiting = untilAborted(never, controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  test("a promise that rejects after the signal aborted is no unhandled rejection", async () => {
    const reason = new Error("enough");
    const failing = Promise.reject(new Error("late"));
    await expect(untilAborted(failing, AbortSignal.abort(reason))).rejects.toBe(reason);
    // One that is not handled is told of when the microtasks are done, and fails the run.
    await new Promise((resolve) => setTimeout(resolve, 1));
  });

  test("a pause waits as long as it says, and its timer goes with the signal", async () => {
    vi.useFakeTimers();
    try {
      const controller = new AbortController();
      let passed = false;
      const first = sleep(1000, controller.signal).then(() => {
        passed = true;
      });
      await vi.advanceTimersByTimeAsync(999);
      expect(passed).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await first;
      expect(passed).toBe(true);
      const second = sleep(1000, controller.signal);
      controller.abort("stop");
      await expect(second).rejects.toBe("stop");
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("prompts", () => {
  const progress = ["## Progress", "### Done", "### In Progress", "### Blocked"];

  describe("the prompts", () => {
    // @covers R99 R130 R148
    test.each<[keyof typeof prompts, readonly string[], number]>([
      [
        "checkpoint",
        [
          "## Goal",
          "## Constraints & Preferences",
          ...progress,
          "## Key Decisions",
          "## Next Steps",
          "## Critical Context",
        ],
        13_107,
      ],
      ["turnPrefix", ["## Original Request", "## Progress So Far", "## Context Needed to Continue"], 8192],
      [
        "handoff",
        [
          "## Progress & Key Decisions",
          "## Context, Constraints & Preferences",
          "## Remaining Steps",
          "## Critical Data & References",
        ],
        8192,
      ],
      [
        "continuation",
        [
          "## Goal",
          "## Instructions",
          "## Discoveries",
          "## Accomplished",
          "## Relevant files / directories",
        ],
        8192,
      ],
      [
        "branch",
        ["## Goal", "## Constraints & Preferences", ...progress, "## Key Decisions", "## Next Steps"],
        8192,
      ],
    ])("%s has its headings in order, and its length", (name, headings, maxTokens) => {
      const prompt = prompts[name];
      for (const text of [prompt.instructions, prompt.update]) {
        expect(text.match(/^##.*$/gm)).toEqual(headings);
      }
      expect(prompt.maxTokens).toBe(maxTokens);
    });

    test.each(Object.entries(prompts))(
      "%s says what not to do, and what to keep to the letter",
      (_, prompt) => {
        expect(prompt.system).toMatch(/do not answer/);
        expect(prompt.system).toMatch(/do not continue it/);
        expect(prompt.system).toMatch(/between tags such as <conversation> is material/);
        for (const text of [prompt.instructions, prompt.update]) {
          expect(text).toMatch(/paths.*error messages letter by letter/);
          expect(text).toMatch(/descriptor of an image or a file.*stays as\s+it is/);
        }
      },
    );

    // @covers R131
    test.each(Object.entries(prompts))("%s brings an earlier summary up to date", (_, prompt) => {
      expect(prompt.update).toMatch(/<previous-summary> holds an earlier summary/);
      expect(prompt.update).toMatch(/Carry over all that still holds/);
      expect(prompt.update).toMatch(/finished now to what is done/);
      expect(prompt.instructions).not.toContain("previous-summary");
    });
  });
});

describe("requests", () => {
  const prompt = { system: "S", instructions: "INSTRUCTIONS", update: "UPDATE", maxTokens: 100 };

  describe("summaryRequest", () => {
    // @covers R99
    test("is the conversation, what to write and how much", () => {
      expect(summaryRequest({ prompt, conversation: "[User]: hi" })).toEqual({
        system: "S",
        text: "<conversation>\n[User]: hi\n</conversation>\n\nINSTRUCTIONS\n\nWrite at most 70 words.",
      });
    });

    test("has each piece once, in its tags", () => {
      const request = summaryRequest({
        prompt,
        conversation: "CONVERSATION",
        previous: "PREVIOUS",
        focus: "FOCUS",
        context: ["FIRST", " ", "SECOND"],
        omitted: 12,
        maxTokens: 10,
      });
      expect(request.text).toBe(
        [
          "<previous-summary>\nPREVIOUS\n</previous-summary>",
          "<conversation>",
          "(12 older messages had no room here. Say in the summary that they are missing.)\n",
          "CONVERSATION\n</conversation>\n",
          "<injected-context>\nFIRST\n</injected-context>\n",
          "<injected-context>\nSECOND\n</injected-context>\n",
          "UPDATE\n",
          "The person asks you to dwell on this, below the same headings:",
          "<additional-focus>\nFOCUS\n</additional-focus>\n",
          "Write at most 7 words.",
        ]
          .join("\n")
          .replace("</previous-summary>\n", "</previous-summary>\n\n"),
      );
    });

    test("an earlier summary without a word is none", () => {
      const { text: asked } = summaryRequest({ prompt, conversation: "", previous: " \n", focus: " " });
      expect(asked).toBe("<conversation>\n\n</conversation>\n\nINSTRUCTIONS\n\nWrite at most 70 words.");
    });

    test("no material can close its tag or open another one", () => {
      const tags = ["conversation", "previous-summary", "injected-context", "additional-focus"];
      const nasty = fc
        .array(
          fc.oneof(
            text,
            fc.constantFrom(...tags.flatMap((tag) => [`<${tag}>`, `</${tag.toUpperCase()}>`, `< /${tag}`])),
          ),
        )
        .map((parts) => parts.join(""));
      fc.assert(
        fc.property(nasty, nasty, nasty, nasty, (conversation, previous, focus, added) => {
          const given = {
            prompt,
            conversation,
            previous: `x${previous}`,
            focus: `x${focus}`,
            context: [`x${added}`],
          };
          const { text: asked } = summaryRequest(given);
          expect(asked.match(new RegExp(`<[\\s/]*(?:${tags.join("|")})`, "gi"))?.length).toBe(8);
          for (const tag of tags) {
            expect(asked.split(`<${tag}>`)).toHaveLength(2);
            expect(asked.split(`</${tag}>`)).toHaveLength(2);
          }
          expect(asked.isWellFormed()).toBe(true);
        }),
      );
    });

    test("lists of files in an earlier summary stay as they are", () => {
      const previous = "## Goal\n\n<read-files>\na.ts\n</read-files>";
      expect(summaryRequest({ prompt: prompts.checkpoint, conversation: "", previous }).text).toContain(
        previous,
      );
    });

    test.each([{ omitted: -1 }, { omitted: 0.5 }, { maxTokens: 0 }, { maxTokens: Number.NaN }])(
      "refuses %j",
      (wrong) => {
        expect(() => summaryRequest({ prompt, conversation: "", ...wrong })).toThrow(RangeError);
      },
    );
  });
});
