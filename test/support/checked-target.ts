import type { Target } from "sessile";
import type { HazardMaker } from "../arbitraries/hazards.js";

/** A target, and what its provider has to say of what it gives. */
export interface CheckedTarget {
  readonly name: string;
  readonly target: Target<object>;
  /** Every breach of the provider's rules; none where it takes the request. */
  readonly breaches: (value: object) => readonly unknown[];
  /** Models that speak in the session, the target's own first. */
  readonly makers: readonly HazardMaker[];
  /** False where only the latest turn is sent. */
  readonly keepsPrefix: boolean;
  /** Instructions stand among the turns, so that others are another beginning. */
  readonly tellsInstructions?: true;
}

/** A model that no target is of. */
export const foreign: HazardMaker = { provider: "elsewhere", model: "other-1", api: "other-api" };
