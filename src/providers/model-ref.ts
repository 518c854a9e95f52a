/** Compares the model of a message with that of a target, and the media of a server with those of a model. */

import type { AssistantMessage } from "../content/index.js";
import { isSameModel, modelFacts, readsFiles } from "./models/internal.js";
import type { ModelRef, TargetMedia } from "./target.js";

/**
 * Whether a target can use a message's signatures: provider and account are equal, the requested models are
 * equal except for a date or an alias, and the protocols are equal if both name one.
 */
export function isOwn(message: AssistantMessage, model: ModelRef): boolean {
  return (
    message.provider === model.provider &&
    isSameModel(message.model, model.model) &&
    (model.api === undefined || !namesApi(message) || message.api === model.api) &&
    message.account === model.account
  );
}

/**
 * The models of a message: the requested one, and the answering one if its name differs; only the latter if
 * the requested one is unknown.
 */
export function modelNames(
  asked: string | undefined,
  answered: unknown,
): { readonly model: string; readonly responseModel?: string } {
  const own =
    typeof answered === "string" && answered !== "" && answered !== "unknown" ? answered : undefined;
  const model = asked ?? own ?? "unknown";
  return own === undefined || own === model ? { model } : { model, responseModel: own };
}

/**
 * The media of a server that a model reads. A model that reads no images, by the table of models, gets their
 * descriptions, and the next model has the images again. It reads no PDFs either, unless the provider reads
 * them for it. An unknown model gets all.
 */
export function mediaFor(model: string, provider: string, media: TargetMedia): TargetMedia {
  const { inputs } = modelFacts(model);
  if (inputs === undefined || inputs.includes("image")) return media;
  const hasFiles = readsFiles(provider);
  const isRead = (type: string) => !type.startsWith("image/") && (hasFiles || type !== "application/pdf");
  return { ...media, user: media.user.filter(isRead), toolResult: media.toolResult.filter(isRead) };
}

/** Messages without a known protocol have the api `unknown`. */
function namesApi({ api }: AssistantMessage): boolean {
  return api !== undefined && api !== "unknown";
}
