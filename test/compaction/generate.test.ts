import { type ContextMessage, contextOf } from "sessile/content";
import type { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import type { SummaryPart } from "../../src/compaction/strategy.js";
import { type Generation, generationOf, summarizePart } from "../../src/compaction/summarize.js";
import { gave, scripted, shortPrompt, told, tooLong, usage, user } from "./scripted.js";

const down = new Error("the service is down");

function partOf(messages: readonly ContextMessage[], more: Partial<SummaryPart> = {}): SummaryPart {
  return { items: contextOf(messages).items, prompt: shortPrompt, ...more };
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
    const { delayMs } = generationOf(scripted("S"), 1);
    expect([1, 2, 3, 5, 6, 10].map((attempt) => delayMs(attempt, down))).toEqual([
      1000, 2000, 4000, 16_000, 30_000, 30_000,
    ]);
  });
});

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
