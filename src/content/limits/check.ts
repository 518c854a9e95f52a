/** Limit profiles as data, and the check of a request's attachments and texts against one. */

import { describe, stringArgument } from "../../core/arguments.js";
import { mediaTypeEssence } from "../../core/media-types.js";
import { isOneOf } from "../../providers/models/internal.js";

/** The unit of a number. */
type LimitUnit =
  /** Bytes as stored. */
  | "decodedBytes"
  /** Characters of the bytes' base64, including padding. */
  | "base64Bytes"
  /** Bytes of the whole body, with attachments as base64 and text as UTF-8. */
  | "bodyBytes"
  | "pixels"
  | "count"
  | "pages"
  /** UTF-16 code units. */
  | "characters"
  /** The longer side divided by the shorter. */
  | "ratio";

/**
 * The measure of a limit and the items it applies to: images, documents, files (both), text. Over a message
 * or a request it is the sum. `imageSide` is the longer side, `imageSideSum` the sum of width and height.
 */
type NumericRule =
  | "imageBytes"
  | "documentBytes"
  | "fileBytes"
  | "imageSide"
  | "imageSideSum"
  | "imageRatio"
  | "imageArea"
  | "imageCount"
  | "documentCount"
  | "documentPages"
  | "bodyBytes"
  | "textCharacters";

/** The accepted media types. */
type TypeRule = "imageTypes" | "fileTypes";

/** A ban: images with more than one frame, documents with a password. */
type BanRule = "animation" | "encryption";

/** The name of a limit. */
type LimitRule = NumericRule | TypeRule | BanRule;

/** The scope of a limit: each item, the sum over one message, or over the request with its whole history. */
type LimitScope = "item" | "message" | "request";

/** The condition of a row: all named properties hold. */
interface LimitCondition {
  /**
   * The model is one of these, by any form of its name. A name with a version is that model, a name without one
   * its whole family, such as `claude`. Does not hold for an unknown model.
   */
  readonly models?: readonly string[];
  /** The transport is one of these. */
  readonly transport?: readonly string[];
  /** The model's context window has fewer tokens or is unknown. */
  readonly contextWindowBelow?: number;
  /** The request has more images than this, including history and tool results. */
  readonly imagesOver?: number;
  /** Documents count among the images of `imagesOver`. */
  readonly withDocuments?: true;
  /** The item is part of a tool result. Only for rows with the scope `item`. */
  readonly inToolResult?: true;
}

/** Properties of every row beside its value. */
interface LimitRowBase {
  readonly scope: LimitScope;
  readonly when?: LimitCondition;
  /** Documented by the provider, measured against its API, or inferred from another fact. */
  readonly evidence: "documented" | "measured" | "inferred";
  /** The date on which a stored copy of the source was read. */
  readonly asOf: string;
  readonly source: string;
  /** A remark, such as another source's value. */
  readonly note?: string;
}

/** One limit of one provider. A number is the maximum that the provider accepts. */
export type LimitRow = LimitRowBase &
  (
    | { readonly rule: NumericRule; readonly value: number; readonly unit: LimitUnit }
    | { readonly rule: TypeRule; readonly value: readonly string[]; readonly unit: "mediaType" }
    | { readonly rule: BanRule; readonly value: false; readonly unit: "presence" }
  );

/**
 * The limits of one target, as data. A limit without a row is unknown, not unlimited. If sources disagree,
 * the row has the safer value. MB is a million bytes unless the source says otherwise.
 */
export interface LimitProfile {
  readonly name: string;
  /** The transports that rows distinguish. The first is the default. */
  readonly transports: readonly [string, ...string[]];
  readonly rows: readonly LimitRow[];
}

// Checks the attachments and texts of a request against a limit profile.

/**
 * Facts about one attachment or text of a request. A stored resource is a valid item, a link is not. Unknown
 * properties are not checked: an image without `width` exceeds no limit in pixels. A resource has no
 * `animated`: add it from `sniff` for a target that refuses animations. A document has at least one page.
 * Numbers are finite and not negative.
 */
export interface LimitItem {
  /** The sniffed type, such as `image/png`. Case and parameters are ignored. */
  readonly mediaType: string;
  /** Decoded bytes. */
  readonly size: number;
  /** `text` is a message's own text. @default "image" for an image type, otherwise "document" */
  readonly kind?: string;
  /** Pixels. */
  readonly width?: number;
  /** Pixels. */
  readonly height?: number;
  /** More than one frame. */
  readonly animated?: boolean;
  readonly pages?: number;
  /** With or without a password. */
  readonly encrypted?: boolean;
  /** UTF-16 code units. */
  readonly characters?: number;
  /** The index of its message in the request. @default 0 */
  readonly message?: number;
  /** Whether it is part of a tool result. */
  readonly inToolResult?: boolean;
  readonly resourceId?: string;
}

