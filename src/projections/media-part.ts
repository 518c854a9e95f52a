import type { StoredResource } from "../content/index.js";
import { decodeUtf8 } from "../internal/bytes.js";
import { encodeBase64 } from "../internal/encode-base64.js";
import { randomHex8 } from "../internal/ids.js";
import { essenceOf, typeOf } from "../internal/media-types.js";
import { type Media, sniff } from "../media/index.js";
import { cleanText } from "./block-reader.js";
import type { MediaPart, Origin } from "./request.js";

/** What a media part is made of. */
export interface MediaPartInit {
  readonly kind: MediaPart["kind"];
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  readonly origin: Origin;
  readonly name?: string;
  readonly width?: number;
  readonly height?: number;
  readonly animated?: boolean;
  readonly resource?: StoredResource;
  /** The base64 of the bytes, where it is known already. */
  readonly base64?: string;
  /** Whether NUL is refused in text. */
  readonly refusesNul?: boolean;
}

/**
 * A media part whose other forms are made when they are first asked for: a target reads one of them. Each is one string from
 * then on, by which a body finds it again in the value and writes it without a copy.
 */
export function mediaPart(init: MediaPartInit): MediaPart {
  const { base64: known, refusesNul = false, ...facts } = init;
  let base64 = known;
  let dataUrl: string | undefined;
  let text: string | undefined;
  const dataUrlOf = (digits: string) => `data:${init.mediaType};base64,${digits}`;
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
      if (inPlace !== undefined) return dataUrlOf(inPlace);
      dataUrl ??= dataUrlOf(encoded());
      return dataUrl;
    },
    get text() {
      text ??= isTextual(init.mediaType) ? documentText(init.bytes, refusesNul) : "";
      return text;
    },
  };
  const replace: Replaceable[typeof standIn] = (text) => {
    inPlace = text;
  };
  return Object.defineProperty(part, standIn, { value: replace });
}

/** The same bytes, as no class of its own: a Buffer would be written as JSON number by number. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.constructor === Uint8Array) return bytes;
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The text of a document, as a target takes text; empty where it is none. */
export function documentText(bytes: Uint8Array, refusesNul: boolean): string {
  return cleanText(decodeUtf8(bytes) ?? "", refusesNul);
}

/**
 * Names of documents for Bedrock: by the resource, so that a document keeps its name in a longer history, and neutral, since a model may take
 * a name for an instruction. The file's own name is in the words before the document.
 *
 * Letters, digits, single spaces, hyphens, parentheses and brackets, at most 200; each once in a request.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html and
 *   https://github.com/ag-ui-protocol/ag-ui/issues/2425 (stored copies, 2026-11-21)
 */
export class DocumentNames {
  readonly #used = new Set<string>();

  nameFor({ resource }: Pick<MediaPart, "resource">): string {
    const base =
      resource === undefined ? "document" : resource.resourceId.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 100);
    let name = base;
    for (let n = 2; this.#used.has(name); n++) name = `${base} (${n})`;
    this.#used.add(name);
    return name;
  }
}

/** Takes the base64 of a part to be another text for a while; undefined for its own. */
export const standIn: unique symbol = Symbol("stand-in");

/** A media part whose base64 can be stood in for. */
export interface Replaceable extends MediaPart {
  [standIn](text: string | undefined): void;
}

/** Short texts that stand for bytes in a larger text, until it is cut where they are. */
export class StandIns {
  /** Nobody can have written it before. */
  readonly #name = Array.from({ length: 4 }, randomHex8).join("");
  readonly #bytes: Uint8Array[] = [];

  /** A text for these bytes; JSON writes it as it is. */
  for(bytes: Uint8Array): string {
    this.#bytes.push(bytes);
    return `${this.#name}:${this.#bytes.length - 1};`;
  }

  /** What a text has between the texts of {@link StandIns.for}, and the bytes that each of these stands for. */
  cut(text: string): { readonly texts: readonly string[]; readonly spliced: readonly Uint8Array[] } {
    const pieces = text.split(new RegExp(`${this.#name}:(\\d+);`));
    const texts = pieces.filter((_, at) => at % 2 === 0);
    const spliced = pieces.flatMap((piece, at) => {
      const bytes = at % 2 === 1 ? this.#bytes[Number(piece)] : undefined;
      return bytes === undefined ? [] : [bytes];
    });
    return { texts, spliced };
  }
}

/** Does something while short texts stand for the base64 of these parts: what is made of it has none of the large strings. */
export function withStandIns<T>(parts: readonly MediaPart[], standIns: StandIns, make: () => T): T {
  const replaceable = parts.filter((part): part is Replaceable => standIn in part);
  for (const part of replaceable) part[standIn](standIns.for(part.bytes));
  try {
    return make();
  } finally {
    for (const part of replaceable) part[standIn](undefined);
  }
}

/** A value that was made with stand-ins. */
export interface Outline {
  readonly value: object;
  readonly standIns: StandIns;
}

/** Where a projection keeps its outline, for as long as nobody has had its value, which could be changed. */
export const outlineOf: unique symbol = Symbol("outline");

/**
 * Whether text is a media type, with or without parameters: what a resource says of itself can be any text.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6838 section 4.2 (read 2026-11-21)
 */
export function isMediaType(mediaType: string): boolean {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(essenceOf(mediaType));
}

/** Whether a list of types such as `image/png` or `image/*` has a type. */
export function isTaken(types: readonly string[], mediaType: string): boolean {
  const essence = essenceOf(mediaType);
  if (!isMediaType(essence)) return false;
  return types.some((taken) =>
    taken.endsWith("/*") ? essence.startsWith(taken.slice(0, -1)) : taken === essence,
  );
}

/** Whether the bytes of a type are text, so that they can be shown as such. */
export function isTextual(mediaType: string): boolean {
  if (typeOf(mediaType)?.text === true) return true;
  return essenceOf(mediaType).startsWith("text/") && isMediaType(mediaType);
}

/** What bytes turned out to be. */
export interface MediaFacts {
  readonly kind: "image" | "document";
  readonly mediaType: string;
  readonly width?: number;
  readonly height?: number;
  readonly animated?: boolean;
}

/**
 * What bytes are that are said to be of a type, or a reason in words why they are nothing that can be sent as such. Providers
 * refuse a whole request over one image that is not what it says it is.
 */
export function identifyMedia(bytes: Uint8Array, declared: string): MediaFacts | string {
  const media = sniff(bytes);
  const mediaType = essenceOf(declared);
  if (isTextual(mediaType)) {
    return media?.kind === "text" ? { kind: "document", mediaType } : "its bytes are no text";
  }
  if (media?.kind === "invalid") return `its bytes are no sound ${media.mediaType}: ${media.reason}`;
  if (media?.kind === "image") {
    const { width, height, animated } = media;
    return { kind: "image", mediaType: media.mediaType, width, height, animated };
  }
  if (mediaType.startsWith("image/")) return otherImage(mediaType, media);
  if (mediaType === "application/pdf" && media?.kind !== "pdf") return "its bytes are no PDF";
  return { kind: "document", mediaType: media?.kind === "pdf" ? media.mediaType : mediaType };
}

/** Of an image type that is not recognised by its bytes, such as HEIC, only that they are nothing else can be told. */
function otherImage(mediaType: string, media: Media | undefined): MediaFacts | string {
  const known = ["image/png", "image/jpeg", "image/gif", "image/webp"].includes(mediaType);
  if (known || media !== undefined) return "its bytes are no image";
  return { kind: "image", mediaType };
}
