/** The dialects of servers that implement Chat Completions. */

import { describe, oneOfOption } from "../../core/arguments.js";
import { isRecord } from "../../core/shape.js";
import type { CallIdRule } from "../target.js";
import { callIdOfStoredId } from "./options.js";

/**
 * How a server implements Chat Completions. For a dialect of your own, start from a row of {@link
 * openaiChatDialects}.
 */
export interface OpenaiChatDialect {
  /**
   * The member of an assistant message that holds the reasoning, when read and when sent. `content` if the
   * reasoning is in a list of pieces there. Null if the server accepts no reasoning.
   */
  readonly reasoning: string | null;
  /** The reasoning text of assistant messages without reasoning, if the server refuses such messages. */
  readonly missingReasoning?: string;
  /** Other members of messages and calls that the server takes back as it sent them. */
  readonly members: "all" | readonly string[];
  /** The rule for ids of calls. */
  readonly callId: CallIdRule;
  /**
   * Whether consecutive messages of one role are merged and the first message is the user's, for templates
   * that raise "roles must alternate".
   */
  readonly merges: boolean;
  /**
   * Whether each call has its own message without text, directly before its result. For templates that raise
   * "only supports single tool-calls at once" (Llama 3). Default false.
   */
  readonly singleCalls?: boolean;
  /**
   * Whether the server refuses a user message after a tool result. If so, a short assistant message separates
   * them.
   */
  readonly bridgesTools: boolean;
  /**
   * Whether several instructions may be a list of texts; else they are joined, unless a cache breakpoint is
   * among them. Default true.
   */
  readonly systemLists?: boolean;
  /** The content of an assistant message without text. Default null. */
  readonly missingContent?: "";
  /** The role of the instructions. `user` for templates without a system role. */
  readonly systemRole: "system" | "developer" | "user";
  /** The name of the request's limit of tokens, for the caller who sets one. */
  readonly maxTokens: "max_tokens" | "max_completion_tokens";
  /** Whether images stay in a tool's result; else they move after the results. */
  readonly toolResultImages: boolean;
  /** Whether a PDF is sent as a part of type `file`; else it is described. */
  readonly files: boolean;
}

/** The names of the dialects that are known. */
export type OpenaiChatDialectName =
  | "openai"
  | "deepseek"
  | "moonshotai"
  | "zai"
  | "openrouter"
  | "gemini"
  | "mistral"
  | "groq"
  | "cerebras"
  | "vllm"
  | "ollama"
  | "llama.cpp"
  | "azure"
  | "xai"
  | "qwen"
  | "minimax"
  | "together"
  | "cohere";

const openai: OpenaiChatDialect = {
  reasoning: null,
  members: [],
  // Accepts any printable id of at most 40 characters: https://github.com/vercel/ai/issues/5171 (stored copy,
  // 2026-11-21).
  callId: { character: /[!-~]/, maxLength: 40, of: callIdOfStoredId },
  merges: false,
  bridgesTools: false,
  systemRole: "system",
  maxTokens: "max_completion_tokens",
  // Tool messages are text only: https://github.com/MoonshotAI/kimi-code/pull/626 (stored copy, 2026-11-22).
  toolResultImages: false,
  files: true,
};

/**
 * `developer` and `max_completion_tokens` are OpenAI's own: https://github.com/earendil-works/pi/issues/1048.
 * DeepSeek, Moonshot and Z.AI accept `max_tokens`: `detectCompat` of the npm package @earendil-works/pi-ai
 * 1.5.2. A row without a source for this name uses the protocol's first name, which no report calls refused.
 */
const compatible: OpenaiChatDialect = {
  ...openai,
  members: "all",
  maxTokens: "max_tokens",
  // "messages.0.content: value must be a string" at Groq: https://github.com/OpenHands/OpenHands/issues/4643
  // (stored copy, 2026-11-28). Every server accepts a string.
  systemLists: false,
};

/** Servers on one's own machine take ids of any length; vLLM's own have 46 characters. */
const localIds: CallIdRule = { ...openai.callId, maxLength: 512 };

