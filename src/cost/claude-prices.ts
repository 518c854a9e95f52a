/** The prices of Claude. */

import { asOf, exact, type ModelPrice, type TokenRates } from "./price.js";

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
  note: "Anthropic's price; the rates are those of pi 1.5.2's table, github.com/earendil-works/pi, too",
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
export const claudePrices: readonly ModelPrice[] = [...own, ...own.flatMap(onBedrock)];
