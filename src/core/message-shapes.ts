/**
 * Resources, blocks and messages as shapes. Their checks, the zod schemas of `sessile/schema`, and
 * the block types of each role derive from them. In `internal` instead of `content`, because the session
 * needs them and they are not exported. A type test compares them with the types of `content`.
 */

import {
  anything,
  array,
  boolean,
  type Infer,
  matching,
  memberShape,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  string,
  stringAmong,
  union,
  variants,
} from "./shape.js";

const described = {
  resourceId: matching<string>(/^res_[0-9a-f]{16}$/),
  name: optional(string),
  source: stringAmong<"upload" | "tool" | "model" | "link" | "import" | (string & Record<never, never>)>(),
  declared: optional(object({ mediaType: optional(string), size: optional(number) })),
};

const storedResource = object({
  ...described,
  kind: oneOf("image", "file"),
  mediaType: string,
  size: number,
  blob: matching<`${"sha256" | "blake3"}:${string}`>(/^(?:sha256|blake3):[0-9a-f]{64}$/),
  contentSha256: matching<string>(/^[0-9a-f]{64}$/),
  width: optional(number),
  height: optional(number),
  pages: optional(number),
  encrypted: optional(boolean),
  uri: optional(string),
});

const linkResource = object({ ...described, kind: oneOf("link"), uri: string });

/** The descriptor of an attachment. */
export const resourceShape = variants("kind", [storedResource, linkResource], "a resource descriptor");

/** Tokens of one provider call. */
export const usageShape = object({
  input: number,
  output: number,
  cacheRead: number,
  cacheWrite: number,
  cacheWrite1h: optional(number),
  totalTokens: optional(number),
  cost: optional(
    object({ input: number, output: number, cacheRead: number, cacheWrite: number, total: number }),
  ),
});

const providerFields = record(anything);

const textBlock = object({
  type: oneOf("text"),
  text: string,
  resource: optional(resourceShape),
  textSignature: optional(string),
  providerFields: optional(providerFields),
});

const imageBlock = object({ type: oneOf("image"), data: string, mimeType: string });

const thinkingBlock = object({
  type: oneOf("thinking"),
  thinking: string,
  thinkingSignature: optional(string),
  providerFields: optional(providerFields),
  redacted: optional(boolean),
});

const toolCall = object({
  type: oneOf("toolCall"),
  id: string,
  name: string,
  arguments: anything,
  namespace: optional(string),
  thoughtSignature: optional(string),
  providerFields: optional(providerFields),
});

const opaqueBlock = object({
  type: oneOf("opaque"),
  data: anything,
  resources: optional(array(storedResource)),
});

/** A block of any message. */
export const blockShape = variants(
  "type",
  [textBlock, imageBlock, thinkingBlock, toolCall, opaqueBlock],
  "a block",
);

const shownBlocks = array(variants("type", [textBlock, imageBlock], "a block"));

/** Text, or text and images: the content of a user message, and of an extension's. */
export const shownContent = union(string, shownBlocks);

/** A model as entries and messages name it. */
export const modelShape = object({ provider: string, modelId: string });

const userMessage = object({
  role: oneOf("user"),
  content: shownContent,
  name: optional(string),
  model: optional(modelShape),
  variant: optional(string),
  path: optional(object({ cwd: string, root: optional(string) })),
  timestamp: number,
});

const assistantMessage = object({
  role: oneOf("assistant"),
  content: array(variants("type", [textBlock, imageBlock, thinkingBlock, toolCall, opaqueBlock], "a block")),
  provider: string,
  model: string,
  responseModel: optional(string),
  api: optional(string),
  usage: optional(usageShape),
  stopReason: optional(
    stringAmong<
      "stop" | "length" | "pause" | "toolUse" | "error" | "aborted" | (string & Record<never, never>)
    >(),
  ),
  errorMessage: optional(string),
  refused: optional(boolean),
  providerFields: optional(providerFields),
  summary: optional(boolean),
  mode: optional(string),
  account: optional(string),
  prefix: optional(string),
  timestamp: number,
});

const toolResultMessage = object({
  role: oneOf("toolResult"),
  toolCallId: string,
  toolName: string,
  content: shownBlocks,
  details: optional(anything),
  nestedCalls: optional(anything),
  usage: optional(usageShape),
  isError: boolean,
  timestamp: number,
});

const bashExecutionMessage = object({
  role: oneOf("bashExecution"),
  command: string,
  output: string,
  exitCode: optional(nullable(number)),
  cancelled: boolean,
  truncated: boolean,
  fullOutputPath: optional(string),
  excludeFromContext: optional(boolean),
  timestamp: number,
});

const customMessage = object({
  role: oneOf("custom"),
  customType: string,
  content: shownContent,
  display: boolean,
  details: optional(anything),
  timestamp: number,
});

const systemMessage = object({
  role: oneOf("system"),
  content: union(string, array(variants("type", [textBlock], "a block"))),
  sections: optional(record(nullable(string))),
  toolsAdded: optional(array(anything)),
  toolsRemoved: optional(array(anything)),
  timestamp: number,
});

const messages = [
  userMessage,
  assistantMessage,
  toolResultMessage,
  bashExecutionMessage,
  customMessage,
  systemMessage,
] as const;

/** A message of a session entry. */
export const messageShape = variants("role", messages, "a message");
/** A system message, as a compaction carries it. */
export const systemMessageShape = variants("role", [systemMessage], "a message");

/** The roles of stored messages. */
export type MessageRole = Infer<typeof messageShape>["role"];

/** The roles of stored messages. */
export const messageRoles: readonly MessageRole[] = messages.flatMap(
  (message) => shapeValues(message, "role") as readonly MessageRole[],
);

/** The allowed content of a role. */
export interface ContentRule {
  /** The block types. */
  readonly blocks: ReadonlySet<string>;
  /** Whether a string is allowed instead of blocks. */
  readonly takesText: boolean;
}

/** By role, for roles with content. A map, because a stored role may be a name such as `constructor`. */
export const contentRules: ReadonlyMap<unknown, ContentRule> = new Map(
  messages.flatMap((message) => {
    const { spec } = message;
    if (spec.kind !== "object" || spec.fields.content === undefined) return [];
    const content = spec.fields.content.spec;
    const takesText = content.kind === "union";
    const list = takesText ? content.of[1].spec : content;
    const block = list.kind === "array" ? list.of.spec : undefined;
    if (block?.kind !== "variants") throw new TypeError("expected content to be a list of blocks");
    const blocks = new Set(block.cases.flatMap((one) => shapeValues(one, "type")));
    return shapeValues(message, "role").map((role) => [role, { blocks, takesText }] as const);
  }),
);

function shapeValues(shape: Parameters<typeof memberShape>[0], key: string): readonly string[] {
  const { spec } = memberShape(shape, key);
  return spec.kind === "oneOf" ? spec.values.map(String) : [];
}
