/**
 * The attachments and reasoning of a summary: what the leakage boundary lets through to the summariser, and
 * the footer that lists the covered attachments and files.
 */

import type { LeakageBoundary } from "../attachments/index.js";
import {
  coveredTag,
  dropRefusedAttachments,
  filterNotes,
  idsFollow,
  observationText,
} from "../attachments/internal.js";
import { estimateTextTokens } from "../content/estimate/index.js";
import { type Context, type ContextItem, isResource, type StoredResource } from "../content/index.js";
import { blockResources } from "../content/internal.js";
import { describe, integerOption } from "../core/arguments.js";
import { untilAborted } from "../core/concurrency.js";
import { isRecord } from "../core/shape.js";
import { type FileLedger, ledgerText, stripLedgerText } from "./file-ledger/ledger.js";
import type { SummaryPart } from "./strategy.js";
import { safeLabel } from "./truncate.js";

/** The model that writes the summary. A target of `project` is one: `anthropicMessages({ model })`. */
interface SummaryTarget {
  readonly name: string;
  readonly model: { readonly provider: string; readonly model: string };
}

/** The data that may leave for the model behind `generate`. */
export interface SummaryBoundary {
  /**
   * The recipient of the requests of `generate`. The boundary receives its name. Reasoning is sent only to
   * the provider and model that made it, so without a target to none. Required with a boundary.
   */
  readonly target?: SummaryTarget | undefined;
  /**
   * Decides about each attachment in the summarised items, inline images and links included, and about each
   * that the footer would list. A refused one is in no request, in no footer and not in `details`. Default:
   * everything may leave.
   */
  readonly boundary?: LeakageBoundary | undefined;
}

/** The input of a summary. */
interface SummaryInput {
  readonly parts: readonly SummaryPart[];
  readonly resources: readonly CoveredResource[];
}

/** Throws a TypeError for an invalid target, or for a boundary without a target. */
export function assertSummaryTarget({ target, boundary }: SummaryBoundary): void {
  if (target === undefined ? boundary === undefined : isTarget(target)) return;
  throw new TypeError(`target: expected a name and a model with provider and model, got ${describe(target)}`);
}

function isTarget({ name, model }: SummaryTarget): boolean {
  return [name, model?.provider, model?.model].every((value) => typeof value === "string");
}

/**
 * Reduces the input to what the boundary allows: the items of the parts, and the attachments that the footer
 * lists.
 *
 * @throws errors of the boundary, and the signal's reason
 */
export async function applyBoundary<M extends SummaryInput>(
  { items }: Pick<Context, "items">,
  input: M,
  { target, boundary }: SummaryBoundary,
  signal: AbortSignal,
): Promise<M> {
  const parts: SummaryPart[] = input.parts.map((part) => ({
    ...part,
    items: part.items.map((item) => withOwnReasoning(item, target)),
  }));
  if (boundary === undefined || target === undefined) return { ...input, parts };
  const options = { target: target.name, boundary, among: items, signal };
  for (const [at, part] of parts.entries()) {
    const { previous } = part;
    parts[at] = {
      ...part,
      items: await untilAborted(dropRefusedAttachments(part.items, options), signal),
      // The footer has the notes that are allowed.
      previous: previous && filterNotes(previous, () => false),
    };
  }
  const noted = noteItems(items, input.resources);
  const observations = notedObservations(noted, input.resources);
  const allowed = new Set(
    (await untilAborted(dropRefusedAttachments(noted, { ...options, observations }), signal)).flatMap(
      ({ message }) => messageIds(message),
    ),
  );
  const resources = input.resources.filter(({ resourceId }) => allowed.has(resourceId));
  return { ...input, parts, resources };
}

/** The message without the reasoning of another provider or model. */
function withOwnReasoning(item: ContextItem, target: SummaryTarget | undefined): ContextItem {
  const { message } = item;
  if (message.role !== "assistant" || message.content.every(({ type }) => type !== "thinking")) return item;
  const { provider, model } = message;
  if (provider === target?.model.provider && model === target.model.model) return item;
  return {
    ...item,
    message: { ...message, content: message.content.filter(({ type }) => type !== "thinking") },
  };
}

/**
 * An item for each attachment with a known descriptor. Its id is that of the entry that holds the attachment,
 * or of the summary that lists it.
 */
