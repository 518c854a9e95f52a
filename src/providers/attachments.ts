/** The attachments of a request: what is decided for each, and their bytes. */

import { replayAlways, replayCurrentTurn } from "../attachments/index.js";
import {
  attachmentText,
  decideAttachments,
  type InlineContext,
  inlineAsResources,
  type ResourcePayload,
  readPayload,
} from "../attachments/internal.js";
import type {
  AssistantMessage,
  BlobRef,
  Context,
  ContextMessage,
  ReplayPolicy,
  StoredResource,
} from "../content/index.js";
import { blockResources } from "../content/internal.js";
import { needsPassword } from "../content/media/internal.js";
import { describe } from "../core/arguments.js";
import { decodeUtf16, encodeUtf8 } from "../core/bytes.js";
import { mapConcurrent } from "../core/concurrency.js";
import { mediaTypeEssence } from "../core/media-types.js";
import {
  type AttachmentState,
  canDeliver,
  deliveryFor,
  descriptor,
  type ImageBounds,
  knownId,
  type ProjectionContext,
  type ResizeImage,
  rejectAttachment,
  shownName,
} from "./attachment-state.js";
import {
  acceptsMedia,
  documentText,
  identifyMedia,
  isMediaType,
  type MediaFacts,
  mediaPart,
} from "./media-part.js";
import { placeholderText } from "./placeholders.js";
import type { PendingAttachment, ProviderReference, ReferencePart } from "./request.js";
import type { Target } from "./target.js";

