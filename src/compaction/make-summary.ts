import type { Context } from "../content/index.js";
import { stringArgument } from "../internal/arguments.js";
import { closed } from "./closing.js";
import type { CompactionPlan } from "./compaction-plan.js";
import type { WrittenSummary } from "./drafts.js";
import { type Generation, summarizePart } from "./generate.js";
import { irreducible } from "./irreducible.js";
import type { PlanAnswer, SettledCompactOptions } from "./options.js";
import type { SummaryPart } from "./strategy.js";
import { verify } from "./verify.js";

/** A summary that may be written; none where the plan is edits alone. */
export interface MadeSummary {
  readonly summary: WrittenSummary | undefined;
  readonly tokensAfter: number;
}

/** The least length of a summary that is asked for, in tokens. */
const leastTokens = 256;

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
  const attempts = given === undefined ? generation.attempts : 1;
  for (let attempt = 1; ; attempt++) {
    const said = given ?? (await summaryOf(plan, options, generation, answer, attempt));
    const text = closed(said, plan.resources, plan.files);
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
  { strategy }: SettledCompactOptions,
  generation: Generation,
  answer: PlanAnswer | undefined,
  attempt: number,
): Promise<string> {
  const { parts, limit, tokensKept } = plan;
  const room = (limit - tokensKept) / parts.length;
  const texts: string[] = [];
  for (const part of parts) {
    const length = Math.min(part.prompt.maxTokens, room) / 2 ** (attempt - 1);
    const maxTokens = Math.max(leastTokens, Math.floor(length));
    const asked = { ...generation, ...(answer?.context === undefined ? {} : { context: answer.context }) };
    texts.push(await summarizePart(withPrompt(part, answer?.prompt), asked, maxTokens));
  }
  return strategy.join?.(texts) ?? texts.join("\n\n---\n\n");
}

function withPrompt(part: SummaryPart, instructions: string | undefined): SummaryPart {
  if (instructions === undefined) return part;
  return { ...part, prompt: { ...part.prompt, instructions, update: instructions } };
}
