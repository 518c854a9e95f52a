import { describe } from "../internal/arguments.js";
import { essenceOf } from "../internal/media-types.js";
import { kindOf, type LimitItem, measure } from "./item.js";
import type { LimitCondition, LimitProfile, LimitRow, LimitRule, LimitScope } from "./profile.js";

/** What is known of the request besides its items. */
export interface LimitSituation {
  /** One of the profile's transports; its first by default. */
  readonly transport?: string;
  /** Tokens. Where it is not told, limits of models with a small one count. */
  readonly contextWindow?: number;
  /** Images in the whole request, where `items` are only some of it. */
  readonly imageCount?: number;
  /** Bytes of the whole body, where it is known; without, the sum over the items stands for it, which is less. */
  readonly bodyBytes?: number;
}

/** One limit that is broken. JSON-safe. */
export interface LimitViolation {
  readonly rule: LimitRule;
  readonly scope: LimitScope;
  /** What the values are counted in; `mediaType` for types, `presence` for what is not taken at all. */
  readonly unit: LimitRow["unit"];
  /** The most, or the types, that would have been taken; false for what never is. */
  readonly limit: LimitRow["value"];
  /** What came: the number, the media type, or true for what is there and should not be. */
  readonly actual: number | string | true;
  /** The item, or all that were counted, in order. Empty where only the situation told of it. */
  readonly items: readonly { readonly index: number; readonly resourceId?: string }[];
  /** The message that it is in; absent for a limit of the whole request. */
  readonly message?: number;
  /** Where the limit is written. */
  readonly source: string;
}

/**
 * The limits of a target that these items break together: pass all that the request sends, re-sent history and tool
 * results included, since the 21st image can make the third one too large. One violation for each item, message or
 * request that breaks a rule, against the tightest value in force. Ordered by row, then by item; the order of items has
 * no other effect. An item more never takes a violation away. Pure, and linear in the items.
 *
 * @throws TypeError when `items` is no array, an item has no media type or size or is a link, or a number is not finite
 *   or is negative; RangeError for a transport that the profile does not have.
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
      throw new TypeError(`${name}: expected what has bytes, got a link: leave it out, or count its text`);
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
  for (const field of situationNumbers) {
    if (situation[field] !== undefined) checkNumber(field, situation[field]);
  }
}

/** What is negative or no number would take from a sum, or make it one that is over nothing. */
function checkNumber(name: string, value: unknown): void {
  if (!Number.isFinite(value) || (value as number) < 0) {
    throw new TypeError(`${name}: expected a finite number >= 0, got ${describe(value)}`);
  }
}

function conditions(
  items: readonly LimitItem[],
  { transports }: LimitProfile,
  { transport = transports[0], contextWindow = 0, imageCount = 0 }: LimitSituation,
): (when: LimitCondition) => boolean {
  if (!transports.includes(transport)) {
    throw new RangeError(`transport: expected one of ${transports.join(", ")}, got ${describe(transport)}`);
  }
  const count = (kind: string) => items.filter((item) => kindOf(item) === kind).length;
  const images = Math.max(imageCount, count("image"));
  const documents = count("document");
  return (when) =>
    (when.transport === undefined || when.transport.includes(transport)) &&
    (when.contextWindowBelow === undefined || contextWindow < when.contextWindowBelow) &&
    (when.imagesOver === undefined ||
      images + (when.withDocuments === true ? documents : 0) > when.imagesOver);
}

/** Of several rows for the same measure the one with the smallest value, in the place of the first. */
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

/** What an item has that the row does not take. */
function broken(row: LimitRow, item: LimitItem): LimitViolation["actual"] | undefined {
  switch (row.rule) {
    case "imageTypes":
    case "fileTypes": {
      const meant = row.rule === "imageTypes" ? kindOf(item) === "image" : kindOf(item) !== "text";
      if (!meant) return undefined;
      const type = essenceOf(item.mediaType);
      return row.value.some((taken) => essenceOf(taken) === type) ? undefined : item.mediaType;
    }
    case "animation":
      return kindOf(item) === "image" && item.animated === true ? true : undefined;
    case "encryption":
      return kindOf(item) === "document" && item.encrypted === true ? true : undefined;
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
    const known = row.scope === "request" ? Math.max(sum, told(row.rule, situation)) : sum;
    return known > row.value ? [violation(row, known, counted, items, message)] : [];
  });
}

/** What is known of the whole request, whatever its items come to. */
function told(rule: LimitRule, { bodyBytes = 0, imageCount = 0 }: LimitSituation): number {
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
