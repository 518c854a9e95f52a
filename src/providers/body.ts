/** The JSON body of a request in pieces, with base64 encoded late. */

import { describe } from "../core/arguments.js";
import { base64Pieces } from "../core/base64.js";
import { encodeUtf8 } from "../core/bytes.js";
import { Base64Placeholders, entryOutline, type Outline } from "./media-part.js";
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
  if (projection?.request === undefined)
    throw new TypeError(`projection: expected what project resolves to, got ${describe(projection)}`);
  const parts: BodyPart[] = [];
  let size = 0;
  for (const part of bodyParts(projection, extra)) {
    parts.push(part);
    size += partLength(part);
  }
  function* pieces(): Generator<Uint8Array, void, undefined> {
    for (const part of parts) yield* partPieces(part);
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

/** The pieces of {@link toBody}, none of which is kept: for a body that is written to a disk. */
export function* bodyPieces(
  projection: Pick<Projection<object>, "value" | "request">,
  extra: Readonly<Record<string, unknown>> = {},
): Generator<Uint8Array, void, undefined> {
  for (const part of bodyParts(projection, extra)) yield* partPieces(part);
}

/** A part of the JSON, and bytes whose base64 follows it. */
interface BodyPart {
  readonly json: Uint8Array;
  readonly readBase64?: Uint8Array;
}

function partLength({ json, readBase64 }: BodyPart): number {
  return json.length + (readBase64 === undefined ? 0 : base64Length(readBase64.length));
}

function* partPieces({ json, readBase64 }: BodyPart): Generator<Uint8Array, void, undefined> {
  yield json;
  if (readBase64 !== undefined) yield* base64Pieces(readBase64);
}

function* bodyParts(
  projection: Pick<Projection<object>, "value" | "request">,
  extra: Readonly<Record<string, unknown>>,
): Generator<BodyPart, void, undefined> {
  // If the value was never read, it is unchanged, and its large strings are not needed.
  const outlined = projection as { readonly [entryOutline]?: () => Outline | undefined };
  const { value, placeholders } = outlined[entryOutline]?.() ?? {
    value: projection.value,
    placeholders: new Base64Placeholders(),
  };
  const whole = Object.keys(extra).length === 0 ? value : { ...extra, ...value };
  for (const text of jsonTexts(whole, requestPayloads(projection.request), placeholders)) {
    const { texts, spliced } = placeholders.cut(text);
    for (const [at, each] of texts.entries()) {
      const json = encodeUtf8(each);
      const readBase64 = spliced[at];
      yield readBase64 === undefined ? { json } : { json, readBase64 };
    }
  }
}

/** The suffix of a string in base64. */
interface Payload {
  readonly prefix: string;
  readonly bytes: Uint8Array;
}

/** Long strings of the request by length, to find them again by identity. */
type Payloads = ReadonlyMap<number, readonly { readonly whole: () => string; readonly payload: Payload }[]>;

function requestPayloads({ turns }: NeutralRequest): Payloads {
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

/** The maximum number of characters of a text with several values. */
const maxTextLength = 64 * 1024;
/** Members that are printed one by one: those of the value, of a list of messages, a message, its content. */
const maxSplitDepth = 4;

/**
 * The JSON of a value in texts, with placeholders for bytes and for strings with known base64. The longest
 * conversation is longer than a string can be: a text has one value of a member, or many short ones.
 */
function* jsonTexts(
  value: object,
  payloads: Payloads,
  placeholders: Base64Placeholders,
): Generator<string, void, undefined> {
  const print = (part: unknown) =>
    JSON.stringify(part, function (this: unknown, key: string, field: unknown) {
      const payload = payloadFor((this as Record<string, unknown>)[key], field, payloads);
      return payload === undefined ? field : payload.prefix + placeholders.for(payload.bytes);
    }) as string | undefined;
  let text = "";
  const parts = hasMembers(value) ? jsonParts(value, print, 1) : [print(value) ?? "null"];
  for (const part of parts) {
    if (text.length + part.length > maxTextLength && text !== "") {
      yield text;
      text = "";
    }
    text += part;
  }
  if (text !== "") yield text;
}

/** Prints a list or plain object member by member, down to a depth. */
function* jsonParts(
  value: object,
  print: (part: unknown) => string | undefined,
  depth: number,
): Generator<string, void, undefined> {
  const isList = Array.isArray(value);
  let separator = "";
  yield isList ? "[" : "{";
  for (const key of isList ? value.keys() : Object.keys(value)) {
    const member = (value as Readonly<Record<string | number, unknown>>)[key];
    const isSplit = depth < maxSplitDepth && hasMembers(member);
    const whole = isSplit ? undefined : print(member);
    if (!isSplit && whole === undefined && !isList) continue;
    yield typeof key === "number" ? separator : `${separator}${JSON.stringify(key)}:`;
    if (isSplit) yield* jsonParts(member, print, depth + 1);
    else yield whole ?? "null";
    separator = ",";
  }
  yield isList ? "]" : "}";
}

/** Whether a value is a list or a plain object, which `JSON.stringify` prints by their members. */
function hasMembers(value: unknown): value is object {
  if (typeof value !== "object" || value === null || "toJSON" in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
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
