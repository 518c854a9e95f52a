/**
 * The session file as zod schemas, for the boundary: to check lines that come from elsewhere, and to generate a JSON
 * Schema from. They agree with what a session itself accepts, and keep fields that they do not know.
 *
 * @module session/schema
 */
import * as z from "zod";
import type {
  ImageBlock,
  LinkResource,
  Message,
  OpaqueBlock,
  Resource,
  StoredResource,
  SystemMessage,
  TextBlock,
  ThinkingBlock,
  ToolCall,
  Usage,
} from "../content/index.js";
import type { EntryType, SessionEntry, SessionHeader, SessionStats } from "./entries.js";
import type { PermissionRule } from "./permissions.js";

const text = z.string();
const finite = z.number();
const flag = z.boolean();
const optionalText = z.exactOptional(text);
const optionalFinite = z.exactOptional(finite);
const optionalFlag = z.exactOptional(flag);
const optionalAnything = z.exactOptional(z.unknown());
/** Any value. One that is absent is taken too, since JSON drops a member that is undefined. */
const anything = z.unknown().catch(undefined);

const usage = z.looseObject({
  input: finite,
  output: finite,
  cacheRead: finite,
  cacheWrite: finite,
  cacheWrite1h: optionalFinite,
  totalTokens: optionalFinite,
  cost: z.exactOptional(
    z.looseObject({ input: finite, output: finite, cacheRead: finite, cacheWrite: finite, total: finite }),
  ),
}) satisfies z.ZodType<Usage>;

const resourceBase = {
  resourceId: text.regex(/^res_[0-9a-f]{16}$/),
  name: optionalText,
  source: text,
  declared: z.exactOptional(z.looseObject({ mediaType: optionalText, size: optionalFinite })),
};

const storedResource = z.looseObject({
  ...resourceBase,
  kind: z.enum(["image", "file"]),
  mediaType: text,
  size: finite,
  blob: z.templateLiteral([z.enum(["sha256", "blake3"]), ":", text.regex(/^[0-9a-f]{64}$/)]),
  contentSha256: text.regex(/^[0-9a-f]{64}$/),
  width: optionalFinite,
  height: optionalFinite,
  uri: optionalText,
}) satisfies z.ZodType<StoredResource>;

const linkResource = z.looseObject({
  ...resourceBase,
  kind: z.literal("link"),
  uri: text,
}) satisfies z.ZodType<LinkResource>;

const resource = z.discriminatedUnion("kind", [storedResource, linkResource]) satisfies z.ZodType<Resource>;

const textBlock = z.looseObject({
  type: z.literal("text"),
  text,
  resource: z.exactOptional(resource),
  textSignature: optionalText,
}) satisfies z.ZodType<TextBlock>;

const imageBlock = z.looseObject({
  type: z.literal("image"),
  data: text,
  mimeType: text,
}) satisfies z.ZodType<ImageBlock>;

const thinkingBlock = z.looseObject({
  type: z.literal("thinking"),
  thinking: text,
  thinkingSignature: optionalText,
  redacted: optionalFlag,
}) satisfies z.ZodType<ThinkingBlock>;

const toolCall = z.looseObject({
  type: z.literal("toolCall"),
  id: text,
  name: text,
  arguments: anything,
  namespace: optionalText,
  thoughtSignature: optionalText,
}) satisfies z.ZodType<ToolCall>;

const opaqueBlock = z.looseObject({
  type: z.literal("opaque"),
  data: anything,
}) satisfies z.ZodType<OpaqueBlock>;

const shownBlocks = z.array(z.discriminatedUnion("type", [textBlock, imageBlock]));
const shown = z.union([text, shownBlocks]);

const systemMessage = z.looseObject({
  role: z.literal("system"),
  content: z.union([text, z.array(textBlock)]),
  sections: z.exactOptional(z.record(text, z.nullable(text))),
  toolsAdded: z.exactOptional(z.array(z.unknown())),
  toolsRemoved: z.exactOptional(z.array(z.unknown())),
  timestamp: finite,
}) satisfies z.ZodType<SystemMessage>;

const message = z.discriminatedUnion("role", [
  z.looseObject({
    role: z.literal("user"),
    content: shown,
    name: optionalText,
    model: z.exactOptional(z.looseObject({ provider: text, modelId: text })),
    variant: optionalText,
    path: z.exactOptional(z.looseObject({ cwd: text, root: optionalText })),
    timestamp: finite,
  }),
  z.looseObject({
    role: z.literal("assistant"),
    content: z.array(z.discriminatedUnion("type", [textBlock, thinkingBlock, toolCall, opaqueBlock])),
    provider: text,
    model: text,
    responseModel: optionalText,
    api: optionalText,
    usage: z.exactOptional(usage),
    stopReason: optionalText,
    errorMessage: optionalText,
    summary: optionalFlag,
    mode: optionalText,
    account: optionalText,
    timestamp: finite,
  }),
  z.looseObject({
    role: z.literal("toolResult"),
    toolCallId: text,
    toolName: text,
    content: shownBlocks,
    details: optionalAnything,
    usage: z.exactOptional(usage),
    isError: flag,
    timestamp: finite,
  }),
  z.looseObject({
    role: z.literal("bashExecution"),
    command: text,
    output: text,
    exitCode: z.exactOptional(z.nullable(finite)),
    cancelled: flag,
    truncated: flag,
    fullOutputPath: optionalText,
    excludeFromContext: optionalFlag,
    timestamp: finite,
  }),
  z.looseObject({
    role: z.literal("custom"),
    customType: text,
    content: shown,
    display: flag,
    details: optionalAnything,
    timestamp: finite,
  }),
  systemMessage,
]) satisfies z.ZodType<Message>;

