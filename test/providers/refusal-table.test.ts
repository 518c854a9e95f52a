import { describe, expect, test } from "vitest";
import { refusalClass, toRejection } from "../../src/providers/rejection.js";

/** The class of a refusal, in one word or three. */
function classOf(error: unknown, status?: number): string {
  const given = typeof error === "string" && status !== undefined ? { message: error, status } : error;
  const found = refusalClass(toRejection(given));
  if (found.class !== "content") return found.class;
  return [found.kind, found.guilty, found.most].filter((each) => each !== undefined).join(" ");
}

// As providers write them; issues of GitHub repositories and documentation, stored copies read 2026-11-28.
describe("refusals of the form, which no message causes", () => {
  test.each([
    // Anthropic
    "messages.0.content.0.cache_control.scope: Extra inputs are not permitted",
    "system.2.cache_control.ephemeral.scope: Extra inputs are not permitted",
    "messages.13.content.0.thinking.cache_control: Extra inputs are not permitted",
    "messages.2.content.1.image.cache_control: Extra inputs are not permitted",
    "messages.65.content.1.tool_use.text: Extra inputs are not permitted",
    "messages.2.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "context_management: Extra inputs are not permitted",
    "messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
    "This model does not support assistant message prefill. The conversation must end with a user message.",
    "messages: final assistant content cannot end with trailing whitespace",
    'messages: roles must alternate between "user" and "assistant", but found multiple "assistant" roles in a row',
    'messages: first message must use the "user" role',
    "messages.3.role: Input should be 'user' or 'assistant'",
    "`temperature` may only be set to 1 when thinking is enabled.",
    "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens",
    "`max_tokens` must be greater than `thinking.budget_tokens`.",
    "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    "messages.1.content: Input should be a valid list",
    "messages.1.content.0.text.text: Field required",
    // OpenAI and those that speak its protocols
    "Unknown parameter: 'input[1].phase'.",
    "Unknown parameter: 'input[0].content[0].detail'.",
    "Unrecognized request argument supplied: reasoning",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    "Invalid schema for function 'read': In context=('properties', 'path'), 'type' is required",
    "Invalid type for 'messages[0].content[1]': expected an object, but got a string instead.",
    "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
    "'messages.0' : for 'role:system' the following must be satisfied[('messages.0.content' : value must be a string)]",
    "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "Missing `reasoning_content` field in the assistant message at message index 2.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 3",
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "Unexpected role 'user' after role 'tool'",
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    // Gemini
    "Invalid JSON payload received. Unknown name \"id\" at 'contents[7].parts[0].function_response': Cannot find field.",
    "Invalid JSON payload received. Unknown name \"const\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    "Please use a valid role: user, model.",
    // Bedrock
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.",
    "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    "messages.0.content.2.type: Field required",
    // With words of content
    "messages.0.content.1: Input tag 'img' found using 'type' does not match any of the expected tags: 'document', 'image', 'text'",
    "messages.0.content.1.type: Input should be 'text', 'image' or 'document'",
    "Invalid value: 'input_image'. Supported values are: 'output_text' and 'refusal'.",
    "Invalid value: 'file'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', 'input_file'.",
    "Invalid value: 'high-ish'. Supported values are: 'low', 'high', and 'auto' at messages[0].content[1].image_url.detail.",
    "Invalid value: 'thinking'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.",
    "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64",
    "Image generation is not enabled for this model.",
    "Invalid tool: file_search requires vector_store_ids",
    "extraneous key [cachePoint] is not permitted",
    "Unsupported Media Type: Content-Type must be application/json",
    "messages.4.content.1.document.citations: citations must be enabled on all or none of the documents",
  ])("%s", (message) => {
    expect(classOf(message, 400)).toBe("form");
  });

  test("of pydantic and zod, whose places are lists", () => {
    const loc = ["body", "messages", 0, "user", "name"];
    const detail = [
      { type: "extra_forbidden", loc, msg: "Extra inputs are not permitted", input: "an image" },
    ];
    expect(classOf({ object: "error", message: { detail }, type: "invalid_request_error" })).toBe("form");
    const param = [{ code: "invalid_type", path: ["prompt", 0], message: "expected string, got undefined" }];
    expect(classOf({ error: { message: "Invalid input", type: "invalid_request_error", param } })).toBe(
      "form",
    );
  });
});

