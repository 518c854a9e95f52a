/**
 * Whether a message is one of the common kinds and fits it, with nothing unusual: a quick yes, which saves the whole check
 * for nearly every message of a session. A no says nothing: then {@link messageProblem} has to be asked.
 */
export function isPlainMessage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const message = value as PlainFields;
  if (!Number.isFinite(message.timestamp)) return false;
  const { content } = message;
  switch (message.role) {
    case "user":
      return (
        message.name === undefined &&
        message.model === undefined &&
        message.variant === undefined &&
        message.path === undefined &&
        (typeof content === "string" || hasPlainBlocks(content, false))
      );
    case "toolResult":
      return (
        typeof message.toolCallId === "string" &&
        typeof message.toolName === "string" &&
        typeof message.isError === "boolean" &&
        hasPlainBlocks(content, false)
      );
    case "assistant":
      return (
        typeof message.provider === "string" &&
        typeof message.model === "string" &&
        (message.responseModel === undefined || typeof message.responseModel === "string") &&
        typeof message.api === "string" &&
        typeof message.stopReason === "string" &&
        message.errorMessage === undefined &&
        message.summary === undefined &&
        message.mode === undefined &&
        message.account === undefined &&
        isPlainUsage(message.usage) &&
        hasPlainBlocks(content, true)
      );
    default:
      return false;
  }
}

/** The fields that are looked at, of whatever type. */
type PlainFields = Readonly<
  Partial<
    Record<
      | "role"
      | "content"
      | "timestamp"
      | "toolCallId"
      | "toolName"
      | "isError"
      | "provider"
      | "model"
      | "responseModel"
      | "api"
      | "stopReason"
      | "errorMessage"
      | "summary"
      | "mode"
      | "account"
      | "name"
      | "variant"
      | "path"
      | "usage",
      unknown
    >
  >
>;

interface PlainBlock {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly resource?: unknown;
  readonly textSignature?: unknown;
  readonly thinking?: unknown;
  readonly thinkingSignature?: unknown;
  readonly redacted?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly thoughtSignature?: unknown;
}

function hasPlainBlocks(content: unknown, assistant: boolean): boolean {
  if (!Array.isArray(content)) return false;
  for (let i = 0; i < content.length; i++) {
    const block = content[i] as PlainBlock | null | undefined;
    if (typeof block !== "object" || block === null) return false;
    if (block.type === "text") {
      if (typeof block.text !== "string" || block.resource !== undefined || block.textSignature !== undefined)
        return false;
    } else if (!assistant) {
      return false;
    } else if (block.type === "toolCall") {
      if (
        typeof block.id !== "string" ||
        typeof block.name !== "string" ||
        block.namespace !== undefined ||
        block.thoughtSignature !== undefined
      )
        return false;
    } else if (block.type === "thinking") {
      const { thinking, thinkingSignature: signature, redacted } = block;
      if (typeof thinking !== "string" || redacted !== undefined) return false;
      if (signature !== undefined && typeof signature !== "string") return false;
    } else {
      return false;
    }
  }
  return true;
}

interface PlainUsage {
  readonly input?: unknown;
  readonly output?: unknown;
  readonly cacheRead?: unknown;
  readonly cacheWrite?: unknown;
  readonly cacheWrite1h?: unknown;
  readonly totalTokens?: unknown;
  readonly cost?: (PlainUsage & { readonly total?: unknown }) | null;
}

function isPlainUsage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const usage = value as PlainUsage;
  const { cost, cacheWrite1h } = usage;
  if (!hasCounts(usage) || !Number.isFinite(usage.totalTokens)) return false;
  if (cacheWrite1h !== undefined && !Number.isFinite(cacheWrite1h)) return false;
  if (cost === undefined) return true;
  return typeof cost === "object" && cost !== null && hasCounts(cost) && Number.isFinite(cost.total);
}

function hasCounts({ input, output, cacheRead, cacheWrite }: PlainUsage): boolean {
  return (
    Number.isFinite(input) &&
    Number.isFinite(output) &&
    Number.isFinite(cacheRead) &&
    Number.isFinite(cacheWrite)
  );
}
