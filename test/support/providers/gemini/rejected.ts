import { asking, blob, call, gemini25, model, response, samples, text, user } from "./sample.js";
import { signatureOf } from "./signatures.js";
import type { GeminiRequest } from "./wire.js";

/** A request with one thing wrong in it. */
export interface RejectedRequest {
  readonly rule: string;
  readonly title: string;
  readonly request: GeminiRequest;
}

type Json = Record<string, unknown>;

const hello = user(text("Hello."));
const signed = { thoughtSignature: "skip_thought_signature_validator" };
const called = model(call("read", signed));
const answered = user(response("read"));

function reject(rule: string, title: string, contents: readonly Json[], more: Json = {}): RejectedRequest {
  return { rule, title, request: asking(contents, more) };
}

const turns: readonly RejectedRequest[] = [
  reject("contents-are-there", "nothing said", []),
  reject("roles-are-user-or-model", "the role of other APIs", [
    hello,
    { role: "assistant", parts: [text("Hi.")] },
    hello,
  ]),
  reject("roles-are-user-or-model", "no role", [{ parts: [text("Hello.")] }]),
  reject("calls-are-the-models-and-responses-the-users", "a call by the user", [
    hello,
    user(call("read", {})),
    answered,
  ]),
  reject("calls-follow-a-user-turn", "a call behind what the model said", [
    hello,
    model(text("Hm.")),
    called,
    answered,
  ]),
  reject("calls-follow-a-user-turn", "a call at the very start", [called, answered]),
  reject("responses-follow-their-calls", "a response to nothing", [hello, model(text("Hi.")), answered]),
  reject("responses-follow-their-calls", "results one by one", [hello, called, answered, answered]),
  reject("as-many-responses-as-calls", "one of two", [
    hello,
    model(call("read", signed), call("read")),
    answered,
  ]),
  reject("as-many-responses-as-calls", "two for one", [
    hello,
    called,
    user(response("read"), response("read")),
  ]),
  reject("as-many-responses-as-calls", "none at all", [hello, called, hello]),
  reject("responses-stand-alone", "text beside a response", [
    hello,
    called,
    user(response("read"), text("Go on.")),
  ]),
  reject("responses-stand-alone", "an image beside a response", [
    hello,
    called,
    user(response("read"), blob("image/png", samples.png)),
  ]),
  reject("responses-have-the-calls-id", "an id that no call has", [
    hello,
    called,
    user(response("read", { id: "c1" })),
  ]),
  reject("responses-have-the-calls-id", "no id where the call has one", [
    hello,
    model(call("read", signed, { id: "c1" })),
    answered,
  ]),
  reject("ids-are-unique-in-a-turn", "twice the same id", [
    hello,
    model(call("read", signed, { id: "c1" }), call("read", {}, { id: "c1" })),
    user(response("read", { id: "c1" }), response("read", { id: "c1" })),
  ]),
  reject("responses-have-the-calls-name", "another name", [hello, called, user(response("write"))]),
  reject("newer-models-want-the-last-word-from-the-user", "a prefill", [hello, model(text("It is"))], {
    to: "gemini-3.6-flash",
  }),
  reject("newer-models-want-the-last-word-from-the-user", "by name", [hello, model(text("It is"))], {
    to: "gemini-3.5-flash-lite",
  }),
];

