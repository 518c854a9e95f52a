/** Lines of a transcript of Claude Code as messages of a session, and other messages as lines. */

import {
  type AssistantMessage,
  blockResource,
  type ImageBlock,
  type Message,
  messageText,
  type TextBlock,
  userMessage,
} from "../../content/index.js";
import { uuidOfDigest } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import { readAnthropicReply } from "../../providers/anthropic/index.js";
import type { EntryDraft } from "../../session/index.js";
import {
  type Attach,
  Media,
  type MessageForm,
  messagesOf,
  type PathEntry,
} from "../shared/message-values.js";
import { textDigest } from "../shared/parcels.js";

type Fields = Readonly<Record<string, unknown>>;

/** What the program says in the user's place. */
const programText = "claude-code.meta";

/**
 * Lines with a message as messages. A line with results of tools is a message for each, and one for the rest.
 *
 * @param toolNames the names of tools by the ids of their calls, which results do not have
 */
export function lineForm(toolNames: ReadonlyMap<string, string>): MessageForm {
  return {
    async drafts(line, attach) {
      const { message, type, timestamp } = isRecord(line) ? line : {};
      if (!isRecord(line) || !isRecord(message) || message.role !== type) return undefined;
      const parsed = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
      const time = Number.isNaN(parsed) ? Date.now() : parsed;
      const made =
        type === "user"
          ? await userMessages(line, message, { attach, time, toolNames })
          : type === "assistant"
            ? replyMessages(message, time)
            : undefined;
      return made?.map((each): EntryDraft => ({ type: "message", message: each }));
    },
    async render(entries, about) {
      const messages = messagesOf(entries);
      const line = shownLine(about === undefined ? messages.flatMap(sendable) : messages);
      return line === undefined ? [] : [line];
    },
    isMedia: (holder, key) => key === "data" && holder.type === "base64",
  };
}

/** Where a line of other messages stands. */
export interface LinePlace {
  readonly sessionId: string;
  readonly cwd: string;
  /** The uuid of the line before it in the conversation. */
  readonly parentUuid: string | null;
}

/**
 * The line that other messages yield, as the program writes its own. The SDK and the program find a message by
 * its uuids alone. These depend on the entry, so that each load has the same ones.
 */
export function linkedLine(line: unknown, { id, timestamp }: PathEntry, place: LinePlace): Fields {
  const { message, ...fields } = line as Fields;
  const digest = textDigest(JSON.stringify([place.sessionId, id]));
  // The program joins the lines of replies with one id.
  const isReply = isRecord(message) && message.role === "assistant";
  const own = isReply ? { ...message, id: `msg_${digest.slice(0, 24)}` } : message;
  return {
    ...{ parentUuid: place.parentUuid, isSidechain: false, userType: "external", cwd: place.cwd },
    ...{ sessionId: place.sessionId, ...fields, message: own, uuid: uuidOfDigest(digest), timestamp },
  };
}

/** The place after a line. Lines of subagents and of settings are outside the conversation. */
export function placeAfter(line: unknown, place: LinePlace): LinePlace {
  if (!isRecord(line) || line.isSidechain === true || !("parentUuid" in line)) return place;
  const { uuid: parentUuid, cwd } = line;
  return {
    ...place,
    ...(typeof parentUuid === "string" ? { parentUuid } : {}),
    ...(typeof cwd === "string" ? { cwd } : {}),
  };
}

const noUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } as const;

/** A message of another writer with what the API takes of it. */
function sendable(message: Message): readonly Message[] {
  switch (message.role) {
    case "assistant": {
      const { usage = noUsage, stopReason } = message;
      const content = sendableBlocks(message);
      const isCall = content.some(({ type }) => type === "toolCall");
      const reason = isCall ? { stopReason: "toolUse" as const } : stopReason && { stopReason };
      return content.length === 0 ? [] : [{ ...message, content, usage, ...reason }];
    }
    case "toolResult": {
      const { toolCallId, content, isError } = message;
      // The API refuses anything but text in a failed result.
      const shown = isError ? content.map(described) : content;
      return [{ ...message, toolCallId: callId(toolCallId), content: shown.filter(isShown) }];
    }
    case "bashExecution": {
      const { excludeFromContext, timestamp } = message;
      return excludeFromContext === true ? [] : [{ role: "user", content: messageText(message), timestamp }];
    }
    case "user":
    case "custom": {
      const { content } = message;
      if (typeof content === "string") return content.trim() === "" ? [] : [message];
      return [{ ...message, content: content.filter(isShown) }];
    }
    default:
      return [];
  }
}

