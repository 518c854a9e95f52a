/** The published prices of makers, each with its source. Other prices are those of the table of pi. */

import { listedPrices } from "./listed-prices.js";
import { asOf, exact, type ModelPrice, type PeakRates, rates, type TokenRates } from "./price.js";

const claude = {
  provider: "anthropic",
  source: "https://platform.claude.com/docs/en/about-claude/pricing",
  asOf,
} as const;
/** For every model, a write of 5 minutes costs 1.25 times the input, of an hour twice the input. */
const claudeRates = (input: number, cacheRead: number, output: number): TokenRates => ({
  input,
  cacheWrite: exact((input * 5) / 4),
  cacheWrite1h: exact(input * 2),
  cacheRead,
  output,
});
const opus = { ...claude, ...claudeRates(5, 0.5, 25) };
const sonnet = { ...claude, ...claudeRates(3, 0.3, 15) };
const olderOpus = { ...claude, ...claudeRates(15, 1.5, 75) };

// Prompts of more than 200,000 tokens cost more until 2026-03-13, when 1M tokens became standard.
const beta = {
  source: "https://github.com/pydantic/genai-prices/blob/main/prices/providers/anthropic.yml",
  note: "long prompts by a community's table; the other rates stand on Anthropic's page too",
} as const;
const longOpus = { above: 200_000, rates: claudeRates(10, 1, 37.5) };
const longSonnet = { above: 200_000, rates: claudeRates(6, 0.6, 22.5) };

/** Prices of Anthropic's API. */
const own: readonly (ModelPrice & { readonly provider: "anthropic" })[] = [
  {
    ...claude,
    model: "claude-fable-5-2",
    ...claudeRates(8, 0.2, 40),
    source: "https://docs.laozhang.ai/en/announcements/claude-fable-5-2-2026-11.md",
    note: "a reseller's record of Anthropic's list; hourly writes by github.com/archid21/rightsize v0.10.2",
  },
  { ...claude, model: "claude-fable-5-1", ...claudeRates(10, 0.25, 50) },
  { ...claude, model: "claude-fable-5", ...claudeRates(10, 1, 50) },
  {
    ...claude,
    model: "claude-opus-5-5",
    ...claudeRates(4, 0.2, 20),
    source: "https://platform.claude.com/docs/zh-CN/models/opus-5-5/overview",
  },
  ...["claude-opus-5", "claude-opus-4-8", "claude-opus-4-7"].map((model) => ({ ...opus, model })),
  { ...opus, model: "claude-opus-4-6", from: "2026-03-13" },
  { ...opus, ...beta, model: "claude-opus-4-6", until: "2026-03-12", long: longOpus },
  { ...opus, model: "claude-opus-4-5" },
  { ...olderOpus, model: "claude-opus-4-1" },
  { ...olderOpus, model: "claude-opus-4" },
  {
    ...claude,
    model: "claude-sonnet-5-5",
    from: "2026-10-07",
    ...claudeRates(2, 0.1, 10),
    source: "https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.23",
    note: "reads by a tool's release notes; the stored copy of the model's page still has the older price",
  },
  {
    ...claude,
    model: "claude-sonnet-5-5",
    until: "2026-10-06",
    ...claudeRates(2, 0.2, 10),
    source: "https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.23",
  },
  {
    ...claude,
    model: "claude-sonnet-5",
    ...claudeRates(2, 0.2, 10),
    source: "https://platform.claude.com/docs/zh-CN/models/sonnet-5/overview",
  },
  { ...sonnet, model: "claude-sonnet-4-6", from: "2026-03-13" },
  { ...sonnet, ...beta, model: "claude-sonnet-4-6", until: "2026-03-12", long: longSonnet },
  { ...sonnet, ...beta, model: "claude-sonnet-4-5", long: longSonnet },
  {
    ...sonnet,
    model: "claude-sonnet-4",
    long: { above: 200_000 },
    note: "its long prompts, of a beta that has ended, had a price that was not found",
  },
  {
    ...claude,
    model: "claude-haiku-5-5",
    ...claudeRates(0.1, 0.01, 0.5),
    long: { above: 100_000, rates: claudeRates(0.5, 0.05, 2.5) },
    source: "https://github.com/kurofune/claudit/releases/tag/v1.9.2",
    note: "all but the reads stand on https://platform.claude.com/docs/en/models/haiku-5-5/overview too",
  },
  { ...claude, model: "claude-haiku-4-5", ...claudeRates(1, 0.1, 5) },
];

