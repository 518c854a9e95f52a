import fc from "fast-check";
import { assistantMessage, contextFrom, project, type Target, toolResult, userMessage } from "sessile";
import { aiSdkMessages } from "sessile/ai-sdk";
import { anthropicMessages } from "sessile/anthropic";
import { bedrockConverse } from "sessile/bedrock";
import { checkLimits, type LimitProfile, limitProfiles } from "sessile/limits";
import {
  type OpenaiChatDialectName,
  openaiChat,
  openaiChatDialects,
  readOpenaiChatReply,
} from "sessile/openai";
import { describe, expect, test } from "vitest";
import { isOneOf, isSameModel, modelFacts, readModelName } from "../../src/providers/models/internal.js";

/** The forms in which APIs, clouds, gateways and agents name one model. */
const forms: readonly (readonly [name: string, forms: readonly string[]])[] = [
  [
    "claude-opus-4-7",
    [
      "claude-opus-4-7",
      "claude-opus-4.7",
      "Claude-Opus-4.7",
      "claude-opus-4-7[1m]",
      "claude-opus-4-7-latest",
      "claude-opus-4-7-20260401",
      "claude-opus-4-7@20260401",
      "claude-opus-4-7@default",
      "anthropic/claude-opus-4.7",
      "anthropic/claude-4.7-opus-20260401",
      "openrouter/anthropic/claude-opus-4.7:thinking",
      "vertex_ai/claude-opus-4-7@20260401",
      "projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-7",
      "bedrock/us.anthropic.claude-opus-4-7-v1:0",
      "anthropic.claude-opus-4-7-20260401-v1:0",
      "apac.anthropic.claude-opus-4-7-v1:0[1m]",
      "us-gov.anthropic.claude-opus-4-7-v1:0",
      "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-7-20260401-v1:0",
      "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-7-v1:0",
      "databricks-claude-opus-4-7",
      " Claude Opus 4.7 ",
      "claude-4.7-opus-thinking",
      "claude-opus-4-7-20260401-thinking",
      "opus-4.7",
    ],
  ],
  ["claude-sonnet-3-7", ["claude-3-7-sonnet-20250219", "us.anthropic.claude-3-7-sonnet-20250219-v1:0"]],
  ["claude-sonnet-4", ["claude-sonnet-4-0", "claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"]],
  ["gpt-5-2-codex", ["gpt-5.2-codex", "openai/gpt-5.2-codex", "gpt-5.2-codex-2025-12-11"]],
  [
    "gemini-2-5-pro",
    ["models/gemini-2.5-pro", "google/gemini-2.5-pro-002", "publishers/google/models/gemini-2.5-pro"],
  ],
  [
    "gpt-oss-120b",
    ["gpt-oss:120b", "openai/gpt-oss-120b", "openai.gpt-oss-120b-1:0", "@cf/openai/gpt-oss-120b"],
  ],
  ["glm-5-1", ["accounts/fireworks/models/glm-5p1", "zai-org/GLM-5.1", "zai.glm-5.1", "z-ai/glm-5.1:free"]],
  ["deepseek-r1", ["deepseek.r1-v1:0", "deepseek/deepseek-r1", "deepseek-r1-0528"]],
  ["llama-3-3-70b-instruct", ["meta-llama/Llama-3.3-70B-Instruct", "us.meta.llama3-3-70b-instruct-v1:0"]],
  ["claude-2", ["claude-v2", "anthropic.claude-v2", "bedrock/us-west-2/anthropic.claude-v2:1"]],
  ["claude-sonnet", ["sonnet", "sonnet[1m]", "~anthropic/claude-sonnet-latest"]],
  ["gpt-4o-mini", ["ft:gpt-4o-mini-2024-07-18:acme::abc123", "ft:gpt-4o-mini:acme"]],
  ["qwen-3-32b", ["qwen3:32b", "Qwen/Qwen3-32B", "qwen/qwen3-32b"]],
];

