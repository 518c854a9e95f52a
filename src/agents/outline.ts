/**
 * Outlines of entries: all that a writer plans with, without long texts. The outlines of a session fit in memory if
 * its entries do not.
 */

import { decodeUtf8, encodeUtf8 } from "../core/bytes.js";
import { isRecord } from "../core/shape.js";
import type { AnyEntry } from "./edited-path.js";

/** Characters of a text that stay. */
const maxText = 256;

/** Members that name something, whole. */
const naming = /^(?:id|retain|type|role|name|toolName|customType|provider|model|api|.{0,64}Id)$/;

/** Members that no plan reads. */
const unread = new Set(["arguments", "details"]);

/** A copy of an entry that holds no long text, nor a part of its memory. */
export function entryOutline<T extends AnyEntry>(entry: T): T {
  const isRead = entry.type !== "custom" || entry.customType === "sessile.subagent";
  return cut(isRead ? entry : { ...entry, data: {} }) as T;
}

function cut(value: unknown): unknown {
  // The part of a text would keep all of it in memory.
  if (typeof value === "string") return value.length <= maxText ? value : copied(value.slice(0, maxText));
  if (Array.isArray(value)) return value.map(cut);
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, cutMember(key, member)]);
  return Object.fromEntries(members);
}

function cutMember(key: string, member: unknown): unknown {
  if (naming.test(key)) return member;
  return unread.has(key) && typeof member === "object" && member !== null ? {} : cut(member);
}

function copied(text: string): string {
  return decodeUtf8(encodeUtf8(text)) as string;
}