const bedrock = {
  provider: "amazon-bedrock",
  source: "https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock",
  note: "Anthropic's price; the rates are those of pi's table, github.com/earendil-works/pi, too",
} as const;
const regional = {
  ...bedrock,
  note: "Anthropic's price and a tenth, by AWS's price list as github.com/pydantic/genai-prices cites it",
} as const;

/** Models with one price at all endpoints. From Sonnet 4.5 on, geographic endpoints cost a tenth more. */
const oneEndpoint: ReadonlySet<string> = new Set(["claude-opus-4-1", "claude-opus-4", "claude-sonnet-4"]);

function onBedrock(row: ModelPrice): readonly ModelPrice[] {
  const named = (prefix: string) => ({ model: `${prefix}anthropic.${row.model}` });
  if (oneEndpoint.has(row.model))
    return ["global.", "geo.", ""].map((prefix) => ({ ...row, ...bedrock, ...named(prefix) }));
  const { long } = row;
  const more = long && { above: long.above, ...(long.rates && { rates: withTenth(long.rates) }) };
  return [
    { ...row, ...bedrock, ...named("global.") },
    { ...row, ...withTenth(row), ...regional, ...named("geo."), ...(more && { long: more }) },
  ];
}

function withTenth({ input, cacheRead, output }: TokenRates): TokenRates {
  return claudeRates(exact(input * 1.1), exact(cacheRead * 1.1), exact(output * 1.1));
}

/**
 * Claude at Anthropic and on Amazon Bedrock. `geo.` means geographic inference profiles, such as `us.`
 * and `eu.`. Profiles of AWS GovCloud and models in a single region have no row.
 */
const claudePrices: readonly ModelPrice[] = [...own, ...own.flatMap(onBedrock)];

const openai = { provider: "openai", asOf } as const;
const page = (model: string) => `https://developers.openai.com/api/docs/models/${model}`;
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
const longNote = "OpenAI's list of June 2026, by others; long prompts by the table of pi";

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

/** Before GPT-5.6 a write costs the same as input, for every cache lifetime. */
const openaiPrices: readonly ModelPrice[] = [
  {
    ...openai,
    model: "gpt-6.2-sol",
    ...since56(2, 0.1, 10, 5),
    source: page("gpt-6.2-sol"),
    note: writes12h,
  },
  { ...openai, model: "gpt-6-sol", ...since56(2, 0.2, 10), source: page("gpt-6-sol"), note: writes12h },
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
  { ...openai, model: "gpt-5-codex", ...rates(1.25, 0.125, 10), source: page("gpt-5-codex") },
  {
    ...openai,
    model: "gpt-5.2-codex",
    ...rates(1.75, 0.175, 14),
    source: "https://github.com/github/docs/blob/main/data/tables/copilot/models-and-pricing.yml",
    note: "as GitHub charges it, at OpenAI's price",
  },
  ...["gpt-5.1-codex", "gpt-5.1-codex-max"].map((model) => ({
    ...openai,
    model,
    ...rates(1.25, 0.125, 10),
    source: "https://www.npmjs.com/package/@earendil-works/pi-ai/v/1.6.0",
    note: "as gateways and Azure charge it in the table of pi 1.6.0, at OpenAI's price",
  })),
  { ...openai, model: "gpt-5-mini", ...rates(0.25, 0.025, 2), source: page("gpt-5-mini") },
  { ...openai, model: "gpt-5-nano", ...rates(0.05, 0.005, 0.4), source: page("gpt-5-nano") },
  { ...openai, model: "gpt-4.1-nano", ...rates(0.1, 0.025, 0.4), source: page("gpt-4.1-nano") },
  image("gpt-image-2.6-sunburst", 5, 1.25, { input: 8, cacheRead: 2 }, 30),
  image("gpt-image-1-mini", 2, 0.2, { input: 2.5, cacheRead: 0.25 }, 8),
  image("gpt-image-1", 5, 1.25, { input: 10, cacheRead: 2.5 }, 40),
];

