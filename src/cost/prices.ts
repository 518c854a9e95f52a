/** The price table: rows of all providers. */

import { claudePrices } from "./claude-prices.js";
import { openaiPrices } from "./openai-prices.js";
import { asOf, type ModelPrice, type PeakRates, rates, type TokenRates } from "./price.js";

const pi = {
  source: "https://github.com/earendil-works/pi/tree/main/packages/ai",
  asOf,
  note: "the table of pi 1.5.2",
} as const;

const gemini = { provider: "google", asOf } as const;
const gemini25 = {
  ...gemini,
  source: "https://deploybase.ai/articles/gemini-api-pricing",
  note: "Google's list of March 2026, by others; storage of an explicit cache is not counted",
} as const;
const gemini3 = {
  ...gemini,
  source: "https://ai.google.dev/gemini-api/docs/pricing",
  note: "as api-evangelist/deepmind quotes it on 2026-10-07; reads by the table of pi 1.5.2; no storage",
} as const;
const gemini3Pi = { ...gemini, ...pi, note: `${pi.note}; storage of an explicit cache is not counted` };
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
  ...["gemini-3.7-flash", "gemini-3.6-flash"].map((model) => ({
    ...gemini3Pi,
    model,
    until: "2026-12-31",
    ...rates(0.75, 0.075, 3.75),
  })),
  { ...gemini3, model: "gemini-3.5-flash", ...rates(1.5, 0.15, 9) },
  { ...gemini3, model: "gemini-3.5-flash-lite", ...rates(0.3, 0.03, 2.5) },
  { ...gemini3, model: "gemini-3.1-pro-preview", ...gemini31Pro },
  { ...gemini3Pi, model: "gemini-3.1-pro-preview-customtools", ...gemini31Pro },
  { ...gemini3Pi, model: "gemini-3.1-flash-lite", ...rates(0.25, 0.025, 1.5) },
  { ...gemini3Pi, model: "gemini-3.1-flash-lite-preview", ...rates(0.25, 0.025, 1.5) },
  { ...gemini3Pi, model: "gemini-3-flash-preview", ...rates(0.5, 0.05, 3) },
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
  note: "a community's table of https://mistral.ai/pricing, checked in 2026; as in that of pi 1.5.2",
});

const mistralPrices: readonly ModelPrice[] = [
  { ...mistral("mistral-large-4", 0.7, 0.07, 2.1), ...pi },
  mistral("mistral-large-2512", 0.5, 0.05, 1.5),
  mistral("mistral-medium-3.5", 1.5, 0.15, 7.5),
  mistral("mistral-medium-3-5", 1.5, 0.15, 7.5),
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
  note: "as github.com/pydantic/genai-prices and the table of pi 1.5.2 have it",
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
  note: "as github.com/pydantic/genai-prices and the table of pi 1.5.2 have it",
});
const grok = {
  ...pi,
  provider: "xai",
  note: `${pi.note}; reads of Grok 4.5 differ between sources`,
} as const;
const twice = ({ input, cacheRead, output }: TokenRates): Pick<ModelPrice, "long"> => ({
  long: { above: 200_000, rates: rates(input * 2, cacheRead * 2, output * 2) },
});
const grok43 = rates(1.25, 0.2, 2.5);
const grok46 = rates(2, 0.5, 6);

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
  { ...grok, model: "grok-4.7", ...grok46, ...twice(grok46) },
  { ...grok, model: "grok-4.6", ...grok46, ...twice(grok46) },
  { ...grok, model: "grok-4.3", ...grok43, ...twice(grok43) },
  { ...pi, provider: "groq", model: "openai/gpt-oss-120b", ...rates(0.15, 0.075, 0.6) },
  { ...pi, provider: "groq", model: "openai/gpt-oss-20b", ...rates(0.075, 0.0375, 0.3) },
  { ...pi, provider: "groq", model: "qwen/qwen3.6-27b", ...rates(0.6, 0.3, 3) },
  { ...pi, provider: "cerebras", model: "gpt-oss-120b", ...rates(0.35, 0.35, 0.75) },
  { ...pi, provider: "cerebras", model: "qwen-3.8-27b", ...rates(0.99, 0.99, 1.49) },
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
];
