import type { Context, ContextMessage, Usage } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { describe, integerArgument } from "../internal/arguments.js";
import type { CompactionStrategy, MessageEstimator, SummaryPart } from "./strategy.js";

/** What is left free for an answer, in tokens; pi 0.73.1 has the same. */
export const defaultReserveTokens = 16_384;

/** When {@link shouldCompact} is to say so. */
export interface CompactWhen {
  /** By default true. */
  readonly enabled?: boolean;
  /** Tokens to leave free; at least 0. By default {@link defaultReserveTokens}. */
  readonly reserveTokens?: number;
}

/**
 * Whether a context has outgrown its window: more tokens than the window without the reserve. The rule is pi 0.73.1's
 * (`core/compaction/compaction.js`, read 2026-11-22).
 *
 * @param tokens what the context comes to; need not be whole
 * @param window what the model takes, in tokens
 * @throws RangeError for a count below 0 or one that is no number.
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

/** What a model takes, in tokens. */
export interface ModelWindow {
  /** Prompt and answer together; 0 where it is not known. */
  readonly context: number;
  /** The prompt alone, where the provider bounds it. */
  readonly input?: number;
  /** The longest answer that is asked for. By default {@link defaultMaxOutputTokens}, and where it is 0. */
  readonly output?: number;
}

/** How {@link isOverflow} decides. */
export interface OverflowSettings {
  /** By default true. */
  readonly auto?: boolean;
  /** Tokens to leave free of an input limit; at least 0. By default the longest answer, at most {@link defaultBufferTokens}. */
  readonly reserved?: number;
}

/** The most that is left free of an input limit, in tokens: opencode's COMPACTION_BUFFER. */
export const defaultBufferTokens = 20_000;

/** How long an answer can be where nothing is said of it, in tokens: opencode's OUTPUT_TOKEN_MAX. */
export const defaultMaxOutputTokens = 32_000;

/**
 * Whether a context exceeds what is usable of a model: its input limit without the reserve, or, where it has none, its
 * window without the longest answer. False where the window is not known. The rule is opencode's as of early 2026; since
 * then it compares with `>=` (`packages/opencode/src/session/compaction.ts`, read 2026-11-22).
 *
 * @param tokens what the context comes to; need not be whole
 * @throws RangeError for a count below 0 or one that is no number.
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
 * What a context may come to in a model, in tokens; below 0 where nothing is left.
 *
 * @throws RangeError for a count below 0 or one that is no number.
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
  /** Of the window; above 1 where it is exceeded. */
  readonly fraction: number;
  /** The highest threshold that is reached. */
  readonly level: "ok" | "advisory" | "warning" | "critical";
}

/** Fractions of a window from which on a level holds; none below the one before. */
export interface GaugeThresholds {
  readonly advisory: number;
  readonly warning: number;
  readonly critical: number;
}

/** Where {@link contextGauge} changes its level. */
export const defaultGaugeThresholds: GaugeThresholds = { advisory: 0.7, warning: 0.8, critical: 0.9 };

/**
 * How full a window is, for a display or a decision: `advisory` from 70 %, `warning` from 80 %, `critical` from 90 % on.
 *
 * @param window what the model takes, in tokens; at least 1
 * @throws RangeError for counts or thresholds out of range, or thresholds that do not rise.
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

/** Estimates need not be whole. */
function countArgument(name: string, value: number): number {
  if (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  throw new RangeError(`${name}: expected a number >= 0, got ${describe(value)}`);
}

function fractionArgument(name: string, value: number, min: number): void {
  if (typeof value === "number" && value >= min && value <= 1) return;
  throw new RangeError(`${name}: expected a number from ${min} to 1, got ${describe(value)}`);
}

/** What a context may come to after a compaction by this strategy, in tokens. */
export function contextLimit(strategy: CompactionStrategy, window: number): number {
  return strategy.limit?.(window) ?? Math.max(window - defaultReserveTokens, Math.floor(window / 2));
}

/** The least length of a summary that is asked for, in tokens: 256, and less in a small window. */
export function minSummaryTokens(limit: number): number {
  return Math.max(1, Math.min(256, Math.floor(limit / 8)));
}

/** The most of the limit that is left free for a summary, as a part of it: a quarter. */
const summaryShare = 4;

/** What of the limit is left free for the summary of these parts, in tokens. */
export function summaryReserve(parts: readonly SummaryPart[], limit: number): number {
  const asked = parts.reduce((sum, { prompt }) => sum + prompt.maxTokens, 0);
  return Math.min(asked, limit / summaryShare);
}

/** How {@link contextTokens} counts what no usage tells. */
export interface ContextTokensOptions {
  /** By default `estimateMessageTokens` of `sessile/estimate`; for pi's own, `{ text: "chars/4" }` there. */
  readonly estimate?: MessageEstimator;
}

/**
 * How many tokens a context comes to, a whole number: what the provider counted at the last assistant message that has a
 * usage, and an estimate of what came since. A usage counts where its message was neither aborted nor an error, where it is
 * not zero, and where no compaction or context edit came after it, since it tells of another context then. Where there is none,
 * all is estimated. The rules are pi 1.5.2's.
 *
 * @throws RangeError where `estimate` gives no number from 0 on.
 * @example
 * ```ts
 * const context = contextOf([userMessage("What is wrong here?")]);
 * contextTokens(context); // 5
 * ```
 */
export function contextTokens(
  context: Pick<Context, "items" | "usageSince">,
  { estimate = estimateMessageTokens }: ContextTokensOptions = {},
): number {
  const { items, usageSince } = context;
  let estimated = 0;
  for (let at = items.length - 1; at >= 0; at--) {
    const { message } = items[at] as Context["items"][number];
    const counted = at >= usageSince ? countedTokens(message) : 0;
    if (counted > 0) return Math.ceil(counted + estimated);
    estimated += checkedTokens(estimate(message));
  }
  return Math.ceil(estimated);
}

/** An estimate as it came. Throws a RangeError where it is no number from 0 on. */
export function checkedTokens(tokens: number): number {
  if (typeof tokens === "number" && tokens >= 0 && tokens <= Number.MAX_SAFE_INTEGER) return tokens;
  throw new RangeError(`estimate: expected a number >= 0 of a message, got ${describe(tokens)}`);
}

/** What the provider counted for the context up to this message and with it; 0 where that is not known. */
function countedTokens(message: ContextMessage): number {
  if (message.role !== "assistant" || message.usage === undefined) return 0;
  if (message.stopReason === "aborted" || message.stopReason === "error") return 0;
  return usageTokens(message.usage);
}

function usageTokens({ totalTokens, input, output, cacheRead, cacheWrite }: Usage): number {
  const tokens = totalTokens || input + output + cacheRead + cacheWrite;
  // A log can hold any number.
  return tokens <= Number.MAX_SAFE_INTEGER ? tokens : 0;
}

/** The same estimates, each made once: the cut, the room, what is kept and what is verified all ask for those of the same messages. */
export function memoizeEstimate(estimate: MessageEstimator): MessageEstimator {
  const known = new Map<ContextMessage, number>();
  return (message) => {
    const before = known.get(message);
    if (before !== undefined) return before;
    const tokens = checkedTokens(estimate(message));
    known.set(message, tokens);
    return tokens;
  };
}
