/**
 * When to compact: the size of a context, the rules that compare it with a window, the room for a summary,
 * and a provider's refusal of a request that is too long.
 */

import { currentTurnStart } from "../attachments/internal.js";
import { estimateMessageTokens, type MessageTokenOptions } from "../content/estimate/index.js";
import type { Context, ContextItem, ContextMessage, Usage } from "../content/index.js";
import { describe, integerArgument } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import { modelFacts } from "../providers/models/internal.js";
import type { CompactionStrategy, MessageEstimator, SummaryPart } from "./strategy.js";

/** The reserve for the model's answer, in tokens; pi 0.73.1 has the same. */
export const defaultReserveTokens = 16_384;

/** The settings of {@link shouldCompact}. */
interface CompactWhen {
  /** Default true. */
  readonly enabled?: boolean | undefined;
  /** Tokens to leave free; at least 0. Default 16,384. */
  readonly reserveTokens?: number | undefined;
}

/**
 * Whether a context exceeds its window less the reserve. The rule is pi 0.73.1's
 * (`core/compaction/compaction.js`, read 2026-11-22).
 *
 * @param tokens the size of the context, which may be a fraction
 * @param window the model's context window, in tokens
 * @throws RangeError for a count that is negative or not a number
 * @example
 * ```ts
 * shouldCompact(83_616, 100_000); // false
 * shouldCompact(83_617, 100_000); // true
 * ```
 */
export function shouldCompact(tokens: number, window: number, settings: CompactWhen = {}): boolean {
  const reserve = countArgument("reserveTokens", settings.reserveTokens ?? defaultReserveTokens);
  return (
    (settings.enabled ?? true) && countArgument("tokens", tokens) > countArgument("window", window) - reserve
  );
}

/** The limits of a model, in tokens. */
export interface ModelWindow {
  /** Prompt and answer together; 0 if unknown. */
  readonly context: number;
  /** The prompt alone, if the provider bounds it. */
  readonly input?: number | undefined;
  /** The longest answer that is requested. Default 32,000, also for 0. */
  readonly output?: number | undefined;
}

/** The settings of {@link isOverflow}. */
export interface OverflowSettings {
  /** Default true. */
  readonly auto?: boolean | undefined;
  /** Tokens to leave free of an input limit; at least 0. Default: the longest answer, at most 20,000. */
  readonly reserved?: number | undefined;
}

/** The default reserve of an input limit is at most this: opencode's COMPACTION_BUFFER. */
const defaultBufferTokens = 20_000;

/** The default longest answer: opencode's OUTPUT_TOKEN_MAX. */
const defaultMaxOutputTokens = 32_000;

/**
 * Whether a context exceeds the usable window: the input limit less the reserve, or, without an input limit,
 * the window less the longest answer. False if the window is unknown. The rule is opencode's as of early
 * 2026; it has compared with `>=` since (`packages/opencode/src/session/compaction.ts`, read 2026-11-22).
 *
 * @param tokens the size of the context, which may be a fraction
 * @throws RangeError for a count that is negative or not a number
 * @example
 * ```ts
 * isOverflow(168_000, { context: 200_000, output: 32_000 }); // false
 * isOverflow(168_001, { context: 200_000, output: 32_000 }); // true
 * ```
 */
export function isOverflow(tokens: number, model: ModelWindow, settings: OverflowSettings = {}): boolean {
  const count = countArgument("tokens", tokens);
  const usable = usableTokens(model, settings);
  return settings.auto !== false && model.context !== 0 && count > usable;
}

/**
 * The tokens of a model that a context may use; negative if the reserve exceeds the limit.
 *
 * @throws RangeError for a count that is negative or not a number
 */
export function usableTokens(model: ModelWindow, settings: OverflowSettings = {}): number {
  const context = countArgument("context", model.context);
  const input = countArgument("input", model.input ?? 0);
  const output = countArgument("output", model.output ?? 0) || defaultMaxOutputTokens;
  const reserved = countArgument("reserved", settings.reserved ?? Math.min(defaultBufferTokens, output));
  return input > 0 ? input - reserved : context - output;
}

/** How full a window is. */
export interface ContextGauge {
  readonly tokens: number;
  readonly window: number;
  /** The fraction of the window; above 1 if it is exceeded. */
  readonly fraction: number;
  /** The highest threshold that is reached. */
  readonly level: "ok" | "advisory" | "warning" | "critical";
}

