/**
 * Types of a request to the Interactions API, as far as a projection writes it. Each is assignable to the type
 * of the same meaning in `@google/genai` without importing it. Values are mutable, as in that package.
 *
 * @see https://ai.google.dev/api/interactions-api, and `Interactions` of `@google/genai` 2.32 and 3.3
 */

/** The part of a request that a session fills. */
export interface GeminiInteractionRequest {
  /** The conversation, oldest first. Each message has steps of its own. */
  input: GeminiInteractionStep[];
  system_instruction?: string;
  /** With `continue` of the target: the interaction before, which the API stores. */
  previous_interaction_id?: string;
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
export type GeminiServerStep =
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
