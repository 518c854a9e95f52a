import { describe, expect, test } from "vitest";
import { toRejection } from "../../src/providers/rejection.js";

describe("rejectionOf", () => {
  test.each<[string, unknown, string, number | undefined]>([
    ["text", "bad", "bad", undefined],
    ["a client's error", Object.assign(new Error("bad"), { status: 400 }), "bad", 400],
    ["the AI SDK's", { message: "bad", statusCode: 413 }, "bad", 413],
    ["AWS's", { message: "bad", $metadata: { httpStatusCode: 400 } }, "bad", 400],
    ["Google's body", { error: { code: 400, message: "bad", status: "INVALID_ARGUMENT" } }, "bad", 400],
    [
      "Anthropic's body",
      { type: "error", error: { type: "invalid_request_error", message: "bad" } },
      "bad",
      undefined,
    ],
    [
      "one that another error wraps",
      new Error("it failed", { cause: { status: 500, message: "bad" } }),
      "it failed",
      500,
    ],
    [
      "the last of several tries",
      { message: "tried thrice", lastError: { statusCode: 400 } },
      "tried thrice",
      400,
    ],
    ["nothing", undefined, "", undefined],
    ["a number", 400, "", undefined],
    ["what has no words", { message: 5, status: "400" }, "", undefined],
  ])("reads %s", (_, error, message, status) => {
    expect(toRejection(error)).toMatchObject({ message, status });
  });

  const thrower = () => {
    throw new Error("no");
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const throws = (name: string, more: object = {}) =>
    Object.defineProperty({ message: "Could not process image", status: 400, ...more }, name, {
      enumerable: true,
      get: thrower,
    });
  test.each<[string, unknown]>([
    ["a getter of an error's cause", Object.defineProperty(throws("body"), "cause", { get: thrower })],
    ["a getter of any member", throws("loc", { path: ["body", 0] })],
    ["a proxy", { message: "Could not process image", status: 400, x: revoked.proxy }],
    [
      "words of a place",
      { message: "Could not process image", status: 400, path: [{ toString: thrower }, Symbol("a"), 1] },
    ],
  ])("reads what does not throw beside %s", (_, error) => {
    expect(toRejection(error)).toMatchObject({ message: "Could not process image", status: 400 });
  });

  test("reads nothing of what throws alone", () => {
    for (const error of [revoked.proxy, new Proxy({}, { get: thrower, ownKeys: thrower }), [revoked.proxy]])
      expect(toRejection(error)).toMatchObject({ message: "", status: undefined });
  });

  test("reads a bounded part of much: no bytes, some members, some characters", () => {
    let reads = 0;
    const errors = Array.from({ length: 100_000 }, () => ({
      get message() {
        reads++;
        return "image ".repeat(4000);
      },
    }));
    const much = { message: "Could not process image", status: 400, data: new Uint8Array(1 << 22), errors };
    const { message, texts } = toRejection(much);
    expect(message).toBe("Could not process image");
    expect(reads).toBeLessThan(2000);
    expect(texts.join("").length).toBeLessThan(250_000);
  });

  test("ends on what holds itself", () => {
    const circle: Record<string, unknown> = {};
    circle.error = circle;
    expect(toRejection(circle)).toMatchObject({ message: "", status: undefined });
  });
});

describe("a refusal that another program wraps", () => {
  const inner = { type: "invalid_request_error", message: "messages.2.content.1: Could not process image" };
  const { message } = inner;

  test.each<[string, unknown]>([
    // https://github.com/diegosouzapw/OmniRoute/issues/3044, lumina-ai-inc/chunkr/issues/341 and
    // open-webui/computer/issues/293 (stored copies, read 2026-11-28).
    ["OpenRouter, as JSON", openRouter(JSON.stringify({ error: inner }))],
    ["OpenRouter, as an object", openRouter({ error: inner })],
    ["OpenRouter, as text", openRouter(message)],
    [
      "OpenRouter, flat as its client has it",
      (openRouter(JSON.stringify(inner)) as { error: unknown }).error,
    ],
    [
      "LiteLLM",
      {
        error: {
          message: `litellm.BadRequestError: AnthropicException - ${JSON.stringify({ type: "error", error: inner })}No fallback model group found. Fallbacks=[{'a': ['b']}]`,
          type: null,
          code: "400",
        },
      },
    ],
    [
      "the AI SDK",
      Object.assign(new Error("Bad Request"), {
        statusCode: 400,
        responseBody: JSON.stringify({ error: inner }),
      }),
    ],
    [
      "the AI SDK, after retries",
      Object.assign(new Error("Failed after 3 attempts."), {
        lastError: Object.assign(new Error("Bad Request"), {
          statusCode: 400,
          responseBody: JSON.stringify({ error: inner }),
        }),
      }),
    ],
    [
      "a proxy",
      { status: 400, error: { type: "request_fail", upstream_error: { type: "error", error: inner } } },
    ],
    [
      "one router behind another",
      {
        status: 400,
        message: `Error from provider(openrouter,x: 400): ${JSON.stringify(openRouter(JSON.stringify({ error: inner })))}`,
      },
    ],
  ])("says what is inside: %s", (_, error) => {
    const rejection = toRejection(error);
    expect(rejection).toMatchObject({ message, isWrapped: true });
    expect([undefined, 400]).toContain(rejection.status);
  });

  test.each<[string, unknown]>([
    [
      "Anthropic's client",
      Object.assign(new Error(`400 ${JSON.stringify({ type: "error", error: inner })}`), {
        status: 400,
        error: { type: "error", error: inner },
      }),
    ],
    ["Google's client", { status: 400, message: JSON.stringify({ error: { code: 400, ...inner } }) }],
  ])("%s does not wrap", (_, error) => {
    expect(toRejection(error)).toMatchObject({ message, isWrapped: false, status: 400 });
  });

  test("what is quoted of the request is no text of it", () => {
    const error = Object.assign(new Error("Bad Request"), {
      requestBodyValues: { messages: [{ content: "messages.1.content.0: Could not process image" }] },
      responseBody: JSON.stringify({
        detail: [{ loc: ["body", "messages", 0], msg: "no", input: "an image" }],
      }),
    });
    expect(toRejection(error).texts.filter((text) => /image/.test(text) && !text.includes("input"))).toEqual(
      [],
    );
  });

  test("holds for JSON in JSON in JSON, for braces without end, and for what holds itself", () => {
    let deep: unknown = { message };
    for (let depth = 0; depth < 30; depth++)
      deep = { error: { message: JSON.stringify(deep).slice(0, 15_000) } };
    expect(toRejection(deep).texts.length).toBeLessThan(200);
    expect(toRejection("{".repeat(50_000)).message).toHaveLength(50_000);
  });

  function openRouter(raw: unknown): unknown {
    return {
      error: { message: "Provider returned error", code: 400, metadata: { raw, provider_name: "Anthropic" } },
    };
  }
});
