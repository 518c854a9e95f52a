import {
  asking,
  assistant,
  cachePoint,
  call,
  document,
  image,
  llama,
  newClaude,
  nova,
  pixtral,
  reasoning,
  result,
  samples,
  text,
  user,
  writer,
} from "./sample.js";
import { signatureOf } from "./state.js";
import type { BedrockRequest } from "./wire.js";

/** A request with one thing wrong in it. */
export interface RejectedRequest {
  readonly rule: string;
  readonly title: string;
  readonly request: BedrockRequest;
}

type Json = Record<string, unknown>;

const hello = user(text("Hello."));
const hi = assistant(text("Hi."));

function reject(rule: string, title: string, messages: readonly Json[], more: Json = {}): RejectedRequest {
  return { rule, title, request: asking(messages, more) };
}

/** A user's message with these blocks and a text. */
const shown = (...blocks: readonly Json[]): readonly Json[] => [user(text("Look."), ...blocks)];
/** A call and the message behind it. */
const after = (...blocks: readonly Json[]): readonly Json[] => [
  hello,
  assistant(call("c1")),
  user(...blocks),
];

const turns: readonly RejectedRequest[] = [
  reject("roles-are-user-or-assistant", "a role of other APIs", [
    hello,
    { role: "tool", content: [text("x")] },
  ]),
  reject("the-user-begins", "the model first", [hi, hello]),
  reject("the-user-begins", "nobody", []),
  reject("roles-alternate", "two of the user", [hello, hello]),
  reject("calls-have-results-in-the-next-message", "none", after(text("x"))),
  reject("calls-have-results-in-the-next-message", "at the end", [hello, assistant(call("c1"))]),
  reject("calls-have-results-in-the-next-message", "one of two", [
    hello,
    assistant(call("c1"), call("c2")),
    user(result("c1")),
  ]),
  reject("results-answer-calls", "a result of nothing", [hello, hi, user(result("c1"))]),
  reject("results-answer-calls", "one too many", after(result("c1"), result("c2"))),
  reject("results-come-first", "text before it", after(text("x"), result("c1"))),
  reject("ids-are-unique", "twice in a message", [
    hello,
    assistant(call("c1"), call("c1")),
    user(result("c1")),
  ]),
  reject("ids-are-unique", "two results", after(result("c1"), result("c1"))),
  reject("ids-are-unique", "again later", [
    ...after(result("c1")),
    assistant(call("c1")),
    user(result("c1")),
  ]),
  reject("a-prefill-ends-in-no-white-space", "a space", [hello, assistant(text("It is "))]),
  reject("newer-models-want-the-last-word-from-the-user", "a prefill", [hello, hi], { to: newClaude }),
  reject("tools-are-declared-where-they-are-used", "none are", after(result("c1")), {
    toolConfig: undefined,
  }),
  reject("results-stand-alone", "a text", after(result("c1"), text("x")), { to: llama }),
  reject("results-stand-alone", "an image", after(result("c1"), image("png", samples.png)), { to: pixtral }),
  reject("results-stand-alone", "a text to Writer", after(result("c1"), text("x")), { to: writer }),
  reject("text-documents-are-not-beside-results", "a table", [
    hello,
    assistant(call("c1")),
    user(result("c1"), text("x"), document("A", "csv", samples.csv)),
  ]),
  reject(
    "results-hold-what-the-model-takes",
    "PDF to Nova",
    after(result("c1", { content: [text("x"), document("A")] }), text("x")),
    { to: nova },
  ),
  reject(
    "results-hold-what-the-model-takes",
    "an image to Mistral",
    after(result("c1", { content: [image("png", samples.png)] })),
    { to: pixtral },
  ),
  reject(
    "failed-results-are-text",
    "an image",
    after(result("c1", { content: [text("x"), image("png", samples.png)], status: "error" })),
  ),
  reject("failed-results-say-something", "nothing", after(result("c1", { content: [], status: "error" }))),
];

const blocks: readonly RejectedRequest[] = [
  reject("messages-have-content", "nothing", [hello, assistant(), hello]),
  reject("a-block-is-one-thing", "an empty block", [user(text("x"), {})]),
  reject("a-block-is-one-thing", "two in one", [user({ ...text("x"), ...image("png", samples.png) })]),
  reject("a-block-is-one-thing", "another API's block", [user({ type: "text", text: "x" })]),
  reject("a-block-is-one-thing", "a cache point in a result", after(result("c1", { content: [cachePoint] }))),
  reject("blocks-are-on-their-side", "an image of the model", [
    hello,
    assistant(image("png", samples.png)),
    hello,
  ]),
  reject("blocks-are-on-their-side", "reasoning of the user", [user(reasoning("x"), text("x"))]),
  reject("text-is-not-blank", "empty", [user(text(""), text("x"))]),
  reject("text-is-not-blank", "white space", [hello, assistant(text("\n ")), hello]),
  reject("text-is-not-blank", "in a result", after(result("c1", { content: [text(" ")] }))),
  reject("text-is-not-blank", "as instruction", [hello], { system: [text("")] }),
  reject("tool-ids", "a character", [hello, assistant(call("a|b")), user(result("a|b"))]),
  reject("tool-ids", "65 characters", [hello, assistant(call("x".repeat(65))), user(result("x".repeat(65)))]),
  reject("tool-names", "a dot", [hello, assistant(call("c1", { name: "fs.read" })), user(result("c1"))]),
  reject("tool-inputs-are-objects", "a text", [
    hello,
    assistant(call("c1", { input: "a.png" })),
    user(result("c1")),
  ]),
  reject("result-status", "another word", after(result("c1", { status: "failed" }))),
  reject("system-is-text", "an image", [hello], { system: [image("png", samples.png)] }),
  reject("text-is-unicode", "half a character", [user(text("x\ud83d"))]),
  reject("text-is-unicode", "half a character in an input", [
    hello,
    assistant(call("c1", { input: { path: "\udc00" } })),
    user(result("c1")),
  ]),
];

