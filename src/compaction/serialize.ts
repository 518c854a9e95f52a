/** Serialises the items of a conversation as bounded text for the summariser. */
import {
  type AssistantMessage,
  type BashExecutionMessage,
  type ContextItem,
  describeResource,
  type ImageBlock,
  isResource,
  type TextBlock,
  type ToolCall,
  toolCalls,
} from "../content/index.js";
import { describeImage, shownBlocks } from "../content/internal.js";
import { integerOption, unreachable } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import { neutralizeRoles } from "./prompts.js";
import { safeLabel, truncateCharacters, truncateJson } from "./truncate.js";

/**
 * The bounds of each item's text in UTF-16 code units, each at least 0. A note replaces and counts the
 * excess.
 */
export interface SerializeBounds {
  /** The texts of a user message. */
  readonly user: number;
  /** The texts of an assistant message. */
  readonly assistant: number;
  /** The reasoning of an assistant message. */
  readonly thinking: number;
  /** One argument of a tool call. */
  readonly argument: number;
  /** All tool calls of an assistant message. */
  readonly calls: number;
  /** The texts of a tool result. */
  readonly toolResult: number;
  /** A command of the user. */
  readonly command: number;
  /** The output of that command. */
  readonly output: number;
  /** An earlier summary, of a compaction or a branch. */
  readonly summary: number;
  /** A custom message. */
  readonly custom: number;
  /** The number of images and attachments of a message that are described. */
  readonly attachments: number;
}

/**
 * The default bounds. 2,000 for a tool result is pi 0.73.1's (`core/compaction/utils.js`, read 2026-11-22).
 * pi has no other bound, so that one long message makes a session that no model can summarise.
 */
export const serializeBounds: SerializeBounds = {
  user: 20_000,
  assistant: 20_000,
  thinking: 4_000,
  argument: 2_000,
  calls: 8_000,
  toolResult: 2_000,
  command: 2_000,
  output: 2_000,
  summary: 60_000,
  custom: 8_000,
  attachments: 50,
};

/**
 * Serialises items as text for the summariser: the role and the text of each, with a blank line between
 * items. The text is safe between the tags of a request: it cannot open or close a tag, nor imitate another
 * role. Attachments appear as descriptors, never as bytes. No boundary is asked; with a boundary, the items
 * come from `dropRefusedAttachments` of `attachments`.
 *
 * The text is well-formed, bounded for each item, linear in the items, and deterministic.
 *
 * @throws RangeError for a bound that is not an integer from 0 on
 */
export function serializeItems(items: readonly ContextItem[], bounds: Partial<SerializeBounds> = {}): string {
  const checked = checkedBounds(bounds);
  return items
    .map((item) => itemText(item, checked))
    .filter((text) => text !== "")
    .join(betweenItems);
}

/**
 * Serialises one item as {@link serializeItems} does; "" for an item without text, for system messages, which
 * the compaction carries over, and for commands that the user hides from the model.
 *
 * @throws RangeError for a bound that is not an integer from 0 on
 */
export function serializeItem(item: ContextItem, bounds: Partial<SerializeBounds> = {}): string {
  return itemText(item, checkedBounds(bounds));
}

/** Separates two items. */
const betweenItems = "\n\n";

function checkedBounds(bounds: Partial<SerializeBounds>): SerializeBounds {
  const checked: Record<string, number> = {};
  for (const name of Object.keys(serializeBounds) as (keyof SerializeBounds)[]) {
    checked[name] = integerOption(name, bounds[name], serializeBounds[name], 0);
  }
  return checked as unknown as SerializeBounds;
}

function itemText({ message }: ContextItem, bounds: SerializeBounds): string {
  switch (message.role) {
    case "user": {
      const name = message.name === undefined ? "" : safeLabel(message.name);
      return labelledText(
        `User${name === "" ? "" : `, ${name}`}`,
        contentText(message.content, bounds.user, bounds),
      );
    }
    case "assistant":
      return assistantText(message, bounds);
    case "toolResult": {
      const text = contentText(message.content, bounds.toolResult, bounds);
      const kind = message.isError ? "Tool error" : "Tool result";
      return labelledText(`${kind} of ${safeLabel(message.toolName)}`, text === "" ? "(no output)" : text);
    }
    case "bashExecution":
      return message.excludeFromContext === true ? "" : labelledText("User ran", bashText(message, bounds));
    case "custom":
      return labelledText(
        `Message of ${safeLabel(message.customType)}`,
        contentText(message.content, bounds.custom, bounds),
      );
    case "compactionSummary":
      return labelledText("Earlier summary", truncateCharacters([message.summary], bounds.summary));
    case "branchSummary":
      return labelledText(
        "Summary of a branch that was left",
        truncateCharacters([message.summary], bounds.summary),
      );
    case "system":
      return "";
    default:
      return unreachable(message);
  }
}

