import fc from "fast-check";
import { isContextOverflow } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { overflowWords } from "../../src/compaction/overflow.js";
import { text } from "../arbitraries/values.js";

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
    expect(isContextOverflow({ message: "Bad Request", requestBodyValues: { prompt: refusal } })).toBe(false);
    expect(isContextOverflow({ role: "assistant", content: [{ type: "text", text: refusal }] })).toBe(false);
    expect(isContextOverflow({ message: "at most 413", param: 413, name: 413 })).toBe(false);
  });

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