const gemini = { provider: "google", asOf } as const;
const gemini25 = {
  ...gemini,
  source: "https://deploybase.ai/articles/gemini-api-pricing",
  note: "Google's list of March 2026, by others; storage of an explicit cache is not counted",
} as const;
const gemini3 = {
  ...gemini,
  source: "https://ai.google.dev/gemini-api/docs/pricing",
  note: "as api-evangelist/deepmind quotes it on 2026-10-07; reads by the table of pi; no storage",
} as const;
const gemini31Pro = {
  ...rates(2, 0.2, 12),
  long: { above: 200_000, rates: rates(4, 0.4, 18) },
};
const geminiImage = (model: string, input: number, output: number, image: number): ModelPrice => ({
  ...gemini,
  model,
  ...rates(input, input, output),
  image: { output: image },
  source: "https://github.com/pydantic/genai-prices/blob/main/prices/providers/google.yml",
  note: "a community's table of Google's list, which has no price for cache reads: charged as input here",
});

const geminiPrices: readonly ModelPrice[] = [
  {
    ...gemini3,
    model: "gemini-3.8-flash",
    until: "2026-12-31",
    ...rates(0.75, 0.075, 3.75),
  },
  { ...gemini3, model: "gemini-3.5-flash", ...rates(1.5, 0.15, 9) },
  { ...gemini3, model: "gemini-3.5-flash-lite", ...rates(0.3, 0.03, 2.5) },
  { ...gemini3, model: "gemini-3.1-pro-preview", ...gemini31Pro },
  ...["gemini-3-pro-image", "gemini-3-pro-image-preview"].map((model) => geminiImage(model, 2, 12, 120)),
  ...["gemini-3.1-flash-image", "gemini-3.1-flash-image-preview"].map((model) =>
    geminiImage(model, 0.5, 3, 60),
  ),
  geminiImage("gemini-2.5-flash-image", 0.3, 2.5, 30),
  {
    ...gemini25,
    model: "gemini-2.5-pro",
    ...rates(1.25, 0.125, 10),
    long: { above: 200_000, rates: rates(2.5, 0.25, 15) },
  },
  { ...gemini25, model: "gemini-2.5-flash", ...rates(0.3, 0.03, 2.5) },
];

const deepseek = {
  provider: "deepseek",
  source: "https://api-docs.deepseek.com/quick_start/pricing",
  asOf,
} as const;
/** China's public holidays of 2026 since the start of peak hours, by J-Chien/dsh-meter. */
const holidays = [
  ...["2026-09-25", "2026-09-26", "2026-09-27"],
  ...[1, 2, 3, 4, 5, 6, 7].map((day) => `2026-10-0${day}`),
];
/**
 * Peak hours are the working hours of China, at twice the price, since 2026-08-17; until 2026-08-23 also on
 * weekends.
 */
function withPeakHours(base: TokenRates): TokenRates & { readonly peak: PeakRates } {
  const { input, cacheRead, output } = base;
  const hours = [[1, 4] as const, [6, 10] as const];
  const twice = rates(input * 2, cacheRead * 2, output * 2);
  return { ...base, peak: { hours, holidays, until: "2026-12-31", rates: twice } };
}
const flat = { from: "2026-04-27" } as const;
const flashNote = "served and charged as deepseek-flash";

const deepseekPrices: readonly ModelPrice[] = [
  { ...deepseek, model: "deepseek-flash", from: "2026-09-11", ...withPeakHours(rates(0.15, 0.003, 0.6)) },
  {
    ...deepseek,
    model: "deepseek-v4-flash",
    from: "2026-09-11",
    ...withPeakHours(rates(0.15, 0.003, 0.6)),
    note: flashNote,
  },
  {
    ...deepseek,
    model: "deepseek-v4-flash",
    from: "2026-08-24",
    until: "2026-09-09",
    ...withPeakHours(rates(0.22, 0.007, 0.66)),
  },
  { ...deepseek, ...flat, model: "deepseek-v4-flash", until: "2026-08-15", ...rates(0.14, 0.0028, 0.28) },
  ...["deepseek-chat", "deepseek-reasoner"].map((model) => ({
    ...deepseek,
    ...flat,
    model,
    until: "2026-07-23",
    ...rates(0.14, 0.0028, 0.28),
    note: "a mode of deepseek-v4-flash, gone since 2026-07-24",
  })),
  {
    ...deepseek,
    model: "deepseek-v4-pro",
    from: "2026-10-27",
    ...withPeakHours(rates(0.66, 0.022, 1.98)),
    note: "sources differ on what it cost from 2026-09-14 on, and agree since 2026-10-27",
  },
  {
    ...deepseek,
    model: "deepseek-v4-pro",
    from: "2026-08-24",
    until: "2026-09-13",
    ...withPeakHours(rates(0.66, 0.022, 1.98)),
  },
  { ...deepseek, ...flat, model: "deepseek-v4-pro", until: "2026-08-15", ...rates(0.435, 0.003625, 0.87) },
];

