import { base64Bytes, decodeBase64 } from "../internal/base64.js";

/** A data URL that has been read. */
export interface DataUrl {
  /** As it stands there; empty where there is none. */
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
  /** The bytes, decoded when asked for; undefined where they are not base64. */
  decode(): Uint8Array | undefined;
}

/**
 * Reads a data URL with a base64 payload; undefined for any other text. Strict in the payload, since a provider that
 * gets it decodes it so, and lenient around the media type.
 *
 * @see https://www.rfc-editor.org/rfc/rfc2397 (read 2026-11-21)
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(",");
  // A media type is short; nobody looks through megabytes for the end of one.
  if (comma < 0 || comma > 1000) return undefined;
  const head = url.slice(0, comma).trim();
  // By hand: a pattern with white space around both sides of a semicolon tries each way to share it out.
  const semicolon = head.lastIndexOf(";");
  if (
    !/^data:/i.test(head) ||
    head
      .slice(semicolon + 1)
      .trim()
      .toLowerCase() !== "base64"
  )
    return undefined;
  const payload = url.slice(comma + 1);
  const size = base64Bytes(payload);
  if (semicolon < 0 || size === undefined) return undefined;
  const mediaType = head.slice("data:".length, semicolon).trim();
  return { mediaType, size, decode: () => decodeBase64(payload) };
}
