import {
  type AssistantMessage,
  type ContextMessage,
  type Message,
  memorySessionStore,
  type Session,
  type StoredResource,
  type ToolCall,
  type ToolResultMessage,
  type Usage,
  type UserMessage,
} from "sessile";
import {
  type CompactionStrategy,
  type CompactOptions,
  compact,
  type Generate,
  type Generated,
  type GenerateOptions,
  type GeneratePrompt,
  type SummaryPrompt,
} from "sessile/compaction";

/** A message of a user. */
export function user(text: string, timestamp = 1): UserMessage {
  return { role: "user", content: text, timestamp };
}

/** A message of a model; `calls` are ids of calls of `read`. */
export function told(text: string, calls: readonly string[] = [], usage?: Usage): AssistantMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text }, ...calls.map(readCall)],
    provider: "p",
    model: "m",
    stopReason: calls.length > 0 ? "toolUse" : "stop",
    ...(usage === undefined ? {} : { usage }),
    timestamp: 2,
  };
}

function readCall(id: string): ToolCall {
  return { type: "toolCall", id, name: "read", arguments: { path: `${id}.ts` } };
}

/** The result of a call of `read`. */
export function gave(toolCallId: string, text: string): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId,
    toolName: "read",
    content: [{ type: "text", text }],
    isError: false,
    timestamp: 3,
  };
}

/** A usage of so many tokens. */
export function usage(input: number, more: Partial<Usage> = {}): Usage {
  return { input, output: 0, cacheRead: 0, cacheWrite: 0, ...more };
}

/** A picture's descriptor. */
export const attachment: StoredResource = {
  resourceId: "res_00000000000000aa",
  kind: "image",
  name: "a.png",
  mediaType: "image/png",
  size: 3072,
  contentSha256: "a".repeat(64),
  blob: `sha256:${"a".repeat(64)}`,
  source: "import",
};

/** The characters that a message says: an estimator whose sums a reader can check. */
export function lengthOf(message: ContextMessage): number {
  switch (message.role) {
    case "compactionSummary":
    case "branchSummary":
      return message.summary.length;
    case "bashExecution":
      return message.command.length + message.output.length;
    default: {
      if (typeof message.content === "string") return message.content.length;
      return message.content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
    }
  }
}

/** A session of these messages, in memory. */
export async function sessionOf(messages: readonly Message[], cwd = "/w"): Promise<Session> {
  const session = await memorySessionStore({ inline: "allow" }).create({ cwd });
  if (messages.length > 0) await session.append(messages.map((message) => ({ type: "message", message })));
  return session;
}

/** A model that gives one answer after the other, the last for good; an error is thrown. */
export interface ScriptedModel {
  readonly generate: Generate;
  readonly prompts: GeneratePrompt[];
  readonly options: GenerateOptions[];
}

/** A model of answers, texts or more. */
export function scripted(...answers: readonly (string | Generated | Error)[]): ScriptedModel {
  const prompts: GeneratePrompt[] = [];
  const options: GenerateOptions[] = [];
  return {
    prompts,
    options,
    generate: async (prompt, asked) => {
      const answer = answers[Math.min(prompts.length, answers.length - 1)] ?? "Done.";
      prompts.push(prompt);
      options.push(asked);
      if (answer instanceof Error) throw answer;
      return typeof answer === "string" ? { text: answer } : answer;
    },
  };
}

/** What a provider says of a request that is too long. */
export const tooLong = new Error("prompt is too long: 213462 tokens > 200000 maximum");

export const shortPrompt: SummaryPrompt = {
  system: "SYSTEM",
  instructions: "INSTRUCTIONS",
  update: "UPDATE",
  maxTokens: 20,
};

/** Keeps so many items of the end, and summarises the others in one text; `limit` as given. */
export function keepLast(count: number, more: Partial<CompactionStrategy> = {}): CompactionStrategy {
  return {
    name: "keep-last",
    limit: (window) => window,
    shouldCompact: (_, { window, tokens }) => tokens > window,
    choose: ({ items }) => {
      const keepFrom = Math.max(0, items.length - count);
      return { keepFrom, parts: [{ items: items.slice(0, keepFrom), prompt: shortPrompt }] };
    },
    ...more,
  };
}

/** {@link compact} with a strategy that keeps one item, no waiting, and {@link lengthOf}. */
export function compactNow(
  session: Session,
  options: Partial<CompactOptions> & Pick<CompactOptions, "generate">,
) {
  return compact(session, {
    strategy: keepLast(1),
    window: 1000,
    estimate: lengthOf,
    generateWindow: 100_000,
    ...options,
    retry: { delayMs: () => 0, ...options.retry },
  });
}

/** What a context says, message for message. */
export async function saidIn(session: Session): Promise<readonly string[]> {
  const { items } = await session.context();
  return items.map(({ message }) => `${message.role}: ${textOf(message)}`);
}

/** The text of a message. */
export function textOf(message: ContextMessage): string {
  switch (message.role) {
    case "compactionSummary":
    case "branchSummary":
      return message.summary;
    case "bashExecution":
      return message.output;
    default: {
      if (typeof message.content === "string") return message.content;
      return message.content
        .map((block) => (block.type === "text" ? block.text : `<${block.type}>`))
        .join("");
    }
  }
}
