/** The target of Google's Interactions API. */

import { gemini as geminiLimits } from "../../content/limits/internal.js";
import { stringArgument, unreachable } from "../../core/arguments.js";
import { copyJsonObject } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { messagesIn } from "../finalize-request.js";
import { modelFacts } from "../models/internal.js";
import { isSignature } from "../reply-shape.js";
import type {
  AssistantPart,
  CallPart,
  OpaquePart,
  Part,
  ReasoningPart,
  ResultPart,
  TextPart,
  Turn,
  UserPart,
} from "../request.js";
import { serverCalls } from "../server-calls.js";
import { mediaFor, type RenderTools, type Target } from "../target.js";
import {
  type GeminiInteractionContent,
  type GeminiInteractionRequest,
  type GeminiInteractionStep,
  interactionsApi,
  type ModelOutput,
  ownBlock,
  readOutputMetadata,
  serverIds,
} from "./interaction-steps.js";
import { dummySignature, isSigning, soundSignature } from "./shapes.js";
import type { GeminiContentsOptions } from "./target.js";

/** Options of {@link geminiInteractions}. */
export interface GeminiInteractionsOptions extends GeminiContentsOptions {
  /**
   * Sends only the new steps after an interaction that the API stores, by `previous_interaction_id`. Leave out
   * `store: false` then. If the API refuses such a value, send `whole()`. Default false.
   */
  readonly continue?: boolean;
}

/**
 * The API stores an interaction for a day without a paid plan; an hour is for clocks.
 * @see https://ai.google.dev/gemini-api/docs/interactions (stored copy, 2026-11-28)
 */
const storedMs = 23 * 3_600_000;

const pictures = ["image/png", "image/jpeg", "image/webp"];
const paper = "application/pdf";
/** @see https://ai.google.dev/gemini-api/docs/interactions/audio (stored copy, 2026-11-28) */
const sounds = ["wav", "mp3", "aiff", "aac", "ogg", "flac", "mpeg"].map((type) => `audio/${type}`);

/**
 * Projects to Google's Interactions API: `input`, the steps of the whole conversation, and a `system_instruction` if
 * there are instructions. Send `store: false` with it, since the API stores conversations by default; each request
 * then has all steps.
 *
 * A message has steps of its own, and results stand before the user's next words, so that a longer conversation only
 * adds steps. Thoughts, calls, and steps of the API's own tools go back to the model that made them as they came. From
 * Gemini 3 on a message of another model that has calls begins with the signature that Google documents for a history
 * without signatures.
 *
 * Images, PDFs and audio are sent as base64, or by their address; those of a tool's result within the result, from
 * Gemini 3 on. Text documents are sent as text: the API lists no type for them.
 *
 * @throws TypeError if `model` is no string.
 * @see https://ai.google.dev/gemini-api/docs/interactions, its pages thinking and function-calling, and for what the
 *   service refuses the Google adapter of https://github.com/apostrophecms/apostrophe (stored copies, 2026-11-28)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), geminiInteractions({ model }), { blobs });
 * const reply = await client.interactions.create({ model, store: false, ...value });
 * await session.appendMessage(readGeminiInteraction(reply, { model }));
 * ```
 */
export function geminiInteractions(options: GeminiInteractionsOptions): Target<GeminiInteractionRequest> {
  const model = stringArgument("model", options?.model);
  const { provider = "google", account, profile = geminiLimits } = options;
  const signs = isSigning(model);
  return {
    name: "gemini-interactions",
    model: { provider, model, api: interactionsApi, ...(account === undefined ? {} : { account }) },
    accepts: mediaFor(model, provider, {
      user: [...pictures, "image/heic", "image/heif", paper, ...sounds],
      toolResult: signs ? [...pictures, paper] : [],
      references: ["file", "url"],
    }),
    rules: { toolName: { character: /[\w.:-]/, first: /[A-Za-z_]/ }, opaqueMedia },
    limits: { profile },
    embedsBase64: true,
    estimate: { image: modelFacts(model).image ?? "gemini3", pdf: "gemini" },
    ...(options.continue === true ? { heldMs: storedMs } : {}),
    ...(options.profile === undefined ? { renderKey: JSON.stringify(options) } : {}),
    render({ system, turns }, tools, since) {
      const stray = strayParts(turns, tools);
      const input = turns.flatMap((turn, at) => {
        if (since !== undefined && at <= since.turn) return [];
        if (turn.role === "user") {
          const results = turn.results.map((result) => functionResult(result, tools));
          return [...results, ...messagesIn(turn.parts).map((parts) => userInput(parts, tools))];
        }
        const kept = turn.parts.filter((part) => !stray.has(part));
        return messagesIn(kept).flatMap((parts) => new MessageWriter(tools, signs).steps(parts));
      });
      const held = {
        ...(since === undefined ? {} : { previous_interaction_id: since.id }),
        ...(tools.zeroRetention === true ? { store: false as const } : {}),
      };
      if (system.length === 0) return { input, ...held };
      // Each interaction has its own instructions.
      return { input, system_instruction: system.map(({ text }) => text).join("\n\n"), ...held };
    },
  };
}

/** Blocks that the API would refuse, and halves of a pair of its own tools; each is a loss. */
function strayParts(turns: readonly Turn[], tools: RenderTools): ReadonlySet<Part> {
  const stray = new Map<Part, string>();
  for (const part of turns.flatMap((turn) => (turn.role === "assistant" ? turn.parts : []))) {
    if (part.type === "opaque" && ownBlock(part.data) === undefined)
      stray.set(part, "the data is no step of the Interactions API");
  }
  for (const { part, reason } of serverCalls(turns, serverIds).stray) stray.set(part, reason);
  for (const [part, reason] of stray) tools.reportLoss(part, { code: "opaque", by: "history", reason });
  return new Set(stray.keys());
}

