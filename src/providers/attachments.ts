/** Decides each attachment of a context, then loads those that are sent. */

import { replayAlways, replayCurrentTurn } from "../attachments/index.js";
import {
  attachmentText,
  decideAttachments,
  type InlineContext,
  inlineAsResources,
} from "../attachments/internal.js";
import type { AssistantMessage, Context, ContextMessage, ReplayPolicy } from "../content/index.js";
import { blockResources } from "../content/internal.js";
import {
  type AttachmentState,
  canDeliver,
  descriptor,
  knownId,
  type ProjectionContext,
} from "./attachment-state.js";
import { loadMedia } from "./load-media.js";
import { placeholderText } from "./placeholders.js";
import type { PendingAttachment } from "./request.js";

/** Every occurrence of an attachment, final except for limits, and the views without an occurrence. */
export interface ResolvedAttachments {
  readonly states: readonly AttachmentState[];
  readonly unplacedViews: readonly string[];
}

type Placed = Pick<Context, "items" | "views" | "observations">;

/**
 * Decides each attachment of a context, loads those that the request sends and the target accepts, and sets
 * the text of each occurrence. Sends inline images, and media that the provider requires back, unless the
 * caller's policy decides otherwise: no view could bring the first back.
 */
export async function resolveAttachments(
  { context, images: ownImages }: InlineContext,
  drafts: readonly PendingAttachment[],
  attaching: ProjectionContext,
): Promise<ResolvedAttachments> {
  const { target, replay, boundary, signal } = attaching;
  if (drafts.length === 0 && context.views.length === 0) return { states: [], unplacedViews: [] };
  const byPlace = new Map(drafts.map((draft) => [attachmentPlace(draft), draft]));
  const own = new Map<string, boolean>();
  for (const { place, origin, resourceId = "", required = false } of drafts)
    if (place === "own") own.set(placeKey(origin.item, resourceId), required);
  const { context: all, images: others } = inlineAsResources(
    withoutUnsent(context, byPlace),
    needsDigests(attaching),
    "others",
  );
  const images = new Map([...ownImages, ...others]);
  // A model that binds its reasoning loses it if an attachment is sent in another form later.
  const usual = target.rules?.bindsReasoning === true ? replayAlways : replayCurrentTurn;
  const policy: ReplayPolicy = (resource, place) => {
    const { resourceId } = resource;
    const isRequired = images.has(resourceId) || own.get(placeKey(place.item, resourceId)) === true;
    return replay === undefined && isRequired ? "full" : (replay ?? usual)(resource, place);
  };
  const { attachments, unplacedViews } = await decideAttachments(all, {
    target: target.name,
    replay: policy,
    boundary,
    takesUnknown: ({ resourceId }, item) => own.has(placeKey(item, resourceId)),
    signal,
  });
  const works = attachments.flatMap((decided): AttachmentState[] => {
    const { item, block, resource } = decided;
    const draft =
      byPlace.get(placeKey(item, block, resource.resourceId)) ?? byPlace.get(placeKey(item, block));
    const inline = images.get(resource.resourceId);
    return draft === undefined ? [] : [{ draft, decided, inline, reason: decided.reason }];
  });
  for (const work of works) setText(work, attaching);
  await loadMedia(works, attaching);
  return { states: works, unplacedViews };
}

/** Whether digests of inline images are asked for. */
export function needsDigests({
  replay,
  boundary,
  references,
}: Pick<ProjectionContext, "replay" | "boundary" | "references">): boolean {
  return replay !== undefined || boundary !== undefined || references !== undefined;
}

function placeKey(...place: readonly (number | string | undefined)[]): string {
  return place.join(" ");
}

function attachmentPlace({ origin: { item, block }, resourceId }: PendingAttachment): string {
  return resourceId === undefined ? placeKey(item, block) : placeKey(item, block, resourceId);
}

/**
 * Removes attachments outside the request, such as those of an orphaned result, before the policy sees the
 * context.
 */
function withoutUnsent(context: Placed, sent: ReadonlyMap<string, unknown>): Placed {
  let changed = false;
  const items = context.items.map((entry, item) => {
    const { message } = entry;
    if (!("content" in message) || typeof message.content === "string") return entry;
    const blocks: readonly Block[] = message.content;
    const isUnsent = (block: Block, at: number) =>
      block.type === "opaque"
        ? blockResources(block).some(({ resourceId }) => !sent.has(placeKey(item, at, resourceId)))
        : isAttachment(block) && !sent.has(placeKey(item, at));
    if (!blocks.some(isUnsent)) return entry;
    changed = true;
    const content = blocks.map((block, at) => (isUnsent(block, at) ? { type: "text", text: "" } : block));
    return { ...entry, message: { ...message, content } as ContextMessage };
  });
  return changed ? { ...context, items } : context;
}

type Block = AssistantMessage["content"][number];

function isAttachment(block: Block): boolean {
  return block.type === "image" || (block.type === "text" && block.resource !== undefined);
}

/** Whether a view would show a resource: the target accepts it in or after a tool result. */
function isViewable(work: AttachmentState, attaching: ProjectionContext): boolean {
  if (work.decided.resource.kind === "link") return false;
  return canDeliver({ ...work, draft: { ...work.draft, place: "toolResult" } }, attaching);
}

/** Sets the text of an occurrence by its decision. The decision of a policy is a report, not a loss. */
function setText(work: AttachmentState, attaching: ProjectionContext): void {
  const { losses } = attaching;
  const { draft, decided, inline } = work;
  const { resource, decision, reason, observation } = decided;
  if (inline === undefined) {
    const viewTool = attaching.viewTool === true && isViewable(work, attaching);
    draft.text = attachmentText(resource, decision, reason, observation, { viewTool });
  } else if (decision === "describe") draft.text = placeholderText(descriptor(work), "it was withheld");
  if (resource.kind === "link" && decision !== "omit") draft.link = resource;
  if (decision !== "describe" || reason !== "unknownType") return;
  const why = "its type is unknown";
  const known = knownId(work);
  losses.add(draft.origin, { code: "unsupported", by: "target", ...known, reason: why, instead: draft.text });
}
