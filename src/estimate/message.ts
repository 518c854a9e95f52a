import type {
  ContextMessage,
  ImageBlock,
  OpaqueBlock,
  ReplayDecision,
  StoredResource,
  TextBlock,
  ThinkingBlock,
  ToolCall,
} from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { jsonPieces } from "../internal/json-pieces.js";
import { unreachable } from "../internal/unreachable.js";
import type { PdfFamily } from "./document.js";
import { mostImageTokens } from "./image.js";
import type { ImageFamily, ImageTokenRule } from "./image-rules.js";
import { estimateResourceTokens } from "./resource.js";
import { byRuns, type TextEstimator } from "./text.js";

/** How {@link estimateMessageTokens} counts. */
export interface MessageTokenOptions {
  /** By default {@link byRuns}. */
  readonly text?: TextEstimator;
  /** What an image costs: a family's name, or a rule. By default `anthropic`. */
  readonly image?: ImageFamily | ImageTokenRule;
  /** What a page of PDF costs. By default `anthropic`. */
  readonly pdf?: PdfFamily;
  /**
   * What of an attachment is sent. By default its description alone: pass what the projection will decide. `full` counts
   * the description too, since it stands beside the bytes.
   */
  readonly replay?: (resource: StoredResource) => ReplayDecision;
}

/**
 * About how many tokens a message costs, a whole number: its text, thinking, calls with their arguments, images and
 * attachments. Signatures, details for programs and what is excluded from context cost nothing, and neither do the few
 * tokens that a provider puts around a message. An image whose size is not known costs the most that one can. With
 * `{ text: byLength, image: { kind: "flat", tokens: 1200 } }` it is what pi 0.73.1 counts, which gives nothing for images
 * of users.
 *
 * @throws TypeError when `message` is none.
 * @example
 * ```ts
 * estimateMessageTokens(userMessage("What is wrong here?")); // 5
 * estimateMessageTokens(userMessage("What is wrong here?"), { text: byLength }); // 5
 * ```
 */
export function estimateMessageTokens(message: ContextMessage, options: MessageTokenOptions = {}): number {
  const role: unknown = (message as { readonly role?: unknown } | null | undefined)?.role;
  if (typeof role !== "string") throw new TypeError(`message.role: expected a string, got ${describe(role)}`);
  const text = options.text ?? byRuns;
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

type Block = TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock;
type Content = string | readonly Block[];

function contentTokens(content: Content, text: TextEstimator, options: MessageTokenOptions): number {
  if (typeof content === "string") return text(content);
  return content.reduce((sum, block) => sum + blockTokens(block, text, options), 0);
}

function blockTokens(block: Block, text: TextEstimator, options: MessageTokenOptions): number {
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
    case "opaque":
      return jsonTokens(block.data, text);
    default:
      return unreachable(block);
  }
}

function resourceTokens(
  description: string,
  resource: StoredResource,
  text: TextEstimator,
  { image = "anthropic", pdf = "anthropic", replay }: MessageTokenOptions,
): number {
  const decision = replay?.(resource) ?? "describe";
  if (decision === "omit") return 0;
  const described = text(description);
  return decision === "describe" ? described : described + estimateResourceTokens(resource, { image, pdf });
}

function jsonTokens(value: unknown, text: TextEstimator): number {
  let tokens = 0;
  for (const piece of jsonPieces(value)) tokens += text(piece);
  return tokens;
}
