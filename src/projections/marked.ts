import type { Target } from "./target.js";
import type { MediaPart, NeutralRequest, Part, ReferencePart } from "./turns.js";

/** A value, and the part that each of its blocks was made of. */
export interface Marked {
  readonly value: unknown;
  readonly marks: ReadonlyMap<object, Part>;
}

/** The value once more, with its marks: only a refusal needs them, and there is seldom one. */
export function markedValue(
  request: NeutralRequest,
  target: Target<unknown>,
  cached: ReadonlySet<Part>,
): Marked {
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

/** The deepest part on the way, or the newest attachment below where the path ends at a turn and the words are of one. */
export function partAt(
  { value, marks }: Marked,
  keys: readonly (string | number)[],
  wantsMedia: boolean,
): Part | undefined {
  let at = value;
  let found: Part | undefined;
  let isPlace = false;
  for (const key of keys) {
    if (typeof at !== "object" || at === null) break;
    const next: unknown = (at as Record<string | number, unknown>)[key];
    // Anthropic's paths name the types of blocks on the way: `content.0.tool_result.content.1.image.source`.
    if (next === undefined && typeof key === "string") continue;
    if (next === undefined) break;
    // A list of turns is no place, but one of them is.
    if (at !== value) isPlace = true;
    at = next;
    if (typeof at === "object" && at !== null) found = marks.get(at) ?? found;
  }
  if (!isPlace || !wantsMedia || (found !== undefined && isAttached(found))) return found;
  let newest: Attached | undefined;
  for (const part of partsBelow(at, marks)) {
    if (isAttached(part) && (newest === undefined || isNewer(part, newest))) newest = part;
  }
  return newest ?? found;
}

function* partsBelow(from: unknown, marks: Marked["marks"]): Generator<Part> {
  const open: unknown[] = [from];
  while (open.length > 0) {
    const at = open.pop();
    if (typeof at !== "object" || at === null || ArrayBuffer.isView(at)) continue;
    const part = marks.get(at);
    if (part !== undefined) yield part;
    // One by one, since a call takes only so many arguments.
    for (const below of Object.values(at)) open.push(below);
  }
}

/** What is attached. */
export type Attached = MediaPart | ReferencePart;

/** Whether a part is attached. */
export function isAttached(part: Part): part is Attached {
  return part.type === "media" || part.type === "reference";
}

/** Whether a part stands behind another in the context. */
export function isNewer(a: Part, b: Part): boolean {
  return a.origin.item > b.origin.item || (a.origin.item === b.origin.item && block(a) > block(b));
}

function block({ origin }: Part): number {
  return origin.block ?? 0;
}
