import { expect, test } from "vitest";
import { bedrockFamilies, modelFacts } from "../../../src/projections/bedrock/target.js";

const profile = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123";

test.each([
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "media Claude caches"],
  ["anthropic.claude-3-7-sonnet-20250219-v1:0", "media Claude caches"],
  ["anthropic.claude-3-5-haiku-20241022-v1:0", "media Claude caches"],
  ["arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-1", "media Claude caches"],
  ["anthropic.claude-3-5-sonnet-20241022-v2:0", "media Claude"],
  ["anthropic.claude-3-haiku-20240307-v1:0", "media Claude"],
  ["anthropic.claude-v2:1", "media Claude"],
  ["eu.amazon.nova-lite-v1:0", "images"],
  ["us.meta.llama4-maverick-17b-instruct-v1:0", "media alone"],
  ["us.mistral.pixtral-large-2502-v1:0", "documents alone"],
  ["us.writer.palmyra-x5-v1:0", "documents alone"],
  ["qwen.qwen3-vl-235b-a22b", ""],
  ["moonshotai.kimi-k2.5", ""],
  ["openai.gpt-oss-120b-1:0", ""],
  ["example.supernovae-1", ""],
  [profile, "media Claude"],
])("of %s: %s", (model, facts) => {
  const { family, isClaude, caches } = modelFacts(model);
  const { images, pdf, texts } = family.inResults;
  const taken = images ? (pdf && texts ? "media" : "images") : pdf && texts && "documents";
  const words = [
    taken,
    family.besideResults === "nothing" && "alone",
    isClaude && "Claude",
    caches && "caches",
  ];
  expect(words.filter(Boolean).join(" ")).toBe(facts);
});

test.each(bedrockFamilies)("the row of $pattern names its source and the day on which it was read", (row) => {
  expect(row.source).toMatch(/^https:/);
  expect(row.asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
});
