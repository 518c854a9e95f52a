/**
 * Decides for each attachment of a request whether its bytes, its descriptor or nothing is sent, and why:
 * policies of replay, the boundary, the turn of each occurrence, and the text in place of bytes.
 */

import { estimateResourceTokens } from "../content/estimate/index.js";
import {
  type Context,
  describeResource,
  type ReplayDecision,
  type ReplayPlace,
  type ReplayPolicy,
  type Resource,
  type StoredResource,
} from "../content/index.js";
import type { ReplayAmount } from "../content/internal.js";
import { integerOption, stringArgument } from "../core/arguments.js";
import { oneLine } from "../core/text.js";
import { isSendable, resourceBlocks } from "./resources.js";

/** Options of {@link decideAttachments}. */
interface DecideAttachmentsOptions {
  /** The target's name, such as `anthropic`, for the boundary. */
  readonly target: string;
  /** Default {@link replayCurrentTurn}. */
  readonly replay?: ReplayPolicy | undefined;
  /** Default allows all. */
  readonly boundary?: LeakageBoundary | undefined;
  /**
   * Whether the target takes a resource of an item although its type is unknown: a model's own medium goes
   * back as it came. Default none.
   */
  readonly takesUnknown?: ((resource: StoredResource, item: number) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The decision on one occurrence of a resource. */
export interface DecidedAttachment {
  readonly resource: Resource;
  readonly entryId: string;
  /** Index among the context's items. */
  readonly item: number;
  /** Index among the item's blocks. */
  readonly block: number;
  /** `full` allows to send the bytes. Whether they are stored is not known yet. */
  readonly decision: ReplayDecision;
  readonly reason: AttachmentReason;
  /** The observation of this occurrence, which is part of the descriptor. */
  readonly observation?: string | undefined;
}

/** The decisions on a context's resources. */
interface AttachmentDecisions {
  /** One for each occurrence, in order. */
  readonly attachments: readonly DecidedAttachment[];
  /** Resource ids of views in the current turn that do not occur in the context. */
  readonly unplacedViews: readonly string[];
}

/**
 * Decides for each occurrence of a resource whether its bytes may be sent, its descriptor, or nothing. The
 * replay policy decides, and the boundary can reduce that. Links and bytes of unknown type are never sent.
 * Reads no blobs.
 */
export async function decideAttachments(
  context: Pick<Context, "items" | "views" | "observations">,
  options: DecideAttachmentsOptions,
): Promise<AttachmentDecisions> {
  const target = stringArgument("target", options?.target);
  const occurrences = occurrencesIn(context);
  const attachments: DecidedAttachment[] = [];
  options.signal?.throwIfAborted();
  for (const occurrence of occurrences) {
    const { resource, block, place, observation } = occurrence;
    const { entryId, item } = place;
    const decided = await decide(occurrence, target, options);
    attachments.push({ resource, entryId, item, block, ...decided, observation });
    options.signal?.throwIfAborted();
  }
  return { attachments, unplacedViews: unplacedViews(context, occurrences) };
}

type Decided = Pick<DecidedAttachment, "decision" | "reason">;

async function decide(
  occurrence: Occurrence,
  target: string,
  { replay = replayCurrentTurn, boundary, takesUnknown }: DecideAttachmentsOptions,
): Promise<Decided> {
  const { resource, place, observation } = occurrence;
  const isTaken = resource.kind !== "link" && takesUnknown?.(resource, place.item) === true;
  const decided =
    isTaken || isSendable(resource)
      ? byPolicy(replay(resource, place), occurrence)
      : describedOnly(occurrence, replay);
  const { decision: wanted } = decided;
  if (boundary === undefined || wanted === "omit") return decided;
  const intent = place.viewed ? "view" : place.currentTurn ? "attach" : "replay";
  const transfer: Transfer = {
    target,
    wanted,
    intent,
    place,
    ...(observation !== undefined && { observation }),
  };
  const decision = applyVerdict(wanted, await boundary(resource, transfer));
  return decision === wanted ? decided : { decision, reason: "boundary" };
}

function byPolicy(decision: ReplayDecision, { place: { viewed, currentTurn } }: Occurrence): Decided {
  switch (decision) {
    case "full":
      return { decision, reason: viewed ? "viewed" : currentTurn ? "currentTurn" : "replayed" };
    case "describe":
      return { decision, reason: currentTurn || viewed ? "policy" : "earlierTurn" };
    default:
      // Any other value that a policy returns omits the attachment.
      return { decision: "omit", reason: "policy" };
  }
}

/**
 * Links, and bytes of unknown type. For the reason, the policy is asked about such bytes of earlier turns.
 */
function describedOnly({ resource, place }: Occurrence, replay: ReplayPolicy): Decided {
  if (resource.kind === "link") return { decision: "describe", reason: "link" };
  const isEarlier = !place.currentTurn && !place.viewed && replay(resource, place) === "describe";
  return { decision: "describe", reason: isEarlier ? "earlierTurn" : "unknownType" };
}

function unplacedViews(
  context: Pick<Context, "items" | "views">,
  occurrences: readonly Occurrence[],
): readonly string[] {
  const known = new Set(occurrences.map(({ resource }) => resource.resourceId));
  const start = currentTurnStart(context);
  const viewed = context.views.flatMap(({ resourceId, item }) => (item >= start ? [resourceId] : []));
  return [...new Set(viewed)].filter((id) => !known.has(id));
}

// Decides if attachments are sent again: replay policies, and the boundary that can send less.

/**
 * The default policy. Sends the bytes of the current turn's attachments in each request of the turn, and
 * descriptors of earlier ones, unless a resource view of this turn brings one back.
 */
export const replayCurrentTurn: ReplayPolicy = (_resource, { currentTurn, viewed }) =>
  currentTurn || viewed ? "full" : "describe";

/** Sends the bytes of every attachment in every request. Expensive, but the prompt's prefix stays stable. */
export const replayAlways: ReplayPolicy = () => "full";

/** Sends descriptors only, also of the current turn. */
export const replayNever: ReplayPolicy = () => "describe";

/** Budgets of {@link replayWithin}. An absent one is unbounded. */
export interface ReplayBudget {
  /** Estimated tokens of attachments, at least 0. */
  readonly tokens?: number;
  /** Images, at least 0. */
  readonly images?: number;
  /** Turns, the current one included, at least 1. */
  readonly turns?: number;
  /** Stored bytes, at least 0. A sliding window. */
  readonly maxBytes?: number;
  /** Attachments, at least 0. A sliding window. */
  readonly maxCount?: number;
}

/**
 * {@link replayCurrentTurn}, and also sends the newest earlier attachments within budgets. The model sees
 * them longer, out of the provider's prompt cache, at the cost of a larger prompt.
 *
 * Prefix stability: if a budget of tokens, images or turns is exceeded, the oldest attachments are dropped
 * until between half and all of it is used. Only then does the prefix break, at the oldest dropped
 * attachment. It also breaks after a compaction, and if a view or a new occurrence shows an earlier
 * attachment again. `maxBytes` and `maxCount` are exact: once reached, each new attachment breaks the prefix
 * at the oldest one.
 *
 * @throws RangeError for a budget that is not an integer or too small
 * @example
 * ```ts
 * const replay = replayWithin({ tokens: 20_000, images: 12, turns: 20 });
 * const target = anthropicMessages({ model: "claude-sonnet-4-5" });
 * const { attachments } = await project(await session.context(), target, { replay });
 * ```
 */
export function replayWithin(budget: ReplayBudget): ReplayPolicy {
  const most = Number.MAX_SAFE_INTEGER;
  const maxBytes = integerOption("maxBytes", budget.maxBytes, most, 0);
  const maxCount = integerOption("maxCount", budget.maxCount, most, 0);
  const bounds = {
    tokens: integerOption("tokens", budget.tokens, most, 0),
    images: integerOption("images", budget.images, most, 0),
    turns: integerOption("turns", budget.turns, most, 1),
  };
  const kinds = ["tokens", "images", "turns"] as const;
  return (resource, place) => {
    if (replayCurrentTurn(resource, place) === "full") return "full";
    const { newer, history } = place;
    if (newer.count + 1 > maxCount || newer.bytes + resource.size > maxBytes) return "describe";
    if (history === undefined) return "full";
    const { before, all } = history;
    return kinds.every((kind) => isExempt(kind, resource) || before[kind] >= cutAt(all[kind], bounds[kind]))
      ? "full"
      : "describe";
  };
}

/** Whether a budget does not apply to a resource, as that of images to a document. */
function isExempt(kind: keyof ReplayAmount, { kind: of }: StoredResource): boolean {
  return kind === "images" && of !== "image";
}

/** The amount dropped from the start, in steps of half a budget, so that the cut seldom moves. */
function cutAt(all: number, bound: number): number {
  const step = Math.max(1, Math.floor(bound / 2));
  return all <= bound ? 0 : Math.ceil((all - bound) / step) * step;
}

/** A transfer of a resource to a target, for a {@link LeakageBoundary} to allow. */
export interface Transfer {
  /** The name of the request's target. */
  readonly target: string;
  /** `full`: the bytes and the descriptor would be sent. `describe`: only the descriptor. */
  readonly wanted: Exclude<ReplayDecision, "omit">;
  /** `attach`: attached in this turn. `view`: brought back by a view. `replay`: part of the history. */
  readonly intent: "attach" | "view" | "replay";
  readonly place: ReplayPlace;
  /** The recorded observation, which is part of the descriptor; absent if nothing was recorded. */
  readonly observation?: string;
}

/** `allow` sends as wanted, `describe` sends only the descriptor, `refuse` sends nothing. */
export type LeakageVerdict = "allow" | "describe" | "refuse";

/**
 * Controls which resources leave the machine. Called for each occurrence of each resource in each request,
 * links too. It can send less than the replay policy, never more. May be asynchronous, for example to ask a
 * person.
 */
export type LeakageBoundary = (
  resource: Resource,
  transfer: Transfer,
) => LeakageVerdict | Promise<LeakageVerdict>;

/** Reduces a decision by a verdict. An unknown verdict refuses. */
export function applyVerdict(wanted: ReplayDecision, verdict: LeakageVerdict): ReplayDecision {
  if (verdict === "allow") return wanted;
  return verdict === "describe" && wanted !== "omit" ? "describe" : "omit";
}

// Occurrences of resources in a context, and the turn that each belongs to.

/** One occurrence of a resource in a context, with the facts that replay policies decide by. */
interface Occurrence {
  readonly resource: Resource;
  readonly block: number;
  readonly place: ReplayPlace;
  /** The observation recorded for this occurrence. */
  readonly observation: string | undefined;
}

/** All occurrences of resources in a context, in order. Linear in the number of blocks. */
export function occurrencesIn(
  context: Pick<Context, "items" | "views" | "observations">,
): readonly Occurrence[] {
  const start = currentTurnStart(context);
  const found = context.items.flatMap(({ entryId, message }, item) =>
    resourceBlocks(message).map(({ resource, block }) => ({
      resource,
      block,
      entryId,
      item,
      shows: message.role !== "assistant" && message.role !== "system",
    })),
  );
  const observed = observationsAt(found, context.observations ?? []);
  const { before, all } = amountsBefore(context, found);
  const shown = new Set(found.flatMap(({ resource, shows }) => (shows ? [resource.resourceId] : [])));
  const wanted = new Set(
    context.views.flatMap(({ resourceId, item }) => (item >= start ? [resourceId] : [])),
  );
  const seen = new Set<string>();
  const viewable = new Set<string>();
  // Each resource that can be sent counts once, at its last occurrence.
  let count = 0;
  let bytes = 0;
  return found
    .toReversed()
    .map((at, fromEnd) => {
      const { resource, block, entryId, item, shows } = at;
      const history = { before: before[found.length - 1 - fromEnd] ?? all, all };
      const { resourceId } = resource;
      const currentTurn = item >= start;
      const isLast = !seen.has(resourceId);
      // Assistant messages cannot carry images, so a view resolves to one only if the resource occurs nowhere
      // else.
      const isViewable = (shows || !shown.has(resourceId)) && !viewable.has(resourceId);
      if (isViewable) viewable.add(resourceId);
      // Occurrences of the current turn are sent anyway; of the earlier ones, a view brings back the last.
      const viewed = !currentTurn && isViewable && wanted.has(resourceId);
      const own = isSendable(resource) ? resource.size : undefined;
      // A resource is not newer than itself, so its earlier occurrences do not count it.
      const newer = isLast || own === undefined ? { count, bytes } : { count: count - 1, bytes: bytes - own };
      if (isLast) {
        seen.add(resourceId);
        if (own !== undefined) {
          count++;
          bytes += own;
        }
      }
      const place = { entryId, item, currentTurn, viewed, newer, history };
      return { resource, block, place, observation: observed.get(at) };
    })
    .reverse();
}

/** The amounts before each occurrence and in the whole context, counted from the start. */
function amountsBefore(
  context: Pick<Context, "items">,
  found: readonly { readonly resource: Resource; readonly item: number }[],
): { readonly before: readonly ReplayAmount[]; readonly all: ReplayAmount } {
  const readTurn = turnNumbers(context);
  let [tokens, images] = [0, 0];
  const before = found.map(({ resource, item }): ReplayAmount => {
    const amount = { tokens, images, turns: Math.max(0, (readTurn[item] ?? 0) - 1) };
    if (isSendable(resource)) {
      tokens += estimateResourceTokens(resource);
      if (resource.kind === "image") images++;
    }
    return amount;
  });
  return { before, all: { tokens, images, turns: readTurn.at(-1) ?? 0 } };
}

/**
 * Assigns each observation to the last occurrence of its resource before it was recorded, else to the first.
 * If the resource was shown again, the descriptor of an earlier occurrence thus stays the same. The latest
 * observation wins.
 */
function observationsAt<P extends { readonly resource: Resource; readonly item: number }>(
  found: readonly P[],
  observations: NonNullable<Context["observations"]>,
): ReadonlyMap<P, string> {
  const observed = new Map<P, string>();
  if (observations.length === 0) return observed;
  const byId = new Map<string, P[]>();
  for (const place of found) {
    const { resourceId } = place.resource;
    const places = byId.get(resourceId);
    if (places === undefined) byId.set(resourceId, [place]);
    else places.push(place);
  }
  for (const { resourceId, item, text } of observations) {
    const places = byId.get(resourceId);
    if (places === undefined) continue;
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[middle] as P).item < item) low = middle + 1;
      else high = middle;
    }
    observed.set(places[Math.max(0, low - 1)] as P, text);
  }
  return observed;
}

