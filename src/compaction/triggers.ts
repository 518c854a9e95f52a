import { describe, integerArgument } from "../internal/arguments.js";

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
  /** The longest answer that is asked for. By default {@link defaultAnswerTokens}, and where it is 0. */
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
export const defaultAnswerTokens = 32_000;

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
  const output = countArgument("output", model.output ?? 0) || defaultAnswerTokens;
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
