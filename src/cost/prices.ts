/** US dollars for a million tokens. */
export interface TokenRates {
  /** Input that was neither read from a cache nor written to one. */
  readonly input: number;
  /** Input that was read from a cache. */
  readonly cacheRead: number;
  /** Input that was written to a cache of the provider's shortest lifetime: 5 minutes at Anthropic. */
  readonly cacheWrite: number;
  /** Input that was written to a cache of an hour. By default `cacheWrite`. */
  readonly cacheWrite1h?: number;
  /** Reasoning included. */
  readonly output: number;
}

/** The price of a model by one source. Tokens of images and documents cost as those of text, in all rows. */
export interface ModelPrice extends TokenRates {
  /** As messages have it; absent: any. A reseller has prices of its own. */
  readonly provider?: string;
  /** As messages have it; a date behind it, as `-20250929` or `-2026-09-29`, is ignored. */
  readonly model: string;
  /** Prompts of more tokens than `above` cost this in whole; not known where there is no rate. */
  readonly long?: { readonly above: number; readonly rates?: TokenRates };
  /** Where the price was read. */
  readonly source: string;
  /** When it was read, as YYYY-MM-DD. */
  readonly asOf: string;
  readonly note?: string;
}

const asOf = "2026-11-22";
const claude = {
  provider: "anthropic",
  source: "https://platform.claude.com/docs/en/about-claude/pricing",
  asOf,
} as const;
const opus = { ...claude, input: 5, cacheWrite: 6.25, cacheWrite1h: 10, cacheRead: 0.5, output: 25 };
const olderOpus = { ...claude, input: 15, cacheWrite: 18.75, cacheWrite1h: 30, cacheRead: 1.5, output: 75 };
const olderSonnet = { ...claude, input: 3, cacheWrite: 3.75, cacheWrite1h: 6, cacheRead: 0.3, output: 15 };

const openai = { provider: "openai", asOf } as const;
const openaiWrites = "a write of 30 minutes; one of 12 hours costs more, and usage does not tell them apart";
const gpt56 = {
  ...openai,
  source: "https://docs.laozhang.ai/en/announcements/gpt-5-6-pricing-2026-07.md",
  note: "a reseller's record of OpenAI's list; writes at 1.25 of the input by OpenAI's guide",
} as const;
const gpt56Sol = {
  ...gpt56,
  ...{ input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 30 },
  long: { above: 272_000, rates: { input: 10, cacheRead: 1, cacheWrite: 12.5, output: 45 } },
};
// Writes cost what input does before GPT-5.6: there is no fee for them.
const gpt5 = {
  ...openai,
  source: "https://www.morphllm.com/openai-api-pricing",
  long: { above: 272_000 },
  note: "OpenAI's list of June 2026, by others; prices of long prompts were not found",
} as const;

const gemini = {
  provider: "google",
  source: "https://deploybase.ai/articles/gemini-api-pricing",
  asOf,
  note: "Google's list of March 2026, by others; storage of an explicit cache is not counted",
} as const;

