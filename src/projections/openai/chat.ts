import { isRecord } from "../../internal/shape.js";
import { unreachable } from "../../internal/unreachable.js";
import type { RenderTools, Target } from "../target.js";
import type { CallPart, NeutralRequest, Part, ResultPart, SaidPart, ShownPart, TextPart } from "../turns.js";
import { openingText } from "../words.js";
import { breakpointBehind } from "./breakpoint.js";
import { customMark, rawIn, refusalMark } from "./chat-marks.js";
import type {
  OpenaiChatCall,
  OpenaiChatFile,
  OpenaiChatImage,
  OpenaiChatMessage,
  OpenaiChatRefusal,
  OpenaiChatText,
  OpenaiChatValue,
} from "./chat-value.js";
import { fileName } from "./file-name.js";
import { argumentsText } from "./json.js";
import { messagesIn } from "./messages.js";
import { callIdOf, imageTypes, type OpenaiOptions, openaiTarget } from "./options.js";

/** Options of {@link openaiChat}. */
export interface OpenaiChatOptions extends OpenaiOptions {
  /** How closely images are looked at; by default the API decides. */
  readonly detail?: "auto" | "low" | "high";
}

/**
 * Chat Completions of OpenAI, and of those that speak its protocol. The value has `messages`: instructions come first as
 * a message of the system, images of tools stand in a message of the user behind the results, and reasoning never goes
 * back, since the protocol has no place for it. Only PDFs are files; other documents go as text.
 *
 * @throws TypeError without a model
 * @example
 * ```ts
 * const { value } = await project(contextOf([userMessage("hi")]), openaiChat({ model: "gpt-5.4" }));
 * value.messages; // [{ role: "user", content: "hi" }]
 * ```
 * @see https://platform.openai.com/docs/api-reference/chat/create (types of openai 6.49), and for what files are taken
 *   https://developers.openai.com/api/docs/guides/file-inputs (stored copy, 2026-11-21)
 */
export function openaiChat(options: OpenaiChatOptions): Target<OpenaiChatValue> {
  return {
    name: "openai-chat",
    ...openaiTarget(options, chatApi),
    // References differ by what they are to here, images by address and files by id, which a target cannot say.
    accepts: { user: [...imageTypes, "application/pdf"], toolResult: [] },
    rules: {
      // Any name is taken, and 40 characters: https://github.com/vercel/ai/issues/5171 (stored copy, 2026-11-21).
      callId: { character: /[!-~]/, maxLength: 40, of: callIdOf },
      userFirst: false,
    },
    render: (request, tools) => new ChatWriter(options, tools).value(request),
  };
}

/** What messages of this protocol are marked with; pi's name for it, so that either continues the other's sessions. */
export const chatApi = "openai-completions";

class ChatWriter {
  readonly #options: OpenaiChatOptions;
  readonly #tools: RenderTools;

  constructor(options: OpenaiChatOptions, tools: RenderTools) {
    this.#options = options;
    this.#tools = tools;
  }

