/** The request shapes of Responses. */

import type { OpenaiFoundTool, OpenaiHostedItem } from "./hosted-items.js";
import type { OpenaiBreakpoint } from "./options.js";

/** How far an item got. */
export type OpenaiStatus = "in_progress" | "completed" | "incomplete";

/** Text in a message or a tool's output. */
export interface OpenaiInputText extends OpenaiBreakpoint {
  type: "input_text";
  text: string;
}

/** An image, by a data URL, an address or the id of an upload. */
export type OpenaiInputImage = OpenaiBreakpoint & {
  type: "input_image";
  detail: "low" | "high" | "auto" | "original";
} & ({ image_url: string } | { file_id: string });

/** A document, in itself, by its address or by the id of an upload. */
export type OpenaiInputFile = OpenaiBreakpoint & { type: "input_file" } & (
    | { filename: string; file_data: string }
    | { file_url: string }
    | { file_id: string }
  );

/** A part of a message or of a tool's output. */
export type OpenaiInputPart = OpenaiInputText | OpenaiInputImage | OpenaiInputFile;

/** A citation or file path in a text. */
export type OpenaiAnnotation =
  | { type: "file_citation"; file_id: string; filename: string; index: number }
  | { type: "url_citation"; start_index: number; end_index: number; title: string; url: string }
  | {
      type: "container_file_citation";
      container_id: string;
      file_id: string;
      filename: string;
      start_index: number;
      end_index: number;
    }
  | { type: "file_path"; file_id: string; index: number };

/** A part of an assistant message. */
export type OpenaiOutputPart =
  | { type: "output_text"; text: string; annotations: OpenaiAnnotation[] }
  | { type: "refusal"; refusal: string };

/** Whether a message is on the way to an answer, or the answer. */
export type OpenaiPhase = "commentary" | "final_answer";

/** A message of the model as it made it. */
export interface OpenaiOutputMessage {
  type: "message";
  id: string;
  role: "assistant";
  status: OpenaiStatus;
  phase?: OpenaiPhase;
  content: OpenaiOutputPart[];
}

/**
 * The model's reasoning, encrypted. An item that came without an id is sent back without one, though the
 * official client's type requires it. An item of a server that encrypts nothing has no `encrypted_content`.
 */
export interface OpenaiReasoningItem {
  type: "reasoning";
  id: string;
  summary: { type: "summary_text"; text: string }[];
  content?: { type: "reasoning_text"; text: string }[];
  encrypted_content?: string;
  status?: OpenaiStatus;
}

/** Who called: the model itself, or a program of its own. */
export type OpenaiCaller = { type: "direct" } | { type: "program"; caller_id: string };

/** A call of a function. */
export interface OpenaiFunctionCall {
  type: "function_call";
  id?: string;
  call_id: string;
  name: string;
  arguments: string;
  namespace?: string;
  caller?: OpenaiCaller;
  status?: OpenaiStatus;
}

/** A call of a custom tool, whose input is free text. */
export interface OpenaiCustomCall {
  type: "custom_tool_call";
  id?: string;
  call_id: string;
  name: string;
  input: string;
  namespace?: string;
  caller?: OpenaiCaller;
}

/** An item of the input. */
export type OpenaiResponsesItem =
  | { role: "system" | "developer" | "user"; content: OpenaiInputPart[] }
  | { role: "assistant"; content: string; phase?: OpenaiPhase }
  | OpenaiOutputMessage
  | OpenaiReasoningItem
  | OpenaiFunctionCall
  | OpenaiCustomCall
  | { type: "function_call_output"; call_id: string; output: string | OpenaiInputPart[] }
  | { type: "custom_tool_call_output"; call_id: string; output: string | OpenaiInputPart[] }
  | OpenaiClientCall
  | OpenaiClientAnswer
  | { type: "item_reference"; id: string }
  | { type: "additional_tools"; role: "developer"; tools: OpenaiFoundTool[] }
  | OpenaiHostedItem;

/** The part of a request to Responses that a projection writes. */
export interface OpenaiResponsesValue {
  input: OpenaiResponsesItem[];
  /** With `continue` of the target: the response before, which the API stores. */
  previous_response_id?: string;
  /** With `zeroRetention` of the projection. */
  store?: false;
}

/** A call of a tool of OpenAI's own that the client answers. Unlisted members are sent back too. */
export type OpenaiClientCall =
  | {
      type: "shell_call";
      id?: string;
      call_id: string;
      action: { commands: string[]; max_output_length?: number | null; timeout_ms?: number | null };
      status?: OpenaiStatus;
    }
  | {
      type: "local_shell_call";
      /** Absent in files of Codex, though the official client's type requires it. */
      id: string;
      call_id: string;
      action: { type: "exec"; command: string[]; env: Record<string, string> };
      status: OpenaiStatus;
    }
  | {
      type: "apply_patch_call";
      id?: string;
      call_id: string;
      operation:
        | { type: "create_file" | "update_file"; path: string; diff: string }
        | { type: "delete_file"; path: string };
      status: "in_progress" | "completed";
    }
  | {
      type: "computer_call";
      id: string;
      call_id: string;
      pending_safety_checks: { id: string; code?: string | null; message?: string | null }[];
      status: OpenaiStatus;
    }
  | { type: "mcp_approval_request"; id: string; server_label: string; name: string; arguments: string };

/** The answer to an {@link OpenaiClientCall}. */
export type OpenaiClientAnswer =
  | {
      type: "shell_call_output";
      call_id: string;
      output: {
        stdout: string;
        stderr: string;
        outcome: { type: "exit"; exit_code: number } | { type: "timeout" };
      }[];
      max_output_length?: number;
    }
  // The API requires `call_id`, which the client's types lack:
  // https://github.com/openai/openai-python/pull/3923 (stored copy, 2026-11-22).
  | { type: "local_shell_call_output"; id: string; call_id: string; output: string }
  | { type: "apply_patch_call_output"; call_id: string; status: "completed" | "failed"; output: string }
  | {
      type: "computer_call_output";
      call_id: string;
      output:
        | { type: "computer_screenshot"; image_url: string }
        | { type: "computer_screenshot"; file_id: string };
      acknowledged_safety_checks?: { id: string }[];
    }
  | { type: "mcp_approval_response"; approval_request_id: string; approve: boolean; reason?: string };
