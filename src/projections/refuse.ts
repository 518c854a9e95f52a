import { observationText } from "../attachments/index.js";
import type { Loss, LossList } from "./loss.js";
import { notShown } from "./words.js";
import { type AttachmentWork, descriptor, knownId, type SendReason } from "./work.js";

/** Why an attachment cannot be sent that a policy would have sent. */
export type Refusal = Extract<SendReason, "missing" | "corrupt" | "invalid" | "unsupported" | "overLimit">;

const causes: Readonly<Record<Refusal, Loss["by"]>> = {
  missing: "history",
  corrupt: "history",
  invalid: "history",
  unsupported: "target",
  overLimit: "limit",
};

/**
 * Leaves words in the place of what cannot be sent.
 *
 * @param because what else there is to say of it, to people and not to the model
 */
export function refuse(
  work: AttachmentWork,
  code: Refusal,
  why: string,
  losses: LossList,
  because?: string,
): void {
  const { draft } = work;
  const seen = observationText(work.decided.observation);
  draft.text = notShown(descriptor(work), seen === "" ? why : `${why}; ${seen}`);
  if (work.asText === true || work.resized === true) losses.takeBack(draft.origin, ["asText", "resized"]);
  delete draft.media;
  delete work.asText;
  work.reason = code;
  const reason = because === undefined ? why : `${why}; ${because}`;
  losses.add(draft.origin, { code, by: causes[code], ...knownId(work), reason, instead: draft.text });
}
