import type { ContextItem, Resource } from "../content/index.js";

/** A resource that a summary covers, as it stands in a compaction entry's details. */
export interface CoveredResource {
  readonly resourceId: string;
  readonly kind: Resource["kind"];
  readonly name?: string;
  readonly mediaType?: string;
}

/** How many resources {@link resourceNotes} lists. */
export const defaultNotedResources = 100;

/** The distinct resources that the items name, in order of their first appearance. */
export function coveredResources(_items: readonly ContextItem[]): readonly CoveredResource[] {
  return [];
}

/** Reads `resources` of a compaction entry's details, leaving out what is none. Never throws. */
export function readCoveredResources(_details: unknown): readonly CoveredResource[] {
  return [];
}

/** One list of several, each resource once, the first that names it wins. */
export function mergeCoveredResources(
  ...lists: readonly (readonly CoveredResource[])[]
): readonly CoveredResource[] {
  return lists.flat();
}

/** The text that closes a summary which covers resources; "" where there are none. */
export function resourceNotes(
  _resources: readonly CoveredResource[],
  _options: { readonly maxResources?: number } = {},
): string {
  return "";
}
