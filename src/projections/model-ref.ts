import type { AssistantMessage } from "../content/index.js";
import type { ModelRef } from "./target.js";

/**
 * Whether a message's signatures are of use to a target: the provider is the same, the model that was asked
 * too but for a date or an alias, the protocol where both name one, and the account where either does.
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
 * The model of a message: the one that was asked, and the one that answered beside it if that is another
 * name; the latter alone if nobody told the former.
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

/** `unknown` is what a message says that nobody told its protocol. */
function namesApi({ api }: AssistantMessage): boolean {
  return api !== undefined && api !== "unknown";
}

/**
 * Whether two names may be of one model, for messages whose writer did not tell the model that was asked: a
 * reply names the dated snapshot where the request named the alias, as in `claude-sonnet-4-5` and
 * `claude-sonnet-4-5-20250929`, `gpt-5` and `gpt-5-2025-08-07`, `gemini-2.5-pro` and
 * `models/gemini-2.5-pro-002`. Two snapshots of one alias are two models.
 */
function isSameModel(a: string, b: string): boolean {
  const [one, other] = [namedModel(a), namedModel(b)];
  return (
    one.family === other.family &&
    (one.snapshot === "" || other.snapshot === "" || one.snapshot === other.snapshot)
  );
}

/** A model's name without what an alias leaves open, and that; empty for an alias. */
function namedModel(model: string): { readonly family: string; readonly snapshot: string } {
  const name = model.replace(/^models\//, "");
  const suffix = /(?:-latest|[-@]\d{8}|-\d{4}-\d{2}-\d{2}|-00\d)$/.exec(name)?.[0] ?? "";
  return { family: name.slice(0, name.length - suffix.length), snapshot: suffix.replace(/\D/g, "") };
}
