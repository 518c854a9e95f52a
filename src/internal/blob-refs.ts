// No boundary in front: in JSON the letter of an escape may stand there, as in "see:\nsha256:…".
const anyRef = /(?:sha256|blake3):[0-9a-f]{64}(?![0-9A-Za-z])/g;

type BlobRef = `${"sha256" | "blake3"}:${string}`;

/**
 * Every blob that a text names, wherever the name stands: the roots of a garbage collection. It needs no knowledge of the
 * text's format, so that names written by a newer version count. A name counts whatever precedes it, as the letter of an
 * escape in JSON: keeping one blob too many costs little.
 *
 * @example
 * ```ts
 * [...blobRefsIn(`{"note":"sha256:${"0".repeat(64)}"}`)].length; // 1
 * ```
 */
export function blobRefsIn(text: string): ReadonlySet<BlobRef> {
  return new Set(text.match(anyRef) as BlobRef[] | null);
}