/** The fractions of a window at which the levels start, in ascending order. */
interface GaugeThresholds {
  readonly advisory: number;
  readonly warning: number;
  readonly critical: number;
}

const defaultGaugeThresholds: GaugeThresholds = { advisory: 0.7, warning: 0.8, critical: 0.9 };

/**
 * Measures how full a window is: `advisory` from 70 %, `warning` from 80 %, `critical` from 90 % on.
 *
 * @param window the model's context window, in tokens; at least 1
 * @throws RangeError for counts or thresholds out of range, or thresholds that do not rise
 * @example
 * ```ts
 * contextGauge(150_000, 200_000); // { tokens: 150000, window: 200000, fraction: 0.75, level: "advisory" }
 * ```
 */
export function contextGauge(
  tokens: number,
  window: number,
  thresholds: Partial<GaugeThresholds> = {},
): ContextGauge {
  const { advisory, warning, critical } = { ...defaultGaugeThresholds, ...thresholds };
  fractionArgument("advisory", advisory, 0);
  fractionArgument("warning", warning, advisory);
  fractionArgument("critical", critical, warning);
  countArgument("tokens", tokens);
  integerArgument("window", window, 1);
  const fraction = tokens / window;
  const level =
    fraction >= critical
      ? "critical"
      : fraction >= warning
        ? "warning"
        : fraction >= advisory
          ? "advisory"
          : "ok";
  return { tokens, window, fraction, level };
}

