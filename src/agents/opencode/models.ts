/** The models of messages, as opencode names them. */

import type { WriteSource } from "../types.js";

/** A provider and a model of its configuration. */
export interface Model {
  readonly providerID: string;
  readonly modelID: string;
}

export const unknownModel: Model = { providerID: "unknown", modelID: "unknown" };

/**
 * `modelFor` names a model, with or without its provider before a slash. The source may name the provider for
 * all of them.
 */
export function sourceModel(source: WriteSource, provider: string, model: string): Model {
  const named = source.modelFor({ provider, model });
  if (source.provider !== undefined) return { providerID: source.provider, modelID: named ?? model };
  if (named === undefined) return { providerID: provider, modelID: model };
  const slash = named.indexOf("/");
  if (slash < 0) return { providerID: provider, modelID: named };
  return { providerID: named.slice(0, slash), modelID: named.slice(slash + 1) };
}

/** The model of the next reply for each entry, else of the last one. opencode resumes with the last model. */
export function askedModels(source: WriteSource): ReadonlyMap<string, Model> {
  const asked = new Map<string, Model>();
  let model: Model | undefined;
  for (const entry of source.outline.toReversed()) {
    if (entry.type === "message" && entry.message.role === "assistant")
      model = sourceModel(source, entry.message.provider, entry.message.model);
    if (model !== undefined) asked.set(entry.id, model);
  }
  for (const entry of source.outline) {
    if (entry.type === "model_change") model = sourceModel(source, entry.provider, entry.modelId);
    else if (entry.type === "message" && entry.message.role === "assistant")
      model = sourceModel(source, entry.message.provider, entry.message.model);
    if (!asked.has(entry.id) && model !== undefined) asked.set(entry.id, model);
  }
  return asked;
}