test("the words of the provider count, not those of the request that it quotes, wherever they stand", () => {
  const quoted =
    'Unsupported content part type: "image_url"; messages = [{"text":"over quota, cache_control"}]';
  expect(classOf(quoted, 500)).toBe("image every");
  const inner = JSON.stringify({ error: { message: "Could not process image" } });
  const wrapped = {
    error: { message: `${"x".repeat(5000)} Provider returned error`, metadata: { raw: inner } },
  };
  expect(classOf(wrapped)).toBe("image one");
});

describe("refusals that are about no content", () => {
  test.each<[string, number?]>([
    ["prompt is too long: 205000 tokens > 200000 maximum"],
    ["The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
    ["Your input exceeds the context window of this model. Please adjust your input and try again."],
    [
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens.",
    ],
    ["Input is too long for requested model."],
    [
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 of image input).",
    ],
    ["You exceeded your current quota, please check your plan and billing details."],
    ["Your credit balance is too low to access the Anthropic API."],
    ["Insufficient Balance", 402],
    ["Incorrect API key provided: sk-1."],
    ["Rate limit reached for gpt-image-1 in organization org-1 on images per min"],
    ["Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 9000", 413],
    ["Your account is not allowed to send images"],
    ["File storage limit exceeded for organization"],
    ["Image input limit reached for the free tier. Please upgrade your plan."],
    ["Overloaded"],
    ["model: claude-image-9 not found"],
    ["The model `gpt-9` does not exist or you do not have access to it."],
    ["models/gemini-1.0-pro-vision is not found for API version v1beta"],
    ["No endpoints found for anthropic/claude-2."],
    [
      "Invocation of model ID x with on-demand throughput isn't supported. Retry your request with the ID or ARN of an inference profile",
    ],
    [
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. See the documentation.",
    ],
    ["Invalid prompt: your prompt was flagged as potentially violating our usage policy."],
  ])("%s", (message, status = 400) => {
    expect(classOf(message, status)).toBe("elsewhere");
  });

  test.each(["bad request", "Invalid request.", "Request contains an invalid argument.", ""])(
    "%j says nothing",
    (message) => {
      expect(classOf(message, 400)).toBe("unknown");
    },
  );
});

