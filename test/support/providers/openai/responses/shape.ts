import { z } from "zod";
import { bodyReader } from "../parse.js";

/**
 * The body of `POST /v1/responses`, as far as a projection writes it: what else there is passes.
 *
 * @see https://github.com/openai/openai-node/blob/main/src/resources/responses/responses.ts (types of openai 6.49)
 */
const breakpoint = z.strictObject({ mode: z.literal("explicit") });
const text = z.strictObject({
  type: z.literal("input_text"),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint.optional(),
});
const image = z.strictObject({
  type: z.literal("input_image"),
  detail: z.enum(["low", "high", "auto", "original"]).optional(),
  image_url: z.string().nullable().optional(),
  file_id: z.string().nullable().optional(),
  prompt_cache_breakpoint: breakpoint.optional(),
});
const file = z.strictObject({
  type: z.literal("input_file"),
  detail: z.enum(["auto", "low", "high"]).optional(),
  filename: z.string().optional(),
  file_data: z.string().optional(),
  file_id: z.string().nullable().optional(),
  file_url: z.string().optional(),
  prompt_cache_breakpoint: breakpoint.optional(),
});
const outputText = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.looseObject({ type: z.string() })).optional(),
  logprobs: z.array(z.looseObject({})).optional(),
});
const refusal = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });
const part = z.discriminatedUnion("type", [text, image, file, outputText, refusal]);
const status = z.enum(["in_progress", "completed", "incomplete"]).optional();
const message = z.strictObject({
  type: z.literal("message"),
  role: z.enum(["user", "system", "developer", "assistant"]),
  content: z.union([z.string(), z.array(part)]),
  id: z.string().optional(),
  status,
  phase: z.enum(["commentary", "final_answer"]).nullable().optional(),
});
const functionCall = z.strictObject({
  type: z.literal("function_call"),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  id: z.string().optional(),
  namespace: z.string().optional(),
  caller: z.looseObject({ type: z.string() }).nullable().optional(),
  status,
});
const functionCallOutput = z.strictObject({
  type: z.literal("function_call_output"),
  call_id: z.string(),
  output: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image, file]))]),
  id: z.string().nullable().optional(),
  caller: z.looseObject({ type: z.string() }).nullable().optional(),
  status,
});
const reasoning = z.strictObject({
  type: z.literal("reasoning"),
  // Codex sends none: https://github.com/paradigmxyz/centaur/pull/951 (stored copy, 2026-11-22).
  id: z.string().optional(),
  summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
  content: z.array(z.strictObject({ type: z.literal("reasoning_text"), text: z.string() })).optional(),
  encrypted_content: z.string().nullable().optional(),
  status,
});
/** Calls of tools that the API runs itself, and what else it makes: their fields are its own. */
const hosted = z.looseObject({
  type: z.enum([
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "custom_tool_call",
    "custom_tool_call_output",
    "compaction",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
  ]),
  id: z.string().optional(),
});
const reference = z.strictObject({ type: z.literal("item_reference"), id: z.string() });
const typed = z.discriminatedUnion("type", [
  message,
  functionCall,
  functionCallOutput,
  reasoning,
  hosted,
  reference,
]);
/** A message may leave out that it is one. */
const item = z.preprocess(
  (value) =>
    typeof value === "object" && value !== null && "role" in value && !("type" in value)
      ? { ...value, type: "message" }
      : value,
  typed,
);
const body = z.looseObject({
  model: z.string(),
  instructions: z.string().nullable().optional(),
  input: z.union([z.string(), z.array(item)]),
  store: z.boolean().nullable().optional(),
});

export type ResponsesItem = z.infer<typeof typed>;
export type ResponsesPart = z.infer<typeof part>;
export type ResponsesBody = z.infer<typeof body>;

export const { check: checkResponses, shapeRules: responsesShapeRules } = bodyReader<ResponsesBody>(body);

/** The items of a body; a string is a message. */
export function itemsOf({ input }: ResponsesBody): readonly ResponsesItem[] {
  return typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input;
}
