/** Compares the model of a message with that of a target. */

import type { AssistantMessage } from "../content/index.js";
import type { ModelRef } from "./target.js";

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

/** Messages without a known protocol have the api `unknown`. */
function namesApi({ api }: AssistantMessage): boolean {
  return api !== undefined && api !== "unknown";
}

/**
 * Whether two names can be of one model, for messages without the requested model. A reply names the dated
 * snapshot of an alias, such as `claude-sonnet-4-5-20250929` for `claude-sonnet-4-5`, `gpt-5-2025-08-07` for
 * `gpt-5`, or `models/gemini-2.5-pro-002` for `gemini-2.5-pro`. Two snapshots of one alias are different
 * models.
 */
function isSameModel(a: string, b: string): boolean {
  const [one, other] = [namedModel(a), namedModel(b)];
  return (
    one.family === other.family &&
    (one.snapshot === "" || other.snapshot === "" || one.snapshot === other.snapshot)
  );
}

/** Splits a model's name into its family and its snapshot, which is empty for an alias. */
function namedModel(model: string): { readonly family: string; readonly snapshot: string } {
  const name = model.replace(/^models\//, "");
  const suffix = /(?:-latest|[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-00\d)$/.exec(name)?.[0] ?? "";
  return { family: name.slice(0, name.length - suffix.length), snapshot: suffix.replace(/\D/g, "") };
}