function labelledText(role: string, text: string): string {
  return text === "" ? "" : `[${role}]: ${neutralizeRoles(text)}`;
}

function assistantText(message: AssistantMessage, bounds: SerializeBounds): string {
  const thinking: string[] = [];
  const texts: string[] = [];
  for (const block of message.content) {
    if (block.type === "thinking" && block.redacted !== true) thinking.push(block.thinking);
    else if (block.type === "text") texts.push(blockDescriptor(block) ?? block.text);
    else if (block.type === "image") texts.push(imageText(block));
    else if (block.type === "opaque")
      for (const each of shownBlocks(block))
        texts.push(blockDescriptor(each) ?? (each.type === "text" ? each.text : ""));
  }
  return [
    labelledText("Assistant thinking", truncateCharacters(thinking, bounds.thinking)),
    labelledText("Assistant", truncateCharacters(texts, bounds.assistant)),
    labelledText("Assistant tool calls", callsText(toolCalls(message), bounds)),
  ]
    .filter((text) => text !== "")
    .join(betweenItems);
}

function bashText(message: BashExecutionMessage, bounds: SerializeBounds): string {
  const { command, output, exitCode, cancelled } = message;
  const end = cancelled ? "(cancelled)" : exitCode ? `(exit code ${exitCode})` : "";
  const parts = [
    truncateCharacters([command], bounds.command),
    truncateCharacters([output], bounds.output),
    end,
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** Texts and descriptors in order if all fit; else the truncated texts, then the descriptors. */
function contentText(
  content: string | readonly (TextBlock | ImageBlock)[],
  max: number,
  { attachments }: SerializeBounds,
): string {
  if (typeof content === "string") return truncateCharacters([content], max);
  const texts: string[] = [];
  const descriptors: string[] = [];
  const all: string[] = [];
  let length = 0;
  for (const block of content) {
    const descriptor = blockDescriptor(block);
    if (descriptor !== undefined) {
      descriptors.push(descriptor);
      all.push(descriptor);
    } else if (block.type === "text") {
      texts.push(block.text);
      all.push(block.text);
      length += block.text.length;
    }
  }
  if (length + texts.length <= max + 1 && descriptors.length <= attachments) return all.join("\n");
  const shown = descriptors.slice(0, attachments);
  const rest = descriptors.length - shown.length;
  const note = rest === 0 ? [] : [`[… ${rest} attachments left out …]`];
  return [truncateCharacters(texts, max), ...shown, ...note].filter((text) => text !== "").join("\n");
}

function blockDescriptor(block: TextBlock | ImageBlock): string | undefined {
  if (block.type === "image") return imageText(block);
  // The block's own text is arbitrary; the descriptor is short.
  return isResource(block.resource) ? describeResource(block.resource) : undefined;
}

/** Tool calls as `name(key=value, …)` with JSON values; notes count the excess over the bounds. */
function callsText(calls: readonly ToolCall[], bounds: { argument: number; calls: number }): string {
  const texts: string[] = [];
  let room = bounds.calls;
  for (const call of calls) {
    if (room <= 0) break;
    const text = callText(call, { argument: bounds.argument, all: room });
    texts.push(text);
    room -= text.length;
  }
  if (texts.length < calls.length) texts.push(`[… ${calls.length - texts.length} calls left out …]`);
  return texts.join("; ");
}

function callText(call: ToolCall, bounds: { argument: number; all: number }): string {
  const { arguments: given } = call;
  const name = safeLabel(call.name);
  if (!isRecord(given)) {
    const json = given === undefined ? "" : truncateJson(given, Math.min(bounds.argument, bounds.all));
    return `${name}(${json})`;
  }
  const keys = Object.keys(given);
  const shown: string[] = [];
  let room = bounds.all;
  for (const key of keys) {
    if (room <= 0) break;
    const text = `${safeLabel(key)}=${truncateJson(given[key], Math.min(bounds.argument, room))}`;
    shown.push(text);
    room -= text.length;
  }
  if (shown.length < keys.length) shown.push(`[… ${keys.length - shown.length} arguments left out …]`);
  return `${name}(${shown.join(", ")})`;
}

/** Base64 has four characters for three bytes. */
const bytesPerCharacter = 3 / 4;

/** The descriptor of an inline image. */
export function imageText({ data, mimeType }: ImageBlock): string {
  return describeImage({ mediaType: mimeType, size: Math.floor(data.length * bytesPerCharacter) });
}

/**
 * The placeholder of an image or file that is dropped. Without name, type and size, since no boundary is
 * asked about plain text.
 */
export function omissionText(kind: string, reason: string): string {
  return `[${kind}] (left out: ${reason})`;
}
