/**
 * Accumulates the chunks of streamGenerateContent into the message that {@link readGeminiReply} returns for a
 * whole response.
 */
import type { AssistantMessage } from "../../content/index.js";
import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import { isRecord } from "../../core/shape.js";
import { isSignature, passing } from "../reply-shape.js";
import {
  type ReplyAccumulator,
  type ReplyDelta,
  ReplyEnd,
  type ReplySource,
  type ReplyStream,
  type ReplyStreamOptions,
  replyFailed,
  replyStream,
  type StreamEnd,
} from "../reply-stream.js";
import {
  candidateFields,
  type GeminiReply,
  type GeminiReplyPart,
  isOpaqueText,
  type ReadGeminiReplyOptions,
  readGeminiReply,
  replyPart,
  responseFields,
} from "./reply.js";
import { generatedCallId } from "./target.js";

/** A chunk of the stream: a response with the parts that are new. */
export interface GeminiStreamChunk {
  readonly candidates?: readonly object[];
}

/**
 * Reads a streamed response of Gemini: deltas as they arrive, then the message that {@link readGeminiReply}
 * returns for the whole response. Accepts the official client's stream, the `Response` of `alt=sse`, or its
 * body. Consecutive texts are joined, unless one has a signature. Arguments of calls may arrive in pieces, as
 * Vertex AI sends them on request.
 *
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures and
 *   https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling (stored copies,
 *   2026-11-22)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), geminiContents({ model }), { blobs });
 * const chunks = await client.models.generateContentStream({ model, contents: value.contents });
 * const stream = geminiStream(chunks, { model });
 * for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 * await session.appendMessage(await stream.message());
 * ```
 */
export function geminiStream(
  source: ReplySource<GeminiStreamChunk>,
  options: ReadGeminiReplyOptions & ReplyStreamOptions = {},
): ReplyStream {
  return replyStream(source, new GeminiAccumulator(options), options);
}

type Fields = Record<string, unknown>;

/** A part while it arrives; pieces of text are joined once, at the end. */
interface OpenPart {
  fields: Fields;
  readonly pieces: string[];
  /** A call whose arguments still come. */
  isOpen: boolean;
}

class GeminiAccumulator implements ReplyAccumulator<GeminiStreamChunk> {
  readonly #options: ReadGeminiReplyOptions;
  readonly #parts: OpenPart[] = [];
  #reply: Fields = {};
  /** Members of the candidate beside its content. */
  #candidate: Fields = {};
  readonly #end = new ReplyEnd();
  /** The prompt was refused. */
  #isBlocked = false;

  constructor(options: ReadGeminiReplyOptions) {
    this.#options = options;
  }

  get isComplete(): boolean {
    return this.#isBlocked || this.#end.reason !== undefined;
  }

