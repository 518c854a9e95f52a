import type { StoredResource } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { mediaPart } from "./media-part.js";
import { identifyMedia, isTaken, type MediaFacts } from "./media-types.js";
import type { ImageBounds, ResizeImage } from "./resize.js";
import { type Attaching, type AttachmentWork, knownId, shownName } from "./work.js";

/** Puts bytes in their place, as what they turned out to be. */
export function placeMedia(
  work: AttachmentWork,
  bytes: Uint8Array,
  facts: MediaFacts,
  { target: { rules } }: Attaching,
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
 * Has the caller make an image that keeps some bounds, and puts it in place of what is there; leaves everything as it is where
 * there is no such image.
 *
 * @returns undefined if there is one, else why there is none, in words for people
 */
export async function placeResized(
  work: AttachmentWork,
  image: { readonly bytes: Uint8Array } & MediaFacts,
  bounds: ImageBounds,
  attaching: Attaching,
): Promise<string | undefined> {
  const { target, resize, losses, signal } = attaching;
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
  const isShown = isTaken(work.draft.place === "user" ? user : toolResult, facts.mediaType);
  if (!isShown && !isTaken(user, facts.mediaType)) return `it was resized to ${facts.mediaType}`;
  placeMedia(work, made, facts, attaching);
  work.resized = true;
  const sides = facts.width === undefined ? "" : `, ${facts.width} x ${facts.height}`;
  const reason = `the target does not take it as it is; sent as ${facts.mediaType}${sides}, ${made.length} bytes`;
  losses.add(work.draft.origin, { code: "resized", by: "limit", ...knownId(work), reason });
  return undefined;
}

/** What is refused here may be what an image library cannot read: it must not keep all else from being sent. */
async function resizedBy(resize: () => ReturnType<ResizeImage>): Promise<Uint8Array | string> {
  try {
    const made: unknown = await resize();
    if (made === undefined) return "it could not be resized";
    return made instanceof Uint8Array ? made : `it was resized to no Uint8Array, but ${describe(made)}`;
  } catch (error) {
    return `resizing it failed: ${error instanceof Error ? error.message : describe(error)}`;
  }
}
