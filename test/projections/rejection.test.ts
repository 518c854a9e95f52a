import { describe, expect, test } from "vitest";
import { isAboutMedia, isAboutSize, isAboutTokens, rejectionOf } from "../../src/projections/explain.js";

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
    expect(rejectionOf(error)).toEqual({ message, status });
  });

  test("ends on what holds itself", () => {
    const circle: Record<string, unknown> = {};
    circle.error = circle;
    expect(rejectionOf(circle)).toEqual({ message: "", status: undefined });
  });
});

describe("what a refusal is about", () => {
  const about = (message: string, status?: number) => {
    const rejection = { message, status };
    return [
      isAboutMedia(rejection) ? "media" : "",
      isAboutSize(rejection) ? "size" : "",
      isAboutTokens(rejection) ? "tokens" : "",
    ].filter((one) => one !== "");
  };

  test.each<[string, readonly string[]]>([
    ["Could not process image", ["media"]],
    ["image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes", ["media", "size"]],
    ["Request exceeds the maximum size", ["size"]],
    ["Request payload size exceeds the limit: 20971520 bytes.", ["size"]],
    ["The document has no pages.", ["media"]],
    ["prompt is too long: 205000 tokens > 200000 maximum", ["tokens"]],
    ["The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", ["tokens"]],
    ["input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000", ["tokens"]],
    ["Rate limit exceeded", ["tokens"]],
    ["messages: roles must alternate", []],
    ["Retry your request with the ID of an inference profile", []],
    ["tool results must follow immediately, see the documentation", []],
    ["Invalid file_data: no input_file", ["media"]],
    ["", []],
  ])("%s", (message, expected) => {
    expect(about(message)).toEqual(expected);
  });

  test("the status for too large says so by itself", () => {
    expect(about("", 413)).toEqual(["size"]);
    expect(about("too many tokens", 413)).toEqual(["size"]);
  });
});
