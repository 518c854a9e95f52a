/** Members of foreign records, of which nothing is certain. Nothing here throws. */

import type { ImageBlock, TextBlock } from "../../content/index.js";
import { opaqueMedia, withAddresses, withReferences } from "../../content/internal.js";
import { isTooDeep } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";

/** An object of a foreign record. */
export type ForeignObject = Readonly<Record<string, unknown>>;

/** The value if it is an object and no array. */
export function readObject(value: unknown): ForeignObject | undefined {
  return isRecord(value) ? value : undefined;
}

/** The value if it is an array, else an empty one. */
export function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is text, without lone surrogates. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value.toWellFormed() : undefined;
}

/**
 * A value of JSON without halves of surrogate pairs, which some parsers refuse even as an escape: each is
 * U+FFFD, in keys too. The same value if it has none.
 */
export function wellFormed<T>(value: T): T;
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => wellFormed(item));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  const members = Object.entries(value).map(
    ([key, member]) => [key.toWellFormed(), wellFormed(member)] as const,
  );
  const isSame = members.every(
    ([key, member]) => Object.hasOwn(value, key) && member === (value as ForeignObject)[key],
  );
  return isSame ? value : Object.fromEntries(members);
}

/** The value if it is a finite number. */
export function readNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A count: a finite number of at least 0, else 0. */
export function readCount(value: unknown): number {
  return Math.max(0, readNumber(value) ?? 0);
}

const firstTime = Date.parse("0000-01-01T00:00:00.000Z");
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");

/** Milliseconds since 1970 of a number or of ISO 8601, in the years 0 to 9999; else undefined. */
export function readMilliseconds(value: unknown): number | undefined {
  const time = typeof value === "string" && value !== "" ? Date.parse(value) : value;
  return typeof time === "number" && time >= firstTime && time <= lastTime ? Math.trunc(time) : undefined;
}

/** ISO 8601; the epoch for a time that no date has. */
export function timeIso(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}

/** Nesting of the JSON in a foreign string. Less than the maximum of an entry, which it becomes a part of. */
const maxDepth = 128;

/** The value of JSON in a string; undefined for other text, and for deep nesting. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== "string" || isTooDeep(text, maxDepth)) return undefined;
  try {
    return JSON.parse(text, mayBeUnsafe.test(text) ? withoutProto : undefined);
  } catch {
    return undefined;
  }
}

/** A `__proto__` key, perhaps with an escaped letter. */
const mayBeUnsafe = /__proto__|\\u00(?:5f|70|72|6f|74)/i;

/** A reviver that omits `__proto__` keys. */
function withoutProto(this: unknown, key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

/** Members that say nothing beside a medium. */
const silent: ReadonlySet<string> = new Set(["type", "mimeType", "mediaType", "media_type", "format"]);

/**
 * A part of a type without a form of its own, as blocks: nothing that was said or attached is lost. They are its
 * media, and before them its JSON with their types in their places; a part that is a medium alone has no text. Media of other types than images count as images until their bytes are stored.
 */
export function unknownBlocks(part: ForeignObject): readonly (TextBlock | ImageBlock)[] {
  const media = opaqueMedia(part);
  const types = media.map(({ declared, imageType }) => imageType ?? (declared || "application/octet-stream"));
  const outline = withReferences(part, String);
  const rest = media.length === 0 ? outline : withAddresses(outline, (at) => `[${types[Number(at)]}]`);
  const blocks = media.map(({ base64 }, at): ImageBlock => {
    return { type: "image", data: base64, mimeType: types[at] as string };
  });
  if (blocks.length === 1 && isSilent(outline)) return blocks;
  return [{ type: "text", text: JSON.stringify(rest).toWellFormed() }, ...blocks];
}

/** Whether an outline has nothing but a reference and its type. */
function isSilent(outline: unknown): boolean {
  const members = readObject(outline);
  if (members === undefined) return false;
  return Object.entries(members).every(
    ([key, member]) => silent.has(key) || key.startsWith("$") || key === "prefix" || isSilent(member),
  );
}