describe("readModelName", () => {
  test.each(forms)("%s has one name in all forms", (name, all) => {
    for (const form of all) {
      expect([form, readModelName(form).name]).toEqual([form, name]);
      expect([form, isSameModel(form, name)]).toEqual([form, true]);
      expect([form, modelFacts(form)]).toEqual([form, modelFacts(name)]);
    }
  });

  test.each([
    ["claude-opus-4-7", "claude-opus-4-8"],
    ["claude-opus-4-7", "claude-sonnet-4-7"],
    ["claude-opus-5", "claude-opus-5-fast"],
    ["claude-opus-5", "claude-opus-5.5"],
    ["gpt-oss:20b", "gpt-oss:120b"],
    ["claude-sonnet-4-20250514", "claude-sonnet-4@20250601"],
    ["deepseek-r1", "deepseek-v3"],
    ["kimi-k2", "kimi-k2-thinking"],
    ["claude-opus-4-5", "someone/Qwen3-8B-Claude-4.5-Opus-Distill"],
    ["", "gpt-5"],
  ])("tells %s from %s", (a, b) => {
    expect(isSameModel(a, b)).toBe(false);
  });

  test("reads what else the name says", () => {
    expect(readModelName("us.anthropic.claude-sonnet-4-5-20250929-v1:0")).toEqual({
      name: "claude-sonnet-4-5",
      snapshot: "20250929",
      family: "claude-sonnet",
      version: 405,
      maker: "anthropic",
      bedrock: "us",
    });
    expect(readModelName("openai/gpt-5.2-codex:free")).toEqual({
      name: "gpt-5-2-codex",
      snapshot: "",
      family: "gpt-codex",
      version: 502,
      maker: "openai",
      variant: "free",
    });
    expect(readModelName("gemini-3.1-pro-preview").family).toBe("gemini-pro");
    expect(readModelName("deepseek-v4.1-flash").family).toBe("deepseek-flash");
    expect(readModelName("llama-3.3-70b-instruct").version).toBe(303);
    expect(readModelName("glm-4.5v").family).toBe("glm-v");
    expect(readModelName("ft:gpt-4.1:acme::a").variant).toBe("ft");
    expect(readModelName("claude-opus-4-5-thinking").variant).toBe("thinking");
    expect(readModelName("bedrock/us-gov-west-1/anthropic.claude-opus-4-5").bedrock).toBe("us-gov");
    expect(readModelName("arn:aws-us-gov:bedrock:x::foundation-model/anthropic.claude-opus-4").bedrock).toBe(
      "us-gov",
    );
  });

  test("never throws, and its name is its own name", () => {
    const piece = fc.constantFrom(
      "us.",
      "anthropic.",
      "claude-",
      "4",
      "-5",
      "/",
      ":",
      "[1m]",
      "@",
      "-2025",
      "gpt-",
      "p",
    );
    const model = fc.oneof(
      fc.string(),
      fc.array(piece).map((pieces) => pieces.join("")),
    );
    fc.assert(
      fc.property(model, (text) => {
        const { family, name } = readModelName(text);
        expect(family.length).toBeLessThanOrEqual(Math.max(name.length, text.length));
        modelFacts(text);
      }),
    );
  });

  test("takes no longer for a long name", () => {
    for (const piece of ["claude-", "claude-a-", "a-", "1", ":", "p1p"])
      expect(readModelName(piece.repeat(300_000 / piece.length)).version).toBeUndefined();
  });
});

describe("modelFacts", () => {
  const words = (model: string) => {
    const { refusesPrefill, image, bindsReasoning } = modelFacts(model);
    return [
      !refusesPrefill && "prefill",
      image === "anthropicLarge" && "fine",
      bindsReasoning && "binds",
    ].filter(Boolean);
  };
  test.each([
    ["claude-3-5-sonnet-20241022", ["prefill"]],
    ["claude-opus-4-20250514", ["prefill"]],
    ["claude-haiku-4-5-20251001", ["prefill"]],
    ["claude-opus-4-6", []],
    ["claude-opus-4.7", ["fine"]],
    ["claude-sonnet-5", ["fine"]],
    ["claude-fable-5", ["fine"]],
    ["claude-fable-5-1", ["fine", "binds"]],
    ["claude-mythos-5-2", ["fine", "binds"]],
    ["anthropic/claude-opus-5.5", ["fine", "binds"]],
    ["claude-sonnet-6", ["fine", "binds"]],
    ["claude-mythos-preview", ["fine", "binds"]],
    ["glm-4.6", ["prefill"]],
  ])("%s: %j", (model, expected) => {
    expect(words(model)).toEqual(expected);
  });

  test.each([
    ["claude-opus-5-5", false],
    ["claude-opus-6", true],
    ["claude-opus-latest", true],
    ["gpt-6.2-sol", false],
    ["gpt-7", true],
    ["someone/unknown", false],
  ])("counts %s as the newest of its family: %s", (model, isAssumed) => {
    expect(modelFacts(model).isAssumed).toBe(isAssumed);
  });

  test.each([
    [
      "text",
      ["deepseek-chat", "deepseek/deepseek-v3.2", "deepseek-r1:32b", "gpt-oss:20b", "openai/gpt-oss-120b"],
    ],
    [
      "text",
      ["llama-3.3-70b-versatile", "llama3.2:3b", "qwen/qwen3-32b", "qwen2.5-coder:7b", "moonshotai/kimi-k2"],
    ],
    [
      "text",
      [
        "glm-5.3",
        "MiniMax-M2.5",
        "codestral-2508",
        "gpt-3.5-turbo",
        "o3-mini-2025-01-31",
        "us.amazon.nova-micro-v1:0",
      ],
    ],
    ["text", ["anthropic.claude-v2:1", "anthropic.claude-instant-v1", "claude-2.1", "gpt-4-1106-preview"]],
    ["text", ["qwen-max-latest", "qwen-plus", "someone/Qwen3-8B-Claude-4.5-Opus-Distill"]],
    [
      "image",
      ["llama3.2-vision:11b", "llama-4-scout-17b-16e-instruct", "qwen2.5vl:7b", "Qwen/Qwen3-VL-8B-Instruct"],
    ],
    ["image", ["glm-4.5v", "kimi-k2.6", "MiniMax-M3", "gemma3:27b", "grok-4.7", "mistral-medium-latest"]],
    ["pdf", ["claude-sonnet-4-5", "gpt-4o", "gpt-6.2-astra", "gemini-4-argon"]],
    [undefined, ["someone/unknown", "deployment-7", ""]],
  ])("the best input is %s", (input, models) => {
    for (const model of models)
      expect([model, modelFacts(model).inputs?.at(input === "pdf" ? 2 : -1)]).toEqual([model, input]);
  });
});