  value({ system, turns }: NeutralRequest): OpenaiChatValue {
    const messages: OpenaiChatMessage[] = system.length === 0 ? [] : [this.#instructions(system)];
    for (const turn of turns) {
      if (turn.role === "assistant") {
        for (const parts of messagesIn(turn.parts)) {
          const said = this.#said(parts);
          const isFirst = turn === turns[0] && parts[0] === turn.parts[0];
          // What is not taken back can be all that there is.
          if (isFirst && said.length === 0) messages.push({ role: "user", content: openingText });
          for (const message of said) messages.push(message);
        }
      } else {
        for (const result of turn.results) messages.push(this.#result(result));
        for (const parts of messagesIn(turn.parts)) messages.push(this.#shown(parts));
      }
    }
    return { messages };
  }

  #instructions(system: readonly TextPart[]): OpenaiChatMessage {
    const content = this.#texts(system);
    const role = this.#options.instructions ?? "system";
    return this.#marked({ role, content }, system);
  }

  #shown(parts: readonly ShownPart[]): OpenaiChatMessage {
    const isText = parts.every((part) => part.type === "text");
    const content = isText ? this.#texts(parts) : parts.map((part) => this.#block(part));
    return this.#marked({ role: "user", content }, parts);
  }

  #block(part: ShownPart): OpenaiChatText | OpenaiChatImage | OpenaiChatFile {
    const end = breakpointBehind(this.#tools, part);
    switch (part.type) {
      case "text":
        return this.#tools.mark({ type: "text", text: part.text, ...end }, part);
      case "media":
        return this.#tools.mark(
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
        return this.#tools.mark(
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
    const texts = result.parts.filter((part) => part.type === "text");
    const content = this.#texts(texts, result);
    return this.#tools.mark({ role: "tool", tool_call_id: result.callId, content }, result);
  }

  /** None of a message that has nothing but what is not taken back. */
  #said(parts: readonly SaidPart[]): readonly OpenaiChatMessage[] {
    const texts: OpenaiChatText[] = [];
    const refusals: OpenaiChatRefusal[] = [];
    const calls: OpenaiChatCall[] = [];
    for (const part of parts) {
      if (part.type === "text") {
        const { text } = part;
        if (part.signature === refusalMark)
          refusals.push(this.#tools.mark({ type: "refusal", refusal: text }, part));
        else texts.push(this.#tools.mark({ type: "text", text }, part));
      } else if (part.type === "call") calls.push(this.#call(part));
      else {
        const reason = "Chat Completions takes back text, calls and refusals only";
        this.#tools.lose(part, { code: part.type, by: "target", reason });
      }
    }
    if (texts.length + refusals.length + calls.length === 0) return [];
    const called = calls.length === 0 ? {} : { tool_calls: calls };
    return [this.#marked({ role: "assistant", ...spokenOf(texts, refusals), ...called }, parts)];
  }

  #call(part: CallPart): OpenaiChatCall {
    const { id, name, signature } = part;
    const input = isRecord(part.arguments) ? part.arguments.input : undefined;
    const call: OpenaiChatCall =
      signature === customMark && typeof input === "string"
        ? { id, type: "custom", custom: { name, input } }
        : {
            id,
            type: "function",
            function: { name, arguments: argumentsText(part.arguments, rawIn(signature)) },
          };
    return this.#tools.mark(call, part);
  }

  /** One text is a string, as those who speak the protocol half know it best. */
  #texts(parts: readonly TextPart[], whole?: ResultPart): string | OpenaiChatText[] {
    const ends = (part: TextPart) => [part, ...(whole !== undefined && part === parts.at(-1) ? [whole] : [])];
    const blocks = parts.map((part) => {
      const end = breakpointBehind(this.#tools, ...ends(part));
      return this.#tools.mark<OpenaiChatText>({ type: "text", text: part.text, ...end }, part);
    });
    const [only] = blocks;
    return blocks.length === 1 && only !== undefined && only.prompt_cache_breakpoint === undefined
      ? only.text
      : blocks;
  }

  /** A message stands for its first part, where what is refused is the message. */
  #marked<T extends OpenaiChatMessage>(message: T, [part]: readonly Part[]): T {
    return part === undefined ? message : this.#tools.mark(message, part);
  }
}

/** A list has texts or one refusal: where a model said both, the refusal stands beside the content, as it came. */
function spokenOf(
  texts: OpenaiChatText[],
  refusals: readonly OpenaiChatRefusal[],
): { content: string | OpenaiChatText[] | [OpenaiChatRefusal] | null; refusal?: string } {
  const [text] = texts;
  const [first, ...more] = refusals;
  if (first !== undefined && more.length > 0) {
    return spokenOf(texts, [{ type: "refusal", refusal: refusals.map(({ refusal }) => refusal).join("\n") }]);
  }
  if (text === undefined) return { content: first === undefined ? null : [first] };
  const content = texts.length === 1 ? text.text : texts;
  return first === undefined ? { content } : { content, refusal: first.refusal };
}
