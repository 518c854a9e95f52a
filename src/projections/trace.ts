/** The provenance of a rendered request: the part that each of its blocks comes from. */

import { isRecord } from "../internal/shape.js";
import type { MediaPart, NeutralRequest, Part, ReferencePart } from "./request.js";
import type { Target } from "./target.js";

/** A rendered value, and the part that each of its blocks comes from. */
export interface RequestTrace {
  readonly value: unknown;
  readonly marks: ReadonlyMap<object, Part>;
}

/** Renders the request again and records the parts. Only a refusal needs it. */
export function traceRequest(
  request: NeutralRequest,
  target: Target<unknown>,
  cached: ReadonlySet<Part>,
): RequestTrace {
  const marks = new Map<object, Part>();
  const value = target.render(request, {
    trace: (block, part) => {
      marks.set(block, part);
      return block;
    },
    endsCache: (part) => cached.has(part),
    reportLoss: () => undefined,
  });
  return { value, marks };
}

/**
 * The deepest part on a path. If the path ends at a turn and the message is about an attachment, the newest
 * attachment below it.
 */
export function partAt(
  { value, marks }: RequestTrace,
  keys: readonly (string | number)[],
  wantsMedia: boolean,
): Part | undefined {
  let at = value;
  let found: Part | undefined;
  let isPlace = false;
  for (const key of keys) {
    if (typeof at !== "object" || at === null) break;
    const next: unknown = (at as Record<string | number, unknown>)[key];
    // Anthropic's paths contain the types of blocks: `content.0.tool_result.content.1.image.source`.
    if (next === undefined && typeof key === "string") continue;
    if (next === undefined) break;
    // A list of turns is not specific enough, a single turn is.
    if (at !== value) isPlace = true;
    at = next;
    if (typeof at === "object" && at !== null) found = marks.get(at) ?? found;
  }
  if (!isPlace || !wantsMedia || (found !== undefined && isAttached(found))) return found;
  let newest: Attached | undefined;
  for (const { part } of objectsIn(at, marks)) {
    if (part !== undefined && isAttached(part) && (newest === undefined || isNewer(part, newest)))
      newest = part;
  }
  return newest ?? found;
}

const idNames = [
  "id",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "toolUseId",
  "toolCallId",
  "file_id",
] as const;
/** Ids that are only a word or a number can occur in a message by chance. */
const isId = (text: string) => text.length > 3 && /[A-Za-z]/.test(text) && /[\d_-]/.test(text);

/**
 * The last part with an id that the message contains, such as `Duplicate item found with id msg_1`: the
 * provider accepted the first one.
 */
export function partWithId(
  { value, marks }: RequestTrace,
  message: string,
): { readonly part: Part; readonly id: string } | undefined {
  const words = new Set(message.split(/[^A-Za-z0-9_-]/));
  let found: { readonly part: Part; readonly id: string } | undefined;
  for (const { object, part } of objectsIn(value, marks)) {
    if (part === undefined || part.origin.item < 0 || !isRecord(object)) continue;
    const id = idNames.map((name) => object[name]).find((one) => typeof one === "string" && words.has(one));
    if (typeof id !== "string" || !isId(id)) continue;
    if (found === undefined || !isNewer(found.part, part)) found = { part, id };
  }
  return found;
}

/** Iterates over each object of a value once, with the part that it or its parent comes from. */
function* objectsIn(
  from: unknown,
  marks: RequestTrace["marks"],
): Generator<{ readonly object: object; readonly part: Part | undefined }> {
  const open: { readonly at: unknown; readonly around: Part | undefined }[] = [
    { at: from, around: undefined },
  ];
  const seen = new Set<object>();
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { at, around } = next;
    if (typeof at !== "object" || at === null || ArrayBuffer.isView(at) || seen.has(at)) continue;
    seen.add(at);
    const part = marks.get(at) ?? around;
    yield { object: at, part };
    for (const below of Object.values(at)) open.push({ at: below, around: part });
  }
}

/** A part with an attachment. */
export type Attached = MediaPart | ReferencePart;

/** Whether a part has an attachment. */
export function isAttached(part: Part): part is Attached {
  return part.type === "media" || part.type === "reference";
}

/** Whether part `a` is after part `b` in the context. */
export function isNewer(a: Part, b: Part): boolean {
  return a.origin.item > b.origin.item || (a.origin.item === b.origin.item && block(a) > block(b));
}

function block({ origin }: Part): number {
  return origin.block ?? 0;
}
