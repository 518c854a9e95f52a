/** The request shapes of Chat Completions. */

import type { OpenaiBreakpoint } from "./options.js";

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
export interface OpenaiChatRefusal {
  type: "refusal";
  refusal: string;
}

/** A call of a tool, with arguments as JSON or as the free text of a custom tool. */
export type OpenaiChatCall =
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
}
