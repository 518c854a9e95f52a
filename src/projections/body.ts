import { encodeUtf8 } from "../internal/bytes.js";
import { base64Pieces } from "../internal/encode-base64.js";
import type { Projection } from "./projection.js";
import type { MediaPart, NeutralRequest } from "./turns.js";

/** A request's body in pieces. */
export interface RequestBody extends Iterable<Uint8Array> {
  /** Bytes of the whole. */
  readonly size: number;
  /** The pieces as `fetch` takes them, with `duplex: "half"`. */
  stream(): ReadableStream<Uint8Array>;
}

/** Shorter strings cost less to write than to look up. */
const minSpliced = 1024;

/**
 * A projection's value as the JSON that a provider reads, byte for byte what `JSON.stringify` gives, in pieces: what is
 * attached is written as it stands and is never part of a larger string. Bytes, as Bedrock has them, become base64. Each
 * iteration makes the pieces anew, one after the other.
 *
 * @param extra members of the request besides the value's, such as `model`; they come first, and the value's count where both have one
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
  const { value, request } = projection;
  const whole = Object.keys(extra).length === 0 ? value : { ...extra, ...value };
  const { texts, spliced } = skeletonOf(whole, payloadsOf(request));
  const frame = texts.map(encodeUtf8);
  const size = [...frame, ...spliced].reduce((sum, { length }) => sum + length, 0);
  function* pieces(): Generator<Uint8Array, void, undefined> {
    for (const [at, piece] of frame.entries()) {
      yield piece;
      const payload = spliced[at];
      if (payload === undefined) continue;
      if (payload.prefix !== "") yield encodeUtf8(payload.prefix);
      yield* base64Pieces(payload.bytes);
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

interface Payload {
  readonly prefix: string;
  readonly bytes: Uint8Array;
  /** Characters of both, each a byte. */
  readonly length: number;
}

/** Strings of the request that can be long, by length, to be found again by identity. */
type Payloads = ReadonlyMap<number, readonly { readonly whole: () => string; readonly payload: Payload }[]>;

function payloadsOf({ turns }: NeutralRequest): Payloads {
  const byLength = new Map<number, { whole: () => string; payload: Payload }[]>();
  const add = (whole: () => string, payload: Payload) => {
    const same = byLength.get(payload.length) ?? [];
    byLength.set(payload.length, same);
    same.push({ whole, payload });
  };
  for (const part of turns.flatMap(mediaIn)) {
    const digits = Math.ceil(part.bytes.length / 3) * 4;
    if (digits < minSpliced) continue;
    const prefix = `data:${part.mediaType};base64,`;
    const { bytes } = part;
    add(() => part.base64, { prefix: "", bytes, length: digits });
    add(() => part.dataUrl, { prefix, bytes, length: prefix.length + digits });
  }
  return byLength;
}

function mediaIn(turn: NeutralRequest["turns"][number]): readonly MediaPart[] {
  if (turn.role === "assistant") return [];
  const shown = [...turn.results.flatMap(({ parts }) => parts), ...turn.parts];
  return shown.filter((part): part is MediaPart => part.type === "media");
}

interface Skeleton {
  /** What stands around the payloads, one more than there are of these. */
  readonly texts: readonly string[];
  readonly spliced: readonly Payload[];
}

/** The JSON of a value, cut where payloads belong. */
function skeletonOf(value: object, payloads: Payloads): Skeleton {
  for (let mark = "payload of this request"; ; mark = crypto.randomUUID()) {
    const spliced: Payload[] = [];
    const json = JSON.stringify(value, function (this: unknown, key: string, field: unknown) {
      const payload = payloadFor((this as Record<string, unknown>)[key], field, payloads);
      if (payload === undefined) return field;
      spliced.push(payload);
      return mark;
    });
    const texts = json.split(`"${mark}"`);
    // A text of the request might be the mark: then it is there more often than it should, and one that nobody knows is tried.
    if (texts.length === spliced.length + 1) return { texts: withQuotes(texts), spliced };
  }
}

/** The quotes of the marks, given back to what stands around them. */
function withQuotes(texts: readonly string[]): readonly string[] {
  return texts.map((text, at) => `${at === 0 ? "" : '"'}${text}${at === texts.length - 1 ? "" : '"'}`);
}

function payloadFor(raw: unknown, field: unknown, payloads: Payloads): Payload | undefined {
  // Before the field, since a Buffer says what it is as JSON.
  if (raw instanceof Uint8Array) {
    return { prefix: "", bytes: raw, length: Math.ceil(raw.length / 3) * 4 };
  }
  if (typeof field !== "string" || field.length < minSpliced) return undefined;
  return payloads.get(field.length)?.find(({ whole }) => whole() === field)?.payload;
}
