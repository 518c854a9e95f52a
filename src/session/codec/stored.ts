import { crc32 } from "../../internal/crc32.js";
import { tooDeep } from "../../internal/json-depth.js";
import { isRecord } from "../../internal/shape.js";
import type { SessionEntry } from "../entries.js";
import { isPlainMessage } from "../plain-message.js";
import { fieldsProblem, isEntryType } from "../shape.js";
import { keyOf } from "../tree/entry-key.js";
import { withKnownContent } from "./decode.js";
import { checksumAt, type KnownOfLine, mayBeUnsafe, sealLength, sealOf, storedChecksum } from "./json.js";
import { idAt, MessageHeads, messageAt, parentAt, timeAt } from "./message-head.js";

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
  if (!isPlain && !fits(value)) return undefined;
  // The checks above are what make this cast true.
  return value as unknown as SessionEntry;
}

function fits(value: Record<string, unknown>): boolean {
  return withKnownContent(value) === value && fieldsProblem(value) === undefined;
}

/**
 * {@link storedEntry} for the lines of messages that have the form of {@link MessageHeads}, line after line of the same
 * bytes; undefined for any other line. Their messages are parsed, and what stands before them is not: JSON.parse looks each
 * short string up in a table of all that it ever saw, so that ids and checksums, no two alike, cost as much as the message.
 */
export class StoredMessages {
  readonly #maxDepth: number;
  readonly #checksum: NonNullable<KnownOfLine["crc32"]>;
  readonly #heads = new MessageHeads();
  #whole: Uint8Array = new Uint8Array(0);
  /** The last id, which the next line mostly names as its parent's. */
  #id = "";
  #key = -1;

  constructor(maxDepth: number, checksum: KnownOfLine["crc32"] = crc32) {
    this.#maxDepth = maxDepth;
    this.#checksum = checksum;
  }

  read(bytes: Uint8Array, text: string): SessionEntry | undefined {
    if (bytes.buffer !== this.#whole.buffer) this.#whole = new Uint8Array(bytes.buffer);
    const start = bytes.byteOffset;
    const heads = this.#heads;
    if (!heads.read(this.#whole, start, start + bytes.length) || mayBeUnsafe(text)) return undefined;
    const sealAt = checksumAt(bytes);
    const json = text.slice(messageAt, sealAt < 0 ? -1 : -sealLength);
    if (tooDeep(json, this.#maxDepth - 1)) return undefined;
    let message: (SessionEntry & { readonly type: "message" })["message"];
    try {
      message = JSON.parse(json);
    } catch {
      return undefined;
    }
    if (sealAt >= 0 && storedChecksum(bytes, sealAt) !== this.#checksum(bytes.subarray(0, sealAt)))
      return undefined;
    const parentId = heads.parentId === this.#key ? this.#id : text.slice(parentAt, parentAt + 8);
    const id = text.slice(idAt, idAt + 8);
    this.#id = id;
    this.#key = heads.id;
    // In two: a longer part of a string keeps the whole of it in memory.
    const timestamp = text.slice(timeAt, timeAt + 12) + text.slice(timeAt + 12, timeAt + 24);
    const entry = { type: "message" as const, id, parentId, timestamp, message };
    return isPlainMessage(message) || fits(entry) ? entry : undefined;
  }
}
