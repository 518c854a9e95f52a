import type { StoredResource } from "../content/index.js";
import { decodeUtf8 } from "../internal/bytes.js";
import { encodeBase64 } from "../internal/encode-base64.js";
import { cleanText } from "./clean.js";
import { isTextual } from "./media-types.js";
import { type Replaceable, standIn } from "./stand-ins.js";
import type { MediaPart, Origin } from "./turns.js";

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
