import type { Context, ReplayDecision, ReplayPolicy, Resource } from "../content/index.js";
import { stringArgument } from "../internal/arguments.js";
import { currentTurnStart, type Occurrence, occurrencesIn } from "./occurrences.js";
import type { AttachmentReason } from "./placeholder-text.js";
import { applyVerdict, type LeakageBoundary, replayCurrentTurn } from "./replay.js";
import { isSendable } from "./resources.js";

/** Options of {@link decideAttachments}. */
export interface DecideAttachmentsOptions {
  /** Where the request goes, such as `anthropic`; told to the boundary. */
  readonly target: string;
  /** Default {@link replayCurrentTurn}. */
  readonly replay?: ReplayPolicy;
  /** Default allows all. */
  readonly boundary?: LeakageBoundary;
  readonly signal?: AbortSignal;
}

/** What is to become of a resource at one place. */
export interface DecidedAttachment {
  readonly resource: Resource;
  readonly entryId: string;
  /** Index among the context's items. */
  readonly item: number;
  /** Index among the item's blocks. */
  readonly block: number;
  /** `full` says that the bytes may go: whether they are there is for whoever reads them to see. */
  readonly decision: ReplayDecision;
  readonly reason: AttachmentReason;
  /** What was seen in it when it stood here; part of its descriptor. */
  readonly observation?: string;
}

/** What is to become of a context's resources. */
export interface AttachmentDecisions {
  /** One for each place of a resource in the context, in order. */
  readonly attachments: readonly DecidedAttachment[];
  /** Ids that a view of the current turn asks for and the context does not hold. */
  readonly unplacedViews: readonly string[];
}

/**
 * Decides, for each place of a resource in a context, whether its bytes may be sent, its descriptor, or nothing. The policy
 * decides, the boundary can lessen; links and bytes of unknown type are only ever described. Nothing is read.
 */
export async function decideAttachments(
  context: Pick<Context, "items" | "views" | "observations">,
  options: DecideAttachmentsOptions,
): Promise<AttachmentDecisions> {
  const target = stringArgument("target", options?.target);
  const places = occurrencesIn(context);
  const attachments: DecidedAttachment[] = [];
  options.signal?.throwIfAborted();
  for (const at of places) {
    const { resource, block, place } = at;
    const { entryId, item } = place;
    const decided = await decide(at, target, options);
    attachments.push({ resource, entryId, item, block, ...decided, ...observationOf(at) });
    options.signal?.throwIfAborted();
  }
  return { attachments, unplacedViews: unplacedViews(context, places) };
}

type Decided = Pick<DecidedAttachment, "decision" | "reason">;

function observationOf({ observation }: Occurrence): { readonly observation?: string } {
  return observation === undefined ? {} : { observation };
}

async function decide(
  at: Occurrence,
  target: string,
  { replay = replayCurrentTurn, boundary }: DecideAttachmentsOptions,
): Promise<Decided> {
  const { resource, place } = at;
  const policy = isSendable(resource) ? byPolicy(replay(resource, place), place) : describedOnly(at, replay);
  const { decision: wanted } = policy;
  if (boundary === undefined || wanted === "omit") return policy;
  const intent = place.viewed ? "view" : place.currentTurn ? "attach" : "replay";
  const transfer = { target, wanted, intent, place, ...observationOf(at) } as const;
  const decision = applyVerdict(wanted, await boundary(resource, transfer));
  return decision === wanted ? policy : { decision, reason: "boundary" };
}

function byPolicy(decision: ReplayDecision, { viewed, currentTurn }: Occurrence["place"]): Decided {
  switch (decision) {
    case "full":
      return { decision, reason: viewed ? "viewed" : currentTurn ? "currentTurn" : "replayed" };
    case "describe":
      return { decision, reason: currentTurn || viewed ? "policy" : "earlierTurn" };
    default:
      // Anything else that a policy might say is a no.
      return { decision: "omit", reason: "policy" };
  }
}

/** What is described in any case. Of unknown bytes of an earlier turn the policy tells whether it wanted them. */
function describedOnly({ resource, place }: Occurrence, replay: ReplayPolicy): Decided {
  if (resource.kind === "link") return { decision: "describe", reason: "link" };
  const isHeldBack = !place.currentTurn && !place.viewed && replay(resource, place) === "describe";
  return { decision: "describe", reason: isHeldBack ? "earlierTurn" : "unknownType" };
}

function unplacedViews(
  context: Pick<Context, "items" | "views">,
  places: readonly Occurrence[],
): readonly string[] {
  const placed = new Set(places.map(({ resource }) => resource.resourceId));
  const start = currentTurnStart(context);
  const asked = context.views.flatMap(({ resourceId, item }) => (item >= start ? [resourceId] : []));
  return [...new Set(asked)].filter((id) => !placed.has(id));
}
