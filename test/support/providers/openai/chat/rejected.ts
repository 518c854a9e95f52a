import { changed } from "../changed.js";
import { animatedGif, jpegBytes, pdfBytes, pngBytes, url } from "../samples.js";
import { maxBodyBytes, maxImages, maxTextLength } from "../size.js";
import { validChat } from "./valid.js";

const rich = validChat();
const but = (values: Readonly<Record<string, unknown>>): unknown => changed(rich, values);
const messages = (...list: readonly unknown[]): unknown => ({ model: "gpt-5.6", messages: list });
const hi = { role: "user", content: "Hi" };
const call = (id: string, name = "read") => ({ id, type: "function", function: { name, arguments: "{}" } });
const calls = (...list: readonly unknown[]) => ({ role: "assistant", tool_calls: list });
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "ok" });
const image = (bytes: string) => ({ type: "image_url", image_url: { url: bytes } });
const file = (file: object) => messages({ role: "user", content: [{ type: "file", file }] });

/** For each rule of Chat Completions, requests that break it and are valid but for that. */
export const rejectedChat: Readonly<Record<string, readonly unknown[]>> = {
  "unknown-parameter": [
    but({ "messages[2].content[0].cache_control": { type: "ephemeral" } }),
    but({ "messages[10].reasoning_content": "hm" }),
  ],
  "missing-parameter": [but({ "messages[4].tool_call_id": undefined }), but({ model: undefined })],
  types: [
    but({ "messages[2].content": 5 }),
    but({ "messages[3].tool_calls[0].function.arguments": { path: "a" } }),
  ],
  values: [
    but({ "messages[2].content[1].image_url.detail": "original" }),
    but({ "messages[9].role": "human" }),
    but({ "messages[2].content[0].type": "input_text" }),
  ],
  "calls-answered": [
    messages(hi, calls(call("call_1"))),
    messages(hi, calls(call("call_1"), call("call_2")), result("call_1"), hi),
    messages(hi, calls(call("call_1")), hi, calls(call("call_2")), result("call_2")),
  ],
  "results-follow-calls": [
    messages(hi, result("call_1")),
    messages(hi, calls(call("call_1")), result("call_1"), result("call_2")),
    messages(hi, calls(call("call_1")), result("call_1"), hi, result("call_1")),
  ],
  "results-once": [messages(hi, calls(call("call_1")), result("call_1"), result("call_1"))],
  "calls-not-empty": [messages(hi, { role: "assistant", content: "Hi", tool_calls: [] })],
  "call-ids": [
    messages(hi, calls(call("c".repeat(41))), result("c".repeat(41))),
    messages(hi, calls(call("")), result("")),
  ],
  "call-ids-unique": [messages(hi, calls(call("call_1"), call("call_1")), result("call_1"))],
  "function-names": ["", "a.b", "two words", "n".repeat(65)].map((name) =>
    messages(hi, calls(call("call_1", name)), result("call_1")),
  ),
  "arguments-json": [but({ "messages[3].tool_calls[0].function.arguments": '{"path":' })],
  "messages-not-empty": [messages()],
  "assistant-says-something": [
    messages(hi, { role: "assistant", content: null }, hi),
    messages(hi, { role: "assistant" }, hi),
  ],
  texts: [
    messages({ role: "user", content: "" }),
    messages({ role: "user", content: [] }),
    messages({ role: "user", content: [{ type: "text", text: "" }] }),
    messages(hi, { role: "assistant", content: [{ type: "refusal", refusal: "" }] }),
    messages({ role: "user", content: "x".repeat(maxTextLength + 1) }),
  ],
  "images-from-users": [
    but({ "messages[5].content": [image(url("image/png", pngBytes))] }),
    but({ "messages[8].content": [image("https://example.com/a.png")] }),
  ],
  "parts-of-roles": [
    but({ "messages[10].content": [{ type: "file", file: { file_id: "file-1" } }] }),
    but({ "messages[2].content[0]": { type: "refusal", refusal: "No." } }),
  ],
  "refusals-alone": [
    messages(hi, {
      role: "assistant",
      content: [
        { type: "text", text: "So." },
        { type: "refusal", refusal: "No." },
      ],
    }),
    messages(hi, {
      role: "assistant",
      content: [
        { type: "refusal", refusal: "No." },
        { type: "refusal", refusal: "No." },
      ],
    }),
  ],
  "image-urls": [
    "screen.png",
    "data:image/png;base64,",
    "data:image/png;base64,!!!!",
    url("image/tiff", pngBytes),
    url("application/pdf", pdfBytes),
    Buffer.from(pngBytes).toString("base64"),
  ].map((at) => but({ "messages[2].content[1].image_url.url": at })),
  "image-bytes": [
    url("image/png", jpegBytes),
    url("image/png", pngBytes.subarray(0, 12)),
    url("image/gif", animatedGif),
  ].map((at) => but({ "messages[2].content[1].image_url.url": at })),
  "files-whole": [
    file({}),
    file({ filename: "a.pdf" }),
    file({ file_data: url("application/pdf", pdfBytes) }),
  ],
  "files-are-pdf": [
    file({ filename: "a.txt", file_data: url("text/plain", Buffer.from("hi")) }),
    file({ filename: "a.pdf", file_data: url("application/pdf", Buffer.from("hi")) }),
    file({ filename: "a.pdf", file_data: Buffer.from(pdfBytes).toString("base64") }),
  ],
  names: [but({ "messages[2].name": "Alice B." })],
  "well-formed": [but({ "messages[9].content": "cut off: \ud83d" })],
  "image-count": [
    messages({
      role: "user",
      content: Array.from({ length: maxImages + 1 }, () => image(url("image/png", pngBytes))),
    }),
  ],
  "body-bytes": [
    messages(...Array.from({ length: 5 }, () => ({ role: "user", content: "x".repeat(maxBodyBytes / 5) }))),
  ],
};