/** The blocks of a reply: reasoning and unknown blocks of whole replies of Claude alone. */
function sendableBlocks({ provider, stopReason, content }: AssistantMessage): AssistantMessage["content"] {
  const isOwn = provider === "anthropic" && stopReason !== "aborted" && stopReason !== "error";
  return content.flatMap((block): AssistantMessage["content"][number][] => {
    switch (block.type) {
      case "thinking":
        return isOwn && (block.thinkingSignature ?? "") !== "" ? [block] : [];
      case "opaque":
        return isOwn ? [block] : [];
      case "toolCall": {
        const { id, name, arguments: given } = block;
        const args = isRecord(given) ? given : given === undefined || given === null ? {} : { value: given };
        return [{ ...(isOwn ? block : { type: "toolCall" }), id: callId(id), name, arguments: args }];
      }
      case "text":
        if (!isShown(block)) return [];
        return [isOwn ? block : { type: "text", text: block.text }];
      default:
        return [];
    }
  });
}

/** The API refuses blank text. */
function isShown(block: TextBlock | ImageBlock): boolean {
  return block.type !== "text" || blockResource(block) !== undefined || block.text.trim() !== "";
}

function described(block: TextBlock | ImageBlock): TextBlock {
  return { type: "text", text: block.type === "text" ? block.text : `[image, ${block.mimeType}]` };
}

/** The API refuses other characters. */
function callId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, "_");
}

/** A reply; one of the program itself, such as an error of the API, is none. */
function replyMessages(message: Fields, timestamp: number): readonly Message[] | undefined {
  const { content, model, stop_reason: reason, usage } = message;
  if (!Array.isArray(content) || typeof model !== "string" || model === "<synthetic>") return undefined;
  try {
    const isCall = content.some((block) => isRecord(block) && block.type === "tool_use");
    // A line has one block of a reply, and the reason of the end is in none but the last.
    const stop_reason = typeof reason === "string" ? reason : isCall ? "tool_use" : "end_turn";
    const reply = { ...message, model, content, stop_reason, usage: (isRecord(usage) ? usage : {}) as never };
    const { providerFields: _, api: __, ...read } = readAnthropicReply(reply, { timestamp });
    const { usage: counts, ...uncounted } = read;
    return [typeof reason === "string" && isRecord(usage) && counts !== undefined ? read : uncounted];
  } catch {
    return undefined;
  }
}

async function userMessages(
  { isMeta, isCompactSummary }: Fields,
  { content }: Fields,
  {
    attach,
    time: timestamp,
    toolNames,
  }: {
    readonly attach: Attach;
    readonly time: number;
    readonly toolNames: ReadonlyMap<string, string>;
  },
): Promise<readonly Message[] | undefined> {
  const said = (blocks: string | readonly TextBlock[]): Message =>
    isMeta === true || isCompactSummary === true
      ? { role: "custom", customType: programText, content: blocks, display: false, timestamp }
      : { role: "user", content: blocks, timestamp };
  if (typeof content === "string") return [said(content)];
  if (!Array.isArray(content)) return undefined;
  const messages: Message[] = [];
  const others: unknown[] = [];
  for (const block of content as readonly unknown[]) {
    if (!isRecord(block) || block.type !== "tool_result" || typeof block.tool_use_id !== "string") {
      others.push(block);
      continue;
    }
    const { tool_use_id: toolCallId, content: output, is_error } = block;
    const toolName = toolNames.get(toolCallId) ?? "unknown";
    const shown = await shownBlocks(typeof output === "string" ? [output] : output, attach, "tool");
    messages.push({
      role: "toolResult",
      toolCallId,
      toolName,
      content: shown,
      isError: is_error === true,
      timestamp,
    });
  }
  const rest = await shownBlocks(others, attach, "upload");
  if (rest.length > 0) messages.push(said(rest));
  return messages.length === 0 ? undefined : messages;
}