  push(chunk: GeminiStreamChunk): readonly ReplyDelta[] {
    if (!isRecord(chunk)) return [];
    const { candidates, error, ...members } = chunk as Fields;
    if (isRecord(error)) {
      if (this.isComplete) return [];
      throw replyFailed(typeof error.message === "string" ? error.message : "", error);
    }
    keep(members, this.#reply);
    const { promptFeedback } = members;
    if (isRecord(promptFeedback) && typeof promptFeedback.blockReason === "string") this.#isBlocked = true;
    const candidate = Array.isArray(candidates) ? candidates.find(isFirst) : undefined;
    if (!isRecord(candidate)) return [];
    const { content, ...ofCandidate } = candidate;
    const sent = isRecord(content) && Array.isArray(content.parts) ? content.parts.filter(isRecord) : [];
    const { finishReason } = ofCandidate;
    const reason = typeof finishReason === "string" && finishReason !== "" ? finishReason : undefined;
    const isTaken = !this.#isBlocked && this.#end.takes(chunk, sent.some(saysSomething), reason);
    if (isTaken) {
      delete this.#candidate.finishReason;
      delete this.#candidate.finishMessage;
    }
    keep({ ...ofCandidate, ...this.#ending }, this.#candidate);
    return isTaken ? sent.flatMap((part) => this.#part(part)) : [];
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const isCut = !isOver || this.#candidate.finishReason === "MAX_TOKENS";
    const open = this.#parts.filter(({ isOpen }) => !isOpen || !isCut);
    const parts = open
      .map(({ fields, pieces }) => (pieces.length === 0 ? fields : { ...fields, text: pieces.join("") }))
      .filter((part) => replyPart(part) === undefined);
    const ending = isOver ? this.#candidate : { ...this.#candidate, finishReason: "STOP" };
    const candidate = { ...passing(ending, candidateFields), content: { parts } };
    const reply = { ...passing(this.#reply, responseFields), candidates: [candidate] } as GeminiReply;
    const model = this.#options.model ?? reply.modelVersion;
    const read = readGeminiReply(reply, {
      ...this.#options,
      model: typeof model === "string" ? model : "unknown",
    });
    if (isOver) return read;
    const { candidates: _, ...fields } = read.providerFields ?? {};
    return { ...read, providerFields: fields, stopReason: end.type, errorMessage: end.reason };
  }

  /** The end that the provider said first. */
  get #ending(): Fields {
    const { finishReason, finishMessage } = this.#candidate;
    return typeof finishReason === "string" ? { finishReason, finishMessage } : {};
  }

  #part(part: Fields): readonly ReplyDelta[] {
    const last = this.#parts.at(-1);
    const { text, functionCall } = part;
    if (isRecord(functionCall)) return this.#call(part, functionCall, last);
    if (functionCall !== undefined && functionCall !== null) return [];
    if (last !== undefined) last.isOpen = false;
    if (typeof text !== "string") {
      this.#parts.push({ fields: part, pieces: [], isOpen: false });
      return [];
    }
    const isSigned = isSignature(part.thoughtSignature);
    const isThought = part.thought === true;
    const goesOn =
      !isSigned &&
      last !== undefined &&
      last.pieces.length > 0 &&
      (last.fields.thought === true) === isThought &&
      isPlainText(last.fields) &&
      isPlainText(part);
    if (goesOn) last.pieces.push(text);
    // An empty text without a signature carries no content.
    else if (text !== "" || isSigned || !isPlainText(part))
      this.#parts.push({ fields: part, pieces: [text], isOpen: false });
    if (text === "" || isOpaqueText(part as GeminiReplyPart, text)) return [];
    return [{ type: isThought ? "thinking" : "text", index: this.#parts.length - 1, text }];
  }

  /** A call, or a piece of the arguments of the call before. */
  #call(part: Fields, call: Fields, last: OpenPart | undefined): readonly ReplyDelta[] {
    const { name, args, partialArgs, willContinue, ...fields } = call;
    const isPiece = last?.isOpen === true && (typeof name !== "string" || name === "");
    if (!isPiece) {
      if (last !== undefined) last.isOpen = false;
      const given = isRecord(args) ? args : {};
      const own = { ...fields, ...(name === undefined ? {} : { name }), args: given };
      this.#parts.push({ fields: { ...part, functionCall: own }, pieces: [], isOpen: willContinue === true });
    }
    const open = this.#parts.at(-1) as OpenPart;
    const target = open.fields.functionCall as { name?: unknown; id?: unknown; args: Fields };
    if (Array.isArray(partialArgs) && partialArgs.length > 0) {
      target.args = structuredClone(target.args);
      for (const piece of partialArgs) if (isRecord(piece)) setArgument(target.args, piece);
    }
    open.isOpen = willContinue === true;
    const index = this.#parts.length - 1;
    // The arguments have no text of their own on the way: they come whole, with the end of the call.
    const json = open.isOpen ? "" : JSON.stringify(target.args);
    if (isPiece && open.isOpen) return [];
    return [
      {
        type: "toolCall",
        index,
        id: this.#callId(target.id, index),
        name: String(target.name ?? ""),
        arguments: json,
      },
    ];
  }

  /** The same id that the reader of the whole response assigns. */
  #callId(id: unknown, index: number): string {
    const isKnown = this.#parts.slice(0, index).some(({ fields }) => {
      return isRecord(fields.functionCall) && fields.functionCall.id === id;
    });
    if (typeof id === "string" && id !== "" && !isKnown) return id;
    const { responseId } = this.#reply;
    return generatedCallId(typeof responseId === "string" ? responseId : crc32Hex(encodeUtf8("")), index);
  }
}

function saysSomething({ text, ...others }: Fields): boolean {
  return (text !== undefined && text !== "") || Object.keys(others).length > 0;
}

/** Whether a part has no members that belong to this text alone. */
function isPlainText({ text: _, thought: __, thoughtSignature, ...others }: Fields): boolean {
  return !isSignature(thoughtSignature) && Object.keys(others).length === 0;
}

/** Keeps the members of a chunk that say something. */
function keep(members: Fields, into: Fields): void {
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined && value !== null && value !== "" && name !== "__proto__") into[name] = value;
  }
}

