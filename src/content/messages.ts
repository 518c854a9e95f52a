import type { ImageBlock, OpaqueBlock, TextBlock, ThinkingBlock, ToolCall } from "./blocks.js";

/** Tokens of one provider call, and their cost in the provider's currency; `cost` is absent where it is not known. */
export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, where the provider counts it. */
  readonly cacheWrite1h?: number;
  readonly totalTokens?: number;
  readonly cost?: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly total: number;
  };
}

/**
 * Why a model stopped. Other writers have more of them, such as pi's `deferred` for a reply that the provider makes later:
 * one that is not listed reads as text, and its message as a complete one.
 */
export type StopReason =
  | "stop"
  | "length"
  | "toolUse"
  | "error"
  | "aborted"
  | (string & Record<never, never>);

/** What a person, or a program in a person's place, said. */
export interface UserMessage {
  readonly role: "user";
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /** Who said it, where several people speak. Untrusted text; a projection puts it before what was said. */
  readonly name?: string;
  /** The model that was chosen for the answer. A record: the model in force is that of the latest model_change or reply. */
  readonly model?: { readonly provider: string; readonly modelId: string };
  /** A variant of that model, such as `high` or `fast`. */
  readonly variant?: string;
  /** Where the person was: the working directory, and the root of the project around it. */
  readonly path?: { readonly cwd: string; readonly root?: string };
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** What a model answered. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly (TextBlock | ThinkingBlock | ToolCall | OpaqueBlock)[];
  readonly provider: string;
  /** The model that was asked, if the writer knows it: reasoning goes back to this one. Else the one that answered. */
  readonly model: string;
  /** The model that answered, if it names itself otherwise: a snapshot of an alias, a router's choice. A record. */
  readonly responseModel?: string;
  /** The provider's wire protocol, such as `anthropic-messages`. */
  readonly api?: string;
  readonly usage?: Usage;
  readonly stopReason?: StopReason;
  readonly errorMessage?: string;
  /** The message is a compaction summary that a model wrote as a message of its own. */
  readonly summary?: boolean;
  /** The agent's mode when it was made, such as `plan`. */
  readonly mode?: string;
  /** The provider's account that it was made with, where the harness has several: encrypted state is of use to that one alone. */
  readonly account?: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** What a tool gave back for one call. */
export interface ToolResultMessage {
  readonly role: "toolResult";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** For programs; never sent to a model. */
  readonly details?: unknown;
  /**
   * Calls that the tool made to other tools while it ran, as pi writes them since 1.5: `{ calls: [{ id, name, arguments?,
   * status }], complete }`. For the ledger of files; never sent to a model, and never checked.
   */
  readonly nestedCalls?: unknown;
  /** Of models that the tool called itself, as pi writes it; no part of the context's tokens. */
  readonly usage?: Usage;
  readonly isError: boolean;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A shell command that the user ran beside the conversation. */
export interface BashExecutionMessage {
  readonly role: "bashExecution";
  readonly command: string;
  readonly output: string;
  /** Absent or null when the command was killed. */
  readonly exitCode?: number | null;
  readonly cancelled: boolean;
  readonly truncated: boolean;
  readonly fullOutputPath?: string;
  /** The user asked that no model sees it. */
  readonly excludeFromContext?: boolean;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** A message that an extension put into the conversation. */
export interface CustomMessage {
  readonly role: "custom";
  readonly customType: string;
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /** Whether a person is shown it. */
  readonly display: boolean;
  /** For programs; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Instructions and tools declared to the model; later ones patch `sections` by name, where null removes one. */
export interface SystemMessage {
  readonly role: "system";
  readonly content: string | readonly TextBlock[];
  readonly sections?: Readonly<Record<string, string | null>>;
  readonly toolsAdded?: readonly unknown[];
  readonly toolsRemoved?: readonly unknown[];
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Every message that a session entry can hold. */
export type Message =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | BashExecutionMessage
  | CustomMessage
  | SystemMessage;

/** Stands in a context for the history that a compaction replaced. Never stored as a message. */
export interface CompactionSummaryMessage {
  readonly role: "compactionSummary";
  readonly summary: string;
  readonly tokensBefore: number;
  /** What the compaction's entry says for programs; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Stands in a context for a branch that was left. Never stored as a message. */
export interface BranchSummaryMessage {
  readonly role: "branchSummary";
  readonly summary: string;
  /** The leaf of the branch that was left, or `root`. */
  readonly fromId: string;
  /** What the entry says for programs; never sent to a model. */
  readonly details?: unknown;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
}

/** Every message that a context can hold. */
export type ContextMessage = Message | CompactionSummaryMessage | BranchSummaryMessage;
