import fc from "fast-check";
import type { Message } from "sessile";

/** Where a step goes: after the last one, at a new root, or at an earlier entry by its number. */
export type Jump = "stay" | "root" | number;

/** What a step writes. References are numbers of earlier entries, counted from 0 and taken modulo how many there are. */
export type Step = { readonly jump: Jump } & (
  | { readonly type: "message"; readonly message: Message }
  | { readonly type: "thinking_level_change"; readonly thinkingLevel: string }
  | { readonly type: "model_change"; readonly provider: string; readonly modelId: string }
  | {
      readonly type: "compaction";
      readonly summary: string;
      readonly tokensBefore: number;
      readonly details?: unknown;
      readonly fromHook?: boolean;
      /** `path`: an entry above the compaction; `anywhere`: any entry, mostly of another branch; `own`: itself. */
      readonly kept: { readonly where: "path" | "anywhere" | "own"; readonly pick: number };
    }
  | {
      readonly type: "branch_summary";
      readonly summary: string;
      readonly details?: unknown;
      readonly fromHook?: boolean;
    }
  | { readonly type: "custom"; readonly customType: string; readonly data?: unknown }
  | {
      readonly type: "custom_message";
      readonly customType: string;
      readonly content: (Message & { readonly role: "custom" })["content"];
      readonly display: boolean;
      readonly details?: unknown;
    }
  | {
      readonly type: "label";
      readonly target: number;
      readonly label: string;
      /** Go back to the entry before the label, so that no later path runs through it. */
      readonly goBack: boolean;
    }
  | { readonly type: "session_info"; readonly name: string }
);

const unit = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
  // What splits lines in some readers, what needs escapes, and halves of surrogate pairs.
  { weight: 2, arbitrary: fc.constantFrom("\n", "\r", "\u2028", "\u0000", '"', "\\", "é", "😀") },
  { weight: 1, arbitrary: fc.constantFrom("\ud83d", "\udc00") },
);
const text = fc.string({ unit, maxLength: 20 });
const someText = fc.string({ unit, minLength: 1, maxLength: 20 });
/** White space at its ends, and nothing else, are differences of their own. */
const name = fc.stringMatching(/^[a-zA-Z0-9é][a-z é-]{0,8}[a-z0-9]$/);
const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
const count = fc.nat(1_000_000);

/** JSON as it comes back from a file, without the key that this library leaves out. */
const json = fc
  .jsonValue({ maxDepth: 3 })
  .map((value): unknown => JSON.parse(JSON.stringify(value)))
  .filter((value) => !JSON.stringify(value).includes("__proto__"));

const textBlock = fc.record(
  { type: fc.constant("text" as const), text, textSignature: text },
  { requiredKeys: ["type", "text"] },
);
const imageBlock = fc.record({
  type: fc.constant("image" as const),
  data: fc.base64String({ maxLength: 16 }),
  mimeType: fc.constantFrom("image/png", "image/jpeg"),
});
const shown = fc.oneof(text, fc.array(fc.oneof(textBlock, imageBlock), { maxLength: 3 }));
const blocks = fc.array(fc.oneof(textBlock, imageBlock), { maxLength: 3 });

const usage = fc.record({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  totalTokens: count,
  cost: fc.record({ input: count, output: count, cacheRead: count, cacheWrite: count, total: count }),
});

const user = fc.record({ role: fc.constant("user" as const), content: shown, timestamp: time });
const assistant = fc.record(
  {
    role: fc.constant("assistant" as const),
    content: fc.array(
      fc.oneof(
        textBlock,
        fc.record(
          { type: fc.constant("thinking" as const), thinking: text, thinkingSignature: text },
          { requiredKeys: ["type", "thinking"] },
        ),
        fc.record({
          type: fc.constant("toolCall" as const),
          id: someText,
          name: someText,
          arguments: fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), json, { maxKeys: 3 }),
        }),
      ),
      { maxLength: 4 },
    ),
    api: fc.constantFrom("anthropic-messages", "openai-responses"),
    provider: fc.constantFrom("anthropic", "openai"),
    model: someText,
    usage,
    stopReason: fc.constantFrom("stop", "length", "toolUse", "error", "aborted"),
    errorMessage: text,
    timestamp: time,
  },
  {
    requiredKeys: ["role", "content", "api", "provider", "model", "usage", "stopReason", "timestamp"],
  },
);
const toolResult = fc.record(
  {
    role: fc.constant("toolResult" as const),
    toolCallId: someText,
    toolName: someText,
    content: blocks,
    details: json,
    isError: fc.boolean(),
    timestamp: time,
  },
  { requiredKeys: ["role", "toolCallId", "toolName", "content", "isError", "timestamp"] },
);
const bashExecution = fc.record(
  {
    role: fc.constant("bashExecution" as const),
    command: text,
    output: text,
    exitCode: fc.integer({ min: 0, max: 255 }),
    cancelled: fc.boolean(),
    truncated: fc.boolean(),
    fullOutputPath: text,
    excludeFromContext: fc.boolean(),
    timestamp: time,
  },
  { requiredKeys: ["role", "command", "output", "cancelled", "truncated", "timestamp"] },
);
const custom = fc.record(
  {
    role: fc.constant("custom" as const),
    customType: someText,
    content: shown,
    display: fc.boolean(),
    details: json,
    timestamp: time,
  },
  { requiredKeys: ["role", "customType", "content", "display", "timestamp"] },
);
const message: fc.Arbitrary<Message> = fc.oneof(user, assistant, toolResult, bashExecution, custom);