/** Every occurrence of an attachment, final except for limits, and the views without an occurrence. */
interface ResolvedAttachments {
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

// Loads attachments: references of the provider, verified bytes, resizing.

/**
 * Loads the attachments that a request sends in full: a reference that the provider already has, or bytes,
 * read and sniffed. Sends the bytes of a resource once. An attachment that is missing, or that the target
 * refuses, becomes placeholder text. The only asynchronous stage.
 */
export async function loadMedia(
  works: readonly AttachmentState[],
  attaching: ProjectionContext,
): Promise<void> {
  const wanted = works.filter(({ decided }) => decided.decision === "full");
  const references = await knownReferences(wanted, attaching);
  const unread = wanted.filter((work) => !references.has(work) && canDeliver(work, attaching));
  const payloads = await readPayloads(unread, attaching);
  const carriers = new Map<string, AttachmentState>();
  for (const work of wanted) {
    const { resourceId } = work.decided.resource;
    const carrier = carriers.get(resourceId);
    const isOwn = work.draft.place === "own";
    // A block of the target's own model goes back whole, also if the request has its bytes already.
    if (carrier !== undefined && !isOwn) {
      work.carrier = carrier;
      work.reason = "sentAlready";
      work.draft.text = `${descriptor(work)} (shown elsewhere in this request)`;
      continue;
    }
    const reference = references.get(work);
    if (reference !== undefined) work.draft.media = referencePart(work, reference, attaching);
    else await loadOne(work, payloads, attaching);
    // A block that lacks another of its media is not sent, and with it none of them.
    if ((work.draft.media !== undefined || work.asText) && work.draft.shared !== true)
      carriers.set(resourceId, work);
  }
}

async function loadOne(
  work: AttachmentState,
  payloads: ReadonlyMap<BlobRef, ResourcePayload>,
  attaching: ProjectionContext,
): Promise<void> {
  const { target, losses } = attaching;
  const resource = work.decided.resource as StoredResource;
  if (!canDeliver(work, attaching)) return rejectAttachment(work, "unsupported", unsupported(work), losses);
  const { inline } = work;
  const payload = inline === undefined ? payloads.get(resource.blob) : inline.bytes;
  if (payload === undefined || payload === "corrupt") {
    const why = inline === undefined ? "its stored bytes are damaged" : "its data is no base64";
    return rejectAttachment(work, "corrupt", why, losses);
  }
  if (payload === "missing") {
    const because = attaching.blobs === undefined ? "`project` got no `blobs` to read them from" : undefined;
    return rejectAttachment(work, "missing", "its bytes are no longer stored", losses, because);
  }
  if (work.draft.place === "own") return setMedia(work, payload, ownFacts(payload, resource), attaching);
  const facts = identifyMedia(payload, resource.mediaType);
  if (typeof facts === "string") return rejectAttachment(work, "invalid", facts, losses);
  // No provider takes a password.
  if (facts.encrypted && (await needsPassword(payload)))
    return rejectAttachment(work, "invalid", "it opens with a password alone", losses);
  const way = deliveryFor(facts.mediaType, work, attaching);
  if (way === undefined) return rejectAttachment(work, "unsupported", unsupported(work), losses);
  const said = inline?.declared ?? mediaTypeEssence(resource.mediaType);
  if (facts.mediaType !== said) {
    const reason = `it was said to be ${said}, and its bytes are ${facts.mediaType}`;
    losses.add(work.draft.origin, { code: "retyped", by: "history", ...knownId(work), reason });
  }
  // Providers read text as UTF-8.
  const wide = facts.kind === "document" ? decodeUtf16(payload) : undefined;
  const bytes = wide === undefined ? payload : encodeUtf8(wide);
  if (way === "asText") return showText(work, bytes, attaching);
  if (way !== "converted") return setMedia(work, bytes, facts, attaching);
  const because = await setResized(
    work,
    { bytes: payload, ...facts },
    { mediaTypes: resizedTypes(target) },
    attaching,
  );
  if (because !== undefined) rejectAttachment(work, "unsupported", unsupported(work), losses, because);
}

/** What a model made goes back as it came, also if its format is unknown or damaged. */
function ownFacts(bytes: Uint8Array, { kind, mediaType }: StoredResource): MediaFacts {
  const facts = identifyMedia(bytes, mediaType);
  if (typeof facts !== "string") return facts;
  return { kind: kind === "image" ? "image" : "document", mediaType };
}

/**
 * The output types for a converted image: PNG and JPEG if the target accepts them, otherwise its own types.
 */
function resizedTypes({ accepts }: Target<unknown>): readonly string[] {
  const images = (accepts?.user ?? []).filter((type) => type.startsWith("image/"));
  const usual = images.filter((type) => type === "image/png" || type === "image/jpeg");
  return usual.length > 0 ? usual : images;
}

function showText(work: AttachmentState, bytes: Uint8Array, { target, losses }: ProjectionContext): void {
  const text = documentText(bytes, target.rules?.refusesNul ?? false);
  work.draft.text = `${descriptor(work)}\n<document>\n${text}\n</document>`;
  work.asText = true;
  const reason = "the target takes no document of this type; its text stands in the message";
  losses.add(work.draft.origin, { code: "asText", by: "target", ...knownId(work), reason });
}

function unsupported({ decided, draft }: AttachmentState): string {
  if (draft.place === "textOnly") return "nothing but text can be shown here";
  const { mediaType } = decided.resource as StoredResource;
  return `the target takes no ${isMediaType(mediaType) ? mediaTypeEssence(mediaType) : "such type"} here`;
}

/** A reference that expires sooner may be gone when the provider reads it. */
const expiryMarginMs = 60_000;

/**
 * Looks up the provider's references for attachments that need no conversion, of the kinds that the target
 * accepts.
 */
export async function knownReferences(
  works: readonly AttachmentState[],
  attaching: ProjectionContext,
): Promise<ReadonlyMap<AttachmentState, ProviderReference>> {
  const found = new Map<AttachmentState, ProviderReference>();
  const { target, references, now } = attaching;
  const kinds = target.accepts?.references ?? [];
  if (references === undefined || kinds.length === 0) return found;
  const { provider, account } = target.model;
  for (const work of works) {
    if (work.draft.place === "own") continue;
    const { blob, mediaType } = work.decided.resource as StoredResource;
    const way = deliveryFor(mediaType, work, attaching);
    if (way !== "native" && way !== "moved") continue;
    const reference = await references.get({ blob, provider, ...(account === undefined ? {} : { account }) });
    if (reference === undefined || !kinds.includes(reference.kind)) continue;
    if (reference.expiresAt !== undefined && reference.expiresAt < now() + expiryMarginMs) continue;
    found.set(work, reference);
  }
  return found;
}

/** The part of a reference. */
export function referencePart(
  work: AttachmentState,
  reference: ProviderReference,
  { target: { rules } }: ProjectionContext,
): ReferencePart {
  const resource = work.decided.resource as StoredResource;
  const mediaType = mediaTypeEssence(resource.mediaType);
  const kind = mediaType.startsWith("image/") ? "image" : "document";
  const named = shownName(work, rules?.refusesNul ?? false);
  return { type: "reference", kind, mediaType, reference, ...named, resource, origin: work.draft.origin };
}

/** A network store answers concurrent reads faster than sequential ones. */
const maxConcurrentReads = 8;

/** Reads the bytes of attachments that are not inline, each blob once. */
export async function readPayloads(
  works: readonly AttachmentState[],
  { blobs, signal }: ProjectionContext,
): Promise<ReadonlyMap<BlobRef, ResourcePayload>> {
  const payloads = new Map<BlobRef, ResourcePayload>();
  const stored = works.filter(({ inline }) => inline === undefined);
  const refs = new Set(stored.map(({ decided }) => (decided.resource as StoredResource).blob));
  const read = async (ref: BlobRef) => {
    signal?.throwIfAborted();
    return [ref, await readPayload(blobs, ref, signal)] as const;
  };
  for await (const [ref, payload] of mapConcurrent(refs, maxConcurrentReads, read))
    payloads.set(ref, payload);
  return payloads;
}

/** Sets the media part of an occurrence, with the sniffed type. */
export function setMedia(
  work: AttachmentState,
  bytes: Uint8Array,
  facts: MediaFacts,
  { target: { rules } }: ProjectionContext,
): void {
  const { draft, decided, inline } = work;
  const refusesNul = rules?.refusesNul ?? false;
  draft.media = mediaPart({
    ...facts,
    bytes,
    origin: draft.origin,
    ...shownName(work, refusesNul),
    ...(inline === undefined ? { resource: decided.resource as StoredResource } : {}),
    ...(inline?.bytes === bytes && inline.base64 !== undefined ? { base64: inline.base64 } : {}),
    refusesNul,
  });
}

/**
 * Calls the caller's `resize`, and replaces the media part by its result. Changes nothing if there is no
 * result.
 *
 * @returns undefined on success, otherwise the reason, in words for people
 */
export async function setResized(
  work: AttachmentState,
  image: { readonly bytes: Uint8Array } & MediaFacts,
  bounds: ImageBounds,
  attaching: ProjectionContext,
): Promise<string | undefined> {
  const { target, resize, losses, signal } = attaching;
  if (work.draft.place === "own") return "the model's own medium goes back as it came";
  if (resize === undefined) return "nobody can resize it";
  signal?.throwIfAborted();
  const { bytes, mediaType, width, height } = image;
  const size = width === undefined || height === undefined ? {} : { width, height };
  const made = await resizedBy(() => resize({ bytes, mediaType, ...size }, bounds));
  signal?.throwIfAborted();
  if (typeof made === "string") return made;
  const facts = identifyMedia(made, "image/png");
  if (typeof facts === "string") return `of what it was resized to, ${facts}`;
  const { user = [], toolResult = [] } = target.accepts ?? {};
  const isShown = acceptsMedia(work.draft.place === "user" ? user : toolResult, facts.mediaType);
  if (!isShown && !acceptsMedia(user, facts.mediaType)) return `it was resized to ${facts.mediaType}`;
  setMedia(work, made, facts, attaching);
  work.resized = true;
  const sides = facts.width === undefined ? "" : `, ${facts.width} x ${facts.height}`;
  const reason = `the target does not take it as it is; sent as ${facts.mediaType}${sides}, ${made.length} bytes`;
  losses.add(work.draft.origin, { code: "resized", by: "limit", ...knownId(work), reason });
  return undefined;
}

/** Catches errors of `resize`: an image that a library cannot read must not fail the whole request. */
async function resizedBy(resize: () => ReturnType<ResizeImage>): Promise<Uint8Array | string> {
  try {
    const made: unknown = await resize();
    if (made === undefined) return "it could not be resized";
    return made instanceof Uint8Array ? made : `it was resized to no Uint8Array, but ${describe(made)}`;
  } catch (error) {
    return `resizing it failed: ${error instanceof Error ? error.message : describe(error)}`;
  }
}
