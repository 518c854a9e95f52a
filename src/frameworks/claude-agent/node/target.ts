/** Checks content blocks against the limits of the agent's model. */

import {
  checkLimits,
  type LimitItem,
  type LimitProfile,
  type LimitViolation,
} from "../../../content/limits/index.js";
import { anthropic as anthropicLimits } from "../../../content/limits/internal.js";
import type { TargetLimits } from "../../../providers/index.js";
import { type AttachmentTextBlock, blockBodyBytes, type FileContent } from "./content.js";
import type { Refusal } from "./failure.js";

/** Bytes reserved for the rest of the agent's request, such as its instructions and tools. */
const reservedBytes = 2 ** 18;

/** Checks one more file against the target, and counts it if it is accepted. */
export type TargetCheck = (content: FileContent) => Refusal | undefined;

/**
 * Checks a turn's files, together with its text, against the limits of its target. Refuses a file that the
 * target would refuse, or that would make the target refuse the turn.
 *
 * @throws the errors of `checkLimits` for the target
 */
export function targetCheck(
  text: AttachmentTextBlock | undefined,
  target: TargetLimits | null | undefined,
): TargetCheck {
  if (target === null) return () => undefined;
  const { profile, ...situation } = target ?? { profile: anthropicLimits };
  let items: readonly LimitItem[] = text === undefined ? [] : [itemOfText(text)];
  let bodyBytes = reservedBytes + (text === undefined ? 0 : blockBodyBytes(text));
  checkLimits(items, profile, { ...situation, bodyBytes });
  return (content) => {
    const withIt = [...items, contentItem(content)];
    const bodyWithIt = bodyBytes + blockBodyBytes(content.block);
    const [violation] = checkLimits(withIt, profile, { ...situation, bodyBytes: bodyWithIt });
    if (violation !== undefined) return refused(profile, violation);
    items = withIt;
    bodyBytes = bodyWithIt;
    return undefined;
  };
}

function itemOfText({ text }: AttachmentTextBlock): LimitItem {
  return { mediaType: "text/plain", kind: "text", size: Buffer.byteLength(text), characters: text.length };
}

function contentItem({ block, image, pdf, size }: FileContent): LimitItem {
  if (pdf !== undefined) return { ...pdf, size };
  if (image === undefined) return { mediaType: block.source.media_type, size };
  return { ...image, size };
}

function refused({ name }: LimitProfile, { rule, unit, limit, actual }: LimitViolation): Refusal {
  const most = Array.isArray(limit) ? limit.join(", ") : String(limit);
  const reason = `with it, the request breaks a limit of ${name}: ${rule} ${most} (${unit}), got ${actual}`;
  return { code: "TARGET_LIMIT", reason };
}
