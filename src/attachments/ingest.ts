/**
 * `ingest`: an attachment from outside is read, identified by its content, checked against limits and
 * stored.
 */

import { type BlobStore, digest } from "../blobs/index.js";
import type { LinkResource, Resource, StoredResource } from "../content/index.js";
import { checkLimits, type LimitProfile, type LimitSituation } from "../content/limits/index.js";
import { agreesWith, type ImageMedia, type Media, mediaTypeOfName, sniff } from "../content/media/index.js";
import type { PdfMedia } from "../content/media/internal.js";
import { describe, integerOption, oneOfOption } from "../core/arguments.js";
import { encodeUtf8 } from "../core/bytes.js";
import { SessileError } from "../core/errors/index.js";
import { randomHex8 } from "../core/ids.js";
import { isSniffedImage, mediaTypeEssence } from "../core/media-types.js";
import {
  checkSize,
  type IngestSource,
  type InputImageSource,
  isBlock,
  type LinkSource,
  type ReadFile,
  type ResourceLinkSource,
  readLink,
  readSource,
  type SourceBytes,
  type StoredSource,
} from "./sources.js";

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

// Identifies the bytes of a source by their content and stores them as a resource.

/** Default maximum size of one resource, in bytes. */
export const defaultMaxBytes: number = 64 << 20;

/** @throws TypeError if `blobs` has no `put` */
export function assertBlobs(blobs: unknown): void {
  if (typeof (blobs as Partial<BlobStore> | null | undefined)?.put === "function") return;
  throw new TypeError(`blobs: expected a blob store, got ${describe(blobs)}`);
}

/**
 * A new resource id, of the caller's generator if there is one. @throws TypeError if that returns another
 * format
 */
export function resourceIdFrom(newId: (() => string) | undefined): string {
  if (newId === undefined) return newResourceId();
  const id = newId();
  if (typeof id === "string" && /^res_[0-9a-f]{16}$/.test(id)) return id;
  throw new TypeError(`newId: expected "res_" and 16 hexadecimal digits, got ${describe(id)}`);
}

/** `res_` and 16 random hexadecimal digits. */
export function newResourceId(): string {
  return `res_${randomHex8()}${randomHex8()}`;
}

type PdfFacts = Pick<PdfMedia, "pages" | "encrypted">;

/** The kind and media type of bytes, and the facts that limits are about. */
type Identity =
  | Pick<ImageMedia, "kind" | "mediaType" | "width" | "height" | "animated">
  | ({ readonly kind: "file"; readonly mediaType: string } & PdfFacts);

/** The media type of bytes whose format is not recognised. They are stored and described, never sent. */
export const unknownMediaType = "application/octet-stream";

/** Behaviour if bytes that claim to be an image are not one: `refuse` them, or store them as a `file`. */
type MismatchPolicy = "refuse" | "file";

/**
 * Identifies bytes by sniffing them, and compares the result with the sender's name and media type. A claim
 * of another image type is no error: the bytes win.
 *
 * @throws SessileError MEDIA_INVALID, MEDIA_TYPE_MISMATCH
 */
export function identify(
  bytes: Uint8Array,
  { name = "", mediaType }: { readonly name?: string | undefined; readonly mediaType?: string | undefined },
  mismatch: MismatchPolicy,
): Identity {
  const media = sniff(bytes);
  if (media?.kind === "image") {
    const { frames, orientation, ...identity } = media;
    return identity;
  }
  if (media?.kind === "invalid") {
    if (mismatch === "file") return { kind: "file", mediaType: unknownMediaType };
    const { mediaType: begins, reason } = media;
    throw new SessileError("MEDIA_INVALID", `begins as ${begins}, but is not valid: ${reason}`, {
      details: { mediaType: begins, reason },
    });
  }
  const actual = media?.mediaType ?? unknownMediaType;
  const file: Identity = {
    ...(media?.kind === "pdf" ? pdfFacts(media) : {}),
    kind: "file",
    mediaType: actual,
  };
  const claim = [mediaType, mediaTypeOfName(name)].find((claimed) => contradicts(media, claimed));
  if (claim === undefined || mismatch === "file") return file;
  const found = bytes.length === 0 ? "empty" : actual;
  throw new SessileError("MEDIA_TYPE_MISMATCH", `declared as ${claim}, but is ${found}`, {
    details: { declared: claim, actual },
  });
}

