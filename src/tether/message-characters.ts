import type {
  ContextMessage,
  ImageBlock,
  OpaqueBlock,
  TextBlock,
  ThinkingBlock,
  ToolCall,
} from "../content/index.js";
import { jsonPieces } from "../internal/json-pieces.js";
import { unreachable } from "../internal/unreachable.js";

/** What an image counts for in {@link windowContext}, in characters. */
export const imageCharacters = 2000;

type Block = TextBlock | ImageBlock | ThinkingBlock | ToolCall | OpaqueBlock;

/**
 * What a message counts for: its text, thinking and calls by their length in UTF-16 code units, an image, stored or inline, by a
 * fixed cost. What no model is shown counts nothing: signatures, details for programs, commands that are excluded.
 */
export function messageCharacters(message: ContextMessage): number {
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
    case "custom":
      return contentCharacters(message.content);
    case "system": {
      let sum = contentCharacters(message.content);
      for (const section of Object.values(message.sections ?? {})) sum += section?.length ?? 0;
      return message.toolsAdded === undefined ? sum : sum + jsonCharacters(message.toolsAdded);
    }
    case "bashExecution":
      return message.excludeFromContext === true ? 0 : message.command.length + message.output.length;
    case "compactionSummary":
    case "branchSummary":
      return message.summary.length;
    default:
      return unreachable(message);
  }
}

function contentCharacters(content: string | readonly Block[]): number {
  if (typeof content === "string") return content.length;
  let sum = 0;
  for (const block of content) sum += blockCharacters(block);
  return sum;
}

function blockCharacters(block: Block): number {
  switch (block.type) {
    case "text":
      return block.resource?.kind === "image" ? imageCharacters : block.text.length;
    case "image":
      return imageCharacters;
    case "thinking":
      return block.thinking.length;
    case "toolCall":
      return block.name.length + jsonCharacters(block.arguments);
    case "opaque":
      return jsonCharacters(block.data);
    default:
      return unreachable(block);
  }
}

function jsonCharacters(value: unknown): number {
  let sum = 0;
  for (const piece of jsonPieces(value)) sum += piece.length;
  return sum;
}
