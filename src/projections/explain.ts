import type { Context } from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft } from "../session/index.js";
import { type QuarantinePlace, quarantine, quarantineNamed } from "./quarantine.js";
import { HalvingSearch, type RefusalSearch, type Suspect } from "./refusal-search.js";
import type { NeutralRequest, Part } from "./request.js";
import type { Target } from "./target.js";
import { type Attached, isAttached, isNewer, partAt, partWithId, traceRequest } from "./trace.js";

/** What a provider's refusal is about. */
export interface Explanation {
  readonly entryId: string;
  /** Index among the blocks of the message; absent where the whole message is meant. */
  readonly block?: number;
  readonly resourceId?: string;
  /**
   * `path`: the provider named the place. `guess`: it named a kind of thing, and this is the likeliest of
   * them.
   */
  readonly certainty: "path" | "guess";
  /** The place in the request, as the provider named it: a path, or an id. */
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
  /** No boundary was given: what is left out may be named in the words that stand for it. */
  readonly named: boolean;
}

/**
 * From a provider's refusal to the entry at fault. By the path that it names, as in `messages.41.content.31`
 * or `input[2].content[0]`, or by the id of a call or an item; where it names none and speaks of an image or
 * a document, or of too many bytes, the newest of those, or the largest: what was sent before was taken
 * before. A refusal for too many tokens is about none of them. A search takes the newer half of what can be
 * meant in place of the newest.
 */
export function explainRejection(
  error: unknown,
  explained: Explained,
  search?: RefusalSearch,
): Explanation | undefined {
  const rejection = rejectionOf(error);
  const { message, status } = rejection;
  if (status !== undefined && ![400, 404, 413, 422].includes(status)) return undefined;
  const { request, target, cached } = explained;
  const marked = traceRequest(request, target, cached);
  const roots = isRecord(marked.value) ? Object.keys(marked.value) : [];
  for (const { path, keys } of pathsIn(error, roots)) {
    const part = partAt(marked, keys, isAboutMedia(rejection));
    if (part !== undefined) return explanation(part, message, explained, path);
  }
  const named = partWithId(marked, message);
  if (named !== undefined) return explanation(named.part, message, explained, named.id);
  const suspected = likeliest(rejection, request);
  if (suspected === undefined) return undefined;
  if (search instanceof HalvingSearch && !isAboutSize(rejection)) {
    return halved(suspected.among, message, explained, search);
  }
  return explanation(suspected.part, message, explained);
}

/** The newer half of what can be meant, as a search has it, each with all of its places. */
function halved(
  among: readonly Attached[],
  message: string,
  explained: Explained,
  search: HalvingSearch,
): Explanation | undefined {
  const { context, named } = explained;
  const suspects = new Map<string, Suspect>();
  const parts = new Map<string, Attached>();
  for (const part of among.toSorted((a, b) => (isNewer(a, b) ? 1 : -1))) {
    const { entryId, item, block } = part.origin;
    if (item < 0 || block === undefined) continue;
    const key = part.resource?.resourceId ?? `${entryId} ${block}`;
    const places = part.resource === undefined ? [] : placesOf(context, part.resource.resourceId);
    const isPlaced = places.some((place) => place.entryId === entryId && place.block === block);
    suspects.set(key, { key, places: isPlaced ? places : [{ entryId, block }, ...places] });
    parts.set(key, part);
  }
  const out = search.refused([...suspects.values()]);
  search.keep(context, out);
  const newest = parts.get(out.at(-1)?.key ?? "");
  const found = newest && explanation(newest, message, explained);
  const places = out.flatMap((suspect) => suspect.places);
  return found && { ...found, drafts: quarantined(context, places, named) };
}

function quarantined(
  context: Explained["context"],
  places: readonly QuarantinePlace[],
  named: boolean,
): readonly EntryDraft[] {
  return named ? quarantineNamed(context, places) : quarantine(context, places);
}

