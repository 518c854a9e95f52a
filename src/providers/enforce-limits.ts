/** Enforces the limits of a request: replaces the oldest attachments by text until it fits. */

import {
  checkLimits,
  type LimitItem,
  type LimitSituation,
  type LimitViolation,
} from "../content/limits/index.js";
import { encodeUtf8 } from "../core/bytes.js";
import {
  type AttachmentState,
  type ImageBounds,
  type ProjectionContext,
  rejectAttachment,
} from "./attachment-state.js";
import { setResized } from "./attachments.js";
import { acceptsMedia, isTextual } from "./media-part.js";
import type { PendingAttachment } from "./request.js";
import type { TargetLimits, TargetMedia } from "./target.js";

/** Bytes reserved for content that a harness adds beside the messages, such as its tools. */
const reservedBytes = 2 ** 18;

/**
 * Enforces the limits of a target over the whole history of a request. First resizes an attachment that
 * exceeds a limit by itself, or describes it if that is impossible. Then removes the oldest attachments that
 * exceed a limit together, as few as possible. The age of an attachment is that of its last occurrence. For a
 * limit on single images that applies only to many images, tries to resize first, and then removes as few
 * images as possible.
 * @param textBytes an upper bound for the bytes of the request without attachments, exact only if a rough
 *   bound exceeds the room
 * @returns the limits that are still exceeded: there is too much text
 */
export async function enforceLimits(
  works: readonly AttachmentState[],
  textBytes: (room: number) => number,
  attaching: ProjectionContext,
): Promise<readonly LimitViolation[]> {
  const { limits } = attaching.target;
  if (limits === undefined) return [];
  const keeper = new LimitEnforcer(works, limits, attaching);
  await keeper.enforcePerItem();
  return keeper.enforceTotals(textBytes);
}

class LimitEnforcer {
  readonly #limits: TargetLimits;
  readonly #attaching: ProjectionContext;
  readonly #situation: LimitSituation;
  /** The attachments in the request, oldest first. */
  #live: readonly AttachmentState[];
  /** The occurrences of each attachment. */
  readonly #places: ReadonlyMap<AttachmentState, readonly AttachmentState[]>;
  /** Attachments that were resized, with the reason of a failure. */
  readonly #tried = new Map<AttachmentState, string | undefined>();
  readonly #sizes = new Map<PendingAttachment["media"], number>();
  readonly #shown = new Map<AttachmentState, number>();

