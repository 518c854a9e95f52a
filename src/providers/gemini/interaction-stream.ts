/**
 * Accumulates the events of the Interactions API into the message that {@link readGeminiInteraction} returns for a
 * whole interaction.
 */
import type { AssistantMessage } from "../../content/index.js";
import { decodeBase64, encodeBase64 } from "../../core/base64.js";
import { concatBytes } from "../../core/bytes.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { isSignature, passing } from "../reply-shape.js";
import {
  OpenBlocks,
  type ReplyAccumulator,
  type ReplyDelta,
  type ReplySource,
  type ReplyStream,
  type ReplyStreamOptions,
  replyFailed,
  replyStream,
  type StreamEnd,
} from "../reply-stream.js";
import { type GeminiInteraction, interactionFields, readGeminiInteraction } from "./interaction-reply.js";
import type { ReadGeminiReplyOptions } from "./reply.js";

/** An event of the stream. Events and members that this library does not know are allowed. */
export interface GeminiInteractionEvent {
  readonly event_type: string;
}

/**
 * Reads a streamed interaction: deltas as they arrive, then the message that {@link readGeminiInteraction} returns for
 * the whole one. Accepts the official client's stream, a `Response`, or its body. Events after the end are ignored.
 *
 * @see https://ai.google.dev/gemini-api/docs/interactions/streaming (stored copy, 2026-11-28)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), geminiInteractions({ model }), { blobs });
 * const events = await client.interactions.create({ model, store: false, stream: true, ...value });
 * const stream = geminiInteractionStream(events, { model });
 * for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 * await session.appendMessage(await stream.message());
 * ```
 */
export function geminiInteractionStream(
  source: ReplySource<GeminiInteractionEvent>,
  options: ReadGeminiReplyOptions & ReplyStreamOptions = {},
): ReplyStream {
  return replyStream(source, new InteractionAccumulator(options), options);
}

type Fields = Record<string, unknown>;

/** A content of an output or of a summary while it arrives; pieces are joined once, at the end. */
interface OpenContent {
  readonly fields: Fields;
  readonly unit: number;
  /** Of the text. */
  readonly texts: string[];
  /** Of the base64. */
  readonly data: string[];
}

/** A step while it arrives. */
interface OpenStep {
  readonly fields: Fields;
  readonly unit: number;
  isOpen: boolean;
  readonly contents: OpenContent[];
  /** Pieces of a call's arguments. */
  readonly json: string[];
}

/** The member of a step that has its contents. */
const contentMembers: Readonly<Record<string, string>> = { model_output: "content", thought: "summary" };

const media: ReadonlySet<unknown> = new Set(["image", "audio", "video", "document"]);

class InteractionAccumulator implements ReplyAccumulator<GeminiInteractionEvent> {
  readonly #options: ReadGeminiReplyOptions;
  readonly #steps = new OpenBlocks<OpenStep>();
  #interaction: Fields = {};
  #isComplete = false;
  #units = 0;

