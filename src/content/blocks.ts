import type { Resource } from "./resource.js";

/** Text. With `resource` it is an attachment's place in the message, and the text is its descriptor. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  /** What this block stands for; see {@link describeResource}. */
  readonly resource?: Resource;
  /** A provider's opaque mark on this text, sent back verbatim. */
  readonly textSignature?: string;
}

/**
 * An image inline as base64. Accepted on load, since other writers use it. A session that it is appended to stores it in its
 * `blobs`, or refuses it over 1 KiB.
 */
export interface ImageBlock {
  readonly type: "image";
  /** Base64 as RFC 4648 section 4, without a data URL prefix. */
  readonly data: string;
  readonly mimeType: string;
}

/** A model's reasoning. The signature goes back verbatim to the provider and model that made it. */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  readonly thinkingSignature?: string;
  /** The provider withheld the text; `thinkingSignature` carries its encrypted form. */
  readonly redacted?: boolean;
}

/** A request by the model to run a tool. */
export interface ToolCall {
  readonly type: "toolCall";
  /** Pairs the call with its result. */
  readonly id: string;
  readonly name: string;
  /** A JSON value, by custom an object. */
  readonly arguments: unknown;
  /** The group of tools that the name is one of, where a provider has such groups. */
  readonly namespace?: string;
  readonly thoughtSignature?: string;
}

/** A block that this version does not know, kept as it came. */
export interface OpaqueBlock {
  readonly type: "opaque";
  /** The block as the provider or another writer made it. */
  readonly data: unknown;
}
