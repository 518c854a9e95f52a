/**
 * The rules of ATIF that the validator of Harbor's package checks, as a zod schema. Every object refuses unknown
 * members.
 *
 * @see https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md (1.7), and the models of
 *   its package for 1.8 (stored copies, 2026-11-23)
 */

import { z } from "zod";

const extra = z.record(z.string(), z.unknown()).optional();
const tokens = z.number().int().optional();
const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
const audioTypes = ["wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff"].map(
  (name) => `audio/${name}`,
);

const text = z.strictObject({ type: z.literal("text"), text: z.string() });
const image = z.strictObject({
  type: z.literal("image"),
  source: z.strictObject({ media_type: z.enum(imageTypes), path: z.string() }),
});
/** Since 1.8. */
const audio = z.strictObject({
  type: z.literal("audio"),
  source: z.strictObject({
    media_type: z.enum(audioTypes),
    path: z.string(),
    duration_sec: z.number().min(0).optional(),
  }),
});

const metrics = z.strictObject({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  cached_tokens: tokens,
  cost_usd: z.number().optional(),
  prompt_token_ids: z.array(z.number().int()).optional(),
  completion_token_ids: z.array(z.number().int()).optional(),
  logprobs: z.array(z.number()).optional(),
  extra,
});

const reference = z
  .strictObject({
    trajectory_id: z.string().optional(),
    trajectory_path: z.string().optional(),
    session_id: z.string().optional(),
    extra,
  })
  .refine((ref) => ref.trajectory_id !== undefined || ref.trajectory_path !== undefined, "not resolvable");

const agentOnly = ["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"] as const;

function stepOf(part: z.ZodType) {
  const content = z.union([z.string(), z.array(part)]);
  const result = z.strictObject({
    source_call_id: z.string().optional(),
    content: content.optional(),
    subagent_trajectory_ref: z.array(reference).optional(),
    extra,
  });
  return z
    .strictObject({
      step_id: z.number().int().min(1),
      timestamp: z.iso.datetime({ offset: true }).optional(),
      source: z.enum(["system", "user", "agent"]),
      model_name: z.string().optional(),
      reasoning_effort: z.union([z.string(), z.number()]).optional(),
      message: content,
      reasoning_content: z.string().optional(),
      tool_calls: z
        .array(
          z.strictObject({
            tool_call_id: z.string(),
            function_name: z.string(),
            arguments: z.record(z.string(), z.unknown()),
            extra,
          }),
        )
        .optional(),
      observation: z.strictObject({ results: z.array(result) }).optional(),
      metrics: metrics.optional(),
      is_copied_context: z.boolean().optional(),
      llm_call_count: z.number().int().min(0).optional(),
      extra,
    })
    .superRefine((step, context) => {
      const fail = (message: string) => context.addIssue({ code: "custom", message });
      if (step.source !== "agent")
        for (const name of agentOnly) if (step[name] !== undefined) fail(`${name} of ${step.source}`);
      const calls = new Set(step.tool_calls?.map(({ tool_call_id }) => tool_call_id));
      for (const { source_call_id } of step.observation?.results ?? [])
        if (source_call_id !== undefined && !calls.has(source_call_id)) fail(`${source_call_id} is no call`);
      if (step.llm_call_count === 0 && (step.metrics ?? step.reasoning_content) !== undefined)
        fail("metrics without a call of a model");
    });
}

function trajectoryOf(version: "1.7" | "1.8") {
  const step = stepOf(z.union(version === "1.8" ? [text, image, audio] : [text, image]));
  const document = z.strictObject({
    schema_version: z.literal(`ATIF-v${version}`),
    session_id: z.string().optional(),
    trajectory_id: z.string().optional(),
    agent: z.strictObject({
      name: z.string(),
      version: z.string(),
      model_name: z.string().optional(),
      tool_definitions: z.array(z.record(z.string(), z.unknown())).optional(),
      extra,
    }),
    steps: z
      .array(step)
      .min(1)
      .refine((steps) => steps.every(({ step_id }, at) => step_id === at + 1), "step ids have a gap"),
    notes: z.string().optional(),
    final_metrics: z
      .strictObject({
        total_prompt_tokens: tokens,
        total_completion_tokens: tokens,
        total_cached_tokens: tokens,
        total_cost_usd: z.number().optional(),
        total_steps: tokens,
        extra,
      })
      .optional(),
    continued_trajectory_ref: z.string().optional(),
    extra,
  });
  const subagents = z
    .array(document.required({ trajectory_id: true }))
    .refine((all) => new Set(all.map(({ trajectory_id }) => trajectory_id)).size === all.length, "ids twice");
  return document.extend({ subagent_trajectories: subagents.optional() });
}

const schemas = { "1.7": trajectoryOf("1.7"), "1.8": trajectoryOf("1.8") };

/** The problems of a document, by their paths. */
export function atifProblems(value: unknown, version: "1.7" | "1.8" = "1.8"): readonly string[] {
  // As a file: members that are undefined are absent.
  const parsed = schemas[version].safeParse(JSON.parse(JSON.stringify(value)));
  return parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
}