function countArgument(name: string, value: number): number {
  if (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  throw new RangeError(`${name}: expected a number >= 0, got ${describe(value)}`);
}

function fractionArgument(name: string, value: number, min: number): void {
  if (typeof value === "number" && value >= min && value <= 1) return;
  throw new RangeError(`${name}: expected a number from ${min} to 1, got ${describe(value)}`);
}

/** The most tokens that a context may have after a compaction by this strategy. */
export function contextLimit(strategy: CompactionStrategy, window: number): number {
  return strategy.limit?.(window) ?? Math.max(window - defaultReserveTokens, Math.floor(window / 2));
}

/** The shortest summary that is asked for, in tokens: 256, less in a small window. */
export function minSummaryTokens(limit: number): number {
  return Math.max(1, Math.min(256, Math.floor(limit / 8)));
}

/** At most one quarter of the limit is reserved for a summary. */
const summaryShare = 4;

/** The tokens of the limit that are reserved for the summary of these parts. */
export function summaryReserve(parts: readonly SummaryPart[], limit: number): number {
  const asked = parts.reduce((sum, { prompt }) => sum + prompt.maxTokens, 0);
  return Math.min(asked, limit / summaryShare);
}

/** The options of {@link contextTokens}. */
export interface ContextTokensOptions {
  /**
   * Default `estimateMessageTokens` of `sessile/estimate`, and attachments of the current turn in full, as a
   * projection sends them by default; for pi's own, `{ text: "chars/4" }` there.
   */
  readonly estimate?: MessageEstimator | undefined;
}

/**
 * Counts the tokens of a context, as an integer: the provider's usage at the last assistant message that has
 * one, plus an estimate of the later messages. A usage is ignored if it is zero, if its message was aborted
 * or an error, or if a compaction or context edit followed it. The rules are pi 1.5.2's.
 *
 * Without a usage everything is estimated, and the tools and instructions beside the messages are those that
 * `compact` measured before its last summary.
 *
 * @throws RangeError if `estimate` returns anything but a number from 0 on
 * @example
 * ```ts
 * const context = contextFrom([userMessage("What is wrong here?")]);
 * contextTokens(context); // 5
 * ```
 */
export function contextTokens(
  context: Pick<Context, "items" | "usageSince">,
  options: ContextTokensOptions = {},
): number {
  const { tokens, countedAt } = counted(context);
  const { items } = context;
  const { estimate = estimatorAsSent(context) } = options;
  let estimated = countedAt < 0 ? recordedSize(items).overhead : 0;
  for (let at = items.length - 1; at > countedAt; at--)
    estimated += checkedTokens(estimate((items[at] as ContextItem).message));
  return Math.ceil(tokens + estimated);
}

/** The default estimator; images and pages count as the model of the last reply counts them. */
function estimatorAsSent({ items }: Pick<Context, "items">): MessageEstimator {
  const current = new Set(items.slice(currentTurnStart({ items })).map(({ message }) => message));
  const last = items.findLast(({ message }) => message.role === "assistant")?.message;
  const { image, pdf } = modelFacts(last?.role === "assistant" ? last.model : "");
  const inFull: MessageTokenOptions = { image, pdf, replay: () => "full" };
  return (message) => estimateMessageTokens(message, current.has(message) ? inFull : {});
}

/**
 * The tokens of a request beside its messages: the provider's count at the last usage, less the estimate of the
 * messages that it counts; without a usage the number that the last compaction recorded. 0 if unknown.
 */
export function contextOverhead(
  context: Pick<Context, "items" | "usageSince">,
  estimate: MessageEstimator,
): number {
  const { items } = context;
  const { tokens, countedAt } = counted(context);
  if (countedAt < 0) return recordedSize(items).overhead;
  let estimated = 0;
  for (let at = 0; at <= countedAt && estimated < tokens; at++)
    estimated += checkedTokens(estimate((items[at] as ContextItem).message));
  return Math.max(0, Math.floor(tokens - estimated));
}

/** {@link contextOverhead} by the first count after the last compaction or edit, rather than by the last. */
export function firstOverhead(
  context: Pick<Context, "items" | "usageSince">,
  estimate: MessageEstimator,
): number {
  const { items, usageSince } = context;
  const first = items.findIndex(({ message }, at) => at >= usageSince && countedTokens(message) > 0);
  return contextOverhead(first < 0 ? context : { items: items.slice(0, first + 1), usageSince }, estimate);
}

/** The provider's latest count of a context, and the index of the last message that it counts; -1 if none. */
function counted({ items, usageSince }: Pick<Context, "items" | "usageSince">): {
  readonly tokens: number;
  readonly countedAt: number;
} {
  for (let at = items.length - 1; at >= usageSince; at--) {
    const tokens = countedTokens((items[at] as ContextItem).message);
    if (tokens > 0) return { tokens, countedAt: at };
  }
  return { tokens: 0, countedAt: -1 };
}

/** The size of a context right after a compaction, in the `details` of its entry as `size`. */
export interface RecordedSize {
  /** An estimate of the messages, in tokens. */
  readonly messages: number;
  /** Tokens beside the messages. */
  readonly overhead: number;
  /** How many compactions right before it freed too little. */
  readonly withoutGain: number;
}

/** The size that the last compaction recorded, which may be any value; zeros if it is none. */
export function recordedSize(items: Context["items"]): RecordedSize {
  const summary = items.findLast(({ origin }) => origin === "summary")?.message;
  const details = summary?.role === "compactionSummary" ? summary.details : undefined;
  const size = isRecord(details) && isRecord(details.size) ? details.size : {};
  const count = (value: unknown) =>
    typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
  return {
    messages: count(size.messages),
    overhead: count(size.overhead),
    withoutGain: count(size.withoutGain),
  };
}

/** Returns a valid estimate; throws a RangeError for anything but a number from 0 on. */
function checkedTokens(tokens: number): number {
  if (typeof tokens === "number" && tokens >= 0 && tokens <= Number.MAX_SAFE_INTEGER) return tokens;
  throw new RangeError(`estimate: expected a number >= 0 of a message, got ${describe(tokens)}`);
}

/** The provider's count of the context up to and including this message; 0 if unknown. */
function countedTokens(message: ContextMessage): number {
  if (message.role !== "assistant" || message.usage === undefined) return 0;
  if (message.stopReason === "aborted" || message.stopReason === "error") return 0;
  return usageTokens(message.usage);
}

function usageTokens({ totalTokens, input, output, cacheRead, cacheWrite }: Usage): number {
  const tokens = totalTokens || input + output + cacheRead + cacheWrite;
  // A log may contain any number.
  return tokens <= Number.MAX_SAFE_INTEGER ? tokens : 0;
}

/** Caches the estimates: the cut, the plan and the check estimate the same messages. */
export function memoizeEstimate(estimate: MessageEstimator): MessageEstimator {
  const cache = new Map<ContextMessage, number>();
  return (message) => {
    const cached = cache.get(message);
    if (cached !== undefined) return cached;
    const tokens = checkedTokens(estimate(message));
    cache.set(message, tokens);
    return tokens;
  };
}

/** Recognises a provider's refusal of a request that is too long. */
/**
 * The members in which clients keep a provider's answer: `fetch`, the official clients of OpenAI, Anthropic,
 * Google, AWS and Mistral, the AI SDK, LangChain, axios. No other member is read: errors also carry the
 * request, whose prompt may contain any text.
 */
const answerMembers = [
  "message",
  "errorMessage",
  "error_message",
  "error_type",
  "errorType",
  "name",
  "code",
  "type",
  "status",
  "statusCode",
  "status_code",
  "httpStatusCode",
  "reason",
  "error",
  "errors",
  "cause",
  "lastError",
  "originalError",
  "response",
  "responseBody",
  "body",
  "data",
  "detail",
  "details",
  "metadata",
  "$metadata",
  "raw",
] as const;

const contentTooLarge = 413;
const tooManyRequests = 429;
/** The most objects of an error that are searched. */
const maxObjects = 64;
/** The most UTF-16 code units that are read of a text. */
const maxReadLength = 8_000;

/** Within one error `rate` wins over `overflow`: messages about rate limits often mention tokens. */
type Verdict = "rate" | "overflow" | undefined;

/**
 * Whether an error means that the provider refused a request as too long for the model. Accepts the error of
 * any client, or its text, and searches causes, bodies and lists of attempts. Linear, and never throws.
 *
 * A rate limit is not an overflow, although it may count tokens. A request of too many bytes is, since it
 * must shrink too. An answer without a message, such as an empty 400, is not.
 *
 * @example
 * ```ts
 * isContextOverflow(new Error("prompt is too long: 213462 tokens > 200000 maximum")); // true
 * isContextOverflow({ status: 429, message: "Too many tokens, please wait before trying again" }); // false
 * ```
 */
export function isContextOverflow(error: unknown): boolean {
  return readVerdict(error, new Set()) === "overflow";
}

function readVerdict(value: unknown, seen: Set<object>): Verdict {
  if (typeof value === "string") return wordsVerdict(value.slice(0, maxReadLength));
  if (typeof value === "number") return value === tooManyRequests ? "rate" : undefined;
  if (typeof value !== "object" || value === null || seen.has(value) || seen.size >= maxObjects)
    return undefined;
  seen.add(value);
  const attempts = readList(value);
  if (attempts !== undefined) {
    const verdicts = attempts.map((attempt) => readVerdict(attempt, seen));
    return verdicts.includes("overflow") ? "overflow" : verdicts.find((verdict) => verdict !== undefined);
  }
  let verdict: Verdict;
  for (const name of answerMembers) {
    const member = read(value, name);
    const found = isTooLarge(name, member) ? "overflow" : readVerdict(member, seen);
    if (found === "rate") return "rate";
    verdict ??= found;
  }
  return verdict;
}

function wordsVerdict(text: string): Verdict {
  if (rateWords.test(text)) return "rate";
  return overflowWords.some(({ words }) => words.test(text)) ? "overflow" : undefined;
}

/** Whether the member is an HTTP status 413, not just that number. */
function isTooLarge(name: (typeof answerMembers)[number], value: unknown): boolean {
  return value === contentTooLarge && (name === "code" || /status/i.test(name));
}

/** The searched items of an array; [] for a revoked proxy, undefined for anything else. */
function readList(value: object): readonly unknown[] | undefined {
  try {
    return Array.isArray(value) ? value.slice(0, maxObjects) : undefined;
  } catch {
    return [];
  }
}

/** Reads a member, which may be a getter that throws. */
function read(value: object, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** A provider's message about a prompt that is too long. */
interface OverflowWords {
  readonly provider: string;
  /** Matches in linear time. */
  readonly words: RegExp;
  /** A report of such a refusal, read 2026-11-22. */
  readonly source: string;
}

const issue = (path: string): string => `https://github.com/${path}`;
const pi = issue(
  "earendil-works/pi/blob/17c253c5d6a9364b392a0fd3ee68333026d94255/packages/ai/src/utils/overflow.ts",
);

/** Error codes come first: a gateway that rewrites messages keeps them. */
export const overflowWords: readonly OverflowWords[] = [
  {
    provider: "OpenAI, Azure, Groq and most that speak their protocol",
    words: /context[_ ]length[_ ]exceeded/i,
    source: issue("dyad-sh/dyad/issues/1672"),
  },
  {
    provider: "GitHub Copilot",
    words: /model_max_prompt_tokens_exceeded|prompt token count of \d{1,12} exceeds the limit/i,
    source: issue("microsoft/vscode/issues/289219"),
  },
  {
    provider: "llama.cpp",
    words: /exceed_context_size_error|exceeds the available context size/i,
    source: issue("continuedev/continue/issues/12735"),
  },
  {
    provider: "Z.ai, and Anthropic as a stop reason",
    words: /model_context_window_exceeded/i,
    source: issue("can1357/oh-my-pi/pull/683"),
  },
  {
    provider: "LiteLLM",
    words: /ContextWindowExceededError/,
    source: issue("entropy-research/Devon/issues/88"),
  },
  {
    provider: "Anthropic, Vertex AI",
    words: /prompt is too long/i,
    source: issue("earendil-works/pi/issues/129"),
  },
  {
    provider: "Anthropic, of prompt and answer together",
    words: /exceed context limit: ?\d{1,12} ?\+ ?\d{1,12}/i,
    source: issue("docker/docker-agent/issues/569"),
  },
  {
    // Bytes, not tokens; a request has to shrink all the same.
    provider: "Anthropic, of more than 32 MB",
    words: /request_too_large|request exceeds the maximum size/i,
    source: "https://platform.claude.com/docs/en/api/errors",
  },
  {
    provider: "OpenAI",
    words: /exceeds the context window/i,
    source: issue("dyad-sh/dyad/issues/1672"),
  },
  {
    provider: "OpenAI of old, OpenRouter, DeepSeek, vLLM, LiteLLM",
    words:
      /maximum context length (?:is|of) [\d,]{1,16}|exceeds (?:the )?(?:model'?s )?maximum context length/i,
    source: issue("vllm-project/vllm/issues/20409"),
  },
  {
    provider: "vLLM since 0.16",
    words: /context length is only \d{1,12} tokens/i,
    source: issue("harbor-framework/harbor/pull/996"),
  },
  {
    provider: "vLLM, of a prompt alone",
    words: /is too long to fit into the model/i,
    source: issue("vllm-project/vllm/issues/12165"),
  },
  {
    provider: "Gemini",
    words: /input token count[ \d(),]{0,40}exceeds the maximum/i,
    source: issue("google-gemini/gemini-cli/issues/6678"),
  },
  {
    provider: "Bedrock",
    words: /input is too long for requested model/i,
    source: issue("aws-samples/bedrock-chat/issues/95"),
  },
  {
    provider: "xAI",
    words: /maximum prompt length is \d{1,12}/i,
    source: issue("cline/cline/issues/3120"),
  },
  {
    provider: "Groq, Cerebras",
    words: /reduce the length of the (?:messages|input prompt)/i,
    source: issue("cline/cline/issues/5140"),
  },
  {
    provider: "LM Studio",
    words:
      /greater than the context length|cannot truncate prompt with n_keep|trying to keep the first \d{1,12} tokens/i,
    source: issue("Gitlawb/openclaude/issues/353"),
  },
  {
    provider: "MiniMax",
    words: /context window exceeds limit/i,
    source: issue("MiniMax-AI/MiniMax-M2/issues/119"),
  },
  {
    provider: "Alibaba",
    words: /range of input length should be/i,
    source: issue("QwenLM/qwen-code/issues/98"),
  },
  {
    provider: "Z.ai",
    words: /tokens in request more than max tokens allowed/i,
    source: issue("anomalyco/opencode/issues/35918"),
  },
  { provider: "Kimi", words: /exceeded model token limit/i, source: pi },
  { provider: "Mistral", words: /too large for model with \d{1,12} maximum context length/i, source: pi },
  { provider: "Together AI", words: /is longer than the model'?s context length/i, source: pi },
  { provider: "Poolside", words: /exceeds (?:the )?maximum allowed input length/i, source: pi },
  { provider: "Ollama", words: /prompt too long; exceeded (?:max )?context length/i, source: pi },
];

/**
 * A provider's message about a rate limit. Some mention tokens: Groq's 413 "Request too large … on tokens per
 * minute" (https://github.com/elizaOS/eliza/issues/4040), Bedrock's 429 "Too many tokens, please wait before
 * trying again" (https://github.com/anthropics/claude-code/issues/236). Read 2026-11-22.
 */
const rateWords = new RegExp(
  [
    /rate[_ -]?limit|too[_ ]many[_ ]requests|tokens per (?:min|day|hour)/,
    /throttl|resource[_ ]exhausted|quota|wait before trying again/,
    /(?:^|(?:code|status|http)["']?[ :]{1,3})429\b/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);