const parts: readonly RejectedRequest[] = [
  reject("contents-have-parts", "an empty turn", [hello, model(), hello]),
  reject("a-part-is-one-thing", "an empty part", [user({})]),
  reject("a-part-is-one-thing", "text and image in one", [
    user({ ...text("x"), ...blob("image/png", samples.png) }),
  ]),
  reject("text-is-not-empty", "empty text", [user(text(""), text("x"))]),
  reject("fields-are-known", "another API's field", [
    user(text("x", { cache_control: { type: "ephemeral" } })),
  ]),
  reject("fields-are-known", "an id by another name", [
    hello,
    called,
    user(response("read", { call_id: "c1" })),
  ]),
  reject("fields-are-known", "a name for bytes", [
    user({ inlineData: { mimeType: "image/png", data: samples.png, displayName: "a.png" } }),
  ]),
  reject("function-names", "no name", [hello, model(call("", signed)), user(response(""))]),
  reject("function-names", "a space in a name", [
    hello,
    model(call("read file", signed)),
    user(response("read file")),
  ]),
  reject("function-names", "a name of 65 characters", [
    hello,
    model(call("x".repeat(65), signed)),
    user(response("x".repeat(65))),
  ]),
  reject("arguments-and-responses-are-objects", "a list as arguments", [
    hello,
    model(call("read", signed, { args: [1] })),
    answered,
  ]),
  reject("arguments-and-responses-are-objects", "a text as response", [
    hello,
    called,
    user(response("read", { response: "done" })),
  ]),
  reject("responses-do-not-refer-to-media", "a reference by name", [
    hello,
    called,
    user(
      response("read", { response: { image: { $ref: "a.png" } }, parts: [blob("image/png", samples.png)] }),
    ),
  ]),
  reject("system-is-text", "an image as instruction", [hello], {
    systemInstruction: { parts: [blob("image/png", samples.png)] },
  }),
  reject("system-is-text", "nothing as instruction", [hello], { systemInstruction: { parts: [] } }),
  reject("text-is-unicode", "half a character", [user(text("x\ud83d"))]),
  reject("text-is-unicode", "half a character in arguments", [
    hello,
    model(call("read", signed, { args: { path: { name: "\udc00" } } })),
    answered,
  ]),
  reject("files-have-an-address-and-a-type", "no type", [
    user({ fileData: { fileUri: "https://example.com/a" } }),
  ]),
  reject("files-have-an-address-and-a-type", "a path", [
    user({ fileData: { fileUri: "/tmp/a.png", mimeType: "image/png" } }),
  ]),
  reject("files-have-an-address-and-a-type", "an address in a response", [
    hello,
    called,
    user(
      response("read", {
        parts: [{ fileData: { fileUri: "https://example.com/a.png", mimeType: "image/png" } }],
      }),
    ),
  ]),
];

const media: readonly RejectedRequest[] = [
  reject(
    "media-types",
    "GIF",
    [user(blob("image/gif", Buffer.from("GIF89a").toString("base64")))].map(gifOnly),
  ),
  reject("media-types", "no media type at all", [user(blob("png", samples.text))]),
  reject("media-types", "HTML in a response", [
    hello,
    called,
    user(response("read", { parts: [blob("text/html", samples.text)] })),
  ]),
  reject("data-is-base64", "a data URL", [user(blob("image/png", `data:image/png;base64,${samples.png}`))]),
  reject("data-is-base64", "nothing", [user(blob("image/png", ""))]),
  reject("data-is-of-its-type", "a JPEG called PNG", [user(blob("image/png", samples.jpeg))]),
  reject("data-is-of-its-type", "a text called PDF", [user(blob("application/pdf", samples.text))]),
  reject("data-is-of-its-type", "an image that breaks off", [
    user(blob("image/png", samples.png.slice(0, 16))),
  ]),
  reject(
    "responses-have-media-from-version-3",
    "an image in a response",
    [hello, model(call("read")), user(response("read", { parts: [blob("image/png", samples.png)] }))],
    { to: gemini25 },
  ),
  reject("image-sides", "8001 pixels", [user(blob("image/png", samples.widePng))]),
  reject("image-count", "3601 images", [
    user(...Array.from({ length: 3601 }, () => blob("image/png", samples.png))),
  ]),
  reject("request-size", "more than 20 MB", [user(text("x".repeat(20_000_000)))]),
];

/** The bytes are a GIF's, so that its type is all that is wrong. */
function gifOnly(content: Json): Json {
  const gif = "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=";
  return { ...content, parts: [blob("image/gif", gif)] };
}

const signatures: readonly RejectedRequest[] = [
  reject("signatures-are-base64", "no base64", [
    hello,
    model(call("read", { thoughtSignature: "…" })),
    answered,
  ]),
  reject("signatures-are-base64", "two in one", [
    hello,
    model(text("x", { thoughtSignature: `${btoa("a")}${btoa("b")}` })),
    hello,
  ]),
  reject("signatures-are-the-models-own", "an empty one", [
    hello,
    model(text("x", { thoughtSignature: "" })),
    hello,
  ]),
  reject("signatures-are-the-models-own", "another model's", [
    hello,
    model(call("read", { thoughtSignature: signatureOf(gemini25, "calls") })),
    answered,
  ]),
  reject("the-first-call-of-each-step-is-signed", "none", [hello, model(call("read")), answered]),
  reject("the-first-call-of-each-step-is-signed", "on the second of two", [
    hello,
    model(call("read"), call("read", signed)),
    user(response("read"), response("read")),
  ]),
  reject("the-first-call-of-each-step-is-signed", "none in the second step", [
    hello,
    called,
    answered,
    model(call("read")),
    answered,
  ]),
  reject("only-the-model-signs", "a signature of the user", [user(text("x", signed))]),
];

/** For every rule at least one request that breaks it and no other. */
export const rejectedRequests: readonly RejectedRequest[] = [...turns, ...parts, ...media, ...signatures];
