/** What a scripted model answers, and what a run of an agent is: data, since they cross to another process. */

import type { AgentName } from "./agents.js";

export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  /** A string is the input of a custom tool of the Responses API. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
  /** Of the Responses API. */
  readonly namespace?: string;
}

/** One reply of the model. */
export interface ScriptedReply {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** @default 100 */
  readonly inputTokens?: number;
}

/** The replies of a model in the order of the requests. After the last it answers `done N`. */
export interface Script {
  readonly replies?: readonly ScriptedReply[];
  /** The reply to a request without tools, such as one for a title or, in Gemini CLI, a summary. @default "title" */
  readonly aside?: ScriptedReply;
}

/** A request as the model received it. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  /** Parsed if it is JSON. */
  readonly body: unknown;
  /** The index of the command that was running. */
  readonly command: number;
}

/** A command of an agent: its arguments, and a conversation with it if it is a server. */
export interface AgentCommand {
  readonly args: readonly string[];
  readonly stdin?: string;
  /** JSON-RPC over standard input and output, one call after the other, as `codex app-server` has it. */
  readonly rpc?: readonly { readonly method: string; readonly params: unknown; readonly notify?: boolean }[];
  /** HTTP requests to the URL that the command prints, one after the other, as `opencode serve` has it. */
  readonly http?: readonly { readonly method: string; readonly path: string; readonly body?: unknown }[];
  /** @default 90 */
  readonly seconds?: number;
}

/** The end of a command. */
export interface CommandResult {
  /** Null if the time limit or the end of a conversation stopped it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The answers to `rpc` or `http`, in order: a result, or `{ error }`. */
  readonly answers: readonly unknown[];
}

/** A run of an agent as the process in the namespace gets it. */
export interface RunOrder {
  readonly agent: AgentName;
  readonly program: readonly string[];
  readonly home: string;
  readonly work: string;
  readonly commands: readonly AgentCommand[];
  readonly script: Script;
  readonly environment: Readonly<Record<string, string>>;
}

export interface RunResult {
  readonly requests: readonly RecordedRequest[];
  readonly results: readonly CommandResult[];
}
