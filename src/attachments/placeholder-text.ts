/** The text that a model reads in place of an attachment: its descriptor, and why no bytes follow. */

import { describeResource, type ReplayDecision, type Resource } from "../content/index.js";
import { oneLine } from "../core/text.js";
import { isSendable } from "./resources.js";

/**
 * The reason of a decision. Sent in full: `currentTurn`, `viewed`, or `replayed` by the policy. Described:
 * `earlierTurn`, `sentAlready` (its bytes are elsewhere in this request), `link`, `unknownType`, `missing` or
 * `corrupt`. Described or omitted: `policy` or `boundary`.
 */
export type AttachmentReason =
  | "currentTurn"
  | "viewed"
  | "replayed"
  | "earlierTurn"
  | "policy"
  | "boundary"
  | "sentAlready"
  | "link"
  | "unknownType"
  | "missing"
  | "corrupt";

/**
 * The text in place of a resource. It never claims that the model saw bytes that were not sent. Empty if
 * the resource is omitted.
 *
 * @param observation part of the text if the resource is described
 * @param options.viewTool whether the text mentions the tool of `viewTool`; default false
 */
export function attachmentText(
  resource: Resource,
  decision: ReplayDecision,
  reason: AttachmentReason,
  observation?: string,
  { viewTool = false }: { readonly viewTool?: boolean } = {},
): string {
  if (decision === "omit") return "";
  if (decision === "full") return describeResource(resource);
  const seen = reason === "sentAlready" ? "" : observationText(observation);
  const facts = [dimensions(resource), explanation(resource, reason, viewTool), seen].filter(
    (part) => part !== "",
  );
  return facts.length === 0
    ? describeResource(resource)
    : `${describeResource(resource)} (${facts.join("; ")})`;
}

const maxObservationLength = 500;

/**
 * An observation as part of a descriptor or of a summary's note: one line of at most 500 characters, without
 * brackets, quotes or control characters. Empty if the observation is blank.
 */
export function observationText(observation: string | undefined, maxLength = maxObservationLength): string {
  // Twice the length, since removed characters can be at the start.
  const line = oneLine((observation ?? "").slice(0, 2 * maxLength))
    .replace(/[[\]<>]/g, "_")
    .replaceAll('"', "'")
    .trim();
  if (line === "") return "";
  const isCut = line.length > maxLength || (observation?.length ?? 0) > 2 * maxLength;
  const shown = isCut ? `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
  return `noted when it was seen: "${shown}"`;
}

function dimensions(resource: Resource): string {
  if (resource.kind === "link" || resource.width === undefined || resource.height === undefined) return "";
  return `${resource.width} x ${resource.height} pixels`;
}

const unknownTypeText = "kept, and not sent, since its type is unknown";

function explanation(resource: Resource, reason: AttachmentReason, viewTool: boolean): string {
  const { resourceId } = resource;
  switch (reason) {
    case "earlierTurn":
      // The same text as in its own turn, so that the prompt's prefix stays stable.
      if (!isSendable(resource)) return unknownTypeText;
      // A foreign history can have ids of any characters. Those appear in brackets only, where they are
      // escaped.
      return viewTool && /^\w{1,256}$/.test(resourceId)
        ? `not sent again, view ${resourceId} to see it`
        : "not sent again";
    case "sentAlready":
      return "shown elsewhere in this request";
    case "link":
      return "a link, never fetched";
    case "unknownType":
      return unknownTypeText;
    case "missing":
      return "not shown: its bytes are no longer stored";
    case "corrupt":
      return "not shown: its stored bytes are damaged";
    case "policy":
    case "boundary":
      return "not shown: it was withheld";
    default:
      return "";
  }
}
