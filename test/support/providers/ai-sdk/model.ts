import { MockLanguageModelV4 } from "ai/test";
import { isRecord } from "../../plain-values.js";
import { breaches } from "../rule.js";
import { aiSdkRules } from "./rules.js";

type Generated = Exclude<ConstructorParameters<typeof MockLanguageModelV4>[0], undefined>["doGenerate"];
type Content = Exclude<Extract<Generated, { readonly content: unknown }>, readonly unknown[]>["content"];

/** A model that looks at what the SDK made of a call, and says its lines. */
export function validatingModel(provider: string, content: Content): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    provider,
    modelId: "m-1",
    doGenerate: async ({ prompt }) => {
      const system = prompt.find(({ role }) => role === "system")?.content;
      const messages = plainParts(prompt.filter(({ role }) => role !== "system"));
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

/** The prompt of a model as messages of a caller: data without its tag, and a tool's files by their kind. */
function plainParts(value: unknown, isResult = false): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => plainParts(one, isResult));
  if (!isRecord(value)) return value;
  if (value.type !== "file") {
    const isOutput = isResult || value.type === "content";
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainParts(one, isOutput)]));
  }
  const { data, ...rest } = value;
  const plain = { ...rest, data: isRecord(data) && data.type === "data" ? data.data : data };
  if (!isResult) return plain;
  return { ...plain, type: /^image\//.test(String(value.mediaType)) ? "image-data" : "file-data" };
}
