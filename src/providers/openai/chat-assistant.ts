/** Renders assistant messages for Chat Completions. */

import { referencesIn } from "../../content/internal.js";
import { copyJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import type { AssistantPart, CallPart, OpaquePart, ReasoningPart, TextPart } from "../request.js";
import type { RenderTools } from "../target.js";
import {
  callMembers,
  messageMembers,
  type OpenaiChatDialect,
  openaiChatDialectReasoningMembers,
  replyOnlyMembers,
  splitMembers,
} from "./chat-dialects.js";
import type { OpenaiBreakpoint } from "./options.js";
import {
  argumentsText,
  membersOfMessage,
  readChatCallMetadata,
  refusalSignature,
} from "./round-trip-metadata.js";

type Assistant = Extract<OpenaiChatMessage, { role: "assistant" }>;

/** Renders assistant messages in a dialect of Chat Completions. */
export class ChatAssistantWriter {
  readonly #dialect: OpenaiChatDialect;
  readonly #tools: RenderTools;
  /** Signatures of reasoning that this protocol has. */
  readonly #signatures: ReadonlySet<string>;

  constructor(dialect: OpenaiChatDialect, tools: RenderTools) {
    this.#dialect = dialect;
    this.#tools = tools;
    this.#signatures = new Set([...openaiChatDialectReasoningMembers(dialect), "content"]);
  }

  /** Undefined for a message without any part that is sent back. */
  message(parts: readonly AssistantPart[]): Assistant | undefined {
    const [first] = parts;
    const texts: OpenaiChatText[] = [];
    const refusals: OpenaiChatRefusal[] = [];
    const calls: OpenaiChatCall[] = [];
    const reasoning: ReasoningPart[] = [];
    const members: Record<string, unknown> = {};
    const details: unknown[] = [];
    const isAlone = !parts.some((part) => part.type === "text" || part.type === "call" || hasMedia(part));
    for (const part of parts) {
      if (part.type === "text") {
        const { text } = part;
        if (part.signature === refusalSignature)
          refusals.push(this.#tools.trace({ type: "refusal", refusal: text }, part));
        else texts.push(this.#tools.trace({ ...this.#fields(part), type: "text", text }, part));
      } else if (part.type === "call") calls.push(this.#call(part, details));
      else if (this.#isPiece(part)) continue;
      else if (part.type === "opaque") Object.assign(members, this.#members(part, isAlone));
      else if (isAlone) this.#lose(part, "a message without text and calls");
      else if (this.#dialect.reasoning === null || !this.#signatures.has(part.signature))
        this.#lose(part, "Chat Completions accepts only text, calls and refusals back");
      else reasoning.push(part);
    }
    if (isAlone || first === undefined) return undefined;
    const known = members.reasoning_details;
    if (details.length > 0)
      members.reasoning_details = [...(Array.isArray(known) ? (known as unknown[]) : []), ...details];
    const message: Assistant = {
      role: "assistant",
      ...spokenText(texts, refusals, this.#dialect.merges),
      ...this.#reasoning(reasoning),
      ...members,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    if (message.content === null && (this.#dialect.missingContent === "" || parts.some(hasMedia)))
      message.content = "";
    if (this.#dialect.reasoning === "content" && (reasoning.length > 0 || parts.some(isContentPiece)))
      message.content = this.#pieces(parts) as OpenaiChatText[];
    return this.#tools.trace(message, first);
  }

  #reasoning(parts: readonly ReasoningPart[]): { readonly [member: string]: string } {
    const { reasoning, missingReasoning } = this.#dialect;
    if (reasoning === null || reasoning === "content") return {};
    const text = parts.length === 0 ? missingReasoning : parts.map((part) => part.text).join("\n\n");
    return text === undefined ? {} : { [reasoning]: text };
  }

  /**
   * The content in Mistral's form, reasoning among the texts. The official client's types lack these pieces.
   */
  #pieces(parts: readonly AssistantPart[]): readonly object[] {
    return parts.flatMap((part): readonly object[] => {
      const fields = "providerFields" in part ? structuredClone(part.providerFields) : {};
      if (part.type === "text")
        return [this.#tools.trace({ ...fields, type: "text", text: part.text }, part)];
      if (this.#isPiece(part)) return [this.#tools.trace(structuredClone(part.data), part)];
      if (part.type !== "reasoning" || !this.#signatures.has(part.signature)) return [];
      const thinking = [{ type: "text", text: part.text }];
      return [this.#tools.trace({ ...fields, type: "thinking", thinking }, part)];
    });
  }

  /** Whether a part is a piece of the content that goes back where it was. */
  #isPiece(part: AssistantPart): part is OpaquePart & { readonly data: object } {
    return this.#dialect.reasoning === "content" && isContentPiece(part);
  }

  /** Members of a text in a list of content, if the server takes them. */
  #fields(part: TextPart): object {
    const { providerFields } = part;
    if (providerFields === undefined || this.#dialect.reasoning === "content") return {};
    if (this.#dialect.members === "all" && !this.#dialect.merges) return structuredClone(providerFields);
    this.#lose(part, `the dialect does not accept ${Object.keys(providerFields).join(", ")} back`);
    return {};
  }

  #call(part: CallPart, details: unknown[]): OpenaiChatCall {
    const { id, name, signature } = part;
    const { isCustom, raw, members, detail } = readChatCallMetadata(signature);
    const input = isRecord(part.arguments) ? part.arguments.input : undefined;
    const { accepted, omitted } = splitMembers(members, this.#dialect, callMembers);
    if (omitted.length > 0) this.#lose(part, `the dialect does not accept ${omitted.join(", ")} back`);
    if (detail !== undefined && this.#dialect.members === "all") details.push(detail);
    const inner = this.#innerMembers(part);
    const call: OpenaiChatCall =
      isCustom && typeof input === "string"
        ? { id, type: "custom", custom: { ...inner.custom, name, input }, ...copied(accepted) }
        : {
            id,
            type: "function",
            function: { ...inner.function, name, arguments: argumentsText(part.arguments, raw) },
            ...copied(accepted),
          };
    return this.#tools.trace(call, part);
  }

  #innerMembers(part: CallPart): { readonly function?: object; readonly custom?: object } {
    const { providerFields } = part;
    if (providerFields === undefined) return {};
    if (this.#dialect.members === "all") return copied(providerFields);
    this.#lose(part, "the dialect accepts only the name and the arguments of a call back");
    return {};
  }

  #members(part: OpaquePart, isAlone: boolean): Readonly<Record<string, unknown>> {
    const members = membersOfMessage(part.data);
    if (members === undefined || isAlone) {
      this.#lose(part, "Chat Completions accepts only text, calls and refusals back");
      return {};
    }
    if (members.audio !== undefined) {
      const reason =
        "audio that a model spoke is kept by the server for a short time; its transcript is sent";
      this.#tools.reportLoss(part, { code: "opaque", by: "policy", reason });
    }
    const { accepted, omitted } = splitMembers(members, this.#dialect, messageMembers);
    const refused = omitted.filter((name) => !replyOnlyMembers.has(name));
    if (refused.length > 0) this.#lose(part, `the dialect does not accept ${refused.join(", ")} back`);
    else if (omitted.length > 0) {
      // Nothing that the model could read again, so that it is not a loss of each request.
      const reason = `the dialect leaves out ${omitted.join(", ")}, which only replies have`;
      this.#tools.reportLoss(part, { code: "opaque", by: "policy", reason });
    }
    return copied(accepted);
  }

  #lose(part: AssistantPart, reason: string): void {
    const code = part.type === "reasoning" ? "reasoning" : "opaque";
    this.#tools.reportLoss(part, { code, by: "target", reason });
  }
}

/**
 * How members with media go back, such as the `images` of a gateway: as the replay policy decides, if the
 * server takes them. Beside other members, which it requires, they stay.
 */
export function opaqueMedia(data: unknown, dialect: OpenaiChatDialect): "always" | "replayed" | "never" {
  const { accepted } = splitMembers(membersOfMessage(data) ?? {}, dialect, messageMembers);
  const members = Object.values(accepted);
  if (!members.some((member) => referencesIn(member).size > 0)) return "never";
  return members.every((member) => referencesIn(member).size > 0) ? "replayed" : "always";
}

function hasMedia(part: AssistantPart): boolean {
  return part.type === "opaque" && part.media !== undefined;
}

/** A piece of a list of content, of a type that this library does not know. */
function isContentPiece(part: AssistantPart): boolean {
  if (part.type !== "opaque" || !isRecord(part.data)) return false;
  const { type } = part.data;
  return typeof type === "string" && type !== "function" && type !== "custom";
}

const copied = (members: Readonly<Record<string, unknown>>) =>
  (withoutEmptySignatures(copyJson(members)) ?? {}) as Record<string, unknown>;

/**
 * Without signatures that are none, which providers refuse: "Corrupted thought signature", see
 * https://github.com/NousResearch/hermes-agent/issues/111559 (stored copy, 2026-11-28). Undefined if nothing
 * else was there.
 */
function withoutEmptySignatures(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmptySignatures).filter((one) => one !== undefined);
  if (!isRecord(value)) return value;
  const members = Object.entries(value);
  const kept = members
    .filter(([name, member]) => !/signature$/i.test(name) || (typeof member === "string" && member !== ""))
    .map(([name, member]) => [name, withoutEmptySignatures(member)] as const)
    .filter(([, member]) => member !== undefined);
  return kept.length === 0 && members.length > 0 ? undefined : Object.fromEntries(kept);
}

/** A content list has texts or one refusal. If a reply has both, the refusal stays beside the content. */
function spokenText(
  texts: OpenaiChatText[],
  refusals: readonly OpenaiChatRefusal[],
  joins: boolean,
): { content: string | OpenaiChatText[] | [OpenaiChatRefusal] | null; refusal?: string } {
  const [text] = texts;
  const [first, ...more] = refusals;
  if (first !== undefined && more.length > 0) {
    const refusal = refusals.map((one) => one.refusal).join("\n");
    return spokenText(texts, [{ type: "refusal", refusal }], joins);
  }
  if (text === undefined) return { content: first === undefined ? null : [first] };
  const all = joins ? joined(texts) : texts;
  const isPlain = texts.length === 1 && Object.keys(text).length === 2;
  const content = isPlain ? text.text : all;
  return first === undefined ? { content } : { content, refusal: first.refusal };
}

/** Texts as one string, for servers whose templates take no lists. */
export function joined(texts: readonly OpenaiChatText[]): string {
  return texts.map(({ text }) => text).join("\n\n");
}

// The request shapes of Chat Completions.

/** Text in a message. */
export interface OpenaiChatText extends OpenaiBreakpoint {
  type: "text";
  text: string;
}

/** An image, by a data URL or an address. */
export interface OpenaiChatImage extends OpenaiBreakpoint {
  type: "image_url";
  image_url: { url: string; detail?: "auto" | "low" | "high" };
}

/** A PDF, in itself or by the id of an upload. */
export interface OpenaiChatFile extends OpenaiBreakpoint {
  type: "file";
  file: { filename: string; file_data: string } | { file_id: string };
}

/** A refusal of the model. */
interface OpenaiChatRefusal {
  type: "refusal";
  refusal: string;
}

/** A call of a tool, with arguments as JSON or as the free text of a custom tool. */
type OpenaiChatCall =
  | { id: string; type: "function"; function: { name: string; arguments: string } }
  | { id: string; type: "custom"; custom: { name: string; input: string } };

/**
 * A message of Chat Completions. In a dialect other than `openai` an assistant message also has the dialect's
 * member of reasoning, and the members that its server accepts back. For Mistral's reasoning its content is a
 * list of pieces.
 */
export type OpenaiChatMessage =
  | { role: "system"; content: string | OpenaiChatText[] }
  | { role: "developer"; content: string | OpenaiChatText[] }
  | { role: "user"; content: string | (OpenaiChatText | OpenaiChatImage | OpenaiChatFile)[] }
  | {
      role: "assistant";
      content: string | OpenaiChatText[] | [OpenaiChatRefusal] | null;
      /** A refusal beside a text; a refusal alone is the content. */
      refusal?: string;
      tool_calls?: OpenaiChatCall[];
    }
  | { role: "tool"; tool_call_id: string; content: string | OpenaiChatText[] };

/** The part of a request to Chat Completions that a projection writes. */
export interface OpenaiChatValue {
  messages: OpenaiChatMessage[];
  /** With `zeroRetention` of the projection, to OpenAI itself. */
  store?: false;
}
