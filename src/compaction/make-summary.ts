/**
 * Makes the summary of a plan: the texts of the parts, joined, with a footer, verified, and shortened if
 * necessary.
 */

import { estimateTextTokens } from "../content/estimate/index.js";
import type { Context, Usage } from "../content/index.js";
import { stringArgument } from "../core/arguments.js";
import { untilAborted } from "../core/concurrency.js";
import type { CompactionPlan, PlanAnswer, ResolvedCompactOptions } from "./options.js";
import { type Generation, shortenSummary, summarizePart } from "./summarize.js";
import { footerText, withFooter } from "./summary-footer.js";
import { minSummaryTokens } from "./triggers.js";
import { irreducible, verify } from "./verify.js";

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
