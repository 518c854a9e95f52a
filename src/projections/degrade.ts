import { checkLimits, type LimitItem, type LimitSituation, type LimitViolation } from "../limits/index.js";
import { placeResized } from "./place-media.js";
import { refuse } from "./refuse.js";
import type { ImageBounds } from "./resize.js";
import type { TargetLimits } from "./target.js";
import type { Attaching, AttachmentWork } from "./work.js";

/** Room for what a harness puts beside the messages, such as its tools. Bytes. */
const reservedBytes = 2 ** 18;

/**
 * Keeps a request within its target's limits, over the whole history that is sent. What is too large by itself is made smaller
 * where the caller can do that, and described where not; then, for as long as there is too much of something together, the
 * oldest goes first. Of the two ways out of a limit that holds only above a number of images, the one that costs fewer.
 *
 * @param textBytes gives at least as many bytes as the request has besides what is attached, more exactly where more than
 *   so many would be too much
 * @returns the limits that are broken still: there is too much text
 */
export async function keepLimits(
  works: readonly AttachmentWork[],
  textBytes: (room: number) => number,
  attaching: Attaching,
): Promise<readonly LimitViolation[]> {
  const {
    target: { limits },
    losses,
  } = attaching;
  if (limits === undefined) return [];
  let live = works.filter(({ draft }) => draft.media !== undefined);
  const situation = situationOf(limits);
  const retired = new Set<AttachmentWork>();
  const over = (work: AttachmentWork, violation: LimitViolation): void => {
    // Its other places said that it is shown here.
    for (const place of works) {
      if (place === work || place.carrier === work) refuse(place, "overLimit", limitWords(violation), losses);
    }
    live = live.filter((one) => one !== work);
  };
  const fitOrRefuse = async (work: AttachmentWork, violations: readonly LimitViolation[]): Promise<void> => {
    const [first] = violations;
    const { media } = work.draft;
    if (first === undefined) return;
    const bounds = boundsOf(violations);
    if (bounds !== undefined && media?.type === "media" && media.kind === "image" && !retired.has(work)) {
      retired.add(work);
      if (await placeResized(work, media, bounds, attaching)) return;
    }
    over(work, first);
  };
  for (const work of live) await fitOrRefuse(work, alone(work, limits, situation));
  // Resizing gave what it gave: what is still too large goes.
  for (const work of live) {
    const [still] = alone(work, limits, situation);
    if (still !== undefined) over(work, still);
  }
  const bytes = bodyBytesOf(live, limits, textBytes);
  for (;;) {
    const found = checkLimits(live.map(itemOf), limits.profile, { ...situation, ...bytes(live) });
    const together = found.find(({ scope }) => scope !== "item");
    if (together !== undefined) {
      const oldest = together.items[0]?.index ?? (together.rule === "bodyBytes" ? 0 : -1);
      const work = live[oldest];
      if (work === undefined) return found.filter(({ scope }) => scope !== "item");
      over(work, together);
      continue;
    }
    if (found.length === 0) return [];
    await keepConditional(live, found, limits, situation, fitOrRefuse, over);
  }
}

type Refuse = (work: AttachmentWork, violation: LimitViolation) => void;

/** Limits of single images that hold only because there are many. */
async function keepConditional(
  live: readonly AttachmentWork[],
  found: readonly LimitViolation[],
  limits: TargetLimits,
  situation: LimitSituation,
  fitOrRefuse: (work: AttachmentWork, violations: readonly LimitViolation[]) => Promise<void>,
  over: Refuse,
): Promise<void> {
  const broken = new Map<AttachmentWork, LimitViolation[]>();
  for (const violation of found) {
    const work = live[violation.items[0]?.index ?? -1];
    if (work !== undefined) broken.set(work, [...(broken.get(work) ?? []), violation]);
  }
  const oldest = oldestToDrop(live, limits, situation, broken.size);
  const [first] = found;
  if (oldest !== undefined && first !== undefined) {
    for (const work of oldest) over(work, first);
    return;
  }
  for (const [work, violations] of broken) await fitOrRefuse(work, violations);
}

/** The oldest images without which the rest may stay as they are, where these are fewer than so many. */
function oldestToDrop(
  live: readonly AttachmentWork[],
  { profile }: TargetLimits,
  situation: LimitSituation,
  fewerThan: number,
): readonly AttachmentWork[] | undefined {
  const images = live.filter(({ draft }) => draft.media?.kind === "image");
  for (let count = 1; count < Math.min(fewerThan, images.length); count++) {
    const dropped = new Set(images.slice(0, count));
    const rest = live.filter((work) => !dropped.has(work));
    const broken = checkLimits(rest.map(itemOf), profile, situation);
    if (!broken.some(({ scope }) => scope === "item")) return [...dropped];
  }
  return undefined;
}

function situationOf({ transport, contextWindow }: TargetLimits): LimitSituation {
  return {
    ...(transport === undefined ? {} : { transport }),
    ...(contextWindow === undefined ? {} : { contextWindow }),
  };
}

/** The limits that an attachment breaks whatever else is sent. */
function alone(
  work: AttachmentWork,
  { profile }: TargetLimits,
  situation: LimitSituation,
): readonly LimitViolation[] {
  return checkLimits([itemOf(work)], profile, situation);
}

/** How large the body is for any set of attachments; nothing to say where it is far below every limit. */
function bodyBytesOf(
  live: readonly AttachmentWork[],
  { profile }: TargetLimits,
  textBytes: (room: number) => number,
): (live: readonly AttachmentWork[]) => { readonly bodyBytes?: number } {
  const most = profile.rows.flatMap((row) => (row.rule === "bodyBytes" ? [row.value] : []));
  if (most.length === 0) return () => ({});
  const sizes = new Map(live.map((work) => [work, sentBytes(work)]));
  const attached = live.reduce((sum, work) => sum + (sizes.get(work) ?? 0), reservedBytes);
  const text = textBytes(Math.min(...most) - attached) + reservedBytes;
  return (now) => ({ bodyBytes: now.reduce((sum, work) => sum + (sizes.get(work) ?? 0), text) });
}

function sentBytes({ draft: { media } }: AttachmentWork): number {
  if (media?.type !== "media") return 0;
  return media.mediaType.startsWith("text/") ? media.bytes.length : Math.ceil(media.bytes.length / 3) * 4;
}

function itemOf({ draft: { media, origin } }: AttachmentWork): LimitItem {
  if (media?.type !== "media") {
    const { kind = "document", mediaType = "application/octet-stream" } = media ?? {};
    return { kind, mediaType, size: 0, message: origin.item };
  }
  const { kind, mediaType, bytes, width, height, animated } = media;
  return {
    kind,
    mediaType,
    size: bytes.length,
    message: origin.item,
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    ...(animated === undefined ? {} : { animated }),
  };
}

/** What an image has to become to keep limits; undefined where no resizing helps. */
function boundsOf(violations: readonly LimitViolation[]): ImageBounds | undefined {
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

/** The limit, and not by how much it is passed: that would change with every message more. */
export function limitWords({ rule, limit, unit, scope }: LimitViolation): string {
  const most = typeof limit === "number" ? `${limit} ${unit}` : limit === false ? "none" : limit.join(", ");
  return `over the target's limit, ${rule} ${most}${scope === "item" ? "" : ` in a ${scope}`}`;
}