  constructor(options: ReadGeminiReplyOptions) {
    this.#options = options;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  push(event: GeminiInteractionEvent): readonly ReplyDelta[] {
    if (!isRecord(event) || this.#isComplete) return [];
    const { event_type: type, index, step, delta, error, interaction, metadata } = event as Fields;
    if (type === "error" || isRecord(error)) throw failure(error);
    if (isRecord(metadata) && isRecord(metadata.total_usage)) this.#keep({ usage: metadata.total_usage });
    switch (type) {
      case "interaction.created":
      case "interaction.completed":
        if (isRecord(interaction)) this.#keep(interaction);
        if (type === "interaction.completed") this.#complete();
        return [];
      case "interaction.status_update": {
        const { status, usage, continuation_token } = event as Fields;
        this.#keep({ status, usage, continuation_token });
        return [];
      }
      case "step.start":
        return isRecord(step) ? this.#begin(index, step) : [];
      case "step.delta":
        return isRecord(delta) ? this.#delta(index, delta) : [];
      case "step.stop":
        return this.#stop(index);
      default:
        return [];
    }
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const isWhole = isOver && this.#interaction.status !== "incomplete";
    const { steps: given, ...members } = this.#interaction;
    const steps =
      isOver && isList(given) ? given : this.#steps.inOrder().flatMap((one) => soFar(one, isWhole));
    const status = isOver ? {} : { status: "completed" };
    const reply = passing({ ...members, ...status, steps }, interactionFields) as GeminiInteraction;
    const model = this.#options.model ?? reply.model ?? reply.agent ?? "unknown";
    const read = readGeminiInteraction(reply, { ...this.#options, model });
    if (isOver) return read;
    const { status: _, ...fields } = read.providerFields ?? {};
    return { ...read, providerFields: fields, stopReason: end.type, errorMessage: end.reason };
  }

  /** Keeps the members that say something. */
  #keep(members: Fields): void {
    for (const [name, value] of Object.entries(members)) {
      if (value !== undefined && value !== null && value !== "" && name !== "__proto__")
        this.#interaction[name] = value;
    }
  }

  /** Some servers leave the status out of the last event. */
  #complete(): void {
    this.#isComplete = true;
    const { status } = this.#interaction;
    if (status === "in_progress" || status === "queued") delete this.#interaction.status;
  }

  #begin(index: unknown, step: Fields): readonly ReplyDelta[] {
    const { block } = this.#add(index, step);
    const { type, id, name } = step;
    if (type === "function_call") {
      const call = { id: isSignature(id) ? id : "", name: String(name ?? "") };
      return [{ type: "toolCall", index: block.unit, ...call, arguments: "" }];
    }
    return block.contents.flatMap(({ unit, texts }) => textDeltas(type, unit, texts.join("")));
  }

  #add(index: unknown, step: Fields): { readonly block: OpenStep } {
    const member = contentMembers[String(step.type)];
    const given = member === undefined ? undefined : step[member];
    const block: OpenStep = {
      fields: { ...step },
      unit: this.#units,
      isOpen: true,
      contents: [],
      json: [],
    };
    for (const content of isList(given) ? given : []) this.#addContent(block, content);
    if (block.contents.length === 0) this.#units++;
    return this.#steps.begin(index, block);
  }

  #addContent(step: OpenStep, { text, data, ...fields }: Fields): OpenContent {
    const content: OpenContent = {
      fields,
      unit: this.#units++,
      texts: typeof text === "string" ? [text] : [],
      data: typeof data === "string" ? [data] : [],
    };
    step.contents.push(content);
    return content;
  }

  #delta(index: unknown, delta: Fields): readonly ReplyDelta[] {
    const { type, text, content, annotations, signature, arguments: args } = delta;
    if (type === "text" || (type === undefined && typeof text === "string"))
      return this.#text(this.#stepOf("model_output", index), text);
    if (type === "thought_summary") {
      const thought = this.#stepOf("thought", index);
      const said = isRecord(content) ? content : { type: "text", text };
      if (typeof said.text === "string") return this.#text(thought, said.text);
      this.#addContent(thought, said);
      return [];
    }
    if (type === "thought_signature") {
      if (isSignature(signature)) this.#stepOf("thought", index).fields.signature = signature;
      return [];
    }
    if (type === "arguments_delta") return typeof args === "string" ? this.#arguments(index, args) : [];
    const step = this.#steps.at(index)?.block;
    if (type === "text_annotation_delta") {
      const cited = step?.contents.findLast(({ fields }) => fields.type === "text");
      if (cited !== undefined && isList(annotations)) addTo(cited.fields, "annotations", annotations);
    } else if (step?.fields.type === "model_output" || (step === undefined && media.has(type))) {
      this.#medium(step ?? this.#add(index, { type: "model_output" }).block, delta);
    } else if (typeof type === "string") {
      mergeStep((step ?? this.#add(index, { type }).block).fields, delta);
    }
    return [];
  }

  /** The step that an index names, or the open one of its type: gateways leave steps and their indexes out. */
  #stepOf(type: string, index: unknown): OpenStep {
    const found = this.#steps.for(index, ({ fields, isOpen }) => isOpen && fields.type === type);
    return (found ?? this.#add(index, { type })).block;
  }

  #text(step: OpenStep, text: unknown): readonly ReplyDelta[] {
    if (typeof text !== "string" || text === "") return [];
    const last = step.contents.at(-1);
    const open = last?.fields.type === "text" ? last : this.#addContent(step, { type: "text" });
    open.texts.push(text);
    return textDeltas(step.fields.type, open.unit, text);
  }

  /** A medium comes whole, but for sound, whose pieces have one type, and for pieces without a type. */
  #medium(step: OpenStep, delta: Fields): void {
    const last = step.contents.at(-1);
    const { type, data, mime_type: mediaType, ...fields } = delta;
    const goesOn =
      last !== undefined &&
      last.fields.type === type &&
      last.data.length > 0 &&
      typeof data === "string" &&
      (mediaType === undefined || (type === "audio" && last.fields.mime_type === mediaType));
    if (!goesOn) this.#addContent(step, delta);
    else {
      last.data.push(data);
      Object.assign(last.fields, fields);
    }
  }

  #arguments(index: unknown, piece: string): readonly ReplyDelta[] {
    // The index can be that of the thought before the call.
    const call = this.#steps.for(index, ({ fields, isOpen }) => isOpen && fields.type === "function_call");
    if (call === undefined) return [];
    call.block.json.push(piece);
    return [callDelta(call.block, piece)];
  }

  #stop(index: unknown): readonly ReplyDelta[] {
    const step = this.#steps.at(index)?.block;
    if (step?.isOpen !== true) return [];
    step.isOpen = false;
    const { type, arguments: args } = step.fields;
    const isGiven = type === "function_call" && step.json.length === 0 && isRecord(args);
    return isGiven ? [callDelta(step, JSON.stringify(args))] : [];
  }
}