/** Facts about the request beside its items. */
export interface LimitSituation {
  /** By any form of its name. Without it no row of single models applies. */
  readonly model?: string;
  /** One of the profile's transports. @default the first */
  readonly transport?: string;
  /** In tokens. If unknown, the limits for small context windows apply. */
  readonly contextWindow?: number;
  /** Images in the whole request, if `items` is only a part of it. */
  readonly imageCount?: number;
  /** Bytes of the whole body, if known. Otherwise the check uses the sum over the items, a lower bound. */
  readonly bodyBytes?: number;
}

/** One violated limit. JSON-safe. */
export interface LimitViolation {
  readonly rule: LimitRule;
  readonly scope: LimitScope;
  /** The unit of the values: `mediaType` for types, `presence` for bans. */
  readonly unit: LimitRow["unit"];
  /** The maximum or the accepted types; false for a ban. */
  readonly limit: LimitRow["value"];
  /** The actual number or media type; true for a ban. */
  readonly actual: number | string | true;
  /** The item, or all counted items in order. Empty if only the situation violates the limit. */
  readonly items: readonly { readonly index: number; readonly resourceId?: string }[];
  /** The message; absent for a limit of the whole request. */
  readonly message?: number;
  /** The URL of the limit's source. */
  readonly source: string;
}

/**
 * Checks the items of a request against the limits of a target. Pass all items that the request sends,
 * including history and tool results: the 21st image can make the third one too large. Returns one violation
 * per item, message or request that exceeds the tightest applicable value of a rule, ordered by row, then by
 * item. More items never remove a violation. Pure, and linear in the items.
 *
 * @throws TypeError if `items` is not an array, an item is a link or lacks a media type or size, or a number
 *   is negative or not finite; RangeError for an unknown transport
 * @example
 * ```ts
 * const wide = { mediaType: "image/png", size: 80_000, width: 9000, height: 600 };
 * checkLimits([wide], limitProfiles.anthropic).map(({ rule, limit, actual }) => [rule, limit, actual]);
 * // [["imageSide", 8000, 9000]]
 * ```
 */
export function checkLimits(
  items: readonly LimitItem[],
  profile: LimitProfile,
  situation: LimitSituation = {},
): readonly LimitViolation[] {
  checkItems(items);
  checkSituation(situation);
  const holds = conditions(items, profile, situation);
  return tightest(profile.rows.filter(({ when }) => when === undefined || holds(when))).flatMap((row) =>
    row.scope === "item" ? brokenByItems(row, items) : brokenTogether(row, items, situation),
  );
}

function checkItems(items: readonly LimitItem[]): void {
  if (!Array.isArray(items)) throw new TypeError(`items: expected an array, got ${describe(items)}`);
  items.forEach((item: LimitItem | null | undefined, index) => {
    const name = `items[${index}]`;
    if (typeof item !== "object" || item === null) {
      throw new TypeError(`${name}: expected an object, got ${describe(item)}`);
    }
    if (item.kind === "link") {
      throw new TypeError(`${name}: expected an item with bytes, got a link: omit it, or count its text`);
    }
    if (typeof item.mediaType !== "string") {
      throw new TypeError(`${name}.mediaType: expected a string, got ${describe(item.mediaType)}`);
    }
    checkNumber(`${name}.size`, item.size);
    for (const field of itemNumbers) {
      if (item[field] !== undefined) checkNumber(`${name}.${field}`, item[field]);
    }
  });
}

const itemNumbers = ["width", "height", "pages", "characters", "message"] as const;
const situationNumbers = ["contextWindow", "imageCount", "bodyBytes"] as const;

function checkSituation(situation: LimitSituation): void {
  if (situation.model !== undefined) stringArgument("model", situation.model);
  for (const field of situationNumbers) {
    if (situation[field] !== undefined) checkNumber(field, situation[field]);
  }
}

/** Refuses NaN, Infinity and negative numbers, which would make a sum exceed no limit. */
function checkNumber(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) < 0) {
    throw new TypeError(`${name}: expected a finite number >= 0, got ${describe(value)}`);
  }
}

function conditions(
  items: readonly LimitItem[],
  { transports }: LimitProfile,
  { model, transport = transports[0], contextWindow = 0, imageCount = 0 }: LimitSituation,
): (when: LimitCondition) => boolean {
  if (!transports.includes(transport)) {
    throw new RangeError(`transport: expected one of ${transports.join(", ")}, got ${describe(transport)}`);
  }
  const count = (kind: string) => items.filter((item) => itemKind(item) === kind).length;
  const images = Math.max(imageCount, count("image"));
  const documents = count("document");
  return (when) =>
    (when.models === undefined || (model !== undefined && isOneOf(model, when.models))) &&
    (when.transport === undefined || when.transport.includes(transport)) &&
    (when.contextWindowBelow === undefined || contextWindow < when.contextWindowBelow) &&
    (when.imagesOver === undefined ||
      images + (when.withDocuments === true ? documents : 0) > when.imagesOver);
}

/**
 * Keeps of several rows for the same measure the one with the smallest value, at the position of the first.
 */
