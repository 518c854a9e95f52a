import type { ReplayDecision, ReplayPlace, Resource } from "../content/index.js";

/** What is about to leave this machine, for a {@link LeakageBoundary} to judge. */
export interface Transfer {
  /** Where it would go: the name that the request was planned for. */
  readonly target: string;
  /** What would be sent of it: its bytes, or its descriptor alone. */
  readonly wanted: Exclude<ReplayDecision, "omit">;
  /** Why: it was attached in this turn, a view asks for it, or it is part of the history that is sent again. */
  readonly intent: "attach" | "view" | "replay";
  readonly place: ReplayPlace;
  /** What was seen in it, which its descriptor tells; absent where nothing was recorded for this place. */
  readonly observation?: string;
}

/** `allow` what is wanted, `describe` it and keep the bytes, or `refuse`: not even the descriptor leaves. */
export type LeakageVerdict = "allow" | "describe" | "refuse";

/**
 * Stands between a session and whoever its resources are sent to. Asked for each place of each resource of each request,
 * links too; it can send less than the replay policy wants, never more. May take its time, such as to ask a person.
 */
export type LeakageBoundary = (
  resource: Resource,
  transfer: Transfer,
) => LeakageVerdict | Promise<LeakageVerdict>;

/** What is left of what the policy wants. */
export function bounded(wanted: ReplayDecision, verdict: LeakageVerdict): ReplayDecision {
  if (verdict === "allow") return wanted;
  // Anything else that a boundary might say is a no.
  return verdict === "describe" && wanted !== "omit" ? "describe" : "omit";
}
