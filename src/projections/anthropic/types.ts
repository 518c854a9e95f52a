import type { ClaudeCacheControl, ClaudeShownBlock, ClaudeTextBlock } from "../claude-blocks.js";

/** Reasoning, with what only the API can make: its signature. */
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
 * A block that only the API reads, as it made it, such as the result of a search. Its type can be one that is not listed here;
 * what else it has is not to be looked at.
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

/** What a user turn is made of: results first, and what is shown after them. */
export type AnthropicUserBlock = AnthropicResultBlock | ClaudeShownBlock;

/** What an assistant turn is made of. */
export type AnthropicAssistantBlock =
  | ClaudeTextBlock
  | AnthropicReasoningBlock
  | AnthropicCallBlock
  | AnthropicOpaqueBlock;

/** One turn of {@link AnthropicRequest}. */
export type AnthropicTurn =
  | { role: "user"; content: AnthropicUserBlock[] }
  | { role: "assistant"; content: AnthropicAssistantBlock[] };

/** The part of a Messages request that a session fills: spread it beside `model`, `max_tokens` and `tools`. */
export interface AnthropicRequest {
  /** Absent where there are no instructions. */
  system?: ClaudeTextBlock[];
  messages: AnthropicTurn[];
}
