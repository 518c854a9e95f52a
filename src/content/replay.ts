import type { StoredResource } from "./resource.js";

/**
 * What becomes of an attachment's bytes in one request. `full`: the bytes are sent. `describe`: the descriptor text
 * stands in their place. `omit`: neither bytes nor descriptor leave.
 */
export type ReplayDecision = "full" | "describe" | "omit";

/** Where in the context a resource stands, for a {@link ReplayPolicy} to decide by. */
export interface ReplayPlace {
  readonly entryId: string;
  /** Index among the context's items. */
  readonly item: number;
  /** The item belongs to the current turn: to the latest user message, or to what follows it. */
  readonly currentTurn: boolean;
  /**
   * A resource view of the current turn brings it back here: at its latest place before the turn, where it has none in
   * the turn.
   */
  readonly viewed: boolean;
  /** The other resources that could be sent and stand behind it, each once. */
  readonly newer: {
    readonly count: number;
    /** Bytes. */
    readonly bytes: number;
  };
  /**
   * What stands before it, and in the whole context, counted from the start: `before` stays what it is while the context
   * grows. Each place counts. Absent for a resource that only a summary names.
   */
  readonly history?: { readonly before: ReplayAmount; readonly all: ReplayAmount };
}

/** Attachments that could be sent, and turns. */
export interface ReplayAmount {
  /** Estimated as for the `anthropic` family, whatever the target. */
  readonly tokens: number;
  readonly images: number;
  readonly turns: number;
}

/** Decides, for each attachment of each request, what is sent. Pure: the order of its calls has no meaning. */
export type ReplayPolicy = (resource: StoredResource, place: ReplayPlace) => ReplayDecision;
