/** The target of OpenAI's Responses API. */

import { openai as openaiLimits } from "../../content/limits/internal.js";
import { unreachable } from "../../core/arguments.js";
import { copyJsonObject, parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { messagesIn } from "../finalize-request.js";
import { modelFacts } from "../models/internal.js";
import { openingText } from "../placeholders.js";
import type {
  NamedTool,
  NeutralRequest,
  Part,
  ResultPart,
  TextPart,
  ToolChange,
  UserPart,
} from "../request.js";
import { type HeldReply, mediaFor, type RenderTools, type Target, type TargetMedia } from "../target.js";
import { clientAnswer, type OpenaiFoundTool } from "./hosted-items.js";
import {
  breakpointAfter,
  callIdOfStoredId,
  fileName,
  imageTypes,
  type OpenaiOptions,
  openaiTarget,
} from "./options.js";
import { AssistantItems, itemRules } from "./responses-assistant.js";
import type { OpenaiInputPart, OpenaiResponsesItem, OpenaiResponsesValue } from "./responses-types.js";

/** Options of {@link openaiResponses}. */
export interface OpenaiResponsesOptions extends OpenaiOptions {
  /** How closely images are looked at; default `auto`. */
  readonly detail?: "low" | "high" | "auto" | "original";
  /**
   * Whether the API stores this conversation's responses, as it does unless the request has `store: false`.
   * Reasoning that is not encrypted is then sent back as a reference. Default false.
   */
  readonly stored?: boolean;
  /**
   * Sends only what is new after a response that the API stores, by `previous_response_id`. Implies `stored`. If
   * the API refuses such a value, send `whole()`. Default false.
   */
  readonly continue?: boolean;
  /**
   * Whether tools that system messages of mid-session add (`toolsAdded`) stand where they were added, as an item
   * `additional_tools`, so that reasoning and cache stay: declare `tools` of the projection, which stay those of the
   * session's first messages. Removed ones are told in words. For models that bind reasoning. Default false: `tools`
   * of the projection change.
   */
  readonly toolChanges?: boolean;
}

/**
 * Projects to OpenAI's Responses. The value has `input`. Instructions are a first developer message. Items of
 * the model are sent back unchanged, reasoning with its encrypted content. If responses are not stored,
 * request that content: `store: false` and `include: ["reasoning.encrypted_content"]`.
 *
 * @throws TypeError without a model
 * @example
 * ```ts
 * const { value } = await project(contextFrom([userMessage("hi")]), openaiResponses({ model: "gpt-5.4" }));
 * value.input; // [{ role: "user", content: [{ type: "input_text", text: "hi" }] }]
 * ```
 * @see https://platform.openai.com/docs/api-reference/responses/create (types of openai 7.59), and for
 *   accepted files https://developers.openai.com/api/docs/guides/file-inputs (stored copy, 2026-11-21)
 */
export function openaiResponses(options: OpenaiResponsesOptions): Target<OpenaiResponsesValue> {
  return {
    name: "openai-responses",
    ...openaiTarget(options, responsesApi),
    accepts: options.accepts ?? mediaFor(options.model, options.provider ?? "openai", media),
    rules: {
      // 64 characters: https://github.com/openai/codex/issues/14355 (stored copy, 2026-11-21).
      callId: { character: /[A-Za-z0-9_-]/, maxLength: 64, of: callIdOfStoredId },
      userFirst: false,
      bindsReasoning: modelFacts(options.model).bindsReasoning === true,
      ...(options.toolChanges === true ? { toolChanges: "additions" as const } : {}),
    },
    ...(options.continue === true ? { heldMs: storedMs } : {}),
    ...(options.profile === undefined ? { renderKey: JSON.stringify(options) } : {}),
    render: (request, tools, since) => {
      const { continue: continues = false, stored = continues } = options;
      if (tools.zeroRetention !== true)
        return new ResponsesWriter({ ...options, stored }, tools, request.turns).value(request, since);
      const writer = new ResponsesWriter({ ...options, stored: false }, tools, request.turns);
      return { ...writer.value(request, since), store: false };
    },
  };
}

/**
 * The API stores a response for at least 30 days; one day is for clocks.
 * @see https://developers.openai.com/api/docs/guides/conversation-state (stored copy, 2026-11-28)
 */
const storedMs = 29 * 24 * 3_600_000;

/** The `api` of messages of this protocol, as pi names it. */
export const responsesApi = "openai-responses";

/**
 * Text files that the API reads whole. It cuts tables to their first thousand rows, so these are sent as
 * text.
 */
const mediaTypes: readonly string[] = [
  ...imageTypes,
  "application/pdf",
  "text/plain",
  "text/markdown",
  "text/html",
  "application/json",
];

const media: TargetMedia = { user: mediaTypes, toolResult: mediaTypes, references: ["file", "url"] };

class ResponsesWriter {
  readonly #options: OpenaiResponsesOptions;
  readonly #tools: RenderTools;
  readonly #assistant: AssistantItems;
  /** Characters of one text. */
  readonly #maxText: number;
  readonly #bindsReasoning: boolean;

  constructor(options: OpenaiResponsesOptions, tools: RenderTools, turns: NeutralRequest["turns"]) {
    this.#options = options;
    this.#tools = tools;
    this.#bindsReasoning = modelFacts(options.model).bindsReasoning === true;
    const { profile = openaiLimits } = options;
    const limits = profile.rows.flatMap((row) => (row.rule === "textCharacters" ? [row.value] : []));
    this.#maxText = limits.reduce((least, limit) => Math.min(least, limit), Number.POSITIVE_INFINITY);
    const results = turns.flatMap((turn) => (turn.role === "user" ? turn.results : []));
    const rules = itemRules(options.provider ?? "openai", options.stored ?? false);
    this.#assistant = new AssistantItems(
      tools,
      rules,
      new Map(results.map((result) => [result.callId, result])),
    );
  }

  value({ system, turns }: NeutralRequest, since?: HeldReply): OpenaiResponsesValue {
    const role = this.#options.instructions ?? "developer";
    const input: OpenaiResponsesItem[] = system.length === 0 ? [] : [this.#message(role, system)];
    let held = 0;
    for (const [at, turn] of turns.entries()) {
      if (turn.role === "assistant") {
        for (const parts of messagesIn(turn.parts)) {
          const items = this.#assistant.items(parts);
          const isFirst = turn === turns[0] && parts[0] === turn.parts[0];
          // The whole message can consist of items that are not sent back.
          if (isFirst && items.length === 0) input.push(opening());
          for (const item of items) input.push(item);
        }
      } else {
        for (const result of turn.results) input.push(this.#result(result));
        for (const parts of messagesIn(turn.parts)) {
          const isGiven = parts.every((part) => part.type === "text" && part.instructions !== undefined);
          const said = parts.filter((part) => !isToolChange(part));
          if (said.length > 0) input.push(this.#message(isGiven ? role : "user", said));
          for (const part of parts.filter(isToolChange)) input.push(this.#newTools(part));
        }
      }
      if (at === since?.turn) held = input.length;
    }
    return since === undefined ? { input } : { input: input.slice(held), previous_response_id: since.id };
  }

  #message(role: "system" | "developer" | "user", parts: readonly UserPart[]): OpenaiResponsesItem {
    const item = { role, content: parts.flatMap((part) => this.#blocks(part)) };
    const [first] = parts;
    return first === undefined ? item : this.#tools.trace(item, first);
  }

  #newTools(part: TextPart & { readonly toolChange: ToolChange }): OpenaiResponsesItem {
    const tools = part.toolChange.added.map(declaration);
    return this.#tools.trace({ type: "additional_tools", role: "developer", tools }, part);
  }

  #result(result: ResultPart): OpenaiResponsesItem {
    const { callId: call_id, parts } = result;
    const kind = this.#assistant.kindByCallId(call_id);
    if (kind === "search") return this.#found(result);
    if (typeof kind === "object") {
      const lose = (part: UserPart, reason: string) =>
        this.#tools.reportLoss(part, { code: "unsupported", by: "target", reason });
      return this.#tools.trace<OpenaiResponsesItem>(clientAnswer(kind, result, lose), result);
    }
    const [only] = parts;
    const last = parts.at(-1);
    const blocks = parts.flatMap((part) => (part === last ? this.#blocks(part, result) : this.#blocks(part)));
    const [block] = blocks;
    // A breakpoint that moves on must leave the form as it was, if reasoning is bound to it.
    const canBeText = this.#options.cacheBreakpoints !== true || !this.#bindsReasoning;
    const isText =
      canBeText &&
      blocks.length === 1 &&
      only?.type === "text" &&
      block?.prompt_cache_breakpoint === undefined;
    const output = isText ? only.text : blocks;
    const type = kind === "custom" ? "custom_tool_call_output" : "function_call_output";
    return this.#tools.trace<OpenaiResponsesItem>({ type, call_id, output }, result);
  }

  /**
   * The result of a search for tools that the client ran: a JSON array of tools, or an object with such
   * `tools`.
   */
  #found(result: ResultPart): OpenaiResponsesItem {
    const [only, ...others] = result.parts;
    const value = only?.type === "text" && others.length === 0 ? parseJson(only.text) : undefined;
    const found = isRecord(value) ? value.tools : value;
    const isList = Array.isArray(found) && found.every((tool) => isRecord(tool));
    if (!isList) {
      const reason = "the target requires a JSON array of tools as the result of a tool search";
      for (const part of result.parts)
        this.#tools.reportLoss(part, { code: "unsupported", by: "target", reason });
    }
    const tools = isList ? (found as unknown as OpenaiFoundTool[]) : [];
    const item = { type: "tool_search_output", call_id: result.callId, execution: "client" } as const;
    return this.#tools.trace<OpenaiResponsesItem>({ ...item, status: "completed", tools }, result);
  }

  /** A part as its block, and a long text as several. */
  #blocks(part: UserPart, ...around: readonly Part[]): OpenaiInputPart[] {
    const end = breakpointAfter(this.#tools, part, ...around);
    if (part.type !== "text" || Math.max(part.text.length, part.instructions?.length ?? 0) <= this.#maxText) {
      return [this.#tools.trace({ ...this.#content(part), ...end }, part)];
    }
    const texts = cutText(part.instructions ?? part.text, this.#maxText);
    return texts.map((text, at) =>
      this.#tools.trace(
        { type: "input_text", text, ...(at === texts.length - 1 ? end : {}) } as OpenaiInputPart,
        part,
      ),
    );
  }

  #content(part: UserPart): OpenaiInputPart {
    const { detail = "auto" } = this.#options;
    switch (part.type) {
      case "text":
        return { type: "input_text", text: part.instructions ?? part.text };
      case "media":
        return part.kind === "image"
          ? { type: "input_image", detail, image_url: part.dataUrl }
          : {
              type: "input_file",
              filename: fileName(part.name, part.mediaType),
              file_data: part.dataUrl,
            };
      case "reference": {
        const { reference, kind } = part;
        if (kind === "image") {
          return reference.kind === "url"
            ? { type: "input_image", detail, image_url: reference.url }
            : { type: "input_image", detail, file_id: reference.id };
        }
        return reference.kind === "url"
          ? { type: "input_file", file_url: reference.url }
          : { type: "input_file", file_id: reference.id };
      }
      default:
        return unreachable(part);
    }
  }
}

function isToolChange(part: UserPart): part is TextPart & { readonly toolChange: ToolChange } {
  return part.type === "text" && part.toolChange !== undefined;
}

/** A tool as the API declares it: as it is, or a function with its schema under the API's name. */
function declaration(tool: NamedTool): OpenaiFoundTool {
  const {
    input_schema,
    inputSchema,
    parameters = input_schema ?? inputSchema,
    ...rest
  } = copyJsonObject(tool);
  if ("type" in rest) return copyJsonObject(tool) as unknown as OpenaiFoundTool;
  const schema = parameters ?? { type: "object", properties: {} };
  return { type: "function", strict: false, ...rest, parameters: schema } as unknown as OpenaiFoundTool;
}

/** A text in pieces of at most so many UTF-16 units, without a surrogate pair cut in two. */
function cutText(text: string, most: number): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const isPair = /[\ud800-\udbff]/.test(text.charAt(at + most - 1)) && at + most < text.length;
    const end = at + (isPair && most > 1 ? most - 1 : most);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

const opening = (): OpenaiResponsesItem => ({
  role: "user",
  content: [{ type: "input_text", text: openingText }],
});