const permissionRule = z.looseObject({
  permission: text,
  pattern: text,
  action: text,
}) satisfies z.ZodType<PermissionRule>;

const stats = z.looseObject({
  additions: finite,
  deletions: finite,
  files: finite,
  diffs: z.exactOptional(z.array(z.looseObject({ file: text, additions: finite, deletions: finite }))),
}) satisfies z.ZodType<SessionStats>;

const base = { id: text.min(1), parentId: z.nullable(text), timestamp: text };

const entries = {
  message: z.looseObject({ type: z.literal("message"), ...base, message }),
  thinking_level_change: z.looseObject({
    type: z.literal("thinking_level_change"),
    ...base,
    thinkingLevel: text,
  }),
  model_change: z.looseObject({ type: z.literal("model_change"), ...base, provider: text, modelId: text }),
  compaction: z.looseObject({
    type: z.literal("compaction"),
    ...base,
    summary: text,
    firstKeptEntryId: text,
    tokensBefore: finite,
    details: optionalAnything,
    fromHook: optionalFlag,
    usage: z.exactOptional(usage),
    systemMessage: z.exactOptional(systemMessage),
    retain: z.exactOptional(z.array(text)),
    strategy: optionalText,
    model: z.exactOptional(z.looseObject({ provider: text, modelId: text })),
  }),
  branch_summary: z.looseObject({
    type: z.literal("branch_summary"),
    ...base,
    fromId: text,
    summary: text,
    details: optionalAnything,
    fromHook: optionalFlag,
    usage: z.exactOptional(usage),
  }),
  custom: z.looseObject({ type: z.literal("custom"), ...base, customType: text, data: optionalAnything }),
  custom_message: z.looseObject({
    type: z.literal("custom_message"),
    ...base,
    customType: text,
    content: shown,
    display: flag,
    details: optionalAnything,
  }),
  label: z.looseObject({ type: z.literal("label"), ...base, targetId: text, label: optionalText }),
  session_info: z.looseObject({
    type: z.literal("session_info"),
    ...base,
    name: optionalText,
    title: optionalText,
    slug: optionalText,
    archivedAt: optionalText,
    share: z.exactOptional(z.looseObject({ url: text })),
    permission: z.exactOptional(z.array(permissionRule)),
    stats: z.exactOptional(stats),
  }),
  usage: z.looseObject({
    type: z.literal("usage"),
    ...base,
    kind: text,
    provider: text,
    model: text,
    usage,
    note: optionalText,
  }),
  context_edit: z.looseObject({
    type: z.literal("context_edit"),
    ...base,
    targetId: text,
    replacement: z.nullable(z.looseObject({ content: z.union([text, z.array(z.unknown())]) })),
  }),
  message_update: z.looseObject({ type: z.literal("message_update"), ...base, targetId: text, message }),
  part_update: z.looseObject({
    type: z.literal("part_update"),
    ...base,
    targetId: text,
    index: finite,
    part: z.discriminatedUnion("type", [textBlock, imageBlock, thinkingBlock, toolCall, opaqueBlock]),
  }),
  leaf: z.looseObject({ type: z.literal("leaf"), ...base, targetId: z.nullable(text), name: optionalText }),
  context_pin: z.looseObject({ type: z.literal("context_pin"), ...base, targetId: text, pinned: flag }),
  revert: z.looseObject({
    type: z.literal("revert"),
    ...base,
    targetId: text,
    partId: optionalText,
    snapshot: optionalText,
    diff: optionalText,
    undone: optionalFlag,
  }),
  resource_view: z.looseObject({
    type: z.literal("resource_view"),
    ...base,
    resourceId: text,
    reason: optionalText,
  }),
  resource_observation: z.looseObject({
    type: z.literal("resource_observation"),
    ...base,
    resourceId: text,
    text,
  }),
} satisfies { readonly [T in EntryType]: z.ZodType<SessionEntry & { readonly type: T }> };

/**
 * A whole entry of any type that this version knows: its fields, and `id`, `parentId` and `timestamp`. For a parsed JSON
 * line; fields that are not known stay. A type that is not known is no match, though a session keeps such a line.
 *
 * @example
 * ```ts
 * const entry = sessionEntrySchema.parse(json);
 * const documentation = z.toJSONSchema(sessionEntrySchema);
 * ```
 */
export const sessionEntrySchema: z.ZodType<SessionEntry> = z.discriminatedUnion("type", [
  entries.message,
  entries.thinking_level_change,
  entries.model_change,
  entries.compaction,
  entries.branch_summary,
  entries.custom,
  entries.custom_message,
  entries.label,
  entries.session_info,
  entries.usage,
  entries.context_edit,
  entries.message_update,
  entries.part_update,
  entries.leaf,
  entries.context_pin,
  entries.revert,
  entries.resource_view,
  entries.resource_observation,
]);

/**
 * The first line of a session. `timestamp` and `cwd` are always written; where another writer left them out they read as
 * empty, as they do for a session that is opened.
 *
 * @example
 * ```ts
 * const { id, cwd } = sessionHeaderSchema.parse(JSON.parse(headerLine));
 * ```
 */
export const sessionHeaderSchema: z.ZodType<SessionHeader> = z.looseObject({
  type: z.literal("session"),
  version: optionalFinite,
  id: text.min(1),
  timestamp: text.default(""),
  cwd: text.default(""),
  parentSession: optionalText,
  sessile: optionalFinite,
});
