import { base64, bytesOf, gif, pdf, png } from "../../../attachments/samples.js";
import type { Rejected } from "../rejected.js";
import { maxPromptBytes } from "./rules.js";

const message = (content: unknown, role: unknown = "user") => ({ role, content });
const prompt = (...contents: readonly unknown[]) => ({
  messages: contents.map((content) => message(content)),
});
const image = (more: object = {}) => ({ type: "image", data: base64(png()), mimeType: "image/png", ...more });
const embedded = (resource: object) => ({
  type: "resource",
  resource: { uri: "attachment:///res_1/report.pdf", mimeType: "application/pdf", ...resource },
});
const link = (more: object = {}) => ({
  type: "resource_link",
  uri: "https://example.com/a%20b?c=1",
  name: "a b",
  ...more,
});

/** What a client may get from `prompts/get`. */
export const accepted: Readonly<Record<string, unknown>> = {
  "no messages": { messages: [] },
  "every kind of block, of both roles, one role twice in a row": {
    description: "A session",
    messages: [
      message({ type: "text", text: "What is wrong here? ✓ 🧷" }),
      message(image({ annotations: { audience: ["user"], priority: 1 }, _meta: { "example.com/x": 1 } })),
      message(image({ data: base64(gif), mimeType: "image/gif" })),
      message(embedded({ blob: base64(pdf) }), "assistant"),
      message(embedded({ uri: "urn:example:a,b", mimeType: "text/markdown; charset=utf-8", text: "" })),
      message(embedded({ mimeType: "application/x-unknown", blob: base64(Uint8Array.of(0, 1, 2)) })),
      message(link({ mimeType: "text/html", size: 3, title: "A", description: "B" })),
    ],
  },
  "as much as a connection takes": prompt({ type: "text", text: "a".repeat(maxPromptBytes - 70) }),
};

const textOf = (text: string) => prompt({ type: "text", text });

/** What one rule each refuses. */
export const rejected: readonly Rejected<unknown>[] = [
  { rule: "schema", what: "no messages at all", body: {} },
  {
    rule: "schema",
    what: "a system message",
    body: { messages: [message({ type: "text", text: "a" }, "system")] },
  },
  { rule: "schema", what: "several blocks in a message", body: prompt([{ type: "text", text: "a" }]) },
  { rule: "schema", what: "text in place of a block", body: prompt("a") },
  { rule: "schema", what: "a block of another protocol", body: prompt({ type: "document", title: "a" }) },
  {
    rule: "schema",
    what: "an image without a media type",
    body: prompt({ type: "image", data: base64(png()) }),
  },
  { rule: "schema", what: "a link without a name", body: prompt({ type: "resource_link", uri: "a:b" }) },
  { rule: "schema", what: "a resource with neither text nor bytes", body: prompt(embedded({})) },
  { rule: "schema", what: "a priority beyond 1", body: prompt(image({ annotations: { priority: 2 } })) },
  { rule: "nothing-unknown", what: "ACP's address of an image", body: prompt(image({ uri: "a:b" })) },
  {
    rule: "nothing-unknown",
    what: "a cache marker",
    body: prompt(image({ cache_control: { type: "ephemeral" } })),
  },
  {
    rule: "nothing-unknown",
    what: "text beside bytes",
    body: prompt(embedded({ text: "a", blob: base64(pdf) })),
  },
  {
    rule: "base64",
    what: "no padding",
    body: prompt(embedded({ mimeType: "a/b", blob: "AAECAw" })),
  },
  { rule: "base64", what: "a line break", body: prompt(image({ data: `${base64(png())}\n` })) },
  { rule: "base64", what: "bits that are lost", body: prompt(embedded({ mimeType: "a/b", blob: "AB==" })) },
  { rule: "base64", what: "no bytes", body: prompt(image({ data: "" })) },
  { rule: "media-type", what: "no type", body: prompt(embedded({ mimeType: undefined, blob: "AAEC" })) },
  { rule: "media-type", what: "half a type", body: prompt(embedded({ mimeType: "pdf", blob: "AAEC" })) },
  {
    rule: "bytes-agree",
    what: "a GIF that is said to be a PNG",
    body: prompt(image({ data: base64(gif) })),
  },
  {
    rule: "bytes-agree",
    what: "an image of unknown bytes",
    body: prompt(image({ data: "AAEC" })),
  },
  {
    rule: "media-type",
    what: "a PDF as an image",
    body: prompt(image({ data: base64(pdf), mimeType: "application/pdf" })),
  },
  {
    rule: "bytes-agree",
    what: "an error page in place of a PDF",
    body: prompt(embedded({ blob: base64(bytesOf("<html>")) })),
  },
  {
    rule: "text-media-type",
    what: "text of no type",
    body: prompt(embedded({ mimeType: undefined, text: "a" })),
  },
  { rule: "uri", what: "a path", body: prompt(embedded({ uri: "/home/me/report.pdf", blob: base64(pdf) })) },
  { rule: "uri", what: "a space", body: prompt(link({ uri: "https://example.com/a b" })) },
  { rule: "uri", what: "letters beyond ASCII", body: prompt(link({ uri: "https://example.com/é" })) },
  { rule: "uri", what: "half an escape", body: prompt(link({ uri: "https://example.com/%e" })) },
  { rule: "uri", what: "a scheme alone", body: prompt(link({ uri: "https:" })) },
  { rule: "name", what: "a name that shows nothing", body: prompt(link({ name: " " })) },
  { rule: "text", what: "no text", body: textOf("") },
  { rule: "text", what: "white space", body: textOf(" \n") },
  { rule: "utf-8", what: "half a pair", body: textOf("a \ud83d b") },
  { rule: "utf-8", what: "half a pair in a name", body: prompt(link({ name: "\udc00" })) },
  { rule: "size", what: "a prompt that closes the connection", body: textOf("a".repeat(maxPromptBytes)) },
];