describe("isOneOf", () => {
  test.each([
    ["us.anthropic.claude-opus-5-5-v1:0", "claude", true],
    ["anthropic/claude-opus-5.5", "claude-opus-5-5", true],
    ["claude-opus-5-5-20261101", "claude-opus-5.5", true],
    ["claude-opus-5-5", "claude-opus-5", false],
    ["claude-opus-5-5", "claude-opus", true],
    ["claudette-5", "claude", false],
    ["gpt-5.2-codex", "gpt-5", false],
    ["gpt-5.2-codex", "gpt", true],
    ["", "claude", false],
  ])("%s and %s: %s", (model, name, expected) => {
    expect(isOneOf(model, ["gemini", name])).toBe(expected);
  });
});

describe("the modules", () => {
  test("keep the reasoning that a model binds after the same bytes, and none whose request is not known", async () => {
    const bound = "claude-opus-5-5";
    const signature = JSON.stringify({ anthropic: { signature: "c2ln" } });
    const to = [
      [anthropicMessages({ model: bound }), "c2ln"],
      [bedrockConverse({ model: `us.anthropic.${bound}-v1:0` }), "c2ln"],
      [aiSdkMessages({ model: { provider: "anthropic.messages", modelId: bound } }), signature],
      [aiSdkMessages({ model: { provider: "amazon-bedrock", modelId: `anthropic.${bound}` } }), signature],
      [bedrockConverse({ model: "us.anthropic.claude-opus-4-8-v1:0" }), "c2ln"],
    ] as const;
    const sent: string[] = [];
    for (const [target, thinkingSignature] of to) {
      const said = (thinking: string) =>
        assistantMessage(
          target.model as never,
          { type: "thinking", thinking, thinkingSignature },
          { type: "text", text: "Yes." },
        );
      const before = [userMessage("a"), said("unknown"), userMessage("b")];
      const { prefix } = await project<object>(contextFrom(before), target);
      const known = { ...said("known"), prefix: prefix.digest };
      const { value, byPolicy, losses } = await project<object>(
        contextFrom([...before, known, userMessage("c")]),
        target,
      );
      sent.push(`${JSON.stringify(value).match(/unknown|known/g)}; ${byPolicy.map(({ code }) => code)}`);
      expect(losses).toEqual([]);
      expect(JSON.stringify(value).match(/Yes/g)).toHaveLength(2);
    }
    const apart = "known; reasoning";
    expect(sent).toEqual([apart, apart, apart, apart, "unknown,known; "]);
  });

  test("leave OpenRouter's details of it out too, and those of no other model", async () => {
    const sent = async (model: string) => {
      const target = openaiChat({ model, dialect: "openrouter" });
      const said = (data: string) =>
        readOpenaiChatReply(
          {
            ...{ model, created: 1 },
            choices: [
              {
                message: {
                  ...{ role: "assistant", content: "Yes.", reasoning: data },
                  reasoning_details: [{ type: "reasoning.text", text: data, signature: "c2ln" }],
                },
                finish_reason: "stop",
              },
            ],
          } as never,
          { model, dialect: "openrouter" },
        );
      const before = [userMessage("a"), said("earlier"), userMessage("b")];
      const { prefix } = await project<object>(contextFrom(before), target);
      const context = contextFrom([...before, { ...said("now"), prefix: prefix.digest }]);
      const { value, byPolicy } = await project<object>(context, target);
      const words = JSON.stringify(value).match(/earlier|now|Yes/g);
      return [words?.join(" "), new Set(byPolicy.map(({ code }) => code))];
    };
    expect(await sent("anthropic/claude-opus-5.5")).toEqual([
      "Yes Yes now now",
      new Set(["reasoning", "opaque"]),
    ]);
    expect(await sent("anthropic/claude-opus-4.8")).toEqual(["Yes earlier earlier Yes now now", new Set()]);
  });

  test("have a model's own ids of calls, whatever the server", async () => {
    const id = "functions.read:0-and_a_long_tail_beyond_forty_characters";
    const call = { type: "toolCall", id, name: "read", arguments: {} } as const;
    const idOf = async (target: Target<object>) => {
      const messages = [
        userMessage("a"),
        assistantMessage(target.model as never, call),
        toolResult(call, "b"),
      ];
      const { value } = await project(contextFrom(messages), target);
      return /"(?:id|toolCallId)":"([^"]+)"/.exec(JSON.stringify(value))?.[1] ?? "";
    };
    const chat = (model: string, dialect: OpenaiChatDialectName) => openaiChat({ model, dialect });
    const sdk = (provider: string, modelId: string) => aiSdkMessages({ model: { provider, modelId } });
    for (const target of [chat("moonshotai/kimi-k3", "openrouter"), sdk("gateway", "moonshotai/kimi-k3")])
      expect(await idOf(target)).toBe(id);
    for (const name of ["mistral-large-latest", "mistralai/devstral-2512"])
      for (const target of [chat(name, "openrouter"), chat(name, "vllm"), sdk("gateway", name)])
        expect([name, await idOf(target)]).toEqual([name, expect.stringMatching(/^[A-Za-z0-9]{9}$/)]);
    for (const target of [chat("anthropic/claude-opus-5.5", "openrouter"), sdk("gateway", "claude-opus-5-5")])
      expect(await idOf(target)).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
    expect(await idOf(chat("gpt-5.4", "openai"))).toMatch(/^[!-~]{1,40}$/);
    const converse = sdk("amazon-bedrock", "mistral.mistral-large-3-675b-instruct");
    expect(await idOf(converse)).toMatch(/^[A-Za-z0-9_.:-]{10,64}$/);
    const own = { ...openaiChatDialects.vllm, callId: { character: /[a-z]/, maxLength: 20 } };
    expect(await idOf(openaiChat({ model: "mistral-small", dialect: own }))).toMatch(/^[a-z]{1,20}$/);
  });

  test("limit a model by a row that names it", async () => {
    const rows: LimitProfile["rows"] = [
      {
        ...{
          rule: "imageCount",
          value: 1,
          unit: "count",
          scope: "request",
          when: { models: ["claude-opus-5.5"] },
        },
        ...{ evidence: "measured", asOf: "2026-11-28", source: "https://example.com" },
      } as const,
    ];
    const profile = { ...limitProfiles.anthropic, rows: [...limitProfiles.anthropic.rows, ...rows] };
    const data =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const image = { type: "image", data, mimeType: "image/png" } as const;
    const context = contextFrom([{ role: "user", content: [image, image, image], timestamp: 1 }]);
    const count = async (model: string) => {
      const { value, losses } = await project(context, anthropicMessages({ model, profile }));
      const images = JSON.stringify(value).match(/"type":"image"/g) ?? [];
      return [images.length, losses.map(({ code }) => code)];
    };
    expect(await count("anthropic/claude-opus-5-5")).toEqual([1, ["overLimit", "overLimit"]]);
    expect(await count("claude-opus-4-8")).toEqual([3, []]);
    const images = Array.from({ length: 18 }, () => ({ mediaType: "image/png", size: 100 }));
    const files = Array.from({ length: 3 }, () => ({ mediaType: "application/pdf", size: 100 }));
    const broken = (model?: string) =>
      checkLimits([...images, ...files], limitProfiles.bedrockConverse, model === undefined ? {} : { model });
    expect(broken("us.anthropic.claude-opus-5-5-v1:0").map(({ limit }) => limit)).toEqual([15]);
    expect([broken("amazon.nova-pro-v1:0"), broken()]).toEqual([[], []]);
    expect(() => broken(5 as never)).toThrow(TypeError);
  });

  test("count an image of one model alike, by any target and in any form of its name", () => {
    const [, all = []] = forms[0] ?? [];
    for (const model of all) {
      const targets = [
        anthropicMessages({ model }),
        bedrockConverse({ model }),
        openaiChat({ model, dialect: "openrouter" }),
        aiSdkMessages({ model: { provider: "anthropic.messages", modelId: model } }),
        aiSdkMessages({ model: { provider: "gateway", modelId: model } }),
      ];
      for (const { name, estimate } of targets)
        expect([name, model, estimate?.image]).toEqual([name, model, "anthropicLarge"]);
    }
  });
});
