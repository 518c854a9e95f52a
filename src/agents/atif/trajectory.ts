/**
 * The shapes of ATIF, the Agent Trajectory Interchange Format of Harbor, as far as an export writes them.
 * Unknown members are refused by its validator; `extra` takes any.
 *
 * @see https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md (1.7) and the
 *   models of its package for 1.8, which adds audio (stored copies, 2026-11-23)
 */

/** A document: one path of a session. */
export interface AtifTrajectory {
  readonly schema_version: "ATIF-v1.7" | "ATIF-v1.8";
  /** The id of the session. */
  readonly session_id: string;
  /** Unique among the subagents of a document. */
  readonly trajectory_id: string;
  readonly agent: AtifAgent;
  /** At least one. */
  readonly steps: readonly AtifStep[];
  readonly final_metrics?: AtifFinalMetrics;
  readonly subagent_trajectories?: readonly AtifTrajectory[];
  readonly extra?: AtifExtra;
}

/** Members of any names. This library's are in `sessile`. */
export type AtifExtra = Readonly<Record<string, unknown>>;

/** The agent of a document, and its model. */
export interface AtifAgent {
  readonly name: string;
  readonly version: string;
  readonly model_name?: string;
}

/** A message. Calls, reasoning and metrics are only of the source `agent`. */
export interface AtifStep {
  /** From 1, without gaps. */
  readonly step_id: number;
  /** ISO 8601. */
  readonly timestamp?: string;
  readonly source: "system" | "user" | "agent";
  readonly message: AtifContent;
  readonly model_name?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly AtifToolCall[];
  readonly observation?: { readonly results: readonly AtifResult[] };
  readonly metrics?: AtifMetrics;
  /** Shown again to the model, such as after a compaction: no part of training data. */
  readonly is_copied_context?: boolean;
  readonly llm_call_count?: number;
  readonly extra?: AtifExtra;
}

/** Text, or parts with media. */
export type AtifContent = string | readonly AtifPart[];

/** A part of a content: text, or a file beside the document. */
export type AtifPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly source: AtifSource };

/** The location of a part's file. */
export interface AtifSource {
  readonly media_type: string;
  /** Relative to the document. */
  readonly path: string;
}

/** A call of a tool. */
export interface AtifToolCall {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The result of a call. */
export interface AtifResult {
  /** A call of the same step. */
  readonly source_call_id: string;
  readonly content: AtifContent;
  readonly subagent_trajectory_ref?: readonly {
    readonly trajectory_id: string;
    readonly session_id: string;
  }[];
  readonly extra?: AtifExtra;
}

/** Tokens and cost in US dollars. The prompt includes cached tokens. */
export interface AtifMetrics {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly cost_usd?: number;
  readonly extra?: AtifExtra;
}

/** Sums over all steps. */
export interface AtifFinalMetrics {
  readonly total_prompt_tokens: number;
  readonly total_completion_tokens: number;
  readonly total_cached_tokens: number;
  readonly total_cost_usd?: number;
  readonly total_steps: number;
  readonly extra?: AtifExtra;
}

/** Media types that a part can have, and the extension of their files. */
export const imageTypes: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/gif": "gif",
  "image/webp": "webp",
};
export const audioTypes: Readonly<Record<string, string>> = {
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "audio/aac": "aac",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
  "audio/webm": "webm",
  "audio/aiff": "aiff",
};
