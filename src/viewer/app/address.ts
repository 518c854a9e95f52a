/** Addresses of entries: the part of the page's own address behind `#`. */

/** An entry, its session and its branch. */
export interface Address {
  readonly entryId: string;
  /** Undefined for the page's own session. */
  readonly session?: string | undefined;
  /** The leaf of the branch; undefined for the session's own leaf. */
  readonly leafId?: string | undefined;
}

export function toAddress({ entryId, session, leafId }: Address): string {
  return `#${new URLSearchParams({
    ...(session !== undefined && { session }),
    entry: entryId,
    ...(leafId !== undefined && { leaf: leafId }),
  })}`;
}

/** Reads an address; undefined if it names no entry. */
export function readAddress(hash: string): Address | undefined {
  const named = new URLSearchParams(hash.replace(/^#/, ""));
  const entryId = named.get("entry");
  if (entryId === null) return undefined;
  return {
    entryId,
    session: named.get("session") ?? undefined,
    leafId: named.get("leaf") ?? undefined,
  };
}
