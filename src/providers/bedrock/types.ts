/**
 * Types of a Converse request, as far as a projection writes it. Each is assignable to its counterpart in
 * `@aws-sdk/client-bedrock-runtime` without importing it. Values are mutable, as in that package.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (stored copy,
 *   2026-11-21), and the types of `@aws-sdk/client-bedrock-runtime` 3.1162
 */

import type { Json } from "../../core/json.js";

/** The conversation, and the instructions if there are any. */
export interface BedrockRequest {
  messages: BedrockMessage[];
  system?: BedrockSystemBlock[];
}

/** One turn. */
export interface BedrockMessage {
  role: "user" | "assistant";
  content: BedrockBlock[];
}

/** Instructions, or a cache point after them. */
export type BedrockSystemBlock = BedrockText | BedrockCachePoint;

/** A block of a message. */
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

/** Bytes, which the client encodes, or an S3 URI. */
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

/** Reasoning, or redacted reasoning. */
export type BedrockReasoning =
  | { reasoningText: { text: string; signature: string } }
  | { redactedContent: Uint8Array };