/** Index of the first item of the current turn; 0 if the context has no user message. */
export function currentTurnStart(context: Pick<Context, "items">): number {
  const turns = turnNumbers(context);
  const current = turns.at(-1) ?? 0;
  return current === 0 ? 0 : turns.indexOf(current);
}

/**
 * The turn of each item, counted from 1; 0 before the first user message. The last one is the current turn.
 * Successive user messages without a reply between them are one turn: a channel can deliver an image and its
 * question separately. Messages that a compaction retained are adjacent only because others were removed, so
 * each is a turn of its own.
 */
export function turnNumbers({ items }: Pick<Context, "items">): readonly number[] {
  let turn = 0;
  let isOpen = false;
  return items.map(({ origin, message: { role } }) => {
    const isAdjacent = origin === "message" || origin === "custom";
    if (role === "user") {
      if (!isOpen) turn++;
      isOpen = isAdjacent;
    } else {
      isOpen &&= isAdjacent && (role === "custom" || role === "bashExecution");
    }
    return turn;
  });
}

// The text that a model reads in place of an attachment: its descriptor, and why no bytes follow.

/**
 * The reason of a decision. Sent in full: `currentTurn`, `viewed`, or `replayed` by the policy. Described:
 * `earlierTurn`, `sentAlready` (its bytes are elsewhere in this request), `link`, `unknownType`, `missing` or
 * `corrupt`. Described or omitted: `policy` or `boundary`.
 */
