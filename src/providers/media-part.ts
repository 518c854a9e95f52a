/** Media parts of a request, whose base64 is computed late, and placeholders for it. */

import type { StoredResource } from "../content/index.js";
import { withMedia } from "../content/internal.js";
import { type Media, sniff } from "../content/media/index.js";
import { encodeBase64 } from "../core/base64.js";
import { decodeUtf8 } from "../core/bytes.js";
import { randomHex8 } from "../core/ids.js";
import { mediaTypeEssence, mediaTypeInfo } from "../core/media-types.js";
import { cleanText } from "./block-reader.js";
import type { MediaPart, OpaquePart, Origin, PendingOpaque } from "./request.js";

/** The input of {@link mediaPart}. */
interface MediaPartInit {
  readonly kind: MediaPart["kind"];
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  readonly origin: Origin;
  readonly name?: string;
  readonly width?: number;
  readonly height?: number;
  readonly animated?: boolean;
  readonly pages?: number;
  readonly encrypted?: boolean;
  readonly resource?: StoredResource;
  /** The base64 of the bytes, if already known. */
  readonly base64?: string;
  /** Whether the target refuses NUL in text. */
  readonly refusesNul?: boolean;
}

/**
 * Makes a media part. Computes base64, data URL and text on first access: a target reads only one of them.
 * Each getter always returns the same string, by which a body finds it in the value and writes it without a
 * copy.
 */
export function mediaPart(init: MediaPartInit): MediaPart {
  const { base64: known, refusesNul = false, ...facts } = init;
  let base64 = known;
  let dataUrl: string | undefined;
  let text: string | undefined;
  const toDataUrl = (digits: string) => `data:${init.mediaType};base64,${digits}`;
  const encoded = (): string => {
    base64 ??= encodeBase64(init.bytes);
    return base64;
  };
  let inPlace: string | undefined;
  const part: MediaPart = {
    type: "media",
    ...facts,
    bytes: plainBytes(init.bytes),
    get base64() {
      return inPlace ?? encoded();
    },
    get dataUrl() {
      if (inPlace !== undefined) return toDataUrl(inPlace);
      dataUrl ??= toDataUrl(encoded());
      return dataUrl;
    },
    get text() {
      text ??= isTextual(init.mediaType) ? documentText(init.bytes, refusesNul) : "";
      return text;
    },
  };
  const replace: OverridablePart[typeof base64Override] = (text) => {
    inPlace = text;
  };
  return Object.defineProperties(part, {
    [base64Override]: { value: replace },
    // JSON has the content once.
    toJSON: { value: () => ({ type: part.type, ...facts, bytes: undefined, base64: part.base64 }) },
  });
}

/** The same bytes as a plain Uint8Array: JSON.stringify writes a Buffer number by number. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.constructor === Uint8Array) return bytes;
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The text of a document, cleaned for a target; empty for invalid UTF-8. */
export function documentText(bytes: Uint8Array, refusesNul: boolean): string {
  return cleanText(decodeUtf8(bytes) ?? "", refusesNul);
}

/**
 * Names of documents for Bedrock. A name derives from the resource id, so that a document keeps its name in a
 * longer history. It is neutral, because a model may read a name as an instruction. The description has the
 * file's own name.
 *
 * Letters, digits, single spaces, hyphens, parentheses and brackets, at most 200; unique in a request.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html and
 *   https://github.com/ag-ui-protocol/ag-ui/issues/2425 (stored copies, 2026-11-21)
 */
export class DocumentNames {
  readonly #used = new Set<string>();

  nameFor({ resource }: Pick<MediaPart, "resource">): string {
    const base =
      resource === undefined
        ? "document"
        : resource.resourceId
            .slice(0, 1000)
            .replace(/[^A-Za-z0-9]{1,1000}/g, "-")
            .slice(0, 100);
    let name = base;
    for (let n = 2; this.#used.has(name); n++) name = `${base} (${n})`;
    this.#used.add(name);
    return name;
  }
}

/** Temporarily overrides a part's base64 with a placeholder; undefined restores it. */
const base64Override: unique symbol = Symbol("stand-in");

/** A media part whose base64 can be overridden. */
interface OverridablePart extends MediaPart {
  [base64Override](text: string | undefined): void;
}

/** Unique placeholders for bytes in a text, and the way to split the text at them. */
export class Base64Placeholders {
  /** Random, so that no text of the request can contain it. */
  readonly #name = Array.from({ length: 4 }, randomHex8).join("");
  readonly #bytes: Uint8Array[] = [];

  /** Returns a placeholder for these bytes. JSON writes it unescaped. */
  for(bytes: Uint8Array): string {
    this.#bytes.push(bytes);
    return `${this.#name}:${this.#bytes.length - 1};`;
  }

