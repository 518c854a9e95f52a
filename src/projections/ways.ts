import type { StoredResource } from "../content/index.js";
import { isTaken, isTextual } from "./media-types.js";
import type { Attaching, AttachmentWork } from "./work.js";

/** How a type can go at a place: as it is, behind the results, as text, or once it is made into another. */
export type Way = "native" | "moved" | "asText" | "converted";

/** How a type goes at a place; undefined for not at all. */
export function wayFor(
  mediaType: string,
  { draft: { place } }: AttachmentWork,
  { target: { accepts }, resize }: Attaching,
): Way | undefined {
  if (place === "textOnly") return undefined;
  const { user = [], toolResult = [] } = accepts ?? {};
  if (isTaken(place === "user" ? user : toolResult, mediaType)) return "native";
  if (isTextual(mediaType)) return "asText";
  if (place === "toolResult" && isTaken(user, mediaType)) return "moved";
  const takesImages = user.some((type) => type.startsWith("image/"));
  return mediaType.startsWith("image/") && takesImages && resize !== undefined ? "converted" : undefined;
}

/** Whether bytes that are not looked at yet can go at all: an image may turn out to be of another type than it says. */
export function mayGo(work: AttachmentWork, attaching: Attaching): boolean {
  const { mediaType, kind } = work.decided.resource as StoredResource;
  if (wayFor(mediaType, work, attaching) !== undefined) return true;
  return kind === "image" && wayFor("image/png", work, attaching) !== undefined;
}