/**
 * Whether bytes that are not an image contradict a claim. Unknown bytes may be a rare kind of a type that few
 * providers take, such as a TIFF of more than 4 GB, but not a PNG.
 */
function contradicts(media: Media | undefined, claimed: string | undefined): boolean {
  const type = mediaTypeEssence(claimed ?? "");
  if (/^image\/(?:png|jpeg|gif|webp)$/.test(type)) return true;
  return media !== undefined && isSniffedImage(type);
}

const upperControls = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
const windows1252 = (control: string) => upperControls[control.charCodeAt(0) - 0x80] as string;

/**
 * Text in another encoding as UTF-8: bytes of no known format that are text by their name or media type.
 * Returns other bytes unchanged, and those that the encoding does not have.
 *
 * @throws SessileError BLOB_TOO_LARGE
 */
function asUtf8(piece: SourceBytes, decoder: TextDecoder, maxBytes: number): SourceBytes {
  const { bytes, name = "", declared } = piece;
  const claims = [declared?.mediaType, mediaTypeOfName(name)];
  const isText = claims.some((claim) => agreesWith({ kind: "text", mediaType: "text/plain" }, claim ?? ""));
  if (!isText || sniff(bytes) !== undefined) return piece;
  let text: string;
  try {
    text = decoder.decode(bytes);
    // Some versions of Node and workerd read Windows-1252 as Latin-1: nodejs/node issue 60888.
    if (decoder.encoding === "windows-1252") text = text.replace(/[\x80-\x9f]/g, windows1252);
  } catch {
    return piece;
  }
  if (text.includes("\0")) return piece;
  const encoded = encodeUtf8(text);
  checkSize(encoded.length, maxBytes);
  return { ...piece, bytes: encoded };
}

/** Bytes of a source, with their identity. */
interface IdentifiedBytes extends SourceBytes {
  readonly identity: Identity;
}

/** @throws SessileError MEDIA_INVALID, MEDIA_TYPE_MISMATCH */
export function identifySource(piece: SourceBytes, mismatch: MismatchPolicy): IdentifiedBytes {
  const { bytes, name, declared } = piece;
  return { ...piece, identity: identify(bytes, { name, mediaType: declared?.mediaType }, mismatch) };
}

/** Stores identified bytes, and returns their resource. */
export async function storeResource(
  piece: IdentifiedBytes,
  resourceId: string,
  options: {
    readonly blobs: Pick<BlobStore, "put">;
    readonly source?: "upload" | "tool" | "model" | "import" | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<StoredResource> {
  const { bytes, name, declared, uri, identity } = piece;
  const { mediaType } = identity;
  const { signal } = options;
  const { ref } = await options.blobs.put(bytes, { mediaType, ...(signal && { signal }) });
  const sha256 = ref.startsWith("sha256:") ? ref : digest(bytes);
  return {
    resourceId,
    kind: identity.kind,
    ...(name === undefined ? {} : { name }),
    mediaType,
    size: bytes.length,
    contentSha256: sha256.slice("sha256:".length),
    blob: ref,
    ...recordedFacts(identity),
    source: options.source ?? "upload",
    ...(uri === undefined ? {} : { uri }),
    ...(declared === undefined ? {} : { declared }),
  };
}

/** The facts of bytes that their resource records. */
export function recordedFacts(
  identity: Identity,
): Pick<StoredResource, "width" | "height" | "pages" | "encrypted"> {
  if (identity.kind === "file") return pdfFacts(identity);
  const { width, height } = identity;
  return width === undefined || height === undefined ? {} : { width, height };
}

function pdfFacts({ pages, encrypted }: PdfFacts): PdfFacts {
  return { ...(pages === undefined ? {} : { pages }), ...(encrypted === undefined ? {} : { encrypted }) };
}
