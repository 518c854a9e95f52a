import type { BlobRef } from "../content/index.js";

/** Bytes that a provider has, or can reach, without their being sent again. */
export type ProviderReference =
  /** An id that the provider gave for an upload; a URI of its own for Gemini. */
  | { readonly kind: "file"; readonly id: string; readonly expiresAt?: number }
  /** An address that the provider fetches, such as a presigned one. */
  | { readonly kind: "url"; readonly url: string; readonly expiresAt?: number };

/** What a reference is filed under: an upload belongs to one account of one provider. */
export interface ReferenceKey {
  readonly blob: BlobRef;
  readonly provider: string;
  /** Absent where the harness has but one. */
  readonly account?: string;
}

/**
 * Where a harness keeps what it has uploaded. A projection looks here before it reads bytes, and uses what it
 * finds where the target takes such a reference and it is not about to expire.
 */
export interface ReferenceCache {
  /** What there is for a key; undefined for nothing. */
  get(key: ReferenceKey): ProviderReference | undefined | Promise<ProviderReference | undefined>;
}

/** A {@link ReferenceCache} in memory, which can be filled. */
export interface MemoryReferenceCache extends ReferenceCache {
  /** What there is for a key; undefined for nothing. */
  get(key: ReferenceKey): ProviderReference | undefined;
  /** Keeps a reference, in place of one that was there. */
  set(key: ReferenceKey, reference: ProviderReference): void;
  /** Whether there was one, such as for a file that the provider says it does not have. */
  delete(key: ReferenceKey): boolean;
}

/**
 * References kept for as long as the process lives. `expiresAt` is in milliseconds since 1970; the projection
 * is what looks at it.
 *
 * @example
 * ```ts
 * const references = memoryReferenceCache();
 * references.set({ blob: screenshot.blob, provider: "anthropic" }, { kind: "file", id: "file_1" });
 * ```
 */
export function memoryReferenceCache(): MemoryReferenceCache {
  const known = new Map<string, ProviderReference>();
  return {
    get: (key) => known.get(keyText(key)),
    set: (key, reference) => void known.set(keyText(key), reference),
    delete: (key) => known.delete(keyText(key)),
  };
}

function keyText({ blob, provider, account }: ReferenceKey): string {
  return JSON.stringify([blob, provider, account ?? null]);
}
