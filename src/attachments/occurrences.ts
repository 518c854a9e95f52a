/** Occurrences of resources in a context, and the turn that each belongs to. */

import { estimateResourceTokens } from "../content/estimate/index.js";
import type { Context, ReplayAmount, ReplayPlace, Resource } from "../content/index.js";
import { isSendable, resourceBlocks } from "./resources.js";

/** One occurrence of a resource in a context, with the facts that replay policies decide by. */
export interface Occurrence {
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
