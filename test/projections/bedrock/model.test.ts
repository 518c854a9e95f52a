import { expect, test } from "vitest";
import { modelFacts } from "../../../src/projections/bedrock/model.js";

const profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123";

test.each([
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "media Claude caches"],
  ["anthropic.claude-3-7-sonnet-20250219-v1:0", "media Claude caches"],
  ["anthropic.claude-3-5-haiku-20241022-v1:0", "media Claude caches"],
  ["arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-1", "media Claude caches"],
  ["anthropic.claude-3-5-sonnet-20241022-v2:0", "media Claude"],
  ["anthropic.claude-3-haiku-20240307-v1:0", "media Claude"],
  ["anthropic.claude-v2:1", "media Claude"],
  ["eu.amazon.nova-lite-v1:0", "media"],
  ["us.meta.llama4-maverick-17b-instruct-v1:0", ""],
  ["openai.gpt-oss-120b-1:0", ""],
  ["example.supernovae-1", ""],
  [profile, "media Claude"],
])("of %s: %s", (model, facts) => {
  const { mediaInResults, isClaude, caches } = modelFacts(model);
  const words = [mediaInResults && "media", isClaude && "Claude", caches && "caches"];
  expect(words.filter(Boolean).join(" ")).toBe(facts);
});