/** The published prices of standard processing, each with its source; a model without a source has no row. */
export const modelPrices: readonly ModelPrice[] = [
  {
    ...claude,
    model: "claude-fable-5-1",
    input: 10,
    cacheWrite: 12.5,
    cacheWrite1h: 20,
    cacheRead: 0.25,
    output: 50,
  },
  {
    ...claude,
    model: "claude-fable-5",
    input: 10,
    cacheWrite: 12.5,
    cacheWrite1h: 20,
    cacheRead: 1,
    output: 50,
  },
  {
    ...claude,
    model: "claude-opus-5-5",
    ...{ input: 4, cacheWrite: 5, cacheWrite1h: 8, cacheRead: 0.2, output: 20 },
    source: "https://platform.claude.com/docs/zh-CN/models/opus-5-5/overview",
  },
  ...["claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5"].map(
    (model) => ({ ...opus, model }),
  ),
  { ...olderOpus, model: "claude-opus-4-1" },
  { ...olderOpus, model: "claude-opus-4" },
  {
    ...claude,
    model: "claude-sonnet-5-5",
    ...{ input: 2, cacheWrite: 2.5, cacheWrite1h: 4, cacheRead: 0.1, output: 10 },
    source: "https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.23",
    note: "reads were 0.2 until 2026-10-07, as the stored copy of the model's page still says",
  },
  {
    ...claude,
    model: "claude-sonnet-5",
    ...{ input: 2, cacheWrite: 2.5, cacheWrite1h: 4, cacheRead: 0.2, output: 10 },
    source: "https://platform.claude.com/docs/zh-CN/models/sonnet-5/overview",
  },
  ...["claude-sonnet-4-6", "claude-sonnet-4-5", "claude-sonnet-4"].map((model) => ({
    ...olderSonnet,
    model,
  })),
  {
    ...claude,
    model: "claude-haiku-5-5",
    ...{ input: 0.1, cacheWrite: 0.125, cacheWrite1h: 0.2, cacheRead: 0.01, output: 0.5 },
    long: {
      above: 100_000,
      rates: { input: 0.5, cacheWrite: 0.625, cacheWrite1h: 1, cacheRead: 0.05, output: 2.5 },
    },
    source: "https://github.com/kurofune/claudit/releases/tag/v1.9.2",
    note: "all but the reads stand on https://platform.claude.com/docs/en/models/haiku-5-5/overview too",
  },
  {
    ...claude,
    model: "claude-haiku-4-5",
    input: 1,
    cacheWrite: 1.25,
    cacheWrite1h: 2,
    cacheRead: 0.1,
    output: 5,
  },
  {
    ...openai,
    model: "gpt-6.2-sol",
    ...{ input: 2, cacheRead: 0.1, cacheWrite: 2.5, output: 10 },
    long: { above: 272_000, rates: { input: 4, cacheRead: 0.2, cacheWrite: 5, output: 15 } },
    source: "https://developers.openai.com/api/docs/models/gpt-6.2-sol",
    note: openaiWrites,
  },
  {
    ...openai,
    model: "gpt-6-sol",
    ...{ input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 },
    long: { above: 272_000 },
    source: "https://developers.openai.com/api/docs/models/gpt-6-sol",
    note: openaiWrites,
  },
  { ...gpt56Sol, model: "gpt-5.6-sol" },
  { ...gpt56Sol, model: "gpt-5.6", note: "an alias of gpt-5.6-sol" },
  {
    ...gpt56,
    model: "gpt-5.6-terra",
    ...{ input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 12 },
    long: { above: 272_000, rates: { input: 4, cacheRead: 0.4, cacheWrite: 5, output: 18 } },
  },
  {
    ...gpt56,
    model: "gpt-5.6-luna",
    ...{ input: 0.2, cacheRead: 0.02, cacheWrite: 0.25, output: 1.2 },
    long: { above: 272_000, rates: { input: 0.4, cacheRead: 0.04, cacheWrite: 0.5, output: 1.8 } },
  },
  { ...gpt5, model: "gpt-5.5", input: 5, cacheRead: 0.5, cacheWrite: 5, output: 30 },
  { ...gpt5, model: "gpt-5.4", input: 2.5, cacheRead: 0.25, cacheWrite: 2.5, output: 15 },
  { ...gpt5, model: "gpt-5.4-mini", input: 0.75, cacheRead: 0.075, cacheWrite: 0.75, output: 4.5 },
  { ...gpt5, model: "gpt-5.4-nano", input: 0.2, cacheRead: 0.02, cacheWrite: 0.2, output: 1.25 },
  {
    ...openai,
    model: "gpt-5-codex",
    ...{ input: 1.25, cacheRead: 0.125, cacheWrite: 1.25, output: 10 },
    source: "https://developers.openai.com/api/docs/models/gpt-5-codex",
  },
  {
    ...gemini,
    model: "gemini-2.5-pro",
    ...{ input: 1.25, cacheRead: 0.125, cacheWrite: 1.25, output: 10 },
    long: { above: 200_000, rates: { input: 2.5, cacheRead: 0.25, cacheWrite: 2.5, output: 15 } },
  },
  { ...gemini, model: "gemini-2.5-flash", input: 0.3, cacheRead: 0.03, cacheWrite: 0.3, output: 2.5 },
];
