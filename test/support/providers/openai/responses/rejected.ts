import { changed } from "../changed.js";
import { animatedGif, jpegBytes, pdfBytes, pngBytes, url } from "../samples.js";
import { maxBodyBytes, maxImages, maxTextLength } from "../size.js";
import type { ResponsesLedger } from "./ledger.js";
import { validResponses } from "./valid.js";

const rich = validResponses();
const but = (values: Readonly<Record<string, unknown>>): unknown => changed(rich, values);
const input = (...items: readonly unknown[]): unknown => ({ model: "gpt-5.6", store: false, input: items });
const hi = { role: "user", content: "Hi" };
const call = (id: string, name = "read") => ({ type: "function_call", call_id: id, name, arguments: "{}" });
const output = (id: string) => ({ type: "function_call_output", call_id: id, output: "ok" });
const reasoning = (id: string) => ({ type: "reasoning", id, summary: [], encrypted_content: "gAAAx" });
const said = (text: string) => ({ role: "assistant", content: text });
const message = (id: string) => ({
  type: "message",
  role: "assistant",
  id,
  status: "completed",
  content: [{ type: "output_text", text: "Hi", annotations: [] }],
});
const image = (at: string) => ({ type: "input_image", detail: "auto", image_url: at });
const file = (of: object) => input({ role: "user", content: [{ type: "input_file", ...of }] });

/** What the API knows when it gets these requests. */
export const rejectedLedger: ResponsesLedger = {
  stored: new Set(["rs_stored"]),
  reasoningOf: new Map([
    ["fc_known", "rs_known"],
    ["msg_known", "rs_known"],
  ]),
  encrypted: new Map([["rs_known", "gAAAknown"]]),
};

/** For each rule of Responses, requests that break it and are valid but for that. */
export const rejectedResponses: Readonly<Record<string, readonly unknown[]>> = {
  "unknown-parameter": [
    but({ "input[4].parsed_arguments": { path: "a" } }),
    but({ "input[1].content[4].media_type": "application/pdf" }),
    but({ "input[4].created_by": "me" }),
  ],
  "missing-parameter": [but({ "input[7].output": undefined }), but({ "input[2].summary": undefined })],
  types: [but({ "input[4].arguments": { path: "a" } }), but({ "input[0].content": 5 })],
  values: [
    but({ "input[1].content[1].detail": "max" }),
    but({ "input[3].status": "done" }),
    but({ "input[9].type": "walk" }),
    but({ "input[6].output[0]": { type: "output_text", text: "two", annotations: [] } }),
  ],
  "calls-answered": [
    input(hi, call("call_1")),
    input(hi, call("call_1"), call("call_2"), output("call_2"), hi),
  ],
  "outputs-follow-calls": [input(hi, output("call_1"))],
  "outputs-once": [input(hi, call("call_1"), output("call_1"), output("call_1"))],
  "call-ids-unique": [input(hi, call("call_1"), call("call_1"), output("call_1"))],
  "call-ids": ["", "c".repeat(65)].map((id) => input(hi, call(id), output(id))),
  "function-names": ["", "a.b", "two words", "n".repeat(129)].map((name) =>
    input(hi, call("call_1", name), output("call_1")),
  ),
  "arguments-json": [but({ "input[4].arguments": '{"path":' })],
  "input-not-empty": [input()],
  "item-ids": [
    input(hi, { ...call("call_1"), id: "call_1" }, output("call_1")),
    input(hi, { ...call("call_1"), id: "" }, output("call_1")),
    input(hi, { ...call("call_1"), id: `fc_${"x".repeat(62)}` }, output("call_1")),
    input(hi, message("fc_1"), hi),
    input(hi, message("msg_a+b/c="), hi),
    input(hi, reasoning("x"), said("Hi"), hi),
  ],
  "item-ids-unique": [
    input(hi, message("msg_1"), hi, message("msg_1"), hi),
    input(hi, reasoning("rs_1"), said("Hi"), hi, reasoning("rs_1"), said("Hi"), hi),
  ],
  "reasoning-followed": [
    input(hi, reasoning("rs_1")),
    input(hi, reasoning("rs_1"), hi),
    input(hi, reasoning("rs_1"), reasoning("rs_2"), said("Hi"), hi),
    input(hi, call("call_1"), reasoning("rs_1"), output("call_1")),
  ],
  "items-with-their-reasoning": [
    input(hi, { ...call("call_1"), id: "fc_known" }, output("call_1")),
    input(hi, message("msg_known"), hi),
  ],
  "items-not-stored": [
    input(hi, { type: "reasoning", id: "rs_1", summary: [] }, said("Hi"), hi),
    input(hi, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: null }, said("Hi"), hi),
    input({ type: "item_reference", id: "rs_stored" }, said("Hi"), hi),
    { model: "gpt-5.6", input: [{ type: "item_reference", id: "rs_unknown" }, said("Hi"), hi] },
  ],
  "encrypted-content": [
    input(hi, { ...reasoning("rs_1"), encrypted_content: "signature of another" }, said("Hi"), hi),
    input(hi, { ...reasoning("rs_known"), encrypted_content: "gAAAchanged" }, said("Hi"), hi),
  ],
  texts: [
    input({ role: "user", content: "" }),
    input({ role: "user", content: [] }),
    input({ role: "user", content: [{ type: "input_text", text: "" }] }),
    input({ role: "user", content: "x".repeat(maxTextLength + 1) }),
    but({ "input[6].output": [] }),
  ],
  "parts-of-roles": [
    but({ "input[3].content": [{ type: "input_text", text: "Hi" }] }),
    but({ "input[1].content[0]": { type: "output_text", text: "Hi", annotations: [] } }),
  ],
  "image-sources": [but({ "input[1].content[1].image_url": undefined })],
  "image-urls": [
    "screen.png",
    "data:image/png;base64,",
    "data:image/png;base64,!!!!",
    url("application/octet-stream", pngBytes),
    url("application/pdf", pdfBytes),
    Buffer.from(pngBytes).toString("base64"),
  ].flatMap((at) => [
    but({ "input[1].content[1].image_url": at }),
    but({ "input[6].output[1].image_url": at }),
  ]),
  "image-bytes": [
    url("image/png", jpegBytes),
    url("image/png", pngBytes.subarray(0, 12)),
    url("image/gif", animatedGif),
  ].map((at) => but({ "input[1].content[1].image_url": at })),
  "files-whole": [
    file({}),
    file({ filename: "a.pdf" }),
    file({ file_data: url("application/pdf", pdfBytes) }),
  ],
  "file-data": [
    file({ filename: "a.pdf", file_data: url("application/pdf", Buffer.from("hi")) }),
    file({ filename: "a.txt", file_data: url("text/plain", pdfBytes) }),
    file({ filename: "a.pdf", file_data: Buffer.from(pdfBytes).toString("base64") }),
    file({ filename: "a.pdf", file_data: "https://example.com/example.pdf" }),
  ],
  "well-formed": [but({ "input[0].content": "cut off: \ud83d" })],
  "image-count": [
    input({
      role: "user",
      content: Array.from({ length: maxImages + 1 }, () => image(url("image/png", pngBytes))),
    }),
  ],
  "body-bytes": [
    input(...Array.from({ length: 5 }, () => ({ role: "user", content: "x".repeat(maxBodyBytes / 5) }))),
  ],
};
