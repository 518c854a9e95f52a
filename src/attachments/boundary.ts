/**
 * Applies a leakage boundary to items whose text is sent: descriptors of attachments, inline images, and
 * notes of summaries.
 */

import { digest } from "../blobs/index.js";
import type {
  AssistantMessage,
  Context,
  ContextItem,
  ContextMessage,
  ImageBlock,
  ReplayPlace,
  Resource,
  StoredResource,
} from "../content/index.js";
import { type OpaqueMedium, opaqueMedia, withReferences } from "../content/internal.js";
import { decodeBase64, decodeLooseBase64 } from "../core/base64.js";
import { mediaTypeEssence } from "../core/media-types.js";
import { applyVerdict, currentTurnStart, type LeakageBoundary, occurrencesIn } from "./decide.js";
import { identify, recordedFacts } from "./ingest.js";
import { isSendable, recordedResources, resourcesIn } from "./resources.js";

/** Options of {@link dropRefusedNotes} and {@link dropRefusedAttachments}. */
interface BoundaryOptions {
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
interface RefusedNote {
  /** The entry of the summary. */
  readonly entryId: string;
  readonly resourceId: string;
}

/** Items without the refused notes in their summaries. */
interface CheckedSummaries {
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

// Inline images as temporary resources, so that policies and boundaries treat them like any other attachment.

/** An image, or a medium of a provider's block, that is inline in its message. */
export interface InlineImage {
  /** Undefined if its data is not base64. */
  readonly bytes: Uint8Array | undefined;
  /** The original data, if it is canonical base64 of the bytes. */
  readonly base64: string | undefined;
  /** The declared media type. For an image `image/png` if that is not an image type. */
  readonly declared: string;
}

/** A context with a resource in place of each inline image, and of each medium in a provider's block. */
export interface InlineContext {
  readonly context: Pick<Context, "items" | "views" | "observations">;
  /** The images by resource id. */
  readonly images: ReadonlyMap<string, InlineImage>;
}

/** The messages whose images are replaced: those of the model, or all others. */
type InlineRoles = "assistant" | "others" | "all";

/**
 * Replaces each inline image by a resource, and adds resources to a provider's block for its inline media.
 * Their ids are valid in this projection only, so no view can name them.
 *
 * @param needsDigest whether digests are computed, which takes half of the time; otherwise they are zeros
 * @param from the first item that is wanted
 */
export function inlineAsResources(
  context: Pick<Context, "items" | "views" | "observations">,
  needsDigest: boolean,
  roles: InlineRoles = "all",
  from = 0,
): InlineContext {
  const images = new Map<string, InlineImage>();
  let isInUse: ((id: string) => boolean) | undefined;
  const idFor = (place: string) => {
    isInUse ??= idsInUse(context);
    let id = `inline_${place}`;
    while (isInUse(id) || images.has(id)) id += "_";
    return id;
  };
  const items = context.items.map((entry, item) => {
    const { message } = entry;
    if (item < from || !mayHaveInline(message, roles)) return entry;
    let changed = false;
    const blocks: AssistantMessage["content"] = message.content;
    const content = blocks.map((block, index) => {
      if (block.type === "image") {
        changed = true;
        const image = readInline(block);
        const id = idFor(`${item}_${index}`);
        const resource = resourceFor(image, id, needsDigest);
        images.set(id, image);
        return { type: "text" as const, text: "", resource };
      }
      if (block.type !== "opaque") return block;
      const found = opaqueMedia(block.data).map((medium) => mediumIn(medium));
      if (!found.some((medium) => medium !== undefined)) return block;
      changed = true;
      const made = found.map((medium): StoredResource | undefined => {
        if (medium === undefined) return undefined;
        const id = idFor(`${item}_${index}`);
        images.set(id, medium);
        return mediumResource(medium, id, needsDigest);
      });
      const data = withReferences(block.data, (at) => made[at]?.resourceId);
      const stored = made.filter((resource) => resource !== undefined);
      return { ...block, data, resources: [...(block.resources ?? []), ...stored] };
    });
    return changed ? { ...entry, message: { ...message, content } as ContextMessage } : entry;
  });
  return images.size === 0 ? { context, images } : { context: { ...context, items }, images };
}

type WithBlocks = ContextMessage & { readonly content: AssistantMessage["content"] };

function mayHaveInline(message: ContextMessage, roles: InlineRoles): message is WithBlocks {
  const { role } = message;
  if (role !== "user" && role !== "assistant" && role !== "toolResult" && role !== "custom") return false;
  if (roles !== "all" && (roles === "assistant") !== (role === "assistant")) return false;
  return typeof message.content !== "string";
}

/** The bytes of a medium; undefined if it is not base64, and stays in its block. */
function mediumIn({ base64, declared = "" }: OpaqueMedium): InlineImage | undefined {
  const strict = decodeBase64(base64);
  const bytes = strict ?? decodeLooseBase64(base64);
  return bytes && { bytes, base64: strict && base64, declared: mediaTypeEssence(declared) };
}

function mediumResource(
  { bytes = new Uint8Array() }: InlineImage,
  resourceId: string,
  needsDigest: boolean,
): StoredResource {
  const identity = identify(bytes, {}, "file");
  const { kind, mediaType } = identity;
  const facts = recordedFacts(identity);
  return { resourceId, kind, source: "model", mediaType, ...named(bytes, needsDigest), ...facts };
}

function named(
  bytes: Uint8Array,
  needsDigest: boolean,
): Pick<StoredResource, "size" | "blob" | "contentSha256"> {
  const blob = needsDigest ? digest(bytes) : (`sha256:${"0".repeat(64)}` as const);
  return { size: bytes.length, blob, contentSha256: blob.slice("sha256:".length) };
}

/** Tells ids of stored resources and views, which can equal those of inline images by chance or malice. */
function idsInUse(context: Pick<Context, "items" | "views">): (id: string) => boolean {
  const ids = new Set(context.views.map(({ resourceId }) => resourceId));
  for (const { resourceId } of resourcesIn(context)) ids.add(resourceId);
  return (id) => ids.has(id);
}

function readInline({ data, mimeType }: ImageBlock): InlineImage {
  const declared = declaredImage(mimeType);
  const strict = decodeBase64(data);
  if (strict !== undefined) return { bytes: strict, base64: data, declared };
  return { bytes: decodeLooseBase64(data), base64: undefined, declared };
}

function resourceFor(
  { bytes = new Uint8Array(), declared }: InlineImage,
  resourceId: string,
  needsDigest: boolean,
): StoredResource {
  const identity = identify(bytes, {}, "file");
  return {
    resourceId,
    kind: "image",
    source: "import",
    mediaType: identity.kind === "image" ? identity.mediaType : declared,
    ...named(bytes, needsDigest),
    ...recordedFacts(identity),
  };
}

/** The media type of an image block; `image/png` if it is not one of an image. */
function declaredImage(mimeType: string): string {
  const essence = mediaTypeEssence(mimeType);
  return /^image\/[a-z0-9.+-]{1,127}$/.test(essence) ? essence : "image/png";
}

// The block at the end of a summary that lists the attachments of the summarised part.

/** The tag of the block. */
export const coveredTag = "covered-resources";

const opening = `<${coveredTag}>`;
const closing = `</${coveredTag}>`;

/** The first line of a note. The lines after it belong to the note. */
const noted = /^- (res_[0-9a-f]{16})\b/;
const olderNotes = /^- \d{1,9} older ones, not listed here$/;

/** The ids in the blocks of a text, in order, without repetitions. */
export function notedIds(text: string): readonly string[] {
  const ids = new Set<string>();
  for (const { start, end } of blocksIn(text)) {
    for (const line of text.slice(start, end).split("\n")) {
      const id = noted.exec(line)?.[1];
      if (id !== undefined) ids.add(id);
    }
  }
  return [...ids];
}

/**
 * Removes notes from the blocks of a text, and blocks without notes. Returns the same text if all are kept.
 * Notes without an id are removed. An unclosed block ends with the text. Linear in the text.
 */
export function filterNotes(text: string, isKept: (resourceId: string) => boolean): string {
  let result = "";
  let at = 0;
  for (const { start, end } of blocksIn(text)) {
    const before = text.slice(start, end);
    const block = blockWith(before, isKept);
    const prose = text.slice(at, start);
    result += block === "" ? prose.trimEnd() : prose + block;
    at = end;
  }
  return at === 0 ? text : result + text.slice(at);
}

/** The sentence of older versions that asks the model to view, even if it has no tool for that. */
const invitation = "Ask to view one again, by its id, before relying on details:";

/** The sentence before the ids in a block. */
export const idsFollow = "These are their ids:";

/** Replaces the invitation in the blocks of a text. Linear in the text. */
export function withoutInvitation(text: string): string {
  let result = "";
  let at = 0;
  for (const { start, end } of blocksIn(text)) {
    result += text.slice(at, start) + text.slice(start, end).replace(invitation, idsFollow);
    at = end;
  }
  return at === 0 ? text : result + text.slice(at);
}

function blockWith(block: string, isKept: (resourceId: string) => boolean): string {
  const lines: string[] = [];
  let notes = 0;
  let isIn = true;
  for (const line of block.split("\n")) {
    if (line.startsWith("- ")) {
      const id = noted.exec(line)?.[1];
      isIn = id === undefined ? olderNotes.test(line) : isKept(id);
      if (isIn) notes++;
    } else if (line === closing) isIn = true;
    if (isIn) lines.push(line);
  }
  return notes === 0 ? "" : lines.join("\n");
}

function* blocksIn(text: string): Iterable<{ readonly start: number; readonly end: number }> {
  for (let start = text.indexOf(opening); start >= 0; ) {
    const closed = text.indexOf(closing, start);
    const end = closed < 0 ? text.length : closed + closing.length;
    yield { start, end };
    start = text.indexOf(opening, end);
  }
}
