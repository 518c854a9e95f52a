import type { Context } from "../content/index.js";
import { estimateTextTokens } from "../estimate/index.js";
import { stringArgument } from "../internal/arguments.js";
import { closed, closingText } from "./closing.js";
import type { CompactionPlan } from "./compaction-plan.js";
import type { WrittenSummary } from "./drafts.js";
import { type Generation, summarizePart } from "./generate.js";
import { irreducible } from "./irreducible.js";
import type { PlanAnswer, SettledCompactOptions } from "./options.js";
import { leastSummary } from "./room.js";
import type { SummaryPart } from "./strategy.js";
import { verify } from "./verify.js";

/** A summary that may be written; none where the plan is edits alone. */
export interface MadeSummary {
  readonly summary: WrittenSummary | undefined;
  readonly tokensAfter: number;
}

/** The most of what is left for a summary that the blocks which close it may take, as a part of it. */
const closingShare = 4;

/**
 * The summary of a plan, verified. One that is too long is asked for again, half as long each time. undefined where edits
 * alone would free nothing.
 *
 * @throws SessileError IRREDUCIBLE, SUMMARY_FAILED
 * @throws TypeError for a hook's summary that says nothing
 */
export async function makeSummary(
  context: Context,
  plan: CompactionPlan,
  options: SettledCompactOptions,
  generation: Generation,
  answer: PlanAnswer | undefined,
): Promise<MadeSummary | undefined> {
  if (plan.parts.length === 0) {
    const { tokensAfter, shortfall } = await verify(context, plan, undefined, options);
    return shortfall === undefined ? { summary: undefined, tokensAfter } : undefined;
  }
  const given = answer?.summary === undefined ? undefined : stringArgument("summary", answer.summary.trim());
  const closing = closingText(plan, Math.max(0, plan.limit - plan.tokensKept) / closingShare);
  const attempts = given === undefined ? generation.attempts : 1;
  for (let attempt = 1; ; attempt++) {
    const said =
      given ?? (await summaryOf(plan, estimateTextTokens(closing), options, generation, answer, attempt));
    const text = closed(said, closing);
    const { tokensAfter, shortfall } = await verify(context, plan, text, options);
    generation.signal.throwIfAborted();
    if (shortfall === undefined) {
      const { usage, model } = generation.tally;
      const summary: WrittenSummary = {
        text,
        fromHook: given !== undefined,
        ...(usage === undefined ? {} : { usage }),
        ...(model === undefined ? {} : { model }),
      };
      return { summary, tokensAfter };
    }
    if (attempt >= attempts) throw irreducible(shortfall, plan, tokensAfter);
  }
}

async function summaryOf(
  plan: CompactionPlan,
  closingTokens: number,
  { strategy }: SettledCompactOptions,
  generation: Generation,
  answer: PlanAnswer | undefined,
  attempt: number,
): Promise<string> {
  const { parts, limit, tokensKept } = plan;
  const room = (limit - tokensKept - closingTokens) / parts.length;
  const texts: string[] = [];
  for (const part of parts) {
    const length = Math.min(part.prompt.maxTokens, room) / 2 ** (attempt - 1);
    const maxTokens = Math.max(leastSummary(limit), Math.floor(length));
    const asked = { ...generation, ...(answer?.context === undefined ? {} : { context: answer.context }) };
    texts.push(await summarizePart(withPrompt(part, answer?.prompt), asked, maxTokens));
  }
  return strategy.join?.(texts) ?? texts.join("\n\n---\n\n");
}

function withPrompt(part: SummaryPart, instructions: string | undefined): SummaryPart {
  if (instructions === undefined) return part;
  return { ...part, prompt: { ...part.prompt, instructions, update: instructions } };
}
