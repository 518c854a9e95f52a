import { isRecord } from "../../internal/shape.js";
import { cleanJson } from "../block-reader.js";
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

/**
 * The fields of a block that a session's own block has no place for, as JSON, so that they go back with it; undefined where there
 * are none. Cache markers are placed anew for each request.
 */
export function leftoverOf(
  block: Readonly<Record<string, unknown>>,
  known: readonly string[],
): string | undefined {
  const rest = Object.entries(block).filter(([key, value]) => {
    return value !== undefined && key !== "cache_control" && key !== "type" && !known.includes(key);
  });
  return rest.length === 0 ? undefined : JSON.stringify(Object.fromEntries(rest));
}

/** The fields of {@link leftoverOf}; none where a signature is something else. */
export function parseLeftover(signature: string | undefined): Readonly<Record<string, unknown>> {
  if (signature === undefined || !signature.startsWith("{")) return {};
  try {
    const fields = cleanJson(JSON.parse(signature), false);
    if (!isRecord(fields)) return {};
    const { type: _, cache_control: __, ...rest } = fields;
    return rest;
  } catch {
    return {};
  }
}

/**
 * The version in a Claude model's id, as in `claude-sonnet-4-5-20250929`; undefined where there is none. The words of a
 * family are bounded, since a name of nothing else takes quadratic time without.
 */
function versionOf(model: string): { readonly family: string; readonly version: number } | undefined {
  const [, family = "", major, minor = "0"] =
    /claude-((?:[a-z]{1,32}-){0,4})(\d)(?:-(\d{1,2}))?(?!\d)/.exec(model) ?? [];
  if (major === undefined) return undefined;
  return { family: family.replace(/-$/, ""), version: Number(major) * 100 + Number(minor) };
}

/**
 * Whether a request may end with what the model is to go on from, and then not with white space. From version 4.6 on such a request
 * is refused as a whole; of a model that is not known, as behind a proxy, the older way is expected.
 *
 * @see https://platform.claude.com/docs/en/api/errors (stored copy read 2026-11-21)
 */
export function takesPrefill(model: string): boolean {
  return (versionOf(model)?.version ?? 0) < 406;
}

/**
 * Whether a model looks at more of each image: those from 4.7 on do.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision (stored copy read 2026-11-21)
 */
export function seesFinely(model: string): boolean {
  return (versionOf(model)?.version ?? 500) >= 407;
}

/**
 * Whether reasoning is valid only while all that stood before it is as it was: for Fable and Mythos from 5.1 on, Opus from 5.5 on,
 * and, as the page says, for later models.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (stored copy read 2026-11-21)
 */
export function bindsReasoning(model: string): boolean {
  const known = versionOf(model);
  if (known === undefined) return false;
  return known.version >= (/fable|mythos/.test(known.family) ? 501 : 505);
}
