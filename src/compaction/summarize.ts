/**
 * Makes the summary of a plan: asks the model for the texts of the parts, in steps that fit its window,
 * joins them with a footer, verifies, and shortens if necessary.
 */

import { estimateTextTokens } from "../content/estimate/index.js";
import type { Context, ContextItem, Usage } from "../content/index.js";
import { integerOption, stringArgument } from "../core/arguments.js";
import { sleep, untilAborted } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { footerText, withFooter } from "./boundary.js";
import type {
  CompactionPlan,
  CompactOptions,
  Generate,
  Generated,
  GeneratePrompt,
  PlanAnswer,
  ResolvedCompactOptions,
} from "./options.js";
import { irreducible, verify } from "./plan.js";
import { serializeItem, summaryRequest } from "./prompts.js";
import type { SummaryPart } from "./strategy.js";
import { isContextOverflow, minSummaryTokens } from "./triggers.js";
import { truncateText } from "./truncate.js";

/** A summary and its origin. */
export interface WrittenSummary {
  readonly text: string;
  /** Whether a hook provided it. */
  readonly fromHook: boolean;
  readonly usage?: Usage | undefined;
  readonly model?: { readonly provider: string; readonly modelId: string } | undefined;
}

/** A summary that passed the check; undefined if the plan is edits alone. */
export interface GeneratedSummary {
  readonly summary: WrittenSummary | undefined;
  readonly tokensAfter: number;
}

/** The footer may have one quarter of the room for a summary. */
const footerShare = 4;

/**
 * Makes and verifies the summary of a plan. A summary that is too long is asked for again, half as long each
 * time. Undefined if the plan is edits alone and these would free nothing.
 *
 * @throws SessileError IRREDUCIBLE, SUMMARY_FAILED
 * @throws TypeError if a hook's summary is empty
 */
export async function makeSummary(
  context: Context,
  plan: CompactionPlan,
  options: ResolvedCompactOptions,
  generation: Generation,
  answer: PlanAnswer | undefined,
): Promise<GeneratedSummary | undefined> {
  if (plan.parts.length === 0) {
    const { tokensAfter, shortfall } = await verify(context, plan, undefined, options);
    return shortfall === undefined ? { summary: undefined, tokensAfter } : undefined;
  }
  const given = answer?.summary === undefined ? undefined : stringArgument("summary", answer.summary.trim());
  const footer = footerText(plan, Math.max(0, plan.limit - plan.tokensKept) / footerShare);
  const attempts = given === undefined ? generation.attempts : 1;
  const room = plan.limit - plan.tokensKept - estimateTextTokens(footer);
  let texts: readonly string[] = [];
  for (let attempt = 1; ; attempt++) {
    if (given === undefined) texts = await planTexts(plan, room, generation, answer, attempt, texts);
    const body = given ?? options.strategy.join?.(texts) ?? texts.filter((each) => each !== "").join(rule);
    const text = withFooter(body, footer);
    const verified = verify(context, plan, text, options);
    const { tokensAfter, shortfall } = await untilAborted(verified, generation.signal);
    if (shortfall === undefined) {
      const { usage, model } = generation.tally;
      return { summary: { text, fromHook: given !== undefined, usage, model }, tokensAfter };
    }
    if (attempt >= attempts) throw irreducible(shortfall, plan, tokensAfter);
  }
}

const rule = "\n\n---\n\n";

/** The texts of the parts; from the second attempt on, shorter versions of the previous texts. */
async function planTexts(
  { parts, limit }: CompactionPlan,
  room: number,
  generation: Generation,
  answer: PlanAnswer | undefined,
  attempt: number,
  previous: readonly string[],
): Promise<readonly string[]> {
  const asked: Generation = { ...generation, context: answer?.context };
  const instructions = answer?.prompt;
  const texts: string[] = [];
  for (const [at, part] of parts.entries()) {
    const prompt =
      instructions === undefined ? part.prompt : { ...part.prompt, instructions, update: instructions };
    const length = Math.min(prompt.maxTokens, room / parts.length) / 2 ** (attempt - 1);
    const maxTokens = Math.max(minSummaryTokens(limit), Math.floor(length));
    const earlier = previous[at];
    const text =
      earlier === undefined
        ? summarizePart({ ...part, prompt }, asked, maxTokens)
        : earlier === "" || part.items.length === 0
          ? earlier
          : shortenSummary(earlier, prompt, asked, maxTokens);
    texts.push(await text);
  }
  return texts;
}

// Asks the model for the texts of a summary: in steps that fit its window, with retries and backoff.

