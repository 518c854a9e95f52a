import { createHash } from "node:crypto";
import type { HashFunction } from "sessile";

/**
 * Bytes, base64, digests and records by Node's own means: what judges the library, or makes its inputs, shares no code
 * with it.
 */

/** Text as UTF-8. */
export function encodeUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** The bytes of base64 text; undefined unless the text is the one that an encoder prints for them. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? new Uint8Array(bytes) : undefined;
}

/** SHA-256 of OpenSSL, for stores of large blobs: the portable one takes ten times as long. */
export const nodeSha256: HashFunction = { name: "sha256", create: () => createHash("sha256") };

/** Whether a JSON value is an object with members. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
