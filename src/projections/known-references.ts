import type { StoredResource } from "../content/index.js";
import { essenceOf } from "../internal/media-types.js";
import type { ProviderReference } from "./references.js";
import type { ReferencePart } from "./turns.js";
import { wayFor } from "./ways.js";
import { type Attaching, type AttachmentWork, shownName } from "./work.js";

/** A reference that has less than this to live might be gone when the provider looks. */
const expiryMarginMs = 60_000;

/** The references of places that can go as they are, where the provider has one of a kind that the target takes. */
export async function knownReferences(
  works: readonly AttachmentWork[],
  attaching: Attaching,
): Promise<ReadonlyMap<AttachmentWork, ProviderReference>> {
  const found = new Map<AttachmentWork, ProviderReference>();
  const { target, references, now } = attaching;
  const kinds = target.accepts?.references ?? [];
  if (references === undefined || kinds.length === 0) return found;
  const { provider, account } = target.maker;
  for (const work of works) {
    const { blob, mediaType } = work.decided.resource as StoredResource;
    const way = wayFor(mediaType, work, attaching);
    if (way !== "native" && way !== "moved") continue;
    const reference = await references.get({ blob, provider, ...(account === undefined ? {} : { account }) });
    if (reference === undefined || !kinds.includes(reference.kind)) continue;
    if (reference.expiresAt !== undefined && reference.expiresAt < now() + expiryMarginMs) continue;
    found.set(work, reference);
  }
  return found;
}

/** What is sent in place of bytes. */
export function referencePart(
  work: AttachmentWork,
  reference: ProviderReference,
  { target: { rules } }: Attaching,
): ReferencePart {
  const resource = work.decided.resource as StoredResource;
  const mediaType = essenceOf(resource.mediaType);
  const kind = mediaType.startsWith("image/") ? "image" : "document";
  const named = shownName(work, rules?.refusesNul ?? false);
  return { type: "reference", kind, mediaType, reference, ...named, resource, origin: work.draft.origin };
}
