import {
  type AttachmentReason,
  attachmentText,
  type DecidedAttachment,
  type InlineImage,
  type LeakageBoundary,
  observationText,
} from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import { describeImage, type ReplayPolicy, type StoredResource } from "../content/index.js";
import { cleanText, isBlank } from "./block-reader.js";
import type { ResizeImage } from "./load-media.js";
import type { Loss, LossList } from "./losses.js";
import { isTaken, isTextual } from "./media-part.js";
import { notShown } from "./placeholders.js";
import type { ReferenceCache } from "./references.js";
import type { AttachmentDraft } from "./request.js";
import type { Target } from "./target.js";

/** What the stages that attachments go through have in common. */
export interface Attaching {
  readonly target: Target<unknown>;
  readonly losses: LossList;
  readonly blobs?: Pick<BlobStore, "get">;
  readonly replay?: ReplayPolicy;
  readonly viewTool?: boolean;
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
  /** Absent for one that a summary notes and the boundary refuses. */
  readonly block?: number;
  /** Absent for an image that is inline in its message. */
  readonly resourceId?: string;
  /** What of it is in the request: `text` is a document's own text, `descriptor` words about it. */
  readonly sent: "bytes" | "reference" | "text" | "descriptor" | "nothing";
  readonly reason: SendReason;
}

/** A place with what was decided on it. */
export interface AttachmentWork {
  readonly draft: AttachmentDraft;
  readonly decided: DecidedAttachment;
  /** Where the image is inline in its message. */
  readonly inline: InlineImage | undefined;
  /** Another place of the same resource that has its bytes. */
  carrier?: AttachmentWork;
  /** Its text is in the request. */
  asText?: true;
  /** What is sent is not the image as it is stored. */
  resized?: true;
  reason: SendReason;
}

/** What names an attachment in words. */
export function descriptor({ decided: { resource }, inline }: AttachmentWork): string {
  return inline === undefined
    ? attachmentText(resource, "full", "currentTurn")
    : describeImage(resource as Parameters<typeof describeImage>[0]);
}

/** A name as a target can be told it, to be spread; nothing for one that says nothing. Untrusted all the same. */
export function shownName(
  { decided: { resource } }: AttachmentWork,
  refusesNul: boolean,
): { readonly name?: string } {
  const { name = "" } = resource;
  return isBlank(name) ? {} : { name: cleanText(name, refusesNul) };
}

/** The id by which the session knows it, to be spread; nothing for an image that is inline. */
export function knownId({ decided, inline }: AttachmentWork): { readonly resourceId?: string } {
  return inline === undefined ? { resourceId: decided.resource.resourceId } : {};
}

/** What became of a place. */
export function reportOf(work: AttachmentWork): AttachmentReport {
  const { draft, decided, reason, asText } = work;
  const { entryId, block } = decided;
  const words = draft.text === "" ? "nothing" : asText === true ? "text" : "descriptor";
  const sent = draft.media === undefined ? words : draft.media.type === "reference" ? "reference" : "bytes";
  return { entryId, block, ...knownId(work), sent, reason };
}

/** Why an attachment cannot be sent that a policy would have sent. */
export type Refusal = Extract<SendReason, "missing" | "corrupt" | "invalid" | "unsupported" | "overLimit">;

const causes: Readonly<Record<Refusal, Loss["by"]>> = {
  missing: "history",
  corrupt: "history",
  invalid: "history",
  unsupported: "target",
  overLimit: "limit",
};

/**
 * Leaves words in the place of what cannot be sent.
 *
 * @param because what else there is to say of it, to people and not to the model
 */
export function refuse(
  work: AttachmentWork,
  code: Refusal,
  why: string,
  losses: LossList,
  because?: string,
): void {
  const { draft } = work;
  const seen = observationText(work.decided.observation);
  draft.text = notShown(descriptor(work), seen === "" ? why : `${why}; ${seen}`);
  if (work.asText === true || work.resized === true) losses.takeBack(draft.origin, ["asText", "resized"]);
  delete draft.media;
  delete work.asText;
  work.reason = code;
  const reason = because === undefined ? why : `${why}; ${because}`;
  losses.add(draft.origin, { code, by: causes[code], ...knownId(work), reason, instead: draft.text });
}

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
