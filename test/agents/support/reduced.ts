/**
 * A request to a model reduced to its messages: role, text, calls, results and digests of images. Prompts of the
 * system, tools, settings and long texts are left out or shortened, so that a recorded request can be committed.
 */

import { createHash } from "node:crypto";
import { decodeBase64, isRecord } from "../../support/plain-values.js";

/** One text, image, call or result of a request, in the order of the request. */
export type ReducedMessage =
  | { readonly role: "user" | "assistant"; readonly text: string }
  | { readonly role: "user" | "assistant"; readonly image: string }
  | { readonly role: "assistant"; readonly reasoning: string }
  | {
      readonly role: "assistant";
      readonly call: string;
      readonly name: string;
      readonly arguments: unknown;
    }
  | {
      readonly role: "tool";
      /** The id of the call; the name of the tool if the request has no ids. */
      readonly result: string;
      readonly text: string;
      readonly images?: readonly string[];
      readonly error?: true;
    }
  /** A part of a type that has no place above, such as `compaction` of the Responses API. */
  | { readonly role: "user" | "assistant"; readonly other: string };

export interface ReduceOptions {
  /** Texts that are left out, such as those that the agent itself puts before the first message. */
  readonly without?: readonly RegExp[];
  /** Longer texts are their beginning, their length and a digest. @default 400 */
  readonly maxText?: number;
}

/**
 * Reduces the body of a request of Anthropic's messages, OpenAI's Responses or Chat Completions, or Gemini's
 * generateContent. A projected value of these targets fits too.
 */
export function reduceRequest(body: unknown, options: ReduceOptions = {}): readonly ReducedMessage[] {
  if (!isRecord(body)) return [];
  const { without = [], maxText = 400 } = options;
  const list = body.input ?? body.contents ?? body.messages;
  const messages =
    typeof list === "string"
      ? [{ role: "user", text: list } as const]
      : records(list).flatMap((message): readonly ReducedMessage[] => {
          if (body.input !== undefined) return responsesItem(message);
          if (body.contents !== undefined) return geminiContent(message);
          if (message.role === "tool" || message.tool_calls !== undefined) return chatMessage(message);
          return content(message);
        });
  return messages
    .filter((message) => !("text" in message) || !without.some((pattern) => pattern.test(message.text)))
    .map((message) => ("text" in message ? { ...message, text: short(message.text, maxText) } : message));
}

const records = (value: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isRecord) : [];