/** Shared by all model calls of one compaction. */
export interface Generation {
  readonly generate: Generate;
  readonly signal: AbortSignal;
  readonly attempts: number;
  readonly delayMs: (attempt: number, error: unknown) => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly isOverflow: (error: unknown) => boolean;
  /** The context window of the model behind `generate`, in tokens. */
  readonly window: number;
  /** A topic that the summary dwells on. */
  readonly focus?: string | undefined;
  /** Texts of a hook. */
  readonly context?: readonly string[] | undefined;
  /** Replaces a text that is empty at the last attempt. */
  readonly emptySummary?: string | undefined;
  /** Counts the calls so far. */
  readonly tally: Tally;
}

/** Counters of the calls so far. */
interface Tally {
  calls: number;
  /** Messages that fit in no request. */
  omitted: number;
  usage: Usage | undefined;
  model: Generated["model"];
}

/**
 * Checks the options of model calls and fills in the defaults.
 *
 * @param window the context window of the model behind `generate`, in tokens
 * @throws RangeError if `retry.attempts` is out of range
 */
export function readGeneration(
  options: Pick<CompactOptions, "generate" | "retry" | "isOverflow" | "focus" | "signal">,
  window: number,
  emptySummary?: string,
): Generation {
  const { generate, focus, retry = {} } = options;
  return {
    generate,
    window,
    focus,
    emptySummary,
    attempts: integerOption("retry.attempts", retry.attempts, 3, 1, 10),
    delayMs: retry.delayMs ?? defaultDelayMs,
    sleep: retry.sleep ?? sleep,
    isOverflow: options.isOverflow ?? isContextOverflow,
    signal: options.signal ?? new AbortController().signal,
    tally: { calls: 0, omitted: 0, usage: undefined, model: undefined },
  };
}

function defaultDelayMs(attempt: number): number {
  return Math.min(30_000, 1000 * 2 ** (attempt - 1));
}

/** The text of an assistant message with its results, or of one other item. */
interface Unit {
  readonly text: string;
  readonly tokens: number;
  readonly items: number;
}

/** The most tokens of the prompt around a conversation. */
const overheadTokens = 2_000;

/**
 * Summarises a part in as many steps as the model's window requires; each step updates the summary of the
 * steps before. A step that is refused as too long is halved. A single message that is still refused is
 * dropped with its tool results, oldest first.
 *
 * @throws SessileError SUMMARY_FAILED if all attempts fail; the signal's reason if it aborts
 */
export async function summarizePart(
  part: SummaryPart,
  generation: Generation,
  requested: number,
): Promise<string> {
  const units = readUnits(part.items);
  if (part.items.length === 0) return part.previous ?? "";
  if (units.length === 0) return part.previous ?? emptyText;
  // Many providers count the answer as part of the window, and a longer summary would leave no room for new
  // items.
  const maxTokens = Math.max(1, Math.min(requested, Math.floor(generation.window / 2)));
  const bounded = (text: string) =>
    truncateText(text, { maxTokens: Math.max(1, Math.floor(generation.window / previousShare)) });
  let summary = part.previous === undefined ? undefined : bounded(part.previous);
  let isAnswered = false;
  let omitted = 0;
  const before = generation.tally.omitted;
  /** The most tokens of a request after a refusal. */
  let most = Number.POSITIVE_INFINITY;
  /**
   * The units that the next refusal of a single unit drops. Doubles, to bound the calls of a model that
   * refuses everything.
   */
  let dropped = 1;
  for (let at = 0; at < units.length; ) {
    const room = Math.min(most, roomFor(part, summary, generation, maxTokens));
    const batch = unitsThatFit(units, at, room);
    const request = summaryRequest({
      prompt: part.prompt,
      conversation: batch.map(({ text }) => text).join("\n\n"),
      previous: summary,
      focus: generation.focus,
      context: generation.context,
      omitted,
      maxTokens,
    });
    const text = await ask(request, generation, maxTokens);
    if (text !== undefined) {
      summary = at + batch.length < units.length ? bounded(text) : text;
      isAnswered = true;
      at += batch.length;
      omitted = 0;
      dropped = 1;
    } else if (batch.length > 1) {
      most = batch.reduce((sum, { tokens }) => sum + tokens, 0) / 2;
    } else {
      const lost = units.slice(at, at + dropped).reduce((sum, { items }) => sum + items, 0);
      omitted += lost;
      generation.tally.omitted += lost;
      at += dropped;
      dropped *= 2;
      // A summary of less than half would mislead.
      if (2 * (generation.tally.omitted - before) > part.items.length)
        throw failed(generation, "overflow", undefined);
    }
  }
  if (summary === undefined || !isAnswered) throw failed(generation, "overflow", undefined);
  // No later request can mention these.
  return omitted === 0
    ? summary
    : `${summary}\n\n(${omitted} later messages had no room and are missing here.)`;
}

/**
 * Asks for a shorter version of a summary. One request: summarising the history again may take many.
 *
 * @throws SessileError SUMMARY_FAILED; the signal's reason if it aborts
 */
