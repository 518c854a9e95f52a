/** Estimates the tokens of a message and of an attachment. */

import { describe, integerArgument, unreachable } from "../../core/arguments.js";
import { jsonPieces } from "../../core/json.js";
import { modelFacts } from "../../providers/models/internal.js";
import {
  type ContextMessage,
  describeResource,
  type ImageBlock,
  type OpaqueBlock,
  type ReplayDecision,
  type StoredResource,
  type TextBlock,
  type ThinkingBlock,
  type ToolCall,
} from "../index.js";
import { opaqueMedia, withReferences } from "../internal.js";
import { estimateImageTokens, type ImageFamily, type ImageTokenRule, mostImageTokens } from "./image.js";
import { type TextEstimator, textEstimator } from "./text.js";

/** Options of {@link estimateMessageTokens}. */
export interface MessageTokenOptions {
  /**
   * Counts as this model does, by any form of its name: its vocabulary, images and pages, and the tokens that
   * frame a message and a call. The other options take precedence.
   */
  readonly model?: string | undefined;
  /** @default "fitted" */
  readonly text?: TextEstimator | undefined;
  /** The cost of an image: a family's name, or a rule. @default "anthropic", or by `model` */
  readonly image?: ImageFamily | ImageTokenRule | undefined;
  /** The cost of a PDF page. @default "anthropic", or by `model` */
  readonly pdf?: PdfFamily | undefined;
  /**
   * The part of an attachment that is sent: pass the decision of the projection. `full` also counts the
   * description, which is sent beside the bytes. By default the description alone.
   */
  readonly replay?: (resource: StoredResource) => ReplayDecision;
}

/**
 * Estimates the tokens of a message, rounded up: its text, thinking, tool calls with their arguments, images
 * and attachments. Signatures, `details` and messages excluded from context count 0, and without a `model`
 * the provider's framing tokens too. An image of unknown size counts as the largest one. `{ text: "chars/4", image: { kind: "flat",
 * tokens: 1200 } }` counts as pi 0.73.1 does, except that pi counts 0 for images of users.
 *
 * @throws TypeError if `message` is not a message
 * @example
 * ```ts
 * estimateMessageTokens(userMessage("What is wrong here?")); // 5
 * estimateMessageTokens(userMessage("What is wrong here?"), { text: "chars/4" }); // 5
 * ```
 */
export function estimateMessageTokens(message: ContextMessage, options: MessageTokenOptions = {}): number {
  const { model } = options;
  if (model === undefined) return contentOfMessage(message, options);
  const { tokens, image, pdf } = modelFacts(model);
  const counted = contentOfMessage(message, {
    ...options,
    text: options.text ?? { model },
    image: options.image ?? image,
    pdf: options.pdf ?? pdf,
  });
  if (message.role === "bashExecution" && message.excludeFromContext === true) return counted;
  const calls = message.role === "assistant" ? message.content.filter(({ type }) => type === "toolCall") : [];
  return Math.ceil(counted + tokens.message + tokens.call * calls.length);
}

function contentOfMessage(message: ContextMessage, options: MessageTokenOptions): number {
  const role: unknown = (message as { readonly role?: unknown } | null | undefined)?.role;
  if (typeof role !== "string") throw new TypeError(`message.role: expected a string, got ${describe(role)}`);
  const text = textEstimator(options.text);
  const content = (blocks: Content) => contentTokens(blocks, text, options);
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
    case "custom":
      return Math.ceil(content(message.content));
    case "system": {
      const sections = Object.values(message.sections ?? {}).reduce(
        (sum, section) => sum + (section === null ? 0 : text(section)),
        0,
      );
      const tools = message.toolsAdded === undefined ? 0 : jsonTokens(message.toolsAdded, text);
      return Math.ceil(content(message.content) + sections + tools);
    }
    case "bashExecution":
      return message.excludeFromContext === true
        ? 0
        : Math.ceil(text(message.command) + text(message.output));
    case "compactionSummary":
    case "branchSummary":
      return Math.ceil(text(message.summary));
    default:
      return unreachable(message);
  }
}

type CountText = (text: string) => number;
type Block = TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock;
type Content = string | readonly Block[];

function contentTokens(content: Content, text: CountText, options: MessageTokenOptions): number {
  if (typeof content === "string") return text(content);
  return content.reduce((sum, block) => sum + blockTokens(block, text, options), 0);
}

