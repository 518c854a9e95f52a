import fc from "fast-check";
import { assistantMessage, type Usage } from "sessile";
import { type ModelPrice, modelPrices, priceForModel, type TokenRates, usageCost } from "sessile/cost";
import { describe, expect, test } from "vitest";

const usage = { input: 1_000, output: 500, cacheRead: 90_000, cacheWrite: 2_000 };
const count = fc.nat({ max: 10_000 });
const anyUsage: fc.Arbitrary<Usage> = fc
  .record({ input: count, output: count, cacheRead: count, cacheWrite: count, cacheWrite1h: count })
  .map((tokens) => ({ ...tokens, cacheWrite1h: Math.min(tokens.cacheWrite, tokens.cacheWrite1h) }));
/** A model on a day of its row, at noon: no peak hour. */
const modelOf = (price: ModelPrice) => ({
  ...price,
  timestamp: Date.parse(`${price.until ?? price.from ?? price.asOf}T12:00:00Z`),
});
const row = fc.constantFrom(...modelPrices.map(modelOf));
const noImages = { imageTokens: { input: 0, cacheRead: 0, output: 0 } };
const at = (time: string, model: string, provider?: string) => ({
  model,
  ...(provider === undefined ? {} : { provider }),
  timestamp: Date.parse(time),
});
const own = (model: string, input: number, provider?: string): ModelPrice => ({
  model,
  ...(provider === undefined ? {} : { provider }),
  ...{ input, cacheRead: input, cacheWrite: input, output: input },
  ...{ source: "contract", asOf: "2026-11-22" },
});

