/**
 * Applies a leakage boundary to items whose text is sent: descriptors of attachments, and notes of summaries.
 */
import type { Context, ContextItem, ReplayPlace, Resource } from "../content/index.js";
import { filterNotes, notedIds } from "../core/covered-resources.js";
import { inlineAsResources } from "./inline-images.js";
import { currentTurnStart, occurrencesIn } from "./occurrences.js";
import { applyVerdict, type LeakageBoundary } from "./replay.js";
import { isSendable, recordedResources, resourcesIn } from "./resources.js";

/** Options of {@link dropRefusedNotes} and {@link dropRefusedAttachments}. */
export interface BoundaryOptions {
  /** The name of the text's target, for the boundary. */
  readonly target: string;
  readonly boundary: LeakageBoundary;
  /** All items of the context, for the places that the boundary is given. Default: the items themselves. */
  readonly among?: readonly ContextItem[] | undefined;
  /** Observations that descriptors contain. Notes of a summary contain those in its `details`. */
  readonly observations?: Context["observations"] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A note of an attachment in a summary that the boundary refused. */
export interface RefusedNote {
  /** The entry of the summary. */
  readonly entryId: string;
  readonly resourceId: string;
}

/** Items without the refused notes in their summaries. */
export interface CheckedSummaries {
  readonly items: readonly ContextItem[];
  readonly refused: readonly RefusedNote[];
}

/**
 * Removes the notes of attachments that the boundary refuses from summaries of compactions and branches. The
 * boundary is called with the resource of the summary's `details` or of the context; a note of an unknown
 * resource is removed.
 *
 * @throws errors of the boundary, and the signal's reason
 */
export async function dropRefusedNotes(
  items: readonly ContextItem[],
  options: BoundaryOptions,
): Promise<CheckedSummaries> {
  const { among = items } = options;
  const refused: RefusedNote[] = [];
  let check: BoundaryCheck | undefined;
  let known: ReadonlyMap<string, Resource> | undefined;
  const shown: ContextItem[] = [];
  for (const entry of items) {
    const { entryId, message } = entry;
    if (message.role !== "compactionSummary" && message.role !== "branchSummary") {
      shown.push(entry);
      continue;
    }
    const recorded = recordedResources(message.details);
    const allowed = new Set<string>();
    for (const resourceId of notedIds(message.summary)) {
      check ??= new BoundaryCheck(among, options);
      known ??= new Map(resourcesIn({ items: among }).map((one) => [one.resourceId, one]));
      const note = recorded.get(resourceId);
      const resource = note?.resource ?? known.get(resourceId);
      const place = { entryId, observation: note?.observation };
      if (resource !== undefined && (await check.mayDescribe(resource, place))) allowed.add(resourceId);
      else refused.push({ entryId, resourceId });
    }
    const summary = filterNotes(message.summary, (id) => allowed.has(id));
    shown.push(summary === message.summary ? entry : { ...entry, message: { ...message, summary } });
  }
  return { items: shown, refused };
}

/**
 * {@link dropRefusedNotes}, and removes the attachments whose descriptors the boundary refuses, inline images
 * too. It is called for each occurrence, with the intent `replay`.
 *
 * @throws errors of the boundary, and the signal's reason
 */
export async function dropRefusedAttachments(
  items: readonly ContextItem[],
  options: BoundaryOptions,
): Promise<readonly ContextItem[]> {
  const { among = items, observations = [] } = options;
  const summaries = await dropRefusedNotes(items, options);
  const { context } = inlineAsResources({ items: summaries.items, views: [], observations }, true);
  const check = new BoundaryCheck(among, options);
  const refused = new Map<number, Set<number>>();
  for (const { resource, block, place, observation } of occurrencesIn(context)) {
    const { entryId, newer } = place;
    if (await check.mayDescribe(resource, { entryId, newer, observation })) continue;
    refused.set(place.item, (refused.get(place.item) ?? new Set()).add(block));
  }
  return summaries.items.map((entry, item) => without(entry, refused.get(item)));
}

function without(entry: ContextItem, blocks: ReadonlySet<number> | undefined): ContextItem {
  const { message } = entry;
  if (blocks === undefined || !("content" in message) || typeof message.content === "string") return entry;
  const content = message.content.filter((_, block) => !blocks.has(block));
  return { ...entry, message: { ...message, content } as ContextItem["message"] };
}

/** The place of a descriptor, and its observation. */
interface DescriptorPlace {
  readonly entryId: string;
  readonly newer?: ReplayPlace["newer"];
  readonly observation: string | undefined;
}

/** Asks the boundary about single descriptors. */
class BoundaryCheck {
  readonly #options: BoundaryOptions;
  readonly #items: ReadonlyMap<string, number>;
  readonly #turnStart: number;
  /** Bytes of each resource of the context, all of which is newer than a summary. */
  readonly #sizes = new Map<string, number>();
  #bytes = 0;

  constructor(items: readonly ContextItem[], options: BoundaryOptions) {
    this.#options = options;
    this.#items = new Map(items.map(({ entryId }, item) => [entryId, item]));
    this.#turnStart = currentTurnStart({ items });
    for (const resource of resourcesIn({ items })) {
      if (!isSendable(resource)) continue;
      this.#sizes.set(resource.resourceId, resource.size);
      this.#bytes += resource.size;
    }
  }

  async mayDescribe(resource: Resource, { entryId, newer, observation }: DescriptorPlace): Promise<boolean> {
    const { boundary, target, signal } = this.#options;
    signal?.throwIfAborted();
    const item = this.#items.get(entryId) ?? -1;
    const place: ReplayPlace = {
      entryId,
      item,
      currentTurn: item >= this.#turnStart,
      viewed: false,
      newer: newer ?? this.#others(resource.resourceId),
    };
    const verdict = await boundary(resource, {
      target,
      wanted: "describe",
      intent: "replay",
      place,
      ...(observation !== undefined && { observation }),
    });
    signal?.throwIfAborted();
    return applyVerdict("describe", verdict) === "describe";
  }

  #others(resourceId: string): ReplayPlace["newer"] {
    const own = this.#sizes.get(resourceId);
    const { size: count } = this.#sizes;
    return own === undefined ? { count, bytes: this.#bytes } : { count: count - 1, bytes: this.#bytes - own };
  }
}
