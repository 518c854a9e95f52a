import fc from "fast-check";
import { type ContextMessage, contextFrom, type StoredResource } from "sessile";
import {
  contextGauge,
  contextTokens,
  isContextOverflow,
  isOverflow,
  shouldCompact,
} from "sessile/compaction";
import { estimateMessageTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { overflowWords } from "../../src/compaction/triggers.js";
import { message } from "../arbitraries/messages.js";
import { text } from "../arbitraries/values.js";
import { gave, lengthOf, sessionOf, told, usage, user } from "./scripted.js";

const count = fc.oneof(fc.nat({ max: 2_000_000 }), fc.double({ min: 0, max: 2_000_000, noNaN: true }));
const notCounts = [-1, Number.NaN, Number.POSITIVE_INFINITY, "5" as unknown as number];

describe("shouldCompact", () => {
  // @covers R126
  test.each([
    [83_616, 100_000, {}, false],
    [83_617, 100_000, {}, true],
    [83_616.5, 100_000, {}, true],
    [200_000, 100_000, { enabled: false }, false],
    [90_000, 100_000, { reserveTokens: 10_000 }, false],
    [90_001, 100_000, { reserveTokens: 10_000 }, true],
    [0, 1000, {}, true],
  ])("%d of %d with %j: %s", (tokens, window, settings, expected) => {
    expect(shouldCompact(tokens, window, settings)).toBe(expected);
  });

  test("once it says so, it says so for more tokens, a smaller window and a larger reserve", () => {
    fc.assert(
      fc.property(count, count, count, count, (tokens, window, reserveTokens, more) => {
        fc.pre(shouldCompact(tokens, window, { reserveTokens }));
        expect(shouldCompact(tokens + more, window, { reserveTokens })).toBe(true);
        expect(shouldCompact(tokens, Math.max(0, window - more), { reserveTokens })).toBe(true);
        expect(shouldCompact(tokens, window, { reserveTokens: reserveTokens + more })).toBe(true);
      }),
    );
  });

  test.each(notCounts)("refuses %s as a count", (wrong) => {
    expect(() => shouldCompact(wrong, 1000)).toThrow(/^tokens: /);
    expect(() => shouldCompact(0, wrong)).toThrow(/^window: /);
    expect(() => shouldCompact(0, 1000, { reserveTokens: wrong })).toThrow(RangeError);
  });

  test("leaves 16,384 tokens by default", () => {
    expect([shouldCompact(83_616, 100_000), shouldCompact(83_617, 100_000)]).toEqual([false, true]);
  });
});

describe("isOverflow", () => {
  // @covers R150
  test.each([
    ["window without the answer", 168_000, { context: 200_000, output: 32_000 }, {}, false],
    ["window without the answer", 168_001, { context: 200_000, output: 32_000 }, {}, true],
    [
      "a reserve is of an input limit alone",
      168_000,
      { context: 200_000, output: 32_000 },
      { reserved: 90_000 },
      false,
    ],
    ["input limit without 20,000", 252_000, { context: 400_000, input: 272_000, output: 128_000 }, {}, false],
    ["input limit without 20,000", 252_001, { context: 400_000, input: 272_000, output: 128_000 }, {}, true],
    [
      "input limit without a small answer",
      264_000,
      { context: 400_000, input: 272_000, output: 8000 },
      {},
      false,
    ],
    [
      "input limit without a small answer",
      264_001,
      { context: 400_000, input: 272_000, output: 8000 },
      {},
      true,
    ],
    [
      "input limit without what is reserved",
      271_000,
      { context: 400_000, input: 272_000 },
      { reserved: 1000 },
      false,
    ],
    [
      "input limit without what is reserved",
      271_001,
      { context: 400_000, input: 272_000 },
      { reserved: 1000 },
      true,
    ],
    ["nothing reserved", 272_000, { context: 400_000, input: 272_000 }, { reserved: 0 }, false],
    ["an answer of 32,000 where none is said", 168_000, { context: 200_000 }, {}, false],
    ["an answer of 32,000 where none is said", 168_001, { context: 200_000, output: 0 }, {}, true],
    ["off", 1_000_000, { context: 200_000 }, { auto: false }, false],
    ["no window", 1_000_000, { context: 0, input: 1 }, {}, false],
  ])("%s: %d of %j with %j is %s", (_, tokens, model, settings, expected) => {
    expect(isOverflow(tokens, model, settings)).toBe(expected);
  });

  test.each(notCounts)("refuses %s as a count", (wrong) => {
    expect(() => isOverflow(wrong, { context: 1 })).toThrow(/^tokens: /);
    expect(() => isOverflow(0, { context: wrong })).toThrow(/^context: /);
    expect(() => isOverflow(0, { context: 1, input: wrong })).toThrow(/^input: /);
    expect(() => isOverflow(0, { context: 1, output: wrong })).toThrow(/^output: /);
    expect(() => isOverflow(0, { context: 1 }, { reserved: wrong, auto: false })).toThrow(/^reserved: /);
  });
});

describe("contextGauge", () => {
  test.each([
    [0, "ok"],
    [139_999, "ok"],
    [140_000, "advisory"],
    [159_999, "advisory"],
    [160_000, "warning"],
    [179_999, "warning"],
    [180_000, "critical"],
    [400_000, "critical"],
  ])("%d of 200,000 is %s", (tokens, level) => {
    expect(contextGauge(tokens, 200_000)).toEqual({
      tokens,
      window: 200_000,
      fraction: tokens / 200_000,
      level,
    });
  });

  test("its level is the highest threshold that the fraction reaches", () => {
    const fraction = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
    fc.assert(
      fc.property(fc.nat({ max: 3000 }), fc.tuple(fraction, fraction, fraction), (tokens, limits) => {
        const [advisory, warning, critical] = limits.toSorted((a, b) => a - b) as [number, number, number];
        const { level } = contextGauge(tokens, 1000, { advisory, warning, critical });
        const reached = { ok: 0, advisory, warning, critical };
        const over = (["critical", "warning", "advisory", "ok"] as const).find(
          (name) => tokens >= Math.round(reached[name] * 1000),
        );
        expect(level).toBe(over);
      }),
    );
  });

  test("takes some thresholds and leaves the others", () => {
    const levels = [69, 70, 79, 80, 89, 90].map((tokens) => contextGauge(tokens, 100).level);
    expect(levels).toEqual(["ok", "advisory", "advisory", "warning", "warning", "critical"]);
    expect(contextGauge(50, 100, { advisory: 0.5 }).level).toBe("advisory");
    expect(contextGauge(80, 100, { advisory: 0.5 }).level).toBe("warning");
    // 0.55 * 100 is a little more than 55.
    expect(contextGauge(55, 100, { advisory: 0.55 }).level).toBe("advisory");
  });

  test.each([
    { advisory: 0.9, warning: 0.8 },
    { critical: 0.75 },
    { critical: 1.1 },
    { advisory: -0.1 },
    { warning: Number.NaN },
    { advisory: undefined as unknown as number },
  ])("refuses %j", (thresholds) => {
    expect(() => contextGauge(1, 100, thresholds)).toThrow(RangeError);
  });

  test.each([
    [-1, 100],
    [1, 0],
    [Number.NaN, 1],
    [1, 1.5],
  ])("refuses %d of %d", (tokens, window) => {
    expect(() => contextGauge(tokens, window)).toThrow(RangeError);
  });
});

describe("context tokens", () => {
  const countOf = (...messages: readonly ContextMessage[]) =>
    contextTokens(contextFrom(messages), { estimate: lengthOf });

  test("is the latest usage, and an estimate of what came since", () => {
    expect(
      countOf(
        user("long ago"),
        told("x", ["c"], usage(1000)),
        told("y", ["d"], usage(2000)),
        gave("d", "four"),
        user("five!"),
      ),
    ).toBe(2009);
    expect(countOf(user("abc"), told("defg"))).toBe(7);
    expect(countOf()).toBe(0);
  });

  test.each([
    ["aborted", { ...told("1234", [], usage(500)), stopReason: "aborted" as const }],
    ["error", { ...told("1234", [], usage(500)), stopReason: "error" as const }],
    ["zero", told("1234", [], usage(0))],
    ["zero in all", told("1234", [], usage(0, { totalTokens: 0 }))],
    ["none", told("1234")],
  ])("passes over a usage that is %s, and estimates its message", (_, passedOver) => {
    expect(countOf(user("ab"), told("", [], usage(70)), passedOver, user("c"))).toBe(75);
  });

  test("a usage is its total, or else the sum of its four parts", () => {
    const parts = { output: 20, cacheRead: 300, cacheWrite: 4000 };
    expect(countOf(told("", [], usage(1, parts)))).toBe(4321);
    expect(countOf(told("", [], usage(1, { ...parts, totalTokens: 9 })))).toBe(9);
    expect(countOf(told("", [], usage(1, { ...parts, totalTokens: 0 })))).toBe(4321);
  });

  test("is whole, and estimates as estimateMessageTokens by default", () => {
    expect(contextTokens(contextFrom([user("a"), user("b")]), { estimate: () => 0.3 })).toBe(1);
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), (messages) => {
        // The model of the last reply counts images its own way, so it is one that no table names.
        const bare = messages.map((of) =>
          of.role === "assistant" ? { ...of, usage: undefined, model: "none" } : of,
        );
        const context = contextFrom(bare as typeof messages);
        const sum = bare.reduce((total, of) => total + estimateMessageTokens(of as ContextMessage), 0);
        expect(contextTokens(context)).toBe(Math.ceil(sum));
      }),
    );
  });

  test("have the attachments of the current turn in full, by the model of the last reply, others as described", () => {
    const pages = (count: number) => ({
      ...{ resourceId: `r${count}`, kind: "file", source: "upload", mediaType: "application/pdf" },
      ...{ size: 9_000, blob: `sha256:${"0".repeat(64)}`, contentSha256: "0".repeat(64), pages: count },
    });
    const pdf = (count: number): ContextMessage => ({
      ...user(""),
      content: [{ type: "text", text: "report.pdf", resource: pages(count) as StoredResource }],
    });
    const tokensOf = (...messages: readonly ContextMessage[]) => contextTokens(contextFrom(messages));
    const described = estimateMessageTokens(pdf(40));
    const claude = { ...told("a", [], usage(50_000)), model: "claude-opus-4-8" };
    expect(tokensOf(user("q"), claude, pdf(40))).toBe(50_000 + described + 40 * (3_000 + 1_568));
    const gemini = { ...claude, model: "gemini-3-pro" };
    expect(tokensOf(user("q"), gemini, pdf(40))).toBe(50_000 + described + 40 * 258);
    const silent = { ...told("a"), model: "gemini-3-pro" };
    const rest = estimateMessageTokens(silent) + estimateMessageTokens(user("next"));
    expect(tokensOf(pdf(40), silent, user("next"))).toBe(described + rest);
    const estimate = (one: ContextMessage) => estimateMessageTokens(one);
    expect(contextTokens(contextFrom([user("q"), claude, pdf(40)]), { estimate })).toBe(50_000 + described);
  });

  test("no usage before the latest compaction or context edit counts, though all be of one millisecond", async () => {
    const session = await sessionOf([user("abc"), told("de", [], usage(900))]);
    const tokens = async () => contextTokens(await session.context(), { estimate: lengthOf });
    const [first] = (await session.tree()).path(session.leafId);
    expect(await tokens()).toBe(900);
    await session.append([
      { type: "context_edit", targetId: first?.id ?? "", replacement: { content: "a" } },
      { type: "message", message: user("f") },
    ]);
    expect(await tokens()).toBe(4);
    await session.append([{ type: "message", message: told("gh", [], usage(800)) }]);
    expect(await tokens()).toBe(800);
    const kept = session.leafId as string;
    await session.append([{ type: "compaction", summary: "sum", firstKeptEntryId: kept, tokensBefore: 800 }]);
    expect(await tokens()).toBe(5);
    await session.append([
      { type: "message", message: told("", [], usage(40)) },
      { type: "message", message: user("12") },
    ]);
    expect(await tokens()).toBe(42);
  });
});

