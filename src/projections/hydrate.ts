import { readPayload } from "../attachments/index.js";
import type { BlobRef, StoredResource } from "../content/index.js";
import { type AttachmentWork, type AttachOptions, descriptor, type SendReason } from "./attach.js";
import { cleanText } from "./clean.js";
import type { Loss, LossList } from "./loss.js";
import { mediaPart } from "./media-part.js";
import { identifyMedia, isTaken, isTextual, type MediaFacts } from "./media-types.js";
import type { ProviderReference } from "./references.js";
import type { Target } from "./target.js";
import type { MediaPart, ReferencePart } from "./turns.js";
import { notShown } from "./words.js";

/** A reference that has less than this to live might be gone when the provider looks. */
const expiryMarginMs = 60_000;

/**
 * Gives the places that are to be sent in full what is sent: a reference that the provider has, or bytes, read and looked at.
 * The bytes of a resource go once; what the target does not take at a place, or what is no longer there, leaves words that say
 * so. The only stage that waits for anything.
 */
export async function hydrate(
  works: readonly AttachmentWork[],
  target: Target<unknown>,
  options: AttachOptions,
  losses: LossList,
): Promise<void> {
  const wanted = works.filter(({ decided }) => decided.decision === "full");
  const references = await findReferences(wanted, target, options);
  const payloads = await readAll(
    wanted.filter((work) => !references.has(work) && waysFor(work, target, options) !== undefined),
    options,
  );
  const carriers = new Map<string, AttachmentWork>();
  for (const work of wanted) {
    const { resourceId } = work.decided.resource;
    const carrier = carriers.get(resourceId);
    if (carrier !== undefined) {
      work.carrier = carrier;
      work.reason = "sentAlready";
      work.draft.text = `${descriptor(work)} (shown elsewhere in this request)`;
      continue;
    }
    const reference = references.get(work);
    if (reference !== undefined) work.draft.media = referencePart(work, reference);
    else await load(work, payloads, target, options, losses);
    if (work.draft.media !== undefined || work.asText) carriers.set(resourceId, work);
  }
}

/** How a type can go at a place: as it is, behind the results, as text, or once it is made into another; undefined for not at all. */
type Way = "native" | "moved" | "asText" | "converted";

function wayFor(
  mediaType: string,
  { draft: { place } }: AttachmentWork,
  { accepts }: Target<unknown>,
  { resize }: AttachOptions,
): Way | undefined {
  if (place === "textOnly") return undefined;
  const { user = [], toolResult = [] } = accepts ?? {};
  if (isTaken(place === "user" ? user : toolResult, mediaType)) return "native";
  if (isTextual(mediaType)) return "asText";
  if (place === "toolResult" && isTaken(user, mediaType)) return "moved";
  const takesImages = user.some((type) => type.startsWith("image/"));
  return mediaType.startsWith("image/") && takesImages && resize !== undefined ? "converted" : undefined;
}

function waysFor(work: AttachmentWork, target: Target<unknown>, options: AttachOptions): Way | undefined {
  const { mediaType, kind } = work.decided.resource as StoredResource;
  // An image may turn out to be of another type than it says, which the target takes.
  const asImage = kind === "image" ? wayFor("image/png", work, target, options) : undefined;
  return wayFor(mediaType, work, target, options) ?? asImage;
}

async function findReferences(
  works: readonly AttachmentWork[],
  target: Target<unknown>,
  options: AttachOptions,
): Promise<ReadonlyMap<AttachmentWork, ProviderReference>> {
  const found = new Map<AttachmentWork, ProviderReference>();
  const kinds = target.accepts?.references ?? [];
  const { references, now } = options;
  if (references === undefined || kinds.length === 0) return found;
  const { provider, account } = target.maker;
  for (const work of works) {
    const { blob, mediaType } = work.decided.resource as StoredResource;
    const way = wayFor(mediaType, work, target, options);
    if (way !== "native" && way !== "moved") continue;
    const reference = await references.get({ blob, provider, ...(account === undefined ? {} : { account }) });
    if (reference === undefined || !kinds.includes(reference.kind)) continue;
    if (reference.expiresAt !== undefined && reference.expiresAt < now() + expiryMarginMs) continue;
    found.set(work, reference);
  }
  return found;
}

function referencePart(work: AttachmentWork, reference: ProviderReference): ReferencePart {
  const resource = work.decided.resource as StoredResource;
  const { mediaType, name } = resource;
  const kind = mediaType.startsWith("image/") ? "image" : "document";
  const { origin } = work.draft;
  return { type: "reference", kind, mediaType, reference, ...named(name), resource, origin };
}

type Payload = Uint8Array | "missing" | "corrupt";

/** A store on a network answers several at once faster than one after the other. */
const readsAtOnce = 8;

async function readAll(
  works: readonly AttachmentWork[],
  { blobs, signal }: AttachOptions,
): Promise<ReadonlyMap<BlobRef, Payload>> {
  const payloads = new Map<BlobRef, Payload>();
  const stored = works.filter(({ inline }) => inline === undefined);
  const refs = [...new Set(stored.map(({ decided }) => (decided.resource as StoredResource).blob))].values();
  const readSome = async () => {
    for (const ref of refs) {
      signal?.throwIfAborted();
      payloads.set(ref, await readPayload(blobs, ref, signal));
    }
  };
  await Promise.all(Array.from({ length: readsAtOnce }, readSome));
  return payloads;
}

