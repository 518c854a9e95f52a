import type { Context } from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft } from "../session/index.js";
import { partNamedIn } from "./error-ids.js";
import { pathsIn } from "./error-paths.js";
import { quarantine } from "./quarantine.js";
import type { Target } from "./target.js";
import type { MediaPart, NeutralRequest, Part, ReferencePart } from "./turns.js";

/** What a provider's refusal is about. */
export interface Explanation {
  readonly entryId: string;
  /** Index among the blocks of the message; absent where the whole message is meant. */
  readonly block?: number;
  readonly resourceId?: string;
  /** `path`: the provider named the place, or a block by its id. `guess`: it named a kind of thing, and this is the likeliest of them. */
  readonly certainty: "path" | "guess";
  /** The place in the request, or the id, as the provider named it. */
  readonly path?: string;
  /** What the provider said. */
  readonly message: string;
  /** Append them, and the next projection goes without what was refused. */
  readonly drafts: readonly EntryDraft[];
}

/** What an explanation is made from. */
export interface Explained {
  readonly context: Pick<Context, "items">;
  readonly request: NeutralRequest;
  readonly target: Target<unknown>;
  /** Parts with a cache marker behind them. */
  readonly cached: ReadonlySet<Part>;
}

/** A value, and the part that each of its blocks was made of. */
interface Marked {
  readonly value: unknown;
  readonly marks: ReadonlyMap<object, Part>;
}

/** The value once more, with its marks: only a refusal needs them, and there is seldom one. */
function markedValue({ request, target, cached }: Explained): Marked {
  const marks = new Map<object, Part>();
  const value = target.render(request, {
    mark: (block, part) => {
      marks.set(block, part);
      return block;
    },
    endsCache: (part) => cached.has(part),
    lose: () => undefined,
  });
  return { value, marks };
}

type Attached = MediaPart | ReferencePart;

/**
 * From a provider's refusal to the entry at fault. By the path that it names, as in `messages.41.content.31` or
 * `input[2].content[0]`, or the id of a block; where it names none and speaks of an image or a document, or of too many bytes, the newest of
 * those, or the largest: what was sent before was taken before.
 */
export function explainRejection(error: unknown, explained: Explained): Explanation | undefined {
  const { message, status } = rejectionOf(error);
  // OpenAI says 404 of an item that it does not have, and of a model: only the first names something of the request.
  if (status !== undefined && ![400, 404, 413, 422].includes(status)) return undefined;
  const { value, marks } = markedValue(explained);
  for (const { path, keys } of pathsIn(error, isRecord(value) ? Object.keys(value) : [])) {
    const part = partAt(value, keys, marks, aboutMedia.test(message));
    if (part !== undefined) return explanation(part, message, explained, path);
  }
  const named = partNamedIn(message, value, marks);
  if (named !== undefined) return explanation(named.part, message, explained, named.id);
  if (status === 404) return undefined;
  const guess = likeliest(message, status, explained.request);
  return guess && explanation(guess, message, explained);
}

/** Not of profiles, nor of what is done immediately, nor of where the documentation is. */
const aboutMedia = /(?<![a-z])(?:image|picture|document(?!ation)|pdf|file|media|base64)/i;
const aboutSize =
  /too large|too big|(?<![a-z])exceed(?:s|ed|ing)?(?![a-z])|maximum.*(?:size|bytes)|payload|(?<![a-z])entity/i;
/** Too much for the model rather than for the request: no attachment need be at fault. */
const aboutTokens = /(?<![a-z])tokens?(?![a-z])|context (?:length|window|limit)/i;

interface Rejection {
  readonly message: string;
  readonly status: number | undefined;
}

/** Of a client's error, or of the body itself, in which providers put what they say under `error`. */
function rejectionOf(error: unknown, isWithin = false): Rejection {
  if (typeof error === "string") return { message: error, status: undefined };
  if (!isRecord(error)) return { message: "", status: undefined };
  const { message, status, statusCode, code, $metadata } = error;
  const http = isRecord($metadata) ? $metadata.httpStatusCode : undefined;
  const found = [status, statusCode, http, code].find((one) => typeof one === "number");
  if (typeof message === "string" || isWithin) return { message: String(message ?? ""), status: found };
  const within = rejectionOf(error.error, true);
  return { message: within.message, status: found ?? within.status };
}