function noteItems(
  items: readonly ContextItem[],
  resources: readonly CoveredResource[],
): readonly ContextItem[] {
  const holders = new Map<string, string>();
  let summary = "";
  for (const { entryId, message } of items) {
    if (message.role === "compactionSummary" || message.role === "branchSummary") summary ||= entryId;
    for (const id of messageIds(message)) holders.set(id, entryId);
  }
  return resources.flatMap(({ resourceId, resource }): readonly ContextItem[] =>
    resource === undefined ? [] : [noteItem(holders.get(resourceId) ?? summary, resource)],
  );
}

/** The observations that the footer repeats, each after the item of its attachment. */
function notedObservations(
  noted: readonly ContextItem[],
  resources: readonly CoveredResource[],
): NonNullable<Context["observations"]> {
  const texts = new Map(resources.map(({ resourceId, observation }) => [resourceId, observation]));
  return noted.flatMap(({ entryId, message }, at) =>
    messageIds(message).flatMap((resourceId) => {
      const text = texts.get(resourceId);
      return text === undefined ? [] : [{ entryId, resourceId, item: at + 1, text }];
    }),
  );
}

function noteItem(entryId: string, resource: StoredResource): ContextItem {
  const content = [{ type: "text" as const, text: "", resource }];
  return { entryId, origin: "message", message: { role: "user", content, timestamp: 0 } };
}

function messageIds(message: ContextItem["message"]): readonly string[] {
  if (!("content" in message) || typeof message.content === "string") return [];
  return message.content.flatMap((block) => blockResources(block).map(({ resourceId }) => resourceId));
}

// The footer of a summary: the attachments that it covers and the file ledger; made anew by each compaction.

/** The most attachments, read files and changed files that a footer lists. */
const maxListed = 100;

/** The content of a footer. */
interface FooterContent {
  readonly resources: readonly CoveredResource[];
  readonly files: FileLedger;
}

/** Appends the footer to the text of a summary. */
export function withFooter(text: string, footer: string): string {
  return text === "" ? footer.trimStart() : text + footer;
}

/**
 * The footer of a summary in at most `room` tokens. While it is longer, the number of listed entries is
 * halved, and the latest stay; each block counts the others. The `details` of the entry have all of them.
 */
export function footerText({ resources, files }: FooterContent, room: number): string {
  for (let max = maxListed; ; max = Math.floor(max / 2)) {
    const notes = resourceNotes(resources, { maxResources: max });
    const text = (notes === "" ? "" : `\n\n${notes}`) + ledgerText(files, { maxFiles: max });
    if (estimateTextTokens(text) <= room) return text;
    if (max === 0) return "";
  }
}

/** The text of a summary without its footer, so that the model does not copy it into the next summary. */
export function withoutFooter(summary: string): string {
  return withoutResourceNotes(stripLedgerText(summary));
}

/** An image or a file that a summary covers, as in `details.resources` of a compaction entry. */
export interface CoveredResource {
  readonly resourceId: string;
  readonly kind: StoredResource["kind"];
  /** Untrusted text; one line of at most 80 characters. */
  readonly name?: string;
  /** Detected from the bytes. */
  readonly mediaType?: string;
  /** The whole descriptor, for the boundaries of later requests. */
  readonly resource?: StoredResource;
  /** The latest observation of it; untrusted text, at most 500 characters. */
  readonly observation?: string;
}

/**
 * The images and files of the items, each once, in the order of their last occurrence. Links cannot be viewed
 * again.
 */
export function coveredResources(items: readonly ContextItem[]): readonly CoveredResource[] {
  const found: CoveredResource[] = [];
  for (const { message } of items) {
    if (!("content" in message) || typeof message.content === "string") continue;
    for (const block of message.content) {
      for (const resource of blockResources(block))
        if (isResource(resource) && resource.kind !== "link") found.push({ ...labelled(resource), resource });
    }
  }
  return mergeCoveredResources(found);
}

/**
 * The images and files that the summaries among the items cover, then those of the items, with their latest
 * observations.
 */
export function allCoveredResources(
  items: readonly ContextItem[],
  observations: Context["observations"] = [],
): readonly CoveredResource[] {
  const earlier = items.flatMap(({ message }) =>
    message.role === "compactionSummary" || message.role === "branchSummary"
      ? readCoveredResources(message.details)
      : [],
  );
  const latest = new Map(observations.map(({ resourceId, text }) => [resourceId, text]));
  return mergeCoveredResources(earlier, coveredResources(items)).map((resource) => ({
    ...resource,
    ...observed(latest.get(resource.resourceId) ?? resource.observation),
  }));
}