async function load(
  work: AttachmentWork,
  payloads: ReadonlyMap<BlobRef, Payload>,
  target: Target<unknown>,
  options: AttachOptions,
  losses: LossList,
): Promise<void> {
  const resource = work.decided.resource as StoredResource;
  if (waysFor(work, target, options) === undefined)
    return refuse(work, "unsupported", unsupported(work), losses);
  const { inline } = work;
  const payload = inline === undefined ? payloads.get(resource.blob) : inline.bytes;
  if (payload === undefined || payload === "corrupt") {
    const why = inline === undefined ? "its stored bytes are damaged" : "its data is no base64";
    return refuse(work, "corrupt", why, losses);
  }
  if (payload === "missing") return refuse(work, "missing", "its bytes are no longer stored", losses);
  const facts = identifyMedia(payload, resource.mediaType);
  if (typeof facts === "string") return refuse(work, "invalid", facts, losses);
  const way = wayFor(facts.mediaType, work, target, options);
  if (way === undefined) return refuse(work, "unsupported", unsupported(work), losses);
  if (facts.mediaType !== resource.mediaType) {
    const reason = `its bytes are ${facts.mediaType}`;
    losses.add(work.draft.origin, { code: "retyped", by: "history", ...idOf(work), reason });
  }
  if (way === "asText") return showText(work, payload, target, losses);
  if (way !== "converted") {
    work.draft.media = partOf(work, payload, facts, target);
    return;
  }
  const mediaTypes = (target.accepts?.user ?? []).filter((type) => /^image\/(?:png|jpeg)$/.test(type));
  await resized(work, { bytes: payload, ...facts }, { mediaTypes }, target, options, losses);
  if (work.draft.media === undefined) refuse(work, "unsupported", unsupported(work), losses);
}

/**
 * Has the caller make an image that keeps some bounds, and puts it in place of what is there; leaves everything as it is where
 * there is no such image.
 */
export async function resized(
  work: AttachmentWork,
  image: { readonly bytes: Uint8Array } & MediaFacts,
  bounds: Parameters<NonNullable<AttachOptions["resize"]>>[1],
  target: Target<unknown>,
  { resize }: AttachOptions,
  losses: LossList,
): Promise<boolean> {
  const { bytes, mediaType, width, height } = image;
  const size = width === undefined || height === undefined ? {} : { width, height };
  const made = await resize?.({ bytes, mediaType, ...size }, bounds);
  const facts = made === undefined ? "nothing came" : identifyMedia(made, "image/png");
  if (made === undefined || typeof facts === "string") return false;
  const types = work.draft.place === "user" ? target.accepts?.user : target.accepts?.toolResult;
  const taken = isTaken(types ?? [], facts.mediaType) || isTaken(target.accepts?.user ?? [], facts.mediaType);
  if (!taken) return false;
  work.draft.media = partOf(work, made, facts, target);
  const now = [facts.mediaType, ...(facts.width === undefined ? [] : [`${facts.width} x ${facts.height}`])];
  const reason = `the target does not take it as it is; sent as ${now.join(", ")}, ${made.length} bytes`;
  losses.add(work.draft.origin, { code: "resized", by: "limit", ...idOf(work), reason });
  return true;
}

function partOf(
  work: AttachmentWork,
  bytes: Uint8Array,
  facts: MediaFacts,
  { rules }: Target<unknown>,
): MediaPart {
  const { inline, decided, draft } = work;
  const resource = decided.resource as StoredResource;
  const known = inline?.bytes === bytes && inline.base64 !== undefined ? { base64: inline.base64 } : {};
  return mediaPart({
    ...facts,
    bytes,
    origin: draft.origin,
    ...named(resource.name),
    ...(inline === undefined ? { resource } : {}),
    ...known,
    refusesNul: rules?.refusesNul ?? false,
  });
}

function showText(
  work: AttachmentWork,
  bytes: Uint8Array,
  { rules }: Target<unknown>,
  losses: LossList,
): void {
  const text = cleanText(new TextDecoder().decode(bytes), rules?.refusesNul ?? false);
  work.draft.text = `${work.draft.text}\n<document>\n${text}\n</document>`;
  work.asText = true;
  const reason = "the target takes no document of this type; its text stands in the message";
  losses.add(work.draft.origin, { code: "asText", by: "target", ...idOf(work), reason });
}

function unsupported({ decided, draft }: AttachmentWork): string {
  const { mediaType } = decided.resource as StoredResource;
  return draft.place === "textOnly"
    ? "nothing but text can be shown in what the model said"
    : `the target takes no ${mediaType} here`;
}

const causes: Readonly<Record<string, Loss["by"]>> = {
  missing: "history",
  corrupt: "history",
  invalid: "history",
  unsupported: "target",
  overLimit: "limit",
};

/** Leaves words in the place of what cannot be sent, and of everything that pointed to it. */
export function refuse(
  work: AttachmentWork,
  code: Extract<SendReason, "missing" | "corrupt" | "invalid" | "unsupported" | "overLimit">,
  why: string,
  losses: LossList,
): void {
  const { draft } = work;
  draft.text = notShown(descriptor(work), why);
  delete draft.media;
  work.reason = code;
  const by = causes[code] ?? "target";
  losses.add(draft.origin, { code, by, ...idOf(work), reason: why, instead: draft.text });
}

function idOf({ decided, inline }: AttachmentWork): { readonly resourceId?: string } {
  return inline === undefined ? { resourceId: decided.resource.resourceId } : {};
}

function named(name: string | undefined): { readonly name?: string } {
  return name === undefined ? {} : { name };
}
