/** Explains a provider's refusal: finds the parts, the entry and the attachment that it is about. */

import type { Context } from "../content/index.js";
import { blockResources } from "../content/internal.js";
import { isRecord } from "../core/shape.js";
import type { EntryDraft } from "../session/index.js";
import { type QuarantinePlace, quarantine, quarantineNamed, withDrafts } from "./quarantine.js";
import { HalvingSearch, type RefusalSearch, type Suspect } from "./refusal-search.js";
import {
  mediaMembers,
  pathsIn,
  type RefusalClass,
  type RefusedKind,
  type Rejection,
  refusalClass,
  toRejection,
} from "./rejection.js";
import type { MediaPart, NeutralRequest, Part, ReferencePart } from "./request.js";
import { mediaIn } from "./select-messages.js";
import type { Target } from "./target.js";

/** The cause of a provider's refusal. */
export interface Explanation {
  /**
   * `excluded`: the drafts exclude the cause; append them, and send again. `unsolved`: what a search excluded
   * did not help, and the drafts restore it; append them, and give up.
   */
  readonly code: "excluded" | "unsolved";
  readonly entryId: string;
  /** Index among the blocks of the message; absent if the cause is the whole message. */
  readonly block?: number;
  readonly resourceId?: string;
  /**
   * `path`: the provider named the block. `guess`: it named a kind of content, and this block is the most
   * likely one.
   */
  readonly certainty: "path" | "guess";
  /** The place in the request, as the provider named it: a path or an id. */
  readonly path?: string;
  /** The provider's message, without the wrapper of a gateway. */
  readonly message: string;
  /** Drafts to append. The next projection excludes the refused content. */
  readonly drafts: readonly EntryDraft[];
}

/** The input of {@link explainRejection}. */
interface Explained {
  readonly context: Pick<Context, "items">;
  readonly request: NeutralRequest;
  readonly target: Target<unknown>;
  /** Parts with a cache marker after them. */
  readonly cached: ReadonlySet<Part>;
  /** Whether placeholders may name the excluded content: true if no boundary was given. */
  readonly named: boolean;
}

/** The parts that a refusal is about. */
interface Guilty {
  /** The newest is the one that an explanation names. */
  readonly parts: readonly Part[];
  readonly path?: string;
  /** The candidates, if the refusal does not tell them apart. */
  readonly among?: readonly Part[];
}

/**
 * Maps a provider's refusal to the content at fault. Only words of the table that are about content name a
 * fault; a path counts if it is one of this request and leads to a part of the kind that the words name, an id
 * if a part has it. Without either, and about media or signatures, takes the newest or the largest: the provider
 * accepted the earlier ones before. A search takes the newer half of the candidates instead of the newest.
 */
export function explainRejection(
  error: unknown,
  explained: Explained,
  search?: RefusalSearch,
): Explanation | undefined {
  const rejection = toRejection(error);
  const found = refusalClass(rejection);
  if (!isRefusal(rejection, found) || found.class === "elsewhere") return undefined;
  const { context } = explained;
  const halving = search instanceof HalvingSearch ? search : undefined;
  if (halving?.hasEnded(context) === true) return undefined;
  const guilty = found.class === "form" ? undefined : guiltyPart(rejection, found, explained);
  const explanation = guilty && toExplanation(guilty, rejection, explained, halving);
  return explanation ?? unsolved(rejection, context, halving);
}

/** Whether a status is one of a refusal. Some servers answer 500 for media that they do not read. */
function isRefusal({ status }: Rejection, found: RefusalClass): boolean {
  if (status === undefined || [400, 404, 413, 415, 422].includes(status)) return true;
  return status >= 500 && found.class === "content" && found.guilty === "every";
}

function unsolved(
  { message }: Rejection,
  context: Explained["context"],
  halving: HalvingSearch | undefined,
): Explanation | undefined {
  const drafts = halving?.giveUp(context) ?? [];
  const [first] = drafts;
  if (first?.type !== "context_edit") return undefined;
  return { code: "unsolved", entryId: first.targetId, certainty: "guess", message, drafts };
}

function guiltyPart(rejection: Rejection, found: RefusalClass, explained: Explained): Guilty | undefined {
  const { request, target, cached } = explained;
  const trace = traceRequest(request, target, cached);
  const content = found.class === "content" ? found : undefined;
  if (content?.guilty === "every" || content?.guilty === "count") return severalGuilty(content, request);
  const named = byPath(rejection, content?.kind, trace);
  // The id of a call tells more than the path of its turn.
  const id = content === undefined || content.kind === "pair" || named === undefined;
  const withId = id && content?.kind !== "blank" ? byId(rejection, trace, request) : undefined;
  if (withId !== undefined || named !== undefined) return withId ?? named;
  if (rejection.status === 404 || content === undefined) return undefined;
  const { kind, guilty } = content;
  const among = kindCandidates(kind, request);
  return among.length === 0 ? undefined : likeliest(among, guilty === "largest");
}

