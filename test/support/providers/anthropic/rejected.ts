import { rejectedFields } from "./rejected-fields.js";
import { rejectedMedia } from "./rejected-media.js";
import { rejectedTurns } from "./rejected-turns.js";

/** A request that breaks one rule and is valid in every other way. */
export interface RejectedRequest {
  readonly rule: string;
  readonly why: string;
  /** What the API says the place is. */
  readonly path: string;
  readonly body: unknown;
}

/** For every rule at least one. */
export const rejectedRequests: readonly RejectedRequest[] = [
  ...rejectedFields,
  ...rejectedTurns,
  ...rejectedMedia,
].map(([rule, why, path, body]) => ({ rule, why, path, body }));
