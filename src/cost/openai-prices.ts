/** The prices of OpenAI. */

import { asOf, exact, type ModelPrice, rates, type TokenRates } from "./price.js";

const openai = { provider: "openai", asOf } as const;
const page = (model: string) => `https://developers.openai.com/api/docs/models/${model}`;
const pi = {
  source: "https://github.com/earendil-works/pi/tree/main/packages/ai",
  note: "the table of pi 1.5.2",
} as const;

/**
 * Since GPT-5.6 a write costs 1.25 times the input. Prompts above 272,000 tokens cost twice the input and 1.5
 * times the output.
 */
function since56(input: number, cacheRead: number, output: number, write12h?: number) {
  const at = (factor: number, out: number): TokenRates => ({
    ...rates(input * factor, exact(cacheRead * factor), exact(out), exact((input * factor * 5) / 4)),
    ...(write12h !== undefined && { cacheWrite12h: write12h * factor }),
  });
  return { ...at(1, output), long: { above: 272_000, rates: at(2, (output * 3) / 2) } };
}

const writes12h = "a write of 12 hours costs more, and usage does not tell it from one of 30 minutes";
const sol56 = { ...openai, ...since56(4, 0.4, 20), source: page("gpt-5.6-sol") };
const sol56Until = "2026-08-20";
const olderSol56 = {
  ...openai,
  ...since56(5, 0.5, 30),
  until: sol56Until,
  source: "https://docs.laozhang.ai/en/announcements/gpt-5-6-pricing-2026-07.md",
  note: "a reseller's record of OpenAI's list",
};
const sol56Note = "a promotion since 2026-08-21, promised until 2026-11-21 at least";

const gpt5Source = "https://www.morphllm.com/openai-api-pricing";
const longNote = "OpenAI's list of June 2026, by others; long prompts by the table of pi 1.5.2";

const image = (
  model: string,
  input: number,
  cacheRead: number,
  images: TokenRates["image"],
  output: number,
) => ({
  ...openai,
  model,
  ...rates(input, cacheRead, output),
  ...(images && { image: images }),
  source: page(model),
});

/** OpenAI's prices. Before GPT-5.6 a write costs the same as input, for every cache lifetime. */
export const openaiPrices: readonly ModelPrice[] = [
  {
    ...openai,
    model: "gpt-6.2-sol",
    ...since56(2, 0.1, 10, 5),
    source: page("gpt-6.2-sol"),
    note: writes12h,
  },
  { ...openai, ...pi, model: "gpt-6.1-sol", ...since56(2, 0.1, 10) },
  { ...openai, ...pi, model: "gpt-6.1-terra", ...since56(1, 0.05, 5) },
  { ...openai, ...pi, model: "gpt-6-astra", ...since56(10, 1, 50) },
  { ...openai, model: "gpt-6-sol", ...since56(2, 0.2, 10), source: page("gpt-6-sol"), note: writes12h },
  { ...openai, ...pi, model: "gpt-6-luna", ...since56(0.1, 0.01, 0.5) },
  { ...sol56, model: "gpt-5.6-sol", from: "2026-08-21", note: sol56Note },
  { ...olderSol56, model: "gpt-5.6-sol" },
  { ...sol56, model: "gpt-5.6", from: "2026-08-21", note: `an alias of gpt-5.6-sol; ${sol56Note}` },
  { ...olderSol56, model: "gpt-5.6" },
  {
    ...openai,
    model: "gpt-5.6-terra",
    from: "2026-07-30",
    ...since56(2, 0.2, 12),
    source: olderSol56.source,
    note: olderSol56.note,
  },
  {
    ...openai,
    model: "gpt-5.6-luna",
    from: "2026-07-30",
    ...since56(0.2, 0.02, 1.2),
    source: page("gpt-5.6-luna"),
  },
  {
    ...openai,
    model: "gpt-5.5",
    ...rates(5, 0.5, 30),
    long: { above: 272_000, rates: rates(10, 1, 45) },
    source: gpt5Source,
    note: longNote,
  },
  {
    ...openai,
    model: "gpt-5.4",
    ...rates(2.5, 0.25, 15),
    long: { above: 272_000, rates: rates(5, 0.5, 22.5) },
    source: gpt5Source,
    note: longNote,
  },
  {
    ...openai,
    model: "gpt-5.4-mini",
    ...rates(0.75, 0.075, 4.5),
    long: { above: 272_000 },
    source: gpt5Source,
  },
  {
    ...openai,
    model: "gpt-5.4-nano",
    ...rates(0.2, 0.02, 1.25),
    long: { above: 272_000 },
    source: gpt5Source,
  },
  { ...openai, ...pi, model: "gpt-5.3-codex", ...rates(1.75, 0.175, 14) },
  { ...openai, ...pi, model: "gpt-5.2", ...rates(1.75, 0.175, 14) },
  { ...openai, ...pi, model: "gpt-5.1", ...rates(1.25, 0.125, 10) },
  { ...openai, ...pi, model: "gpt-5", ...rates(1.25, 0.125, 10) },
  { ...openai, model: "gpt-5-codex", ...rates(1.25, 0.125, 10), source: page("gpt-5-codex") },
  { ...openai, model: "gpt-5-mini", ...rates(0.25, 0.025, 2), source: page("gpt-5-mini") },
  { ...openai, model: "gpt-5-nano", ...rates(0.05, 0.005, 0.4), source: page("gpt-5-nano") },
  { ...openai, ...pi, model: "gpt-4.1", ...rates(2, 0.5, 8) },
  { ...openai, ...pi, model: "gpt-4.1-mini", ...rates(0.4, 0.1, 1.6) },
  { ...openai, model: "gpt-4.1-nano", ...rates(0.1, 0.025, 0.4), source: page("gpt-4.1-nano") },
  { ...openai, ...pi, model: "o3", ...rates(2, 0.5, 8) },
  { ...openai, ...pi, model: "o4-mini", ...rates(1.1, 0.275, 4.4) },
  image("gpt-image-2.6-sunburst", 5, 1.25, { input: 8, cacheRead: 2 }, 30),
  image("gpt-image-1-mini", 2, 0.2, { input: 2.5, cacheRead: 0.25 }, 8),
  image("gpt-image-1", 5, 1.25, { input: 10, cacheRead: 2.5 }, 40),
];
