/** References to bytes that a provider already has. */

import type { BlobRef } from "../content/index.js";

/** A reference to bytes that a provider already has or can fetch. */
export type ProviderReference =
  /** The id of an upload; for Gemini its URI. */
  | { readonly kind: "file"; readonly id: string; readonly expiresAt?: number }
  /** A URL that the provider fetches, such as a presigned one. */
  | { readonly kind: "url"; readonly url: string; readonly expiresAt?: number };

/** The key of a reference: an upload belongs to one account of one provider. */
export interface ReferenceKey {
  readonly blob: BlobRef;
  readonly provider: string;
  /** Absent if the harness has only one. */
  readonly account?: string;
}

/**
 * The uploads of a harness. A projection looks here before it reads bytes, and uses a reference if the target
 * accepts its kind and it does not expire soon.
 */
export interface ReferenceCache {
  /** Returns the reference of a key, or undefined. */
  get(key: ReferenceKey): ProviderReference | undefined | Promise<ProviderReference | undefined>;
}

/** A writable {@link ReferenceCache} in memory. */
export interface MemoryReferenceCache extends ReferenceCache {
  /** Returns the reference of a key, or undefined. */
  get(key: ReferenceKey): ProviderReference | undefined;
  /** Stores a reference, and replaces an earlier one. */
  set(key: ReferenceKey, reference: ProviderReference): void;
  /**
   * Deletes a reference, such as that of a file which the provider no longer has. Returns whether it existed.
   */
  delete(key: ReferenceKey): boolean;
}

/**
 * Creates a cache in memory. `expiresAt` is in milliseconds since 1970; only the projection evaluates it.
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
