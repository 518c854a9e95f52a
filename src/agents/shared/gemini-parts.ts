/**
 * Parts of the Gemini API in records of its agents: Gemini CLI, and Qwen Code, which is a fork of it. Nothing here
 * throws.
 */

import type {
  AssistantMessage,
  ImageBlock,
  TextBlock,
  ThinkingBlock,
  ToolCall,
  Usage,
} from "../../content/index.js";
import { blockTexts, plainContent } from "../../content/internal.js";
import type { DraftEntry } from "../types.js";
import { textDigest } from "./ids.js";
import { type ForeignObject, readCount, readObject, readText, toArray, unknownBlocks } from "./values.js";
import type { WriteBlock, WriteRules } from "./write-steps.js";

/** A part of the Gemini API: an object with one of `text`, `inlineData`, `functionCall` and others. */
export type Part = ForeignObject;

/** The parts of a content, which is text, a part, or a list of either. */
export function contentParts(content: unknown): readonly Part[] {
  const list = Array.isArray(content) ? content : [content];
  return list.flatMap((part): readonly Part[] => {
    if (typeof part === "string") return [{ text: part }];
    const object = readObject(part);
    return object === undefined ? [] : [object];
  });
}

/** The text by which the agent classifies a message: its text parts, a bracket for each other part. */
export function shownText(parts: readonly Part[]): string {
  return parts.map((part) => readText(part.text) ?? "[").join("");
}

/** Text and inline media of parts as blocks; any other part is its JSON and its media. */
function partBlocks(parts: readonly Part[]): readonly (TextBlock | ImageBlock)[] {
  return parts.flatMap((part): readonly (TextBlock | ImageBlock)[] => {
    const text = readText(part.text);
    if (text !== undefined) return text === "" ? [] : [{ type: "text", text }];
    const media = partMedia(part);
    if (media !== undefined) return [media];
    const uri = readText(readObject(part.fileData)?.fileUri);
    if (uri !== undefined) return [{ type: "text", text: `[file ${uri}]` }];
    return unknownBlocks(part);
  });
}

/** The inline media of a part. Other media than images count as images until their bytes are stored. */
function partMedia(part: Part): ImageBlock | undefined {
  const inline = readObject(part.inlineData);
  const data = readText(inline?.data);
  if (data === undefined || data === "") return undefined;
  return { type: "image", data, mimeType: readText(inline?.mimeType) ?? "application/octet-stream" };
}

/** A function response with the media after it. */
export interface FunctionResponse {
  /** The id of the call. */
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly response: unknown;
  readonly media: readonly ImageBlock[];
}

/** The function responses among parts. Media that follow a response belong to it. */
export function partResponses(parts: readonly Part[]): {
  readonly responses: readonly FunctionResponse[];
  readonly others: readonly Part[];
} {
  const responses: (FunctionResponse & { readonly media: ImageBlock[] })[] = [];
  const others: Part[] = [];
  for (const part of parts) {
    const found = readObject(part.functionResponse);
    const last = responses.at(-1);
    const media = partMedia(part);
    if (found !== undefined) {
      const nested = toArray(found.parts).flatMap((each) => partMedia(readObject(each) ?? {}) ?? []);
      const id = readText(found.id);
      const name = readText(found.name);
      responses.push({ id, name, response: found.response, media: nested });
    } else if (media !== undefined && last !== undefined) last.media.push(media);
    else others.push(part);
  }
  return { responses, others };
}

/** The content of a tool result: the text of its only member `output` or `error`, else the response as JSON. */
function resultBlocks({ response, media }: FunctionResponse): readonly (TextBlock | ImageBlock)[] {
  const object = readObject(response);
  const isAlone = Object.keys(object ?? {}).length === 1;
  const text = isAlone ? (readText(object?.output) ?? readText(object?.error)) : readText(response);
  const shown = text ?? (response === undefined || response === null ? "" : JSON.stringify(response));
  return [...(shown === "" ? [] : [{ type: "text" as const, text: shown }]), ...media];
}

/** Whether a response is that of a failure. */
export function isFailure({ response }: FunctionResponse): boolean {
  const object = readObject(response);
  return object !== undefined && "error" in object && !("output" in object);
}

