/**
 * Migrates lines of versions 1 and 2. Version 1 has no ids: a line's id is its ordinal among the lines that
 * parse, in eight hexadecimal digits, so that every reader derives the same id. Its parent is the entry
 * before.
 */

import { describe } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import type { Diagnostic } from "./diagnostics.js";
import { parseLine } from "./line-json.js";
import { normalizeMessage } from "./validate.js";

/** The id of version 1 for a line's ordinal. */
export function ordinalToId(ordinal: number): string {
  return ordinal.toString(16).padStart(8, "0");
}

/** Converts a parsed line of an older version. Returns the same value if nothing changes. */
export function migrateEntry(
  value: Record<string, unknown>,
  version: number,
  ordinal: number,
  report: (code: Diagnostic["code"], message: string) => void,
  previousId: string | null = ordinal > 1 ? ordinalToId(ordinal - 1) : null,
): Record<string, unknown> {
  if (version >= 2) return value;
  const { type, id: _id, parentId: _parentId, timestamp, firstKeptEntryIndex, ...rest } = value;
  const id = ordinalToId(ordinal);
  const entry: Record<string, unknown> = {
    type,
    id,
    parentId: previousId,
    timestamp: timestamp ?? "",
    ...rest,
  };
  if (type === "compaction" && rest.firstKeptEntryId === undefined) {
    // The index counts the header as line 0.
    const index = firstKeptEntryIndex;
    const usable = typeof index === "number" && Number.isInteger(index) && index >= 1 && index < ordinal;
    if (!usable)
      report(
        "INVALID_INDEX",
        `firstKeptEntryIndex: expected an earlier entry's index, got ${describe(index)}; nothing is kept`,
      );
    entry.firstKeptEntryId = usable ? ordinalToId(index) : id;
  }
  return entry;
}

/**
 * Converts a line of an older version. Returns undefined for the header, and for a line that is not an
 * object, which callers copy unchanged.
 */
export function migrateLine(
  bytes: Uint8Array,
  version: number,
  ordinal: number,
  maxDepth: number,
  previousId?: string | null,
): string | undefined {
  const parsed = parseLine(bytes, maxDepth);
  if (!parsed.ok || !isRecord(parsed.value) || parsed.value.type === "session") return undefined;
  const { type, id, parentId, timestamp, ...rest } = migrateEntry(
    parsed.value,
    version,
    ordinal,
    () => undefined,
    previousId,
  );
  const fields = type === "message" ? { ...rest, message: normalizeMessage(rest.message) } : rest;
  return JSON.stringify({ type, id, parentId, timestamp, ...fields });
}

/** The inverse of {@link ordinalToId}; 0 for another id. */
export function idToOrdinal(id: string): number {
  const ordinal = Number.parseInt(id, 16);
  return ordinalToId(ordinal) === id ? ordinal : 0;
}