/** The deepest part on the way, or the newest attachment below where the path ends at a turn and the words are of one. */
function partAt(
  value: unknown,
  keys: readonly (string | number)[],
  marks: Marked["marks"],
  wantsMedia: boolean,
): Part | undefined {
  let at = value;
  let found: Part | undefined;
  for (const key of keys) {
    if (typeof at !== "object" || at === null) break;
    const next: unknown = (at as Record<string | number, unknown>)[key];
    // Anthropic's paths name the types of blocks on the way: `content.0.tool_result.content.1.image.source`.
    if (next === undefined && typeof key === "string") continue;
    if (next === undefined) break;
    at = next;
    if (typeof at === "object" && at !== null) found = marks.get(at) ?? found;
  }
  if (!wantsMedia || (found !== undefined && isAttached(found))) return found;
  return newestBelow(at, marks) ?? found;
}

const maxSearched = 10_000;

function newestBelow(from: unknown, marks: Marked["marks"]): Attached | undefined {
  const open: unknown[] = [from];
  let newest: Attached | undefined;
  for (let looked = 0; open.length > 0 && looked < maxSearched; looked++) {
    const at = open.pop();
    if (typeof at !== "object" || at === null || ArrayBuffer.isView(at)) continue;
    const part = marks.get(at);
    if (part !== undefined && isAttached(part) && (newest === undefined || isNewer(part, newest))) {
      newest = part;
    }
    open.push(...Object.values(at));
  }
  return newest;
}

function isAttached(part: Part): part is Attached {
  return part.type === "media" || part.type === "reference";
}

function isNewer(a: Part, b: Part): boolean {
  return a.origin.item > b.origin.item || (a.origin.item === b.origin.item && block(a) > block(b));
}

function block({ origin }: Part): number {
  return origin.block ?? 0;
}

function likeliest(message: string, status: number | undefined, request: NeutralRequest): Part | undefined {
  const tooLarge = status === 413 || aboutSize.test(message);
  const isOfMedia = aboutMedia.test(message);
  if (!tooLarge && !isOfMedia) return undefined;
  if (status !== 413 && !isOfMedia && aboutTokens.test(message)) return undefined;
  const attached = attachedIn(request);
  const isDocument = /document|pdf/i.test(message);
  const named = attached.filter(({ kind }) =>
    !/image|picture/i.test(message) ? !isDocument || kind === "document" : kind === "image",
  );
  const from = named.length > 0 ? named : attached;
  if (from.length === 0) return undefined;
  if (!tooLarge) return from.reduce((newest, part) => (isNewer(part, newest) ? part : newest));
  return from.reduce((largest, part) => (sizeOf(part) > sizeOf(largest) ? part : largest));
}

function sizeOf(part: Attached): number {
  return part.type === "media" ? part.bytes.length : 0;
}

function attachedIn({ turns }: NeutralRequest): readonly Attached[] {
  return turns.flatMap((turn) => {
    const shown = turn.role === "user" ? [...turn.results.flatMap(({ parts }) => parts), ...turn.parts] : [];
    return shown.filter((part): part is Attached => part.type !== "text");
  });
}

function explanation(
  part: Part,
  message: string,
  { context }: Explained,
  path?: string,
): Explanation | undefined {
  const { entryId, item, block: index } = part.origin;
  if (item < 0) return undefined;
  const resource = isAttached(part) ? part.resource : undefined;
  // Another place of the same resource would send it in this one's stead.
  const places = [{ entryId, ...(index === undefined ? {} : { block: index }) }];
  if (resource !== undefined) places.push(...placesOf(context, resource.resourceId));
  return {
    entryId,
    ...(index === undefined ? {} : { block: index }),
    ...(resource === undefined ? {} : { resourceId: resource.resourceId }),
    certainty: path === undefined ? "guess" : "path",
    ...(path === undefined ? {} : { path }),
    message,
    drafts: quarantine(context, places),
  };
}

function placesOf(
  { items }: Pick<Context, "items">,
  resourceId: string,
): { entryId: string; block: number }[] {
  return items.flatMap(({ entryId, message }) => {
    if (!("content" in message) || typeof message.content === "string") return [];
    return [...message.content.entries()].flatMap(([index, one]) =>
      one.type === "text" && one.resource?.resourceId === resourceId ? [{ entryId, block: index }] : [],
    );
  });
}
