/** Decides for each attachment of a request whether its bytes, its descriptor or nothing is sent, and why. */
import type { Context, ReplayDecision, ReplayPolicy, Resource, StoredResource } from "../content/index.js";
import { stringArgument } from "../core/arguments.js";
import { currentTurnStart, type Occurrence, occurrencesIn } from "./occurrences.js";
import type { AttachmentReason } from "./placeholder-text.js";
import { applyVerdict, type LeakageBoundary, replayCurrentTurn, type Transfer } from "./replay.js";
import { isSendable } from "./resources.js";

/** Options of {@link decideAttachments}. */
export interface DecideAttachmentsOptions {
  /** The target's name, such as `anthropic`, for the boundary. */
  readonly target: string;
  /** Default {@link replayCurrentTurn}. */
  readonly replay?: ReplayPolicy | undefined;
  /** Default allows all. */
  readonly boundary?: LeakageBoundary | undefined;
  /**
   * Whether the target takes a resource of an item although its type is unknown: a model's own medium goes
   * back as it came. Default none.
   */
  readonly takesUnknown?: ((resource: StoredResource, item: number) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The decision on one occurrence of a resource. */
export interface DecidedAttachment {
  readonly resource: Resource;
  readonly entryId: string;
  /** Index among the context's items. */
  readonly item: number;
  /** Index among the item's blocks. */
  readonly block: number;
  /** `full` allows to send the bytes. Whether they are stored is not known yet. */
  readonly decision: ReplayDecision;
  readonly reason: AttachmentReason;
  /** The observation of this occurrence, which is part of the descriptor. */
  readonly observation?: string | undefined;
}

/** The decisions on a context's resources. */
export interface AttachmentDecisions {
  /** One for each occurrence, in order. */
  readonly attachments: readonly DecidedAttachment[];
  /** Resource ids of views in the current turn that do not occur in the context. */
  readonly unplacedViews: readonly string[];
}

/**
 * Decides for each occurrence of a resource whether its bytes may be sent, its descriptor, or nothing. The
 * replay policy decides, and the boundary can reduce that. Links and bytes of unknown type are never sent.
 * Reads no blobs.
 */
export async function decideAttachments(
  context: Pick<Context, "items" | "views" | "observations">,
  options: DecideAttachmentsOptions,
): Promise<AttachmentDecisions> {
  const target = stringArgument("target", options?.target);
  const occurrences = occurrencesIn(context);
  const attachments: DecidedAttachment[] = [];
  options.signal?.throwIfAborted();
  for (const occurrence of occurrences) {
    const { resource, block, place, observation } = occurrence;
    const { entryId, item } = place;
    const decided = await decide(occurrence, target, options);
    attachments.push({ resource, entryId, item, block, ...decided, observation });
    options.signal?.throwIfAborted();
  }
  return { attachments, unplacedViews: unplacedViews(context, occurrences) };
}

type Decided = Pick<DecidedAttachment, "decision" | "reason">;

async function decide(
  occurrence: Occurrence,
  target: string,
  { replay = replayCurrentTurn, boundary, takesUnknown }: DecideAttachmentsOptions,
): Promise<Decided> {
  const { resource, place, observation } = occurrence;
  const isTaken = resource.kind !== "link" && takesUnknown?.(resource, place.item) === true;
  const decided =
    isTaken || isSendable(resource)
      ? byPolicy(replay(resource, place), occurrence)
      : describedOnly(occurrence, replay);
  const { decision: wanted } = decided;
  if (boundary === undefined || wanted === "omit") return decided;
  const intent = place.viewed ? "view" : place.currentTurn ? "attach" : "replay";
  const transfer: Transfer = {
    target,
    wanted,
    intent,
    place,
    ...(observation !== undefined && { observation }),
  };
  const decision = applyVerdict(wanted, await boundary(resource, transfer));
  return decision === wanted ? decided : { decision, reason: "boundary" };
}

function byPolicy(decision: ReplayDecision, { place: { viewed, currentTurn } }: Occurrence): Decided {
  switch (decision) {
    case "full":
      return { decision, reason: viewed ? "viewed" : currentTurn ? "currentTurn" : "replayed" };
    case "describe":
      return { decision, reason: currentTurn || viewed ? "policy" : "earlierTurn" };
    default:
      // Any other value that a policy returns omits the attachment.
      return { decision: "omit", reason: "policy" };
  }
}

/**
 * Links, and bytes of unknown type. For the reason, the policy is asked about such bytes of earlier turns.
 */
function describedOnly({ resource, place }: Occurrence, replay: ReplayPolicy): Decided {
  if (resource.kind === "link") return { decision: "describe", reason: "link" };
  const isEarlier = !place.currentTurn && !place.viewed && replay(resource, place) === "describe";
  return { decision: "describe", reason: isEarlier ? "earlierTurn" : "unknownType" };
}

function unplacedViews(
  context: Pick<Context, "items" | "views">,
  occurrences: readonly Occurrence[],
): readonly string[] {
  const known = new Set(occurrences.map(({ resource }) => resource.resourceId));
  const start = currentTurnStart(context);
  const viewed = context.views.flatMap(({ resourceId, item }) => (item >= start ? [resourceId] : []));
  return [...new Set(viewed)].filter((id) => !known.has(id));
}