/** All parts of a kind, or the oldest if there are too many. */
function severalGuilty(
  { kind, guilty, most }: RefusalClass & { readonly class: "content" },
  request: NeutralRequest,
): Guilty | undefined {
  const of = attachedIn(request).filter((part) => kind === "media" || part.kind === kind);
  const byAge = of.toSorted((a, b) => (isNewer(a, b) ? 1 : -1));
  const isCounted = guilty === "count";
  const kept = most !== undefined && most < byAge.length ? most : byAge.length - 1;
  const parts = isCounted ? byAge.slice(0, byAge.length - kept) : byAge;
  return parts.length === 0 ? undefined : { parts: parts.toReversed() };
}

/** The parts that a refusal of a kind may be about if it names none. Gemini tells no places of signatures. */
function kindCandidates(kind: RefusedKind, request: NeutralRequest): readonly Part[] {
  if (kind === "reasoning") {
    const said = request.turns.flatMap((turn): readonly Part[] =>
      turn.role === "assistant" ? turn.parts : [],
    );
    const reasoning = said.filter(({ type }) => type === "reasoning");
    return reasoning.length > 0 ? reasoning : said.filter(isSigned);
  }
  if (kind !== "image" && kind !== "document" && kind !== "media") return [];
  return attachedIn(request).filter((part) => kind === "media" || part.kind === kind);
}

function isSigned(part: Part): boolean {
  return "signature" in part && !!part.signature;
}

function likeliest(among: readonly Part[], isOfSize: boolean): Guilty {
  const part = isOfSize
    ? among.reduce((largest, one) => (partSize(one) > partSize(largest) ? one : largest))
    : among.reduce((newest, one) => (isNewer(one, newest) ? one : newest));
  return { parts: [part], ...(isOfSize ? {} : { among }) };
}

function partSize(part: Part): number {
  return part.type === "media" ? part.bytes.length : 0;
}

/** Without words of the table, only a path to a single attachment names a fault. */
function byPath(
  { texts, isWrapped }: Rejection,
  kind: RefusedKind | undefined,
  trace: RequestTrace,
): Guilty | undefined {
  if (isWrapped) return undefined;
  const roots = isRecord(trace.value) ? Object.keys(trace.value) : [];
  for (const { path, keys } of pathsIn(texts, roots)) {
    const place = placeAt(trace, keys);
    if (place === undefined) continue;
    const [member] = place.members.filter((one) => typeof one === "string").slice(-1);
    const isOfMedia = member === undefined || mediaMembers.has(member);
    if (kind === undefined && !(place.isBlock && isOfMedia)) continue;
    const parts = place.below.filter((part) => part.origin.item >= 0 && isOf(part, kind ?? "media"));
    const newest = parts.reduce<Part | undefined>(
      (last, one) => (last === undefined || isNewer(one, last) ? one : last),
      undefined,
    );
    if (newest !== undefined) return { parts: [newest], path };
  }
  return undefined;
}

function byId({ texts }: Rejection, trace: RequestTrace, request: NeutralRequest): Guilty | undefined {
  const named = partWithId(trace, texts);
  if (named !== undefined) return { parts: [named.part], path: named.id };
  for (const part of attachedIn(request)) {
    const url = part.type === "reference" && part.reference.kind === "url" ? part.reference.url : undefined;
    if (url !== undefined && texts.some((text) => text.includes(url))) return { parts: [part], path: url };
  }
  return undefined;
}

/** Whether a part is of a kind that a refusal names. */
function isOf(part: Part, kind: RefusedKind): boolean {
  switch (kind) {
    case "media":
      return isAttached(part) || (part.type === "opaque" && part.media !== undefined);
    case "image":
    case "document":
      if (isAttached(part)) return part.kind === kind;
      return part.type === "opaque" && part.media?.some((medium) => medium.kind === kind) === true;
    case "reasoning":
      return part.type === "reasoning" || part.type === "opaque" || isSigned(part);
    case "pair":
      return part.type === "call" || part.type === "result" || part.type === "opaque";
    case "blank":
      return part.type === "text" && !/[^\p{C}\p{Z}\s]/u.test(part.text);
    case "text":
      return part.type === "text" || part.type === "result" || part.type === "call";
  }
}