describe("overflow errors", () => {
  /** What providers said, from the sources of the table; each is told by one row at least, and each row by one of these. */
  const refusals = [
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    '{"error":{"type":"invalid_request_error","code":"context_length_exceeded","param":"input"}}',
    "prompt token count of 146270 exceeds the limit of 128000",
    "request (42947 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "Unhandled stop reason: model_context_window_exceeded",
    "litellm.ContextWindowExceededError: AnthropicError",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "prompt is too long: 429 tokens > 400 maximum",
    "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens`",
    '413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens",
    "Input length (265330) exceeds model's maximum context length (262144).",
    "However, the model's context length is only 1024 tokens, resulting in a maximum input length of 1014 tokens.",
    "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
    "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    "ValidationException: Input is too long for requested model.",
    "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    "400 Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
    "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).",
    "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
    "Trying to keep the first 111490 tokens when context the overflows.",
    "invalid params, context window exceeds limit (2013)",
    "400 <400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
    "tokens in request more than max tokens allowed",
    "Your request exceeded model token limit: 262144 (requested: 300000)",
    "Prompt contains 140000 tokens, too large for model with 131072 maximum context length",
    "The input (200000 tokens) is longer than the model's context length (131072 tokens).",
    "Input length 200000 exceeds the maximum allowed input length of 131072 tokens.",
    "prompt too long; exceeded max context length by 17 tokens",
  ];

  const others = [
    "429 prompt is too long",
    "Request failed with status code 429: prompt is too long",
    '{"error":{"code": 429,"message":"prompt is too long"}}',
    "Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 6294, please reduce your message size and try again.",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.",
    "ThrottlingException: Too many tokens, please wait before trying again.",
    "429 This request would exceed your account's rate limit",
    "The maximum tokens you requested exceed the model limit of 4096. Try again with a maximum tokens value lower than 4096.",
    "max_tokens: 10000 > 4096, which is the maximum allowed number of output tokens",
    "max_tokens must be at least 1, got -186.",
    "400 status code (no body)",
    "Overloaded",
    "You exceeded your current quota, please check your plan and billing details.",
    "",
  ];

  describe("isContextOverflow", () => {
    test.each(refusals)("knows: %s", (message) => {
      expect(isContextOverflow(new Error(message))).toBe(true);
      expect(isContextOverflow(message)).toBe(true);
    });

    test.each(others)("does not take for one: %s", (message) => {
      expect(isContextOverflow(new Error(message))).toBe(false);
      expect(isContextOverflow(message)).toBe(false);
    });

    test("has no row that no known refusal needs", () => {
      for (const { provider, words, source } of overflowWords) {
        expect(
          refusals.filter((message) => words.test(message)),
          provider,
        ).not.toEqual([]);
        expect(source).toMatch(/^https:\/\/\S+$/);
      }
    });

    const [refusal = ""] = refusals;
    const body = { type: "error", error: { type: "invalid_request_error", message: refusal } };
    test.each<[string, unknown]>([
      ["Anthropic's and OpenAI's clients", Object.assign(new Error("400"), { status: 400, error: body })],
      [
        "the AI SDK",
        Object.assign(new Error("Bad Request"), { statusCode: 400, responseBody: JSON.stringify(body) }),
      ],
      ["its attempts", { reason: "maxRetriesExceeded", errors: [{ statusCode: 429 }, { message: refusal }] }],
      ["axios", { message: "Request failed with status code 400", response: { status: 400, data: body } }],
      ["Google's list of one", [{ error: { code: 400, message: refusal, status: "INVALID_ARGUMENT" } }]],
      [
        "OpenRouter's upstream",
        { error: { message: "Provider returned error", metadata: { raw: JSON.stringify(body) } } },
      ],
      ["a cause", new Error("the model failed", { cause: new Error("fetch", { cause: body }) })],
      ["a stored message", { role: "assistant", stopReason: "error", errorMessage: refusal }],
      ["a status alone", { status: 413 }],
      ["a code alone", { error: { code: "context_length_exceeded" } }],
    ])("finds it where %s has it", (_, error) => {
      expect(isContextOverflow(error)).toBe(true);
    });

    test.each<[string, unknown]>([
      ["a status", { status: 429, error: body }],
      [
        "a code in the body",
        { status: 413, error: { message: "Request too large", code: "rate_limit_exceeded" } },
      ],
      ["a name", Object.assign(new Error(refusal), { name: "ThrottlingException" })],
      ["AWS's metadata", { message: refusal, $metadata: { httpStatusCode: 429 } }],
      ["every attempt", { errors: [{ statusCode: 429 }, { message: "429 Too Many Requests" }] }],
    ])("is none where %s tells of a rate limit", (_, error) => {
      expect(isContextOverflow(error)).toBe(false);
    });

    test("does not read what was asked", () => {
      expect(isContextOverflow({ message: "Bad Request", requestBodyValues: { prompt: refusal } })).toBe(
        false,
      );
      expect(isContextOverflow({ role: "assistant", content: [{ type: "text", text: refusal }] })).toBe(
        false,
      );
      expect(isContextOverflow({ message: "at most 413", param: 413, name: 413 })).toBe(false);
    });

    // @covers R105
    test("finds each refusal anywhere within the members it reads", () => {
      const place = fc.array(fc.constantFrom("error", "cause", "response", "data", "body", "errors"), {
        maxLength: 8,
      });
      fc.assert(
        fc.property(fc.constantFrom(...refusals), place, text, (message, path, other) => {
          const wrapped = path.reduce<unknown>(
            (inner, name) => (name === "errors" ? { errors: [inner] } : { [name]: inner, param: other }),
            { message },
          );
          expect(isContextOverflow(wrapped)).toBe(true);
        }),
      );
    });

    test("never throws", () => {
      fc.assert(
        fc.property(
          fc.anything({ withNullPrototype: true }),
          (value) => isContextOverflow(value) !== undefined,
        ),
      );
      const hostile = {
        get message(): string {
          throw new Error("no");
        },
        code: "context_length_exceeded",
      };
      expect(isContextOverflow(hostile)).toBe(true);
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      expect(isContextOverflow(proxy)).toBe(false);
      const cycle: Record<string, unknown> = { message: "x" };
      cycle.cause = cycle;
      cycle.errors = [cycle, cycle];
      expect(isContextOverflow(cycle)).toBe(false);
      let deep: unknown = { message: refusal };
      for (let i = 0; i < 100_000; i++) deep = { cause: deep };
      expect(isContextOverflow(deep)).toBe(false);
      expect(isContextOverflow("x".repeat(10_000_000))).toBe(false);
    });
  });
});
