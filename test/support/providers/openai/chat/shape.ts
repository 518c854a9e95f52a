import { z } from "zod";
import { bodyReader } from "../parse.js";

/**
 * The body of `POST /v1/chat/completions`, as far as a projection writes it: what else there is passes.
 *
 * @see https://github.com/openai/openai-node/blob/main/src/resources/chat/completions/completions.ts (types of openai 6.49)
 */
const breakpoint = z.strictObject({ mode: z.literal("explicit") });
const text = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint.optional(),
});
const refusal = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });
const image = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({ url: z.string(), detail: z.enum(["auto", "low", "high"]).optional() }),
  prompt_cache_breakpoint: breakpoint.optional(),
});
const file = z.strictObject({
  type: z.literal("file"),
  file: z.strictObject({
    filename: z.string().optional(),
    file_data: z.string().optional(),
    file_id: z.string().optional(),
  }),
  prompt_cache_breakpoint: breakpoint.optional(),
});
const part = z.discriminatedUnion("type", [text, refusal, image, file]);
const content = z.union([z.string(), z.array(part)]);
const name = z.string().optional();
const functionCall = z.strictObject({
  id: z.string(),
  type: z.literal("function"),
  function: z.strictObject({ name: z.string(), arguments: z.string() }),
});
const customCall = z.strictObject({
  id: z.string(),
  type: z.literal("custom"),
  custom: z.strictObject({ name: z.string(), input: z.string() }),
});
const call = z.discriminatedUnion("type", [functionCall, customCall]);
const message = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content, name }),
  z.strictObject({ role: z.literal("developer"), content, name }),
  z.strictObject({ role: z.literal("user"), content, name }),
  z.strictObject({
    role: z.literal("assistant"),
    content: content.nullable().optional(),
    refusal: z.string().nullable().optional(),
    tool_calls: z.array(call).optional(),
    name,
  }),
  z.strictObject({ role: z.literal("tool"), content, tool_call_id: z.string() }),
]);

const body = z.looseObject({ model: z.string(), messages: z.array(message) });

export type ChatMessage = z.infer<typeof message>;
export type ChatPart = z.infer<typeof part>;
export type ChatBody = z.infer<typeof body>;

export const { check: checkChat, shapeRules: chatShapeRules } = bodyReader<ChatBody>(body);
