import fc from "fast-check";
import type {
  AssistantMessage,
  BashExecutionMessage,
  CustomMessage,
  ImageBlock,
  Message,
  OpaqueBlock,
  Resource,
  SystemMessage,
  TextBlock,
  ThinkingBlock,
  ToolCall,
  ToolResultMessage,
  Usage,
  UserMessage,
} from "sessile";
import { jsonValue, number, text } from "./values.js";

const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: length, maxLength: length });

const resourceId = hex(16).map((digits) => `res_${digits}`);
const source = fc.constantFrom("upload" as const, "tool" as const, "link" as const, "import" as const);
const declared = fc.record({ mediaType: text, size: number }, { requiredKeys: [] });

/** Descriptors of attachments, stored ones and links. */
export const resource: fc.Arbitrary<Resource> = fc.oneof(
  fc.record(
    {
      resourceId,
      kind: fc.constantFrom("image" as const, "file" as const),
      name: text,
      mediaType: text,
      size: fc.nat(),
      blob: fc
        .tuple(fc.constantFrom("sha256" as const, "blake3" as const), hex(64))
        .map(([algorithm, digits]) => `${algorithm}:${digits}` as const),
      contentSha256: hex(64),
      width: fc.nat(),
      height: fc.nat(),
      source,
      uri: text,
      declared,
    },
    { requiredKeys: ["resourceId", "kind", "mediaType", "size", "blob", "contentSha256", "source"] },
  ),
  fc.record(
    { resourceId, kind: fc.constant("link" as const), name: text, uri: text, source, declared },
    { requiredKeys: ["resourceId", "kind", "uri", "source"] },
  ),
);

/** Text blocks, attachments among them. */
export const textBlock: fc.Arbitrary<TextBlock> = fc.record(
  { type: fc.constant("text" as const), text, resource, textSignature: text },
  { requiredKeys: ["type", "text"] },
);

/** Images inline. */
export const imageBlock: fc.Arbitrary<ImageBlock> = fc.record({
  type: fc.constant("image" as const),
  data: fc.base64String({ maxLength: 16 }),
  mimeType: text,
});

const thinkingBlock: fc.Arbitrary<ThinkingBlock> = fc.record(
  { type: fc.constant("thinking" as const), thinking: text, thinkingSignature: text, redacted: fc.boolean() },
  { requiredKeys: ["type", "thinking"] },
);

/** Tool calls, with ids from the arbitrary given. */
export const toolCall = (id: fc.Arbitrary<string> = text): fc.Arbitrary<ToolCall> =>
  fc.record(
    {
      type: fc.constant("toolCall" as const),
      id,
      name: text,
      arguments: jsonValue,
      namespace: text,
      thoughtSignature: text,
    },
    { requiredKeys: ["type", "id", "name", "arguments"] },
  );

const opaqueBlock: fc.Arbitrary<OpaqueBlock> = fc.record({
  type: fc.constant("opaque" as const),
  data: jsonValue,
});

/** What an assistant message is made of. */
export const assistantBlock: fc.Arbitrary<AssistantMessage["content"][number]> = fc.oneof(
  textBlock,
  thinkingBlock,
  toolCall(),
  opaqueBlock,
);

const blocks = fc.array(fc.oneof(textBlock, imageBlock), { maxLength: 3 });
/** What user and custom messages hold. */
export const shownContent: fc.Arbitrary<string | readonly (TextBlock | ImageBlock)[]> = fc.oneof(
  text,
  blocks,
);

const cost = fc.record({
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite: number,
  total: number,
});

/** Tokens of one call. */
export const usage: fc.Arbitrary<Usage> = fc.record(
  { input: number, output: number, cacheRead: number, cacheWrite: number, totalTokens: number, cost },
  { requiredKeys: ["input", "output", "cacheRead", "cacheWrite"] },
);

const userMessage: fc.Arbitrary<UserMessage> = fc.record(
  {
    role: fc.constant("user" as const),
    content: shownContent,
    name: text,
    model: fc.record({ provider: text, modelId: text }),
    variant: text,
    path: fc.record({ cwd: text, root: text }, { requiredKeys: ["cwd"] }),
    timestamp: number,
  },
  { requiredKeys: ["role", "content", "timestamp"] },
);

const assistantMessage: fc.Arbitrary<AssistantMessage> = fc.record(
  {
    role: fc.constant("assistant" as const),
    content: fc.array(assistantBlock, { maxLength: 4 }),
    provider: text,
    model: text,
    api: text,
    usage,
    stopReason: fc.constantFrom("stop" as const, "length", "toolUse", "error", "aborted"),
    errorMessage: text,
    summary: fc.boolean(),
    mode: text,
    account: text,
    responseModel: text,
    timestamp: number,
  },
  { requiredKeys: ["role", "content", "provider", "model", "timestamp"] },
);

const toolResultMessage: fc.Arbitrary<ToolResultMessage> = fc.record(
  {
    role: fc.constant("toolResult" as const),
    toolCallId: text,
    toolName: text,
    content: blocks,
    details: jsonValue,
    isError: fc.boolean(),
    timestamp: number,
  },
  { requiredKeys: ["role", "toolCallId", "toolName", "content", "isError", "timestamp"] },
);

const bashMessage: fc.Arbitrary<BashExecutionMessage> = fc.record(
  {
    role: fc.constant("bashExecution" as const),
    command: text,
    output: text,
    exitCode: fc.oneof(fc.constant(null), fc.integer()),
    cancelled: fc.boolean(),
    truncated: fc.boolean(),
    fullOutputPath: text,
    excludeFromContext: fc.boolean(),
    timestamp: number,
  },
  { requiredKeys: ["role", "command", "output", "cancelled", "truncated", "timestamp"] },
);

const customMessage: fc.Arbitrary<CustomMessage> = fc.record(
  {
    role: fc.constant("custom" as const),
    customType: text,
    content: shownContent,
    display: fc.boolean(),
    details: jsonValue,
    timestamp: number,
  },
  { requiredKeys: ["role", "customType", "content", "display", "timestamp"] },
);

/** System messages, also as a compaction carries one. */
export const systemMessage: fc.Arbitrary<SystemMessage> = fc.record(
  {
    role: fc.constant("system" as const),
    content: fc.oneof(text, fc.array(textBlock, { maxLength: 2 })),
    sections: fc.dictionary(
      text.filter((key) => key !== "__proto__"),
      fc.option(text),
      { maxKeys: 3, noNullPrototype: true },
    ),
    toolsAdded: fc.array(jsonValue, { maxLength: 2 }),
    toolsRemoved: fc.array(jsonValue, { maxLength: 2 }),
    timestamp: number,
  },
  { requiredKeys: ["role", "content", "timestamp"] },
);

/** Messages of each role, by role. */
export const messagesByRole: { readonly [R in Message["role"]]: fc.Arbitrary<Message & { role: R }> } = {
  user: userMessage,
  assistant: assistantMessage,
  toolResult: toolResultMessage,
  bashExecution: bashMessage,
  custom: customMessage,
  system: systemMessage,
};

/** Messages of every role. */
export const message: fc.Arbitrary<Message> = fc.oneof(...Object.values(messagesByRole));
