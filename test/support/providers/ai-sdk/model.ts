import { MockLanguageModelV3 } from "ai/test";
import { breaches } from "../rule.js";
import { aiSdkRules } from "./rules.js";

type Generated = Exclude<ConstructorParameters<typeof MockLanguageModelV3>[0], undefined>["doGenerate"];
type Content = Exclude<Extract<Generated, { readonly content: unknown }>, readonly unknown[]>["content"];

/** A model that looks at what the SDK made of a call, and says its lines. */
export function validatingModel(provider: string, content: Content): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    provider,
    modelId: "m-1",
    doGenerate: async ({ prompt }) => {
      const system = prompt.find(({ role }) => role === "system")?.content;
      const messages = prompt.filter(({ role }) => role !== "system");
      const [breach] = breaches({ provider, system, messages }, aiSdkRules);
      if (breach !== undefined) throw new Error(`${breach.rule} at ${breach.path}: ${breach.problem}`);
      return {
        content,
        finishReason: {
          unified: content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop",
          raw: undefined,
        },
        usage: {
          inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
          outputTokens: { total: 3, text: 3, reasoning: 0 },
        },
        response: { id: "r1", modelId: "m-1-20260101" },
        warnings: [],
      };
    },
  });
}