const jump: fc.Arbitrary<Jump> = fc.oneof(
  { weight: 12, arbitrary: fc.constant("stay" as const) },
  { weight: 4, arbitrary: fc.nat(200) },
  { weight: 1, arbitrary: fc.constant("root" as const) },
);

const bodies = {
  message: fc.record({ type: fc.constant("message" as const), jump, message }),
  thinking: fc.record({
    type: fc.constant("thinking_level_change" as const),
    jump,
    thinkingLevel: fc.constantFrom("off", "low", "medium", "high"),
  }),
  model: fc.record({
    type: fc.constant("model_change" as const),
    jump,
    provider: someText,
    modelId: someText,
  }),
  compaction: fc.record(
    {
      type: fc.constant("compaction" as const),
      jump,
      summary: text,
      tokensBefore: count,
      details: json,
      fromHook: fc.boolean(),
      kept: fc.record({
        where: fc.constantFrom("path" as const, "path" as const, "anywhere" as const, "own" as const),
        pick: fc.nat(200),
      }),
    },
    { requiredKeys: ["type", "jump", "summary", "tokensBefore", "kept"] },
  ),
  branchSummary: fc.record(
    {
      type: fc.constant("branch_summary" as const),
      jump,
      summary: fc.oneof(text, fc.constant("")),
      details: json,
      fromHook: fc.boolean(),
    },
    { requiredKeys: ["type", "jump", "summary"] },
  ),
  custom: fc.record(
    { type: fc.constant("custom" as const), jump, customType: someText, data: json },
    { requiredKeys: ["type", "jump", "customType"] },
  ),
  customMessage: fc.record(
    {
      type: fc.constant("custom_message" as const),
      jump,
      customType: someText,
      content: shown,
      display: fc.boolean(),
      details: json,
    },
    { requiredKeys: ["type", "jump", "customType", "content", "display"] },
  ),
  label: fc.record({
    type: fc.constant("label" as const),
    jump,
    target: fc.nat(200),
    label: fc.oneof(text, fc.constant("")),
    goBack: fc.boolean(),
  }),
  info: fc.record({ type: fc.constant("session_info" as const), jump, name }),
} satisfies Record<string, fc.Arbitrary<Step>>;

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: bodies.message },
  { weight: 1, arbitrary: bodies.thinking },
  { weight: 1, arbitrary: bodies.model },
  { weight: 3, arbitrary: bodies.compaction },
  { weight: 2, arbitrary: bodies.branchSummary },
  { weight: 1, arbitrary: bodies.custom },
  { weight: 2, arbitrary: bodies.customMessage },
  { weight: 2, arbitrary: bodies.label },
  { weight: 1, arbitrary: bodies.info },
);

/** Steps that make a tree. */
export const script: fc.Arbitrary<readonly Step[]> = fc.array(step, {
  minLength: 1,
  maxLength: 30,
  size: "max",
});

/** Steps of which one is an assistant message, since pi writes nothing before the first. */
export const scriptWithAssistant: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(step, { maxLength: 10, size: "max" }),
    assistant.map((reply): Step => ({ type: "message", jump: "stay", message: reply })),
    fc.array(step, { maxLength: 20, size: "max" }),
  )
  .map(([before, reply, after]) => [...before, reply, ...after]);

/** The same with labels off every path: what pi makes of a label on the path that it extracts is a difference. */
export function withLabelsAside(steps: readonly Step[]): readonly Step[] {
  return steps.map((one) => (one.type === "label" ? { ...one, goBack: true } : one));
}
