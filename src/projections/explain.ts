/** Explains a provider's refusal: finds the part, the entry and the attachment that it names. */

import type { Context } from "../content/index.js";
import { resourcesOf } from "../content/internal.js";
import { isRecord } from "../internal/shape.js";
import type { EntryDraft } from "../session/index.js";
import { type QuarantinePlace, quarantine, quarantineNamed } from "./quarantine.js";
import { HalvingSearch, type RefusalSearch, type Suspect } from "./refusal-search.js";
import type { NeutralRequest, Part } from "./request.js";
import { mediaIn } from "./select-messages.js";
import type { Target } from "./target.js";
import { type Attached, isAttached, isNewer, partAt, partWithId, traceRequest } from "./trace.js";

/** The cause of a provider's refusal. */
export interface Explanation {
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
  /** The provider's message. */
  readonly message: string;
  /** Drafts to append. The next projection excludes the refused content. */
  readonly drafts: readonly EntryDraft[];
}

/** The input of {@link explainRejection}. */
export interface Explained {
  readonly context: Pick<Context, "items">;
  readonly request: NeutralRequest;
  readonly target: Target<unknown>;
  /** Parts with a cache marker after them. */
  readonly cached: ReadonlySet<Part>;
  /** Whether placeholders may name the excluded content: true if no boundary was given. */
  readonly named: boolean;
}

/**
 * Maps a provider's refusal to the entry at fault: by the path in it, such as `messages.41.content.31` or
 * `input[2].content[0]`, or by the id of a call or an item. If the refusal names neither, and is about an
 * image, a document or too many bytes, takes the newest of those or the largest: the provider accepted the
 * earlier ones before. A refusal for too many tokens has no single cause. A search takes the newer half of
 * the candidates instead of the newest.
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

/** The newer half of the candidates for a search, each with all its occurrences. */
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

/** The candidates, and the most likely one. */
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
  return turns.flatMap((turn): readonly Attached[] => {
    if (turn.role === "assistant") return mediaIn(turn);
    const shown = [...turn.results.flatMap(({ parts }) => parts), ...turn.parts];
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
  // Otherwise another occurrence of the same resource would send the bytes.
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
      resourcesOf(one).some((resource) => resource.resourceId === resourceId)
        ? [{ entryId, block: index }]
        : [],
    );
  });
}

/** A provider's refusal of a request. */
export interface Rejection {
  /** Empty if the provider gave no message. */
  readonly message: string;
  /** The HTTP status, if known. */
  readonly status: number | undefined;
}

/** Members in which libraries wrap the provider's error. */
const wrappers = ["error", "cause", "lastError", "data"] as const;
const maxDepth = 4;

/** Reads the refusal from a client's error or a response body. */
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
 * Whether a refusal is about an attachment. Ignores words such as "profile", "immediately" and
 * "documentation".
 */
export function isAboutMedia({ message }: Rejection): boolean {
  return /(?<![a-z])(?:image|picture|document(?!ation)|pdf|file|media|base64)/i.test(message);
}

/** Whether a refusal is about the number of bytes: attachments are most of them. */
export function isAboutSize({ message, status }: Rejection): boolean {
  if (status === 413 || /too (?:large|big)|request_too_large/i.test(message)) return true;
  return (
    /exceed|maximum|limit/i.test(message) && /\b(?:size|bytes|payload|entity)|\d ?[kmg]i?b\b/i.test(message)
  );
}

/** Whether a refusal is about tokens or rates, which no single attachment causes. */
export function isAboutTokens({ message, status }: Rejection): boolean {
  return status !== 413 && /\btokens?\b|context (?:window|length|limit)|rate.?limit|quota/i.test(message);
}

/** A path into a request, found in an error. */
export interface ErrorPath {
  /** The path as the error writes it. */
  readonly path: string;
  /** Members and indexes from the request's root; indexes start at 0. */
  readonly keys: readonly (string | number)[];
}

const maxPathDepth = 6;
const maxTexts = 200;
const maxTextLength = 20_000;

/**
 * Finds the paths in an error, in order: in its message, its `param`, and nested values such as Google's
 * field violations. A path begins with a member of the request and continues with dots, brackets, or both,
 * such as `messages.[3].role`. AWS counts from 1 after `member`.
 * @param roots members of the request, such as `messages`
 */
export function pathsIn(error: unknown, roots: readonly string[]): readonly ErrorPath[] {
  if (roots.length === 0) return [];
  const names = roots.map((root) => root.replace(/[^A-Za-z0-9_]/g, "\\$&")).join("|");
  const pattern = new RegExp(
    `(?<![A-Za-z0-9_])(?:${names})(?:\\.[A-Za-z0-9_]{1,100}|\\.?\\[\\d{1,9}\\]){1,100}`,
    "g",
  );
  return textsIn(error).flatMap((text) =>
    [...text.matchAll(pattern)].map(([path]) => ({ path, keys: keysOf(path) })),
  );
}

function keysOf(path: string): readonly (string | number)[] {
  const all = path.split(/[.[\]]/).filter((key) => key !== "");
  const fromOne = all.includes("member");
  const keys = all.filter((key) => key !== "member");
  return keys.map((key) => (/^\d{1,9}$/.test(key) ? Number(key) - (fromOne ? 1 : 0) : key));
}

/**
 * Every text of an error, its message first. JSON within a text is not parsed: paths are recognisable in it.
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