/**
 * The known dialects, one row each. All sources are stored copies, read 2026-11-22.
 *
 * @example
 * ```ts
 * import { openaiChatDialects } from "sessile/openai";
 *
 * openaiChatDialects.deepseek.maxTokens; // "max_tokens"
 * // vLLM with a Mistral model, whose template requires Mistral's ids, and an answer between a result
 * // and the user:
 * const { callId, bridgesTools } = openaiChatDialects.mistral;
 * const mistral = { ...openaiChatDialects.vllm, callId, bridgesTools };
 * const llama3 = { ...openaiChatDialects.vllm, singleCalls: true };
 * ```
 */
export const openaiChatDialects: Readonly<Record<OpenaiChatDialectName, OpenaiChatDialect>> = {
  openai,
  // 400 without reasoning_content: https://github.com/continuedev/continue/issues/10193 and
  // https://api-docs.deepseek.com/guides/thinking_mode. V4 Pro refuses an empty one and accepts a space, as
  // older models do: https://github.com/NousResearch/hermes-agent/pull/18263. "does not support successive
  // user or assistant messages": https://github.com/deepseek-ai/DeepSeek-R1/issues/21.
  deepseek: { ...compatible, reasoning: "reasoning_content", missingReasoning: " ", merges: true },
  // Refuses an absent or empty reasoning_content and accepts a space:
  // https://github.com/charmbracelet/crush/issues/2696, https://github.com/bytedance/deer-flow/issues/3043.
  moonshotai: { ...compatible, reasoning: "reasoning_content", missingReasoning: " " },
  // Reasoning is sent back unmodified. Each turn may think or not, so messages without reasoning are regular
  // and need no placeholder, as in @earendil-works/pi-ai 1.5.2:
  // https://docs.z.ai/guides/capabilities/thinking-mode. One report asks for an empty string, untested:
  // https://github.com/shiaho777/web-to-app/pull/452.
  zai: { ...compatible, reasoning: "reasoning_content" },
  // reasoning_details are sent back unchanged: https://openrouter.ai/docs/use-cases/reasoning-tokens.
  openrouter: { ...compatible, reasoning: "reasoning" },
  // Signatures of calls are in extra_content: https://ai.google.dev/gemini-api/docs/thought-signatures,
  // https://github.com/continuedev/continue/pull/8865.
  gemini: { ...compatible, members: ["extra_content"] },
  // Ids: https://github.com/anomalyco/opencode/issues/1680. No user message after a tool result:
  // https://github.com/mistralai/mistral-common/issues/169. Alternating roles:
  // https://github.com/vllm-project/vllm/issues/6862. Accepts only max_tokens:
  // https://github.com/editor-code-assistant/eca/issues/231. Reasoning in the content:
  // https://docs.mistral.ai/capabilities/reasoning/. Refuses unknown members:
  // https://github.com/BerriAI/litellm/issues/30835.
  mistral: {
    ...compatible,
    reasoning: "content",
    members: [],
    callId: { character: /[A-Za-z0-9]/, minLength: 9, maxLength: 9 },
    merges: true,
    bridgesTools: true,
  },
  // Refuses unknown members: https://github.com/tashfeenahmed/freellmapi/issues/1070. A reasoning model
  // accepts `reasoning` back: https://github.com/vercel/ai/pull/8057. Deprecates `max_tokens`: types of
  // groq-sdk 1.6.0 on npm.
  groq: { ...compatible, reasoning: "reasoning", members: [], maxTokens: "max_completion_tokens" },
  // The same, measured: https://github.com/proxysoul/Empryo/pull/209. `max_tokens` too: types of
  // @cerebras/cerebras_cloud_sdk 1.91.0 on npm.
  cerebras: { ...compatible, reasoning: "reasoning", members: [], maxTokens: "max_completion_tokens" },
  // https://docs.vllm.ai/en/v0.26.0/features/reasoning_outputs/ (`reasoning_content` before 0.11.2).
  // Templates that raise: https://github.com/vllm-project/vllm/issues/6862. "Unsupported chat content part
  // type: 'file'": https://github.com/vllm-project/vllm/pull/57774.
  vllm: { ...compatible, reasoning: "reasoning", merges: true, files: false, callId: localIds },
  // `reasoning`, and never `reasoning_content`: https://github.com/anomalyco/opencode/issues/34798. Templates
  // as with vLLM. `max_tokens`: https://docs.ollama.com/api/openai-compatibility. "invalid message format"
  // for a PDF: https://github.com/Kilo-Org/kilocode/issues/11878. "invalid message content type: <nil>":
  // https://github.com/pydantic/pydantic-ai/issues/5206 (stored copy, 2026-11-28).
  ollama: {
    ...compatible,
    reasoning: "reasoning",
    merges: true,
    files: false,
    callId: localIds,
    missingContent: "",
  },
  // The rows from here on: stored copies, read 2026-11-28, and recorded replies of the AI SDK's tests.
  // https://github.com/ggml-org/llama.cpp/pull/16934.
  "llama.cpp": {
    ...compatible,
    reasoning: "reasoning_content",
    merges: true,
    files: false,
    callId: localIds,
  },
  azure: openai,
  xai: { ...compatible, reasoning: "reasoning_content", files: false },
  qwen: { ...compatible, reasoning: "reasoning_content", files: false },
  // Reasoning is in `reasoning_details`, or in the content; the whole message goes back:
  // https://platform.minimax.io/docs/api-reference/text-openai-api. Refuses an empty content:
  // https://github.com/earendil-works/pi/issues/3365. Deprecates `max_tokens`:
  // https://java.agentscope.io/v2/en/integration/model/minimax.
  minimax: {
    ...compatible,
    reasoning: "reasoning_content",
    files: false,
    maxTokens: "max_completion_tokens",
  },
  together: { ...compatible, reasoning: "reasoning", files: false },
  // The compatibility API has no member for reasoning.
  cohere: { ...compatible, members: [], files: false },
};