  /** Splits a text at its placeholders; returns the texts between them and the bytes of each placeholder. */
  cut(text: string): { readonly texts: readonly string[]; readonly spliced: readonly Uint8Array[] } {
    const pieces = text.split(new RegExp(`${this.#name}:(\\d{1,9});`));
    const texts = pieces.filter((_, at) => at % 2 === 0);
    const spliced = pieces.flatMap((piece, at) => {
      const bytes = at % 2 === 1 ? this.#bytes[Number(piece)] : undefined;
      return bytes === undefined ? [] : [bytes];
    });
    return { texts, spliced };
  }
}

/** Runs `make` with a placeholder in place of each part's base64, so that its result has no large strings. */
export function withBase64Placeholders<T>(
  parts: readonly MediaPart[],
  placeholder: (part: MediaPart) => string,
  make: () => T,
): T {
  const replaceable = parts.filter((part): part is OverridablePart => base64Override in part);
  for (const part of replaceable) part[base64Override](placeholder(part));
  try {
    return make();
  } finally {
    for (const part of replaceable) part[base64Override](undefined);
  }
}

/** A value with placeholders. */
export interface Outline {
  readonly value: object;
  readonly placeholders: Base64Placeholders;
}

/**
 * The key of a projection's outline. Absent after the first access to `value`, because a caller can change
 * that.
 */
export const entryOutline: unique symbol = Symbol("outline");

/**
 * Whether a text is a media type, with or without parameters. A resource can declare any text.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6838 section 4.2 (read 2026-11-21)
 */
export function isMediaType(mediaType: string): boolean {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(
    mediaTypeEssence(mediaType),
  );
}

/** Whether a list of types, such as `image/png` or `image/*`, accepts a type. */
export function acceptsMedia(types: readonly string[], mediaType: string): boolean {
  const essence = mediaTypeEssence(mediaType);
  if (!isMediaType(essence)) return false;
  return types.some((taken) =>
    taken.endsWith("/*") ? essence.startsWith(taken.slice(0, -1)) : taken === essence,
  );
}

/** Whether the bytes of a type are text. */
export function isTextual(mediaType: string): boolean {
  if (mediaTypeInfo(mediaType)?.text === true) return true;
  return mediaTypeEssence(mediaType).startsWith("text/") && isMediaType(mediaType);
}

/** The sniffed facts of bytes. */
export interface MediaFacts {
  readonly kind: "image" | "document";
  readonly mediaType: string;
  readonly width?: number;
  readonly height?: number;
  readonly animated?: boolean;
  readonly pages?: number;
  readonly encrypted?: boolean;
}

/**
 * Identifies bytes of a declared type, or returns the reason why they cannot be sent. Providers refuse a
 * whole request for one image with a wrong type.
 */
export function identifyMedia(bytes: Uint8Array, declared: string): MediaFacts | string {
  const media = sniff(bytes);
  const mediaType = mediaTypeEssence(declared);
  if (isTextual(mediaType)) {
    return media?.kind === "text" ? { kind: "document", mediaType } : "its bytes are no text";
  }
  if (media?.kind === "invalid") return `its bytes are no sound ${media.mediaType}: ${media.reason}`;
  if (media?.kind === "image") {
    const { frames, orientation, ...facts } = media;
    return facts;
  }
  if (mediaType.startsWith("image/")) return otherImage(mediaType, media);
  if (media?.kind !== "pdf") {
    return mediaType === "application/pdf" ? "its bytes are no PDF" : { kind: "document", mediaType };
  }
  return { ...media, kind: "document" };
}

/** Checks an image of a rare type, whose bytes are unknown: they must not be of a known type. */
function otherImage(mediaType: string, media: Media | undefined): MediaFacts | string {
  const common = ["image/png", "image/jpeg", "image/gif", "image/webp"].includes(mediaType);
  if (common || media !== undefined) return "its bytes are no image";
  return { kind: "image", mediaType };
}

// Blocks of the target's own model with media in them: the parts that send them back as they came.

const outline: unique symbol = Symbol("outline");

/**
 * Makes the part of a block whose media are all loaded; undefined if one is not. Its data has the base64 of
 * the media parts, and is the same object as long as these have the same base64.
 */
export function opaqueWithMedia({ data, attachments, origin }: PendingOpaque): OpaquePart | undefined {
  const media = new Map<string, MediaPart>();
  for (const { media: part, resourceId } of attachments) {
    if (part?.type !== "media" || resourceId === undefined) return undefined;
    media.set(resourceId, part);
  }
  return readPart(data, media, origin);
}

function readPart(data: unknown, media: ReadonlyMap<string, MediaPart>, origin: Origin): OpaquePart {
  const parts = [...media.values()];
  let known: readonly string[] | undefined;
  let filled: unknown;
  const part: OpaquePart = {
    type: "opaque",
    media: parts,
    origin,
    get data() {
      const texts = parts.map(({ base64 }) => base64);
      if (known === undefined || texts.some((text, at) => text !== known?.[at])) {
        known = texts;
        filled = withMedia(data, (id) => media.get(id)?.base64);
      }
      return filled;
    },
  };
  return Object.defineProperty(part, outline, { value: data });
}

/** The data of a part with references in place of its media, to count its text. */
export function outlineOfOpaque(part: OpaquePart): unknown {
  const { [outline]: data } = part as { readonly [outline]?: unknown };
  return part.media === undefined ? part.data : data;
}
