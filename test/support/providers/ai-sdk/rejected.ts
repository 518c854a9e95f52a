import { base64, bytesOf, gif, pdf, png } from "../../../attachments/samples.js";
import type { Rejected } from "../rejected.js";
import type { AiSdkCall } from "./parts.js";

const anthropic = "anthropic.messages";
const chat = "openai.chat";

const text = (said: string, more: object = {}) => ({ type: "text", text: said, ...more });
const file = (more: object = {}) => ({ type: "file", mediaType: "image/png", data: base64(png()), ...more });
const user = (...content: readonly unknown[]) => ({ role: "user", content });
const assistant = (...content: readonly unknown[]) => ({ role: "assistant", content });
const tool = (...content: readonly unknown[]) => ({ role: "tool", content });
const toolCall = (toolCallId: string, more: object = {}) => ({
  type: "tool-call",
  toolCallId,
  toolName: "read",
  input: { path: "a" },
  ...more,
});
const result = (toolCallId: string, output: object = { type: "text", value: "b" }, toolName = "read") => ({
  type: "tool-result",
  toolCallId,
  toolName,
  output,
});
const shown = (...value: readonly unknown[]) => result("c1", { type: "content", value });
const call = (...messages: readonly unknown[]): AiSdkCall => ({ provider: anthropic, messages });
const hi = user(text("hi"));
const cycle = (output: unknown, more: object = {}) => call(hi, assistant(toolCall("c1", more)), tool(output));

/** What `generateText` takes, and the provider behind it. */
export const accepted: Readonly<Record<string, AiSdkCall>> = {
  "text alone": { provider: chat, system: "Be brief.", messages: [{ role: "user", content: "hi" }] },
  "a session with everything in it": {
    provider: anthropic,
    system: { role: "system", content: "Be brief." },
    messages: [
      user(
        text("What is wrong here? 🧷"),
        file({ filename: "screen.png" }),
        file({ mediaType: "image/gif", data: base64(gif) }),
        file({ mediaType: "application/pdf", data: base64(pdf), filename: "report.pdf" }),
        file({ mediaType: "text/plain", data: base64(bytesOf("notes")), filename: "notes.md" }),
      ),
      assistant(
        { type: "reasoning", text: "Let me see.", providerOptions: { anthropic: { signature: "c2ln" } } },
        { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "cmVk" } } },
        text("I look.", { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } }),
        toolCall("c1"),
        toolCall("c2", { toolName: "view" }),
      ),
      tool(
        shown(
          text("Here."),
          { type: "image-data", mediaType: "image/png", data: base64(png()) },
          { type: "file-data", mediaType: "application/pdf", data: base64(pdf), filename: "a.pdf" },
        ),
        result("c2", { type: "error-text", value: "no such file" }, "view"),
      ),
      assistant(
        text("It is empty."),
        toolCall("s1", { toolName: "web_search", providerExecuted: true }),
        result("s1", { type: "json", value: [] }, "web_search"),
      ),
      user(text("Thanks.")),
    ],
  },
};

