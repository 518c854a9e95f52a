import type { Json } from "../../internal/copy-json.js";

/**
 * What `Converse` takes, as far as a projection writes it: each type fits the one of the same meaning in
 * `@aws-sdk/client-bedrock-runtime`, without importing it. Values are mutable, as that package's parameters are.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (stored copy, 2026-11-21), and the types of
 *   `@aws-sdk/client-bedrock-runtime` 3.1162
 */

/** The conversation, and the instructions where there are any. */
export interface BedrockRequest {
  messages: BedrockMessage[];
  system?: BedrockSystemBlock[];
}

/** One turn. */
export interface BedrockMessage {
  role: "user" | "assistant";
  content: BedrockBlock[];
}

/** Instructions, or a mark behind which they are cached. */
export type BedrockSystemBlock = BedrockText | BedrockCachePoint;

/** One thing that was said or shown. */
export type BedrockBlock =
  | BedrockText
  | BedrockImage
  | BedrockDocument
  | BedrockCachePoint
  | { toolUse: { toolUseId: string; name: string; input: Json } }
  | { toolResult: BedrockToolResult }
  | { reasoningContent: BedrockReasoning };

/** Text, never blank. */
export interface BedrockText {
  text: string;
}

/** An image. */
export interface BedrockImage {
  image: { format: "png" | "jpeg" | "gif" | "webp"; source: BedrockSource };
}

/** A document, with a name that is unique in the request. */
export interface BedrockDocument {
  document: { name: string; format: "pdf" | "txt" | "md" | "csv" | "html"; source: BedrockSource };
}

/** Bytes as they are, which the client encodes; or where in S3 they lie. */
export type BedrockSource = { bytes: Uint8Array } | { s3Location: { uri: string } };

/** Up to here a prompt is to be cached. */
export interface BedrockCachePoint {
  cachePoint: { type: "default" };
}

/** The answer to a call. */
export interface BedrockToolResult {
  toolUseId: string;
  content: (BedrockText | BedrockImage | BedrockDocument)[];
  status: "success" | "error";
}

/** Reasoning, or what the provider withheld of it. */
export type BedrockReasoning =
  | { reasoningText: { text: string; signature: string } }
  | { redactedContent: Uint8Array };
