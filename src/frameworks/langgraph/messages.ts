/** Messages of LangChain, as its serializer prints them, as messages of a session. */

import {
  type AssistantMessage,
  blockResource,
  type ImageBlock,
  type Message,
  messageText,
  type TextBlock,
  userMessage,
} from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import { type Attach, dataUrlHead, Media, type MessageForm, messagesOf } from "../shared/message-values.js";

type Fields = Readonly<Record<string, unknown>>;

/** The classes of messages that a session has a role for. */
const classes = {
  user: "HumanMessage",
  system: "SystemMessage",
  assistant: "AIMessage",
  toolResult: "ToolMessage",
} as const;

/** The fields of a printed message, and its class; undefined for any other value. */
export function printedMessage(
  value: unknown,
): { readonly name: string; readonly kwargs: Fields } | undefined {
  if (!isRecord(value) || value.lc !== 1 || value.type !== "constructor" || !isRecord(value.kwargs))
    return undefined;
  const { id, kwargs } = value;
  const name: unknown = Array.isArray(id) && id[1] === "messages" ? id.at(-1) : undefined;
  const base = typeof name === "string" ? name.replace(/Chunk$/, "") : "";
  return Object.values<string>(classes).includes(base) ? { name: base, kwargs } : undefined;
}

export const langchainForm: MessageForm = {
  async drafts(value, attach) {
    const printed = printedMessage(value);
    const message = printed && (await sessionMessage(printed.name, printed.kwargs, attach));
    return message && [{ type: "message", message }];
  },
  async render(entries) {
    return messagesOf(entries).flatMap((message) => printed(message) ?? []);
  },
  isMedia: (holder, key) =>
    key === "url" ||
    (key === "data" && (holder.source_type === "base64" || typeof holder.mimeType === "string")),
};

async function sessionMessage(name: string, kwargs: Fields, attach: Attach): Promise<Message | undefined> {
  const { content, tool_calls: calls, tool_call_id: callId, status } = kwargs;
  const timestamp = Date.now();
  switch (name) {
    case classes.user: {
      if (typeof content === "string") return { role: "user", content, timestamp };
      const blocks = await contentBlocks(content, attach, "upload");
      return blocks.length === 0 ? undefined : { role: "user", content: blocks, timestamp };
    }
    case classes.system:
      return typeof content === "string" ? { role: "system", content, timestamp } : undefined;
    case classes.toolResult: {
      if (typeof callId !== "string") return undefined;
      const toolName = typeof kwargs.name === "string" ? kwargs.name : "unknown";
      const blocks = await contentBlocks(content, attach, "tool");
      const isError = status === "error";
      return { role: "toolResult", toolCallId: callId, toolName, content: blocks, isError, timestamp };
    }
    default: {
      const said: AssistantMessage["content"][number][] = [];
      for (const block of typeof content === "string" ? [content] : Array.isArray(content) ? content : []) {
        const text =
          typeof block === "string"
            ? block
            : isRecord(block) && block.type === "text"
              ? block.text
              : undefined;
        if (typeof text === "string" && text !== "") said.push({ type: "text", text });
        // Calls are in a list of their own too.
        else if (isRecord(block) && !isCallBlock(block)) said.push({ type: "opaque", data: block });
      }
      for (const call of Array.isArray(calls) ? calls : [])
        if (isRecord(call) && typeof call.id === "string" && typeof call.name === "string")
          said.push({ type: "toolCall", id: call.id, name: call.name, arguments: call.args ?? {} });
      const { model_name, model, model_provider } = isRecord(kwargs.response_metadata)
        ? kwargs.response_metadata
        : {};
      const named = [model_name, model].find((each) => typeof each === "string") ?? "unknown";
      const provider = typeof model_provider === "string" ? model_provider : "unknown";
      return { role: "assistant", content: said, provider, model: named as string, timestamp };
    }
  }
}

function isCallBlock({ type }: Fields): boolean {
  return type === "tool_use" || type === "tool_call" || type === "function_call" || type === "text";
}

/** Texts and attachments. Another block is its type. */
async function contentBlocks(
  content: unknown,
  attach: Attach,
  source: "upload" | "tool",
): Promise<readonly TextBlock[]> {
  const blocks: TextBlock[] = [];
  for (const block of Array.isArray(content) ? (content as readonly unknown[]) : [content]) {
    if (typeof block === "string") blocks.push({ type: "text", text: block });
    if (!isRecord(block)) continue;
    if (block.type === "text" && typeof block.text === "string") {
      blocks.push({ type: "text", text: block.text });
      continue;
    }
    const {
      image_url: image,
      data = isRecord(image) ? image.url : image,
      mime_type,
      mimeType = mime_type,
    } = block;
    const head = typeof data === "string" ? dataUrlHead(data) : "";
    const mediaType = head === "" ? mimeType : head.slice("data:".length).split(";")[0];
    const isInline = head !== "" || typeof mimeType === "string";
    const resource = isInline ? await attach(data, { mediaType, source }) : undefined;
    if (resource !== undefined)
      for (const one of userMessage(resource).content as readonly TextBlock[]) blocks.push(one);
    else blocks.push({ type: "text", text: `[${String(block.type)}]` });
  }
  return blocks;
}

/** The printed form of a message; undefined for one that LangChain has no class for. */
function printed(message: Message): unknown {
  const of = (name: string, kwargs: Fields) => {
    return { lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs };
  };
  switch (message.role) {
    case "user":
      return of(classes.user, { content: printedContent(message.content) });
    case "system":
      return of(classes.system, { content: printedContent(message.content) });
    case "assistant": {
      const blocks = message.content.flatMap((block): readonly unknown[] => {
        if (block.type === "opaque") return [block.data];
        return block.type === "text" ? [{ type: "text", text: block.text }] : [];
      });
      const isText =
        blocks.length <= 1 && message.content.every(({ type }) => type === "text" || type === "toolCall");
      const calls = message.content.flatMap((block) =>
        block.type === "toolCall"
          ? [{ name: block.name, args: block.arguments, id: block.id, type: "tool_call" }]
          : [],
      );
      return of(classes.assistant, {
        content: isText ? messageText(message, { attachments: true }) : blocks,
        tool_calls: calls,
      });
    }
    case "toolResult": {
      const { toolCallId, toolName, content, isError } = message;
      const status = isError ? "error" : "success";
      const [only] = content;
      const isText = content.length === 1 && only?.type === "text" && only.resource === undefined;
      const shown = isText ? only.text : printedContent(content);
      return of(classes.toolResult, { status, content: shown, tool_call_id: toolCallId, name: toolName });
    }
    default:
      return undefined;
  }
}

function printedContent(content: string | readonly (TextBlock | ImageBlock)[]): unknown {
  if (typeof content === "string") return content;
  return content.map((block) => {
    if (block.type === "image")
      return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
    const resource = blockResource(block);
    if (resource === undefined || resource.kind === "link") return { type: "text", text: block.text };
    const head = `data:${resource.declared?.mediaType ?? resource.mediaType};base64,`;
    return { type: "image_url", image_url: { url: new Media(resource, head) } };
  });
}