const digest = (bytes: string | Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex").slice(0, 16);

function short(text: string, maxText: number): string {
  if (text.length <= maxText) return text;
  return `${text.slice(0, 60)}… (${text.length} characters, sha256 ${digest(text)})`;
}

/** An image by its bytes: `sha256:` and 16 digits; one without bytes by its address. */
function imageOf(data: unknown): string {
  if (typeof data !== "string") return "none";
  const base64 = /^data:[^,]*;base64,(.*)$/s.exec(data)?.[1] ?? data;
  const bytes = /^https?:/.test(base64) ? undefined : decodeBase64(base64);
  return bytes === undefined ? base64.slice(0, 100) : `sha256:${digest(bytes)}`;
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const string = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** The texts of a result, one a line, and its images. */
function resultOf(id: unknown, output: unknown, error: boolean): ReducedMessage {
  const parts = Array.isArray(output) ? records(output) : [{ type: "text", text: output }];
  const images = parts.flatMap((part) => imagePart(part) ?? []);
  const text = parts.flatMap((part) => (imagePart(part) ? [] : [string(part.text)])).join("\n");
  return {
    role: "tool",
    result: string(id),
    text,
    ...(images.length > 0 ? { images } : {}),
    ...(error ? { error: true as const } : {}),
  };
}

/** The digest of a part that is an image in any of the protocols. */
function imagePart(part: Readonly<Record<string, unknown>>): string | undefined {
  if (part.type === "input_image") return imageOf(part.image_url);
  if (part.type === "image_url")
    return imageOf(isRecord(part.image_url) ? part.image_url.url : part.image_url);
  if (part.type === "image") {
    const source = isRecord(part.source) ? part.source : {};
    return imageOf(source.data ?? source.url);
  }
  if (isRecord(part.inlineData)) return imageOf(part.inlineData.data);
  return undefined;
}

const roleOf = (role: unknown): "user" | "assistant" =>
  role === "assistant" || role === "model" ? "assistant" : "user";

/** A message with blocks: Anthropic's, and those of the other protocols that have no calls. */
function content(message: Readonly<Record<string, unknown>>): readonly ReducedMessage[] {
  if (message.role === "system" || message.role === "developer") return [];
  const role = roleOf(message.role);
  const thought =
    typeof message.reasoning_content === "string" && message.reasoning_content !== ""
      ? [{ role: "assistant", reasoning: message.reasoning_content } as const]
      : [];
  if (typeof message.content === "string") {
    return message.content === "" ? thought : [...thought, { role, text: message.content }];
  }
  return [...thought, ...records(message.content).map((part) => block(role, part))];
}

function block(role: "user" | "assistant", part: Readonly<Record<string, unknown>>): ReducedMessage {
  const image = imagePart(part);
  if (image !== undefined) return { role, image };
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return { role, text: string(part.text) };
    case "thinking":
      return { role: "assistant", reasoning: string(part.thinking) };
    case "tool_use":
      return { role: "assistant", call: string(part.id), name: string(part.name), arguments: part.input };
    case "tool_result":
      return resultOf(part.tool_use_id, part.content ?? "", part.is_error === true);
    default:
      return { role, other: string(part.type) };
  }
}

function chatMessage(message: Readonly<Record<string, unknown>>): readonly ReducedMessage[] {
  if (message.role === "tool") return [resultOf(message.tool_call_id, message.content, false)];
  const calls = records(message.tool_calls).map((call) => {
    const { name, arguments: args } = isRecord(call.function) ? call.function : {};
    return { role: "assistant", call: string(call.id), name: string(name), arguments: parsed(args) } as const;
  });
  return [...content(message), ...calls];
}

function responsesItem(item: Readonly<Record<string, unknown>>): readonly ReducedMessage[] {
  const called = { role: "assistant", call: string(item.call_id), name: string(item.name) } as const;
  switch (item.type) {
    case undefined:
    case "message":
      return content(item);
    case "reasoning": {
      const reasoning = records(item.summary).map(({ text }) => string(text));
      return [{ role: "assistant", reasoning: reasoning.join("\n") }];
    }
    case "function_call":
      return [{ ...called, arguments: parsed(item.arguments) }];
    case "custom_tool_call":
      return [{ ...called, arguments: item.input }];
    case "function_call_output":
    case "custom_tool_call_output":
      return [resultOf(item.call_id, item.output, false)];
    default:
      return [{ role: "assistant", other: string(item.type) }];
  }
}

function geminiContent(message: Readonly<Record<string, unknown>>): readonly ReducedMessage[] {
  const role = roleOf(message.role);
  return records(message.parts).map((part): ReducedMessage => {
    const { functionCall: call, functionResponse: result } = part;
    if (isRecord(call)) {
      const { id, name, args } = call;
      return { role: "assistant", call: string(id ?? name), name: string(name), arguments: args };
    }
    if (isRecord(result)) {
      const response = isRecord(result.response) ? result.response : {};
      const texts = [{ text: response.output ?? response.error ?? response }];
      const media = records(result.parts);
      return resultOf(result.id ?? result.name, [...texts, ...media], response.error !== undefined);
    }
    const image = imagePart(part);
    if (image !== undefined) return { role, image };
    if (part.thought === true) return { role: "assistant", reasoning: string(part.text) };
    return typeof part.text === "string"
      ? { role, text: part.text }
      : { role, other: Object.keys(part).join() };
  });
}
