import type { Context, ReplayAmount, ReplayPlace, Resource } from "../content/index.js";
import { estimateResourceTokens } from "../estimate/index.js";
import { isSendable, resourceBlocks } from "./resources.js";

/** A place of a resource in a context, and what a policy has to know of it. */
export interface Occurrence {
  readonly resource: Resource;
  readonly block: number;
  readonly place: ReplayPlace;
  /** What was seen in the resource when it stood here. */
  readonly observation: string | undefined;
}

/** Every place of a resource in a context, in order. Linear in its blocks. */
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
      // Nobody can show an image in what the model said: only where it stands nowhere else is a view of it meant there.
      const isViewable = (shows || !shown.has(resourceId)) && !viewable.has(resourceId);
      if (isViewable) viewable.add(resourceId);
      // A resource of the turn is sent anyway, and one from before it at one place.
      const viewed = !currentTurn && isViewable && wanted.has(resourceId);
      const own = isSendable(resource) ? resource.size : undefined;
      // Behind its earlier places a resource stands itself, and counts for the others only.
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

function amountsBefore(
  context: Pick<Context, "items">,
  found: readonly { readonly resource: Resource; readonly item: number }[],
): { readonly before: readonly ReplayAmount[]; readonly all: ReplayAmount } {
  const turnOf = turnNumbers(context);
  let [tokens, images] = [0, 0];
  const before = found.map(({ resource, item }): ReplayAmount => {
    const amount = { tokens, images, turns: Math.max(0, (turnOf[item] ?? 0) - 1) };
    if (isSendable(resource)) {
      tokens += estimateResourceTokens(resource);
      if (resource.kind === "image") images++;
    }
    return amount;
  });
  return { before, all: { tokens, images, turns: turnOf.at(-1) ?? 0 } };
}

/**
 * The place of each observation: the latest of its resource before it was recorded, and else the first one. So it changes the
 * words of no place that a request has described since, where the resource was shown again to be looked at. The latest wins.
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

/**
 * Index of the first item of the current turn: the latest user message, together with user messages right before it that
 * no reply separates, since a channel may deliver a picture and its question as two messages. 0 where the context has no
 * user message: the turn began before the context does.
 */
export function currentTurnStart({ items }: Pick<Context, "items">): number {
  let start = items.findLastIndex(({ message }) => message.role === "user");
  if (start < 0) return 0;
  for (let at = start - 1; at >= 0; at--) {
    const item = items[at];
    // Messages that a compaction retained stand side by side because what was between them is gone.
    if (item?.origin !== "message" && item?.origin !== "custom") break;
    const { role } = item.message;
    if (role === "user") start = at;
    else if (role !== "custom" && role !== "bashExecution") break;
  }
  return start;
}

/** The turn of each item, from 1 on; 0 before the first user message. The last one is the current turn. */
export function turnNumbers({ items }: Pick<Context, "items">): readonly number[] {
  let turn = 0;
  let isOpen = false;
  return items.map(({ origin, message: { role } }) => {
    const isJoined = origin === "message" || origin === "custom";
    if (role === "user") {
      if (!isOpen) turn++;
      isOpen = isJoined;
    } else {
      isOpen &&= isJoined && (role === "custom" || role === "bashExecution");
    }
    return turn;
  });
}
