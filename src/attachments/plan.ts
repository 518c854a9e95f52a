import type { BlobStore } from "../blobs/index.js";
import type { Context, ReplayDecision, ReplayPolicy, Resource } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { stringArgument } from "../internal/arguments.js";
import { bounded, type LeakageBoundary } from "./boundary.js";
import { isSendable, type Place, placesIn } from "./places.js";
import { replayCurrentTurn } from "./replay.js";
import { type AttachmentReason, placeText } from "./texts.js";
import { currentTurnStart } from "./turn.js";

/** Options of {@link planAttachments}. */
export interface PlanAttachmentsOptions {
  /** Where the request goes, such as `anthropic`; told to the boundary. */
  readonly target: string;
  /** Default {@link replayCurrentTurn}. */
  readonly replay?: ReplayPolicy;
  /** Default allows all. */
  readonly boundary?: LeakageBoundary;
  /** Where the bytes are. Without it none are sent, and each place says that they are missing. */
  readonly blobs?: Pick<BlobStore, "get">;
  readonly signal?: AbortSignal;
}

/** What one request makes of a resource at one place. */
export interface PlannedAttachment {
  readonly resource: Resource;
  readonly entryId: string;
  /** Index among the context's items. */
  readonly item: number;
  /** Index among the item's blocks. */
  readonly block: number;
  readonly decision: ReplayDecision;
  readonly reason: AttachmentReason;
  /** What stands at the place in words: the descriptor, and why there is no more; empty where it is omitted. */
  readonly text: string;
  /** To be sent after the text; there if and only if the decision is `full`. Verified against their digest. */
  readonly bytes?: Uint8Array;
}

/** What one request makes of a context's resources. */
export interface AttachmentPlan {
  /** One for each place of a resource in the context, in order. */
  readonly attachments: readonly PlannedAttachment[];
  /** Ids that a view of the current turn asks for and the context does not hold. */
  readonly unplacedViews: readonly string[];
}

/**
 * Decides, for each place of a resource in a context, whether its bytes are sent, its descriptor, or nothing, and says why;
 * a projection only has to render it. The policy decides, the boundary can lessen. A resource's bytes go at most once in a
 * request. Links and bytes of unknown type are only ever described. Bytes that are missing or damaged leave a text that
 * says so: it is never pretended that they were seen.
 *
 * @throws SessileError what the blob store throws, besides BLOB_CORRUPT
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * const plan = await planAttachments(await session.context(), { target: "anthropic", blobs });
 * for (const { resource, decision, reason } of plan.attachments) console.log(resource.resourceId, decision, reason);
 * ```
 */
export async function planAttachments(
  context: Pick<Context, "items" | "views">,
  options: PlanAttachmentsOptions,
): Promise<AttachmentPlan> {
  const target = stringArgument("target", options?.target);
  const places = placesIn(context);
  const payload = payloadReader(options);
  const sent = new Set<string>();
  const attachments: PlannedAttachment[] = [];
  for (const at of places) {
    options.signal?.throwIfAborted();
    const { resource, block, place } = at;
    const { entryId, item } = place;
    let { decision, reason } = await decide(at, target, options);
    let bytes: Uint8Array | undefined;
    if (decision === "full" && isSendable(resource)) {
      if (sent.has(resource.resourceId)) [decision, reason] = ["describe", "sentAlready"];
      else {
        const found = await payload(resource.blob);
        if (typeof found === "string") [decision, reason] = ["describe", found];
        else {
          bytes = found;
          sent.add(resource.resourceId);
        }
      }
    }
    const text = placeText(resource, decision, reason);
    const planned = { resource, entryId, item, block, decision, reason, text };
    attachments.push(bytes === undefined ? planned : { ...planned, bytes });
  }
  return { attachments, unplacedViews: unplacedViews(context, places) };
}

interface Decided {
  readonly decision: ReplayDecision;
  readonly reason: AttachmentReason;
}

async function decide(
  { resource, place }: Place,
  target: string,
  { replay = replayCurrentTurn, boundary }: PlanAttachmentsOptions,
): Promise<Decided> {
  const policy = isSendable(resource) ? byPolicy(replay(resource, place), place) : neverSent(resource);
  const { decision: wanted } = policy;
  if (boundary === undefined || wanted === "omit") return policy;
  const intent = place.viewed ? "view" : place.currentTurn ? "attach" : "replay";
  const decision = bounded(wanted, await boundary(resource, { target, wanted, intent, place }));
  return decision === wanted ? policy : { decision, reason: "boundary" };
}

function byPolicy(decision: ReplayDecision, { viewed, currentTurn }: Place["place"]): Decided {
  if (decision === "full")
    return { decision, reason: viewed ? "viewed" : currentTurn ? "currentTurn" : "replayed" };
  return { decision, reason: decision === "describe" && !currentTurn && !viewed ? "earlierTurn" : "policy" };
}

function neverSent(resource: Resource): Decided {
  return { decision: "describe", reason: resource.kind === "link" ? "link" : "unknownType" };
}

type Payload = Uint8Array | "missing" | "corrupt";

/** Reads each blob once, however many places ask for it. */
function payloadReader({ blobs, signal }: PlanAttachmentsOptions): (ref: Ref) => Promise<Payload> {
  const read = new Map<Ref, Promise<Payload>>();
  return (ref) => {
    const known = read.get(ref) ?? readPayload(blobs, ref, signal);
    read.set(ref, known);
    return known;
  };
}

type Ref = Parameters<BlobStore["get"]>[0];

/** The bytes of a blob, or why there are none. */
export async function readPayload(
  blobs: Pick<BlobStore, "get"> | undefined,
  ref: Ref,
  signal: AbortSignal | undefined,
): Promise<Payload> {
  try {
    return (await blobs?.get(ref, signal === undefined ? {} : { signal })) ?? "missing";
  } catch (error) {
    if (SessileError.is(error, "BLOB_CORRUPT")) return "corrupt";
    throw error;
  }
}

function unplacedViews(
  context: Pick<Context, "items" | "views">,
  places: readonly Place[],
): readonly string[] {
  const placed = new Set(places.map(({ resource }) => resource.resourceId));
  const start = currentTurnStart(context);
  const asked = context.views.flatMap(({ resourceId, item }) => (item >= start ? [resourceId] : []));
  return [...new Set(asked)].filter((id) => !placed.has(id));
}
