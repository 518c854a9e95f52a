import { observationText } from "../attachments/index.js";
import { type Context, type ContextItem, isResource, type StoredResource } from "../content/index.js";
import { integerOption } from "../internal/arguments.js";
import { coveredTag, idsFollow } from "../internal/covered-notes.js";
import { isRecord } from "../internal/shape.js";
import { safeLabel } from "./truncate.js";

/** An image or a file that a summary covers, as a compaction entry keeps it in `details.resources`. */
export interface CoveredResource {
  readonly resourceId: string;
  readonly kind: StoredResource["kind"];
  /** Untrusted text; one line of at most 80 characters. */
  readonly name?: string;
  /** As sniffed from the bytes. */
  readonly mediaType?: string;
  /** The whole descriptor, for whoever is asked later whether it may be told. */
  readonly resource?: StoredResource;
  /** What was seen in it last; untrusted text, at most 500 characters. */
  readonly observation?: string;
}

/** How many resources {@link resourceNotes} lists. */
export const defaultNotedResources = 100;

/**
 * The images and files that the items name, each once, in the order in which they come last. Links are none of them: there
 * is nothing of them to see again.
 */
export function coveredResources(items: readonly ContextItem[]): readonly CoveredResource[] {
  const found: CoveredResource[] = [];
  for (const { message } of items) {
    if (!("content" in message) || typeof message.content === "string") continue;
    for (const block of message.content) {
      if (block.type !== "text" || !isResource(block.resource) || block.resource.kind === "link") continue;
      found.push({ ...covered(block.resource), resource: block.resource });
    }
  }
  return mergeCoveredResources(found);
}

/** The images and files of the items, and before them those that summaries among them cover. */
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
  return mergeCoveredResources(earlier, coveredResources(items)).map((resource) => {
    const observation = latest.get(resource.resourceId) ?? resource.observation;
    return { ...resource, ...observed(observation) };
  });
}

/** Several lists as one, the oldest first: each resource once, where it comes last, with the last observation of it. */
export function mergeCoveredResources(
  ...lists: readonly (readonly CoveredResource[])[]
): readonly CoveredResource[] {
  const merged = new Map<string, CoveredResource>();
  for (const list of lists) {
    for (const resource of list) {
      const { resourceId } = resource;
      const observation = resource.observation ?? merged.get(resourceId)?.observation;
      merged.delete(resourceId);
      merged.set(resourceId, observation === undefined ? resource : { ...resource, observation });
    }
  }
  return [...merged.values()];
}

/** What `details.resources` of a compaction entry lists; what is none of it is left out. Never throws. */
export function readCoveredResources(details: unknown): readonly CoveredResource[] {
  const list = isRecord(details) ? details.resources : undefined;
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown) => {
    if (!isRecord(item)) return [];
    const { resourceId, kind, name, mediaType, resource, observation } = item;
    if (typeof resourceId !== "string" || !/^res_[0-9a-f]{16}$/.test(resourceId)) return [];
    if (kind !== "image" && kind !== "file") return [];
    const texts = {
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof mediaType === "string" ? { mediaType } : {}),
    };
    const isWhole = isResource(resource) && resource.resourceId === resourceId && resource.kind === kind;
    const told = { ...(isWhole ? { resource } : {}), ...observed(observation) };
    return [{ ...covered({ resourceId, kind, ...texts }), ...told }];
  });
}

/**
 * The text that closes a summary which covers images or files: that a description of one is not it, and the ids under which
 * a model can ask to see them again; the newest, and how many others there are. "" where there are none.
 *
 * @throws RangeError when `maxResources` is no integer from 0 on.
 * @example
 * ```ts
 * resourceNotes([{ resourceId: "res_0123456789abcdef", kind: "image", name: "screen.png", mediaType: "image/png" }]);
 * ```
 */
export function resourceNotes(
  resources: readonly CoveredResource[],
  options: {
    /** How many are listed; at least 0. By default {@link defaultNotedResources}. */
    readonly maxResources?: number;
  } = {},
): string {
  const max = integerOption("maxResources", options.maxResources, defaultNotedResources, 0);
  if (resources.length === 0) return "";
  const shown = resources.slice(Math.max(0, resources.length - max));
  const rest = resources.length - shown.length;
  return [
    `<${coveredTag}>`,
    "The messages that this summary stands for came with images or files. What it says of them is a description,",
    `and a description of an image is not the image. ${idsFollow}`,
    ...(rest === 0 ? [] : [`- ${rest} older ones, not listed here`]),
    ...shown.map(({ resourceId, kind, name, mediaType, observation }) => {
      const what = name === undefined ? kind : `${kind} ${name}`;
      const seen = observationText(observation, maxNotedObservation);
      return [`- ${resourceId}`, what, mediaType ?? "", seen].filter((part) => part !== "").join(", ");
    }),
    `</${coveredTag}>`,
  ].join("\n");
}

/** A summary without the {@link resourceNotes} that close it, so that a model which brings it up to date does not copy them. */
export function withoutResourceNotes(summary: string): string {
  const start = summary.lastIndexOf(`<${coveredTag}>\n`);
  const closing = `</${coveredTag}>`;
  const end = start < 0 ? -1 : summary.indexOf(closing, start);
  if (end < 0) return summary;
  const after = summary.slice(end + closing.length);
  return summary.slice(0, start).trimEnd() + (after.trim() === "" ? "" : `\n\n${after.trim()}`);
}

/** Of each observation a line of the notes has less than a descriptor has: there may be a hundred lines. */
const maxNotedObservation = 200;
const maxObservationLength = 500;

function observed(observation: unknown): { readonly observation?: string } {
  if (typeof observation !== "string" || observation.trim() === "") return {};
  return { observation: observation.slice(0, maxObservationLength).toWellFormed() };
}

function covered(
  resource: Pick<StoredResource, "resourceId" | "kind" | "name"> & { readonly mediaType?: string },
): CoveredResource {
  const { resourceId, kind } = resource;
  const name = safeLabel(resource.name ?? "");
  const mediaType = safeLabel(resource.mediaType ?? "");
  return { resourceId, kind, ...(name === "" ? {} : { name }), ...(mediaType === "" ? {} : { mediaType }) };
}