const media: readonly RejectedRequest[] = [
  reject("image-formats", "jpg", shown(image("jpg", samples.jpeg))),
  reject("image-formats", "capitals", shown(image("PNG", samples.png))),
  reject(
    "media-have-one-source",
    "an address",
    shown({ image: { format: "png", source: { url: "https://a.b" } } }),
  ),
  reject(
    "media-have-one-source",
    "text without citations",
    shown({ document: { name: "Notes", format: "txt", source: { text: "x" } } }),
  ),
  reject(
    "s3-locations",
    "another address",
    shown({ image: { format: "png", source: { s3Location: { uri: "https://bucket/a" } } } }),
  ),
  reject("images-are-what-they-say", "another type", shown(image("png", samples.jpeg))),
  reject("images-are-what-they-say", "encoded twice", shown(image("png", btoa(samples.png)))),
  reject("image-sizes", "8001 pixels", shown(image("png", samples.widePng))),
  reject(
    "image-sizes",
    "more than 3.75 MB",
    after(result("c1", { content: [image("png", samples.largePng)] })),
  ),
  reject("image-count", "21, one of them a tool's", [
    hello,
    assistant(call("c1")),
    user(
      result("c1", { content: [image("png", samples.png)] }),
      ...Array.from({ length: 20 }, () => image("png", samples.png)),
    ),
  ]),
  reject(
    "image-count",
    "19 images and 2 documents",
    shown(...Array.from({ length: 19 }, () => image("png", samples.png)), document("A"), document("B")),
  ),
  reject("document-formats", "a media type", shown(document("A", "application/pdf"))),
  reject("documents-are-what-they-say", "text called PDF", shown(document("A", "pdf", samples.csv))),
  reject("document-sizes", "more than 4.5 MB", shown(document("A", "txt", samples.largeText))),
  reject("document-count", "six", shown(...Array.from("ABCDEF", (name) => document(name)))),
  reject("document-names", "a file's name", shown(document("report.pdf"))),
  reject("document-names", "two spaces", shown(document("a  b"))),
  reject("document-names", "no ASCII", shown(document("分期"))),
  reject("document-names", "201 characters", shown(document("x".repeat(201)))),
  reject("document-names", "none", shown(document(""))),
  reject("document-names-are-unique", "again in a later turn", [
    ...shown(document("A")),
    hi,
    ...shown(document("A", "csv", samples.csv)),
  ]),
  reject("a-document-has-text-beside-it", "alone", [user(document("A"))]),
];

const state: readonly RejectedRequest[] = [
  reject("reasoning-is-signed-by-the-model", "unsigned", [
    hello,
    assistant({ reasoningContent: { reasoningText: { text: "x" } } }, text("Hi.")),
    hello,
  ]),
  reject("reasoning-is-signed-by-the-model", "another model's", [
    hello,
    assistant(reasoning("x", newClaude), text("Hi.")),
    hello,
  ]),
  reject("reasoning-is-signed-by-the-model", "withheld by another model", [
    hello,
    assistant({ reasoningContent: { redactedContent: signatureOf(nova, "x") } }, text("Hi.")),
    hello,
  ]),
  reject("reasoning-is-signed-by-the-model", "nothing in it", [
    hello,
    assistant({ reasoningContent: {} }, text("Hi.")),
    hello,
  ]),
  reject(
    "reasoning-is-signed-by-the-model",
    "a signature for a model without",
    [hello, assistant(reasoning("x", nova), text("Hi.")), hello],
    { to: nova },
  ),
  reject("reasoning-is-not-the-last-block", "alone", [hello, assistant(reasoning("x")), hello]),
  reject("cache-point-count", "five", [
    ...Array.from({ length: 4 }, () => [user(text("x"), cachePoint), hi]).flat(),
    user(text("x"), cachePoint),
  ]),
  reject("cache-point-places", "at the beginning", [user(cachePoint, text("x"))]),
  reject("cache-point-places", "behind reasoning", [
    hello,
    assistant(reasoning("x"), cachePoint, text("Hi.")),
    hello,
  ]),
  reject("cache-point-places", "behind a table", shown(document("A", "csv", samples.csv), cachePoint)),
  reject("cache-point-kinds", "a type of another API", [
    user(text("x"), { cachePoint: { type: "ephemeral" } }),
  ]),
  reject("cache-point-kinds", "an hour behind five minutes", [
    user(text("x"), cachePoint),
    hi,
    user(text("x"), { cachePoint: { type: "default", ttl: "1h" } }),
  ]),
];

/** For every rule at least one request that breaks it and no other. */
export const rejectedRequests: readonly RejectedRequest[] = [...turns, ...blocks, ...media, ...state];