export type AttachmentReason =
  | "currentTurn"
  | "viewed"
  | "replayed"
  | "earlierTurn"
  | "policy"
  | "boundary"
  | "sentAlready"
  | "link"
  | "unknownType"
  | "missing"
  | "corrupt";

/**
 * The text in place of a resource. It never claims that the model saw bytes that were not sent. Empty if
 * the resource is omitted.
 *
 * @param observation part of the text if the resource is described
 * @param options.viewTool whether the text mentions the tool of `viewTool`; default false
 */
export function attachmentText(
  resource: Resource,
  decision: ReplayDecision,
  reason: AttachmentReason,
  observation?: string,
  { viewTool = false }: { readonly viewTool?: boolean } = {},
): string {
  if (decision === "omit") return "";
  if (decision === "full") return describeResource(resource);
  const seen = reason === "sentAlready" ? "" : observationText(observation);
  const facts = [dimensions(resource), explanation(resource, reason, viewTool), seen].filter(
    (part) => part !== "",
  );
  return facts.length === 0
    ? describeResource(resource)
    : `${describeResource(resource)} (${facts.join("; ")})`;
}

const maxObservationLength = 500;

/**
 * An observation as part of a descriptor or of a summary's note: one line of at most 500 characters, without
 * brackets, quotes or control characters. Empty if the observation is blank.
 */