function blockTokens(block: Block, text: CountText, options: MessageTokenOptions): number {
  switch (block.type) {
    case "text":
      return block.resource?.kind === "image" || block.resource?.kind === "file"
        ? resourceTokens(block.text, block.resource, text, options)
        : text(block.text);
    case "thinking":
      return text(block.thinking);
    case "image":
      return mostImageTokens(options.image ?? "anthropic");
    case "toolCall":
      return text(block.name) + jsonTokens(block.arguments, text);
    case "opaque": {
      const inline = opaqueMedia(block.data);
      const data = inline.length === 0 ? block.data : withReferences(block.data, () => "");
      const stored = (block.resources ?? []).map((resource) =>
        resourceTokens(describeResource(resource), resource, text, options),
      );
      const images = inline.filter(({ imageType }) => imageType !== undefined).length;
      const most = images === 0 ? 0 : images * mostImageTokens(options.image ?? "anthropic");
      return stored.reduce((sum, tokens) => sum + tokens, jsonTokens(data, text) + most);
    }
    default:
      return unreachable(block);
  }
}

function resourceTokens(
  description: string,
  resource: StoredResource,
  text: CountText,
  { image = "anthropic", pdf = "anthropic", replay }: MessageTokenOptions,
): number {
  const decision = replay?.(resource) ?? "describe";
  if (decision === "omit") return 0;
  const described = text(description);
  return decision === "describe" ? described : described + estimateResourceTokens(resource, { image, pdf });
}

function jsonTokens(value: unknown, text: CountText): number {
  let tokens = 0;
  for (const piece of jsonPieces(value)) tokens += text(piece);
  return tokens;
}

/**
 * The maximum tokens of a PDF page: its text, and on Claude its picture.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/pdf-support (stored copy, 2026-11-21): 1500 to
 *   3000 for the text of a page, and the cost of an image; users measured 2750 to 3150 for both together
 * @see https://ai.google.dev/gemini-api/docs/document-processing (stored copy, 2026-11-21)
 */
const pageTokens: Readonly<Record<PdfFamily, number>> = { anthropic: 3000 + 1568, gemini: 258 };

/** A provider with a known price for a PDF page. */
export type PdfFamily = "anthropic" | "gemini";

/** A guess, for a PDF whose pages cannot be counted. */
const bytesPerPage = 50_000;
/** Between prose and compact JSON. */
const bytesPerToken = 3;

/** The properties of an attachment that its cost depends on. A stored resource has them. */
export interface AttachmentSize {
  readonly mediaType: string;
  readonly size: number;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  /** Of a PDF. If unknown, its size decides. */
  readonly pages?: number | undefined;
}

/**
 * Estimates the tokens of an attachment's bytes in a request. An image of unknown size counts as the largest
 * one. A file that is neither PDF nor text counts 0.
 *
 * @param rules for images a family's name or a rule, for PDF a family's name; both are `anthropic` by default
 * @throws RangeError for a PDF whose `size` is not an integer >= 0; TypeError for an unknown family
 * @example
 * ```ts
 * const tokens = estimateResourceTokens(screenshot, { image: "gemini3" });
 * ```
 */
export function estimateResourceTokens(
  { mediaType, size, width, height, pages }: AttachmentSize,
  rules: {
    readonly image?: ImageFamily | ImageTokenRule | undefined;
    readonly pdf?: PdfFamily | undefined;
  } = {},
): number {
  const { image = "anthropic", pdf = "anthropic" } = rules;
  if (mediaType.startsWith("image/")) {
    const isKnown = isCount(width) && isCount(height);
    return isKnown ? estimateImageTokens({ width, height }, image) : mostImageTokens(image);
  }
  if (mediaType === "application/pdf") return pdfTokens(size, pages, pdf);
  return mediaType.startsWith("text/") ? Math.ceil(size / bytesPerToken) : 0;
}

function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function pdfTokens(size: number, pages: number | undefined, family: PdfFamily): number {
  if (!Object.hasOwn(pageTokens, family)) {
    const names = Object.keys(pageTokens).join(", ");
    throw new TypeError(`pdf: expected one of ${names}, got ${describe(family)}`);
  }
  const guess = Math.max(1, Math.ceil(integerArgument("size", size, 0) / bytesPerPage));
  return (isCount(pages) ? pages : guess) * pageTokens[family];
}
