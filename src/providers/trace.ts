/** The provenance of a rendered request: the part that each of its blocks comes from. */

import { isRecord } from "../core/shape.js";
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

/** A place of a rendered request. */
export interface RequestPlace {
  /** The deepest part on the path, if any. */
  readonly part: Part | undefined;
  /** The members of the part's own block on the path, such as `source` and `data`. */
  readonly members: readonly (string | number)[];
  /** Whether the place is within a single block, not around several. */
  readonly isBlock: boolean;
  /** The parts at the place or below it, without those around it. */
  readonly below: readonly Part[];
}

/**
 * The place that a path names. Undefined if the path is not one of this request: a gateway or a framework
 * wrote another request, with other members and indexes. Members can have snake case, and Anthropic's paths
 * contain the types of blocks: `content.0.tool_result.content.1.image.source`.
 */
export function placeAt(
  { value, marks }: RequestTrace,
  keys: readonly (string | number)[],
): RequestPlace | undefined {
  let at = value;
  let part: Part | undefined;
  for (const [index, key] of keys.entries()) {
    if (typeof at !== "object" || at === null) return undefined;
    const around = marks.get(at);
    part = around ?? part;
    const next = readMember(at, key);
    if (around !== undefined && isLeaf(at, marks)) {
      if (next === undefined && !isTypeOf(at, key)) return undefined;
      return { part: around, members: keys.slice(index), isBlock: true, below: [around] };
    }
    if (next === undefined && !isTypeOf(at, key)) return undefined;
    at = next ?? at;
  }
  // A list of turns is not specific enough, a single turn is.
  if (keys.length < 2) return undefined;
  const around = typeof at === "object" && at !== null ? marks.get(at) : undefined;
  const isBlock = around !== undefined && isLeaf(at as object, marks);
  const below = isBlock
    ? [around]
    : [...new Set([...objectsIn(at, marks)].flatMap(({ part: each }) => (each === undefined ? [] : [each])))];
  return { part: around ?? part, members: [], isBlock, below };
}

function readMember(at: object, key: string | number): unknown {
  const members = at as Record<string | number, unknown>;
  if (typeof key === "number") return Array.isArray(at) ? members[key] : undefined;
  if (Object.hasOwn(at, key)) return members[key];
  const camel = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.hasOwn(at, camel) ? members[camel] : undefined;
}

/** Whether a key is the type or the role of an object; Anthropic calls a document `pdf`. */
function isTypeOf(at: object, key: string | number): boolean {
  const { type, role } = at as Record<string, unknown>;
  return key === type || key === role || (key === "pdf" && type === "document");
}

/** Whether a block contains no other part. */
function isLeaf(block: object, marks: RequestTrace["marks"]): boolean {
  const own = marks.get(block);
  for (const { object, part } of objectsIn(block, marks)) {
    if (object !== block && marks.has(object) && part !== own) return false;
  }
  return true;
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
 * The last part with an id that a text contains, such as `Duplicate item found with id msg_1`: the provider
 * accepted the first one.
 */
export function partWithId(
  { value, marks }: RequestTrace,
  texts: readonly string[],
): { readonly part: Part; readonly id: string } | undefined {
  const words = new Set(texts.flatMap((text) => text.split(/[^A-Za-z0-9_-]/)));
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
