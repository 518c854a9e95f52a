/** The state of an attachment in the stages of a projection, and its report. */

import type { AttachmentReason, LeakageBoundary } from "../attachments/index.js";
import {
  attachmentText,
  type DecidedAttachment,
  type InlineImage,
  observationText,
} from "../attachments/internal.js";
import type { BlobStore } from "../blobs/index.js";
import type { ReplayPolicy, StoredResource } from "../content/index.js";
import { describeImage } from "../content/internal.js";
import { cleanText, isBlank } from "./block-reader.js";

import type { Loss, LossList } from "./losses.js";
import { acceptsMedia, isTextual } from "./media-part.js";
import { placeholderText } from "./placeholders.js";
import type { PendingAttachment, ReferenceCache } from "./request.js";
import type { Target } from "./target.js";

/** An image that a target does not accept unchanged. */
export interface ImageToResize {
  readonly bytes: Uint8Array;
  /** As sniffed. */
  readonly mediaType: string;
  /** Pixels, if known. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
}

/** The bounds for a resized image. The image already satisfies an absent bound. */
export interface ImageBounds {
  /** Pixels of the longer side. */
  readonly maxSide?: number;
  /** Pixels: width times height. */
  readonly maxArea?: number;
  /** Decoded bytes. */
  readonly maxBytes?: number;
  /** The accepted types, such as `image/png`. */
  readonly mediaTypes?: readonly string[];
  /** Exactly one frame. */
  readonly still?: true;
}

/**
 * Makes a smaller or converted image for one request; never changes the stored bytes. The caller injects it
 * because image codecs are large: sharp needs a few lines. Returns undefined on failure. A result that
 * violates the bounds is described instead.
 */
export type ResizeImage = (
  image: ImageToResize,
  bounds: ImageBounds,
) => Promise<Uint8Array | undefined> | Uint8Array | undefined;

/** The shared context of the attachment stages. */
export interface ProjectionContext {
  readonly target: Target<unknown>;
  readonly losses: LossList;
  readonly blobs?: Pick<BlobStore, "get">;
  readonly replay?: ReplayPolicy;
  readonly viewTool?: boolean;
  readonly boundary?: LeakageBoundary;
  readonly references?: ReferenceCache;
  readonly resize?: ResizeImage;
  readonly signal?: AbortSignal;
  /** Milliseconds since 1970, for the expiry of references. */
  readonly now: () => number;
}

/** The reason for the form in which an attachment is sent: a policy's, or the target's. */
export type SendReason = AttachmentReason | "invalid" | "unsupported" | "overLimit";

/** The outcome for one occurrence of an attachment. */
export interface AttachmentReport {
  readonly entryId: string;
  /** Absent for an attachment that a summary notes and the boundary refuses. */
  readonly block?: number;
  /** Absent for an inline image. */
  readonly resourceId?: string;
  /** The form in the request: `text` is a document's own text, `descriptor` a description. */
  readonly sent: "bytes" | "reference" | "text" | "descriptor" | "nothing";
  readonly reason: SendReason;
}

/** One occurrence of an attachment, with its decision. The stages update it. */
export interface AttachmentState {
  readonly draft: PendingAttachment;
  readonly decided: DecidedAttachment;
  /** The image, if it is inline in its message. */
  readonly inline: InlineImage | undefined;
  /** Another occurrence of the same resource, which has its bytes. */
  carrier?: AttachmentState;
  /** Its text is in the request. */
  asText?: true;
  /** The request has a resized image in place of the stored one. */
  resized?: true;
  reason: SendReason;
}

/** The description of an attachment. */
export function descriptor({ decided: { resource }, inline }: AttachmentState): string {
  return inline === undefined
    ? attachmentText(resource, "full", "currentTurn")
    : describeImage(resource as Parameters<typeof describeImage>[0]);
}

/** The cleaned name of an attachment, to spread; nothing for a blank name. Still untrusted text. */
export function shownName(
  { decided: { resource } }: AttachmentState,
  refusesNul: boolean,
): { readonly name?: string } {
  const { name = "" } = resource;
  return isBlank(name) ? {} : { name: cleanText(name, refusesNul) };
}

/** The resource's id, to spread; nothing for an inline image. */
export function knownId({ decided, inline }: AttachmentState): { readonly resourceId?: string } {
  return inline === undefined ? { resourceId: decided.resource.resourceId } : {};
}

/** The report of an occurrence. */
export function workReport(work: AttachmentState): AttachmentReport {
  const { draft, decided, reason, asText } = work;
  const { entryId, block } = decided;
  const words = draft.text === "" ? "nothing" : asText === true ? "text" : "descriptor";
  const sent = draft.media === undefined ? words : draft.media.type === "reference" ? "reference" : "bytes";
  return { entryId, block, ...knownId(work), sent, reason };
}

const notSentWords: Readonly<Record<RejectReason, string>> = {
  missing: "the store has no bytes",
  corrupt: "the stored bytes are damaged",
  invalid: "the bytes are no known image",
  unsupported: "the target takes none of the kind there",
  overLimit: "a limit of the target",
};

/** A text for each reason that attachments are described and not sent for, with the ids of all. */
export function notSentTexts(reports: readonly AttachmentReport[]): readonly string[] {
  return Object.entries(notSentWords).flatMap(([reason, words]) => {
    const names = rejectedNames(reports, reason);
    return names.length === 0 ? [] : `described and not sent, ${words}: ${names.join(", ")}`;
  });
}

/** The attachments that were rejected for a reason, each once: the id, or for an inline image its place. */
export function rejectedNames(reports: readonly AttachmentReport[], reason: string): readonly string[] {
  const names = reports.flatMap((report) => {
    if (report.reason !== reason) return [];
    return report.resourceId ?? `the image of ${report.entryId}, block ${report.block}`;
  });
  return [...new Set(names)];
}

/** The reason for a rejection: the policy allows the attachment, and it cannot be sent. */
export type RejectReason = Extract<
  SendReason,
  "missing" | "corrupt" | "invalid" | "unsupported" | "overLimit"
>;

const causes: Readonly<Record<RejectReason, Loss["by"]>> = {
  missing: "history",
  corrupt: "history",
  invalid: "history",
  unsupported: "target",
  overLimit: "limit",
};

/**
 * Replaces an attachment that cannot be sent by placeholder text.
 *
 * @param because a detail for the loss report; not shown to the model
 */
export function rejectAttachment(
  work: AttachmentState,
  code: RejectReason,
  why: string,
  losses: LossList,
  because?: string,
): void {
  const { draft } = work;
  const seen = observationText(work.decided.observation);
  draft.text = placeholderText(descriptor(work), seen === "" ? why : `${why}; ${seen}`);
  if (work.asText === true || work.resized === true) losses.takeBack(draft.origin, ["asText", "resized"]);
  delete draft.media;
  delete work.asText;
  work.reason = code;
  const reason = because === undefined ? why : `${why}; ${because}`;
  losses.add(draft.origin, { code, by: causes[code], ...knownId(work), reason, instead: draft.text });
}

/**
 * The delivery of a media type: unchanged, moved after the tool results, as text, or converted to another
 * type.
 */
export type Delivery = "native" | "moved" | "asText" | "converted";

/** The delivery of a media type in an occurrence; undefined if the target does not accept it there. */
export function deliveryFor(
  mediaType: string,
  { draft: { place } }: AttachmentState,
  { target: { accepts }, resize }: ProjectionContext,
): Delivery | undefined {
  if (place === "own") return "native";
  if (place === "textOnly") return undefined;
  const { user = [], toolResult = [] } = accepts ?? {};
  if (acceptsMedia(place === "user" ? user : toolResult, mediaType)) return "native";
  if (isTextual(mediaType)) return "asText";
  if (place === "toolResult" && acceptsMedia(user, mediaType)) return "moved";
  const takesImages = user.some((type) => type.startsWith("image/"));
  return mediaType.startsWith("image/") && takesImages && resize !== undefined ? "converted" : undefined;
}

/** Whether unread bytes may be deliverable. The bytes of an image can have another type than declared. */
export function canDeliver(work: AttachmentState, attaching: ProjectionContext): boolean {
  const { mediaType, kind } = work.decided.resource as StoredResource;
  if (deliveryFor(mediaType, work, attaching) !== undefined) return true;
  return kind === "image" && deliveryFor("image/png", work, attaching) !== undefined;
}