const mistral = (model: string, input: number, cacheRead: number, output: number): ModelPrice => ({
  provider: "mistral",
  model,
  ...rates(input, cacheRead, output),
  source: "https://github.com/pydantic/genai-prices/blob/main/prices/providers/mistral.yml",
  asOf,
  note: "a community's table of https://mistral.ai/pricing, checked in 2026; as in that of pi",
});

const mistralPrices: readonly ModelPrice[] = [
  mistral("mistral-large-2512", 0.5, 0.05, 1.5),
  mistral("mistral-medium-3.5", 1.5, 0.15, 7.5),
  { ...mistral("mistral-medium-latest", 1.5, 0.15, 7.5), from: "2026-06-16" },
  { ...mistral("mistral-medium-latest", 0.4, 0.04, 2), until: "2026-06-15" },
  mistral("mistral-medium-2508", 0.4, 0.04, 2),
  mistral("mistral-medium-2505", 0.4, 0.04, 2),
  mistral("mistral-small-2603", 0.15, 0.015, 0.6),
  mistral("devstral-2512", 0.4, 0.04, 2),
  mistral("codestral-2508", 0.3, 0.03, 0.9),
];

const kimi = (
  model: string,
  chapter: string,
  input: number,
  cacheRead: number,
  output: number,
): ModelPrice => ({
  provider: "moonshotai",
  model,
  ...rates(input, cacheRead, output),
  source: `https://platform.kimi.ai/docs/pricing/${chapter}.md`,
  asOf,
  note: "as github.com/pydantic/genai-prices and the table of pi have it",
});
/**
 * K3.1 is the first with cache lifetimes: a write of 5 minutes costs the same as input, of an hour twice as
 * much.
 */
const kimi31 = (model: string, input: number, output: number): ModelPrice => ({
  provider: "moonshotai",
  model,
  ...rates(input, 0.2, output),
  cacheWrite1h: input * 2,
  source: "https://docs.apiyi.com/en/api-capabilities/kimi-k3-1/overview.md",
  asOf,
  note: "a reseller's record of Moonshot's list of October 2026",
});
const glm = (model: string, input: number, cacheRead: number, output: number): ModelPrice => ({
  provider: "zai",
  model,
  ...rates(input, cacheRead, output),
  source: "https://docs.z.ai/guides/overview/pricing",
  asOf,
  note: "as github.com/pydantic/genai-prices and the table of pi have it",
});

const otherPrices: readonly ModelPrice[] = [
  kimi31("kimi-k3.1-pro", 2, 10),
  kimi31("kimi-k3.1-pro-highspeed", 4, 20),
  kimi("kimi-k3", "chat-k3", 3, 0.3, 15),
  kimi("kimi-k2.7-code", "chat-k27-code", 0.95, 0.19, 4),
  kimi("kimi-k2.7-code-highspeed", "chat-k27-code", 1.9, 0.38, 8),
  kimi("kimi-k2.6", "chat-k26", 0.95, 0.16, 4),
  glm("glm-5.3", 1.4, 0.26, 4.4),
  { ...glm("glm-5.3-flash", 0.15, 0.03, 0.5), from: "2026-09-10" },
  { ...glm("glm-5.3-flash", 0.075, 0.015, 0.25), until: "2026-09-08" },
  glm("glm-5.2", 1.4, 0.26, 4.4),
];

/**
 * The published prices of standard processing, each with its source. Models without a published price have no
 * row.
 */
export const modelPrices: readonly ModelPrice[] = [
  ...claudePrices,
  ...openaiPrices,
  ...geminiPrices,
  ...deepseekPrices,
  ...mistralPrices,
  ...otherPrices,
  ...listedPrices,
];
