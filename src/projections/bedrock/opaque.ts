import { decodeBase64 } from "../../internal/base64.js";
import { copyJsonObject } from "../../internal/copy-json.js";
import { encodeBase64 } from "../../internal/encode-base64.js";
import { isRecord } from "../../internal/shape.js";
import type { BedrockBlock } from "./shapes.js";

/** The one member of an object that stands for bytes, since a session's log has no other place for them. */
const bytesKey = "$base64";

/** A block of the client's as JSON, its bytes under a member of their own. */
export function opaqueData(block: object): unknown {
  return copyJsonObject(withoutBytes(block));
}

function withoutBytes(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, without(field)]));
}

function without(value: unknown): unknown {
  if (value instanceof Uint8Array) return { [bytesKey]: encodeBase64(value) };
  if (Array.isArray(value)) return value.map(without);
  return typeof value === "object" && value !== null ? withoutBytes(value) : value;
}

/**
 * What Converse gives besides text, calls and reasoning, and takes again from the model.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html (stored copy, 2026-11-21)
 */
const kinds = ["citationsContent", "searchResult", "audio", "video", "$unknown"];

/** The block again, in fresh objects; undefined for data that Converse would refuse. */
export function opaqueBlock(data: unknown): BedrockBlock | undefined {
  if (!isRecord(data)) return undefined;
  const block = withBytes(data);
  return isBlock(block) ? block : undefined;
}

function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes);
  if (!isRecord(value)) return value;
  const { [bytesKey]: base64, ...others } = value;
  if (typeof base64 === "string" && Object.keys(others).length === 0)
    return decodeBase64(base64) ?? new Uint8Array();
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withBytes(field)]));
}

function isBlock(block: unknown): block is BedrockBlock {
  if (!isRecord(block)) return false;
  const [kind = "", ...others] = Object.keys(block);
  return others.length === 0 && kinds.includes(kind);
}
