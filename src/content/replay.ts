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
  /** The item belongs to the latest user message or follows it. */
  readonly currentTurn: boolean;
  /** A resource view at or after the latest user message asks for it. */
  readonly viewed: boolean;
}

/** Decides, for each attachment of each request, what is sent. */
export type ReplayPolicy = (resource: StoredResource, place: ReplayPlace) => ReplayDecision;