export function observationText(observation: string | undefined, maxLength = maxObservationLength): string {
  // Twice the length, since removed characters can be at the start.
  const line = oneLine((observation ?? "").slice(0, 2 * maxLength))
    .replace(/[[\]<>]/g, "_")
    .replaceAll('"', "'")
    .trim();
  if (line === "") return "";
  const isCut = line.length > maxLength || (observation?.length ?? 0) > 2 * maxLength;
  const shown = isCut ? `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
  return `noted when it was seen: "${shown}"`;
}

function dimensions(resource: Resource): string {
  if (resource.kind === "link" || resource.width === undefined || resource.height === undefined) return "";
  return `${resource.width} x ${resource.height} pixels`;
}

const unknownTypeText = "kept, and not sent, since its type is unknown";

function explanation(resource: Resource, reason: AttachmentReason, viewTool: boolean): string {
  const { resourceId } = resource;
  switch (reason) {
    case "earlierTurn":
      // The same text as in its own turn, so that the prompt's prefix stays stable.
      if (!isSendable(resource)) return unknownTypeText;
      // A foreign history can have ids of any characters. Those appear in brackets only, where they are
      // escaped.
      return viewTool && /^\w{1,256}$/.test(resourceId)
        ? `not sent again, view ${resourceId} to see it`
        : "not sent again";
    case "sentAlready":
      return "shown elsewhere in this request";
    case "link":
      return "a link, never fetched";
    case "unknownType":
      return unknownTypeText;
    case "missing":
      return "not shown: its bytes are no longer stored";
    case "corrupt":
      return "not shown: its stored bytes are damaged";
    case "policy":
    case "boundary":
      return "not shown: it was withheld";
    default:
      return "";
  }
}
