import type { Context, ContextItem, ReplayPlace, Resource } from "../content/index.js";
import { notedIds, withNotes } from "../internal/covered-notes.js";
import { inlineAsResources } from "./inline-images.js";
import { currentTurnStart, occurrencesIn } from "./occurrences.js";
import { applyVerdict, type LeakageBoundary } from "./replay.js";
import { isSendable, recordedResources, resourcesIn } from "./resources.js";

/** Options of {@link dropRefusedNotes} and {@link dropRefusedAttachments}. */
export interface BoundaryOptions {
  /** Where the words go; told to the boundary. */
  readonly target: string;
  readonly boundary: LeakageBoundary;
  /** The items among which these stand, for the places that the boundary is told. By default these. */
  readonly among?: readonly ContextItem[];
  /** What the words tell of what was seen, at places of these items; a summary's notes tell what its details have. */
  readonly observations?: Context["observations"];
  readonly signal?: AbortSignal;
}

/** A note that a boundary refuses. */
export interface RefusedNote {
  /** Of the summary. */
  readonly entryId: string;
  readonly resourceId: string;
}

/** Items whose summaries note only what may be told. */
export interface CheckedSummaries {
  readonly items: readonly ContextItem[];
  readonly refused: readonly RefusedNote[];
}

/**
 * Asks a boundary about each attachment that a summary notes, of a compaction or of a branch, and leaves out the notes that it
 * refuses. It is asked for the descriptor in the summary's details or in the context: a note of neither is left out unasked.
 *
 * @throws what the boundary throws, and the signal's reason
 */
export async function dropRefusedNotes(
  items: readonly ContextItem[],
  options: BoundaryOptions,
): Promise<CheckedSummaries> {
  const { among = items } = options;
  const refused: RefusedNote[] = [];
  let asker: BoundaryCheck | undefined;
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
      asker ??= new BoundaryCheck(among, options);
      known ??= new Map(resourcesIn({ items: among }).map((one) => [one.resourceId, one]));
      const note = recorded.get(resourceId);
      const resource = note?.resource ?? known.get(resourceId);
      const about = { entryId, observation: note?.observation };
      if (resource !== undefined && (await asker.mayDescribe(resource, about))) allowed.add(resourceId);
      else refused.push({ entryId, resourceId });
    }
    const summary = withNotes(message.summary, (id) => allowed.has(id));
    shown.push(summary === message.summary ? entry : { ...entry, message: { ...message, summary } });
  }
  return { items: shown, refused };
}

/**
 * Items as words may tell of them: without the attachments, inline images among them, whose descriptors the boundary refuses, and
 * with the notes that it allows. It is asked for each place, with the intent `replay`.
 *
 * @throws what the boundary throws, and the signal's reason
 */
export async function dropRefusedAttachments(
  items: readonly ContextItem[],
  options: BoundaryOptions,
): Promise<readonly ContextItem[]> {
  const summaries = await dropRefusedNotes(items, { ...options, among: options.among ?? items });
  const placed = { items: summaries.items, views: [], observations: options.observations ?? [] };
  const inlined = inlineAsResources(placed, true).context;
  const asker = new BoundaryCheck(options.among ?? items, options);
  const refused = new Map<number, Set<number>>();
  for (const { resource, block, place, observation } of occurrencesIn(inlined)) {
    const { entryId, newer } = place;
    if (await asker.mayDescribe(resource, { entryId, newer, observation })) continue;
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

/** Where a descriptor stands, and what it tells besides. */
interface DescriptorPlace {
  readonly entryId: string;
  readonly newer?: ReplayPlace["newer"];
  readonly observation: string | undefined;
}

/** Asks for descriptors in a history that is told again. */
class BoundaryCheck {
  readonly #options: BoundaryOptions;
  readonly #items: ReadonlyMap<string, number>;
  readonly #turnStart: number;
  /** What stands behind a summary: all that its context holds. */
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
    const told = observation === undefined ? {} : { observation };
    const transfer = { target, wanted: "describe", intent: "replay", place, ...told } as const;
    const verdict = await boundary(resource, transfer);
    signal?.throwIfAborted();
    return applyVerdict("describe", verdict) === "describe";
  }

  #others(resourceId: string): ReplayPlace["newer"] {
    const own = this.#sizes.get(resourceId);
    const { size: count } = this.#sizes;
    return own === undefined ? { count, bytes: this.#bytes } : { count: count - 1, bytes: this.#bytes - own };
  }
}
