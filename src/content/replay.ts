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
}

/** Decides, for each attachment of each request, what is sent. Pure: the order of its calls has no meaning. */
export type ReplayPolicy = (resource: StoredResource, place: ReplayPlace) => ReplayDecision;
