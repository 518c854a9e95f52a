/** The leakage boundary of a summary: which reasoning and which attachments may go to the summariser. */

import type { LeakageBoundary } from "../attachments/index.js";
import { dropRefusedAttachments, filterNotes } from "../attachments/internal.js";
import type { Context, ContextItem, StoredResource } from "../content/index.js";
import { blockResources } from "../content/internal.js";
import { describe } from "../core/arguments.js";
import { untilAborted } from "../core/concurrency.js";
import type { SummaryPart } from "./strategy.js";
import type { CoveredResource } from "./summary-footer.js";

/** The model that writes the summary. A target of `project` is one: `anthropicMessages({ model })`. */
export interface SummaryTarget {
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
export interface SummaryInput {
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