/** A part of a reply that is no call, as blocks. */
export function partBlock(part: Part): readonly AssistantMessage["content"][number][] {
  const text = readText(part.text);
  const signature = readText(part.thoughtSignature);
  if (text === undefined) return [{ type: "opaque", data: part }];
  if (part.thought === true) {
    const signed = signature === undefined ? {} : { thinkingSignature: signature };
    return [{ type: "thinking", thinking: text, ...signed } satisfies ThinkingBlock];
  }
  if (signature === undefined) return /\S/.test(text) ? [{ type: "text", text }] : [];
  // Other providers refuse an empty text.
  if (!/\S/.test(text)) return [{ type: "opaque", data: part }];
  return [{ type: "text", text, textSignature: signature } satisfies TextBlock];
}

/** The id of a call, or one that follows from its place. */
export function callId(recordKey: string, call: ForeignObject, at: number): string {
  const id = readText(call.id);
  return id === undefined || id === "" ? `call_${textDigest(recordKey).slice(0, 8)}_${at}` : id;
}

/** A call, of the part that has it. */
export function callBlock(id: string, call: ForeignObject, part: Part): ToolCall {
  const signature = readText(part.thoughtSignature);
  return {
    type: "toolCall",
    id,
    name: readText(call.name) ?? "",
    arguments: readObject(call.args) ?? {},
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  };
}

/** What was said in the user's place; undefined for nothing. With a type it is a custom message. */
export function saidDraft(
  parts: readonly Part[],
  { customType, display, timestamp }: { customType: string | undefined; display: boolean; timestamp: number },
): DraftEntry | undefined {
  const blocks = partBlocks(parts);
  if (blocks.length === 0) return undefined;
  const content = plainContent(blocks);
  return customType === undefined
    ? { type: "message", message: { role: "user", content, timestamp } }
    : { type: "custom_message", customType, content, display };
}

/** The result of a call. `display` is what a person saw of it. */
export function resultDraft(
  call: Pick<ToolCall, "id" | "name">,
  response: FunctionResponse,
  { isError, display, timestamp }: { isError: boolean; display: unknown; timestamp: number },
): DraftEntry {
  const message = {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content: resultBlocks(response),
    ...(display === undefined || display === null ? {} : { details: { resultDisplay: display } }),
    isError,
    timestamp,
  } as const;
  return { type: "message", message };
}

/** A reply; its usage alone if it has no content; undefined without both. */
export function replyDraft(
  reply: Required<Pick<AssistantMessage, "content" | "provider" | "model" | "api" | "timestamp">>,
  usage: Usage | undefined,
): DraftEntry | undefined {
  const { content, provider, model, api, timestamp } = reply;
  const counted = usage === undefined ? {} : { usage };
  if (content.length === 0)
    return usage === undefined ? undefined : { type: "usage", kind: "reply", provider, model, usage };
  const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
  const message = {
    role: "assistant",
    content,
    provider,
    model,
    api,
    ...counted,
    stopReason,
    timestamp,
  } as const;
  return { type: "message", message };
}

/** Tokens of a reply by the counts of the API: those of the prompt include the cached ones. */
export function usageOfCounts(prompt: unknown, cached: unknown, output: number, total: unknown): Usage {
  const cacheRead = readCount(cached);
  const input = Math.max(0, readCount(prompt) - cacheRead);
  const totalTokens = readCount(total) || input + cacheRead + output;
  return { input, output, cacheRead, cacheWrite: 0, totalTokens };
}

/** The names and ids that the Gemini API accepts. */
export const geminiRules: WriteRules = {
  callId: { character: /[\s\S]/u, maxLength: 1024 },
  toolName: { character: /[\w.:-]/, maxLength: 64 },
};

/** A block as the part of a content. */
export function blockPart(block: WriteBlock): Part {
  if (block.type === "text") return { text: block.text };
  return { inlineData: { mimeType: block.mediaType, data: block.base64 } };
}

/** A result for the model, with its media behind it, and its text for people. */
export function resultParts(
  { callId: id, toolName: name, isError }: { callId: string; toolName: string; isError: boolean },
  blocks: readonly WriteBlock[],
): { readonly parts: readonly Part[]; readonly text: string } {
  const text = blockTexts(blocks).join("\n");
  const response = isError ? { error: text } : { output: text };
  const media = blocks.flatMap((block) => (block.type === "media" ? [blockPart(block)] : []));
  return { parts: [{ functionResponse: { id, name, response } }, ...media], text };
}
