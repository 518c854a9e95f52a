/** The JSON body of a request in pieces, with base64 encoded late. */

import { base64Pieces } from "../internal/base64.js";
import { encodeUtf8 } from "../internal/bytes.js";
import { Base64Placeholders, type Outline, outlineOf } from "./media-part.js";
import type { Projection } from "./projection.js";
import type { NeutralRequest } from "./request.js";
import { mediaIn } from "./select-messages.js";

/** The body of a request, in pieces. */
export interface RequestBody extends Iterable<Uint8Array> {
  /** Total length in bytes. */
  readonly size: number;
  /** The pieces as a stream for `fetch`, with `duplex: "half"`. */
  stream(): ReadableStream<Uint8Array>;
}

/** Shorter strings are cheaper to write than to look up. */
const minSpliced = 1024;

/**
 * Encodes a projection's value as JSON, in pieces: byte for byte the output of `JSON.stringify`. Writes
 * attachments directly, never as part of a larger string. Bytes, which Bedrock has, become base64. Each
 * iteration produces the pieces anew.
 * @param extra further members of the request, such as `model`; they come first, and members of the value
 *   override them
 * @example
 * ```ts
 * const projection = await project(await session.context(), anthropicMessages({ model: "claude-opus-5-5" }));
 * const body = toBody(projection, { model: "claude-opus-5-5", max_tokens: 4096 });
 * const request = new Request("https://api.example.com/v1/messages", {
 *   method: "POST", body: body.stream(), duplex: "half",
 * } as RequestInit);
 * ```
 */
export function toBody(
  projection: Pick<Projection<object>, "value" | "request">,
  extra: Readonly<Record<string, unknown>> = {},
): RequestBody {
  // If the value was never read, it is unchanged, and its large strings are not needed.
  const outlined = projection as { readonly [outlineOf]?: () => Outline | undefined };
  const { value, placeholders } = outlined[outlineOf]?.() ?? {
    value: projection.value,
    placeholders: new Base64Placeholders(),
  };
  const whole = Object.keys(extra).length === 0 ? value : { ...extra, ...value };
  const { texts, spliced } = placeholders.cut(jsonOf(whole, payloadsOf(projection.request), placeholders));
  const frame = texts.map(encodeUtf8);
  const digits = spliced.reduce((sum, { length }) => sum + base64Length(length), 0);
  const size = frame.reduce((sum, { length }) => sum + length, digits);
  function* pieces(): Generator<Uint8Array, void, undefined> {
    for (const [at, piece] of frame.entries()) {
      yield piece;
      const bytes = spliced[at];
      if (bytes !== undefined) yield* base64Pieces(bytes);
    }
  }
  return {
    size,
    [Symbol.iterator]: pieces,
    stream: () => {
      const iterator = pieces();
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          const next = iterator.next();
          if (next.done === true) controller.close();
          else controller.enqueue(next.value);
        },
      });
    },
  };
}

/** The suffix of a string in base64. */
interface Payload {
  readonly prefix: string;
  readonly bytes: Uint8Array;
}

/** Long strings of the request by length, to find them again by identity. */
type Payloads = ReadonlyMap<number, readonly { readonly whole: () => string; readonly payload: Payload }[]>;

function payloadsOf({ turns }: NeutralRequest): Payloads {
  const byLength = new Map<number, { whole: () => string; payload: Payload }[]>();
  const add = (length: number, whole: () => string, payload: Payload) => {
    const same = byLength.get(length) ?? [];
    byLength.set(length, same);
    same.push({ whole, payload });
  };
  for (const part of turns.flatMap(mediaIn)) {
    const { bytes, mediaType } = part;
    const digits = base64Length(bytes.length);
    if (digits < minSpliced) continue;
    const prefix = `data:${mediaType};base64,`;
    add(digits, () => part.base64, { prefix: "", bytes });
    add(prefix.length + digits, () => part.dataUrl, { prefix, bytes });
  }
  return byLength;
}

/** The JSON of a value, with placeholders for bytes and for strings with known base64. */
function jsonOf(value: object, payloads: Payloads, placeholders: Base64Placeholders): string {
  return JSON.stringify(value, function (this: unknown, key: string, field: unknown) {
    const payload = payloadFor((this as Record<string, unknown>)[key], field, payloads);
    return payload === undefined ? field : payload.prefix + placeholders.for(payload.bytes);
  });
}

function payloadFor(raw: unknown, field: unknown, payloads: Payloads): Payload | undefined {
  // Checks the raw value first: a Buffer has a toJSON.
  if (raw instanceof Uint8Array) return { prefix: "", bytes: raw };
  if (typeof field !== "string" || field.length < minSpliced) return undefined;
  return payloads.get(field.length)?.find(({ whole }) => whole() === field)?.payload;
}

/** The length of the base64 of so many bytes, including padding. */
function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
