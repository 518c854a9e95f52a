/**
 * Steps of the model that a session keeps as opaque blocks, and the boundaries of its outputs. An output has one block
 * for each of its contents, and is put together again from them.
 */

import { copyJsonObject, parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { isSignature } from "../reply-shape.js";
import type { ServerIds } from "../server-calls.js";
import type { GeminiInteractionContent, GeminiInteractionStep } from "./interactions-types.js";

type Fields = Readonly<Record<string, unknown>>;

/** The `api` of messages of this protocol. */
export const interactionsApi = "google-interactions";

/** An output of the model while its contents are put together. */
export type ModelOutput = Extract<GeminiInteractionStep, { type: "model_output" }>;

/** What an opaque block is: a step, a content that begins an output, or one that continues it. */
export type OwnBlock =
  | { readonly kind: "step"; readonly step: GeminiInteractionStep }
  | { readonly kind: "begins"; readonly output: ModelOutput }
  | { readonly kind: "continues"; readonly contents: GeminiInteractionContent[] };

/** The data of an opaque block for a content: the step around its first one, a piece of that step for others. */
export function outputBlock(content: unknown, begins: Fields | undefined): object {
  return begins === undefined
    ? { content: [content] }
    : { ...begins, type: "model_output", content: [content] };
}

/**
 * A copy of the data of an opaque block that `readGeminiInteraction` kept, also of a type that is not known here;
 * undefined for data that the API would refuse, such as another protocol's block.
 */
export function ownBlock(data: unknown): OwnBlock | undefined {
  if (!isRecord(data)) return undefined;
  const { type, content } = data;
  if (type === undefined || type === "model_output") {
    if (!Array.isArray(content) || content.length === 0 || !content.every(hasType)) return undefined;
    const copy = copyJsonObject(data) as unknown as ModelOutput;
    return type === undefined
      ? { kind: "continues", contents: copy.content }
      : { kind: "begins", output: copy };
  }
  return isStep(data) ? { kind: "step", step: copyJsonObject(data) as never } : undefined;
}

function hasType(value: unknown): boolean {
  return isRecord(value) && typeof value.type === "string";
}

/** Whether a record can be a step of the model: one of a tool has its id, and of the rest the API knows. */
function isStep(data: Fields): boolean {
  const { type, name, arguments: args, result, signature } = data;
  if (typeof type !== "string" || type === "" || type === "user_input") return false;
  if (type === "thought") return isSignature(signature);
  const { call, result: answered } = serverIds(data);
  if (type === "function_call") return call !== undefined && typeof name === "string" && isRecord(args);
  if (type === "function_result") return answered !== undefined && result !== undefined;
  return call !== undefined || answered !== undefined || !/_(?:call|result)$/.test(type);
}

/** The ids of a step of a tool: of the call itself, or of the call that a result answers. */
export function serverIds(data: unknown): ServerIds {
  if (!isRecord(data) || typeof data.type !== "string") return {};
  const { type, id, call_id } = data;
  if (type.endsWith("_call") && isSignature(id)) return { call: id };
  return type.endsWith("_result") && isSignature(call_id) ? { result: call_id } : {};
}

/**
 * The signature of a text that begins an output directly after another, or one with members beside its content.
 * Texts have none of the API's.
 */
export function printOutputMetadata(begins: Fields): string {
  return JSON.stringify({ step: begins });
}

/** The members of the output that a text begins; undefined if it continues the output before it. */
export function readOutputMetadata(signature: string | undefined): Fields | undefined {
  const metadata = parseJson(signature ?? "");
  return isRecord(metadata) && isRecord(metadata.step) ? copyJsonObject(metadata.step) : undefined;
}