/** Texts and attachments of blocks. Another block is its type. */
async function shownBlocks(
  blocks: unknown,
  attach: Attach,
  origin: "tool" | "upload",
): Promise<readonly TextBlock[]> {
  const shown: TextBlock[] = [];
  for (const block of Array.isArray(blocks) ? (blocks as readonly unknown[]) : []) {
    if (typeof block === "string") shown.push({ type: "text", text: block });
    if (!isRecord(block)) continue;
    const { type, text, source, title } = block;
    if (type === "text" && typeof text === "string") {
      shown.push({ type: "text", text });
      continue;
    }
    const { data, media_type: mediaType } = isRecord(source) && source.type === "base64" ? source : {};
    const resource =
      data === undefined ? undefined : await attach(data, { mediaType, name: title, source: origin });
    if (resource !== undefined)
      for (const one of userMessage(resource).content as readonly TextBlock[]) shown.push(one);
    else shown.push({ type: "text", text: `[${String(type)}]` });
  }
  return shown;
}

/** The line that messages yield; undefined for one that is no part of the conversation. */
function shownLine(messages: readonly Message[]): unknown {
  const [first] = messages;
  if (first === undefined) return undefined;
  if (first.role === "assistant") {
    const { model, content, usage, stopReason } = first;
    const blocks = content.flatMap((block): readonly unknown[] => {
      const fields = "providerFields" in block ? block.providerFields : undefined;
      switch (block.type) {
        case "text":
          return [{ type: "text", text: block.text, ...fields }];
        case "thinking":
          return block.redacted === true
            ? [{ type: "redacted_thinking", data: block.thinkingSignature, ...fields }]
            : [
                {
                  type: "thinking",
                  thinking: block.thinking,
                  signature: block.thinkingSignature ?? "",
                  ...fields,
                },
              ];
        case "toolCall":
          return [{ type: "tool_use", id: block.id, name: block.name, input: block.arguments, ...fields }];
        case "opaque":
          return [block.data];
        default:
          return [];
      }
    });
    const counts = usage && {
      input_tokens: usage.input,
      cache_creation_input_tokens: usage.cacheWrite,
      cache_read_input_tokens: usage.cacheRead,
      output_tokens: usage.output,
    };
    const reason = counts === undefined ? null : stopReason === "toolUse" ? "tool_use" : "end_turn";
    const message = {
      model,
      id: "",
      type: "message",
      role: "assistant",
      content: blocks,
      stop_reason: reason,
    };
    return {
      type: "assistant",
      message: { ...message, stop_sequence: null, ...(counts && { usage: counts }) },
    };
  }
  const blocks: unknown[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      const { toolCallId, content, isError } = message;
      const [only] = content;
      const isText = content.length === 1 && only?.type === "text" && only.resource === undefined;
      const output = isText ? only.text : content.map(shownBlock);
      const failed = isError ? { is_error: true } : {};
      blocks.push({ tool_use_id: toolCallId, type: "tool_result", content: output, ...failed });
    } else if (message.role === "user" || message.role === "custom") {
      const { content } = message;
      if (typeof content === "string") return { type: "user", message: { role: "user", content } };
      for (const block of content) blocks.push(shownBlock(block));
    }
  }
  return blocks.length === 0 ? undefined : { type: "user", message: { role: "user", content: blocks } };
}

function shownBlock(block: TextBlock | ImageBlock): unknown {
  if (block.type === "image")
    return { type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } };
  const resource = blockResource(block);
  if (resource === undefined || resource.kind === "link") return { type: "text", text: block.text };
  const { kind, declared, mediaType, name } = resource;
  const source = { type: "base64", media_type: declared?.mediaType ?? mediaType, data: new Media(resource) };
  const title = kind === "image" || name === undefined ? {} : { title: name };
  return { type: kind === "image" ? "image" : "document", source, ...title };
}
