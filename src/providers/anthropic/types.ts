/** The request shapes of the Messages API, and the facts about its models. */

import type { ClaudeCacheControl, ClaudeShownBlock, ClaudeTextBlock } from "../claude-blocks.js";

/** Reasoning, with the signature that the API made. */
export type AnthropicReasoningBlock =
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string };

/** A call of a tool. */
export interface AnthropicCallBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: unknown;
  cache_control?: ClaudeCacheControl;
}

/** A tool's result. */
export interface AnthropicResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content: ClaudeShownBlock[];
  is_error?: boolean;
  toolset_name?: string;
  cache_control?: ClaudeCacheControl;
}

/** The types of blocks that only the API reads. */
export type AnthropicOpaqueType =
  | "server_tool_use"
  | "web_search_tool_result"
  | "web_fetch_tool_result"
  | "code_execution_tool_result"
  | "bash_code_execution_tool_result"
  | "text_editor_code_execution_tool_result"
  | "tool_search_tool_result"
  | "container_upload";

/**
 * A block that only the API reads, such as a search result. It is sent back unchanged. Its type may be one
 * that is not listed here.
 */
export type AnthropicOpaqueBlock = {
  [T in AnthropicOpaqueType]: {
    type: T;
    id: never;
    name: never;
    input: never;
    tool_use_id: never;
    content: never;
    file_id: never;
  };
}[AnthropicOpaqueType];

/** A block of a user turn: results first, then text and media. */
export type AnthropicUserBlock = AnthropicResultBlock | ClaudeShownBlock;

/** A block of an assistant turn. */
export type AnthropicAssistantBlock =
  | ClaudeTextBlock
  | AnthropicReasoningBlock
  | AnthropicCallBlock
  | AnthropicOpaqueBlock;

/** One turn of {@link AnthropicRequest}. */
export type AnthropicTurn =
  | { role: "user"; content: AnthropicUserBlock[] }
  | { role: "assistant"; content: AnthropicAssistantBlock[] }
  /** Instructions of mid-conversation, for models that bind their reasoning to what precedes it. */
  | { role: "system"; content: ClaudeTextBlock[] };

/**
 * The part of a Messages request that a session fills. Spread it beside `model`, `max_tokens` and `tools`.
 */
export interface AnthropicRequest {
  /** Absent without instructions. */
  system?: ClaudeTextBlock[];
  messages: AnthropicTurn[];
  /**
   * The id of the container in which a call of the provider's own tool is still running. The API refuses the
   * request without it.
   */
  container?: string;
  /** With `continue` of the target: the conversation that the API holds. */
  thread?: { type: "create" } | { type: "continue"; previous_message_id: string };
}