/** What can be meant, and the likeliest of it. */
function likeliest(
  rejection: Rejection,
  request: NeutralRequest,
): { readonly part: Attached; readonly among: readonly Attached[] } | undefined {
  const { message, status } = rejection;
  const [ofSize, ofMedia] = [isAboutSize(rejection), isAboutMedia(rejection)];
  if (status === 404 || (!ofSize && !ofMedia) || (!ofMedia && isAboutTokens(rejection))) return undefined;
  const attached = attachedIn(request);
  const kind = /image|picture/i.test(message)
    ? "image"
    : /document|pdf/i.test(message)
      ? "document"
      : undefined;
  const named = attached.filter((part) => part.kind === kind);
  const from = named.length > 0 ? named : attached;
  if (from.length === 0) return undefined;
  const part = ofSize
    ? from.reduce((largest, one) => (sizeOf(one) > sizeOf(largest) ? one : largest))
    : from.reduce((newest, one) => (isNewer(one, newest) ? one : newest));
  return { part, among: from };
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
  { context, named }: Explained,
  path?: string,
): Explanation | undefined {
  const { entryId, item, block: index } = part.origin;
  if (item < 0) return undefined;
  const resource = isAttached(part) ? part.resource : undefined;
  // Another place of the same resource would send it in this one's stead.
  const places = [{ entryId, ...(index === undefined ? {} : { block: index }) }];
  if (resource !== undefined) {
    for (const place of placesOf(context, resource.resourceId)) places.push(place);
  }
  return {
    entryId,
    ...(index === undefined ? {} : { block: index }),
    ...(resource === undefined ? {} : { resourceId: resource.resourceId }),
    certainty: path === undefined ? "guess" : "path",
    ...(path === undefined ? {} : { path }),
    message,
    drafts: quarantined(context, places, named),
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

/** What a provider said when it refused a request. */
export interface Rejection {
  /** Empty where it said nothing. */
  readonly message: string;
  /** Of HTTP, where it is known. */
  readonly status: number | undefined;
}

/** Libraries wrap what the provider said. */
const wrappers = ["error", "cause", "lastError", "data"] as const;
const maxDepth = 4;

/** What an error of a client, or the body of a response, says. */
export function rejectionOf(error: unknown): Rejection {
  if (typeof error === "string") return { message: error, status: undefined };
  let said = "";
  let found: number | undefined;
  let at = error;
  for (let depth = 0; depth < maxDepth && isRecord(at); depth++) {
    const { message, status, statusCode, code, $metadata } = at;
    const http = isRecord($metadata) ? $metadata.httpStatusCode : undefined;
    if (said === "" && typeof message === "string") said = message;
    found ??= [status, statusCode, http, code].find((one) => typeof one === "number");
    const record: Record<string, unknown> = at;
    if (said === "" && typeof record.error === "string") said = record.error;
    at = wrappers.map((name) => record[name]).find(isRecord);
  }
  return { message: said, status: found };
}

/**
 * Whether a refusal is about what is attached; not of profiles, what is done immediately, or where the
 * documentation is.
 */
export function isAboutMedia({ message }: Rejection): boolean {
  return /(?<![a-z])(?:image|picture|document(?!ation)|pdf|file|media|base64)/i.test(message);
}

/** Whether a refusal is about how many bytes there are: what is attached makes most of them. */
export function isAboutSize({ message, status }: Rejection): boolean {
  if (status === 413 || /too (?:large|big)|request_too_large/i.test(message)) return true;
  return (
    /exceed|maximum|limit/i.test(message) && /\b(?:size|bytes|payload|entity)|\d ?[kmg]i?b\b/i.test(message)
  );
}

/**
 * Whether a refusal is about how much there is to read, or how often: nothing that is attached is to blame.
 */
export function isAboutTokens({ message, status }: Rejection): boolean {
  return status !== 413 && /\btokens?\b|context (?:window|length|limit)|rate.?limit|quota/i.test(message);
}

/** A place in a request that an error names. */
export interface ErrorPath {
  /** As the error has it. */
  readonly path: string;
  /** Members and indexes from the request's root; indexes from 0. */
  readonly keys: readonly (string | number)[];
}

const maxPathDepth = 6;
const maxTexts = 200;
const maxTextLength = 20_000;

/**
 * The places that an error names, in the order in which they are found: in its message, in its `param`, and
 * in whatever is nested in it, such as Google's field violations. A place begins with a member of the request
 * and goes on in dots, brackets, or both at once, as some write `messages.[3].role`. AWS counts from 1 where
 * it says `member`.
 *
 * @param roots members of the request, such as `messages`
 */
export function pathsIn(error: unknown, roots: readonly string[]): readonly ErrorPath[] {
  if (roots.length === 0) return [];
  const names = roots.map((root) => root.replace(/[^A-Za-z0-9_]/g, "\\$&")).join("|");
  const pattern = new RegExp(`(?<![A-Za-z0-9_])(?:${names})(?:\\.[A-Za-z0-9_]+|\\.?\\[\\d+\\])+`, "g");
  return textsIn(error).flatMap((text) =>
    [...text.matchAll(pattern)].map(([path]) => ({ path, keys: keysOf(path) })),
  );
}

function keysOf(path: string): readonly (string | number)[] {
  const all = path.split(/[.[\]]+/).filter((key) => key !== "");
  const fromOne = all.includes("member");
  const keys = all.filter((key) => key !== "member");
  return keys.map((key) => (/^\d+$/.test(key) ? Number(key) - (fromOne ? 1 : 0) : key));
}

/**
 * Every text of an error, its message first; JSON within a text is read as such by nobody, since paths stand
 * out in it too.
 */
function textsIn(error: unknown): readonly string[] {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  const add = (value: unknown, depth: number): void => {
    if (texts.length >= maxTexts) return;
    if (typeof value === "string") texts.push(value.slice(0, maxTextLength));
    if (typeof value !== "object" || value === null || depth === maxPathDepth || seen.has(value)) return;
    seen.add(value);
    if (value instanceof Error) add(value.message, depth + 1);
    if (Array.isArray(value)) for (const item of value) add(item, depth + 1);
    else if (isRecord(value)) for (const item of Object.values(value)) add(item, depth + 1);
    if (value instanceof Error) add(value.cause, depth + 1);
  };
  add(error, 0);
  return texts;
}
