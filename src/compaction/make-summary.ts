import type { Context } from "../content/index.js";
import { estimateTextTokens } from "../estimate/index.js";
import { stringArgument } from "../internal/arguments.js";
import { untilAborted } from "./abort.js";
import { footerText, withFooter } from "./closing.js";
import type { CompactionPlan, PlanAnswer, ResolvedCompactOptions } from "./options.js";
import type { SummaryPart } from "./strategy.js";
import { type Generation, shortenSummary, summarizePart } from "./summarize.js";
import { minSummaryTokens } from "./triggers.js";
import { irreducible, verify } from "./verify.js";
import type { WrittenSummary } from "./write.js";

/** A summary that may be written; none where the plan is edits alone. */
export interface MadeSummary {
  readonly summary: WrittenSummary | undefined;
  readonly tokensAfter: number;
}

/** The most of what is left for a summary that the blocks which close it may take, as a part of it. */
const closingShare = 4;

/**
 * The summary of a plan, verified. One that is too long is asked for again in fewer words, half as long each time. undefined where edits
 * alone would free nothing.
 *
 * @throws SessileError IRREDUCIBLE, SUMMARY_FAILED
 * @throws TypeError for a hook's summary that says nothing
 */
export async function makeSummary(
  context: Context,
  plan: CompactionPlan,
  options: ResolvedCompactOptions,
  generation: Generation,
  answer: PlanAnswer | undefined,
): Promise<MadeSummary | undefined> {
  if (plan.parts.length === 0) {
    const { tokensAfter, shortfall } = await verify(context, plan, undefined, options);
    return shortfall === undefined ? { summary: undefined, tokensAfter } : undefined;
  }
  const given = answer?.summary === undefined ? undefined : stringArgument("summary", answer.summary.trim());
  const closing = footerText(plan, Math.max(0, plan.limit - plan.tokensKept) / closingShare);
  const attempts = given === undefined ? generation.attempts : 1;
  const room = plan.limit - plan.tokensKept - estimateTextTokens(closing);
  let texts: readonly string[] = [];
  for (let attempt = 1; ; attempt++) {
    if (given === undefined) texts = await textsOf(plan, room, generation, answer, attempt, texts);
    const said = given ?? options.strategy.join?.(texts) ?? texts.filter((each) => each !== "").join(rule);
    const text = withFooter(said, closing);
    const verified = verify(context, plan, text, options);
    const { tokensAfter, shortfall } = await untilAborted(verified, generation.signal);
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

const rule = "\n\n---\n\n";

/** The texts of the parts; from the second attempt on those of the attempt before, shorter. */
async function textsOf(
  { parts, limit }: CompactionPlan,
  room: number,
  generation: Generation,
  answer: PlanAnswer | undefined,
  attempt: number,
  before: readonly string[],
): Promise<readonly string[]> {
  const asked = { ...generation, ...(answer?.context === undefined ? {} : { context: answer.context }) };
  const texts: string[] = [];
  for (const [at, each] of parts.entries()) {
    const part = withPrompt(each, answer?.prompt);
    const length = Math.min(part.prompt.maxTokens, room / parts.length) / 2 ** (attempt - 1);
    const maxTokens = Math.max(minSummaryTokens(limit), Math.floor(length));
    const earlier = before[at];
    const text =
      earlier === undefined
        ? summarizePart(part, asked, maxTokens)
        : earlier === "" || part.items.length === 0
          ? earlier
          : shortenSummary(earlier, part.prompt, asked, maxTokens);
    texts.push(await text);
  }
  return texts;
}

function withPrompt(part: SummaryPart, instructions: string | undefined): SummaryPart {
  if (instructions === undefined) return part;
  return { ...part, prompt: { ...part.prompt, instructions, update: instructions } };
}
