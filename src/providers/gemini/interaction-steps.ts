/** The steps of Google's Interactions API: their types, and the metadata with which they go back. */

import { copyJsonObject, parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { isSignature } from "../reply-shape.js";
import type { ServerIds } from "../server-calls.js";

type Fields = Readonly<Record<string, unknown>>;

/** The `api` of messages of this protocol. */
export const interactionsApi = "google-interactions";

/** An output of the model while its contents are put together. */
export type ModelOutput = Extract<GeminiInteractionStep, { type: "model_output" }>;

/** What an opaque block is: a step, a content that begins an output, or one that continues it. */
type OwnBlock =
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

// Types of a request to the Interactions API, as far as a projection writes it. Each is assignable to the type
// of the same meaning in `@google/genai` without importing it. Values are mutable, as in that package.
//
// @see https://ai.google.dev/api/interactions-api, and `Interactions` of `@google/genai` 2.32 and 3.3

/** The part of a request that a session fills. */
export interface GeminiInteractionRequest {
  /** The conversation, oldest first. Each message has steps of its own. */
  input: GeminiInteractionStep[];
  system_instruction?: string;
  /** With `continue` of the target: the interaction before, which the API stores. */
  previous_interaction_id?: string;
  /** With `zeroRetention` of the projection. */
  store?: false;
}

/** Text, or a medium as base64 or by its address. */
export type GeminiInteractionContent =
  | { type: "text"; text: string }
  | { type: "image" | "document" | "audio"; mime_type: string; data: string }
  | { type: "image" | "document" | "audio"; mime_type: string; uri: string };

/** A step of the conversation. Unlisted members of the model's own steps are sent back too. */
export type GeminiInteractionStep =
  | { type: "user_input"; content: GeminiInteractionContent[] }
  | { type: "model_output"; content: GeminiInteractionContent[] }
  | { type: "thought"; signature: string; summary?: { type: "text"; text: string }[] }
  | {
      type: "function_call";
      id: string;
      name: string;
      arguments: Record<string, unknown>;
      /** Sent by the API, though the official client's type lacks it. */
      signature?: string;
    }
  | {
      type: "function_result";
      call_id: string;
      /** The API refuses a result without it. */
      name: string;
      result: GeminiInteractionContent[];
      is_error?: boolean;
    }
  | GeminiServerStep;

interface ServerCall<Type extends string, Arguments> {
  type: Type;
  id: string;
  arguments: Arguments;
  signature?: string;
}

interface ServerResult<Type extends string, Result> {
  type: Type;
  call_id: string;
  result: Result;
  is_error?: boolean;
  signature?: string;
}

interface Queries {
  queries?: string[];
}

/** A step of a tool that the API ran itself. It needs no answer, and is sent back unchanged. */
type GeminiServerStep =
  | ServerCall<"google_search_call" | "google_maps_call" | "retrieval_call", Queries>
  | ServerCall<"url_context_call", { urls?: string[] }>
  | ServerCall<"code_execution_call", { code?: string; language?: "python" }>
  | { type: "file_search_call" | "processing_call"; id: string; signature?: string }
  | {
      type: "mcp_server_tool_call";
      id: string;
      name: string;
      server_name: string;
      arguments: Record<string, unknown>;
    }
  | ServerResult<"google_search_result", { search_suggestions?: string }[]>
  | ServerResult<"google_maps_result", { widget_context_token?: string }[]>
  | ServerResult<"url_context_result", { url?: string; status?: string }[]>
  | ServerResult<"code_execution_result", string>
  | ServerResult<"mcp_server_tool_result", string>
  | {
      type: "file_search_result" | "processing_result" | "retrieval_result";
      call_id: string;
      signature?: string;
    };