function tightest(rows: readonly LimitRow[]): readonly LimitRow[] {
  const kept = new Map<string, LimitRow>();
  rows.forEach((row, index) => {
    const numeric = typeof row.value === "number";
    const place = row.when?.inToolResult === true ? " inToolResult" : "";
    const key = numeric ? `${row.rule} ${row.scope} ${row.unit}${place}` : String(index);
    const known = kept.get(key);
    if (known === undefined || row.value < known.value) kept.set(key, row);
  });
  return [...kept.values()];
}

function brokenByItems(row: LimitRow, items: readonly LimitItem[]): readonly LimitViolation[] {
  const resultsOnly = row.when?.inToolResult === true;
  return items.flatMap((item, index) => {
    const actual = resultsOnly && item.inToolResult !== true ? undefined : broken(row, item);
    return actual === undefined ? [] : [violation(row, actual, [index], items, item.message ?? 0)];
  });
}

/** The property of an item that violates a row; undefined if it conforms. */
function broken(row: LimitRow, item: LimitItem): LimitViolation["actual"] | undefined {
  switch (row.rule) {
    case "imageTypes":
    case "fileTypes": {
      const meant = row.rule === "imageTypes" ? itemKind(item) === "image" : itemKind(item) !== "text";
      if (!meant) return undefined;
      const type = mediaTypeEssence(item.mediaType);
      return row.value.some((taken) => mediaTypeEssence(taken) === type) ? undefined : item.mediaType;
    }
    case "animation":
      return itemKind(item) === "image" && item.animated === true ? true : undefined;
    case "encryption":
      return itemKind(item) === "document" && item.encrypted === true ? true : undefined;
    default: {
      const actual = measure(row.rule, row.unit, item);
      return actual !== undefined && actual > row.value ? actual : undefined;
    }
  }
}

function brokenTogether(
  row: LimitRow,
  items: readonly LimitItem[],
  situation: LimitSituation,
): readonly LimitViolation[] {
  if (row.unit === "mediaType" || row.unit === "presence") return [];
  const groups = new Map<number | undefined, { sum: number; readonly counted: number[] }>();
  if (row.scope === "request") groups.set(undefined, { sum: 0, counted: [] });
  items.forEach((item, index) => {
    const amount = measure(row.rule, row.unit, item);
    if (amount === undefined) return;
    const message = row.scope === "message" ? (item.message ?? 0) : undefined;
    const group = groups.get(message) ?? { sum: 0, counted: [] };
    groups.set(message, group);
    group.sum += amount;
    group.counted.push(index);
  });
  return [...groups].flatMap(([message, { sum, counted }]) => {
    const known = row.scope === "request" ? Math.max(sum, statedTotal(row.rule, situation)) : sum;
    return known > row.value ? [violation(row, known, counted, items, message)] : [];
  });
}

/** The value of a rule for the whole request, as the situation states it. */
function statedTotal(rule: LimitRule, { bodyBytes = 0, imageCount = 0 }: LimitSituation): number {
  if (rule === "bodyBytes") return bodyBytes;
  return rule === "imageCount" ? imageCount : 0;
}

function violation(
  { rule, scope, unit, value, source }: LimitRow,
  actual: LimitViolation["actual"],
  indexes: readonly number[],
  items: readonly LimitItem[],
  message: number | undefined,
): LimitViolation {
  const named = indexes.map((index) => {
    const resourceId = items[index]?.resourceId;
    return resourceId === undefined ? { index } : { index, resourceId };
  });
  return {
    rule,
    scope,
    unit,
    limit: value,
    actual,
    items: named,
    ...(message === undefined ? {} : { message }),
    source,
  };
}

/** The kind of an item: text only if its `kind` says so. */
export function itemKind({ kind, mediaType }: LimitItem): "image" | "document" | "text" {
  if (kind === "text") return "text";
  return mediaTypeEssence(mediaType).startsWith("image/") ? "image" : "document";
}

/** The length of the base64 of so many bytes, including padding. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/**
 * The amount of an item that counts for a rule; undefined if the rule does not apply or the property is
 * unknown.
 */
export function measure(rule: NumericRule, unit: LimitUnit, item: LimitItem): number | undefined {
  const kind = itemKind(item);
  switch (rule) {
    case "imageBytes":
      return kind === "image" ? unitBytes(unit, item) : undefined;
    case "documentBytes":
      return kind === "document" ? unitBytes(unit, item) : undefined;
    case "fileBytes":
      return kind === "text" ? undefined : unitBytes(unit, item);
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
      return mediaTypeEssence(item.mediaType) === "application/pdf"
        ? Math.max(1, item.pages ?? 1)
        : undefined;
    case "bodyBytes":
      return mediaTypeEssence(item.mediaType).startsWith("text/") ? item.size : base64Length(item.size);
    case "textCharacters":
      return kind === "text" ? item.characters : undefined;
  }
}

function unitBytes(unit: LimitUnit, { size }: LimitItem): number {
  return unit === "base64Bytes" ? base64Length(size) : size;
}

function sides(item: LimitItem, of: (width: number, height: number) => number): number | undefined {
  const { width, height } = item;
  return itemKind(item) === "image" && width !== undefined && height !== undefined
    ? of(width, height)
    : undefined;
}
