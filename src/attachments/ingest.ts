import type { BlobStore } from "../blobs/index.js";
import type { LinkResource, Resource, StoredResource } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { integerOption, oneOfOption } from "../internal/arguments.js";
import { checkLimits, type LimitProfile, type LimitSituation } from "../limits/index.js";
import { type ReadFile, readLink, readSource } from "./read-source.js";
import {
  type IngestSource,
  type InputImageSource,
  isBlock,
  type LinkSource,
  type ResourceLinkSource,
  type StoredSource,
} from "./sources.js";
import {
  assertBlobs,
  defaultMaxBytes,
  type IdentifiedBytes,
  identifySource,
  type MismatchPolicy,
  resourceIdFrom,
  storeResource,
  unknownMediaType,
} from "./store-resource.js";

/** Options of {@link ingest} and {@link ingestAll}. */
export interface IngestOptions {
  /** Where the bytes go. */
  readonly blobs: Pick<BlobStore, "put">;
  /** The most bytes of one resource, at least 0. Default 64 MiB. */
  readonly maxBytes?: number;
  /**
   * What the target takes, so that what it will refuse is refused now. Bytes of unknown type are never sent, and only
   * `maxBytes` counts for them. Default none.
   */
  readonly limits?: LimitProfile;
  /** What is known of the request that they are for, such as the images that it has already. */
  readonly situation?: LimitSituation;
  /** How they came into the session. Default `upload`. */
  readonly source?: "upload" | "tool" | "import";
  /** What to do with bytes that claim to be an image and are none. Default `refuse`. */
  readonly mismatch?: MismatchPolicy;
  /** Reads `file://` links; without it they are refused. Give `readLocalFile`, with roots where a model chose the link. */
  readonly readFile?: ReadFile;
  /** Default 64 random bits. */
  readonly newId?: () => string;
  readonly signal?: AbortSignal;
}

/**
 * Takes an attachment in: reads it to bytes, looks at them to tell what they are, holds them against the limits, stores
 * them, and gives the resource to put into a message. The bytes are durable when it resolves, so that no log names bytes
 * that are not there. They are kept exactly as they came; what the sender says of their type and size is recorded as
 * `declared` and never believed. A link is recorded by scheme, host and path, and never fetched.
 *
 * @throws SessileError INVALID_MESSAGE, BLOB_TOO_LARGE, MEDIA_INVALID, MEDIA_TYPE_MISMATCH, LIMIT_EXCEEDED, LINK_REFUSED,
 *   and what the store or `readFile` throws
 * @throws TypeError for a source that is none
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * const shot = await ingest({ bytes, name: "screen.png" }, { blobs });
 * const page = ingest({ link: "https://user@example.com/report.pdf?download=true" });
 * await session.appendMessage(userMessage("What is wrong here?", shot, page));
 * ```
 */
export function ingest(source: LinkSource, options?: Pick<IngestOptions, "newId">): LinkResource;
export function ingest(source: StoredSource, options: IngestOptions): Promise<StoredResource>;
export function ingest(
  source: ResourceLinkSource | InputImageSource,
  options: IngestOptions,
): Promise<Resource>;
export function ingest(
  sources: readonly IngestSource[],
  options: IngestOptions,
): Promise<readonly Resource[]>;
export function ingest(
  source: IngestSource | readonly IngestSource[],
  options: Partial<IngestOptions> = {},
): LinkResource | Promise<Resource | readonly Resource[]> {
  if (isList(source)) return ingestAll(source, options as IngestOptions);
  if (typeof source === "object" && source !== null && !isBlock(source) && "link" in source) {
    return readLink(source, () => resourceIdFrom(options.newId));
  }
  return ingestAll([source], options as IngestOptions).then(([resource]) => resource as Resource);
}

/** Tells lists from sources; `Array.isArray` alone does not narrow readonly arrays. */
function isList(source: IngestSource | readonly IngestSource[]): source is readonly IngestSource[] {
  return Array.isArray(source);
}

async function ingestAll(
  sources: readonly IngestSource[],
  options: IngestOptions,
): Promise<readonly Resource[]> {
  assertBlobs(options?.blobs);
  const { signal, readFile } = options;
  const maxBytes = integerOption("maxBytes", options.maxBytes, defaultMaxBytes, 0);
  const mismatch = oneOfOption("mismatch", options.mismatch, ["refuse", "file"]);
  const newId = () => resourceIdFrom(options.newId);
  const pieces: (LinkResource | IdentifiedBytes)[] = [];
  for (const source of sources) {
    signal?.throwIfAborted();
    const piece = await readSource(source, { maxBytes, readFile, signal, newId });
    pieces.push(piece.kind === "link" ? piece : identifySource(piece, mismatch));
  }
  checkTogether(pieces, options);
  const stored = await Promise.allSettled(
    pieces.map((piece) => (piece.kind === "link" ? piece : storeResource(piece, newId(), options))),
  );
  return stored.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

function checkTogether(
  pieces: readonly (LinkResource | IdentifiedBytes)[],
  { limits, situation }: IngestOptions,
): void {
  if (limits === undefined) return;
  const counted = pieces.flatMap((piece, place) =>
    piece.kind === "link" || piece.identity.mediaType === unknownMediaType
      ? []
      : [{ place, item: { ...piece.identity, size: piece.bytes.length } }],
  );
  const items = counted.map(({ item }) => item);
  const violations = checkLimits(items, limits, situation).map(({ rule, unit, limit, actual, items }) => ({
    rule,
    unit,
    limit,
    actual,
    items: items.map(({ index }) => (counted[index] as (typeof counted)[number]).place),
  }));
  const [first] = violations;
  if (first === undefined) return;
  const message = `${limits.name} takes ${first.rule} ${String(first.limit)}, got ${String(first.actual)}`;
  throw new SessileError("LIMIT_EXCEEDED", message, { details: { profile: limits.name, violations } });
}
