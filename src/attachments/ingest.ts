/** `ingest`: an attachment from outside is read, identified, checked against limits and stored. */
import type { BlobStore } from "../blobs/index.js";
import type { LinkResource, Resource, StoredResource } from "../content/index.js";
import { checkLimits, type LimitProfile, type LimitSituation } from "../content/limits/index.js";
import { describe, integerOption, oneOfOption } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
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
  asUtf8,
  defaultMaxBytes,
  type IdentifiedBytes,
  identifySource,
  type MismatchPolicy,
  resourceIdFrom,
  storeResource,
  unknownMediaType,
} from "./store-resource.js";

/** Options of {@link ingest}. */
export interface IngestOptions {
  /** The store of the bytes. */
  readonly blobs: Pick<BlobStore, "put">;
  /** Maximum bytes of one resource, at least 0. Default 64 MiB. */
  readonly maxBytes?: number | undefined;
  /**
   * Limits of the target, checked now instead of at the request. Bytes of unknown type are never sent, so
   * only `maxBytes` applies to them. Default none.
   */
  readonly limits?: LimitProfile | undefined;
  /** Known facts about the request, such as how many images it already has. */
  readonly situation?: LimitSituation | undefined;
  /** The resource's `source`. Default `upload`. */
  readonly source?: "upload" | "tool" | "model" | "import" | undefined;
  /** Behaviour if bytes that claim to be an image are not one. Default `refuse`. */
  readonly mismatch?: MismatchPolicy | undefined;
  /**
   * The encoding of text that is not UTF-8 or UTF-16 with a mark: a label of `TextDecoder`, such as
   * `windows-1252`. Applies to bytes of no known format whose name or media type is one of text; they are
   * stored as UTF-8. Default none: bytes of unknown type.
   */
  readonly textEncoding?: string | undefined;
  /**
   * Reads `file:` links; by default they are refused. Use `readLocalFile`, with roots if a model chose the
   * link.
   */
  readonly readFile?: ReadFile | undefined;
  /** Generates resource ids. Default 64 random bits. */
  readonly newId?: (() => string) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Stores an attachment and returns the resource to put into a message. The bytes are read, sniffed, checked
 * against the limits and stored unchanged, except for `textEncoding`. They are durable once the promise resolves, before any log can
 * name them. The sender's media type and size are recorded as `declared` and never trusted. A link keeps
 * scheme, host and path, and is never fetched.
 *
 * A list is for the attachments of one message: all are read and checked, alone and together, before the
 * first is stored. After an error no log names the blobs that were stored, so the next garbage collection
 * removes them.
 *
 * @throws SessileError INVALID_MESSAGE, BLOB_TOO_LARGE, MEDIA_INVALID, MEDIA_TYPE_MISMATCH, LINK_REFUSED;
 *   LIMIT_EXCEEDED, with the indexes of the sources in `details.violations`; errors of the store and of
 *   `readFile`
 * @throws TypeError for an unknown source; RangeError for an unknown `textEncoding`
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

/** `Array.isArray` alone does not narrow a readonly array. */
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
  const decoder = textDecoder(options.textEncoding);
  const newId = () => resourceIdFrom(options.newId);
  const pieces: (LinkResource | IdentifiedBytes)[] = [];
  for (const source of sources) {
    signal?.throwIfAborted();
    const read = await readSource(source, { maxBytes, readFile, signal, newId });
    const piece = read.kind === "link" || decoder === undefined ? read : asUtf8(read, decoder, maxBytes);
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

function textDecoder(label: string | undefined): TextDecoder | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label, { fatal: true });
  } catch (cause) {
    const given = describe(label);
    throw new RangeError(`textEncoding: expected a label of TextDecoder, got ${given}`, { cause });
  }
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
  const { rule, limit, actual } = first;
  const message = `${limits.name}: expected ${rule} ${String(limit)}, got ${String(actual)}`;
  throw new SessileError("LIMIT_EXCEEDED", message, { details: { profile: limits.name, violations } });
}
