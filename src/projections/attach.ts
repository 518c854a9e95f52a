import { attachmentText, decideAttachments, replayCurrentTurn } from "../attachments/index.js";
import type { Context, ReplayPolicy } from "../content/index.js";
import type { AttachmentDraft } from "./draft.js";
import { hydrate } from "./hydrate.js";
import { inlineAsResources } from "./inline.js";
import type { LossList } from "./loss.js";
import { notShown } from "./words.js";
import { type Attaching, type AttachmentWork, descriptor, knownId } from "./work.js";

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
  attaching: Attaching,
): Promise<AttachmentWorks> {
  const { target, losses, replay, boundary, references, signal } = attaching;
  if (drafts.length === 0 && context.views.length === 0 && boundary === undefined) {
    return { works: [], unplacedViews: [], omitted: new Set() };
  }
  const named = replay !== undefined || boundary !== undefined || references !== undefined;
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
  await hydrate(works, attaching);
  return { works, unplacedViews, omitted };
}

/** The words of a place by its decision, and the loss where a policy is why there are no more than words. */
function describeWork(work: AttachmentWork, losses: LossList): void {
  const { draft, decided, inline } = work;
  const { resource, decision, reason } = decided;
  const known = knownId(work);
  if (inline === undefined) draft.text = attachmentText(resource, decision, reason);
  else if (decision === "describe") draft.text = notShown(descriptor(work), "it was withheld");
  if (resource.kind === "link" && decision !== "omit") draft.link = resource;
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