export async function shortenSummary(
  summary: string,
  prompt: SummaryPart["prompt"],
  generation: Generation,
  maxTokens: number,
): Promise<string> {
  const previous = truncateText(summary, { maxTokens: Math.max(1, Math.floor(generation.window / 2)) });
  const request = summaryRequest({
    prompt,
    conversation: "(nothing new)",
    previous,
    focus: shortenFocus,
    maxTokens,
  });
  const text = await ask(request, generation, maxTokens);
  if (text === undefined) throw failed(generation, "overflow", undefined);
  return text;
}

const shortenFocus =
  "The earlier summary is too long to be used. Say the same in fewer words: keep what the next steps need.";

/** An earlier summary may have one third of the model's window. */
const previousShare = 3;

/** The summary of items without text, such as commands hidden from the model. */
const emptyText = "(nothing was said)";

/** The tokens of conversation that fit in a request. */
function roomFor(
  part: SummaryPart,
  previous: string | undefined,
  { window, context = [], focus = "" }: Generation,
  maxTokens: number,
): number {
  const { system, instructions, update } = part.prompt;
  const around = [system, previous === undefined ? instructions : update, previous ?? "", focus, ...context];
  const used = around.reduce((sum, text) => sum + estimateTextTokens(text), 0);
  return Math.max(0, window - Math.min(maxTokens, window / 2) - used - Math.min(overheadTokens, window / 8));
}

/** The units from `at` on that fit together; at least one. */
function unitsThatFit(units: readonly Unit[], at: number, room: number): readonly Unit[] {
  let end = at;
  let tokens = 0;
  while (end < units.length) {
    tokens += (units[end] as Unit).tokens;
    if (end > at && tokens > room) break;
    end++;
  }
  return units.slice(at, end);
}

function readUnits(items: readonly ContextItem[]): readonly Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < items.length; ) {
    let end = at + 1;
    while (end < items.length && (items[end] as ContextItem).message.role === "toolResult") end++;
    const texts = items.slice(at, end).map((item) => serializeItem(item));
    const text = texts.filter((piece) => piece !== "").join("\n\n");
    if (text !== "") units.push({ text, tokens: estimateTextTokens(text), items: end - at });
    at = end;
  }
  return units;
}

/** The model's text; undefined if it refused the request as too long. */
async function ask(
  prompt: GeneratePrompt,
  generation: Generation,
  maxTokens: number,
): Promise<string | undefined> {
  const { generate, signal, attempts, delayMs, sleep, isOverflow, emptySummary, tally } = generation;
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    let cause: unknown;
    let reason: "error" | "empty" = "empty";
    try {
      tally.calls++;
      const generated = await untilAborted(generate(prompt, { signal, maxTokens }), signal);
      count(tally, generated);
      const text = generated.text.trim();
      if (text !== "") return text;
      if (attempt >= attempts && emptySummary !== undefined) return emptySummary;
    } catch (error) {
      signal.throwIfAborted();
      if (isOverflow(error)) return undefined;
      cause = error;
      reason = "error";
    }
    if (attempt >= attempts) throw failed(generation, reason, cause);
    const ms = delayMs(attempt, cause);
    if (ms > 0) await untilAborted(sleep(ms, signal), signal);
  }
}

function failed(
  { tally, attempts }: Generation,
  reason: "error" | "empty" | "overflow",
  cause: unknown,
): SessileError {
  const reasons = {
    error: `the model failed ${attempts} times`,
    empty: `the model gave no text ${attempts} times`,
    overflow: "the model refused every part of the conversation as too long",
  };
  return new SessileError("SUMMARY_FAILED", `no summary: ${reasons[reason]}; nothing was written`, {
    details: { reason, calls: tally.calls },
    ...(cause === undefined ? {} : { cause }),
  });
}

function count(tally: Tally, { usage, model }: Generated): void {
  tally.model = model ?? tally.model;
  if (usage === undefined) return;
  tally.usage = tally.usage === undefined ? usage : addUsage(tally.usage, usage);
}

/** The sum of two usages. */
function addUsage(a: Usage, b: Usage): Usage {
  const total = (usage: Usage) =>
    usage.totalTokens ?? usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  const cost =
    a.cost === undefined && b.cost === undefined
      ? {}
      : { cost: addCost(a.cost ?? freeOfCost, b.cost ?? freeOfCost) };
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...(a.cacheWrite1h === undefined && b.cacheWrite1h === undefined
      ? {}
      : { cacheWrite1h: (a.cacheWrite1h ?? 0) + (b.cacheWrite1h ?? 0) }),
    totalTokens: total(a) + total(b),
    ...cost,
  };
}

type Cost = NonNullable<Usage["cost"]>;

const freeOfCost: Cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

function addCost(a: Cost, b: Cost): Cost {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    total: a.total + b.total,
  };
}
