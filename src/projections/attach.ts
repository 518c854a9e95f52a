import {
  type AttachmentReason,
  attachmentText,
  type DecidedAttachment,
  decideAttachments,
  type LeakageBoundary,
  replayCurrentTurn,
} from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import type { Context, ReplayPolicy } from "../content/index.js";
import type { AttachmentDraft } from "./draft.js";
import { hydrate } from "./hydrate.js";
import { type InlineImage, inlineAsResources } from "./inline.js";
import type { LossList } from "./loss.js";
import type { ReferenceCache } from "./references.js";
import type { ResizeImage } from "./resize.js";
import type { Target } from "./target.js";
import { describeInline, notShown } from "./words.js";

/** What deciding on attachments, and reading them, needs. */
export interface AttachOptions {
  readonly blobs?: Pick<BlobStore, "get">;
  readonly replay?: ReplayPolicy;
  readonly boundary?: LeakageBoundary;
  readonly references?: ReferenceCache;
  readonly resize?: ResizeImage;
  readonly signal?: AbortSignal;
  /** Milliseconds since 1970, to see whether a reference has expired. */
  readonly now: () => number;
}

/** Why an attachment is sent as it is: the reasons of a policy, and those of the target. */
export type SendReason = AttachmentReason | "invalid" | "unsupported" | "overLimit";

/** What became of one place of an attachment. */
export interface AttachmentReport {
  readonly entryId: string;
  readonly block: number;
  /** Absent for an image that is inline in its message. */
  readonly resourceId?: string;
  /** What of it is in the request: `text` is a document's own text, `descriptor` words about it. */
  readonly sent: "bytes" | "reference" | "text" | "descriptor" | "nothing";
  readonly reason: SendReason;
}

/** A place with what was decided on it, for the stages that follow. */
export interface AttachmentWork {
  readonly draft: AttachmentDraft;
  readonly decided: DecidedAttachment;
  /** Where the image is inline in its message. */
  readonly inline: InlineImage | undefined;
  /** Another place of the same resource that has its bytes. */
  carrier?: AttachmentWork;
  /** Its text is in the request. */
  asText?: true;
  reason: SendReason;
}

/** Every place of an attachment, settled but for limits, and what a view asked for in vain. */
export interface AttachmentWorks {
  readonly works: readonly AttachmentWork[];
  readonly unplacedViews: readonly string[];
  /** Places, as {@link placeKey} names them, of which nothing may leave. */
  readonly omitted: ReadonlySet<string>;
}

/** The name of a block's place in a context. */
export function placeKey(item: number, block: number | undefined): string {
  return `${item} ${block}`;
}

/**
 * Decides on every attachment of a context, reads those that are to be sent and that the target takes, and gives each place
 * its words. Inline images are sent unless a policy of the caller's says otherwise: no view could bring them back.
 */
export async function attach(
  context: Pick<Context, "items" | "views">,
  drafts: readonly AttachmentDraft[],
  target: Target<unknown>,
  options: AttachOptions,
  losses: LossList,
): Promise<AttachmentWorks> {
  if (drafts.length === 0 && context.views.length === 0 && options.boundary === undefined) {
    return { works: [], unplacedViews: [], omitted: new Set() };
  }
  const { replay, boundary, signal } = options;
  const named = replay !== undefined || boundary !== undefined || options.references !== undefined;
  const { context: all, images } = inlineAsResources(context, named);
  const policy: ReplayPolicy = (resource, place) =>
    replay === undefined && images.has(resource.resourceId)
      ? "full"
      : (replay ?? replayCurrentTurn)(resource, place);
  const { attachments, unplacedViews } = await decideAttachments(all, {
    target: target.name,
    replay: policy,
    ...(boundary === undefined ? {} : { boundary }),
    ...(signal === undefined ? {} : { signal }),
  });
  const byPlace = new Map(drafts.map((draft) => [placeKey(draft.origin.item, draft.origin.block), draft]));
  const omitted = new Set<string>();
  const works = attachments.flatMap((decided): AttachmentWork[] => {
    const key = placeKey(decided.item, decided.block);
    if (decided.decision === "omit") omitted.add(key);
    const draft = byPlace.get(key);
    const inline = images.get(decided.resource.resourceId);
    if (draft === undefined) return [];
    return [{ draft, decided, inline, reason: decided.reason }];
  });
  for (const work of works) describeWork(work, losses);
  await hydrate(works, target, options, losses);
  return { works, unplacedViews, omitted };
}

/** The words of a place by its decision, and the loss where a policy is why there are no more than words. */
function describeWork(work: AttachmentWork, losses: LossList): void {
  const { draft, decided, inline } = work;
  const { resource, decision, reason } = decided;
  if (inline === undefined) draft.text = attachmentText(resource, decision, reason);
  else if (decision === "describe") draft.text = notShown(descriptor(work), "it was withheld");
  const { resourceId } = resource;
  const known = inline === undefined ? { resourceId } : {};
  if (decision === "omit") {
    const why = reason === "boundary" ? "the boundary refuses it" : "the replay policy omits it";
    losses.add(draft.origin, { code: "omitted", by: "policy", ...known, reason: why });
  } else if (decision === "describe" && reason !== "link") {
    const by = reason === "unknownType" ? "target" : "policy";
    const why = {
      earlierTurn: "an attachment of an earlier turn",
      boundary: "the boundary keeps its bytes",
      unknownType: "its type is unknown",
    };
    losses.add(draft.origin, {
      code: by === "target" ? "unsupported" : "described",
      by,
      ...known,
      reason: reason in why ? why[reason as keyof typeof why] : "the replay policy describes it",
      instead: draft.text,
    });
  }
}

/** What names an attachment in words. */
export function descriptor({ decided: { resource }, inline }: AttachmentWork): string {
  return inline === undefined
    ? attachmentText(resource, "full", "currentTurn")
    : describeInline(resource as Parameters<typeof describeInline>[0]);
}

/** What became of each place. */
export function reportOf({ draft, decided, inline, reason, asText }: AttachmentWork): AttachmentReport {
  const { entryId, block, resource } = decided;
  const known = inline === undefined ? { resourceId: resource.resourceId } : {};
  const words = draft.text === "" ? "nothing" : asText === true ? "text" : "descriptor";
  const sent = draft.media === undefined ? words : draft.media.type === "reference" ? "reference" : "bytes";
  return { entryId, block, ...known, sent, reason };
}