function userInput(parts: readonly UserPart[], tools: RenderTools): GeminiInteractionStep {
  const content = parts.map((part) => tools.trace(userContent(part), part));
  return tools.trace({ type: "user_input", content }, parts[0] as UserPart);
}

function userContent(part: UserPart): GeminiInteractionContent {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "media":
      return { type: mediaKind(part.mediaType), mime_type: part.mediaType, data: part.base64 };
    case "reference": {
      const { reference, mediaType } = part;
      const uri = reference.kind === "file" ? reference.id : reference.url;
      return { type: mediaKind(mediaType), mime_type: mediaType, uri };
    }
    default:
      return unreachable(part);
  }
}

function mediaKind(mediaType: string): "image" | "audio" | "document" {
  const [kind] = mediaType.split("/", 1);
  return kind === "image" || kind === "audio" ? kind : "document";
}

function functionResult(result: ResultPart, tools: RenderTools): GeminiInteractionStep {
  const { callId: call_id, name, isError, parts } = result;
  return tools.trace<GeminiInteractionStep>(
    {
      type: "function_result",
      call_id,
      name,
      result: parts.map((part) => tools.trace(userContent(part), part)),
      ...(isError ? { is_error: true } : {}),
    },
    result,
  );
}

/** Writes one message of the model. */
class MessageWriter {
  readonly #tools: RenderTools;
  readonly #signs: boolean;
  readonly #steps: GeminiInteractionStep[] = [];

  constructor(tools: RenderTools, signs: boolean) {
    this.#tools = tools;
    this.#signs = signs;
  }

  steps(parts: readonly AssistantPart[]): readonly GeminiInteractionStep[] {
    for (const part of parts) this.#write(part);
    const call = parts.find(({ type }) => type === "call");
    if (!this.#signs || call === undefined) return this.#steps;
    const first = this.#steps.findIndex(({ type }) => type === "function_call");
    const led = this.#steps.slice(0, first + 1);
    if (led.some((step) => "signature" in step && isSignature(step.signature))) return this.#steps;
    return [this.#tools.trace({ type: "thought", signature: dummySignature }, call), ...this.#steps];
  }

  #write(part: AssistantPart): void {
    if (part.type === "text") this.#text(part);
    else if (part.type === "reasoning") this.#thought(part);
    else if (part.type === "call") this.#add(functionCall(part, soundSignature(part, this.#tools)), part);
    else this.#opaque(part);
  }

  #opaque(part: OpaquePart): void {
    const own = ownBlock(part.data);
    if (own?.kind === "step") this.#add(own.step, part);
    else if (own?.kind === "begins") this.#begin(own.output, part);
    else for (const content of own?.contents ?? []) this.#content(content, part);
  }

  #add(step: GeminiInteractionStep, part: Part): void {
    this.#steps.push(this.#tools.trace(step, part));
  }

  #begin(output: ModelOutput, part: Part): void {
    for (const content of output.content) this.#tools.trace(content, part);
    this.#add(output, part);
  }

  /** A content of the output that is open, or of a new one. */
  #content(content: GeminiInteractionContent, part: Part): void {
    const last = this.#steps.at(-1);
    if (last?.type === "model_output") last.content.push(this.#tools.trace(content, part));
    else this.#begin({ type: "model_output", content: [content] }, part);
  }

  #text(part: TextPart): void {
    const { text, providerFields = {}, signature } = part;
    const content: GeminiInteractionContent = { ...copyJsonObject(providerFields), type: "text", text };
    const begins = readOutputMetadata(signature);
    if (begins === undefined) this.#content(content, part);
    else this.#begin({ ...begins, type: "model_output", content: [content] }, part);
  }

  #thought(part: ReasoningPart): void {
    const signature = soundSignature(part, this.#tools);
    if (signature === undefined) return;
    const { text, providerFields = {} } = part;
    const { summary, ...fields } = copyJsonObject(providerFields);
    const kept = summaryText(summary) === text ? { summary } : {};
    const said = text === "" ? {} : { summary: [{ type: "text" as const, text }] };
    this.#add({ ...fields, type: "thought", signature, ...said, ...kept } as GeminiInteractionStep, part);
  }
}

/** The words of a thought's summary; undefined if there is none. */
export function summaryText(summary: unknown): string | undefined {
  if (!Array.isArray(summary)) return undefined;
  return summary
    .map((one: unknown) => (isRecord(one) && typeof one.text === "string" ? one.text : ""))
    .join("");
}

function functionCall(part: CallPart, signature: string | undefined): GeminiInteractionStep {
  const { id, name, arguments: args, providerFields = {} } = part;
  return {
    ...copyJsonObject(providerFields),
    type: "function_call",
    id,
    name,
    arguments: isRecord(args) ? copyJsonObject(args) : {},
    ...(signature === undefined ? {} : { signature }),
  };
}

/**
 * A medium of a thought, or of a tool that the API ran, goes back in every turn: the API wants thoughts exactly as they
 * came, and a result belongs to its call. One of an answer goes back as the replay policy decides.
 *
 * @see https://ai.google.dev/gemini-api/docs/interactions/thinking (stored copy, 2026-11-28)
 */
function opaqueMedia(data: unknown): "always" | "replayed" | "never" {
  const own = ownBlock(data);
  if (own === undefined) return "never";
  return own.kind === "step" ? "always" : "replayed";
}
