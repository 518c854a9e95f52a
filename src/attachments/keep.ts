import { type BlobStore, digest } from "../blobs/index.js";
import type { StoredResource } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import type { Gathered } from "./gather.js";
import { type Identity, identify, type MismatchPolicy } from "./identify.js";

/** The same, and what the bytes are. */
export interface Identified extends Gathered {
  readonly identity: Identity;
}

/** The most bytes of one resource, where nothing else is said. */
export const defaultMaxBytes: number = 64 << 20;

/** @throws TypeError for what cannot store bytes */
export function assertBlobs(blobs: unknown): void {
  if (typeof (blobs as Partial<BlobStore> | null | undefined)?.put === "function") return;
  throw new TypeError(`blobs: expected a blob store, got ${describe(blobs)}`);
}

/** @throws SessileError MEDIA_INVALID, MEDIA_TYPE_MISMATCH */
export function identified(piece: Gathered, mismatch: MismatchPolicy): Identified {
  const { bytes, name, declared } = piece;
  return { ...piece, identity: identify(bytes, { name, mediaType: declared?.mediaType }, mismatch) };
}

/** Stores bytes, and gives their resource. */
export async function store(
  piece: Identified,
  resourceId: string,
  options: {
    readonly blobs: Pick<BlobStore, "put">;
    readonly source?: "upload" | "tool" | "import";
    readonly signal?: AbortSignal;
  },
): Promise<StoredResource> {
  const { bytes, name, declared, uri, identity } = piece;
  const { mediaType } = identity;
  const { signal } = options;
  const { ref } = await options.blobs.put(bytes, { mediaType, ...(signal === undefined ? {} : { signal }) });
  const sha256 = ref.startsWith("sha256:") ? ref : digest(bytes);
  return {
    resourceId,
    kind: identity.kind,
    ...(name === undefined ? {} : { name }),
    mediaType,
    size: bytes.length,
    contentSha256: sha256.slice("sha256:".length),
    blob: ref,
    ...(identity.kind === "image" ? { width: identity.width, height: identity.height } : {}),
    source: options.source ?? "upload",
    ...(uri === undefined ? {} : { uri }),
    ...(declared === undefined ? {} : { declared }),
  };
}