/** What one rule each refuses. */
export const rejected: readonly Rejected<AiSdkCall>[] = [
  { rule: "schema", what: "text in place of messages", body: { provider: anthropic, messages: "hi" } },
  {
    rule: "schema",
    what: "a role of another library",
    body: call({ role: "toolResult", content: [text("a")] }),
  },
  { rule: "schema", what: "a part of a provider", body: call(user({ type: "input_text", text: "a" })) },
  {
    rule: "schema",
    what: "a file without a media type",
    body: call(user({ type: "file", data: base64(png()) })),
  },
  { rule: "schema", what: "a result that is text", body: cycle({ ...result("c1"), output: "b" }) },
  {
    rule: "nothing-unknown",
    what: "a cache marker at its place in Anthropic",
    body: call(user(text("a", { cache_control: {} }))),
  },
  { rule: "nothing-unknown", what: "a name of a user", body: call({ ...hi, name: "Alice" }) },
  { rule: "some-message", what: "no message", body: call() },
  {
    rule: "system-apart",
    what: "a system message",
    body: call({ role: "system", content: "Be brief." }, hi),
  },
  { rule: "system-text", what: "a blank system prompt", body: { ...call(hi), system: " " } },
  { rule: "system-text", what: "a system prompt of parts", body: { ...call(hi), system: [text("a")] } },
  { rule: "content", what: "a message without parts", body: call(user()) },
  { rule: "content", what: "a message of nothing", body: call({ role: "user", content: "" }) },
  { rule: "text", what: "a text of nothing", body: call(user(text(""))) },
  { rule: "text", what: "a blank text of a tool", body: cycle(shown(text("\n"))) },
  {
    rule: "reasoning",
    what: "reasoning without a signature",
    body: call(hi, assistant({ type: "reasoning", text: "a" }, text("b"))),
  },
  { rule: "utf-8", what: "half a pair", body: call(user(text("a \ud83d b"))) },
  { rule: "calls-answered", what: "a call without a result", body: call(hi, assistant(toolCall("c1"))) },
  {
    rule: "calls-answered",
    what: "one of two calls without a result",
    body: call(hi, assistant(toolCall("c1"), toolCall("c2")), tool(result("c1"))),
  },
  { rule: "results-called", what: "a result without a call", body: call(hi, tool(result("c1"))) },
  { rule: "results-called", what: "a result of another tool", body: cycle(result("c1", undefined, "write")) },
  {
    rule: "results-called",
    what: "a result behind another",
    body: call(hi, assistant(toolCall("c1")), tool(result("c1")), assistant(text("a")), tool(result("c0"))),
  },
  {
    rule: "unique-ids",
    what: "an id in two turns",
    body: call(...[1, 2].flatMap(() => [hi, assistant(toolCall("c1")), tool(result("c1"))])),
  },
  {
    rule: "unique-ids",
    what: "two results",
    body: call(hi, assistant(toolCall("c1")), tool(result("c1"), result("c1"))),
  },
  { rule: "object-input", what: "input that is text", body: cycle(result("c1"), { input: "{" }) },
  { rule: "object-input", what: "no input", body: cycle(result("c1"), { input: null }) },
  {
    rule: "json-input",
    what: "a number that JSON has not",
    body: cycle(result("c1"), { input: { n: Number.NaN } }),
  },
  {
    rule: "nothing-deprecated",
    what: "an image part",
    body: call(user({ type: "image", image: base64(png()), mediaType: "image/png" })),
  },
  {
    rule: "nothing-fetched",
    what: "an address",
    body: call(user(file({ data: new URL("https://example.com/a.png") }))),
  },
  {
    rule: "nothing-fetched",
    what: "an address that is text",
    body: call(user(file({ data: "https://example.com/a.png" }))),
  },
  {
    rule: "nothing-fetched",
    what: "an address in a result",
    body: cycle(shown({ type: "image-url", url: "https://example.com/a.png" })),
  },
  { rule: "base64", what: "a line break", body: call(user(file({ data: `${base64(png())}\n` }))) },
  { rule: "base64", what: "no bytes", body: call(user(file({ data: "" }))) },
  {
    rule: "bytes-agree",
    what: "a GIF that is said to be a PNG",
    body: call(user(file({ data: base64(gif) }))),
  },
  {
    rule: "media-types",
    what: "Markdown as a file",
    body: call(user(file({ mediaType: "text/markdown", data: base64(bytesOf("# a")) }))),
  },
  {
    rule: "media-types",
    what: "plain text as a file where the provider takes none",
    body: { ...call(user(file({ mediaType: "text/plain", data: base64(bytesOf("a")) }))), provider: chat },
  },
  {
    rule: "media-types",
    what: "a PDF where the provider takes none",
    body: {
      ...call(user(file({ mediaType: "application/pdf", data: base64(pdf) }))),
      provider: "xai.responses",
    },
  },
  {
    rule: "images-of-tools",
    what: "an image as a file",
    body: cycle(shown({ type: "file-data", mediaType: "image/png", data: base64(png()) })),
  },
  {
    rule: "images-of-tools",
    what: "a PDF as an image",
    body: cycle(shown({ type: "image-data", mediaType: "application/pdf", data: base64(pdf) })),
  },
  {
    rule: "no-base64-as-text",
    what: "a tool's image for chat completions",
    body: {
      ...cycle(shown({ type: "image-data", mediaType: "image/png", data: base64(png()) })),
      provider: chat,
    },
  },
];
