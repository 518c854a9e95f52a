import type { ContextItem, Usage } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { estimateTextTokens } from "../estimate/index.js";
import { pause, untilAborted } from "./abort.js";
import { summaryRequest } from "./prompts.js";
import { serializeItem } from "./serialize.js";
import type { SummaryPart } from "./strategy.js";
import { truncateText } from "./truncate.js";

/** What a model is asked. */
export interface GeneratePrompt {
  /** For the system prompt. */
  readonly system: string;
  /** The one message of the user. */
  readonly text: string;
}

/** What goes with a {@link GeneratePrompt}. */
export interface GenerateOptions {
  /** Aborts when the compaction is aborted. */
  readonly signal: AbortSignal;
  /** The length that the prompt asks for, in tokens: a good `max_tokens`. */
  readonly maxTokens: number;
}

/** What a model answered. */
export interface Generated {
  readonly text: string;
  /** Added up in the compaction's entry. */
  readonly usage?: Usage;
  /** The model that wrote it, where it is not the session's. */
  readonly model?: { readonly provider: string; readonly modelId: string };
}

/** Asks a model for a text; it may be another and cheaper one than the session's. */
export type Generate = (prompt: GeneratePrompt, options: GenerateOptions) => Promise<Generated>;

/** How often a model is asked, and how long is waited in between. */
export interface RetryOptions {
  /** Attempts at each text, and at a summary as a whole; from 1 to 10. By default 3. */
  readonly attempts?: number;
  /** Milliseconds to wait after an attempt failed, the first being 1. By default 1 s, 2 s, 4 s and so on, at most 30 s. */
  readonly delayMs?: (attempt: number, error: unknown) => number;
  /** Waits for `ms`, and throws the signal's reason as soon as that aborts. By default a timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What all texts of one compaction have in common. */
export interface Generation {
  readonly generate: Generate;
  readonly signal: AbortSignal;
  readonly attempts: number;
  readonly delayMs: (attempt: number, error: unknown) => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly isOverflow: (error: unknown) => boolean;
  /** What the asked model takes, in tokens. */
  readonly window: number;
  /** What the summary is to look at above all. */
  readonly focus?: string;
  /** Texts of a hook. */
  readonly context?: readonly string[];
  /** Stands for a text that comes back empty at the last attempt. */
  readonly emptySummary?: string;
  /** Counts what was asked so far. */
  readonly tally: Tally;
}

/** What was asked of the model. */
export interface Tally {
  calls: number;
  /** Messages that no request could hold. */
  omitted: number;
  usage: Usage | undefined;
  model: Generated["model"];
}

/** How attempts are spaced. */
export function retryPolicy(retry: RetryOptions = {}): Pick<Generation, "delayMs" | "sleep"> {
  return { delayMs: retry.delayMs ?? defaultDelayMs, sleep: retry.sleep ?? pause };
}

/** How long to wait by default. */
export function defaultDelayMs(attempt: number): number {
  return Math.min(30_000, 1000 * 2 ** (attempt - 1));
}

/** An assistant message with its results, or one other item, as text. */
interface Unit {
  readonly text: string;
  readonly tokens: number;
  readonly items: number;
}

/** What the words around a conversation come to at most, in tokens. */
const overheadTokens = 2_000;

/**
 * Asks for the summary of a part, in as many steps as the asked model's window makes necessary: each step brings the summary of
 * those before it up to date. A step that is refused as too long is halved; a single message that is still refused goes, with
 * its tool results, oldest first.
 *
 * @throws SessileError SUMMARY_FAILED when attempts run out; the signal's reason when it aborts.
 */
export async function summarizePart(
  part: SummaryPart,
  generation: Generation,
  asked: number,
): Promise<string> {
  const units = unitsOf(part.items);
  if (part.items.length === 0) return part.previous ?? "";
  if (units.length === 0) return part.previous ?? nothingSaid;
  // Many providers count the answer as part of the window, and a summary that fills it leaves no room for what came since.
  const maxTokens = Math.max(1, Math.min(asked, Math.floor(generation.window / 2)));
  const bounded = (text: string) =>
    truncateText(text, { maxTokens: Math.max(1, Math.floor(generation.window / previousShare)) });
  let summary = part.previous === undefined ? undefined : bounded(part.previous);
  let isAnswered = false;
  let omitted = 0;
  const before = generation.tally.omitted;
  /** What a request may hold, once one was refused. */
  let most = Number.POSITIVE_INFINITY;
  /** How many units go with the next refusal of a single one; doubles, so that a model that refuses all is soon done with. */
  let dropped = 1;
  for (let at = 0; at < units.length; ) {
    const room = Math.min(most, roomFor(part, summary, generation, maxTokens));
    const taken = unitsThatFit(units, at, room);
    const request = summaryRequest({
      prompt: part.prompt,
      conversation: taken.map(({ text }) => text).join("\n\n"),
      ...(summary === undefined ? {} : { previous: summary }),
      ...(generation.focus === undefined ? {} : { focus: generation.focus }),
      ...(generation.context === undefined ? {} : { context: generation.context }),
      omitted,
      maxTokens,
    });
    const text = await ask(request, generation, maxTokens);
    if (text !== undefined) {
      summary = at + taken.length < units.length ? bounded(text) : text;
      isAnswered = true;
      at += taken.length;
      omitted = 0;
      dropped = 1;
    } else if (taken.length > 1) {
      most = taken.reduce((sum, { tokens }) => sum + tokens, 0) / 2;
    } else {
      const gone = units.slice(at, at + dropped).reduce((sum, { items }) => sum + items, 0);
      omitted += gone;
      generation.tally.omitted += gone;
      at += dropped;
      dropped *= 2;
      // A summary of a smaller part is none.
      if (2 * (generation.tally.omitted - before) > part.items.length)
        throw failed(generation, "overflow", undefined);
    }
  }
  if (summary === undefined || !isAnswered) throw failed(generation, "overflow", undefined);
  // No request after these could say it.
  return omitted === 0
    ? summary
    : `${summary}\n\n(${omitted} later messages had no room and are missing here.)`;
}

/**
 * Asks for a shorter text in the place of a summary that is too long, once: not for the history again, which may take many
 * requests.
 *
 * @throws SessileError SUMMARY_FAILED; the signal's reason when it aborts
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
    focus: shorter,
    maxTokens,
  });
  const text = await ask(request, generation, maxTokens);
  if (text === undefined) throw failed(generation, "overflow", undefined);
  return text;
}

const shorter =
  "The earlier summary is too long to be used. Say the same in fewer words: keep what the next steps need.";

/** The most of the asked model's window that an earlier summary may take, as a part of it. */
const previousShare = 3;

/** The summary of items that say nothing, such as commands that no model is to see. */
const nothingSaid = "(nothing was said)";

/** How many tokens of conversation a request can hold. */
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

/** The units from `at` on that have room together; at least one. */
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

function unitsOf(items: readonly ContextItem[]): readonly Unit[] {
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

/** The model's text; undefined where it refused the request as too long. */
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
  const what = {
    error: `the model failed ${attempts} times`,
    empty: `the model gave no text ${attempts} times`,
    overflow: "the model refused every part of the conversation as too long",
  };
  return new SessileError("SUMMARY_FAILED", `no summary: ${what[reason]}; nothing was written`, {
    details: { reason, calls: tally.calls },
    ...(cause === undefined ? {} : { cause }),
  });
}

function count(tally: Tally, { usage, model }: Generated): void {
  tally.model = model ?? tally.model;
  if (usage === undefined) return;
  tally.usage = tally.usage === undefined ? usage : addUsage(tally.usage, usage);
}

/** What two calls of a model took together. */
export function addUsage(a: Usage, b: Usage): Usage {
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
