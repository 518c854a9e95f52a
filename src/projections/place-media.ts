import type { StoredResource } from "../content/index.js";
import { mediaPart } from "./media-part.js";
import { identifyMedia, isTaken, type MediaFacts } from "./media-types.js";
import type { ImageBounds } from "./resize.js";
import { type Attaching, type AttachmentWork, knownId } from "./work.js";

/** Puts bytes in their place, as what they turned out to be. */
export function placeMedia(
  { draft, decided, inline }: AttachmentWork,
  bytes: Uint8Array,
  facts: MediaFacts,
  { target }: Attaching,
): void {
  const resource = decided.resource as StoredResource;
  draft.media = mediaPart({
    ...facts,
    bytes,
    origin: draft.origin,
    ...(resource.name === undefined ? {} : { name: resource.name }),
    ...(inline === undefined ? { resource } : {}),
    ...(inline?.bytes === bytes && inline.base64 !== undefined ? { base64: inline.base64 } : {}),
    refusesNul: target.rules?.refusesNul ?? false,
  });
}

/**
 * Has the caller make an image that keeps some bounds, and puts it in place of what is there; leaves everything as it is where
 * there is no such image.
 *
 * @returns whether there is one
 */
export async function placeResized(
  work: AttachmentWork,
  image: { readonly bytes: Uint8Array } & MediaFacts,
  bounds: ImageBounds,
  attaching: Attaching,
): Promise<boolean> {
  const { bytes, mediaType, width, height } = image;
  const { target, resize, losses } = attaching;
  const size = width === undefined || height === undefined ? {} : { width, height };
  const made = await resize?.({ bytes, mediaType, ...size }, bounds);
  const facts = made === undefined ? "nothing came" : identifyMedia(made, "image/png");
  if (made === undefined || typeof facts === "string") return false;
  const types = work.draft.place === "user" ? target.accepts?.user : target.accepts?.toolResult;
  const taken = isTaken(types ?? [], facts.mediaType) || isTaken(target.accepts?.user ?? [], facts.mediaType);
  if (!taken) return false;
  placeMedia(work, made, facts, attaching);
  const now = [facts.mediaType, ...(facts.width === undefined ? [] : [`${facts.width} x ${facts.height}`])];
  const reason = `the target does not take it as it is; sent as ${now.join(", ")}, ${made.length} bytes`;
  losses.add(work.draft.origin, { code: "resized", by: "limit", ...knownId(work), reason });
  return true;
}