function isFirst(candidate: unknown): boolean {
  return isRecord(candidate) && (candidate.index ?? 0) === 0;
}

const maxPathSteps = 64;
const maxArrayIndex = 100_000;

/** Applies one piece to the arguments: text is appended at its path, any other value replaces the old one. */
function setArgument(args: Fields, piece: Fields): void {
  const path = stepsByPath(piece.jsonPath);
  const last = path?.at(-1);
  if (path === undefined || last === undefined) return;
  let at: unknown = args;
  for (const [depth, step] of path.slice(0, -1).entries()) {
    const next = readMember(at, step);
    if (next === undefined || next === null || typeof next !== "object") {
      const made = typeof path[depth + 1] === "number" ? [] : {};
      if (!setMember(at, step, made)) return;
      at = made;
    } else at = next;
  }
  const before = readMember(at, last);
  const { stringValue, numberValue, boolValue } = piece;
  if (typeof stringValue === "string")
    setMember(at, last, (typeof before === "string" ? before : "") + stringValue);
  else if (typeof numberValue === "number") setMember(at, last, numberValue);
  else if (typeof boolValue === "boolean") setMember(at, last, boolValue);
  else if ("nullValue" in piece) setMember(at, last, null);
}

/** The steps of a path such as `$.recipe.steps[0]['a b']`; undefined for any other text. */
function stepsByPath(path: unknown): readonly (string | number)[] | undefined {
  if (typeof path !== "string" || !path.startsWith("$") || path.length > 10_000) return undefined;
  const steps: (string | number)[] = [];
  const pattern =
    /\.([^.[\]]{1,10000})|\[(\d{1,9})\]|\['((?:[^'\\]|\\.){0,10000})'\]|\["((?:[^"\\]|\\.){0,10000})"\]/y;
  pattern.lastIndex = 1;
  while (pattern.lastIndex < path.length) {
    const match = pattern.exec(path);
    if (match === null || steps.length === maxPathSteps) return undefined;
    const [, name, index, single, double] = match;
    const quoted = single ?? double;
    if (index !== undefined) steps.push(Number(index));
    else steps.push(name ?? (quoted as string).replace(/\\(.)/g, "$1"));
  }
  return steps;
}

function readMember(value: unknown, step: string | number): unknown {
  if (Array.isArray(value)) return typeof step === "number" ? value[step] : undefined;
  return isRecord(value) && Object.hasOwn(value, step) ? (value as Fields)[step] : undefined;
}

function setMember(value: unknown, step: string | number, member: unknown): boolean {
  if (Array.isArray(value)) {
    // A hole would be null in the log, and a far index would take the memory.
    if (typeof step !== "number" || step > value.length || step > maxArrayIndex) return false;
    value[step] = member;
    return true;
  }
  if (!isRecord(value) || step === "__proto__") return false;
  (value as Fields)[step] = member;
  return true;
}
