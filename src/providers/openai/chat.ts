/** The target of OpenAI's Chat Completions. */

import { unreachable } from "../../core/arguments.js";
import { messagesIn } from "../finalize-request.js";
import { modelFacts } from "../models/internal.js";
import { openingText, resultsReadText } from "../placeholders.js";
import type { AssistantPart, NeutralRequest, Part, ResultPart, TextPart, UserPart } from "../request.js";
import { type CallIdRule, mediaFor, type RenderTools, type Target } from "../target.js";
import {
  ChatAssistantWriter,
  joined,
  type OpenaiChatFile,
  type OpenaiChatImage,
  type OpenaiChatMessage,
  type OpenaiChatText,
  type OpenaiChatValue,
  opaqueMedia,
} from "./chat-assistant.js";
import {
  type OpenaiChatDialect,
  type OpenaiChatDialectOption,
  openaiChatDialects,
  readDialect,
  readProvider,
} from "./chat-dialects.js";
import { breakpointAfter, fileName, imageTypes, type OpenaiOptions, openaiTarget } from "./options.js";

/** Options of {@link openaiChat}. */
export interface OpenaiChatOptions extends OpenaiOptions {
  /** How closely images are looked at; by default the API decides. */
  readonly detail?: "auto" | "low" | "high";
  /**
   * How the server implements the protocol. Default `openai`. A name is the default of `provider` too: give
   * the reader of the reply the same.
   */
  readonly dialect?: OpenaiChatDialectOption;
}

/**
 * Projects to Chat Completions, of OpenAI or any compatible server. The value has `messages`. Instructions
 * are a first system message. Images of tool results follow the results in a user message. Reasoning is sent
 * back to the model that made it if the dialect has a member for it. Only PDFs are files; other documents are
 * sent as text.
 *
 * @throws TypeError without a model
 * @throws RangeError for an unknown dialect
 * @example
 * ```ts
 * const { value } = await project(contextFrom([userMessage("hi")]), openaiChat({ model: "gpt-5.4" }));
 * value.messages; // [{ role: "user", content: "hi" }]
 * ```
 * @see https://platform.openai.com/docs/api-reference/chat/create (types of openai 7.59), and for accepted
 *   files https://developers.openai.com/api/docs/guides/file-inputs (stored copy, 2026-11-21)
 */
export function openaiChat(options: OpenaiChatOptions): Target<OpenaiChatValue> {
  const dialect = readDialect(options.dialect);
  const provider = options.provider ?? readProvider(options.dialect);
  // Images are referenced by address and files by id, which a target cannot declare.
  const media = {
    user: dialect.files ? [...imageTypes, "application/pdf"] : imageTypes,
    toolResult: dialect.toolResultImages ? imageTypes : [],
  };
  const host = options.dialect === "openrouter" ? options.dialect : provider;
  return {
    name: "openai-chat",
    ...openaiTarget({ ...options, provider }, chatApi),
    accepts: options.accepts ?? mediaFor(options.model, host, media),
    rules: {
      callId: callIdRule(dialect, options.model),
      userFirst: dialect.merges,
      bindsReasoning: modelFacts(options.model).bindsReasoning === true,
      opaqueMedia: (data) => opaqueMedia(data, dialect),
    },
    render: (request, tools) => {
      const value = new ChatWriter(options, dialect, tools).value(request);
      return tools.zeroRetention === true && provider === "openai" ? { ...value, store: false } : value;
    },
  };
}

/** The id rule of a dialect, and what the model's maker asks of ids; one of the caller's own stays. */
function callIdRule({ callId }: OpenaiChatDialect, model: string): CallIdRule {
  const { openai, vllm } = openaiChatDialects;
  const isKnown = callId === openai.callId || callId === vllm.callId;
  return isKnown ? { ...callId, ...modelFacts(model).callId } : callId;
}

/**
 * The `api` of messages of this protocol. It is pi's name, so that each program continues the other's
 * sessions.
 */
export const chatApi = "openai-completions";

const opening: TextPart = { type: "text", text: openingText, origin: { entryId: "", item: -1 } };

class ChatWriter {
  readonly #options: OpenaiChatOptions;
  readonly #dialect: OpenaiChatDialect;
  readonly #tools: RenderTools;
  readonly #assistant: ChatAssistantWriter;
  readonly #messages: OpenaiChatMessage[] = [];
  /**
   * User parts that no message has yet. They are continued if the assistant message after them is not sent.
   */
  #userParts: UserPart[] = [];

  constructor(options: OpenaiChatOptions, dialect: OpenaiChatDialect, tools: RenderTools) {
    this.#options = options;
    this.#dialect = dialect;
    this.#tools = tools;
    this.#assistant = new ChatAssistantWriter(dialect, tools);
  }

