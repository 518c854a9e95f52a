import { essenceOf } from "../internal/media-types.js";
import type { LimitUnit, NumericRule } from "./profile.js";

/**
 * What is known of one thing that is to be sent. A stored resource is one as it is, a link is none. What is not told is
 * not checked: an image without `width` breaks no limit of pixels. A resource does not say whether it is `animated`: add
 * it, as `sniff` tells it of the bytes, for a target that takes no animation. A document has at least one page. Numbers
 * are finite and not negative.
 */
export interface LimitItem {
  /** As sniffed, such as `image/png`; case and parameters do not matter. */
  readonly mediaType: string;
  /** Decoded bytes. */
  readonly size: number;
  /** By default `image` for an image type and `document` for any other; `text` is a message's own text. */
  readonly kind?: string;
  /** Pixels. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
  /** More than one frame. */
  readonly animated?: boolean;
  readonly pages?: number;
  /** Needs a password to be read. */
  readonly encrypted?: boolean;
  /** UTF-16 code units. */
  readonly characters?: number;
  /** Which message of the request it stands in; 0 by default. */
  readonly message?: number;
  /** It stands in what a tool gave back. */
  readonly inToolResult?: boolean;
  readonly resourceId?: string;
}

/** What an item counts as: text only where it says so. */
export function kindOf({ kind, mediaType }: LimitItem): "image" | "document" | "text" {
  if (kind === "text") return "text";
  return essenceOf(mediaType).startsWith("image/") ? "image" : "document";
}

/** The characters that base64 takes for so many bytes, padding included. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** What of an item counts for a rule; undefined where the rule is not about it, or it does not say. */
export function measure(rule: NumericRule, unit: LimitUnit, item: LimitItem): number | undefined {
  const kind = kindOf(item);
  switch (rule) {
    case "imageBytes":
      return kind === "image" ? bytesOf(unit, item) : undefined;
    case "documentBytes":
      return kind === "document" ? bytesOf(unit, item) : undefined;
    case "fileBytes":
      return kind === "text" ? undefined : bytesOf(unit, item);
    case "imageSide":
      return sides(item, (width, height) => Math.max(width, height));
    case "imageSideSum":
      return sides(item, (width, height) => width + height);
    case "imageRatio":
      return sides(item, (width, height) => Math.max(width / height, height / width));
    case "imageArea":
      return sides(item, (width, height) => width * height);
    case "imageCount":
      return kind === "image" ? 1 : undefined;
    case "documentCount":
      return kind === "document" ? 1 : undefined;
    case "documentPages":
      return essenceOf(item.mediaType) === "application/pdf" ? Math.max(1, item.pages ?? 1) : undefined;
    case "bodyBytes":
      return essenceOf(item.mediaType).startsWith("text/") ? item.size : base64Length(item.size);
    case "textCharacters":
      return kind === "text" ? item.characters : undefined;
  }
}

function bytesOf(unit: LimitUnit, { size }: LimitItem): number {
  return unit === "base64Bytes" ? base64Length(size) : size;
}

function sides(item: LimitItem, of: (width: number, height: number) => number): number | undefined {
  const { width, height } = item;
  return kindOf(item) === "image" && width !== undefined && height !== undefined
    ? of(width, height)
    : undefined;
}
