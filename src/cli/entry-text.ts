/** Entries as text for people. */

import { type ContextMessage, messageText, type OpaqueBlock, toolCalls } from "../content/index.js";
import { blockAttachments, blockTexts, withReferences } from "../content/internal.js";
import type { SessionEntry, UnknownEntry } from "../session/index.js";

const shownTargetLength = 8;

/** An entry in a few words: its type, and the start of its text. */
export function headline(entry: SessionEntry | UnknownEntry | undefined): {
  readonly kind: string;
  readonly text: string;
} {
  if (entry === undefined) return { kind: "damaged", text: "" };
  switch (entry.type) {
    case "message": {
      const { message } = entry;
      return { kind: message.role, text: messageLine(message) };
    }
    case "compaction":
      return { kind: "compaction", text: `${entry.tokensBefore} tokens before: ${entry.summary}` };
    case "branch_summary":
      return { kind: "branch summary", text: entry.summary };
    case "custom":
      return { kind: entry.customType, text: dataText(entry.data) };
    case "custom_message":
      return {
        kind: entry.customType,
        text: typeof entry.content === "string" ? entry.content : blockTexts(entry.content).join(" "),
      };
    case "model_change":
      return { kind: "model", text: `${entry.provider} ${entry.modelId}` };
    case "thinking_level_change":
      return { kind: "thinking", text: entry.thinkingLevel };
    case "label":
      return { kind: "label", text: `${entry.label ?? "(cleared)"} on ${short(entry.targetId)}` };
    case "session_info":
      return { kind: "info", text: entry.title ?? entry.name ?? "" };
    case "usage":
      return { kind: "usage", text: `${entry.kind}, ${entry.model}, ${entry.usage.totalTokens} tokens` };
    case "context_edit":
      return { kind: entry.replacement === null ? "omits" : "edits", text: short(entry.targetId) };
    case "message_update":
    case "part_update":
      return { kind: "updates", text: short(entry.targetId) };
    case "leaf":
      return { kind: "leaf", text: entry.targetId === null ? "the start" : short(entry.targetId) };
    case "context_pin":
      return { kind: entry.pinned ? "pins" : "unpins", text: short(entry.targetId) };
    case "revert":
      return { kind: entry.undone ? "revert undone" : "revert", text: short(entry.targetId) };
    case "resource_view":
      return { kind: "view", text: `${entry.resourceId} ${entry.reason ?? ""}` };
    case "resource_observation":
      return { kind: "observation", text: entry.text };
    case "unknown":
      return { kind: entry.entryType, text: "(unknown to this version)" };
  }
}

const shownDataLength = 200;

function dataText(data: unknown): string {
  return data === undefined ? "" : JSON.stringify(data).slice(0, shownDataLength);
}

/** A message in one line: its calls, then its text. */
export function messageLine(message: ContextMessage): string {
  if (message.role === "bashExecution") return `$ ${message.command}`;
  if (message.role === "compactionSummary" || message.role === "branchSummary") return message.summary;
  const calls = message.role === "assistant" ? toolCalls(message).map(({ name }) => `<${name}> `) : [];
  const failed = message.role === "toolResult" && message.isError ? "(failed) " : "";
  const tool = message.role === "toolResult" ? `${message.toolName}: ` : "";
  return `${tool}${failed}${calls.join("")}${messageText(message, { attachments: true })}`;
}

/** A message in full, block by block. */
export function messageLines(
  message: ContextMessage,
): readonly { readonly title?: string; readonly text: string }[] {
  if (message.role === "compactionSummary" || message.role === "branchSummary")
    return [{ text: message.summary }];
  if (message.role === "bashExecution")
    return [{ text: `$ ${message.command}` }, { title: "output", text: message.output }];
  const { content } = message;
  if (typeof content === "string") return [{ text: content }];
  return (content as readonly unknown[] as readonly Record<string, unknown>[]).map((block) => {
    switch (block.type) {
      case "text":
        return { text: String(block.text) };
      case "thinking":
        return { title: "thinking", text: String(block.thinking) };
      case "toolCall":
        return {
          title: `call ${String(block.name)} ${String(block.id)}`,
          text: JSON.stringify(block.arguments, null, 2),
        };
      case "image":
        return {
          title: `image ${String(block.mimeType)}`,
          text: `${String(block.data).length} characters of base64`,
        };
      case "opaque":
        return opaqueLines(block as unknown as OpaqueBlock);
      default:
        return { title: String(block.type), text: JSON.stringify(block.data ?? block) };
    }
  });
}

/** A provider's block, with the descriptors of its media in place of base64. */
function opaqueLines(block: OpaqueBlock) {
  const attached = blockAttachments(block).map((each) =>
    each.type === "text" ? each.text : `[image ${each.mimeType}, ${each.data.length} characters of base64]`,
  );
  const data = withReferences(block.data, () => "inline");
  return { title: block.type, text: [...attached, JSON.stringify(data)].join("\n") };
}

const short = (id: string) => id.slice(0, shownTargetLength);