/** Merges lists, oldest first: each resource once, at its last position, with its last observation. */
export function mergeCoveredResources(
  ...lists: readonly (readonly CoveredResource[])[]
): readonly CoveredResource[] {
  const merged = new Map<string, CoveredResource>();
  for (const resource of lists.flat()) {
    const { resourceId } = resource;
    const observation = resource.observation ?? merged.get(resourceId)?.observation;
    merged.delete(resourceId);
    merged.set(resourceId, observation === undefined ? resource : { ...resource, observation });
  }
  return [...merged.values()];
}

/** Reads `details.resources` of a compaction entry and skips invalid values. Never throws. */
export function readCoveredResources(details: unknown): readonly CoveredResource[] {
  const list = isRecord(details) ? details.resources : undefined;
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown) => {
    if (!isRecord(item)) return [];
    const { resourceId, kind, name, mediaType, resource, observation } = item;
    if (typeof resourceId !== "string" || !/^res_[0-9a-f]{16}$/.test(resourceId)) return [];
    if (kind !== "image" && kind !== "file") return [];
    const isWhole = isResource(resource) && resource.resourceId === resourceId && resource.kind === kind;
    return [
      {
        ...labelled({ resourceId, kind, name, mediaType }),
        ...(isWhole ? { resource } : {}),
        ...observed(observation),
      },
    ];
  });
}

/**
 * The block of the footer about attachments: a description of an image is not the image, and the ids by which
 * a model can view them again. Lists the newest and counts the others; "" without attachments.
 *
 * @throws RangeError if `maxResources` is not an integer from 0 on
 */
export function resourceNotes(
  resources: readonly CoveredResource[],
  options: {
    /** The most resources to list; at least 0. Default 100. */
    readonly maxResources?: number | undefined;
  } = {},
): string {
  const max = integerOption("maxResources", options.maxResources, maxListed, 0);
  if (resources.length === 0) return "";
  const shown = resources.slice(Math.max(0, resources.length - max));
  const rest = resources.length - shown.length;
  return [
    `<${coveredTag}>`,
    "The messages that this summary stands for came with images or files. What it says of them is a " +
      "description,",
    `and a description of an image is not the image. ${idsFollow}`,
    ...(rest === 0 ? [] : [`- ${rest} older ones, not listed here`]),
    ...shown.map(({ resourceId, kind, name, mediaType, observation }) => {
      const subject = name === undefined ? kind : `${kind} ${name}`;
      const seen = observationText(observation, maxNotedObservation);
      return [`- ${resourceId}`, subject, mediaType ?? "", seen].filter((part) => part !== "").join(", ");
    }),
    `</${coveredTag}>`,
  ].join("\n");
}

/** The summary without its {@link resourceNotes}. */
export function withoutResourceNotes(summary: string): string {
  const start = summary.lastIndexOf(`<${coveredTag}>\n`);
  const closing = `</${coveredTag}>`;
  const end = start < 0 ? -1 : summary.indexOf(closing, start);
  if (end < 0) return summary;
  const after = summary.slice(end + closing.length);
  return summary.slice(0, start).trimEnd() + (after.trim() === "" ? "" : `\n\n${after.trim()}`);
}

/** A note has less of an observation than a descriptor: a footer may have a hundred notes. */
const maxNotedObservation = 200;
const maxObservationLength = 500;

function observed(observation: unknown): { readonly observation?: string } {
  if (typeof observation !== "string" || observation.trim() === "") return {};
  return { observation: observation.slice(0, maxObservationLength).toWellFormed() };
}

/** The id and kind of a resource, with name and media type as safe labels if they are not empty. */
function labelled(resource: {
  readonly resourceId: string;
  readonly kind: StoredResource["kind"];
  readonly name?: unknown;
  readonly mediaType?: unknown;
}): CoveredResource {
  const { resourceId, kind } = resource;
  const readLabel = (value: unknown) => (typeof value === "string" ? safeLabel(value) : "");
  const name = readLabel(resource.name);
  const mediaType = readLabel(resource.mediaType);
  return { resourceId, kind, ...(name === "" ? {} : { name }), ...(mediaType === "" ? {} : { mediaType }) };
}
