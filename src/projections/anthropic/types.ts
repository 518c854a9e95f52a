/** The request shapes of the Messages API, and the facts about its models. */

import { isRecord } from "../../internal/shape.js";
import { cleanJson } from "../block-reader.js";
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
  | { role: "assistant"; content: AnthropicAssistantBlock[] };

/**
 * The part of a Messages request that a session fills. Spread it beside `model`, `max_tokens` and `tools`.
 */
export interface AnthropicRequest {
  /** Absent without instructions. */
  system?: ClaudeTextBlock[];
  messages: AnthropicTurn[];
}

/**
 * The fields of a block that the session's block does not represent, as JSON, so that they can be sent back.
 * Undefined without such fields. Cache markers are not kept: each request places its own.
 */
export function extraFieldsOf(
  block: Readonly<Record<string, unknown>>,
  known: readonly string[],
): string | undefined {
  const isExtra = (key: string) =>
    key !== "type" && key !== "cache_control" && !known.includes(key) && block[key] !== undefined;
  const extra = Object.keys(block).filter(isExtra);
  if (extra.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(extra.map((key) => [key, block[key]])));
}

/** The inverse of {@link extraFieldsOf}; empty for any other signature. */
export function parseExtraFields(signature: string | undefined): Readonly<Record<string, unknown>> {
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
 * The version in a Claude model's id, as in `claude-sonnet-4-5-20250929`; undefined without a version. The
 * pattern bounds the words of a family: without a bound it takes quadratic time on other names.
 */
function versionOf(model: string): { readonly family: string; readonly version: number } | undefined {
  const [, family = "", major, minor = "0"] =
    /claude-((?:[a-z]{1,32}-){0,4})(\d)(?:-(\d{1,2}))?(?!\d)/.exec(model) ?? [];
  if (major === undefined) return undefined;
  return { family: family.replace(/-$/, ""), version: Number(major) * 100 + Number(minor) };
}

/**
 * Whether a request may end with an assistant turn that the model continues (prefill). Such a turn must not
 * end with white space. From version 4.6 on the API refuses such a request. An unknown model, as after a
 * proxy, is treated as an older one.
 *
 * @see https://platform.claude.com/docs/en/api/errors (stored copy read 2026-11-21)
 */
export function acceptsPrefill(model: string): boolean {
  return (versionOf(model)?.version ?? 0) < 406;
}

/**
 * Whether a model looks at more of each image: those from 4.7 on do.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision (stored copy read 2026-11-21)
 */
export function hasHighResolution(model: string): boolean {
  return (versionOf(model)?.version ?? 500) >= 407;
}

/**
 * Whether reasoning is valid only after an unchanged prefix: Fable and Mythos from 5.1, Opus from 5.5, and
 * later models by the page below.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (stored copy read 2026-11-21)
 */
export function bindsReasoning(model: string): boolean {
  const known = versionOf(model);
  if (known === undefined) return false;
  return known.version >= (/fable|mythos/.test(known.family) ? 501 : 505);
}