describe("modelPrices", () => {
  test("each row has a source and sane rates", () => {
    for (const price of modelPrices) {
      const name = `${price.provider} ${price.model}`;
      expect(price.source).toMatch(/^https:\/\//);
      expect(price.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      const all: (TokenRates | undefined)[] = [price, price.long?.rates, price.peak?.rates];
      for (const rates of all.filter((one) => one !== undefined)) {
        for (const rate of [rates.input, rates.cacheRead, rates.cacheWrite, rates.output])
          expect([name, String(rate)]).toEqual([name, expect.stringMatching(/^\d+(\.\d{1,6})?$/)]);
        expect([name, rates.cacheRead > 0 && rates.input > 0]).toEqual([name, true]);
        expect(rates.input).toBeLessThanOrEqual(rates.output);
        expect(rates.image?.output ?? rates.output).toBeGreaterThanOrEqual(rates.output);
        expect(rates.cacheWrite).toBeLessThanOrEqual(rates.cacheWrite1h ?? rates.cacheWrite);
        expect(rates.cacheWrite).toBeLessThanOrEqual(rates.cacheWrite12h ?? rates.cacheWrite);
        // Gateways list the storage of Gemini's caches as writes.
        if (price.note?.includes("pi 1.6.0")) continue;
        expect(rates.cacheRead).toBeLessThanOrEqual(rates.input);
        expect(rates.input).toBeLessThanOrEqual(rates.cacheWrite);
      }
    }
  });

  test("no model has two rows on one day, and each row is found on its days", () => {
    for (const price of modelPrices) {
      const { model, provider, from = "", until = "9" } = price;
      const together = modelPrices.filter(
        (other) =>
          other.model === model &&
          other.provider === provider &&
          (other.from ?? "") <= until &&
          from <= (other.until ?? "9"),
      );
      expect(together).toEqual([price]);
      expect(priceForModel(modelOf(price))).toBe(price);
    }
  });
});

describe("usageCost", () => {
  test("multiplies tokens by the rates of the model", () => {
    const cost = usageCost(usage, "claude-opus-5-5");
    expect(cost?.input).toBeCloseTo(0.004, 12);
    expect(cost?.output).toBeCloseTo(0.01, 12);
    expect(cost?.cacheRead).toBeCloseTo(0.018, 12);
    expect(cost?.cacheWrite).toBeCloseTo(0.01, 12);
    expect(cost?.total).toBeCloseTo(0.042, 12);
  });

  test("a write of an hour has its own rate", () => {
    const tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 1_000_000 };
    expect(usageCost(tokens, "claude-opus-4-8")?.total).toBeCloseTo(6.25, 12);
    expect(usageCost({ ...tokens, cacheWrite1h: 1_000_000 }, "claude-opus-4-8")?.total).toBeCloseTo(10, 12);
    expect(usageCost({ ...tokens, cacheWrite1h: 400_000 }, "claude-opus-4-8")?.total).toBeCloseTo(7.75, 12);
  });

  test("a long prompt costs its rates in whole, or is unknown", () => {
    const long = { input: 10_000, output: 1_000_000, cacheRead: 190_001, cacheWrite: 0 };
    expect(usageCost(long, "gemini-2.5-pro")?.output).toBe(15);
    expect(usageCost({ ...long, cacheRead: 190_000 }, "gemini-2.5-pro")?.output).toBe(10);
    expect(usageCost({ ...long, cacheRead: 300_000 }, "gpt-5.4-mini")).toBeUndefined();
  });

  test.each([
    ["gemini-2.5-pro", 200_000, 10, 15],
    ["models/gemini-3.1-pro-preview", 200_000, 12, 18],
    ["gpt-6.2-sol", 272_000, 10, 15],
    ["gpt-5.5", 272_000, 30, 45],
    ["grok-4.7", 200_000, 6, 12],
    ["claude-haiku-5-5", 100_000, 0.5, 2.5],
    ["claude-sonnet-4-5", 200_000, 15, 22.5],
    ["claude-opus-4-8", 200_000, 25, 25],
  ])(
    "the tier of %s changes behind %i tokens of prompt, however they are split",
    (model, edge, low, high) => {
      const output = 1_000_000;
      for (const cacheRead of [0, 1, edge])
        for (const cacheWrite of [0, 7].filter((tokens) => tokens + cacheRead <= edge)) {
          const input = edge - cacheRead - cacheWrite;
          expect(usageCost({ input, output, cacheRead, cacheWrite }, model)?.output).toBe(low);
          expect(usageCost({ input: input + 1, output, cacheRead, cacheWrite }, model)?.output).toBe(high);
        }
    },
  );

  test("long prompts of Claude cost more until the million was for all", () => {
    const long = { input: 200_001, output: 1_000_000, cacheRead: 0, cacheWrite: 0 };
    expect(usageCost(long, at("2026-03-12T23:59:59Z", "claude-opus-4-6"))?.output).toBe(37.5);
    expect(usageCost(long, at("2026-03-13T00:00:00Z", "claude-opus-4-6"))?.output).toBe(25);
    expect(usageCost(long, "claude-opus-4-6")?.output).toBe(25);
    expect(usageCost(long, "claude-sonnet-4")).toBeUndefined();
  });

  test("a date behind the name makes no difference; another name or another provider does", () => {
    expect(usageCost(usage, "claude-sonnet-4-5-20250929")).toEqual(usageCost(usage, "claude-sonnet-4-5"));
    expect(usageCost(usage, "gpt-6.2-sol-2026-11-17")).toEqual(usageCost(usage, "gpt-6.2-sol"));
    expect(usageCost(usage, "claude-sonnet-4@20250514")).toEqual(usageCost(usage, "claude-sonnet-4"));
    for (const model of ["claude-sonnet-4-9", "gpt-6.2-terra-mini", "", "toString"])
      expect(usageCost(usage, model)).toBeUndefined();
    const reply = assistantMessage({ provider: "openrouter", model: "claude-opus-5" }, "x");
    expect(usageCost(usage, { ...reply, provider: "groq" })).toBeUndefined();
    expect(usageCost(usage, reply)).toEqual(usageCost(usage, { ...reply, provider: "anthropic" }));
  });

  test("the caller's rows win, and serve models that are in no table", () => {
    const prices = [own("claude-opus-5-5", 1), own("mine", 2, "local")];
    expect(usageCost(usage, "claude-opus-5-5", { prices })?.total).toBeCloseTo(0.0935, 12);
    expect(usageCost(usage, { provider: "local", model: "mine" }, { prices })?.total).toBeCloseTo(0.187, 12);
    expect(usageCost(usage, { provider: "other", model: "mine" }, { prices })).toBeUndefined();
    expect(priceForModel("claude-opus-5", { prices })).toBe(priceForModel("claude-opus-5"));
  });

  test("is additive in one tier: two usages cost what they cost together", () => {
    fc.assert(
      fc.property(row, anyUsage, anyUsage, (model, a, b) => {
        const sum = {
          input: a.input + b.input,
          output: a.output + b.output,
          cacheRead: a.cacheRead + b.cacheRead,
          cacheWrite: a.cacheWrite + b.cacheWrite,
          cacheWrite1h: (a.cacheWrite1h ?? 0) + (b.cacheWrite1h ?? 0),
        };
        fc.pre(sum.input + sum.cacheRead + sum.cacheWrite <= (model.long?.above ?? Number.POSITIVE_INFINITY));
        const total = (tokens: Usage) => usageCost(tokens, model, noImages)?.total ?? Number.NaN;
        expect(total(sum)).toBeCloseTo(total(a) + total(b), 9);
      }),
    );
  });

  test("is never NaN or negative, its parts sum to the total, and nothing costs nothing", () => {
    const odd = fc.oneof(fc.double(), fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY));
    const tokens = fc.record({ input: odd, output: odd, cacheRead: odd, cacheWrite: odd, cacheWrite1h: odd });
    fc.assert(
      fc.property(row, tokens, (model, value) => {
        const cost = usageCost(value, model, noImages);
        if (cost === undefined) return;
        for (const part of Object.values(cost)) expect(part).toBeGreaterThanOrEqual(0);
        expect(cost.total).toBe(cost.input + cost.output + cost.cacheRead + cost.cacheWrite);
      }),
    );
    for (const price of modelPrices)
      expect(usageCost({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, modelOf(price))?.total).toBe(0);
  });

  test("a promotion holds on its days alone, and without a time the day of the table counts", () => {
    const million = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 };
    const flash = (day: string) => usageCost(million, at(`${day}T00:00:00Z`, "gemini-3.8-flash"))?.total;
    expect(flash("2026-12-31")).toBe(0.75);
    expect(flash("2027-01-01")).toBeUndefined();
    expect(usageCost(million, "gemini-3.8-flash")?.total).toBe(0.75);
    const few = { ...million, input: 100_000 };
    expect(usageCost(few, at("2026-08-20T23:00:00Z", "gpt-5.6"))?.total).toBe(0.5);
    expect(usageCost(few, at("2026-08-21T01:00:00Z", "gpt-5.6"))?.total).toBe(0.4);
    expect(usageCost(few, { ...at("2026-08-21T01:00:00Z", "gpt-5.6"), timestamp: 0 })?.total).toBe(0.4);
    for (const timestamp of [Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])
      expect(usageCost(few, { model: "gpt-5.6", timestamp })?.total).toBe(0.4);
  });

  test("DeepSeek costs twice in the hours of work in China, and an unknown time has no cost", () => {
    const million = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 };
    const flash = (time: string) => usageCost(million, at(time, "deepseek-flash", "deepseek"))?.total;
    const thursday = "2026-11-19";
    for (const time of ["01:00:00", "03:59:59", "06:00:00", "09:59:59"])
      expect(flash(`${thursday}T${time}Z`)).toBe(0.3);
    for (const time of ["00:59:59", "04:00:00", "05:59:59", "10:00:00", "23:00:00"])
      expect(flash(`${thursday}T${time}Z`)).toBe(0.15);
    expect(flash("2026-11-21T02:00:00Z")).toBe(0.15); // a Saturday
    expect(flash("2026-10-01T02:00:00Z")).toBe(0.15); // the National Day
    expect(flash("2027-01-04T02:00:00Z")).toBeUndefined(); // holidays of 2027 are not known
    expect(flash("2027-01-04T12:00:00Z")).toBe(0.15);
    expect(usageCost(million, "deepseek-flash")).toBeUndefined();
    expect(usageCost(million, at("2026-10-01T12:00:00Z", "deepseek-v4-pro"))).toBeUndefined();
  });

  test("a write of 12 hours has its rate where a model has one", () => {
    const written = { input: 0, output: 0, cacheRead: 0, cacheWrite: 100_000 };
    expect(usageCost(written, "gpt-6.2-sol")?.total).toBeCloseTo(0.25, 12);
    expect(usageCost(written, "gpt-6.2-sol", { cacheWrites: "12h" })?.total).toBeCloseTo(0.5, 12);
    expect(usageCost({ ...written, input: 172_001 }, "gpt-6.2-sol", { cacheWrites: "12h" })?.cacheWrite).toBe(
      1,
    );
    expect(usageCost(written, "gpt-5.2", { cacheWrites: "12h" })?.total).toBeCloseTo(0.175, 12);
    const hour = { ...written, cacheWrite1h: 100_000 };
    expect(usageCost(hour, "kimi-k3.1-pro")?.total).toBeCloseTo(0.4, 12);
  });

  test("tokens of images have their rate, and without their number there is no cost", () => {
    const drawn = { input: 1_000, output: 1_500, cacheRead: 0, cacheWrite: 0 };
    const model = "gemini-3-pro-image";
    expect(usageCost(drawn, model)).toBeUndefined();
    expect(usageCost(drawn, model, { imageTokens: { output: 1_120 } })?.output).toBeCloseTo(
      (1_120 * 120 + 380 * 12) / 1_000_000,
      12,
    );
    expect(usageCost(drawn, model, { imageTokens: { output: 9_999 } })?.output).toBeCloseTo(0.18, 12);
    expect(usageCost({ ...drawn, output: 0 }, model)?.total).toBeCloseTo(0.002, 12);
    const edited = { ...drawn, cacheRead: 100 };
    const imageTokens = { input: 600, cacheRead: 100 };
    expect(usageCost(edited, "gpt-image-2.6-sunburst", { imageTokens: { input: 600 } })).toBeUndefined();
    expect(usageCost(edited, "gpt-image-2.6-sunburst", { imageTokens })?.total).toBeCloseTo(
      (400 * 5 + 600 * 8 + 100 * 2 + 1_500 * 30) / 1_000_000,
      12,
    );
  });
});

