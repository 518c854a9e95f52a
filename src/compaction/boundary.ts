import { boundItems, type LeakageBoundary } from "../attachments/index.js";
import { type Context, type ContextItem, resourceOf, type StoredResource } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { withNotes } from "../internal/covered-notes.js";
import { untilAborted } from "./abort.js";
import type { CoveredResource } from "./covered.js";
import type { SummaryPart } from "./strategy.js";

/** Who is asked for a summary, named as a target of `project` names itself: `anthropicMessages({ model })` is one. */
export interface SummaryTarget {
  readonly name: string;
  readonly maker: { readonly provider: string; readonly model: string };
}

/** What may go to the model behind `generate`. */
export interface SummaryBoundary {
  /**
   * Where the requests of `generate` go. The boundary is told its name, and reasoning is shown to the provider and model alone
   * that made it: without a target, to none. Needed where there is a boundary.
   */
  readonly target?: SummaryTarget;
  /**
   * What may leave, by default everything; asked about each attachment in what is summarised, inline images and links among them, and
   * about each that the summary's notes would name. What it refuses is in no request, in no note, and not in `details`.
   */
  readonly boundary?: LeakageBoundary;
}

/** What a summary is made of. */
export interface SummaryInput {
  readonly parts: readonly SummaryPart[];
  readonly resources: readonly CoveredResource[];
}

/** Throws a TypeError for a target that is none, or that a boundary would have to be told and is not there. */
export function assertSummaryTarget({ target, boundary }: SummaryBoundary): void {
  if (target === undefined ? boundary === undefined : isTarget(target)) return;
  throw new TypeError(`target: expected a name and a maker with provider and model, got ${describe(target)}`);
}

function isTarget({ name, maker }: SummaryTarget): boolean {
  return [name, maker?.provider, maker?.model].every((value) => typeof value === "string");
}

/**
 * The material as the summariser may see it, and the attachments that the notes may name.
 *
 * @throws what the boundary throws, and the signal's reason
 */
export async function applyBoundary<M extends SummaryInput>(
  { items }: Pick<Context, "items">,
  material: M,
  { target, boundary }: SummaryBoundary,
  signal: AbortSignal,
): Promise<M> {
  const parts: SummaryPart[] = material.parts.map((part) => ({
    ...part,
    items: part.items.map((item) => withOwnReasoning(item, target)),
  }));
  if (boundary === undefined || target === undefined) return { ...material, parts };
  const options = { target: target.name, boundary, among: items, signal };
  for (const [at, part] of parts.entries()) {
    const { previous } = part;
    parts[at] = {
      ...part,
      items: await untilAborted(boundItems(part.items, options), signal),
      // The notes are made anew below it.
      ...(previous === undefined ? {} : { previous: withNotes(previous, () => false) }),
    };
  }
  const noted = noteItems(items, material.resources);
  const observations = observationsOf(noted, material.resources);
  const allowed = new Set(
    (await untilAborted(boundItems(noted, { ...options, observations }), signal)).flatMap(({ message }) =>
      idsOf(message),
    ),
  );
  const resources = material.resources.filter(({ resourceId }) => allowed.has(resourceId));
  return { ...material, parts, resources };
}

/** A message without the reasoning of any other provider or model. */
function withOwnReasoning(item: ContextItem, target: SummaryTarget | undefined): ContextItem {
  const { message } = item;
  if (message.role !== "assistant" || message.content.every(({ type }) => type !== "thinking")) return item;
  const { provider, model } = message;
  if (provider === target?.maker.provider && model === target.maker.model) return item;
  return {
    ...item,
    message: { ...message, content: message.content.filter(({ type }) => type !== "thinking") },
  };
}

/** An item for each attachment, of the entry that has it or whose summary notes it. One whose descriptor is not known is left out. */
function noteItems(
  items: readonly ContextItem[],
  resources: readonly CoveredResource[],
): readonly ContextItem[] {
  const holders = new Map<string, string>();
  let summary = "";
  for (const { entryId, message } of items) {
    if (message.role === "compactionSummary" || message.role === "branchSummary") summary ||= entryId;
    for (const id of idsOf(message)) holders.set(id, entryId);
  }
  return resources.flatMap(({ resourceId, resource }): readonly ContextItem[] =>
    resource === undefined ? [] : [noteItem(holders.get(resourceId) ?? summary, resource)],
  );
}

/** What the notes tell of what was seen, each behind its own item. */
function observationsOf(
  noted: readonly ContextItem[],
  resources: readonly CoveredResource[],
): NonNullable<Context["observations"]> {
  const texts = new Map(resources.map(({ resourceId, observation }) => [resourceId, observation]));
  return noted.flatMap(({ entryId, message }, at) =>
    idsOf(message).flatMap((resourceId) => {
      const text = texts.get(resourceId);
      return text === undefined ? [] : [{ entryId, resourceId, item: at + 1, text }];
    }),
  );
}

function noteItem(entryId: string, resource: StoredResource): ContextItem {
  const content = [{ type: "text" as const, text: "", resource }];
  return { entryId, origin: "message", message: { role: "user", content, timestamp: 0 } };
}

function idsOf(message: ContextItem["message"]): readonly string[] {
  if (!("content" in message) || typeof message.content === "string") return [];
  return message.content.flatMap((block) => {
    const resource = resourceOf(block);
    return resource === undefined ? [] : [resource.resourceId];
  });
}
