/**
 * The attributes of traces of generative AI, by OpenTelemetry's names: what a reply tells of its request. The
 * events of a turn and an export of a session are named by them.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/client-inference.md, and
 *   execute-tool.md and gen-ai-agent-spans.md beside it (stored copies, 2026-11-29; status: development)
 */

import type { AssistantMessage } from "../content/index.js";

/** Attributes of a span, by their names in the convention. */
export type TraceAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Names of providers in the convention that differ from those of messages. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ["google", "gcp.gemini"],
  ["amazon-bedrock", "aws.bedrock"],
  ["xai", "x_ai"],
  ["mistral", "mistral_ai"],
]);

/** The name of a provider in the convention. */
export function traceProvider(provider: string): string {
  return providerNames.get(provider) ?? provider;
}

/** What a reply tells of its request. The convention counts cached tokens among the input. */
export function inferenceAttributes(message: AssistantMessage): TraceAttributes {
  const { usage, model, responseModel = model, stopReason, providerFields } = message;
  const id = providerFields?.id;
  return {
    "gen_ai.response.model": responseModel,
    ...(typeof id === "string" ? { "gen_ai.response.id": id } : {}),
    ...(stopReason === undefined ? {} : { "gen_ai.response.finish_reasons": [stopReason] }),
    ...(usage === undefined
      ? {}
      : {
          "gen_ai.usage.input_tokens": usage.input + usage.cacheRead + usage.cacheWrite,
          "gen_ai.usage.output_tokens": usage.output,
          "gen_ai.usage.cache_read.input_tokens": usage.cacheRead,
          "gen_ai.usage.cache_write.input_tokens": usage.cacheWrite,
        }),
  };
}