  constructor(works: readonly AttachmentState[], limits: TargetLimits, attaching: ProjectionContext) {
    this.#limits = limits;
    this.#attaching = attaching;
    const { transport, contextWindow, model = attaching.target.model.model } = limits;
    this.#situation = {
      model,
      ...(transport === undefined ? {} : { transport }),
      ...(contextWindow === undefined ? {} : { contextWindow }),
    };
    const places = new Map<AttachmentState, readonly AttachmentState[]>();
    for (const work of works) {
      const carrier = work.carrier ?? work;
      if (!isSent(carrier)) continue;
      const known = places.get(carrier) ?? [];
      // Moves it after attachments with an earlier last occurrence.
      places.delete(carrier);
      places.set(carrier, [...known, work]);
    }
    this.#places = places;
    this.#live = [...places.keys()];
  }

  /** Enforces the limits that apply to each attachment by itself. */
  async enforcePerItem(): Promise<void> {
    for (const work of this.#live) {
      const broken = this.#check([work]);
      if (broken.length === 0) continue;
      const because = await this.#resize(work, broken);
      const [still] = this.#check([work]);
      if (still !== undefined) this.#drop([work], limitWords(still), because);
    }
    // A limit that applies only to many images can require a second resize.
    this.#tried.clear();
  }

  async enforceTotals(textBytes: (room: number) => number): Promise<readonly LimitViolation[]> {
    const text = this.#textBytes(textBytes);
    for (;;) {
      const found = this.#check(this.#live, text);
      const together = found.filter(({ scope }) => scope !== "item").toSorted(inOrder);
      if (this.#keepCounts(together, text)) continue;
      const single = found.filter(({ scope }) => scope === "item");
      if (single.length === 0) return together;
      await this.#keepConditional(single);
    }
  }

  /** Undefined if no limit is about the body. */
  #textBytes(textBytes: (room: number) => number): number | undefined {
    const most = this.#limits.profile.rows.flatMap((row) => (row.rule === "bodyBytes" ? [row.value] : []));
    if (most.length === 0) return undefined;
    const shown = this.#live.reduce((sum, work) => sum + this.#shownBytes(work), 0);
    const room =
      most.reduce((least, value) => Math.min(least, value)) -
      (this.#bodyBytes(this.#live, reservedBytes) - shown);
    // Documents as text are among the texts, and can be removed like other attachments.
    return textBytes(room) - shown + reservedBytes;
  }

  #shownBytes(work: AttachmentState): number {
    const known = this.#shown.get(work) ?? shownBytes(work);
    this.#shown.set(work, known);
    return known;
  }

  #check(live: readonly AttachmentState[], text?: number): readonly LimitViolation[] {
    const body = text === undefined ? {} : { bodyBytes: this.#bodyBytes(live, text) };
    const { accepts } = this.#attaching.target;
    const items = live.map((work) => limitItem(work, accepts));
    return checkLimits(items, this.#limits.profile, { ...this.#situation, ...body });
  }

  #bodyBytes(live: readonly AttachmentState[], text: number): number {
    return live.reduce((sum, work) => {
      const { media } = work.draft;
      const known = this.#sizes.get(media) ?? sentBytes(media);
      this.#sizes.set(media, known);
      return sum + known + this.#shownBytes(work);
    }, text);
  }

  /** Removes the oldest attachments that exceed the first of these limits, or all limits of a message. */
  #keepCounts(broken: readonly LimitViolation[], text: number | undefined): boolean {
    const live = this.#live;
    for (const violation of broken) {
      const counted = violation.items.flatMap(({ index }) => live[index] ?? []);
      if (violation.scope === "message") this.#dropOldest(violation, counted, counted, undefined);
      else if (this.#live !== live) break;
      else this.#dropOldest(violation, counted, live, text);
    }
    return this.#live !== live;
  }

  /** Removes as many as necessary, or all if that is not enough. */
  #dropOldest(
    violation: LimitViolation,
    counted: readonly AttachmentState[],
    among: readonly AttachmentState[],
    text: number | undefined,
  ): void {
    const left = among.filter(isSent);
    const candidates = counted.filter(
      (work) => isSent(work) && !(isOfBytes(violation) && work.draft.media?.type === "reference"),
    );
    const count = fewest(candidates.length, (dropped) => {
      const found = this.#check(without(left, candidates.slice(0, dropped)), text);
      return !found.some((one) => isSameLimit(one, violation));
    });
    if (count > 0) this.#drop(candidates.slice(0, count), limitWords(violation));
  }

  /** Enforces the limits on single images that apply only to many images. */
  async #keepConditional(found: readonly LimitViolation[]): Promise<void> {
    const broken = new Map<AttachmentState, LimitViolation[]>();
    for (const violation of found) {
      const work = this.#live[violation.items[0]?.index ?? -1];
      if (work !== undefined) broken.set(work, [...(broken.get(work) ?? []), violation]);
    }
    for (const [work, violations] of broken) await this.#resize(work, violations);
    const still = this.#check(this.#live).filter(({ scope }) => scope === "item");
    if (still.length < found.length) return;
    const images = this.#live.filter(({ draft }) => draft.media?.kind === "image");
    const most = Math.min(broken.size, images.length) - 1;
    const isKept = (dropped: number) =>
      this.#check(without(this.#live, images.slice(0, dropped))).every(({ scope }) => scope !== "item");
    const [first] = found;
    if (first !== undefined && most > 0 && isKept(most)) {
      const why = `left out, so that others keep the target's limit, ${violatedLimit(first)}`;
      this.#drop(images.slice(0, fewest(most, isKept)), why);
      return;
    }
    for (const [work, [violation]] of broken) {
      if (violation !== undefined) this.#drop([work], limitWords(violation), this.#tried.get(work));
    }
  }

  /** Resizes an image once; returns the reason if that failed. */
  async #resize(work: AttachmentState, violations: readonly LimitViolation[]): Promise<string | undefined> {
    const bounds = violationBounds(violations);
    const { media } = work.draft;
    if (this.#attaching.resize === undefined || bounds === undefined) return undefined;
    if (media?.type !== "media" || media.kind !== "image") return undefined;
    if (this.#tried.has(work)) return this.#tried.get(work);
    const because = await setResized(work, media, bounds, this.#attaching);
    this.#tried.set(work, because);
    return because;
  }

  #drop(works: readonly AttachmentState[], why: string, because?: string): void {
    for (const work of works) {
      // Its other occurrences refer to this one.
      for (const place of this.#places.get(work) ?? []) {
        rejectAttachment(place, "overLimit", why, this.#attaching.losses, because);
      }
    }
    this.#live = without(this.#live, works);
  }
}

function isSent({ draft, asText }: AttachmentState): boolean {
  return draft.media !== undefined || asText === true;
}

/** The smallest count for which a monotonic condition holds, by binary search; `most` if it never holds. */
function fewest(most: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

function without(
  live: readonly AttachmentState[],
  dropped: readonly AttachmentState[],
): readonly AttachmentState[] {
  const gone = new Set(dropped);
  return live.filter((work) => !gone.has(work));
}

/**
 * Sorts narrow limits first: a message, a kind, files, the whole body. Their removals count for the wider
 * ones.
 */
function inOrder(a: LimitViolation, b: LimitViolation): number {
  return width(a) - width(b);
}

function width({ scope, rule }: LimitViolation): number {
  if (rule === "bodyBytes") return 3;
  if (scope === "message") return 0;
  return rule === "fileBytes" ? 2 : 1;
}

function isOfBytes({ rule }: LimitViolation): boolean {
  return rule === "bodyBytes" || rule === "fileBytes" || rule === "imageBytes" || rule === "documentBytes";
}

function isSameLimit(a: LimitViolation, b: LimitViolation): boolean {
  return a.rule === b.rule && a.scope === b.scope && a.unit === b.unit && a.message === b.message;
}

/** The limit, without the excess: that changes with every message and would break the prompt's prefix. */
export function limitWords(violation: LimitViolation): string {
  return `over the target's limit, ${violatedLimit(violation)}`;
}

function violatedLimit({ rule, limit, unit, scope }: LimitViolation): string {
  const number = unit === "count" ? `${limit}` : `${limit} ${unit}`;
  const most = typeof limit === "number" ? number : limit === false ? "none" : limit.join(", ");
  return `${rule} ${most}${scope === "item" ? "" : ` in a ${scope}`}`;
}

/** The bounds of a resize that satisfies limits on single images; undefined if no resize helps. */
export function violationBounds(violations: readonly LimitViolation[]): ImageBounds | undefined {
  const bounds: { -readonly [K in keyof ImageBounds]: ImageBounds[K] } = {};
  for (const { rule, limit, unit, scope } of violations) {
    if (scope !== "item") return undefined;
    if (rule === "imageTypes" && Array.isArray(limit)) bounds.mediaTypes = limit;
    else if (rule === "animation") bounds.still = true;
    else if (typeof limit !== "number") return undefined;
    else if (rule === "imageSide") bounds.maxSide = Math.min(bounds.maxSide ?? limit, limit);
    else if (rule === "imageArea") bounds.maxArea = Math.min(bounds.maxArea ?? limit, limit);
    else if (rule === "imageBytes" || rule === "fileBytes") {
      const bytes = unit === "base64Bytes" ? Math.floor(limit / 4) * 3 : limit;
      bounds.maxBytes = Math.min(bounds.maxBytes ?? bytes, bytes);
    } else return undefined;
  }
  return bounds;
}

/**
 * The item of an occurrence for the check of limits. A reference has no bytes in the request; a document as
 * text has only its text.
 */
export function limitItem(
  { draft: { media, origin, place }, asText }: AttachmentState,
  accepts: TargetMedia | undefined,
): LimitItem {
  // The provider made it, and takes its format although a profile has no such document.
  const isOwnFile = place === "own" && media?.kind === "document" && media.mediaType !== "application/pdf";
  if (asText === true || isOwnFile)
    return { kind: "text", mediaType: "text/plain", size: 0, message: origin.item };
  const { kind = "document", mediaType = "application/octet-stream" } = media ?? {};
  const facts = media?.type === "reference" ? media.resource : media;
  const { width, height, pages, encrypted }: Partial<NonNullable<typeof facts>> = facts ?? {};
  const animated = media?.type === "media" ? media.animated : undefined;
  return {
    kind,
    mediaType,
    size: media?.type === "media" ? media.bytes.length : 0,
    message: origin.item,
    ...(place === "toolResult" && acceptsMedia(accepts?.toolResult ?? [], mediaType)
      ? { inToolResult: true }
      : {}),
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    ...(animated === undefined ? {} : { animated }),
    ...(pages === undefined ? {} : { pages }),
    ...(encrypted === undefined ? {} : { encrypted }),
  };
}

/** An upper bound for the bytes of an attachment in a body. */
export function sentBytes(media: PendingAttachment["media"]): number {
  if (media?.type !== "media") return 0;
  const base64 = Math.ceil(media.bytes.length / 3) * 4;
  // Some targets send a text as base64, others as a JSON string, in which a byte can become six.
  return isTextual(media.mediaType) ? Math.max(base64, jsonBytes(media.text)) : base64;
}

/** Bytes of a document as text, as a JSON string. */
function shownBytes({ draft: { text }, asText }: AttachmentState): number {
  return asText === true ? jsonBytes(text) : 0;
}

function jsonBytes(text: string): number {
  return encodeUtf8(JSON.stringify(text)).length;
}