  value({ system, turns }: NeutralRequest): OpenaiChatValue {
    this.#instructions(system);
    for (const [at, turn] of turns.entries()) {
      if (turn.role === "assistant") {
        const next = turns[at + 1];
        const results = next?.role === "user" ? next.results : [];
        for (const parts of this.#toMessages(turn.parts).flatMap((parts) => this.#callsApart(parts))) {
          const message = this.#assistant.message(parts);
          const isFirst = turn === turns[0] && parts[0] === turn.parts[0];
          if (message !== undefined) {
            this.#flushUserParts();
            this.#messages.push(message);
            if (this.#dialect.singleCalls === true) this.#answer(parts, results);
            // The whole message can consist of parts that are not sent back.
          } else if (isFirst) this.#userParts.push(opening);
        }
      } else {
        if (turn.results.length > 0) this.#flushUserParts();
        if (this.#dialect.singleCalls !== true)
          for (const result of turn.results) this.#messages.push(this.#result(result));
        for (const part of turn.parts) this.#userParts.push(part);
      }
    }
    this.#flushUserParts();
    return { messages: this.#messages };
  }

  #toMessages<P extends Part>(parts: readonly P[]): readonly (readonly P[])[] {
    return this.#dialect.merges ? [parts] : messagesIn(parts);
  }

  /** Splits an assistant message into messages with at most one call: text precedes the first call. */
  #callsApart(parts: readonly AssistantPart[]): readonly (readonly AssistantPart[])[] {
    const [first, ...more] = parts.filter(({ type }) => type === "call");
    if (this.#dialect.singleCalls !== true || first === undefined) return [parts];
    const rest = parts.filter(({ type }) => type !== "call");
    const begin = rest.some(({ type }) => type === "text") ? [rest, [first]] : [[...rest, first]];
    return [...begin, ...more.map((call) => [call])];
  }

  #answer(parts: readonly AssistantPart[], results: readonly ResultPart[]): void {
    const ids = new Set(parts.map((part) => (part.type === "call" ? part.id : undefined)));
    for (const result of results) if (ids.has(result.callId)) this.#messages.push(this.#result(result));
  }

  #instructions(system: readonly TextPart[]): void {
    if (system.length === 0) return;
    const role = this.#options.instructions ?? this.#dialect.systemRole;
    if (role === "user") for (const part of system) this.#userParts.push(part);
    else {
      const joins = this.#dialect.systemLists === false;
      this.#messages.push(this.#traced({ role, content: this.#texts(system, undefined, joins) }, system));
    }
  }

  #flushUserParts(): void {
    const userParts = this.#userParts;
    if (userParts.length === 0) return;
    this.#userParts = [];
    if (this.#dialect.bridgesTools && this.#messages.at(-1)?.role === "tool")
      this.#messages.push({ role: "assistant", content: resultsReadText });
    for (const parts of this.#toMessages(userParts)) this.#messages.push(this.#userMessage(parts));
  }

  #userMessage(parts: readonly UserPart[]): OpenaiChatMessage {
    const content = isTexts(parts) ? this.#texts(parts) : parts.map((part) => this.#block(part));
    return this.#traced({ role: "user", content }, parts);
  }

  #block(part: UserPart): OpenaiChatText | OpenaiChatImage | OpenaiChatFile {
    const end = breakpointAfter(this.#tools, part);
    switch (part.type) {
      case "text":
        return this.#tools.trace({ type: "text", text: part.text, ...end }, part);
      case "media":
        return this.#tools.trace(
          part.kind === "image"
            ? { ...this.#image(part.dataUrl), ...end }
            : {
                type: "file",
                file: { filename: fileName(part.name, part.mediaType), file_data: part.dataUrl },
                ...end,
              },
          part,
        );
      case "reference": {
        const { reference } = part;
        return this.#tools.trace(
          reference.kind === "url"
            ? { ...this.#image(reference.url), ...end }
            : { type: "file", file: { file_id: reference.id }, ...end },
          part,
        );
      }
      default:
        return unreachable(part);
    }
  }

  #image(url: string): OpenaiChatImage {
    const { detail } = this.#options;
    return { type: "image_url", image_url: { url, ...(detail === undefined ? {} : { detail }) } };
  }

  #result(result: ResultPart): OpenaiChatMessage {
    const { parts, callId: tool_call_id } = result;
    // Images are there only if the dialect takes them, which the official client's types do not know.
    const content = isTexts(parts)
      ? this.#texts(parts, result)
      : (parts.map((part) => this.#block(part)) as OpenaiChatText[]);
    return this.#tools.trace({ role: "tool", tool_call_id, content }, result);
  }

  /** One text is a string, as those who speak the protocol half know it best. */
  #texts(
    parts: readonly TextPart[],
    whole?: ResultPart,
    joins = this.#dialect.merges,
  ): string | OpenaiChatText[] {
    const ends = (part: TextPart) => [part, ...(whole !== undefined && part === parts.at(-1) ? [whole] : [])];
    const blocks = parts.map((part) => {
      const end = breakpointAfter(this.#tools, ...ends(part));
      return this.#tools.trace<OpenaiChatText>({ type: "text", text: part.text, ...end }, part);
    });
    const [only] = blocks;
    const isPlain = blocks.every(({ prompt_cache_breakpoint: end }) => end === undefined);
    if (joins && isPlain) return joined(blocks);
    return blocks.length === 1 && only !== undefined && only.prompt_cache_breakpoint === undefined
      ? only.text
      : blocks;
  }

  /** Traces a message to its first part, for errors about the message itself. */
  #traced<T extends OpenaiChatMessage>(message: T, [part]: readonly Part[]): T {
    return part === undefined ? message : this.#tools.trace(message, part);
  }
}

function isTexts(parts: readonly UserPart[]): parts is readonly TextPart[] {
  return parts.every(({ type }) => type === "text");
}