/** The `dialect` option of a target and a reader: the name of a row, or a whole dialect. */
export type OpenaiChatDialectOption = OpenaiChatDialectName | OpenaiChatDialect;

/**
 * @throws RangeError for an unknown name
 * @throws TypeError for a value that is no dialect
 */
export function readDialect(option: OpenaiChatDialectOption | undefined): OpenaiChatDialect {
  if (isRecord(option)) return option as OpenaiChatDialect;
  if (option !== undefined && typeof option !== "string")
    throw new TypeError(`dialect: expected a name or a dialect, got ${describe(option)}`);
  const names = Object.keys(openaiChatDialects) as [OpenaiChatDialectName, ...OpenaiChatDialectName[]];
  return openaiChatDialects[oneOfOption("dialect", option, names)];
}

/** The provider of a dialect that has a name. */
export function readProvider(option: OpenaiChatDialectOption | undefined): string {
  return typeof option === "string" ? option : "openai";
}

/** The members in which providers send reasoning; pi records the member's name too. */
const reasoningMembers: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text"];

/** The members of a reply that are reasoning, the dialect's own first. */
export function openaiChatDialectReasoningMembers({ reasoning }: OpenaiChatDialect): readonly string[] {
  const isOther = reasoning === null || reasoning === "content" || reasoningMembers[0] === reasoning;
  return isOther ? reasoningMembers : [reasoning, ...reasoningMembers.filter((name) => name !== reasoning)];
}

/** Members of an assistant message that this protocol has everywhere. */
export const messageMembers: ReadonlySet<string> = new Set([
  "role",
  "content",
  "refusal",
  "audio",
  "tool_calls",
  "function_call",
]);

/** Members of replies that no request has: https://platform.openai.com/docs/api-reference/chat/create. */
export const replyOnlyMembers: ReadonlySet<string> = new Set(["annotations"]);

/** The same of a call; a number that some add to calls is of the stream alone. */
export const callMembers: ReadonlySet<string> = new Set(["id", "type", "function", "custom", "index"]);

/** Splits members into those that a server accepts back and the names of the rest. */
export function splitMembers(
  members: Readonly<Record<string, unknown>>,
  dialect: OpenaiChatDialect,
  known: ReadonlySet<string>,
): { readonly accepted: Readonly<Record<string, unknown>>; readonly omitted: readonly string[] } {
  const names = Object.keys(members).filter((name) => !known.has(name));
  const isAccepted = (name: string) => dialect.members === "all" || dialect.members.includes(name);
  const accepted = Object.fromEntries(names.filter(isAccepted).map((name) => [name, members[name]]));
  return { accepted, omitted: names.filter((name) => !isAccepted(name)) };
}