function failure(error: unknown): Error {
  const { code, message } = isRecord(error) ? error : { code: undefined, message: undefined };
  return replyFailed([code, message].filter(isSignature).join(": "), error);
}

function isList(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every(isRecord);
}

function textDeltas(type: unknown, index: number, text: string): readonly ReplyDelta[] {
  return text === "" ? [] : [{ type: type === "thought" ? "thinking" : "text", index, text }];
}

function callDelta({ unit, fields: { id, name } }: OpenStep, piece: string): ReplyDelta {
  const call = { id: isSignature(id) ? id : "", name: String(name ?? "") };
  return { type: "toolCall", index: unit, ...call, arguments: piece };
}

function addTo(fields: Fields, member: string, more: readonly Fields[]): void {
  const before = fields[member];
  fields[member] = [...(isList(before) ? before : []), ...more];
}

/** Merges a delta into a step of a tool: results go on, arguments are members, and the rest replaces what it was. */
function mergeStep(step: Fields, { type: _, ...delta }: Fields): void {
  for (const [name, value] of Object.entries(delta)) {
    const before = step[name];
    if (value === undefined || value === "" || name === "__proto__") continue;
    if (name === "result" && typeof before === "string" && typeof value === "string")
      step[name] = before + value;
    else if (name === "result" && isList(before) && isList(value)) step[name] = [...before, ...value];
    else if (name === "arguments" && isRecord(before) && isRecord(value))
      step[name] = { ...before, ...value };
    else step[name] = value;
  }
}

/** A step as far as it came: of one that is open the text, and the rest only if the reply is whole. */
function soFar({ fields, isOpen, contents, json }: OpenStep, isWhole: boolean): readonly Fields[] {
  const member = contentMembers[String(fields.type)];
  if (member !== undefined) {
    if (contents.length === 0) return member === "content" ? [] : [fields];
    return [{ ...fields, [member]: contents.map(contentSoFar) }];
  }
  if (isOpen && !isWhole) return [];
  if (fields.type !== "function_call" || json.length === 0) return [fields];
  const args = parseJson(json.join(""));
  return isRecord(args) ? [{ ...fields, arguments: args }] : [];
}

function contentSoFar({ fields, texts, data }: OpenContent): Fields {
  return {
    ...fields,
    ...(texts.length > 0 && { text: texts.join("") }),
    ...(data.length > 0 && { data: joinedBase64(data) }),
  };
}

/** The base64 of the bytes of all pieces, each of which may be padded. */
function joinedBase64(pieces: readonly string[]): string {
  const [only, ...more] = pieces;
  if (more.length === 0) return only ?? "";
  const bytes = pieces.map(decodeBase64);
  const isSound = bytes.every((one) => one !== undefined);
  return isSound ? encodeBase64(concatBytes(bytes)) : pieces.join("");
}
