import { crc32 } from "../../internal/crc32.js";
import { tooDeep } from "../../internal/json-depth.js";
import { isRecord } from "../../internal/shape.js";
import type { SessionEntry } from "../entries.js";
import { isPlainMessage } from "../plain-message.js";
import { fieldsProblem, isEntryType } from "../shape.js";
import { keyOf } from "../tree/entry-key.js";
import { withKnownContent } from "./decode.js";
import { type KnownOfLine, mayBeUnsafe, sealLength, sealOf } from "./json.js";

/**
 * The entry of a line that is as this version writes them: of a known type that it fits, with nothing unusual and no
 * damage. undefined for any other line, which {@link decodeBody} then reads and says what it is. Nearly all lines are
 * such ones, and a long history has many: this is the same reading without what only the others need.
 */
export function storedEntry(
  bytes: Uint8Array,
  text: string,
  maxDepth: number,
  checksum: KnownOfLine["crc32"] = crc32,
): SessionEntry | undefined {
  if (mayBeUnsafe(text) || tooDeep(text, maxDepth)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { type, id, parentId, timestamp } = value;
  if (typeof type !== "string" || typeof id !== "string" || id === "" || typeof timestamp !== "string")
    return undefined;
  if (parentId !== null && typeof parentId !== "string") return undefined;
  if (!isEntryType(type)) return undefined;
  if (value.crc !== undefined) {
    // A checksum that is not where this version puts it is for the whole reading too.
    const seal = sealOf(text);
    if (seal === undefined || value.crc !== seal) return undefined;
    // As a number: the digits of one take as long to make as the checksum.
    if (keyOf(seal) !== checksum(bytes.subarray(0, -sealLength))) return undefined;
    delete value.crc;
  }
  const isPlain = type === "message" && isPlainMessage(value.message);
  if (!isPlain && (withKnownContent(value) !== value || fieldsProblem(value) !== undefined)) return undefined;
  // The checks above are what make this cast true.
  return value as unknown as SessionEntry;
}