function attachedIn({ turns }: NeutralRequest): readonly Attached[] {
  return turns.flatMap((turn): readonly Attached[] => {
    if (turn.role === "assistant") return mediaIn(turn);
    const shown = [...turn.results.flatMap(({ parts }) => parts), ...turn.parts];
    return shown.filter((part): part is Attached => part.type !== "text");
  });
}

function toExplanation(
  { parts, path, among }: Guilty,
  { message }: Rejection,
  { context, named }: Explained,
  halving: HalvingSearch | undefined,
): Explanation | undefined {
  // What a path named did not help if the same refusal names it again, in vain.
  const undone = path === undefined ? (halving?.undoNamed(context, message) ?? []) : [];
  const current = withDrafts(context, undone);
  let suspects = partSuspects(parts, context);
  let shown: Part | undefined = parts[0];
  if (halving !== undefined && among !== undefined) {
    const candidates = partSuspects(
      [...among].toSorted((a, b) => (isNewer(a, b) ? 1 : -1)),
      context,
    );
    suspects = halving.refused(candidates);
    const newest = suspects.at(-1)?.key;
    shown = among.find((part) => partKey(part) === newest);
  }
  const places = suspects.flatMap((suspect) => suspect.places);
  const drafts = named ? quarantineNamed(current, places) : quarantine(current, places);
  if (shown === undefined || drafts.length === 0) return undefined;
  halving?.keep(
    current,
    suspects,
    drafts,
    among === undefined ? { message, isNamed: path !== undefined } : undefined,
  );
  const { entryId, block } = shown.origin;
  const resource = isAttached(shown) ? shown.resource : undefined;
  const edited = new Set(drafts.map((draft) => (draft.type === "context_edit" ? draft.targetId : "")));
  return {
    code: "excluded",
    entryId,
    ...(block === undefined ? {} : { block }),
    ...(resource === undefined ? {} : { resourceId: resource.resourceId }),
    certainty: path === undefined ? "guess" : "path",
    ...(path === undefined ? {} : { path }),
    message,
    drafts: [
      ...undone.filter((draft) => draft.type !== "context_edit" || !edited.has(draft.targetId)),
      ...drafts,
    ],
  };
}

/** The parts with all their occurrences: otherwise another one would send the bytes. */
function partSuspects(parts: readonly Part[], context: Explained["context"]): readonly Suspect[] {
  const suspects = new Map<string, Suspect>();
  const editable = new Set(context.items.filter(isEditable).map(({ entryId }) => entryId));
  for (const part of parts) {
    const { entryId, item, block } = part.origin;
    if (item < 0 || !editable.has(entryId)) continue;
    const key = partKey(part);
    const resource = isAttached(part) ? part.resource : undefined;
    const places = resource === undefined ? [] : contextPlaces(context, resource.resourceId);
    const isPlaced = places.some((place) => place.entryId === entryId && place.block === block);
    const own: QuarantinePlace = { entryId, ...(block === undefined ? {} : { block }) };
    suspects.set(key, { key, places: isPlaced ? places : [own, ...places] });
  }
  return [...suspects.values()];
}

/** Whether a later edit can restore the content of a message. */
function isEditable({ message }: Explained["context"]["items"][number]): boolean {
  return ["user", "assistant", "toolResult", "custom"].includes(message.role);
}

function partKey(part: Part): string {
  const { entryId, block } = part.origin;
  return (isAttached(part) ? part.resource?.resourceId : undefined) ?? `${entryId} ${block}`;
}

function contextPlaces(
  { items }: Pick<Context, "items">,
  resourceId: string,
): { entryId: string; block: number }[] {
  return items.flatMap(({ entryId, message }) => {
    if (!("content" in message) || typeof message.content === "string") return [];
    return [...message.content.entries()].flatMap(([index, one]) =>
      blockResources(one).some((resource) => resource.resourceId === resourceId)
        ? [{ entryId, block: index }]
        : [],
    );
  });
}

// The provenance of a rendered request: the part that each of its blocks comes from.

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
interface RequestPlace {
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
type Attached = MediaPart | ReferencePart;

/** Whether a part has an attachment. */
function isAttached(part: Part): part is Attached {
  return part.type === "media" || part.type === "reference";
}

/** Whether part `a` is after part `b` in the context. */
function isNewer(a: Part, b: Part): boolean {
  return a.origin.item > b.origin.item || (a.origin.item === b.origin.item && block(a) > block(b));
}

function block({ origin }: Part): number {
  return origin.block ?? 0;
}