describe("names", () => {
  const found = (model: string, provider?: string) =>
    priceForModel({ model, ...(provider === undefined ? {} : { provider }) })?.model;

  test.each([
    ["claude-sonnet-4-0", "anthropic", "claude-sonnet-4"],
    ["claude-opus-4-0", undefined, "claude-opus-4"],
    ["claude-sonnet-4-20250514", "anthropic.messages", "claude-sonnet-4"],
    ["claude-haiku-4-5@20251001", undefined, "claude-haiku-4-5"],
    ["models/gemini-2.5-pro", "google", "gemini-2.5-pro"],
    ["models/gemini-2.5-flash", "gemini", "gemini-2.5-flash"],
    ["gpt-4.1-mini-2025-04-14", "openai.responses", "gpt-4.1-mini"],
    ["GLM-5.3", "zai", "glm-5.3"],
    ["kimi-k3", "moonshot", "kimi-k3"],
    ["anthropic/claude-opus-4.5", "openrouter", "claude-opus-4-5"],
    ["anthropic/claude-4.5-sonnet-20250929", "openrouter", "claude-sonnet-4-5"],
    ["openai/gpt-5.2-2025-12-11", "openrouter", "gpt-5.2"],
    ["anthropic/claude-sonnet-4", undefined, "claude-sonnet-4"],
    ["openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"],
    ["openai/gpt-oss-120b", "openrouter", "openai/gpt-oss-120b"],
    ["claude-opus-4.7", "anthropic", "claude-opus-4-7"],
    ["claude-opus-4-7[1m]", "anthropic", "claude-opus-4-7"],
    ["anthropic/claude-opus-5.5", "openrouter", "claude-opus-5-5"],
    ["anthropic/claude-opus-4.5", "vercel", "claude-opus-4-5"],
    ["claude-opus-5@20260801", "google.vertex.anthropic.messages", "claude-opus-5"],
    ["anthropic.claude-opus-5-5", "amazon-bedrock", "anthropic.claude-opus-5-5"],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "my-gateway", "geo.anthropic.claude-sonnet-4-5"],
    ["gpt-5.2", "openai-codex", "gpt-5.2"],
    ["gpt-5.2", "my-openai", "gpt-5.2"],
    ["openai/gpt-6.2-astra", "my-proxy", "gpt-6.2-astra"],
    ["gpt-4.1", "azure.responses", "gpt-4.1"],
    ["gpt-5.1-codex-max", "openai", "gpt-5.1-codex-max"],
    ["gemini-4-argon", "google", "gemini-4-argon"],
    ["accounts/fireworks/models/glm-5p3", "fireworks-ai", "accounts/fireworks/models/glm-5p3"],
    ["mistral-large-2407", "openrouter", "mistralai/mistral-large-2407"],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon-bedrock", "geo.anthropic.claude-sonnet-4-5"],
    ["apac.anthropic.claude-sonnet-4-20250514-v1:0", "bedrock", "geo.anthropic.claude-sonnet-4"],
    ["eu.anthropic.claude-opus-4-6-v1", undefined, "geo.anthropic.claude-opus-4-6"],
    ["global.anthropic.claude-opus-5-5", "anthropic", "global.anthropic.claude-opus-5-5"],
    ["anthropic.claude-opus-4-1-20250805-v1:0", "amazon-bedrock", "anthropic.claude-opus-4-1"],
    [
      "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5-5",
      "amazon-bedrock",
      "geo.anthropic.claude-opus-5-5",
    ],
  ])("%s of %s", (model, provider, row) => {
    expect(found(model, provider)).toBe(row);
  });

  test.each([
    ["claude-sonnet-4-9", "anthropic"],
    ["claude-sonnet-latest", "anthropic"],
    ["us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon-bedrock"],
    ["arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123", "amazon-bedrock"],
    ["arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/anthropic.claude-opus-4", "amazon-bedrock"],
    ["openai/gpt-oss-120b", undefined],
    ["gpt-oss-120b", undefined],
    ["gpt-oss-120b", "my-server"],
    ["kimi-k2.6", "my-server"],
    ["claude-opus-5-slow", "anthropic"],
    ["anthropic/claude-opus-4.5:extended", "openrouter"],
    ["someone/unknown-7", "openrouter"],
    ["claude-3-5-sonnet-20241022", "anthropic"],
    ["__proto__", "__proto__"],
  ])("%s of %s has no price", (model, provider) => {
    expect(found(model, provider)).toBeUndefined();
  });

  test.each([
    ["claude-opus-6", "anthropic", "claude-opus-5-5"],
    ["claude-sonnet-5.7", "openrouter", "claude-sonnet-5-5"],
    ["us.anthropic.claude-opus-6-v1:0", "amazon-bedrock", "geo.anthropic.claude-opus-5-5"],
    ["gpt-6.5-sol", "openai", "gpt-6.2-sol"],
    ["gemini-3.9-flash", undefined, "gemini-3.8-flash"],
  ])("%s of %s is priced as the newest of its family, and marked", (model, provider, row) => {
    const price = priceForModel({ model, ...(provider === undefined ? {} : { provider }) });
    const { assumed, ...rest } = price ?? { assumed: undefined };
    expect(assumed).toContain(row);
    expect(modelPrices).toContainEqual(rest);
    expect(rest).toMatchObject({ model: row });
  });

  // A sample of each host in the table of pi 1.6.0: input, reads, writes, output.
  test.each([
    ["openai", "gpt-6.2-astra", 8, 0.4, 10, 40],
    ["openai", "gpt-6.2-sol", 2, 0.1, 2.5, 10],
    ["google", "gemini-4-neon", 3, 0.15, 3, 15],
    ["anthropic", "claude-haiku-5-5", 0.1, 0.01, 0.125, 0.5],
    ["amazon-bedrock", "eu.amazon.nova-lite-v1:0", 0.069, 0.01725, 0.069, 0.276],
    ["amazon-bedrock", "global.openai.gpt-6.2-astra", 8, 0.4, 10, 40],
    ["amazon-bedrock", "us.moonshotai.kimi-k3.1", 4.4, 0.22, 5.5, 22],
    ["mistral", "mistral-large-latest", 0.7, 0.07, 0.7, 2.1],
    ["groq", "llama-3.3-70b-versatile", 0.59, 0.59, 0.59, 0.79],
    ["xai", "grok-4.5", 2, 0.3, 2, 6],
    ["huggingface", "deepseek-ai/DeepSeek-R1", 0.7, 0.7, 0.7, 2.5],
    ["github-copilot", "gpt-5.6-luna", 0.2, 0.02, 0.25, 1.2],
  ])("%s charges for %s what pi lists", (provider, model, input, cacheRead, cacheWrite, output) => {
    expect(priceForModel({ provider, model })).toMatchObject({ input, cacheRead, cacheWrite, output });
  });

  test("a geography of Bedrock costs a tenth more, but for older models", () => {
    const tokens = { input: 1_000, output: 1_000, cacheRead: 1_000, cacheWrite: 2_000, cacheWrite1h: 1_000 };
    const total = (model: string) => usageCost(tokens, model)?.total ?? Number.NaN;
    for (const name of ["claude-opus-5-5", "claude-sonnet-4-6", "claude-haiku-5-5", "claude-fable-5-2"]) {
      expect(total(`global.anthropic.${name}`)).toBe(total(name));
      expect(total(`jp.anthropic.${name}`)).toBeCloseTo(1.1 * total(name), 12);
    }
    expect(priceForModel("us.anthropic.claude-sonnet-5-5")).toMatchObject({
      input: 2.2,
      cacheRead: 0.11,
      output: 11,
    });
    expect(total("us.anthropic.claude-opus-4-1")).toBe(total("claude-opus-4-1"));
    const long = { input: 100_001, output: 1_000_000, cacheRead: 0, cacheWrite: 0 };
    expect(usageCost(long, "us.anthropic.claude-haiku-5-5")?.output).toBe(2.75);
  });

  test("the model that answered is the one that costs; a snapshot of the one that was asked is that one", () => {
    const price = (model: string, responseModel: string, provider?: string) =>
      priceForModel({ ...at("2026-06-01T12:00:00Z", model, provider), responseModel })?.model;
    expect(price("deepseek-reasoner", "deepseek-v4-flash", "deepseek")).toBe("deepseek-v4-flash");
    expect(price("claude-sonnet-4-0", "claude-sonnet-4-20250514")).toBe("claude-sonnet-4");
    expect(price("claude-opus-4", "claude-opus-4-8")).toBe("claude-opus-4-8");
    expect(price("claude-opus-4", "claude-opus-4-9")).toBeUndefined();
    expect(price("claude-opus-5", "claude-opus-5-fast")).toBeUndefined();
    expect(price("gemini-3.1-pro-preview", "gemini-3.1-pro-preview-02-2026")).toBe("gemini-3.1-pro-preview");
    expect(price("gemini-2.5-pro", "gemini-2.5-pro-002")).toBe("gemini-2.5-pro");
    expect(price("openrouter/auto", "anthropic/claude-opus-4.5", "openrouter")).toBe("claude-opus-4-5");
    const prices = [own("deployment", 1)];
    const asked = { provider: "azure", model: "deployment", responseModel: "gpt-5.2-2025-12-11" };
    expect(priceForModel(asked, { prices })).toBe(prices[0]);
    expect(priceForModel(asked)?.model).toBe("gpt-5.2");
    expect(priceForModel({ provider: "azure", model: "deployment" })).toBeUndefined();
  });

  test("the caller's rows are not those of a provider that passes models through", () => {
    const prices = [own("claude-opus-4-5", 1, "anthropic")];
    const routed = { provider: "openrouter", model: "anthropic/claude-opus-4.5" };
    expect(priceForModel(routed, { prices })?.input).toBe(5);
    expect(
      priceForModel({ ...routed, provider: "anthropic", model: "claude-opus-4-5" }, { prices })?.input,
    ).toBe(1);
    expect(priceForModel("My-Model-20260101", { prices: [own("My-Model", 3)] })?.input).toBe(3);
    expect(priceForModel("fast", { prices: [own("fast", 4, "groq")] })?.input).toBe(4);
  });

  test("any name and any provider give a row of the table, or none", () => {
    const part = fc.constantFrom(
      "us.",
      "anthropic.",
      "anthropic/",
      "claude-opus-4",
      "-0",
      "-v1:0",
      "models/",
      ":",
    );
    const name = fc.oneof(
      fc.string(),
      fc.array(part).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(name, fc.option(name, { nil: undefined }), (model, provider) => {
        const price = priceForModel({ model, ...(provider === undefined ? {} : { provider }) });
        expect(price === undefined || price.assumed !== undefined || modelPrices.includes(price)).toBe(true);
      }),
    );
  });
});