describe("refusals of content", () => {
  test.each<[string, string, number?]>([
    // One image or document
    ["API Error: 400 Could not process image", "image one"],
    ["Provider returned error: could not process the image", "image one"],
    ["The server couldn't read the image", "image one"],
    ["invalid image input: unsupported image format", "image one"],
    ["webp is not supported by this model", "image one"],
    ["不支持图片格式 bmp", "image one"],
    ["Image size is 0 bytes", "image one"],
    ["Unknown image type", "image one"],
    ["image_url must start with data: or http", "image one"],
    [
      "Unable to submit request because it has a mimeType parameter with value image/svg+xml, which is not supported. Update the mimeType and try again.",
      "image one",
    ],
    // A model that reads none
    ["content type image_url not supported by this model", "image every"],
    ["This deployment can only process text", "media every"],
    ["当前模型不支持图片输入", "image every"],
    ["message[0].content must be a string", "media every"],
    [
      "'messages.1' : for 'role:user' the following must be satisfied[('messages.1.content' : value must be a string)]",
      "media every",
    ],
    // Reasoning
    ["messages.3.content.0.thinking: each thinking block must contain thinking", "reasoning one"],
    ["messages.1.content.0: Thinking blocks from a different model are not accepted", "reasoning one"],
    ["Could not process image", "image one"],
    ["messages.0.content.2.image.source.base64.data: Could not process image", "image one"],
    ["Invalid PNG image.", "image one"],
    ["Base64 string of provided image cannot be decoded.", "image one"],
    [
      "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
      "image one",
    ],
    [
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
      "image one",
    ],
    [
      "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
      "image one",
    ],
    ["Provided image is not valid", "image one"],
    ["The provided image does not match the specified image format.", "image one"],
    [
      "messages.0.content.0.image.source.bytes: The image was specified using the image/jpeg media type, but the image appears to be a image/png image",
      "image one",
    ],
    ["messages.11.content.8.image.source.base64.data: Image format image/png not supported", "image one"],
    ["failed to process inputs: image: unknown format", "image one"],
    ["invalid image input", "image one"],
    ["invalid image type: image/webp", "image one"],
    ["cannot identify image file <_io.BytesIO object>", "image one"],
    ["Failed to extract 1 image(s).", "image one"],
    ["[1210][图片输入格式/解析错误]", "image one"],
    ["Your input image may contain content that is not allowed by our safety system.", "image one"],
    ["The PDF specified was not valid.", "document one"],
    ["The PDF specified is password protected.", "document one"],
    [
      "messages.38.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.",
      "document one",
    ],
    ["The document has no pages.", "document one"],
    [
      "messages.0.content.1.source.bytes: The document source bytes could not be parsed as the specified format.",
      "document one",
    ],
    [
      "Invalid file data: 'messages[1].content[0].file.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type, but got unsupported MIME type 'text/markdown'.",
      "media one",
    ],
    [
      "Invalid value at 'contents[2].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed",
      "media one",
    ],
    [
      "messages.0.content.4.document.source.base64.media_type: Input should be 'application/pdf'",
      "media one",
    ],
    ["illegal base64 data at input byte 5", "media one"],
    ["Timeout while downloading https://example.com/image.png.", "media one"],
    ["Failed to download multimodal content", "media one"],
    // Size
    [
      "messages.161.content.1.image.source.base64: image exceeds 5 MB maximum: 5272940 bytes > 5242880 bytes",
      "image largest",
    ],
    ["image exceeds 5 MB maximum: 6 MB > 5 MB, or 5000 tokens", "image largest"],
    [
      "messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
      "image largest",
    ],
    ["Request payload size exceeds the limit: 20971520 bytes.", "media largest"],
    ["Request exceeds the maximum size", "media largest"],
    ["request_too_large", "media largest", 413],
    ["", "media largest", 413],
    // Count
    ["At most 1 image(s) may be provided in one request.", "image count 1"],
    ["Model 'moonshotai/kimi-k2.6' supports at most 1 image per prompt.", "image count 1"],
    ["Too many images in request: maximum is 20", "image count 20"],
    // No images at all
    ["this model does not support image input", "image every"],
    ["deepseek-chat does not support vision", "image every"],
    ["image content not supported", "image every"],
    ["Model only supports text input", "media every"],
    ["The model does not support images larger than 20 MB", "image largest"],
    ["The model does not support the image format image/bmp", "image one"],
    ["Model do not support image input. Request id: 02178", "image every"],
    ["This model doesn't support the image content block that you provided.", "image every"],
    [
      "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
      "image every",
      500,
    ],
    ["Image inputs are not supported by this model.", "image every"],
    ["No endpoints found that support image input", "image every", 404],
    [
      "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 679289",
      "image every",
    ],
    ["Invalid content type. image_url is only supported by certain models.", "image every"],
    ["facebook/opt-125m is not a multimodal model", "media every"],
    [
      'Failed to parse messages: Unsupported content part type: "image_url"; messages = [',
      "image every",
      500,
    ],
    ["Unsupported chat content part type: 'file'", "document every"],
    [
      "Invalid value: file. Supported values are: 'text','image_url','video_url' and 'video'.",
      "document every",
    ],
    ["At most 0 image(s) may be provided in one request.", "image every"],
    // Signatures
    ["messages.1.content.0: Invalid `signature` in `thinking` block", "reasoning one"],
    ["messages.1.content.0.thinking.signature: Field required", "reasoning one"],
    [
      "messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
      "reasoning one",
    ],
    [
      "The encrypted content for item rs_0f26 could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
      "reasoning one",
    ],
    ["Corrupted thought signature.", "reasoning one"],
    ["Thought signature is not valid.", "reasoning one"],
    // Pairs
    [
      "messages.139: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
      "pair one",
    ],
    ["messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01.", "pair one"],
    ["messages.1.content.3: `tool_use` ids must be unique", "pair one"],
    ["No tool output found for function call call_1.", "pair one"],
    ["No tool call found for function call output with call_id call_1.", "pair one"],
    [
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
      "pair one",
    ],
    [
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      "pair one",
    ],
    ["Item 'rs_1' of type 'reasoning' was provided without its required following item.", "pair one"],
    ["Duplicate item found with id msg_1.", "pair one"],
    ["Item with id 'rs_1' not found.", "pair one", 404],
    ["Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1", "pair one"],
    [
      "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
      "pair one",
    ],
    ["Not the same number of function calls and responses", "pair one"],
    [
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      "pair one",
    ],
    // Text
    [
      "The text field in the ContentBlock object at messages.15.content.0 is blank. Add text to the text field, and try again.",
      "blank one",
    ],
    ["messages: text content blocks must contain non-whitespace text", "blank one"],
    [
      "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1540820 instead.",
      "text one",
    ],
  ])("%s", (message, expected, status = 400) => {
    expect(classOf(message, status)).toBe(expected);
  });
});
