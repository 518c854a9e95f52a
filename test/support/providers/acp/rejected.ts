import type { ContentBlock, PromptCapabilities } from "@agentclientprotocol/sdk";
import { base64, bytesOf, gif, pdf, png } from "../../../attachments/samples.js";
import type { Rejected } from "../rejected.js";
import { type AcpPromptSent, maxPromptBytes } from "./rules.js";

/** What an agent can say that it takes. */
export const everything: PromptCapabilities = { image: true, audio: true, embeddedContext: true };

/** A prompt that is right, and to whom. */
export interface AcceptedPrompt extends AcpPromptSent {
  readonly prompt: ContentBlock[];
}

const text = (said: string) => ({ type: "text" as const, text: said });
const image = (more: object = {}) => ({
  type: "image" as const,
  data: base64(png()),
  mimeType: "image/png",
  ...more,
});
const uri = "attachment:///res_1/report.pdf";
const link = (more: object = {}) => ({
  type: "resource_link" as const,
  uri: "file:///ws/a%20b",
  name: "a b",
  ...more,
});

/** What an agent takes. */
export const accepted: Readonly<Record<string, AcceptedPrompt>> = {
  "what every agent takes": {
    prompt: [text("Look at this."), link({ size: 3, mimeType: "text/plain" })],
    capabilities: {},
  },
  "every kind of block": {
    prompt: [
      text("What is wrong here? ✓ 🧷"),
      image({ uri: "attachment:///res_1/screen.png", _meta: { "example.com/x": 1 } }),
      image({ data: base64(gif), mimeType: "image/gif", uri: null }),
      {
        type: "resource",
        resource: { uri, mimeType: "application/pdf", blob: base64(pdf) },
        annotations: { audience: ["user"] },
      },
      { type: "resource", resource: { uri: "urn:example:a,b", mimeType: "text/markdown", text: "" } },
      { type: "resource", resource: { uri, text: "of no type" } },
      link({ title: "A", description: null }),
    ],
    capabilities: everything,
  },
  "as much as a connection takes": {
    prompt: [text("a".repeat(maxPromptBytes - 40))],
    capabilities: everything,
  },
};

const sent = (...prompt: readonly unknown[]): AcpPromptSent => ({ prompt, capabilities: everything });
const bare = (...prompt: readonly unknown[]): AcpPromptSent => ({ prompt, capabilities: {} });
const embedded = (resource: object) => ({ type: "resource", resource: { uri, ...resource } });

/** What one rule each refuses. */
export const rejected: readonly Rejected<AcpPromptSent>[] = [
  { rule: "schema", what: "text in place of blocks", body: { prompt: "hello", capabilities: everything } },
  { rule: "schema", what: "text in place of a block", body: sent("hello") },
  { rule: "schema", what: "a block of another protocol", body: sent({ type: "document" }) },
  { rule: "schema", what: "a text block without text", body: sent({ type: "text" }) },
  {
    rule: "schema",
    what: "an image without a media type",
    body: sent({ type: "image", data: base64(png()) }),
  },
  { rule: "schema", what: "a link without a name", body: sent({ type: "resource_link", uri: "a:b" }) },
  { rule: "schema", what: "a link without an address", body: sent({ type: "resource_link", name: "a" }) },
  { rule: "schema", what: "a resource with neither text nor bytes", body: sent(embedded({})) },
  { rule: "schema", what: "half a byte, which a reader drops", body: sent(link({ size: 1.5 })) },
  { rule: "no-custom-fields", what: "a cache marker", body: sent(image({ cache_control: {} })) },
  {
    rule: "no-custom-fields",
    what: "a name in a resource",
    body: sent(embedded({ text: "a", name: "a.txt" })),
  },
  { rule: "image-capability", what: "an image that the agent does not take", body: bare(image()) },
  {
    rule: "audio-capability",
    what: "sound that the agent does not take",
    body: bare({ type: "audio", data: "AAEC", mimeType: "audio/wav" }),
  },
  {
    rule: "embedded-capability",
    what: "a resource that the agent does not take",
    body: bare(embedded({ text: "a" })),
  },
  { rule: "base64", what: "no padding", body: sent(embedded({ mimeType: "a/b", blob: "AAECAw" })) },
  {
    rule: "base64",
    what: "a data URL",
    body: sent(image({ data: `data:image/png;base64,${base64(png())}` })),
  },
  { rule: "media-type", what: "half a type", body: sent(embedded({ mimeType: "pdf", blob: "AAEC" })) },
  {
    rule: "media-type",
    what: "a PDF as an image",
    body: sent(image({ data: base64(pdf), mimeType: "application/pdf" })),
  },
  { rule: "bytes-agree", what: "a GIF that is said to be a PNG", body: sent(image({ data: base64(gif) })) },
  {
    rule: "bytes-agree",
    what: "an error page in place of a PDF",
    body: sent(embedded({ mimeType: "application/pdf", blob: base64(bytesOf("<html>")) })),
  },
  { rule: "uri", what: "a path", body: sent(embedded({ uri: "src/main.rs", text: "a" })) },
  { rule: "uri", what: "an image's path", body: sent(image({ uri: "C:\\shots\\a.png" })) },
  { rule: "uri", what: "a space", body: sent(link({ uri: "file:///ws/a b" })) },
  { rule: "name", what: "a name that shows nothing", body: sent(link({ name: "" })) },
  { rule: "text", what: "no text", body: sent(text("")) },
  { rule: "text", what: "white space", body: sent(text("\t")) },
  { rule: "something-said", what: "an empty prompt", body: sent() },
  { rule: "utf-8", what: "half a pair", body: sent(text("a \ud83d b")) },
  { rule: "size", what: "a prompt that closes the connection", body: sent(text("a".repeat(maxPromptBytes))) },
];
