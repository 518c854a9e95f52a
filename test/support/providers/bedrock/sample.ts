import { bytesOf, gif, gifFrame, jpeg, png, sof, vp8, webp } from "../../media-files.js";
import { signatureOf } from "./state.js";
import type { BedrockRequest } from "./wire.js";

export const claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
export const newClaude = "us.anthropic.claude-sonnet-5-v1:0";
export const nova = "amazon.nova-pro-v1:0";
export const llama = "us.meta.llama4-maverick-17b-instruct-v1:0";
export const pixtral = "us.mistral.pixtral-large-2502-v1:0";
export const writer = "us.writer.palmyra-x5-v1:0";

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const size = { width: 4, height: 3 };

/** One small file of each kind, as base64. */
export const samples = {
  png: encoded(png(size)),
  jpeg: encoded(jpeg(sof(size))),
  gif: encoded(gif(size, [gifFrame(9)])),
  webp: encoded(webp(vp8(size))),
  pdf: encoded(bytesOf("%PDF-1.7\n")),
  csv: encoded(bytesOf("name,age\nAda,36\n")),
  widePng: encoded(png({ width: 8001, height: 1 })),
  largePng: encoded(bytesOf(png(size), new Uint8Array(3_750_001))),
  largeText: encoded(new Uint8Array(4_500_001).fill(0x61)),
};

type Json = Record<string, unknown>;

export const text = (words: string): Json => ({ text: words });
export const image = (format: string, bytes: string): Json => ({ image: { format, source: { bytes } } });
export const document = (name: string, format = "pdf", bytes = samples.pdf): Json => ({
  document: { name, format, source: { bytes } },
});
export const call = (toolUseId: string, more: Json = {}): Json => ({
  toolUse: { toolUseId, name: "read", input: { path: "a.png" }, ...more },
});
export const result = (toolUseId: string, more: Json = {}): Json => ({
  toolResult: { toolUseId, content: [text("done")], status: "success", ...more },
});
export const reasoning = (about: string, model = claude): Json => ({
  reasoningContent: { reasoningText: { text: about, signature: signatureOf(model, about) } },
});
export const cachePoint: Json = { cachePoint: { type: "default" } };
export const user = (...content: readonly Json[]): Json => ({ role: "user", content });
export const assistant = (...content: readonly Json[]): Json => ({ role: "assistant", content });

const toolConfig = { tools: [{ toolSpec: { name: "read", inputSchema: { json: { type: "object" } } } }] };

/** A request of these messages. */
export function asking(
  messages: readonly Json[],
  { to = claude, ...more }: { readonly to?: string } & Json = {},
): BedrockRequest {
  return { model: to, body: { messages, toolConfig, ...more } };
}

/** A conversation with everything in it that Claude takes. */
const validMessages: readonly Json[] = [
  user(
    text("Look at these."),
    image("png", samples.png),
    image("gif", samples.gif),
    document("Report (2) [draft]"),
    cachePoint,
  ),
  assistant(
    reasoning("Two files."),
    { reasoningContent: { redactedContent: signatureOf(claude, "hidden") } },
    text("I see a picture."),
    call("tooluse_1"),
    call("tooluse_2"),
  ),
  user(
    result("tooluse_1", {
      content: [text("here"), image("webp", samples.webp), document("Table", "csv", samples.csv)],
    }),
    result("tooluse_2", { content: [text("no such file")], status: "error" }),
    text("Both, please."),
    { image: { format: "jpeg", source: { s3Location: { uri: "s3://bucket/a.jpg" } } } },
  ),
  assistant(text("It is")),
];

export const validRequest: BedrockRequest = asking(validMessages, {
  system: [text("Be brief."), cachePoint],
});
